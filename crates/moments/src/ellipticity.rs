//! Tests whether the features are elliptical. If they are, SIR is enough.

use fenchel_linalg::AsDesign;
use fenchel_linalg::special::chi_squared_tail;
use fenchel_optim::MAX_MEMORY;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, Picked, checked, gather};
use crate::components::check_level;
use crate::error::Error;
use crate::whitening::Whitening;

/// Mardia's skewness and kurtosis of the whitened features, on at most 2,000 samples.
///
/// Elliptical features have skewness 0; normal ones have kurtosis `d (d + 2)` too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ellipticity {
    /// `(1/n^2) sum_ij (z_i.z_j)^3`.
    pub skewness: f64,
    /// Probability of a larger skewness for normal features.
    pub skewness_p: f64,
    /// `(1/n) sum_i ||z_i||^4`.
    pub kurtosis: f64,
    /// Kurtosis less that of normal features, in its standard errors there.
    pub kurtosis_z: f64,
    /// The number of samples used.
    pub samples: usize,
}

/// Which methods fit the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Advice {
    /// No evidence against normal features: use SIR, SAVE, pHd or directional regression.
    Normal,
    /// Symmetric, but not normal: SIR; of the others SAVE and pHd are in doubt.
    Symmetric,
    /// Skewed: a method with a score.
    Skewed,
}

impl Ellipticity {
    /// Measures the features. O(n^2 d) for at most 2,000 samples.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::Invalid`].
    pub fn new<X: AsDesign + ?Sized>(x: &X) -> Result<Self, Error> {
        let data = checked(x)?;
        let (all, d) = (data.count(), data.width() as f64);
        let n = all.min(2000);
        let index: Vec<usize> = (0..n).map(|k| k * all / n).collect();
        let picked = Picked { data: &data, index: &index };
        let z: Array2<f64> = Whitening::of(&picked, MAX_MEMORY)?.apply(gather(&picked).view());
        let inner = z.dot(&z.t());
        let count = n as f64;
        let skewness = inner.iter().map(|v| v * v * v).sum::<f64>() / (count * count);
        let kurtosis = inner.diag().iter().map(|v| v * v).sum::<f64>() / count;
        let degrees = d * (d + 1.0) * (d + 2.0) / 6.0;
        Ok(Ellipticity {
            skewness,
            skewness_p: chi_squared_tail(count * skewness / 6.0, degrees),
            kurtosis,
            kurtosis_z: (kurtosis - d * (d + 2.0)) / (8.0 * d * (d + 2.0) / count).sqrt(),
            samples: n,
        })
    }

    /// The recommended methods, from tests at a level such as 0.01. Heavy tails inflate the skewness of symmetric
    /// features, so the advice may recommend a score function where SIR would do.
    ///
    /// # Errors
    /// [`Invalid::Parameter`](fenchel_linalg::Invalid::Parameter) unless the level lies between 0 and 1.
    pub fn advice(&self, level: f64) -> Result<Advice, Error> {
        check_level(level)?;
        let kurtosis_p = chi_squared_tail(self.kurtosis_z * self.kurtosis_z, 1.0);
        Ok(if self.skewness_p < level {
            Advice::Skewed
        } else if kurtosis_p < level {
            Advice::Symmetric
        } else {
            Advice::Normal
        })
    }
}
