//! Principal Hessian directions with a score of second order.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, settings};
use ndarray::{Array2, ArrayView1};

use crate::blocks::{Blocks, check_memory, fold};
use crate::classic::linear_residuals;
use crate::components::Components;
use crate::discrete::discrete_columns;
use crate::error::Error;
use crate::fits::fits;
use crate::reducer::{Reducer, WithScore};
use crate::response::{Response, dominated};
use crate::score::{ScoreDiagnostics, SecondOrderScore};
use crate::spectrum::{EigenOrder, Spectrum, Warning};
use crate::transform::ResponseTransform;
use crate::whitening::SQUARES;

settings! {
    /// PHD+: the eigenvectors of `(1/n) sum_i y_i S2(x_i)`. This matrix estimates the mean Hessian of the regression
    /// function (D. Babichev, PhD thesis 2019, lemma 2.3).
    ///
    /// The cost is one product of `n x d` matrices per component of the density, and O(n d + d^2) memory.
    #[derive(Copy)]
    pub struct PhdPlus {
        /// How many directions.
        components: Components = Components::default(),
        /// Which eigenvalues come first: the matrix is indefinite.
        order: EigenOrder = EigenOrder::Absolute,
        /// What is done to the response.
        response: ResponseTransform = ResponseTransform::Center,
        /// Takes out the linear part of the response first, for less variance.
        residual: bool = false,
    }
}

impl PhdPlus {
    fits!(numbers, score: SecondOrderScore);
}

impl WithScore<'_, PhdPlus, dyn SecondOrderScore + '_> {
    /// `(1/n) sum_i y_i S2(x_i)`.
    fn matrix(&self, data: &dyn Blocks, mut y: Vec<f64>) -> Result<Array2<f64>, Error> {
        let d = data.width();
        Invalid::check_length("dimension of the score", d, self.score.dim())?;
        check_memory("PHD+", data, (0, SQUARES), MAX_MEMORY)?;
        if self.settings.residual {
            y = linear_residuals(data, y)?;
        }
        let parts = fold(
            data,
            || Array2::<f64>::zeros((d, d)),
            |sum, first, rows| {
                let y = ArrayView1::from(&y[first..first + rows.nrows()]);
                *sum += &self.score.score2_sum(rows, y)?;
                Ok(())
            },
        )?;
        let total = parts.into_iter().fold(Array2::zeros((d, d)), |s, p| s + p);
        Ok(total / data.count() as f64)
    }
}

impl Reducer for WithScore<'_, PhdPlus, dyn SecondOrderScore + '_> {
    fn name(&self) -> &'static str {
        "PHD+"
    }

    fn components(&self) -> Components {
        self.settings.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let (y, unit) = self.settings.response.apply(response.as_numbers("PHD+")?);
        let warning = dominated(&y);
        let matrix = self.matrix(data, y)?;
        let mut spectrum = Spectrum::of(&matrix, self.settings.order, None)?;
        spectrum.in_unit(unit);
        let warnings = discrete_columns(data).into_iter().chain(warning).collect();
        Ok(Spectrum { samples: data.count(), warnings, ..spectrum })
    }

    fn warnings(&self, data: &dyn Blocks) -> Result<Vec<Warning>, Error> {
        Ok(ScoreDiagnostics::of_some(data, self.score)?.warning().into_iter().collect())
    }
}
