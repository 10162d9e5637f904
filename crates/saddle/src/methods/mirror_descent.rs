//! Mirror descent for saddle points, with the exact field of gradients or with random estimates of it.
//!
//! ```text
//! w_t+1 = argmin_w <g_t, w> + (1/gamma_t) D(w, w_t),   D = D_x/(2 Omega_x) + D_y/(2 Omega_y)
//! output: the average of w_0 .. w_T-1, weighted by the steps where they change
//! ```
//!
//! Here `g_t` is the field at `w_t = (x_t, y_t)`, or an estimate of it. With `a = L sqrt(Omega_x Omega_y)`, the exact
//! field and `gamma = 1/(a sqrt(5T))`, the gap after `T` steps is at most `2 sqrt(5) a / sqrt(T)` (D. Babichev, PhD
//! thesis 2019, Theorem 4.1). With unbiased estimates of noise `s` and `gamma = min(1/(sqrt(10) a), 1/(sqrt(2) s)) /
//! sqrt(T)`, the expected gap is at most `(3 sqrt(10) a + (7/sqrt(2)) s) / sqrt(T)`. The constants of Theorem 4.2 in
//! the thesis are smaller, but its proof exchanges an expectation and a maximum. If exact fields are available,
//! [`mirror_prox`](fn@crate::methods::mirror_prox) is the better choice.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run, settings};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::methods::mirror::{Field, Iterate, Mirror, Oracle, Step, repeat};
use crate::problem::{SaddleProblem, SaddleState};

/// The combination of the potentials of the two blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum Potential {
    /// `phi_x/(2 Omega_x) + phi_y/(2 Omega_y)`, for problems that are bilinear except for terms of the setups
    /// (section 4.2 of the thesis).
    #[default]
    Balanced,
    /// `B_x phi_x/sqrt(Omega_x) + B_y phi_y/sqrt(Omega_y)`, for fields whose dual norms are bounded by `B_x` and
    /// `B_y`. With the step `sqrt(2/T)` the gap is at most `(B_x sqrt(Omega_x) + B_y sqrt(Omega_y)) sqrt(2/T)`
    /// (Theorem 1.6 of the thesis).
    Fields {
        /// Bound on the dual norm of `grad_x`.
        x: f64,
        /// Bound on the dual norm of `grad_y`.
        y: f64,
    },
}

settings! {
    /// Settings of [`mirror_descent`] and [`stochastic_mirror_descent`].
    pub struct MirrorDescentSettings {
        /// The step `gamma`: `Theory` is that of the theorem for the horizon; `Scaled`; `Constant`.
        step: StepSize = StepSize::Theory,
        /// How the two geometries are joined.
        potential: Potential = Potential::Balanced,
        /// Number `T` of steps that the step is for; `None`: steps fall like `1/sqrt(t)`, for runs of any length.
        horizon: Option<u64> = None,
        /// A pass is one exact field.
        stop: Stop = Stop::default(),
    }
}

/// The running method, as an observer receives it.
pub struct MirrorDescent<'a> {
    mirror: Mirror<'a>,
    oracle: Option<&'a mut dyn Oracle>,
    step: Step,
    field: Field,
    next: Iterate,
    calls: u64,
}

impl MirrorDescent<'_> {
    /// The number of steps so far.
    pub fn steps(&self) -> u64 {
        self.mirror.steps()
    }

    /// One step. Returns its passes.
    fn iterate(&mut self) -> f64 {
        let MirrorDescent { mirror, oracle, step, field, next, calls } = self;
        let gamma = step.at(mirror.steps() + 1);
        mirror.accumulate(step.weight(gamma), None);
        let passes = mirror.joint.field(oracle, &mirror.now, field);
        mirror.joint.step(&mirror.now, field, gamma, next);
        std::mem::swap(&mut mirror.now, next);
        *calls += 1;
        passes
    }
}

impl Iterative for MirrorDescent<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        repeat(passes, || self.iterate())
    }

    fn certify(&mut self) -> Certificate {
        self.mirror.certify()
    }

    fn oracle_calls(&self) -> u64 {
        self.calls
    }

    fn keep(&mut self) {
        self.mirror.keep();
    }

    fn restore(&mut self) {
        self.mirror.restore();
    }
}

/// Runs mirror descent with the exact field.
///
/// # Errors
/// [`Error::Invalid`] for a step or limit out of range, or a start of another shape.
pub fn mirror_descent<'a, O>(
    problem: &'a dyn SaddleProblem,
    settings: &MirrorDescentSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<MirrorDescent<'a>>,
{
    descend(problem, None, 1.0 / (problem.scale() * 5.0_f64.sqrt()), settings, start, observer)
}

/// Runs mirror descent with random estimates of the field.
///
/// # Errors
/// The errors of [`mirror_descent`].
pub fn stochastic_mirror_descent<'a, O>(
    problem: &'a dyn SaddleProblem,
    oracle: &'a mut dyn Oracle,
    settings: &MirrorDescentSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<MirrorDescent<'a>>,
{
    let first = stochastic_step(problem.scale(), oracle.noise());
    descend(problem, Some(oracle), first, settings, start, observer)
}

/// `min(1/(sqrt(10) a), 1/(sqrt(2) s))`, which is the step of equation (4.3.6) of the thesis for a horizon of 1.
pub(crate) fn stochastic_step(scale: f64, noise: f64) -> f64 {
    (1.0 / (10.0_f64.sqrt() * scale)).min(1.0 / (2.0_f64.sqrt() * noise))
}

fn descend<'a, O>(
    problem: &'a dyn SaddleProblem,
    oracle: Option<&'a mut dyn Oracle>,
    first: f64,
    settings: &MirrorDescentSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<MirrorDescent<'a>>,
{
    let (first, rates) = match settings.potential {
        Potential::Balanced => (first, None),
        Potential::Fields { x, y } => {
            Invalid::check_positive("potential.x", x)?;
            Invalid::check_positive("potential.y", y)?;
            let (sx, sy) = (problem.x_setup().radius(), problem.y_setup().radius());
            (2.0_f64.sqrt(), Some((sx.sqrt() / x, sy.sqrt() / y)))
        }
    };
    let theory = first / (settings.horizon.unwrap_or(1).max(1) as f64).sqrt();
    let step = Step::for_horizon(settings.step, theory, settings.horizon)?;
    let mut mirror = Mirror::new(problem, start)?;
    if let Some((x, y)) = rates {
        mirror.set_rates(x, y);
    }
    let (field, next) = (mirror.no_field(), mirror.now.clone());
    let mut method = MirrorDescent { mirror, oracle, step, field, next, calls: 0 };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.mirror.state(step), report })
}
