//! Average derivative estimation.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal, settings};
use ndarray::{Array1, ArrayView1, Axis};

use crate::blocks::{Blocks, check_memory, fold};
use crate::components::Components;
use crate::discrete::discrete_columns;
use crate::error::Error;
use crate::fits::fits;
use crate::reducer::{Reducer, WithScore};
use crate::response::{Response, dominated};
use crate::score::{ScoreDiagnostics, ScoreFunction};
use crate::spectrum::{Spectrum, Warning, normalised};
use crate::transform::ResponseTransform;
use crate::whitening::SQUARES;

settings! {
    /// Average derivative estimation: the direction `(1/n) sum_i y_i S1(x_i)`. It estimates the mean gradient of the
    /// regression function (D. Babichev, PhD thesis 2019, lemma 2.1).
    ///
    /// ADE finds one direction, even if the model has more. The only eigenvalue is the squared length of the mean. If the
    /// mean is shorter than two standard errors, the fit comes with [`Warning::WeakDerivative`]. The cost is the evaluation
    /// of the score, and O(n d).
    #[derive(Copy)]
    pub struct Ade {
        /// What is done to the response; one outlier can dominate the mean.
        response: ResponseTransform = ResponseTransform::Center,
    }
}

impl Ade {
    fits!(numbers, score: ScoreFunction);
}

impl Reducer for WithScore<'_, Ade, dyn ScoreFunction + '_> {
    fn name(&self) -> &'static str {
        "ADE"
    }

    fn components(&self) -> Components {
        Components::Fixed(1)
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let (y, unit) = self.settings.response.apply(response.as_numbers("ADE")?);
        let (n, d) = (data.count(), data.width());
        Invalid::check_length("dimension of the score", d, self.score.dim())?;
        check_memory("ADE", data, (0, SQUARES), MAX_MEMORY)?;
        let parts = fold(
            data,
            || (Array1::<f64>::zeros(d), 0.0),
            |(sum, squares), first, rows| {
                let s = self.score.score1(rows)?;
                let y = ArrayView1::from(&y[first..first + rows.nrows()]);
                let weighted = &s * &y.insert_axis(Axis(1));
                *sum += &weighted.sum_axis(Axis(0));
                *squares += weighted.iter().map(|v| v * v).sum::<f64>();
                Ok(())
            },
        )?;
        let (mut mean, mut squares) = (Array1::zeros(d), 0.0);
        for (part, square) in parts {
            mean += &part;
            squares += square;
        }
        mean /= n as f64;
        let length = mean.dot(&mean);
        let variance = (squares / n as f64 - length).max(0.0) / n as f64;
        let ratio = (length / variance.max(f64::MIN_POSITIVE)).sqrt();
        let mut warnings = discrete_columns(data);
        warnings.extend(dominated(&y));
        if !(ratio > 2.0) {
            warnings.push(Warning::WeakDerivative { ratio });
        }
        if length == 0.0 {
            let what = "a mean derivative of exactly zero: use SADE or SPHD".to_owned();
            return Err(Refusal::unsupported("ADE", what).into());
        }
        Ok(Spectrum {
            values: Array1::from_elem(1, length * unit * unit),
            vectors: normalised(mean.insert_axis(Axis(1))),
            residual: 0.0,
            status: fenchel_optim::Status::Converged,
            passes: 0.0,
            mean: None,
            samples: n,
            slices: vec![],
            most: 1,
            noise: None,
            warnings,
        })
    }

    fn warnings(&self, data: &dyn Blocks) -> Result<Vec<Warning>, Error> {
        Ok(ScoreDiagnostics::of_some(data, self.score)?.warning().into_iter().collect())
    }
}
