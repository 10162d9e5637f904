//! A baseline: the stochastic subgradient method (SSM) for the primal hinge problem, with soft thresholding.
//!
//! ```text
//! U <- soft(U - gamma x_j (e_l - e_y)', gamma lambda),   l = argmax_l (1[l != y_j] + s_l)
//! ```
//!
//! A step costs O(d k). With `gamma = r/(B sqrt(T))`, `B^2 = (2/n) sum norm(x_j)^2` and `r` a bound on the Frobenius
//! norm of a solution, the average satisfies `E[P - P*] <= r B / sqrt(T)`. There is no certificate. Source: D.
//! Babichev, PhD thesis 2019, section 4.5.

use fenchel_linalg::{Invalid, project};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{
    Certificate, Iterative, Observer, Refusal, Solution, StepSize, Stop, run, settings,
};
use rand::RngExt;

use super::loss::MulticlassLoss;
use super::problem::{Geometry, Multiclass};
use super::samples::Rows;
use crate::Error;
use crate::spectral::length;

settings! {
    /// Settings of [`subgradient`].
    pub struct SubgradientSettings {
        /// The step `gamma`: `Theory` is `frobenius/(B sqrt(T))` for the `T` steps of `stop.max_passes`; `Scaled`, `Constant`.
        step: StepSize = StepSize::Theory,
        /// Bound on the Frobenius norm of a solution; `None`: the radius.
        frobenius: Option<f64> = None,
        /// Whether to project on the ball after every step.
        project: bool = false,
        /// A pass is `n` steps.
        stop: Stop = Stop::default(),
        /// Seed of the rows.
        seed: u64 = 0,
    }
}

/// The running method, as an observer receives it.
pub struct Subgradient<'a> {
    problem: &'a Multiclass<'a>,
    u: Vec<f64>,
    sum: Vec<f64>,
    scores: Vec<f64>,
    row: Vec<f64>,
    gamma: f64,
    project: bool,
    random: Generator,
    steps: u64,
}

impl Subgradient<'_> {
    /// The averaged weights, by rows.
    pub fn average(&self) -> Vec<f64> {
        let scale = 1.0 / self.steps.max(1) as f64;
        self.sum.iter().map(|s| s * scale).collect()
    }

    fn iterate(&mut self) {
        let s = self.problem.samples();
        let k = s.classes();
        let j = self.random.random_range(0..s.rows());
        let (label, margin) = (s.labels[j] as usize, s.margins[j]);
        self.sum.iter_mut().zip(&self.u).for_each(|(s, u)| *s += u);
        self.row.fill(0.0);
        match &s.rows {
            Rows::Dense(x) => self.row.iter_mut().zip(x.row(j)).for_each(|(r, x)| *r = *x),
            Rows::Sparse(x) => {
                let (places, values) = x.part(j);
                places.iter().zip(values).for_each(|(c, a)| self.row[*c as usize] = *a);
            }
        }
        self.scores.fill(0.0);
        for (a, u) in self.row.iter().zip(self.u.chunks(k)).filter(|(a, _)| **a != 0.0) {
            for l in 0..k {
                self.scores[l] += a * u[l];
            }
        }
        let value = |l: usize| self.scores[l] + if l == label { 0.0 } else { margin };
        let best = (0..k).fold(label, |b, l| if value(l) > value(b) { l } else { b });
        if best != label {
            for (i, a) in self.row.iter().enumerate() {
                self.u[i * k + best] -= self.gamma * a;
                self.u[i * k + label] += self.gamma * a;
            }
        }
        let threshold = self.gamma * self.problem.penalty();
        if threshold > 0.0 {
            self.u.iter_mut().for_each(|u| *u -= u.clamp(-threshold, threshold));
        }
        if self.project && project::l1_ball(&mut self.u, self.problem.radius()).is_err() {
            self.u.fill(f64::NAN);
        }
        self.steps += 1;
    }
}

impl Iterative for Subgradient<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.problem.samples().rows() as f64;
        let steps = (passes * n - 1e-6).ceil().max(1.0);
        let mut done = 0.0;
        while done < steps {
            self.iterate();
            done += 1.0;
        }
        done / n
    }

    fn certify(&mut self) -> Certificate {
        let value = self.problem.primal(&self.average());
        Certificate::Uncertified { objective: Some(value).filter(|v| v.is_finite()) }
    }

    fn oracle_calls(&self) -> u64 {
        self.steps
    }
}

/// Runs the baseline. The state contains the averaged `d x k` weights by rows.
///
/// # Errors
/// [`Error::Refused`] unless the loss is the hinge with the norm of entries; [`Error::Invalid`] for settings out of range.
pub fn subgradient<'a, O>(
    problem: &'a Multiclass<'a>,
    settings: &SubgradientSettings,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Error>
where
    O: Observer<Subgradient<'a>>,
{
    if problem.loss() != MulticlassLoss::Hinge || problem.geometry() != Geometry::default() {
        let what = "losses and norms other than the hinge with the l1 norm; use mirror_prox";
        return Err(Refusal::unsupported("the stochastic subgradient method", what).into());
    }
    let s = problem.samples();
    let (n, d, k) = (s.rows(), s.features(), s.classes());
    let frobenius = settings.frobenius.unwrap_or(problem.radius());
    Invalid::check_positive("frobenius", frobenius)?;
    let bound = length(s.column_norms.iter().copied()) * (2.0 / n as f64).sqrt();
    let steps = (settings.stop.max_passes * n as f64).clamp(1.0, 1e12);
    let theory = if bound > 0.0 { frobenius / (bound * steps.sqrt()) } else { 1.0 };
    let mut method = Subgradient {
        problem,
        u: vec![0.0; d * k],
        sum: vec![0.0; d * k],
        scores: vec![0.0; k],
        row: vec![0.0; d],
        gamma: settings.step.resolve(theory)?,
        project: settings.project,
        random: stream(settings.seed, 0),
        steps: 0,
    };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.average(), report })
}
