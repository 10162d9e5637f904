//! Mirror prox with random estimates of the field. Each of its two points has a mini-batch of its own.
//!
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

use fenchel_optim::{Certificate, Iterative, Observer, Solution, run};

use crate::Error;
use crate::mirror_descent::{At, MirrorDescentSettings, Oracle};
use crate::problem::{SaddleProblem, SaddleState};
use crate::walk::Walk;

/// The running method, as an observer receives it.
pub struct StochasticMirrorProx<'a> {
    walk: Walk<'a>,
    oracle: &'a mut dyn Oracle,
    gamma: f64,
    decays: bool,
    calls: u64,
}

fn draw(walk: &mut Walk, oracle: &mut dyn Oracle) {
    let (place_x, place_y) = (&walk.trail.place_x[..], &walk.trail.place_y[..]);
    let at = At { x: &walk.x, y: &walk.y, place_x, place_y };
    oracle.draw(&at, &mut walk.gx, &mut walk.gy);
}

impl Iterative for StochasticMirrorProx<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        loop {
            let walk = &mut self.walk;
            let t = walk.trail.steps + 1;
            let gamma = if self.decays { self.gamma / (t as f64).sqrt() } else { self.gamma };
            let (from_x, from_y) = (walk.trail.place_x.clone(), walk.trail.place_y.clone());
            draw(walk, self.oracle);
            walk.step(gamma);
            walk.accumulate(if self.decays { gamma } else { 1.0 });
            draw(walk, self.oracle);
            (walk.trail.place_x, walk.trail.place_y) = (from_x, from_y);
            walk.step(gamma);
            walk.trail.steps = t;
            self.calls += 2;
            done += 2.0 * self.oracle.passes();
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

/// Runs stochastic mirror prox. The settings are those of mirror descent. The size of the batches is set in the
/// oracle ([`Sampler::batched`](crate::Sampler::batched)).
///
/// # Errors
/// The errors of [`stochastic_mirror_descent`](crate::stochastic_mirror_descent); the potential is always the balanced one.
pub fn stochastic_mirror_prox<'a, O>(
    problem: &'a dyn SaddleProblem,
    oracle: &'a mut dyn Oracle,
    settings: &MirrorDescentSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<StochasticMirrorProx<'a>>,
{
    let horizon = settings.horizon.unwrap_or(1).max(1) as f64;
    let exact = 0.5 / (3.0_f64.sqrt() * problem.scale());
    let noisy = (2.0 / (7.0 * horizon)).sqrt() / oracle.noise();
    let gamma = settings.step.resolve(exact.min(noisy))?;
    let constant = matches!(settings.step, fenchel_optim::StepSize::Constant(_));
    let decays = settings.horizon.is_none() && !constant;
    let walk = Walk::new(problem, start)?;
    let mut method = StochasticMirrorProx { walk, oracle, gamma, decays, calls: 0 };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.walk.state(), report })
}
