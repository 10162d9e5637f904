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
//! a few digits. Choose [`pdhg`](fn@crate::methods::pdhg) for many digits of a polyhedral problem, and
//! [`mirror_prox`](fn@crate::methods::mirror_prox) for its bound `2a/T`. Sources: Chambolle and Pock, *On the ergodic
//! convergence rates of a first-order primal-dual algorithm* (2016); Malitsky and Pock (2018) for the line search.
//! Their test uses norms. The test here uses the divergences of the actual move, which are smaller.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, StepSize, Stop, run, settings};

use crate::Error;
use crate::methods::mirror::{Block, Mirror, Step, along, repeat};
use crate::problem::{SaddleProblem, SaddleState};

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
    mirror: Mirror<'a>,
    step: Step,
    /// The step of the last iteration.
    last: f64,
    refused: bool,
    /// The step in `x` along the gradient at the current `y`, which the next iteration takes.
    next_x: Block,
    next_y: Block,
    /// `grad_x f` at the current `y` and at the next one.
    gradient_x: (Vec<f64>, Vec<f64>),
    /// `-grad_y f` at the current `x` and at the previous one, and what is extrapolated from both.
    gradient_y: (Vec<f64>, Vec<f64>, Vec<f64>),
    products: u64,
}

impl<'a> MirrorPdhg<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        settings: &MirrorPdhgSettings,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let balance = settings.balance;
        Invalid::check_positive("balance", balance)?;
        let step = Step::new(settings.step, 0.5 / problem.scale())?;
        let mut mirror = Mirror::new(problem, start)?;
        mirror.scale_rates(1.0 / balance, balance);
        let step = mirror.continued(step);
        let (next_x, next_y) = (mirror.now.x.clone(), mirror.now.y.clone());
        let (x, y) = (next_x.point.clone(), next_y.point.clone());
        let mut method = MirrorPdhg {
            mirror,
            step,
            last: step.at(1),
            refused: false,
            next_x,
            next_y,
            gradient_x: (x.clone(), x),
            gradient_y: (y.clone(), y.clone(), y),
            products: 0,
        };
        method.begin();
        Ok(method)
    }

    /// The averages so far.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        self.mirror.averages()
    }

    /// The number of iterations so far. Each computes two products, and one more for each refused step.
    pub(crate) fn iterations(&self) -> u64 {
        self.mirror.steps()
    }

    /// The current step.
    pub fn step(&self) -> f64 {
        self.last
    }

    /// Computes the products at the current pair, and the first step in `x`.
    fn begin(&mut self) {
        let Mirror { joint, now, .. } = &self.mirror;
        joint.problem.field_x(&now.y.point, &mut self.gradient_x.0);
        joint.problem.field_y(&now.x.point, &mut self.gradient_y.0);
        self.gradient_y.1.copy_from_slice(&self.gradient_y.0);
        joint.step_x(&now.x, &self.gradient_x.0, self.last, &mut self.next_x);
    }

    /// One iteration: two products, and one more for each step that the line search refuses. Returns its passes.
    fn iterate(&mut self) -> f64 {
        let MirrorPdhg {
            mirror, step, last, refused, next_x, next_y, gradient_x, gradient_y, ..
        } = self;
        let search = matches!(step, Step::Searched(_));
        let mut gamma = *last * if search { GROWTH[usize::from(*refused)] } else { 1.0 };
        std::mem::swap(&mut mirror.now.x, next_x);
        let (joint, now) = (&mirror.joint, &mirror.now);
        std::mem::swap(&mut gradient_y.0, &mut gradient_y.1);
        joint.problem.field_y(&now.x.point, &mut gradient_y.0);
        let mut products = 1;
        loop {
            let theta = gamma / *last;
            let pairs = gradient_y.0.iter().zip(&gradient_y.1);
            gradient_y.2.iter_mut().zip(pairs).for_each(|(g, (new, old))| {
                *g = new + theta * (new - old);
            });
            joint.step_y(&now.y, &gradient_y.2, gamma, next_y);
            joint.problem.field_x(&next_y.point, &mut gradient_x.1);
            products += 1;
            joint.step_x(&now.x, &gradient_x.1, gamma, next_x);
            let moved = || along(&gradient_x.1, &gradient_x.0, &now.x, next_x);
            let allowed = || joint.divergence((next_x, next_y), (&now.x, &now.y));
            if !search || gamma * moved() <= allowed() || gamma < 1e-300 {
                break;
            }
            *refused = true;
            gamma *= SHRINKAGE;
        }
        std::mem::swap(&mut mirror.now.y, next_y);
        std::mem::swap(&mut gradient_x.0, &mut gradient_x.1);
        *last = gamma;
        mirror.accumulate(step.weight(gamma), None);
        self.products += products;
        0.5 * products as f64
    }
}

impl Iterative for MirrorPdhg<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        repeat(passes, || self.iterate())
    }

    fn certify(&mut self) -> Certificate {
        self.mirror.certify()
    }

    /// The number of products.
    fn oracle_calls(&self) -> u64 {
        self.products
    }

    fn keep(&mut self) {
        self.mirror.keep();
    }

    fn restore(&mut self) {
        self.mirror.restore();
        self.begin();
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
    let step = match method.step {
        Step::Searched(_) => Step::Searched(method.last),
        step => step,
    };
    Ok(Solution { state: method.mirror.state(step), report })
}
