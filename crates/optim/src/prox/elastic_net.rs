//! `l1 ||x||_1 + (l2/2) ||x||^2` and its special case.

use fenchel_linalg::Invalid;

use super::{Regulariser, Separable, soft_threshold};

/// `strength * ||x||_1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L1 {
    /// Weight of the norm, `>= 0`.
    pub strength: f64,
}

impl L1 {
    const fn as_net(&self) -> L1L2 {
        L1L2 { l1: self.strength, l2: 0.0 }
    }
}

impl Regulariser for L1 {
    const NAME: &'static str = "l1";

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.strength == 0.0
    }

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("l1", self.strength)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.as_net().value(x)
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        let threshold = step * self.strength;
        for x in x {
            *x = soft_threshold(*x, threshold);
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        self.as_net().conjugate(v, l2)
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        self.as_net().dual_scale(v, l2)
    }

    fn coercive(&self) -> bool {
        self.strength > 0.0
    }
}

impl Separable for L1 {
    #[inline(always)]
    fn prox_coordinate(&self, _: usize, v: f64, step: f64) -> f64 {
        soft_threshold(v, step * self.strength)
    }

    #[inline(always)]
    fn conjugate_gradient(&self, _: usize, v: f64, l2: f64) -> f64 {
        soft_threshold(v, self.strength) / l2
    }
}

/// `l1 ||x||_1 + (l2/2) ||x||^2` with both terms in the proximal step: `prox(v, s) = soft(v, s l1) / (1 + s l2)`.
///
/// A problem also has an l2 term of its own, which is treated as part of the smooth loss. An elastic net can be written either
/// way. The solution is the same, and the iterates differ slightly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L1L2 {
    /// Weight of the l1 norm, `>= 0`.
    pub l1: f64,
    /// Weight of half the squared l2 norm, `>= 0`.
    pub l2: f64,
}

impl Regulariser for L1L2 {
    const NAME: &'static str = "elastic net";

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("l1", self.l1)?;
        Invalid::check_nonnegative("l2", self.l2)
    }

    fn value(&self, x: &[f64]) -> f64 {
        x.iter().map(|x| self.l1 * x.abs() + 0.5 * self.l2 * x * x).sum()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        let (threshold, shrink) = (step * self.l1, 1.0 / (1.0 + step * self.l2));
        for x in x {
            *x = soft_threshold(*x, threshold) * shrink;
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        // A coordinate scaled onto the threshold may stand one rounding above it; that is not outside
        // the domain of the conjugate at l2 = 0.
        let threshold = self.l1 * (1.0 + 4.0 * f64::EPSILON);
        let excess: f64 = v.iter().map(|&v| soft_threshold(v, threshold).powi(2)).sum();
        if excess == 0.0 { 0.0 } else { excess / (2.0 * (l2 + self.l2)) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 + self.l2 > 0.0 {
            return 1.0;
        }
        let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest <= self.l1 { 1.0 } else { self.l1 / largest }
    }

    fn strong_convexity(&self) -> f64 {
        self.l2
    }

    fn coercive(&self) -> bool {
        self.l1 + self.l2 > 0.0
    }
}

impl Separable for L1L2 {
    #[inline(always)]
    fn prox_coordinate(&self, _: usize, v: f64, step: f64) -> f64 {
        soft_threshold(v, step * self.l1) / (1.0 + step * self.l2)
    }

    #[inline(always)]
    fn conjugate_gradient(&self, _: usize, v: f64, l2: f64) -> f64 {
        soft_threshold(v, self.l1) / (l2 + self.l2)
    }
}
