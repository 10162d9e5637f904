//! Mirror prox: two steps an iteration, and an error that falls like `1/T`.
//!
//! ```text
//! half = step from w_t along the field at w_t
//! w_t+1 = step from w_t along the field at half        output: the average of the half points
//! ```
//!
//! With `gamma = 1/(2a)`, `a = L sqrt(Omega_x Omega_y)`, the average of `T` half points has a gap of at most `2a/T`. Deterministic,
//! two fields (passes) an iteration. Choose it for an accuracy of a few digits in a non-Euclidean geometry; for many digits of
//! a polyhedral problem choose [`pdhg`](fn@crate::pdhg). Source: (4.2.8), Remark 4 of the thesis; Nemirovski (2004).

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::problem::{SaddleProblem, SaddleState};
use crate::walk::Walk;

/// Settings of [`mirror_prox`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `step` | `Theory` | `1/(2a)`; `Scaled` multiples of it; `Constant`; `Backtracking` tries larger ones, safely |
/// | `stop` | [`Stop::default`] | a pass is one field |
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MirrorProxSettings {
    /// The step `gamma`.
    pub step: StepSize,
    /// When to end.
    pub stop: Stop,
}

/// The running method, as an observer sees it.
pub struct MirrorProx<'a> {
    walk: Walk<'a>,
    gamma: f64,
    search: bool,
    fields: u64,
}

impl<'a> MirrorProx<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        settings: &MirrorProxSettings,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let theory = 0.5 / problem.scale();
        let search = settings.step == StepSize::Backtracking;
        let gamma = if search { theory } else { settings.step.resolve(theory)? };
        if !(gamma < f64::INFINITY) {
            let expected = "a finite number > 0; are the data that small?";
            return Err(Invalid::Parameter { name: "step", value: gamma, expected }.into());
        }
        let walk = Walk::new(problem, start)?;
        let gamma = walk.trail.step.filter(|_| search).unwrap_or(gamma);
        Ok(MirrorProx { walk, gamma, search, fields: 0 })
    }

    /// The averages so far.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        self.walk.averages()
    }
}

impl MirrorProx<'_> {
    /// The step in force.
    pub fn step(&self) -> f64 {
        self.gamma
    }

    /// One iteration: two fields, more where a line search refuses its first step.
    fn iterate(&mut self) -> u64 {
        let walk = &mut self.walk;
        let (from_x, from_y) = (walk.trail.place_x.clone(), walk.trail.place_y.clone());
        walk.field();
        let (gx, gy) = (walk.gx.clone(), walk.gy.clone());
        let mut fields = 1;
        loop {
            let gamma = self.gamma;
            walk.step(gamma);
            let (half_x, half_y) = (walk.x.clone(), walk.y.clone());
            walk.field();
            fields += 1;
            let half =
                self.search.then(|| (walk.trail.place_x.clone(), walk.trail.place_y.clone()));
            walk.trail.place_x.copy_from_slice(&from_x);
            walk.trail.place_y.copy_from_slice(&from_y);
            let moved = |walk: &Walk| {
                let part = |g: &[f64], old: &[f64], half: &[f64], next: &[f64]| -> f64 {
                    (0..g.len()).map(|i| (g[i] - old[i]) * (half[i] - next[i])).sum()
                };
                part(&walk.gx, &gx, &half_x, &walk.x) + part(&walk.gy, &gy, &half_y, &walk.y)
            };
            // The half point is what is averaged, whether or not the search goes on.
            walk.step(gamma);
            if let Some((hx, hy)) = half {
                let next = (&walk.trail.place_x[..], &walk.trail.place_y[..]);
                let half = (&hx[..], &hy[..]);
                let room = walk.divergence(half, (&from_x, &from_y)) + walk.divergence(next, half);
                if !(gamma * moved(walk) <= room) && gamma > 1e-300 {
                    self.gamma *= 0.5;
                    walk.trail.place_x.copy_from_slice(&from_x);
                    walk.trail.place_y.copy_from_slice(&from_y);
                    walk.gx.copy_from_slice(&gx);
                    walk.gy.copy_from_slice(&gy);
                    continue;
                }
                self.gamma *= 1.2;
            }
            let (next_x, next_y) =
                (std::mem::replace(&mut walk.x, half_x), std::mem::replace(&mut walk.y, half_y));
            // Points of a longer step weigh more.
            walk.accumulate(if self.search { gamma } else { 1.0 });
            (walk.x, walk.y) = (next_x, next_y);
            walk.trail.steps += 1;
            return fields;
        }
    }
}

impl Iterative for MirrorProx<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0;
        loop {
            let fields = self.iterate();
            self.fields += fields;
            done += fields;
            if done as f64 >= passes {
                return done as f64;
            }
        }
    }

    fn certify(&mut self) -> Certificate {
        self.walk.certify()
    }

    fn oracle_calls(&self) -> u64 {
        self.fields
    }

    fn keep(&mut self) {
        self.walk.keep();
    }

    fn restore(&mut self) {
        self.walk.restore();
    }
}

/// Runs mirror prox.
///
/// # Errors
/// [`Error::Invalid`] for a step or limit out of range, a decaying step, or a start of another shape.
pub fn mirror_prox<'a, O>(
    problem: &'a dyn SaddleProblem,
    settings: &MirrorProxSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<MirrorProx<'a>>,
{
    let mut method = MirrorProx::new(problem, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    method.walk.trail.step = method.search.then_some(method.gamma);
    Ok(Solution { state: method.walk.state(), report })
}
