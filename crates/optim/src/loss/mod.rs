//! Losses of one real argument, the margin of a row of a linear model.
//!
//! A loss `phi(t; y)` is a function of the margin `t = a.x`, where `a` is a row of the design and `y` its target.
//! `gamma` is the Lipschitz constant of `phi'`, and `phi*` the conjugate, a function of the dual variable `u`. All are
//! methods of the trait [`Loss`]. For the classification losses, `p` stands for `-y u`.
//!
//! | loss | `phi(t; y)` | `gamma` | `phi*(u; y)` | targets |
//! |---|---|---|---|---|
//! | [`Logistic`] | `log(1 + e^{-yt})` | 1/4 | `p log p + (1-p) log(1-p)`, `0 <= p <= 1` | -1, +1 |
//! | [`SquaredHinge`] | `max(0, 1 - yt)^2 / 2` | 1 | `u^2/2 + y u`, `y u <= 0` | -1, +1 |
//! | [`SmoothedHinge`] | 0, then `(1 - yt)^2 / (2g)`, then `1 - yt - g/2` | `1/g` | `g u^2/2 + y u`, `-1 <= y u <= 0` | -1, +1 |
//! | [`Hinge`] | `max(0, 1 - yt)` | none | `y u`, `-1 <= y u <= 0` | -1, +1 |
//! | [`Squared`] | `(t - y)^2 / 2` | 1 | `u^2/2 + u y` | real |
//! | [`Huber`] | `r^2/2` where `abs(r) <= delta`, else `delta abs(r) - delta^2/2` | 1 | `u^2/2 + u y`, `abs(u) <= delta` | real |
//! | [`Absolute`] | `abs(r)` | none | `u y`, `abs(u) <= 1` | real |
//! | [`Quantile`] | `max((1 - tau) r, -tau r)` | none | `u y`, `-tau <= u <= 1 - tau` | real |
//! | [`EpsilonInsensitive`] | `max(0, abs(r) - epsilon)` | none | `u y + epsilon abs(u)`, `abs(u) <= 1` | real |
//! | [`Poisson`] | `e^t - y t` | none | `v log v - v`, `v = u + y >= 0` | `>= 0` |
//! | [`Custom`] | a closure | given | not known | real |
//!
//! Here `r = t - y`, and `g` is the width of the smoothed hinge. A loss without `gamma` needs a method whose exact steps do
//! not use it, such as dual coordinate ascent. The Poisson loss also suits Newton's method.

/// A piecewise linear loss bends at its kinks alone: its second derivative is 0, and its first has no Lipschitz constant.
macro_rules! piecewise_linear {
    () => {
        #[inline]
        fn second(&self, _: f64, _: f64) -> f64 {
            0.0
        }

        #[inline]
        fn curvature(&self) -> f64 {
            f64::INFINITY
        }
    };
}

mod custom;
mod hinge;
mod huber;
mod logistic;
mod piecewise;
mod poisson;
mod squared;

pub use custom::Custom;
pub use hinge::{Hinge, SmoothedHinge, SquaredHinge};
pub use huber::Huber;
pub use logistic::Logistic;
pub use piecewise::{Absolute, EpsilonInsensitive, Quantile};
pub use poisson::Poisson;
pub use squared::Squared;

use fenchel_linalg::Invalid;

use crate::scalar::increasing_root;

/// Tolerance at the ends of the domain of a conjugate, because of rounding.
const DOMAIN_SLACK: f64 = 1e-12;

/// Projects a dual variable on `[low, high]`. Returns `None` if it is outside by more than the tolerance, or NaN.
#[inline]
fn onto_domain(u: f64, low: f64, high: f64) -> Option<f64> {
    let slack = |end: f64| DOMAIN_SLACK * end.abs().max(1.0);
    (low - slack(low)..=high + slack(high)).contains(&u).then(|| u.clamp(low, high))
}

/// Checks a target of a regression loss.
fn check_real(row: usize, y: f64) -> Result<(), Invalid> {
    if y.is_finite() {
        Ok(())
    } else {
        Err(Invalid::Target { row, value: y, expected: "a finite number" })
    }
}

/// Checks a target of a binary classification loss.
fn check_sign(row: usize, y: f64) -> Result<(), Invalid> {
    if y == 1.0 || y == -1.0 {
        Ok(())
    } else {
        Err(Invalid::Label { row, value: y, expected: "-1 or +1" })
    }
}

/// Finds by doubling a point beyond `from`, towards the infinity that has the sign of `end`, at which an increasing function has
/// the sign of that infinity.
fn beyond(f: impl Fn(f64) -> (f64, f64), from: f64, end: f64) -> f64 {
    let way = end.signum();
    let mut reach = 1.0;
    while f(from + way * reach).0 * way < 0.0 && reach < f64::MAX / 4.0 {
        reach *= 2.0;
    }
    from + way * reach
}

/// A convex loss `phi(t; y)` of a margin `t = a.x` and a target `y`, with its Fenchel dual.
///
/// | symbol | method |
/// |---|---|
/// | `phi(t; y)` | [`value`](Loss::value) |
/// | `phi'(t; y)` | [`derivative`](Loss::derivative) |
/// | `phi''(t; y)` | [`second`](Loss::second) |
/// | `gamma`, the Lipschitz constant of `phi'` | [`curvature`](Loss::curvature) |
/// | `phi*(u; y) = sup_t ut - phi(t; y)` | [`conjugate`](Loss::conjugate) |
/// | `phi*'(u; y)`, the `t` with `phi'(t; y) = u` | [`conjugate_derivative`](Loss::conjugate_derivative) |
/// | the `u` with `u = phi'(m - qu)` | [`dual_step`](Loss::dual_step) |
///
/// A loss of your own must have `NAME`, `value`, `derivative`, `second`, `curvature`, `conjugate` and `check_target`; where the
/// conjugate is not known, it sets `HAS_DUAL` to false and returns `+inf` for it, or is a [`Custom`].
///
/// An implementation guarantees that the loss is bounded below, that is, 0 lies in the domain of `phi*`. So a dual point can be
/// made feasible by shrinking it towards 0.
pub trait Loss: Sync {
    /// Its name in messages.
    const NAME: &'static str;

    /// Whether the conjugate and the dual step are implemented. Without them there are no dual methods and no duality gaps, and
    /// certificates are norms of the gradient mapping.
    const HAS_DUAL: bool = true;

    /// `phi(t; y)`.
    fn value(&self, t: f64, y: f64) -> f64;

    /// The derivative `phi'(t; y)`; at a kink any subgradient.
    fn derivative(&self, t: f64, y: f64) -> f64;

    /// `phi''(t; y)`, almost everywhere.
    fn second(&self, t: f64, y: f64) -> f64;

    /// The Lipschitz constant of `phi'`. It is infinite for a loss with a kink or with an unbounded `phi''`.
    fn curvature(&self) -> f64;

    /// The sign of the margins along which the loss of a target decreases for ever: +1 or -1 where no finite margin attains the
    /// infimum, such as `y` for the logistic loss and -1 for a count of 0. It is 0 where the infimum is attained.
    fn recession(&self, _y: f64) -> f64 {
        0.0
    }

    /// Whether [`second`](Loss::second) gives a quadratic model of the loss. It is false for a loss with a kink.
    fn twice_differentiable(&self) -> bool {
        self.curvature().is_finite()
    }

    /// Whether `phi` is quadratic in `t`, so that it is its own second-order model.
    fn quadratic(&self) -> bool {
        false
    }

    /// `phi*(u; y)`, and `+inf` outside its domain. The domain is taken closed and enlarged by 1e-12, relative to an end
    /// beyond 1.
    fn conjugate(&self, u: f64, y: f64) -> f64;

    /// The derivative `phi*'(u; y)` inside the domain of `phi*`, which is the margin `t` with `phi'(t; y) = u`. At a kink of
    /// `phi*` it is any subgradient. At an end of the domain it may be infinite.
    ///
    /// The default solves the equation by a search of the real line, which uses only the derivative. A closed form is faster.
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        let excess = |t: f64| (self.derivative(t, y) - u, self.second(t, y));
        let (low, high) = (beyond(excess, 0.0, -1.0), beyond(excess, 0.0, 1.0));
        increasing_root(excess, low, high, 0.0, 1e-15)
    }

    /// Returns the `u` that solves `u = phi'(m - q u; y)` (an inclusion at a kink), for `q >= 0`.
    ///
    /// This step maximises the dual exactly along one coordinate. `m` is the margin without the contribution of this term, and
    /// `q = ||a||^2 / (mu n)`. `guess` is the margin of the current point, and the solution is usually near it.
    ///
    /// The default is [`interval_step`](Loss::interval_step), which uses only the derivative. A closed form, or an iteration
    /// made for the loss, is faster.
    fn dual_step(&self, m: f64, q: f64, y: f64, guess: f64) -> f64 {
        self.interval_step(m, q, y, guess)
    }

    /// Computes the same `u` as [`dual_step`](Loss::dual_step) by a search of the interval between the current dual variable
    /// `(m - guess) / q` and `phi'(guess)`. This is the interval step of A. Defazio, PhD thesis (2014), section 2.3.1, with a
    /// sign error in its quadratic corrected.
    ///
    /// `u - phi'(m - q u)` increases with `u` and has opposite signs at the two ends of the interval, so that the solution lies
    /// between them. Where each term has a single margin, the interval step is therefore the exact step.
    fn interval_step(&self, m: f64, q: f64, y: f64, guess: f64) -> f64 {
        let towards = self.derivative(guess, y);
        if !(q > 0.0) {
            return towards;
        }
        let current = (m - guess) / q;
        let excess = |u: f64| {
            let t = m - q * u;
            (u - self.derivative(t, y), 1.0 + q * self.second(t, y))
        };
        // A derivative beyond the range of numbers: another end beyond the solution.
        let towards =
            if towards.is_infinite() { beyond(excess, current, towards) } else { towards };
        increasing_root(excess, current.min(towards), current.max(towards), towards, 1e-15)
    }

    /// Replaces the margins `t_i` by `phi(t_i; y_i)`. This batch version of [`value`](Loss::value) may be vectorised by a loss.
    /// Its results may differ from `value` by rounding; the same holds for the next three functions.
    fn values(&self, margins: &mut [f64], targets: &[f64]) {
        margins.iter_mut().zip(targets).for_each(|(t, &y)| *t = self.value(*t, y));
    }

    /// Replaces margins by `phi'(t_i; y_i)`.
    fn derivatives(&self, margins: &mut [f64], targets: &[f64]) {
        margins.iter_mut().zip(targets).for_each(|(t, &y)| *t = self.derivative(*t, y));
    }

    /// Replaces margins by `phi''(t_i; y_i)`.
    fn seconds(&self, margins: &mut [f64], targets: &[f64]) {
        margins.iter_mut().zip(targets).for_each(|(t, &y)| *t = self.second(*t, y));
    }

    /// Replaces the margins by `phi'(t_i; y_i)` and returns `sum_i phi(t_i; y_i)`. A loss may share work between the two.
    fn derivatives_and_sum(&self, margins: &mut [f64], targets: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (t, &y) in margins.iter_mut().zip(targets) {
            sum += self.value(*t, y);
            *t = self.derivative(*t, y);
        }
        sum
    }

    /// Replaces dual variables by `phi*(u_i; y_i)`.
    fn conjugates(&self, dual: &mut [f64], targets: &[f64]) {
        dual.iter_mut().zip(targets).for_each(|(u, &y)| *u = self.conjugate(*u, y));
    }

    /// Checks the loss's own parameters.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] with the name, the value and the range.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Checks the target of a row.
    ///
    /// # Errors
    /// [`Invalid::Target`], or [`Invalid::Label`] for a class label, with the row and what the loss expects.
    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid>;
}
