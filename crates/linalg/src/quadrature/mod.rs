//! Integrals of one variable.
//!
//! | integral | function | use for |
//! |---|---|---|
//! | `int_a^b f(x) dx` to a tolerance | [`integrate`] | kinks, peaks, infinite ends; the error is estimated |
//! | the same with interior points | [`integrate_between`] | you know where `f` peaks or has a kink |
//! | `int_-1^1 f(x) dx`, `int_a^b` by [`Rule::between`] | [`gauss_legendre`] | smooth `f`, thousands of integrals |
//! | `int_0^inf e^f(t) dt`, `f` concave and falling | [`concave_tail`] | tails of log-concave laws |
//! | `int f(x) e^(-x^2) dx` | [`gauss_hermite`] | smooth `f` |
//! | `E f(Z)`, `Z` standard normal; `E f(m + s Z)` by [`Rule::affine`] | [`gauss_normal`] | smooth `f` |
//!
//! A Gauss rule of `n` nodes is exact for polynomials of degree up to `2n - 1`, and it converges geometrically where `f` is
//! analytic. It has no error estimate: compare rules of two sizes, or use [`integrate`].
//!
//! ```
//! use fenchel_linalg::quadrature::{Tolerance, gauss_normal, integrate};
//!
//! // E exp(Z) = sqrt(e)
//! let mean = gauss_normal(20)?.sum(f64::exp);
//! assert!((mean - 0.5_f64.exp()).abs() < 1e-14);
//!
//! let gamma_half = integrate(|x| (-x).exp() / x.sqrt(), 0.0, f64::INFINITY, &Tolerance::default())?;
//! assert!((gamma_half.value - std::f64::consts::PI.sqrt()).abs() <= gamma_half.error);
//! # Ok::<(), fenchel_linalg::Invalid>(())
//! ```

mod adaptive;
mod gauss;
#[cfg(test)]
mod tests;

pub use adaptive::{Integral, Tolerance, integrate, integrate_between};
pub use gauss::{Rule, concave_tail, gauss_hermite, gauss_legendre, gauss_normal};
