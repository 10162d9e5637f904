//! Learning the score and the directions at once.
//!
//! The score should be a good score, and its slice means should span few directions:
//!
//! ```text
//! min_theta  (1/2) theta'(C + a I) theta - b' theta + lambda ||A(theta)||_*
//! ```
//!
//! `A(theta)` is the `d x H` matrix with columns `sqrt(p_h) m_h(theta)`, `m_h` the mean of the learned score over slice `h`, and
//! `||.||_*` the sum of singular values, which favours low rank. (The thesis writes this with a square root of an
//! indefinite matrix, 2.4.3; its positive part is the matrix of slice means used here.)
//!
//! `A` is linear in `theta`: `vec A = a0 + T theta`. With `t0 = a0 + T theta0`, `theta0` the two-step solution and
//! `M = T (C + a I)^{-1} T'`, the problem is one of `H d` numbers,
//!
//! ```text
//! primal  min_a (1/2)(a - t0)' M^{-1} (a - t0) + lambda ||A||_*
//! dual    max_{||U||_2 <= lambda}  u' t0 - (1/2) u' M u,      a = t0 - M u
//! ```
//!
//! so that after one factorisation of `C + a I` every `lambda` costs a few systems of order `H d`, and the gap between the two
//! certifies the answer.
//!
//! | solver | step | when |
//! |---|---|---|
//! | [`DirectSolver::Irls`] | a system of order `H d`, weights `D = (A A' + eps I)^{1/2}` | 2 to 50 iterations while all singular values stay; stalls at a relative gap of about 1e-5 where some vanish |
//! | [`DirectSolver::DualFista`] | a product with `M`, singular values clipped at `lambda` | a guaranteed rate; cheap steps for large `H d` |

use std::ops::ControlFlow;

use fenchel_linalg::factor::{
    Triangle, cholesky, clip_singular_values, solve_triangular, svd, symmetric_eigen,
};
use fenchel_linalg::{AsDesign, Dense, Invalid};
use fenchel_metrics::{k_fold, r2};
use fenchel_optim::{Certificate, Iterative, Look, Progress, Refusal, Status, Stop, run};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, checked};
use crate::matching::bumps::{kernel, squares};
use crate::matching::learned_bumps;
use crate::model::finish;
use crate::neighbours::nearest_mean;
use crate::whitening::mean_of;
use crate::{
    Components, EigenOrder, Error, Reducer, Reduction, Response, Sade, ScoreMatching, Slices,
    Slicing, Spectrum,
};

/// The weight of the nuclear norm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Lambda {
    /// A given number.
    Fixed(f64),
    /// The one of a path `lambda_top 10^{-j/5}`, `j` = 1 to `steps`, under whose directions nearest neighbours predict held-out
    /// responses best.
    CrossValidated {
        /// Points of the path.
        steps: usize,
        /// Parts of the samples.
        folds: usize,
    },
    /// The smallest one of the path under which so many singular values are left. Too much for a good bandwidth
    /// (experiment `mo-e7`).
    Rank(usize),
}

/// How the reduced problem is solved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirectSolver {
    /// Iteratively reweighted least squares, the scheme of the thesis.
    Irls,
    /// Accelerated projected gradients on the dual, with restarts.
    #[default]
    DualFista,
}

/// The direct method; see the [module](self).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `components` | `EigenGap(10)` | how many directions |
/// | `slicing` | `Auto` | how the responses are cut |
/// | `score` | [`ScoreMatching::default`] | the basis of the score: bumps |
/// | `lambda` | cross-validated, 12 steps, 5 folds | the weight of the nuclear norm |
/// | `solver` | `DualFista` | how the reduced problem is solved |
/// | `centre` | true | slice means are taken around the overall mean of the learned score |
/// | `refit` | false | SADE (unbiased) on the scores of the final `theta`, instead of the singular vectors of `A` |
/// | `stop` | relative gap 1e-6 | when to end |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectSade {
    /// How many directions.
    pub components: Components,
    /// How the responses are cut.
    pub slicing: Slicing,
    /// The basis of the score.
    pub score: ScoreMatching,
    /// The weight of the nuclear norm.
    pub lambda: Lambda,
    /// How the reduced problem is solved.
    pub solver: DirectSolver,
    /// Whether slice means are centred.
    pub centre: bool,
    /// Whether SADE is run on the final scores.
    pub refit: bool,
    /// When to end.
    pub stop: Stop,
}

impl Default for DirectSade {
    fn default() -> Self {
        DirectSade {
            components: Components::default(),
            slicing: Slicing::Auto,
            score: ScoreMatching::default(),
            lambda: Lambda::CrossValidated { steps: 12, folds: 5 },
            solver: DirectSolver::DualFista,
            centre: true,
            refit: false,
            stop: Stop::at_relative(1e-6),
        }
    }
}

/// A fit of the direct method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectFit {
    /// The directions; its report has the duality gap.
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

/// The reduced problem: `d`, `H`, `t0` and `M` (slice-major, `d` entries a slice).
#[derive(Debug, Clone)]
pub(crate) struct Reduced {
    d: usize,
    h: usize,
    t0: Array1<f64>,
    m: Array2<f64>,
}

impl Reduced {
    /// `d x H` from slice-major numbers.
    fn matrix(&self, a: &Array1<f64>) -> Array2<f64> {
        Array2::from_shape_fn((self.d, self.h), |(i, h)| a[h * self.d + i])
    }

    fn vector(&self, a: &Array2<f64>) -> Array1<f64> {
        Array1::from_shape_fn(self.d * self.h, |k| a[[k % self.d, k / self.d]])
    }

    /// A `lambda` under which little is left of `A`: the spectral norm of `(M + delta I)^{-1} t0`, `delta` a hundredth of the
    /// largest eigenvalue. Without `delta` it would be a bound beyond which `A = 0`, which tiny eigenvalues
    /// of `M` put far away.
    fn lambda_top(&self) -> Result<f64, Error> {
        let eigen = symmetric_eigen(self.m.view())?;
        let delta = 1e-2 * eigen.values[eigen.values.len() - 1];
        let inner = eigen.vectors.t().dot(&self.t0);
        let scaled = &inner / &eigen.values.mapv(|l| l.max(0.0) + delta);
        let u = eigen.vectors.dot(&scaled);
        Ok(svd(self.matrix(&u).view())?.values[0])
    }
}

/// One value of `lambda` on the way to its optimum.
struct Method<'a> {
    problem: &'a Reduced,
    lambda: f64,
    solver: DirectSolver,
    /// The dual point; `a = t0 - M u`.
    u: Array1<f64>,
    /// IRLS: what is added to `A A'`.
    epsilon: f64,
    /// FISTA: extrapolated point, momentum, step.
    ahead: Array1<f64>,
    momentum: f64,
    step: f64,
    failure: Option<Error>,
}

impl<'a> Method<'a> {
    fn new(
        problem: &'a Reduced,
        lambda: f64,
        solver: DirectSolver,
        u: Array1<f64>,
    ) -> Result<Self, Error> {
        let largest = match solver {
            DirectSolver::Irls => 1.0,
            DirectSolver::DualFista => {
                let values = symmetric_eigen(problem.m.view())?.values;
                values[values.len() - 1].max(f64::MIN_POSITIVE)
            }
        };
        let scale = problem.t0.dot(&problem.t0) / problem.d as f64;
        Ok(Method {
            problem,
            lambda,
            solver,
            ahead: u.clone(),
            u,
            epsilon: 1e-3 * scale,
            momentum: 1.0,
            step: 1.0 / largest,
            failure: None,
        })
    }

    fn a(&self) -> Array1<f64> {
        &self.problem.t0 - &self.problem.m.dot(&self.u)
    }

    /// `(A A' + eps I)^p` for p = 1/2 or -1/2. By singular values: those of `A A'` would lose the small ones.
    fn root(&self, a: &Array2<f64>, power: f64) -> Result<Array2<f64>, Error> {
        let found = svd(a.view())?;
        let rest = self.epsilon.powf(power);
        let scaled = found.values.mapv(|s| (s * s + self.epsilon).powf(power) - rest);
        let mut root = (&found.u * &scaled).dot(&found.u.t());
        root.diag_mut().mapv_inplace(|v| v + rest);
        Ok(root)
    }

    /// `v = (I (x) D + lambda M)^{-1} t0`, `u = lambda v`.
    fn reweight(&mut self) -> Result<(), Error> {
        let Reduced { d, h, t0, m } = self.problem;
        let root = self.root(&self.problem.matrix(&self.a()), 0.5)?;
        let mut system = m * self.lambda;
        for slice in 0..*h {
            for i in 0..*d {
                for j in 0..*d {
                    system[[slice * d + i, slice * d + j]] += root[[i, j]];
                }
            }
        }
        let system = (&system + &system.t()) * 0.5;
        self.u = cholesky(system.view())?.solve(t0.view())? * self.lambda;
        Ok(())
    }

    /// A projected gradient step from the extrapolated point.
    fn project(&mut self) -> Result<(), Error> {
        let gradient = &self.problem.t0 - &self.problem.m.dot(&self.ahead);
        let moved = &self.ahead + &(&gradient * self.step);
        let clipped = clip_singular_values(self.problem.matrix(&moved).view(), self.lambda)?;
        let next = self.problem.vector(&clipped);
        let change = &next - &self.u;
        // Restart where the momentum points downhill.
        if (&self.ahead - &next).dot(&change) > 0.0 {
            self.momentum = 1.0;
        }
        let momentum = 0.5 * (1.0 + (1.0 + 4.0 * self.momentum * self.momentum).sqrt());
        self.ahead = &next + &(change * ((self.momentum - 1.0) / momentum));
        self.momentum = momentum;
        self.u = next;
        Ok(())
    }

    fn gap(&self) -> Result<Certificate, Error> {
        let Reduced { t0, m, .. } = self.problem;
        let mu = m.dot(&self.u);
        let a = self.problem.matrix(&(t0 - &mu));
        let primal = 0.5 * self.u.dot(&mu) + self.lambda * svd(a.view())?.values.sum();
        let dual = |u: &Array1<f64>| u.dot(t0) - 0.5 * u.dot(&m.dot(u));
        let clipped = clip_singular_values(self.problem.matrix(&self.u).view(), self.lambda)?;
        let mut bound = dual(&self.problem.vector(&clipped));
        if self.solver == DirectSolver::Irls {
            // Feasible for every A: the singular values of D^{-1} A are below 1.
            let weighted = self.root(&a, -0.5)?.dot(&a) * self.lambda;
            let weighted = clip_singular_values(weighted.view(), self.lambda)?;
            bound = bound.max(dual(&self.problem.vector(&weighted)));
        }
        Ok(Certificate::gap(primal, bound))
    }
}

impl Iterative for Method<'_> {
    fn look(&self) -> Look {
        Look::Free
    }

    fn advance(&mut self, _: f64) -> f64 {
        let moved = match self.solver {
            DirectSolver::Irls => self.reweight(),
            DirectSolver::DualFista => self.project(),
        };
        self.failure = self.failure.take().or(moved.err());
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let certificate = self.gap().unwrap_or_else(|error| {
            self.failure = Some(error);
            Certificate::Uncertified { objective: None }
        });
        // Smoothing costs about `lambda d sqrt(epsilon)`: a tenth of what is still to gain. Less would only slow the
        // singular values that go to 0.
        let cost = self.lambda * self.problem.d as f64;
        if cost > 0.0 && certificate.value().is_finite() {
            let scale = self.problem.t0.dot(&self.problem.t0) / self.problem.d as f64;
            let wanted = (0.1 * certificate.value() / cost).powi(2);
            self.epsilon = self.epsilon.min(wanted).max(1e-28 * scale);
        }
        certificate
    }

    fn verdict(&self) -> Option<Status> {
        self.failure.as_ref().map(|_| Status::Stalled)
    }
}

/// The data of a fit, prepared once for every `lambda`.
struct Setting {
    reduced: Reduced,
    /// `C_a^{-1} T'`, `m x (H d)`, and `theta0`.
    lift: Array2<f64>,
    theta0: Array1<f64>,
    /// Features in the coordinates of the basis; directions there to those of the data.
    x: Array2<f64>,
    back: Option<Array2<f64>>,
    centres: Array2<f64>,
    bandwidth: f64,
    slices: Slices,
}

impl DirectSade {
    /// Fits score and directions.
    ///
    /// # Errors
    /// Those of [`ScoreMatching::fit`]; [`Error::Refused`] for another basis than bumps.
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
        let mut model = finish(Named.name(), spectrum, k, mean_of(&data)?)?;
        model.report = report;
        Ok(DirectFit { model, lambda, singular_values, theta, path })
    }

    fn prepare(&self, data: &dyn Blocks, response: &Response) -> Result<Setting, Error> {
        self.stop.check()?;
        let slices = response.slices(self.slicing, self.components.hint())?;
        let (d, h) = (data.width(), slices.len());
        let size = (d as u64).saturating_mul(h as u64);
        let needed = size.saturating_mul(size.saturating_add(1000)).saturating_mul(32);
        let hint = "use fewer slices";
        Refusal::check_memory("the direct method", needed, self.score.max_memory, hint)?;
        let prepared = self.score.prepare(data)?;
        let (mut t, mut a0) = slice_means(
            prepared.x.view(),
            prepared.centres.view(),
            prepared.bandwidth,
            self.score.offset,
            &slices,
        );
        if self.centre {
            let n = slices.labels().len() as f64;
            let roots: Vec<f64> = slices.counts().iter().map(|&c| (c as f64 / n).sqrt()).collect();
            let m = t.ncols();
            let mut mean = Array2::<f64>::zeros((d, m));
            let mut mean0 = Array1::<f64>::zeros(d);
            for h in 0..roots.len() {
                for i in 0..d {
                    mean.row_mut(i).scaled_add(roots[h], &t.row(h * d + i));
                    mean0[i] += roots[h] * a0[h * d + i];
                }
            }
            for h in 0..roots.len() {
                for i in 0..d {
                    t.row_mut(h * d + i).scaled_add(-roots[h], &mean.row(i));
                    a0[h * d + i] -= roots[h] * mean0[i];
                }
            }
        }
        let half = solve_triangular(prepared.factor.lower(), Triangle::Lower, t.t())?;
        let m = half.t().dot(&half);
        let lift = solve_triangular(prepared.factor.lower().t(), Triangle::Upper, half.view())?;
        let t0 = &a0 + &t.dot(&prepared.theta);
        Ok(Setting {
            reduced: Reduced { d, h, t0, m: (&m + &m.t()) * 0.5 },
            lift,
            theta0: prepared.theta,
            x: prepared.x,
            back: prepared.whitening.map(|w| w.back().to_owned()),
            centres: prepared.centres,
            bandwidth: prepared.bandwidth,
            slices,
        })
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

    /// `lambda`, and the cross-validated R2 along the path.
    fn choose(
        &self,
        setting: &Setting,
        response: &Response,
    ) -> Result<(f64, Vec<(f64, f64)>), Error> {
        let top = match self.lambda {
            Lambda::Fixed(lambda) => {
                Invalid::check_nonnegative("lambda", lambda)?;
                return Ok((lambda, vec![]));
            }
            _ => setting.reduced.lambda_top()?,
        };
        let mut u = Array1::zeros(setting.reduced.t0.len());
        let stop = Stop { relative: self.stop.relative.max(1e-4), ..self.stop };
        let mut solve = |lambda: f64, solver: DirectSolver| {
            let mut method = Method::new(&setting.reduced, lambda, solver, std::mem::take(&mut u))?;
            run(&mut method, &stop, &mut ())?;
            if let Some(error) = method.failure.take() {
                return Err(error);
            }
            u.clone_from(&method.u);
            Ok((method.a(), method.u))
        };
        let at = |j: i32| top * 10f64.powf(f64::from(j) / 5.0);
        match self.lambda {
            Lambda::CrossValidated { steps, folds } => {
                if steps == 0 {
                    let expected = "at least 1";
                    return Err(Invalid::Parameter { name: "steps", value: 0.0, expected }.into());
                }
                let inner = setting.in_basis();
                let mut path = vec![];
                for j in 1..=steps as i32 {
                    let lambda = at(-j);
                    let (a, u) = solve(lambda, self.solver)?;
                    let theta = &setting.theta0 - &setting.lift.dot(&u);
                    let spectrum = self.spectrum_of(&inner, &a, &theta, response)?;
                    let k = self.components.hint().min(spectrum.vectors.ncols());
                    let index = setting.x.dot(&crate::blocks::leading(&spectrum.vectors, k));
                    path.push((lambda, neighbours_r2(index.view(), response.values(), folds)?));
                }
                let best = path.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
                Ok((best.map_or(top, |b| b.0), path))
            }
            _ => {
                let Lambda::Rank(most) = self.lambda else { return Ok((top, vec![])) };
                // Projections make singular values vanish exactly where reweighting only makes them small.
                let largest = svd(setting.reduced.matrix(&setting.reduced.t0).view())?.values[0];
                for j in -10..=15 {
                    let (a, _) = solve(at(j), DirectSolver::DualFista)?;
                    let values = svd(setting.reduced.matrix(&a).view())?.values;
                    if values.iter().filter(|&&s| s > 1e-3 * largest).count() <= most {
                        return Ok((at(j), vec![]));
                    }
                }
                Ok((at(15), vec![]))
            }
        }
    }
}

impl Setting {
    /// What the directions need, in the coordinates of the basis.
    fn in_basis(&self) -> Setting {
        Setting {
            reduced: Reduced { m: Array2::zeros((0, 0)), ..self.reduced.clone() },
            lift: Array2::zeros((0, 0)),
            theta0: self.theta0.clone(),
            x: self.x.clone(),
            back: None,
            centres: self.centres.clone(),
            bandwidth: self.bandwidth,
            slices: self.slices.clone(),
        }
    }
}

/// For messages and rules that look at the spectrum alone.
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

/// `T` (`H d x m`, slice-major) and `a0`: `vec A = a0 + T theta`.
///
/// Block `h`, column `j`: `-(sqrt(p_h) / (h^2 c_h)) sum_{i in h} k_ij (x_i - z_j)`.
fn slice_means(
    x: ArrayView2<f64>,
    centres: ArrayView2<f64>,
    bandwidth: f64,
    offset: bool,
    slices: &Slices,
) -> (Array2<f64>, Array1<f64>) {
    let ((n, d), m) = (x.dim(), centres.nrows());
    let h2 = bandwidth * bandwidth;
    let zz = squares(centres);
    let mut t = Array2::zeros((slices.len() * d, m));
    let mut a0 = Array1::zeros(slices.len() * d);
    for (h, members) in slices.members().into_iter().enumerate() {
        let c = members.len() as f64;
        let scale = (c / n as f64).sqrt() / c;
        let rows = x.select(Axis(0), &members);
        let k = kernel(rows.view(), centres, zz.view(), bandwidth);
        let sums = k.sum_axis(Axis(0));
        let mut block = rows.t().dot(&k);
        block -= &(&centres.t() * &sums);
        block *= -scale / h2;
        for i in 0..d {
            t.row_mut(h * d + i).assign(&block.row(i));
            if offset {
                a0[h * d + i] = scale * rows.column(i).sum();
            }
        }
    }
    (t, a0)
}

/// R2 of predictions of held-out responses by the mean of the 15 nearest indices.
fn neighbours_r2(index: ArrayView2<f64>, y: &[f64], folds: usize) -> Result<f64, Error> {
    let mut predicted = vec![0.0; y.len()];
    for (train, held) in k_fold(y.len(), folds, 0)? {
        let inner = index.select(Axis(0), &train);
        let values: Vec<f64> = train.iter().map(|&i| y[i]).collect();
        for i in held {
            predicted[i] = nearest_mean(inner.view(), &values, index.row(i), 15);
        }
    }
    Ok(r2(y, &predicted)?)
}

#[cfg(test)]
mod tests {
    use fenchel_optim::Report;

    use super::*;

    /// A reduced problem with a positive definite matrix.
    fn problem(d: usize, h: usize) -> Reduced {
        let size = d * h;
        let entry = |i: usize, j: usize| (((i * 31 + j * 17) % 23) as f64 - 11.0) / 11.0;
        let root = Array2::from_shape_fn((size, size), |(i, j)| entry(i, j));
        let m = root.dot(&root.t()) / size as f64 + Array2::<f64>::eye(size) * 0.1;
        let t0 = Array1::from_shape_fn(size, |k| entry(k, 3 * k + 1));
        Reduced { d, h, t0, m }
    }

    fn solve(
        problem: &Reduced,
        lambda: f64,
        solver: DirectSolver,
        relative: f64,
    ) -> (Array1<f64>, Report) {
        let zero = Array1::zeros(problem.t0.len());
        let mut method = Method::new(problem, lambda, solver, zero).unwrap();
        let stop = Stop { relative, max_passes: 20_000.0, ..Stop::default() };
        let report = run(&mut method, &stop, &mut ()).unwrap();
        assert!(method.failure.is_none());
        (method.a(), report)
    }

    #[test]
    fn both_solvers_close_the_gap_at_the_same_point() {
        let problem = problem(3, 5);
        let top = problem.lambda_top().unwrap();
        for share in [0.0, 0.01, 0.1, 0.3] {
            // Reweighting stalls before FISTA does where singular values vanish.
            let (irls, one) = solve(&problem, share * top, DirectSolver::Irls, 1e-4);
            let (fista, other) = solve(&problem, share * top, DirectSolver::DualFista, 1e-9);
            assert_eq!(
                (one.status, other.status),
                (Status::Converged, Status::Converged),
                "{share}"
            );
            // M >= I / 10: a gap of 1e-4 of an objective below 10 leaves at most sqrt(2 * 10 * 1e-3).
            let worst = (&irls - &fista).fold(0.0, |m: f64, v| m.max(v.abs()));
            assert!(worst < 0.05, "{share}: {worst}");
        }
    }

    /// With `M = I` the answer is known: the singular values of `t0`, less `lambda`.
    #[test]
    fn with_the_identity_singular_values_shrink() {
        let problem = Reduced { m: Array2::eye(15), ..problem(3, 5) };
        let t0 = problem.matrix(&problem.t0);
        let expected = fenchel_linalg::factor::shrink_singular_values(t0.view(), 0.4).unwrap();
        for solver in [DirectSolver::Irls, DirectSolver::DualFista] {
            let (a, _) = solve(&problem, 0.4, solver, 1e-9);
            let worst = (&problem.matrix(&a) - &expected).fold(0.0, |m: f64, v| m.max(v.abs()));
            assert!(worst < 1e-4, "{solver:?}: {worst}");
        }
    }
}
