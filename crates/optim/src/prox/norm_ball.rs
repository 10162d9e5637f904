//! The Euclidean norm, norm balls and the simplex.

use fenchel_linalg::{Invalid, project};

use super::{Regulariser, conjugate_by_prox};

/// A point whose distance from a ball is at most this fraction of the radius counts as inside. It allows for the rounding of a
/// projection.
const ROUNDING: f64 = 1e-12;

/// `strength * ||x||`, the norm and not its square. Either all weights are zero or none is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L2Norm {
    /// Weight of the norm, `>= 0`.
    pub strength: f64,
}

impl Regulariser for L2Norm {
    const NAME: &'static str = "l2 norm";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("l2 norm", self.strength)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.strength * norm(x)
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        let (norm, threshold) = (norm(x), step * self.strength);
        if norm <= threshold {
            x.fill(0.0);
        } else {
            let keep = 1.0 - threshold / norm;
            x.iter_mut().for_each(|x| *x *= keep);
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        let slack = 1.0 + (4.0 + v.len() as f64) * f64::EPSILON;
        let excess = norm(v) - self.strength * slack;
        if excess <= 0.0 { 0.0 } else { excess * excess / (2.0 * l2) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        let norm = norm(v);
        if l2 > 0.0 || norm <= self.strength { 1.0 } else { self.strength / norm }
    }

    fn coercive(&self) -> bool {
        self.strength > 0.0
    }
}

/// The constraint `||x|| <= radius`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L2Ball {
    /// The radius, `>= 0`.
    pub radius: f64,
}

impl Regulariser for L2Ball {
    const NAME: &'static str = "l2 ball";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("radius", self.radius)
    }

    fn value(&self, x: &[f64]) -> f64 {
        indicator(norm(x) <= self.radius * (1.0 + ROUNDING))
    }

    fn prox(&self, x: &mut [f64], _: f64) {
        projected(project::l2_ball(x, self.radius));
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        let norm = norm(v);
        // The maximiser is a multiple of v.
        if norm < l2 * self.radius {
            norm * norm / (2.0 * l2)
        } else {
            self.radius * norm - 0.5 * l2 * self.radius * self.radius
        }
    }

    fn dual_scale(&self, _: &[f64], _: f64) -> f64 {
        1.0
    }

    fn coercive(&self) -> bool {
        true
    }
}

/// The constraint `||x||_1 <= radius`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L1Ball {
    /// The radius, `>= 0`.
    pub radius: f64,
}

impl Regulariser for L1Ball {
    const NAME: &'static str = "l1 ball";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("radius", self.radius)
    }

    fn value(&self, x: &[f64]) -> f64 {
        indicator(x.iter().map(|x| x.abs()).sum::<f64>() <= self.radius * (1.0 + ROUNDING))
    }

    fn prox(&self, x: &mut [f64], _: f64) {
        projected(project::l1_ball(x, self.radius));
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return conjugate_by_prox(self, v, l2);
        }
        self.radius * largest(v.iter().map(|v| v.abs()))
    }

    fn dual_scale(&self, _: &[f64], _: f64) -> f64 {
        1.0
    }

    fn coercive(&self) -> bool {
        true
    }
}

/// The constraint `x >= 0, sum_c x_c = radius`, for example for mixture or portfolio weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simplex {
    /// The sum, `>= 0`; 1 for probabilities.
    pub radius: f64,
}

impl Regulariser for Simplex {
    const NAME: &'static str = "simplex";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("radius", self.radius)
    }

    fn value(&self, x: &[f64]) -> f64 {
        let off = (x.iter().sum::<f64>() - self.radius).abs();
        indicator(x.iter().all(|&x| x >= 0.0) && off <= self.radius * ROUNDING)
    }

    fn prox(&self, x: &mut [f64], _: f64) {
        projected(project::simplex(x, self.radius));
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return conjugate_by_prox(self, v, l2);
        }
        self.radius * largest(v.iter().copied())
    }

    fn dual_scale(&self, _: &[f64], _: f64) -> f64 {
        1.0
    }

    fn coercive(&self) -> bool {
        true
    }
}

/// Handles the result of a projection. A projection refuses and does not change a vector with entries that are not finite, so
/// that a NaN is passed on. The radius was checked before.
fn projected(result: Result<(), Invalid>) {
    debug_assert!(!matches!(result, Err(Invalid::Parameter { .. })));
}

fn indicator(inside: bool) -> f64 {
    if inside { 0.0 } else { f64::INFINITY }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The largest entry; NaN if there is one.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, |m, v| if v <= m || m.is_nan() { m } else { v })
}
