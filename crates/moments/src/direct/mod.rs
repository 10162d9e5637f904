//! Direct SADE: the score and the directions are learned in one problem.
//!
//! The objective is a sum of two terms. The first is the score-matching risk of a linear model with coefficients
//! `theta`; the second favours slice means that span few directions:
//!
//! ```text
//! min_theta  (1/2) theta'(C + a I) theta - b' theta + lambda ||A(theta)||_*
//! ```
//!
//! `A(theta)` is the `d x H` matrix with columns `sqrt(p_h) m_h(theta)`, where `m_h` is the mean of the learned score
//! over slice `h`. The nuclear norm `||.||_*` is the sum of the singular values and favours low rank. D. Babichev, PhD
//! thesis 2019, section 2.4.3, writes the second term with the square root of an indefinite matrix; the positive part
//! of that matrix is the matrix of slice means used here.
//!
//! `A` is affine in `theta`: `vec A = a0 + T theta`. Let `theta0` be the two-step solution (score matching without the
//! nuclear norm), `t0 = a0 + T theta0`, and `M = T (C + a I)^{-1} T'`. Then the problem reduces to one with `H d`
//! unknowns `a = vec A`:
//!
//! ```text
//! primal  min_a (1/2)(a - t0)' M^{-1} (a - t0) + lambda ||A||_*
//! dual    max_{||U||_2 <= lambda}  u' t0 - (1/2) u' M u,      a = t0 - M u
//! ```
//!
//! So after one factorisation of `C + a I`, every `lambda` costs only a few linear systems of order `H d`. The duality
//! gap between the primal and the dual value bounds the error of the solution.
//!
//! | solver | step | when |
//! |---|---|---|
//! | [`DirectSolver::Irls`] | a system of order `H d`, weights `D = (A A' + eps I)^{1/2}` | 2 to 50 iterations while all singular values stay; stalls at a relative gap of about 1e-5 where some vanish |
//! | [`DirectSolver::DualFista`] | a product with `M`, singular values clipped at `lambda` | a guaranteed rate; cheap steps for large `H d` |
//!
//! With [`DirectSade::support`] `k` above 1, the nuclear norm is replaced by the spectral k-support norm, which suits a
//! known rank `k`. Its unit ball is the convex hull of the matrices of rank `k` and Frobenius norm 1. The dual
//! constraint becomes `||U||_(k) <= lambda`, where `||U||_(k)` is the Euclidean norm of the `k` largest singular
//! values. Only the solver FISTA supports it.

mod norm;
mod path;
mod reduced;
mod setting;

use std::ops::ControlFlow;

use fenchel_linalg::factor::svd;
use fenchel_linalg::{AsDesign, Dense, Invalid};
use fenchel_optim::{Progress, Refusal, Stop, run, settings};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, checked};
use crate::matching::learned_bumps;
use crate::model::{Spent, finish};
use crate::whitening::mean_of;
use crate::{
    Components, EigenOrder, Error, Reducer, Reduction, Response, Sade, ScoreMatching, Slicing,
    Spectrum,
};
use reduced::Method;
use setting::Setting;

/// The weight of the nuclear norm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Lambda {
    /// A given number.
    Fixed(f64),
    /// Cross-validation over the path `lambda_top 10^{-j/5}`, `j` = 1 to `steps`. It picks the `lambda` whose
    /// directions let nearest neighbours predict held-out responses best.
    CrossValidated {
        /// Points of the path.
        steps: usize,
        /// Parts of the samples.
        folds: usize,
    },
    /// The smallest `lambda` of the path for which `A` has this many positive singular values. It is too large if the
    /// bandwidth is good (experiment `mo-e7`).
    Rank(usize),
}

/// How the reduced problem is solved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirectSolver {
    /// Iteratively reweighted least squares, the algorithm of D. Babichev, PhD thesis 2019, section 2.4.3.
    Irls,
    /// Accelerated projected gradient steps on the dual (FISTA), with restarts.
    #[default]
    DualFista,
}

settings! {
    /// The direct method; see the [module](self).
    pub struct DirectSade {
        /// How many directions.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// The basis of the score: bumps.
        score: ScoreMatching = ScoreMatching::default(),
        /// The weight of the nuclear norm.
        lambda: Lambda = Lambda::CrossValidated { steps: 12, folds: 5 },
        /// `k` of the spectral k-support norm; 1 is the nuclear norm.
        support: usize = 1,
        /// How the reduced problem is solved.
        solver: DirectSolver = DirectSolver::DualFista,
        /// Slice means are taken around the overall mean of the learned score.
        centre: bool = true,
        /// SADE (unbiased) on the scores of the final `theta`, instead of the singular vectors of `A`.
        refit: bool = false,
        /// When the method stops, by its duality gap.
        stop: Stop = Stop::at_relative(1e-6),
    }
}

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
    /// `(lambda, cross-validated R2)` along the path; empty unless cross-validated.
    pub path: Vec<(f64, f64)>,
}

impl DirectSade {
    /// Fits score and directions.
    ///
    /// # Errors
    /// The errors of [`ScoreMatching::fit`]; [`Error::Refused`] for another basis than bumps, and for [`DirectSolver::Irls`] with
    /// the k-support norm.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<DirectFit, Error> {
        self.fit_watched(x, y, |_| ControlFlow::Continue(()))
    }

    /// [`fit`](DirectSade::fit), calling `watch` at every certificate of the final `lambda`.
    ///
    /// # Errors
    /// As [`fit`](DirectSade::fit).
    pub fn fit_watched<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        mut watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<DirectFit, Error> {
        let data = checked(x)?;
        let response = Response::numbers(y.into(), data.count())?;
        if self.support == 0 {
            let expected = "at least 1";
            return Err(Invalid::Parameter { name: "support", value: 0.0, expected }.into());
        }
        if self.support > 1 && self.solver == DirectSolver::Irls {
            let what = "the k-support norm: use DualFista";
            return Err(Refusal::unsupported("reweighted least squares", what).into());
        }
        let setting = self.prepare(&data, &response)?;
        let (lambda, path) = self.choose(&setting, &response)?;
        let mut observer = |progress: &Progress, _: &Method| watch(progress);
        let zero = Array1::zeros(setting.reduced.t0.len());
        let mut method = Method::new(&setting.reduced, lambda, self.solver, zero)?;
        let report = run(&mut method, &self.stop, &mut observer)?;
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
            other => other.choose(&Named, &spectrum, &data, &response)?,
        };
        let fenchel_optim::Report { passes, seconds, .. } = report;
        let spent = Spent { passes, seconds };
        let mut model = finish(Named.name(), spectrum, k, mean_of(&data)?, spent)?;
        model.report = report;
        Ok(DirectFit { model, lambda, singular_values, theta, path })
    }

    /// Singular vectors of `A`, or SADE on the final scores.
    fn spectrum_of(
        &self,
        setting: &Setting,
        a: &Array1<f64>,
        theta: &Array1<f64>,
        response: &Response,
    ) -> Result<Spectrum, Error> {
        let back = setting.back.as_ref().map(|b| b.view());
        if self.refit {
            let scores = learned_bumps(
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
                Some(back) => crate::spectrum::normalised(back.dot(&found.vectors)),
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
