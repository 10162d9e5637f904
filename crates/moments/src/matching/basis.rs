//! Basis functions, their widths, and the ridge.

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::{Error, named};

/// The basis functions of a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Basis {
    /// Gradients of Gaussian bumps.
    Bumps(Centres),
    /// This many one-dimensional functions per feature, for independent features: bumps at quantiles, a linear function
    /// and a constant.
    Separable(usize),
    /// All affine maps: exactly `Sigma^{-1} (x - mean)` of the sample.
    Affine,
}

/// The centres of the bumps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Centres {
    /// A random subset of so many samples, all of them if there are fewer.
    Landmarks(usize),
    /// All samples: memory O(n^2).
    AllSamples,
    /// A regular grid on a cube, in the coordinates of the bumps; for at most three features.
    Grid {
        /// Lower end of every side.
        low: f64,
        /// Upper end of every side.
        high: f64,
        /// Points per side.
        points: usize,
    },
}

/// The width `h` of the bumps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Bandwidth {
    /// This many times the square root of the number of features; for whitened features 1 is a good choice.
    Relative(f64),
    /// A given length.
    Absolute(f64),
}

/// The ridge `a`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Ridge {
    /// This many times the mean of the diagonal of `C`.
    Relative(f64),
    /// A given number, as in the simulations of D. Babichev, PhD thesis 2019, section 2.5.
    Absolute(f64),
}

/// Formulas have the fourth power of a bandwidth, which must be a normal number.
pub(super) fn check_bandwidth(h: f64) -> Result<(), Invalid> {
    if (1e-70..=1e70).contains(&h) {
        return Ok(());
    }
    Err(Invalid::Parameter { name: "bandwidth", value: h, expected: "between 1e-70 and 1e70" })
}

/// The factor of `C + a I`; a ridge that is too small for it grows by factors of 10.
pub(super) fn ridged(
    mut c: Array2<f64>,
    ridge: f64,
    diagonal: f64,
) -> Result<(Cholesky, f64), Error> {
    let mut added = 0.0;
    let mut wanted = ridge;
    let mut attempts = 0;
    loop {
        c.diag_mut().mapv_inplace(|v| v + (wanted - added));
        added = wanted;
        match Cholesky::new(c.view()) {
            Ok(factor) => return Ok((factor, added)),
            Err(error @ Invalid::NotPositiveDefinite { .. }) if attempts == 3 => {
                let what = "C + ridge I of score matching (take a larger ridge)";
                return Err(named(what)(error).into());
            }
            Err(Invalid::NotPositiveDefinite { .. }) => {
                attempts += 1;
                wanted = (10.0 * wanted).max(1e-12 * diagonal);
            }
            Err(error) => return Err(error.into()),
        }
    }
}
