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
//! [`pdhg`](fn@crate::pdhg). Sources: D. Babichev, PhD thesis 2019, equation (4.2.8) and Remark 4; Nemirovski (2004).

use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run, settings};

use crate::Error;
use crate::problem::{SaddleProblem, SaddleState};
use crate::walk::{Stepped, along};

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
    base: Stepped<'a>,
    memory: Memory,
}

/// The pair at which an iteration began, and the half point.
struct Memory {
    from: Pair,
    field: Pair,
    half: Pair,
    half_place: Pair,
}

type Pair = (Vec<f64>, Vec<f64>);

impl<'a> MirrorProx<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        settings: &MirrorProxSettings,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let base = Stepped::new(problem, settings.step, start)?;
        let walk = &base.walk;
        let places = (walk.trail.place_x.clone(), walk.trail.place_y.clone());
        let points = (walk.x.clone(), walk.y.clone());
        let (from, half_place) = (places.clone(), places);
        let memory = Memory { from, field: points.clone(), half: points, half_place };
        Ok(MirrorProx { base, memory })
    }

    /// The averages so far.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        self.base.walk.averages()
    }

    /// The current step.
    pub fn step(&self) -> f64 {
        self.base.gamma
    }
}

impl Memory {
    /// Makes one iteration. It computes two fields, and more if a line search refuses its first step.
    fn iterate(&mut self, base: &mut Stepped) -> u64 {
        let Memory { from, field, half, half_place } = self;
        let walk = &mut base.walk;
        copy(from, (&walk.trail.place_x, &walk.trail.place_y));
        walk.field();
        copy(field, (&walk.gx, &walk.gy));
        let mut products = 2;
        loop {
            let (gamma, walk) = (base.gamma, &mut base.walk);
            walk.step(gamma);
            copy(half, (&walk.x, &walk.y));
            copy(half_place, (&walk.trail.place_x, &walk.trail.place_y));
            walk.field();
            products += 2;
            walk.trail.place_x.copy_from_slice(&from.0);
            walk.trail.place_y.copy_from_slice(&from.1);
            walk.step(gamma);
            if base.search {
                let moved = along((&walk.gx, &field.0), (&half.0, &walk.x))
                    + along((&walk.gy, &field.1), (&half.1, &walk.y));
                let middle = (&half_place.0[..], &half_place.1[..]);
                let next = (&walk.trail.place_x[..], &walk.trail.place_y[..]);
                let room =
                    walk.divergence(middle, (&from.0, &from.1)) + walk.divergence(next, middle);
                if !(gamma * moved <= room) && gamma > 1e-300 {
                    base.gamma *= 0.5;
                    walk.trail.place_x.copy_from_slice(&from.0);
                    walk.trail.place_y.copy_from_slice(&from.1);
                    walk.gx.copy_from_slice(&field.0);
                    walk.gy.copy_from_slice(&field.1);
                    continue;
                }
                base.gamma *= 1.2;
            }
            // The half point is what is averaged.
            std::mem::swap(&mut walk.x, &mut half.0);
            std::mem::swap(&mut walk.y, &mut half.1);
            base.accumulate(gamma);
            std::mem::swap(&mut base.walk.x, &mut half.0);
            std::mem::swap(&mut base.walk.y, &mut half.1);
            return products;
        }
    }
}

fn copy(to: &mut Pair, from: (&[f64], &[f64])) {
    to.0.copy_from_slice(from.0);
    to.1.copy_from_slice(from.1);
}

impl Iterative for MirrorProx<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let MirrorProx { base, memory } = self;
        base.advance(passes, |base| memory.iterate(base))
    }

    fn certify(&mut self) -> Certificate {
        self.base.walk.certify()
    }

    /// The number of fields.
    fn oracle_calls(&self) -> u64 {
        self.base.products() / 2
    }

    fn keep(&mut self) {
        self.base.walk.keep();
    }

    fn restore(&mut self) {
        self.base.walk.restore();
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
    Ok(Solution { state: method.base.state(), report })
}
