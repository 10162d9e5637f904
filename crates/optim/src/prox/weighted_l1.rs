//! The l1 norm with one weight per coordinate, and the l1 norm of non-negative weights.

use fenchel_linalg::Invalid;

use super::{Regulariser, Separable, soft_threshold};

/// `sum_c weights_c |x_c|`. A weight of 0 leaves its coordinate unpenalised.
///
/// With an unpenalised coordinate and no l2 term, only the dual point 0 is sure to be feasible. Certificates are then norms of
/// the gradient mapping (see [`coercive`](Regulariser::coercive)).
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedL1 {
    /// One weight per coordinate, `>= 0`.
    pub weights: Vec<f64>,
}

impl Regulariser for WeightedL1 {
    const NAME: &'static str = "weighted l1";

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        Invalid::check_weights("weights of the l1 norm", columns, self.weights.iter())
    }

    fn value(&self, x: &[f64]) -> f64 {
        x.iter().zip(&self.weights).map(|(x, w)| w * x.abs()).sum()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        for (x, w) in x.iter_mut().zip(&self.weights) {
            *x = soft_threshold(*x, step * w);
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        // As for the plain l1 norm: a scaled coordinate may stand one rounding above its weight.
        let excess = |(&v, w): (&f64, &f64)| soft_threshold(v, w * (1.0 + 4.0 * f64::EPSILON));
        let excess: f64 = v.iter().zip(&self.weights).map(|pair| excess(pair).powi(2)).sum();
        if excess == 0.0 { 0.0 } else { excess / (2.0 * l2) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let fits = |(v, w): (&f64, &f64)| if v.abs() <= *w { 1.0 } else { w / v.abs() };
        v.iter().zip(&self.weights).map(fits).fold(1.0, f64::min)
    }

    fn coercive(&self) -> bool {
        self.weights.iter().all(|&w| w > 0.0)
    }
}

impl Separable for WeightedL1 {
    #[inline(always)]
    fn prox_coordinate(&self, c: usize, v: f64, step: f64) -> f64 {
        soft_threshold(v, step * self.weights[c])
    }

    #[inline(always)]
    fn conjugate_gradient(&self, c: usize, v: f64, l2: f64) -> f64 {
        soft_threshold(v, self.weights[c]) / l2
    }
}

/// `strength * sum_c x_c` for `x >= 0`, else infinite. It gives sparse non-negative weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonnegativeL1 {
    /// Weight of the sum, `>= 0`.
    pub strength: f64,
}

/// `max(v - threshold, 0)`, where a NaN stays a NaN.
#[inline(always)]
fn above(v: f64, threshold: f64) -> f64 {
    if v <= threshold { 0.0 } else { v - threshold }
}

impl Regulariser for NonnegativeL1 {
    const NAME: &'static str = "non-negative l1";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("l1", self.strength)
    }

    fn value(&self, x: &[f64]) -> f64 {
        if x.iter().all(|&x| x >= 0.0) {
            self.strength * x.iter().sum::<f64>()
        } else {
            f64::INFINITY
        }
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        let threshold = step * self.strength;
        for x in x {
            *x = above(*x, threshold);
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        let threshold = self.strength * (1.0 + 4.0 * f64::EPSILON);
        let excess: f64 = v.iter().map(|&v| above(v, threshold).powi(2)).sum();
        if excess == 0.0 { 0.0 } else { excess / (2.0 * l2) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let largest = v.iter().fold(0.0, |m: f64, &v| m.max(v));
        if largest <= self.strength { 1.0 } else { self.strength / largest }
    }

    fn coercive(&self) -> bool {
        self.strength > 0.0
    }
}

impl Separable for NonnegativeL1 {
    #[inline(always)]
    fn prox_coordinate(&self, _: usize, v: f64, step: f64) -> f64 {
        above(v, step * self.strength)
    }

    #[inline(always)]
    fn conjugate_gradient(&self, _: usize, v: f64, l2: f64) -> f64 {
        above(v, self.strength) / l2
    }
}
