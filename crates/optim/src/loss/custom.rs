//! Losses given by a closure.

use fenchel_linalg::Invalid;

use super::Loss;

/// A convex, differentiable loss. It is given by a closure `(t, y) -> (phi(t; y), phi'(t; y))` and a bound on its
/// curvature, which is a Lipschitz constant of `phi'`.
///
/// Primal methods accept it. Dual methods refuse it, because its conjugate is not known. A certificate is a gap only if
/// strong convexity alone implies one. Otherwise it is the norm of the gradient mapping. Every finite target is accepted.
///
/// ```
/// use fenchel_optim::Loss;
/// use fenchel_optim::loss::Custom;
///
/// // log cosh of the residual: smooth, and close to the absolute value far out.
/// let log_cosh = Custom::new(1.0, |t: f64, y: f64| {
///     let r = (t - y).abs();
///     (r + (-2.0 * r).exp().ln_1p() - 2f64.ln(), (t - y).tanh())
/// });
/// assert!((log_cosh.value(20.0, 0.0) - (20.0 - 2f64.ln())).abs() < 1e-12);
/// assert_eq!(log_cosh.derivative(0.5, 0.5), 0.0);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Custom<F> {
    curvature: f64,
    value_derivative: F,
}

impl<F: Fn(f64, f64) -> (f64, f64) + Sync> Custom<F> {
    /// Makes a loss from the bound on its curvature and the closure. [`check`](Loss::check) checks the bound.
    pub fn new(curvature: f64, value_derivative: F) -> Self {
        Custom { curvature, value_derivative }
    }
}

impl<F: Fn(f64, f64) -> (f64, f64) + Sync> Loss for Custom<F> {
    const NAME: &'static str = "custom";
    const HAS_DUAL: bool = false;

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        (self.value_derivative)(t, y).0
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        (self.value_derivative)(t, y).1
    }

    /// The bound, since the exact curvature is not known.
    #[inline]
    fn second(&self, _: f64, _: f64) -> f64 {
        self.curvature
    }

    #[inline]
    fn curvature(&self) -> f64 {
        self.curvature
    }

    fn twice_differentiable(&self) -> bool {
        false
    }

    /// The conjugate is not known. The value `+inf` makes every dual bound trivial.
    fn conjugate(&self, _: f64, _: f64) -> f64 {
        f64::INFINITY
    }

    /// Solves the defining equation by bisection. The function `u - phi'(m - q u)` increases in `u`.
    fn dual_step(&self, m: f64, q: f64, y: f64, guess: f64) -> f64 {
        if q == 0.0 {
            return self.derivative(m, y);
        }
        // In the margin t = m - q u: (t - m) / q + phi'(t) = 0, increasing and with slope in [1/q, 1/q + gamma].
        let f = |t: f64| ((t - m) / q + self.derivative(t, y), 1.0 / q + 0.5 * self.curvature);
        let reach = q * f(guess).0.abs();
        let (low, high) = (guess - reach, guess + reach);
        let t = crate::scalar::increasing_root(f, low, high, guess, 1e-15);
        self.derivative(t, y)
    }

    fn check(&self) -> Result<(), Invalid> {
        Invalid::check_positive("curvature", self.curvature)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        super::check_real(row, y)
    }
}
