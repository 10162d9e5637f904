//! Bounds that are the same for every coordinate.

use fenchel_linalg::Invalid;

use super::{Regulariser, Separable};

/// The constraint `lower <= x_c <= upper` for every coordinate. Either bound may be infinite.
///
/// Without an l2 term a dual point gives a finite lower bound only if no coordinate of it points towards an infinite bound. So
/// the certificates of non-negative least squares are norms of the gradient mapping (see [`coercive`](Regulariser::coercive)).
/// With a small l2 they are gaps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Smallest value of a coordinate.
    pub lower: f64,
    /// Largest value of a coordinate.
    pub upper: f64,
}

impl Interval {
    /// `x >= 0`.
    pub const NONNEGATIVE: Interval = Interval { lower: 0.0, upper: f64::INFINITY };

    /// The nearest point of the interval. Unlike `clamp` it returns NaN for NaN, and panics for no bounds.
    #[inline(always)]
    fn nearest(&self, x: f64) -> f64 {
        if x < self.lower {
            self.lower
        } else if x > self.upper {
            self.upper
        } else {
            x
        }
    }

    /// The conjugate `sup v x - (l2/2) x^2` over the interval.
    fn conjugate_coordinate(&self, v: f64, l2: f64) -> f64 {
        if l2 > 0.0 {
            let x = self.nearest(v / l2);
            v * x - 0.5 * l2 * x * x
        } else if v == 0.0 {
            0.0
        } else if v > 0.0 {
            v * self.upper
        } else {
            v * self.lower
        }
    }
}

impl Regulariser for Interval {
    const NAME: &'static str = "interval";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        if self.lower <= self.upper && self.lower < f64::INFINITY && self.upper > f64::NEG_INFINITY
        {
            return Ok(());
        }
        let (name, value) = if self.lower < f64::INFINITY {
            ("interval.upper", self.upper)
        } else {
            ("interval.lower", self.lower)
        };
        Err(Invalid::Parameter { name, value, expected: "bounds with lower <= upper" })
    }

    fn value(&self, x: &[f64]) -> f64 {
        if x.iter().all(|x| (self.lower..=self.upper).contains(x)) { 0.0 } else { f64::INFINITY }
    }

    fn prox(&self, x: &mut [f64], _: f64) {
        for x in x {
            *x = self.nearest(*x);
        }
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        v.iter().map(|&v| self.conjugate_coordinate(v, l2)).sum()
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        // Towards an infinite bound the conjugate without l2 is infinite for any multiple but 0.
        if self.conjugate(v, l2).is_finite() { 1.0 } else { 0.0 }
    }

    fn coercive(&self) -> bool {
        self.lower > f64::NEG_INFINITY && self.upper < f64::INFINITY
    }
}

impl Separable for Interval {
    #[inline(always)]
    fn prox_coordinate(&self, _: usize, v: f64, _: f64) -> f64 {
        self.nearest(v)
    }
}
