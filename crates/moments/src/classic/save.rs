//! Sliced average variance estimation.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal, settings};
use ndarray::{Array1, Array2};

use crate::blocks::Blocks;
use crate::components::Components;
use crate::error::Error;
use crate::fits::fits;
use crate::reducer::Reducer;
use crate::response::Response;
use crate::slicing::Slicing;
use crate::spectrum::{EigenOrder, Spectrum};
use crate::stream::SliceMoments;
use crate::whitening::Whitening;

settings! {
    /// Sliced average variance estimation (Cook and Weisberg 1991, Cook 2000): the eigenvectors of
    ///
    /// ```text
    /// sum_h p_h (I - Cov_h(z))^2,     z = Sigma^{-1/2} (x - mean)
    /// ```
    ///
    /// SAVE finds symmetric dependence, which SIR misses. It needs normal features, and more samples than SIR. The cost is
    /// O(n d^2 + H d^3) for `H` slices.
    #[derive(Copy)]
    pub struct Save {
        /// How many directions.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// Divisor `c_h - 1` of the covariance of a slice instead of `c_h`.
        unbiased_covariance: bool = false,
        /// The most memory for the sums, in bytes; `None` is no limit. They need `17 H d (d + 64)` numbers.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

impl Save {
    fits!(classes, weighted within |save| save.max_memory);
}

impl Reducer for Save {
    fn name(&self) -> &'static str {
        "SAVE"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let slices = response.slices(self.slicing, self.components.hint())?;
        let moments = SliceMoments::of(data, &slices, None, self.max_memory)?;
        self.spectrum_of(&moments)
    }
}

impl Save {
    /// From sums over slices, which [`SliceMoments`] collects from a stream.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::Refused`] for a slice with a single sample and `unbiased_covariance`.
    pub fn spectrum_of(&self, moments: &SliceMoments) -> Result<Spectrum, Error> {
        let WhitenedSlices { whitening, shares, counts, masses, covariances, .. } =
            whitened(moments)?;
        let d = whitening.mean.len();
        let identity = Array2::<f64>::eye(d);
        let mut matrix = Array2::zeros((d, d));
        for ((share, mass), mut covariance) in shares.iter().zip(&masses).zip(covariances) {
            if self.unbiased_covariance {
                if *mass <= 1.0 {
                    let what = "a slice with a single sample: leave it out";
                    return Err(Refusal::unsupported("SAVE with c - 1", what).into());
                }
                covariance *= mass / (mass - 1.0);
            }
            let rest = &identity - &covariance;
            matrix.scaled_add(*share, &rest.dot(&rest));
        }
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(whitening.back()))?;
        let mean = Some(whitening.mean);
        Ok(Spectrum { mean, samples: counts.iter().sum(), slices: counts, ..spectrum })
    }
}

/// Refuses sums of which all but one slice are empty.
pub(crate) fn check_filled(slices: usize) -> Result<(), Invalid> {
    let (name, expected) = ("number of slices with samples", "at least 2");
    if slices < 2 {
        return Err(Invalid::Parameter { name, value: slices as f64, expected });
    }
    Ok(())
}

/// Means and covariances of slices in whitened coordinates.
pub(crate) struct WhitenedSlices {
    pub(crate) whitening: Whitening,
    pub(crate) shares: Vec<f64>,
    pub(crate) counts: Vec<usize>,
    /// The counts, or sums of weights.
    pub(crate) masses: Vec<f64>,
    /// As rows.
    pub(crate) means: Array2<f64>,
    /// Divisor `c_h`.
    pub(crate) covariances: Vec<Array2<f64>>,
}

/// Empty slices are left out.
pub(crate) fn whitened(moments: &SliceMoments) -> Result<WhitenedSlices, Error> {
    moments.check_features()?;
    let (mean, covariance) = moments.total()?;
    let (what, samples) = ("covariance of the features", moments.counts().iter().sum());
    let whitening =
        Whitening::from_moments(mean, covariance, what, samples, || Ok(moments.reach()))?;
    let total: f64 = moments.masses().iter().sum();
    let d = whitening.mean.len();
    let filled: Vec<usize> =
        (0..moments.counts().len()).filter(|&h| moments.counts()[h] > 0).collect();
    check_filled(filled.len())?;
    let mut means = Array2::zeros((filled.len(), d));
    let (mut shares, mut counts, mut masses, mut covariances) = (vec![], vec![], vec![], vec![]);
    for (row, &h) in filled.iter().enumerate() {
        let (mean, covariance) = moments.slice(h);
        let centred: Array1<f64> = &mean - &whitening.mean;
        means.row_mut(row).assign(&whitening.map.dot(&centred));
        covariances.push(whitening.map.dot(&covariance).dot(&whitening.back()));
        counts.push(moments.counts()[h]);
        shares.push(moments.masses()[h] / total);
        masses.push(moments.masses()[h]);
    }
    Ok(WhitenedSlices { whitening, shares, counts, masses, means, covariances })
}
