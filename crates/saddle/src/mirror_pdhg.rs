//! Primal-dual hybrid gradient in any geometry: mirror prox at half of its price.
//!
//! ```text
//! x+ = step from x along grad_x f(., y)
//! y+ = step from y along grad_y f at x+ + theta (x+ - x)        output: the weighted average of (x+, y+)
//! ```
//!
//! An iteration is one field in the place of mirror prox's two, with steps as long. With `gamma = 1/(2a)` and `theta = 1` the average of `T`
//! pairs has a gap of at most `2 (r + 1/r) a/T`, with `r` the balance of the steps. The line search, the default, takes the longest step that the last move allows:
//!
//! ```text
//! gamma <grad_x f(., y+) - grad_x f(., y), x+ - x++>  <=  D(x++, x+) / (2 Omega_x) + D(y+, y) / (2 Omega_y)
//! ```
//!
//! with `x++` the next step in `x`, which needs no further product. Choose it for a bilinear problem and a few digits;
//! [`pdhg`](fn@crate::pdhg) for many digits of a polyhedral problem, [`mirror_prox`](fn@crate::mirror_prox) for its bound `2a/T`.
//! Sources: Chambolle and Pock, *On the ergodic convergence rates of a first-order primal-dual algorithm* (2016); the line search after
//! Malitsky and Pock (2018), whose test is stated with norms: the divergences of the actual move are smaller.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::problem::{SaddleProblem, SaddleState};
use crate::walk::Walk;

/// Settings of [`mirror_pdhg`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `step` | `Backtracking` | the line search; `Theory` is `1/(2a)`; `Scaled` multiples of it; `Constant` |
/// | `balance` | 3 | the dual steps are so much longer than the balanced potential has them, the primal ones so much shorter |
/// | `stop` | [`Stop::default`] | a pass is one field: two products |
///
/// Three is what generated problems of several classes liked: `V` has farther to go than `U`, which stays far from the corners of its ball.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MirrorPdhgSettings {
    /// The step `gamma`.
    pub step: StepSize,
    /// How much longer the dual steps are.
    pub balance: f64,
    /// When to end.
    pub stop: Stop,
}

impl Default for MirrorPdhgSettings {
    fn default() -> Self {
        MirrorPdhgSettings { step: StepSize::Backtracking, balance: 3.0, stop: Stop::default() }
    }
}

/// How much longer the next step may be: until a step is refused for the first time, and after.
const GROWTH: [f64; 2] = [1.5, 1.2];
/// How much shorter it becomes when it is refused.
const SHRINKAGE: f64 = 0.6;

/// The running method, as an observer sees it.
pub struct MirrorPdhg<'a> {
    walk: Walk<'a>,
    gamma: f64,
    search: bool,
    refused: bool,
    /// `-grad_y f` at the current `x`, and at the one before.
    at_x: (Vec<f64>, Vec<f64>),
    /// The next `x`: its place and its point.
    next: (Vec<f64>, Vec<f64>),
    /// Products, two of which are a field.
    products: u64,
}

impl<'a> MirrorPdhg<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        settings: &MirrorPdhgSettings,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let theory = 0.5 / problem.scale();
        let search = settings.step == StepSize::Backtracking;
        let gamma = if search { theory } else { settings.step.resolve(theory)? };
        if !(gamma < f64::INFINITY) {
            let expected = "a finite number > 0; are the data that small?";
            return Err(Invalid::Parameter { name: "step", value: gamma, expected }.into());
        }
        let balance = settings.balance;
        Invalid::check_positive("balance", balance)?;
        let walk = Walk::new(problem, start)?;
        let rates = (walk.rates.0 / balance, walk.rates.1 * balance);
        let mut walk = walk.with_rates(rates);
        let gamma = walk.trail.step.filter(|_| search).unwrap_or(gamma);
        let mut at_x = vec![0.0; walk.y.len()];
        problem.field_x(&walk.y, &mut walk.gx);
        problem.field_y(&walk.x, &mut at_x);
        let next = (walk.trail.place_x.clone(), walk.x.clone());
        let at_x = (at_x.clone(), at_x);
        let mut method =
            MirrorPdhg { walk, gamma, search, refused: false, at_x, next, products: 2 };
        method.look_ahead(gamma);
        Ok(method)
    }

    /// The next step in `x` from the current place along the current gradient.
    fn look_ahead(&mut self, gamma: f64) {
        let (walk, (place, point)) = (&self.walk, &mut self.next);
        let setup = walk.problem.x_setup();
        place.copy_from_slice(&walk.trail.place_x);
        setup.step(place, &walk.gx, gamma * walk.rates.0);
        setup.point(place, point);
    }

    /// The averages so far.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        self.walk.averages()
    }

    /// The step in force.
    pub fn step(&self) -> f64 {
        self.gamma
    }

    fn iterate(&mut self) {
        let problem = self.walk.problem;
        let setup = problem.y_setup();
        // The step in x was looked at already.
        std::mem::swap(&mut self.walk.trail.place_x, &mut self.next.0);
        std::mem::swap(&mut self.walk.x, &mut self.next.1);
        std::mem::swap(&mut self.at_x.0, &mut self.at_x.1);
        problem.field_y(&self.walk.x, &mut self.at_x.0);
        self.products += 1;
        let from_y = self.walk.trail.place_y.clone();
        let old_gx = self.walk.gx.clone();
        let last = self.gamma;
        if self.search {
            self.gamma *= GROWTH[usize::from(self.refused)];
        }
        loop {
            let (gamma, walk) = (self.gamma, &mut self.walk);
            let theta = gamma / last;
            for (g, (new, old)) in walk.gy.iter_mut().zip(self.at_x.0.iter().zip(&self.at_x.1)) {
                *g = new + theta * (new - old);
            }
            setup.step(&mut walk.trail.place_y, &walk.gy, gamma * walk.rates.1);
            setup.point(&walk.trail.place_y, &mut walk.y);
            problem.field_x(&walk.y, &mut walk.gx);
            self.products += 1;
            self.look_ahead(gamma);
            if !self.search || self.allowed(&from_y, &old_gx) || gamma < 1e-300 {
                break;
            }
            self.refused = true;
            self.gamma *= SHRINKAGE;
            self.walk.trail.place_y.copy_from_slice(&from_y);
        }
        self.walk.accumulate(if self.search { self.gamma } else { 1.0 });
        self.walk.trail.steps += 1;
    }

    fn allowed(&self, from_y: &[f64], old_gx: &[f64]) -> bool {
        let walk = &self.walk;
        let pairs = walk.gx.iter().zip(old_gx).zip(walk.x.iter().zip(&self.next.1));
        let moved: f64 = pairs.map(|((new, old), (x, next))| (new - old) * (x - next)).sum();
        let room =
            walk.divergence((&self.next.0, &walk.trail.place_y), (&walk.trail.place_x, from_y));
        self.gamma * moved <= room
    }
}

impl Iterative for MirrorPdhg<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let before = self.products;
        loop {
            self.iterate();
            let done = 0.5 * (self.products - before) as f64;
            if done >= passes - 1e-9 {
                return done;
            }
        }
    }

    fn certify(&mut self) -> Certificate {
        self.walk.certify()
    }

    /// Products.
    fn oracle_calls(&self) -> u64 {
        self.products
    }

    fn keep(&mut self) {
        self.walk.keep();
    }

    fn restore(&mut self) {
        self.walk.restore();
        let problem = self.walk.problem;
        problem.field_x(&self.walk.y, &mut self.walk.gx);
        problem.field_y(&self.walk.x, &mut self.at_x.0);
        self.at_x.1.copy_from_slice(&self.at_x.0);
        self.look_ahead(self.gamma);
    }
}

/// Runs the method on a problem that is bilinear up to terms that its setups hold.
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
    method.walk.trail.step = method.search.then_some(method.gamma);
    Ok(Solution { state: method.walk.state(), report })
}
