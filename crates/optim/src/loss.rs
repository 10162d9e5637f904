//! Losses of one real argument: what a term of a linear model does with its margin.

use fenchel_linalg::Invalid;

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

    /// `phi*(u; y)`; `+inf` outside its domain, which is taken closed and with a slack of 1e-12, relative to
    /// an end beyond 1.
    fn conjugate(&self, u: f64, y: f64) -> f64;

    /// The `u` that solves `u = phi'(m - q u; y)` (an inclusion at a kink), for `q >= 0`.
    ///
    /// Exact coordinate maximisation of the dual: `m` is the margin with this term's own contribution
    /// removed and `q = ||a||^2 / (mu n)`. `guess` is the margin of the current point, near which the
    /// solution is usually found.
    fn dual_step(&self, m: f64, q: f64, y: f64, guess: f64) -> f64;

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
    /// [`Invalid::Label`] with the row and what the loss expects.
    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid>;
}
