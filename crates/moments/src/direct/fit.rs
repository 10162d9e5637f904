//! The fit of the direct method.

use fenchel_linalg::factor::svd;
use fenchel_linalg::{AsDesign, Dense, Invalid};
use fenchel_optim::{Budget, Fit, Refusal, SharedWatch, run};
use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::reduced::Method;
use super::setting::Setting;
use super::settings::{DirectSade, DirectSolver};
use crate::blocks::{Blocks, checked};
use crate::components::Components;
use crate::error::Error;
use crate::fit::{Spent, finish, refuse_weights};
use crate::matching::bump_score;
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::Response;
use crate::sade::Sade;
use crate::spectrum::{EigenOrder, Spectrum, normalised};
use crate::whitening::mean_of;

/// A fit of the direct method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectFit {
    /// The fitted directions. The report is that of the final solve at the chosen `lambda`, with its duality gap. It
    /// does not count the path and the preparation.
    pub model: Reduction,
    /// The weight that was used.
    pub lambda: f64,
    /// Singular values of `A`.
    pub singular_values: Array1<f64>,
    /// Coefficients of the score.
    pub theta: Array1<f64>,
    /// The dual variables `u`.
    pub dual: Array1<f64>,
    /// `(lambda, cross-validated R2)` along the path; empty unless cross-validated.
    pub path: Vec<(f64, f64)>,
}

impl DirectSade {
    /// Fits score and directions to numbers `y`, or to [`Response::classes`] (one slice each).
    ///
    /// # Errors
    /// The errors of [`ScoreMatching::fit`](crate::ScoreMatching::fit); [`Error::Refused`] for another basis than bumps, and for
    /// [`DirectSolver::Irls`] with the k-support norm.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
    ) -> Result<DirectFit, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with a former fit to start from, and a closure that is called at every pass, those along the path
    /// of `lambda` included. `stop.max_seconds` holds for all of them together.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), [`Error::Refused`] for weights, and [`Error::Invalid`] for a start of another shape.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
        fit: Fit<'_, DirectFit>,
    ) -> Result<DirectFit, Error> {
        refuse_weights("direct SADE", &fit)?;
        let (watch, budget) = (SharedWatch::from(fit.watch), Budget::new(self.stop));
        let (data, response) = (checked(x)?, y.into());
        response.check(data.count())?;
        if self.support == 0 {
            let expected = "at least 1";
            return Err(Invalid::Parameter { name: "support", value: 0.0, expected }.into());
        }
        if self.support > 1 && self.solver == DirectSolver::Irls {
            let what = "the k-support norm: use DualFista";
            return Err(Refusal::unsupported("reweighted least squares", what).into());
        }
        let setting = self.prepare(&data, &response)?;
        let (lambda, path) = self.choose(&setting, &response, &watch, &budget)?;
        let u = setting.reduced.start(fit.start.map(|start| &start.dual), lambda)?;
        let mut method = Method::new(&setting.reduced, lambda, self.solver, u)?;
        let report = run(&mut method, &budget.left(), &mut watch.each())?;
        if let Some(error) = method.failure {
            return Err(error);
        }
        let (u, a) = (method.u.clone(), method.a());
        let theta = &setting.theta0 - &setting.lift.dot(&u);
        let singular_values = svd(setting.reduced.matrix(&a).view())?.values;
        let spectrum = self.spectrum_of(&setting, &a, &theta, &response)?;
        let k = match self.components {
            Components::Permutation { .. }
            | Components::Ladle { .. }
            | Components::ChiSquare(_) => {
                return Err(Refusal::unsupported(
                    "the direct method",
                    "tests of the number of directions: fix it, or use EigenGap",
                )
                .into());
            }
            other => other.choose(&Named, &spectrum, &data, &response, &|| false)?,
        };
        let fenchel_optim::Report { passes, seconds, .. } = report;
        let spent = Spent { passes, seconds };
        let model = finish(Named.name(), spectrum, (k, self.components), mean_of(&data)?, spent)?;
        let mut model = model.named(x.names());
        model.report = report;
        Ok(DirectFit { model, lambda, singular_values, theta, dual: u, path })
    }

    /// Singular vectors of `A`, or SADE on the final scores.
    pub(super) fn spectrum_of(
        &self,
        setting: &Setting,
        a: &Array1<f64>,
        theta: &Array1<f64>,
        response: &Response,
    ) -> Result<Spectrum, Error> {
        let back = setting.back.as_ref().map(|b| b.view());
        if self.refit {
            let scores = bump_score(
                setting.x.view(),
                setting.centres.view(),
                theta.view(),
                setting.bandwidth,
                self.score.offset,
            );
            let sade = Sade {
                slicing: self.slicing,
                components: self.components,
                standardise: true,
                centre_scores: true,
                ..Sade::default()
            };
            let found = sade.spectrum(&Dense::new(scores.view())?, response)?;
            let vectors = match back {
                Some(back) => normalised(back.dot(&found.vectors)),
                None => found.vectors,
            };
            return Ok(Spectrum { vectors, ..found });
        }
        let a = setting.reduced.matrix(a);
        let spectrum = Spectrum::of(&a.dot(&a.t()), EigenOrder::Algebraic, back)?;
        let d = setting.reduced.d;
        let most = d.min(setting.slices.len() - usize::from(self.centre));
        Ok(Spectrum {
            samples: response.values().len(),
            slices: setting.slices.counts().to_vec(),
            most,
            ..spectrum
        })
    }
}

/// A reducer for messages and for rules that use only the spectrum.
struct Named;

impl Reducer for Named {
    fn name(&self) -> &'static str {
        "direct SADE"
    }

    fn components(&self) -> Components {
        Components::Fixed(1)
    }

    fn spectrum(&self, _: &dyn Blocks, _: &Response) -> Result<Spectrum, Error> {
        Err(Refusal::unsupported("direct SADE", "fits without DirectSade::fit").into())
    }
}
