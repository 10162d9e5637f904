//! Directional regression.

use fenchel_optim::{MAX_MEMORY, settings};
use ndarray::{Array2, Axis};

use super::save::{WhitenedSlices, whitened};
use crate::blocks::Blocks;
use crate::components::Components;
use crate::error::Error;
use crate::fits::fits;
use crate::reducer::Reducer;
use crate::response::Response;
use crate::slicing::Slicing;
use crate::spectrum::{EigenOrder, Spectrum};
use crate::stream::SliceMoments;

settings! {
    /// Directional regression (Li and Wang, JASA 102, 2007), which combines the first and second moments of slices:
    ///
    /// ```text
    /// 2 sum_h p_h (E_h(zz') - I)^2 + 2 (sum_h p_h m_h m_h')^2 + 2 (sum_h p_h m_h'm_h) sum_h p_h m_h m_h'
    /// ```
    ///
    /// A safe choice between SIR and SAVE for nearly normal features. Cost O(n d^2 + H d^3).
    #[derive(Copy)]
    pub struct DirectionalRegression {
        /// How many directions.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// The most memory for the sums, in bytes; `None` is no limit. They need `17 H d (d + 64)` numbers.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

impl DirectionalRegression {
    fits!(classes, weighted within |method| method.max_memory);
}

impl Reducer for DirectionalRegression {
    fn name(&self) -> &'static str {
        "directional regression"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let slices = response.slices(self.slicing, self.components.hint())?;
        self.spectrum_of(&SliceMoments::of(data, &slices, None, self.max_memory)?)
    }
}

impl DirectionalRegression {
    /// From sums over slices, which [`SliceMoments`] collects from a stream.
    ///
    /// # Errors
    /// [`Error::Singular`].
    pub fn spectrum_of(&self, moments: &SliceMoments) -> Result<Spectrum, Error> {
        let WhitenedSlices { whitening, shares, counts, means, covariances, .. } =
            whitened(moments)?;
        let d = whitening.mean.len();
        let identity = Array2::<f64>::eye(d);
        let (mut squares, mut between) = (Array2::zeros((d, d)), Array2::<f64>::zeros((d, d)));
        let mut length = 0.0;
        for ((share, mean), covariance) in shares.iter().zip(means.rows()).zip(&covariances) {
            let column = mean.insert_axis(Axis(1));
            let outer = column.dot(&column.t());
            let second = covariance + &outer - &identity;
            squares.scaled_add(2.0 * share, &second.dot(&second));
            between.scaled_add(*share, &outer);
            length += share * mean.dot(&mean);
        }
        let matrix = squares + between.dot(&between) * 2.0 + between * (2.0 * length);
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(whitening.back()))?;
        let mean = Some(whitening.mean);
        Ok(Spectrum { mean, samples: counts.iter().sum(), slices: counts, ..spectrum })
    }
}
