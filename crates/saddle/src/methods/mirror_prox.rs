//! Mirror prox, a method with two steps per iteration and an error of order `1/T`.
//!
//! ```text
//! half = step from w_t along the field at w_t
//! w_t+1 = step from w_t along the field at half        output: the average of the half points
//! ```
//!
//! With `gamma = 1/(2a)` and `a = L sqrt(Omega_x Omega_y)`, the average of `T` half points has a gap of at most
//! `2a/T`. The method is deterministic, and computes two fields (two passes) per iteration. Choose it for an accuracy
//! of a few digits in a non-Euclidean geometry. For many digits of a polyhedral problem choose
//! [`pdhg`](fn@crate::methods::pdhg). Sources: D. Babichev, PhD thesis 2019, equation (4.2.8) and Remark 4; Nemirovski (2004).
//!
//! With random estimates of the field, each of the two points has a mini-batch of its own.
//! Let `a = L sqrt(Omega_x Omega_y)`, let `s` be the noise of a single estimate, and `b` the size of the independent
//! batches. With `gamma = min(1/(2 sqrt(3) a), sqrt(2 b/(7 T)) / s)`,
//!
//! ```text
//! E[gap] <= 4 sqrt(3) a / T + 2 sqrt(14) s / sqrt(b T)
//! ```
//!
//! The first term is that of exact fields. For batches larger than about `T s^2 / a^2` it dominates, so that the rate
//! is `1/T`. The bound depends on the variance of the estimates, not on their second moment. Sources: D. Babichev,
//! PhD thesis 2019, Remark 5; Juditsky, Nemirovski and Tauvel (2011).

use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run, settings};

use crate::Error;
use crate::methods::mirror::{Field, Iterate, Mirror, Oracle, Step, along, repeat};
use crate::methods::mirror_descent::MirrorDescentSettings;
use crate::problem::{SaddleProblem, SaddleState};

settings! {
    /// Settings of [`mirror_prox`].
    pub struct MirrorProxSettings {
        /// The step `gamma`: `Backtracking` searches for steps longer than `1/(2a)` that keep the bound; `Theory` is
        /// `1/(2a)`; `Scaled` multiples of it; `Constant`.
        step: StepSize = StepSize::Backtracking,
        /// A pass is one field. The bound `2a/T` is 1e-4 of the spread of a game after `2e4 sqrt(ln m ln p)` passes.
        stop: Stop = Stop { max_passes: 1e6, ..Stop::default() },
    }
}

/// The running method, as an observer receives it.
pub struct MirrorProx<'a> {
    mirror: Mirror<'a>,
    oracle: Option<&'a mut dyn Oracle>,
    step: Step,
    /// The half point and the next iterate.
    half: Iterate,
    next: Iterate,
    /// The fields at the iterate and at the half point.
    fields: (Field, Field),
    calls: u64,
}

impl<'a> MirrorProx<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        settings: &MirrorProxSettings,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let step = Step::new(settings.step, 0.5 / problem.scale())?;
        Ok(MirrorProx::of(Mirror::new(problem, start)?, None, step))
    }

    fn of(mirror: Mirror<'a>, oracle: Option<&'a mut dyn Oracle>, step: Step) -> Self {
        let (half, next) = (mirror.now.clone(), mirror.now.clone());
        let fields = (mirror.no_field(), mirror.no_field());
        let step = mirror.continued(step);
        MirrorProx { mirror, oracle, step, half, next, fields, calls: 0 }
    }

    /// The averages so far.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        self.mirror.averages()
    }

    /// The current step.
    pub fn step(&self) -> f64 {
        self.step.at(self.mirror.steps() + 1)
    }

    /// One iteration: two fields, and one more for each step that the line search refuses. Returns its passes.
    fn iterate(&mut self) -> f64 {
        let mut gamma = self.step();
        let MirrorProx { mirror, oracle, step, half, next, fields, calls } = self;
        let (joint, now) = (&mirror.joint, &mirror.now);
        let mut passes = joint.field(oracle, now, &mut fields.0);
        *calls += 1;
        loop {
            joint.step(now, &fields.0, gamma, half);
            passes += joint.field(oracle, half, &mut fields.1);
            *calls += 1;
            joint.step(now, &fields.1, gamma, next);
            let Step::Searched(following) = step else { break };
            let moved = along(&fields.1.x, &fields.0.x, &half.x, &next.x)
                + along(&fields.1.y, &fields.0.y, &half.y, &next.y);
            let allowed = joint.divergence((&half.x, &half.y), (&now.x, &now.y))
                + joint.divergence((&next.x, &next.y), (&half.x, &half.y));
            if gamma * moved <= allowed || gamma <= 1e-300 {
                *following = 1.2 * gamma;
                break;
            }
            gamma *= 0.5;
        }
        mirror.accumulate(step.weight(gamma), Some(half));
        std::mem::swap(&mut mirror.now, next);
        passes
    }
}

impl Iterative for MirrorProx<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        repeat(passes, || self.iterate())
    }

    fn certify(&mut self) -> Certificate {
        self.mirror.certify()
    }

    /// The number of fields, or of estimates.
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
    Ok(Solution { state: method.mirror.state(method.step), report })
}

/// Runs mirror prox with random estimates of the field. The settings are those of mirror descent. The size of the batches is
/// set in the oracle ([`Sampler::batched`](crate::multiclass::Sampler::batched)).
///
/// # Errors
/// The errors of [`stochastic_mirror_descent`](crate::methods::stochastic_mirror_descent); the potential is always the balanced one.
pub fn stochastic_mirror_prox<'a, O>(
    problem: &'a dyn SaddleProblem,
    oracle: &'a mut dyn Oracle,
    settings: &MirrorDescentSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<MirrorProx<'a>>,
{
    let horizon = settings.horizon.unwrap_or(1).max(1) as f64;
    let exact = 0.5 / (3.0_f64.sqrt() * problem.scale());
    let noisy = (2.0 / (7.0 * horizon)).sqrt() / oracle.noise();
    let step = Step::for_horizon(settings.step, exact.min(noisy), settings.horizon)?;
    let mut method = MirrorProx::of(Mirror::new(problem, start)?, Some(oracle), step);
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.mirror.state(step), report })
}
