//! The primal-dual hybrid gradient method (PDHG) in any geometry, at half of the cost of mirror prox.
//!
//! ```text
//! x+ = step from x along grad_x f(., y)
//! y+ = step from y along grad_y f at x+ + theta (x+ - x)        output: the weighted average of (x+, y+)
//! ```
//!
//! An iteration evaluates the field once; mirror prox evaluates it twice. The steps are as long as those of mirror prox. With `gamma =
//! 1/(2a)` and `theta = 1`, the average of `T` pairs has a gap of at most `2 (r + 1/r) a/T`, where `a = L
//! sqrt(Omega_x Omega_y)` and `r` is the balance of the steps. The default is a line search, which takes the longest
//! step for which the last move satisfies
//!
//! ```text
//! gamma <grad_x f(., y+) - grad_x f(., y), x+ - x++>  <=  D(x++, x+) / (2 Omega_x) + D(y+, y) / (2 Omega_y)
//! ```
//!
//! where `x++` is the next step in `x`, which needs no further product. Choose this method for a bilinear problem and
//! a few digits. Choose [`pdhg`](fn@crate::pdhg) for many digits of a polyhedral problem, and
//! [`mirror_prox`](fn@crate::mirror_prox) for its bound `2a/T`. Sources: Chambolle and Pock, *On the ergodic
//! convergence rates of a first-order primal-dual algorithm* (2016); Malitsky and Pock (2018) for the line search.
//! Their test uses norms. The test here uses the divergences of the actual move, which are smaller.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run, settings};

use crate::Error;
use crate::problem::{SaddleProblem, SaddleState};
use crate::walk::{Stepped, Walk, along};

settings! {
    /// Settings of [`mirror_pdhg`].
    ///
    /// The value 3 was best on generated problems with several classes. There the dual variables `V` have to move farther
    /// than the weights `U`, which stay far from the corners of their ball.
    pub struct MirrorPdhgSettings {
        /// The step `gamma`: the line search; `Theory` is `1/(2a)`; `Scaled` multiples of it; `Constant`.
        step: StepSize = StepSize::Backtracking,
        /// Factor by which the dual steps are longer, and the primal ones shorter, than with the balanced potential.
        balance: f64 = 3.0,
        /// A pass is one field, which is two products.
        stop: Stop = Stop::default(),
    }
}

/// The factors by which the next step may be longer. The first is used until a step is refused for the first time,
/// the second afterwards.
const GROWTH: [f64; 2] = [1.5, 1.2];
/// The factor by which a refused step is shortened.
const SHRINKAGE: f64 = 0.6;

/// The running method, as an observer receives it.
pub struct MirrorPdhg<'a> {
    base: Stepped<'a>,
    ahead: Ahead,
}

/// The additional state of an iteration.
struct Ahead {
    refused: bool,
    /// `-grad_y f` at the current `x`, and at the previous one.
    at_x: (Vec<f64>, Vec<f64>),
    /// The coordinates and the point of the next `x`.
    next: (Vec<f64>, Vec<f64>),
    /// The coordinates of `y`, and `grad_x f`, before the step in `y`.
    before: (Vec<f64>, Vec<f64>),
}

impl<'a> MirrorPdhg<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        settings: &MirrorPdhgSettings,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let balance = settings.balance;
        Invalid::check_positive("balance", balance)?;
        let mut base = Stepped::new(problem, settings.step, start)?;
        let rates = base.walk.rates;
        base.walk = base.walk.with_rates((rates.0 / balance, rates.1 * balance));
        let walk = &base.walk;
        let next = (walk.trail.place_x.clone(), walk.x.clone());
        let before = (walk.trail.place_y.clone(), walk.gx.clone());
        let at_x = (walk.gy.clone(), walk.gy.clone());
        let mut method = MirrorPdhg { base, ahead: Ahead { refused: false, at_x, next, before } };
        method.ahead.begin(&mut method.base);
        Ok(method)
    }

    /// The averages so far.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        self.base.walk.averages()
    }

    /// The number of iterations so far. Each computes two products, and one more for each refused step.
    pub(crate) fn iterations(&self) -> u64 {
        self.base.walk.trail.steps
    }

    /// The current step.
    pub fn step(&self) -> f64 {
        self.base.gamma
    }
}

impl Ahead {
    /// Computes the products at the current pair, and the first step in `x`.
    fn begin(&mut self, base: &mut Stepped) {
        let walk = &mut base.walk;
        walk.problem.field_x(&walk.y, &mut walk.gx);
        walk.problem.field_y(&walk.x, &mut self.at_x.0);
        self.at_x.1.copy_from_slice(&self.at_x.0);
        self.look(walk, base.gamma);
    }

    /// Computes the next step in `x`, along the current gradient.
    fn look(&mut self, walk: &Walk, gamma: f64) {
        let (place, point) = (&mut self.next.0, &mut self.next.1);
        let setup = walk.problem.x_setup();
        place.copy_from_slice(&walk.trail.place_x);
        setup.step(place, &walk.gx, gamma * walk.rates.0);
        setup.point(place, point);
    }

    /// Makes one iteration. It computes two products, and one more for each step that the line search refuses.
    fn iterate(&mut self, base: &mut Stepped) -> u64 {
        let (problem, last) = (base.walk.problem, base.gamma);
        let setup = problem.y_setup();
        // The step in x was looked at already.
        std::mem::swap(&mut base.walk.trail.place_x, &mut self.next.0);
        std::mem::swap(&mut base.walk.x, &mut self.next.1);
        std::mem::swap(&mut self.at_x.0, &mut self.at_x.1);
        problem.field_y(&base.walk.x, &mut self.at_x.0);
        let mut products = 1;
        self.before.0.copy_from_slice(&base.walk.trail.place_y);
        self.before.1.copy_from_slice(&base.walk.gx);
        if base.search {
            base.gamma *= GROWTH[usize::from(self.refused)];
        }
        loop {
            let (gamma, walk) = (base.gamma, &mut base.walk);
            let theta = gamma / last;
            for (g, (new, old)) in walk.gy.iter_mut().zip(self.at_x.0.iter().zip(&self.at_x.1)) {
                *g = new + theta * (new - old);
            }
            setup.step(&mut walk.trail.place_y, &walk.gy, gamma * walk.rates.1);
            setup.point(&walk.trail.place_y, &mut walk.y);
            problem.field_x(&walk.y, &mut walk.gx);
            products += 1;
            self.look(walk, gamma);
            if !base.search || self.allowed(&base.walk, gamma) || gamma < 1e-300 {
                break;
            }
            self.refused = true;
            base.gamma *= SHRINKAGE;
            base.walk.trail.place_y.copy_from_slice(&self.before.0);
        }
        base.accumulate(base.gamma);
        products
    }

    fn allowed(&self, walk: &Walk, gamma: f64) -> bool {
        let moved = along((&walk.gx, &self.before.1), (&walk.x, &self.next.1));
        let (here, there) = (
            (&walk.trail.place_x[..], &self.before.0[..]),
            (&self.next.0[..], &walk.trail.place_y[..]),
        );
        gamma * moved <= walk.divergence(there, here)
    }
}

impl Iterative for MirrorPdhg<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let MirrorPdhg { base, ahead } = self;
        base.advance(passes, |base| ahead.iterate(base))
    }

    fn certify(&mut self) -> Certificate {
        self.base.walk.certify()
    }

    /// The number of products.
    fn oracle_calls(&self) -> u64 {
        self.base.products()
    }

    fn keep(&mut self) {
        self.base.walk.keep();
    }

    fn restore(&mut self) {
        self.base.walk.restore();
        self.ahead.begin(&mut self.base);
    }
}

/// Runs the method on a problem that is bilinear except for terms of its setups.
///
/// # Errors
/// [`Error::Invalid`] for a step, balance or limit out of range, a decaying step, or a start of another shape.
pub fn mirror_pdhg<'a, O>(
    problem: &'a dyn SaddleProblem,
    settings: &MirrorPdhgSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<MirrorPdhg<'a>>,
{
    let mut method = MirrorPdhg::new(problem, settings, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.base.state(), report })
}
