//! Sliced principal Hessian directions.

use fenchel_linalg::Invalid;
use fenchel_linalg::parallel::try_map;
use fenchel_optim::{MAX_MEMORY, settings};
use ndarray::{Array1, Array2, Axis, Slice};
use serde::{Deserialize, Serialize};

use crate::blocks::{BLOCK, Blocks, Picked, check_memory};
use crate::components::Components;
use crate::discrete::discrete_columns;
use crate::error::Error;
use crate::fits::fits;
use crate::reducer::{Reducer, WithScore};
use crate::response::{Response, dominated};
use crate::score::{ScoreDiagnostics, SecondOrderScore};
use crate::slicing::Slicing;
use crate::spectrum::{EigenOrder, Spectrum, Warning};
use crate::transform::ResponseTransform;
use crate::whitening::SQUARES;

/// How the mean square of the slice means is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SphdEstimator {
    /// `sum_h p_h M_h^2` with the slice means `M_h` of `S2`, as in D. Babichev, PhD thesis 2019, section 2.3.2. For
    /// normal features the noise of the means adds about `(d + 1) / c_h` to every eigenvalue.
    #[default]
    Means,
    /// `(1/n) sum_h (T_h^2 - sum_{i in h} S2_i^2) / (c_h - 1)` with the slice sums `T_h` of `S2`. Like the matrix of
    /// SADE, it is free of the noise of the means. It has 3 to 15 % less error in the experiments. It costs O(d^3) per
    /// sample unless the density is a mixture of isotropic parts.
    Unbiased,
}

settings! {
    /// Sliced principal Hessian directions: the eigenvectors of `E[E(S2 given y)^2]` (D. Babichev, PhD thesis 2019, lemma
    /// 2.4).
    ///
    /// SPHD finds directions that SADE cannot find: those of even functions, and of the boundary between two classes. For
    /// Gaussian features it is close to SAVE but not equal, although Babichev's thesis says equal. The cost is O(n d^2 + H d^3)
    /// for `H` slices.
    #[derive(Copy)]
    pub struct Sphd {
        /// How many directions.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// How the square of the slice means is estimated.
        estimator: SphdEstimator = SphdEstimator::Means,
        /// Means of `y_i S2`: the matrix `V2'`, which dominates the square of PHD+.
        weight_by_response: bool = false,
    }
}

impl Sphd {
    fits!(classes, score: SecondOrderScore);
}

impl WithScore<'_, Sphd, dyn SecondOrderScore + '_> {
    /// The share of the slices `from..to` in the matrix, times `n`.
    fn part(
        &self,
        data: &dyn Blocks,
        members: &[Vec<usize>],
        y: Option<&[f64]>,
    ) -> Result<Array2<f64>, Error> {
        let d = data.width();
        let mut total = Array2::zeros((d, d));
        let mut buffer = Array2::zeros((BLOCK, d));
        for members in members {
            let picked = Picked { data, index: members };
            let c = members.len() as f64;
            let (mut sum, mut squares) =
                (Array2::<f64>::zeros((d, d)), Array2::<f64>::zeros((d, d)));
            for (block, index) in members.chunks(BLOCK).enumerate() {
                let mut rows = buffer.slice_axis_mut(Axis(0), Slice::from(..index.len()));
                picked.read(block * BLOCK, rows.view_mut());
                let weights: Array1<f64> = match y {
                    None => Array1::ones(index.len()),
                    Some(y) => index.iter().map(|&i| y[i]).collect(),
                };
                sum += &self.score.score2_sum(rows.view(), weights.view())?;
                if self.settings.estimator == SphdEstimator::Unbiased {
                    let weights = weights.mapv(|w| w * w);
                    squares += &self.score.score2_square_sum(rows.view(), weights.view())?;
                }
            }
            match self.settings.estimator {
                SphdEstimator::Means => total.scaled_add(1.0 / c, &sum.dot(&sum)),
                SphdEstimator::Unbiased => {
                    total.scaled_add(1.0 / (c - 1.0), &(sum.dot(&sum) - squares));
                }
            }
        }
        Ok(total)
    }
}

impl Reducer for WithScore<'_, Sphd, dyn SecondOrderScore + '_> {
    fn name(&self) -> &'static str {
        "SPHD"
    }

    fn components(&self) -> Components {
        self.settings.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        Invalid::check_length("dimension of the score", data.width(), self.score.dim())?;
        // A sum for each of up to 16 groups of slices.
        check_memory("SPHD", data, (0, 16 + SQUARES), MAX_MEMORY)?;
        let slices = response.slices(self.settings.slicing, self.settings.components.hint())?;
        if self.settings.estimator == SphdEstimator::Unbiased {
            slices.check_pairs()?;
        }
        let (y, unit) = if self.settings.weight_by_response {
            let y = response.as_numbers("SPHD weighted by y")?;
            let (y, unit) = ResponseTransform::None.apply(y);
            (Some(y), unit)
        } else {
            (None, 1.0)
        };
        let y = y.as_deref();
        let members = slices.members();
        let (h, n) = (members.len(), data.count());
        let parts = h.min(16);
        let shares = try_map(0..parts, |p| {
            self.part(data, &members[p * h / parts..(p + 1) * h / parts], y)
        })?;
        let zero = Array2::zeros((data.width(), data.width()));
        let matrix = shares.into_iter().fold(zero, |s, p| s + p) / n as f64;
        let mut spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, None)?;
        spectrum.in_unit(unit * unit);
        Ok(Spectrum {
            samples: n,
            slices: slices.counts().to_vec(),
            warnings: discrete_columns(data).into_iter().chain(y.and_then(dominated)).collect(),
            ..spectrum
        })
    }

    fn warnings(&self, data: &dyn Blocks) -> Result<Vec<Warning>, Error> {
        Ok(ScoreDiagnostics::of_some(data, self.score)?.warning().into_iter().collect())
    }
}
