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
//! [`mirror_prox`](fn@crate::mirror_prox) is the better choice.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run, settings};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::problem::{SaddleProblem, SaddleState};
use crate::walk::Walk;

/// A pair of points for an oracle, with the coordinates in which the setups store them.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The minimising block.
    pub x: &'a [f64],
    /// The maximising block.
    pub y: &'a [f64],
    /// Coordinates of the minimising block.
    pub place_x: &'a [f64],
    /// Coordinates of the maximising block.
    pub place_y: &'a [f64],
}

/// Unbiased estimates of the field of a problem.
pub trait Oracle {
    /// Writes an estimate of the field at a pair. Every call uses new random numbers.
    fn draw(&mut self, at: &At, gx: &mut [f64], gy: &mut [f64]);

    /// `s`, with `s^2 = Omega_x var(gx) + Omega_y var(gy)` in the dual norms: the noise of the estimates.
    fn noise(&self) -> f64;

    /// The cost of an estimate, in passes over the data.
    fn passes(&self) -> f64;
}

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
    walk: Walk<'a>,
    oracle: Option<&'a mut dyn Oracle>,
    /// The step, or the first one.
    gamma: f64,
    decays: bool,
    calls: u64,
}

impl MirrorDescent<'_> {
    /// The number of steps so far.
    pub fn steps(&self) -> u64 {
        self.walk.trail.steps
    }
}

impl Iterative for MirrorDescent<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        loop {
            let walk = &mut self.walk;
            let t = walk.trail.steps + 1;
            let gamma = if self.decays { self.gamma / (t as f64).sqrt() } else { self.gamma };
            walk.accumulate(if self.decays { gamma } else { 1.0 });
            done += match &mut self.oracle {
                None => {
                    walk.field();
                    1.0
                }
                Some(oracle) => {
                    let trail = &walk.trail;
                    let (place_x, place_y) = (&trail.place_x[..], &trail.place_y[..]);
                    let at = At { x: &walk.x, y: &walk.y, place_x, place_y };
                    oracle.draw(&at, &mut walk.gx, &mut walk.gy);
                    oracle.passes()
                }
            };
            walk.step(gamma);
            walk.trail.steps = t;
            self.calls += 1;
            if done >= passes - 1e-9 {
                return done;
            }
        }
    }

    fn certify(&mut self) -> Certificate {
        self.walk.certify()
    }

    fn oracle_calls(&self) -> u64 {
        self.calls
    }

    fn keep(&mut self) {
        self.walk.keep();
    }

    fn restore(&mut self) {
        self.walk.restore();
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
    let constant = matches!(settings.step, StepSize::Constant(_));
    let theory = first / (settings.horizon.unwrap_or(1).max(1) as f64).sqrt();
    let gamma = settings.step.resolve(theory)?;
    let decays = settings.horizon.is_none() && !constant;
    let mut walk = Walk::new(problem, start)?;
    if let Some(rates) = rates {
        walk = walk.with_rates(rates);
    }
    let mut method = MirrorDescent { walk, oracle, gamma, decays, calls: 0 };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.walk.state(), report })
}
