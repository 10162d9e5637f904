//! Sliced average variance estimation.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use crate::blocks::Blocks;
use crate::model::fit_methods;
use crate::stream::SliceMoments;
use crate::whitening::Whitening;
use crate::{Components, EigenOrder, Error, Reducer, Response, Slicing, Spectrum};

/// Sliced average variance estimation (Cook and Weisberg 1991, Cook 2000): the eigenvectors of
///
/// ```text
/// sum_h p_h (I - Cov_h(z))^2,     z = Sigma^{-1/2} (x - mean)
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `components` | `EigenGap(10)` | how many directions |
/// | `slicing` | `Auto` | how the responses are cut |
/// | `unbiased_covariance` | false | divisor `c_h - 1` of the covariance of a slice instead of `c_h` |
///
/// It sees symmetric dependence, which SIR misses, and needs normal features and more samples. Cost O(n d^2 + H d^3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Save {
    /// How many directions.
    pub components: Components,
    /// How the responses are cut.
    pub slicing: Slicing,
    /// Whether covariances of slices have the divisor `c_h - 1`.
    pub unbiased_covariance: bool,
}

fit_methods!(Save);

impl Reducer for Save {
    fn name(&self) -> &'static str {
        "SAVE"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let slices = response.slices(self.slicing, self.components.hint())?;
        let moments = SliceMoments::of(data, &slices)?;
        self.spectrum_of(&moments)
    }
}

impl Save {
    /// From sums over slices, which [`SliceMoments`] collects from a stream.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::Refused`] for a slice with a single sample and `unbiased_covariance`.
    pub fn spectrum_of(&self, moments: &SliceMoments) -> Result<Spectrum, Error> {
        let WhitenedSlices { whitening, shares, counts, covariances, .. } = whitened(moments)?;
        let d = whitening.mean.len();
        let identity = Array2::<f64>::eye(d);
        let mut matrix = Array2::zeros((d, d));
        for ((share, count), mut covariance) in shares.iter().zip(&counts).zip(covariances) {
            if self.unbiased_covariance {
                if *count < 2 {
                    let what = "a slice with a single sample: leave it out".to_owned();
                    return Err(Refusal::unsupported("SAVE with c - 1", what).into());
                }
                covariance *= *count as f64 / (*count - 1) as f64;
            }
            let rest = &identity - &covariance;
            matrix.scaled_add(*share, &rest.dot(&rest));
        }
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(whitening.back()))?;
        Ok(Spectrum { samples: counts.iter().sum(), slices: counts, ..spectrum })
    }
}

/// Means and covariances of slices in whitened coordinates.
pub(crate) struct WhitenedSlices {
    pub(crate) whitening: Whitening,
    pub(crate) shares: Vec<f64>,
    pub(crate) counts: Vec<usize>,
    /// As rows.
    pub(crate) means: Array2<f64>,
    /// Divisor `c_h`.
    pub(crate) covariances: Vec<Array2<f64>>,
}

/// Empty slices are left out.
pub(crate) fn whitened(moments: &SliceMoments) -> Result<WhitenedSlices, Error> {
    let (mean, covariance) = moments.total()?;
    let whitening = Whitening::from_moments(mean, covariance, "covariance of the features")?;
    let n: usize = moments.counts().iter().sum();
    let d = whitening.mean.len();
    let filled: Vec<usize> =
        (0..moments.counts().len()).filter(|&h| moments.counts()[h] > 0).collect();
    if filled.len() < 2 {
        return Err(Invalid::Parameter {
            name: "number of slices with samples",
            value: filled.len() as f64,
            expected: "at least 2",
        }
        .into());
    }
    let mut means = Array2::zeros((filled.len(), d));
    let (mut shares, mut counts, mut covariances) = (vec![], vec![], vec![]);
    for (row, &h) in filled.iter().enumerate() {
        let (mean, covariance) = moments.slice(h);
        let centred: Array1<f64> = &mean - &whitening.mean;
        means.row_mut(row).assign(&whitening.map.dot(&centred));
        covariances.push(whitening.map.dot(&covariance).dot(&whitening.back()));
        counts.push(moments.counts()[h]);
        shares.push(moments.counts()[h] as f64 / n as f64);
    }
    Ok(WhitenedSlices { whitening, shares, counts, means, covariances })
}
