//! Losses of one real argument: what a term of a linear model does with its margin.

use fenchel_linalg::Invalid;

use crate::scalar::increasing_root;

/// Where on the way from `from` towards an infinite end an increasing function has changed its sign, by doubling.
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
/// | the `u` with `u = phi'(m - qu)` | [`dual_step`](Loss::dual_step) |
///
/// Implementations promise that 0 lies in the domain of `phi*` (the loss is bounded below): dual
/// points are repaired by shrinking them towards 0.
pub trait Loss: Sync {
    /// Its name in messages.
    const NAME: &'static str;

    /// Whether the conjugate and the dual step are known. Without them there are no dual methods and no
    /// duality gaps; certificates are then norms of the gradient mapping.
    const HAS_DUAL: bool = true;

    /// Whether `phi(s t; y)` falls for ever as `s` grows, for every `t` with `y t > 0`: the loss of a label whose infimum no margin
    /// attains.
    const RECEDES: bool = false;

    /// `phi(t; y)`.
    fn value(&self, t: f64, y: f64) -> f64;

    /// `phi'(t; y)`; at a kink any subgradient.
    fn derivative(&self, t: f64, y: f64) -> f64;

    /// `phi''(t; y)`, almost everywhere.
    fn second(&self, t: f64, y: f64) -> f64;

    /// The Lipschitz constant of `phi'`; infinite where there is none: for a loss with a kink, or one
    /// whose `phi''` is unbounded.
    fn curvature(&self) -> f64;

    /// Whether [`second`](Loss::second) makes a quadratic model of the loss: false for a loss with a kink.
    fn twice_differentiable(&self) -> bool {
        self.curvature().is_finite()
    }

    /// Whether `phi` is quadratic in `t`, so that it is its own second-order model.
    fn quadratic(&self) -> bool {
        false
    }

    /// `phi*(u; y)`; `+inf` outside its domain, which is taken closed and with a slack of 1e-12, relative to
    /// an end beyond 1.
    fn conjugate(&self, u: f64, y: f64) -> f64;

    /// The `u` that solves `u = phi'(m - q u; y)` (an inclusion at a kink), for `q >= 0`.
    ///
    /// Exact coordinate maximisation of the dual: `m` is the margin with this term's own contribution
    /// removed and `q = ||a||^2 / (mu n)`. `guess` is the margin of the current point, near which the
    /// solution is usually found.
    ///
    /// Provided as [`interval_step`](Loss::interval_step), which needs the derivative alone; a closed form or an
    /// iteration that knows the loss is faster.
    fn dual_step(&self, m: f64, q: f64, y: f64, guess: f64) -> f64 {
        self.interval_step(m, q, y, guess)
    }

    /// The same `u` by a search of the interval between the current dual variable `(m - guess) / q` and
    /// `phi'(guess)`: the interval step of Defazio's thesis, section 2.3.1 (with the sign of its quadratic put
    /// right).
    ///
    /// `u - phi'(m - q u)` rises with `u` and has opposite signs at the two ends, so the maximum along the
    /// coordinate always lies between them: for one margin a term, the interval step is the exact step.
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

    /// Replaces margins by `phi(t_i; y_i)`: a batch of [`value`](Loss::value), which a loss may vectorise. The two may
    /// differ by rounding, here as in the three that follow.
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

    /// Replaces margins by `phi'(t_i; y_i)` and returns `sum_i phi(t_i; y_i)`, of which a loss may share the work.
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
    /// [`Invalid::Target`], or [`Invalid::Label`] where it is that of a class, with the row and what the loss expects.
    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid>;
}
