//! Draws of single numbers.

use rand::Rng;
use rand_distr::{Distribution, Gamma, OpenClosed01, StandardNormal};

pub(crate) fn standard_normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

/// Uniform on `(0, 1]`.
pub(crate) fn open_uniform<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    OpenClosed01.sample(rng)
}

/// A gamma variable of rate 1 and any `shape > 0`; 0 where it underflows.
pub(crate) fn gamma_variable<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    if shape < 1.0 {
        return log_gamma_variable(shape, rng).exp();
    }
    match Gamma::new(shape, 1.0) {
        Ok(gamma) => gamma.sample(rng),
        // An infinite shape: the variable is its mean.
        Err(_) => shape,
    }
}

/// `log G` of a gamma variable `G` of the given shape and rate 1; NaN unless `shape > 0`.
///
/// For a shape of 1e-3, half of all draws `G` are below 1e-300, but a Dirichlet vector needs their logarithm. It is
/// computed from `G = G' U^(1/shape)`, where `G'` has the shape plus 1 and `U` is uniform.
pub fn log_gamma_variable<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    if !(shape > 0.0) {
        return f64::NAN;
    }
    if shape >= 1.0 {
        return gamma_variable(shape, rng).ln();
    }
    gamma_variable(shape + 1.0, rng).ln() + (open_uniform(rng).ln() / shape).max(f64::MIN)
}
