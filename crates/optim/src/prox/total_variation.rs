//! Total variation of a sequence, and the fused lasso.

use std::collections::VecDeque;

use fenchel_linalg::Invalid;

use super::conjugate_by_prox;
use super::{Regulariser, soft_threshold};

/// `strength * sum_c |x_{c+1} - x_c|`, whose minimisers are piecewise constant in neighbouring coordinates.
///
/// Without an l2 term a dual point is feasible only if its entries sum to exactly 0. Certificates are then norms of the
/// gradient mapping (see [`coercive`](Regulariser::coercive)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TotalVariation {
    /// Weight of the sum of jumps, `>= 0`.
    pub strength: f64,
}

impl TotalVariation {
    const fn as_fused(&self) -> FusedLasso {
        FusedLasso { l1: 0.0, tv: self.strength }
    }
}

impl Regulariser for TotalVariation {
    const NAME: &'static str = "total variation";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("tv", self.strength)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.as_fused().value(x)
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        denoise(x, step * self.strength);
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        self.as_fused().conjugate(v, l2)
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        self.as_fused().dual_scale(v, l2)
    }

    fn coercive(&self) -> bool {
        false
    }
}

/// `l1 ||x||_1 + tv * sum_c |x_{c+1} - x_c|`, whose minimisers are piecewise constant and mostly 0 (Tibshirani, Saunders,
/// Rosset, Zhu and Knight, 2005).
///
/// The proximal operator is that of the total variation followed by soft thresholding, O(d) in the worst case. The dual norm of
/// `v` is `max |v(I)| / (l1 |I| + tv e(I))` over the intervals `I` of coordinates. Here `v(I)` is the sum of `v` over `I`, and
/// `e(I)` counts the ends of `I` that have a neighbour. The formula holds because the unit ball of the norm is spanned by the
/// indicators of intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedLasso {
    /// Weight of the l1 norm, `>= 0`.
    pub l1: f64,
    /// Weight of the sum of jumps, `>= 0`.
    pub tv: f64,
}

impl Regulariser for FusedLasso {
    const NAME: &'static str = "fused lasso";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("l1", self.l1)?;
        Invalid::check_nonnegative("tv", self.tv)
    }

    fn value(&self, x: &[f64]) -> f64 {
        let jumps: f64 = x.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        self.tv * jumps + self.l1 * x.iter().map(|x| x.abs()).sum::<f64>()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        denoise(x, step * self.tv);
        let threshold = step * self.l1;
        x.iter_mut().for_each(|x| *x = soft_threshold(*x, threshold));
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return conjugate_by_prox(self, v, l2);
        }
        let size: f64 = v.iter().map(|v| v.abs() + self.l1).sum::<f64>() + self.tv;
        let worst = self.worst_interval(v, 1.0);
        if worst.excess <= 4.0 * f64::EPSILON * size { 0.0 } else { f64::INFINITY }
    }

    /// Dinkelbach's method: the interval with the largest violation at the current scale determines the next scale. Each
    /// iteration is O(d), and the scale decreases until no interval is violated.
    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 {
            return 1.0;
        }
        let mut scale = 1.0;
        loop {
            let worst = self.worst_interval(v, scale);
            let next = worst.weight / worst.sum.abs();
            if !(worst.excess > 0.0 && next < scale) {
                return scale;
            }
            scale = next;
        }
    }

    fn coercive(&self) -> bool {
        self.l1 > 0.0
    }
}

/// An interval of coordinates: the excess of its scaled sum over its weight, its unscaled sum, and its weight.
struct Interval {
    excess: f64,
    sum: f64,
    weight: f64,
}

impl FusedLasso {
    /// The interval with the largest `scale |v(I)| - weight(I)`. O(d).
    fn worst_interval(&self, v: &[f64], scale: f64) -> Interval {
        let mut worst = Interval { excess: 0.0, sum: 0.0, weight: 0.0 };
        for sign in [1.0, -1.0] {
            // The best interval that ends here.
            let mut here = Interval { excess: f64::NEG_INFINITY, sum: 0.0, weight: 0.0 };
            for (c, &entry) in v.iter().enumerate() {
                let start = if c == 0 { 0.0 } else { self.tv };
                if here.excess < -start {
                    here = Interval { excess: -start, sum: 0.0, weight: start };
                }
                here.excess += scale * sign * entry - self.l1;
                here.sum += entry;
                here.weight += self.l1;
                let end = if c + 1 == v.len() { 0.0 } else { self.tv };
                // A NaN is the worst of all.
                if !(here.excess - end <= worst.excess) {
                    let (excess, weight) = (here.excess - end, here.weight + end);
                    worst = Interval { excess, sum: here.sum, weight };
                }
            }
        }
        worst
    }
}

/// A breakpoint of a piecewise linear function, with the changes of slope and offset.
#[derive(Clone, Copy)]
struct Knot {
    at: f64,
    slope: f64,
    offset: f64,
}

/// Replaces `v` by `argmin_x (1/2) ||x - v||^2 + strength sum_c |x_{c+1} - x_c|`. O(d) time and memory.
///
/// The algorithm is dynamic programming on the derivative of `m_c(b)`, the best value of the first `c` coordinates given `x_c =
/// b`. This derivative is piecewise linear and increasing, and `m_{c+1}'(b) = clip(m_c'(b), +-strength) + b - v_{c+1}`. Every
/// coordinate adds two knots, and a knot that is clipped away never returns. Source: Johnson, "A dynamic programming algorithm
/// for the fused lasso and l0-segmentation", Journal of Computational and Graphical Statistics 22 (2013).
fn denoise(v: &mut [f64], strength: f64) {
    let d = v.len();
    if d < 2 || strength == 0.0 {
        return;
    }
    if !v.iter().all(|v| v.is_finite()) {
        v.fill(f64::NAN);
        return;
    }
    let mut knots: VecDeque<Knot> = VecDeque::with_capacity(d + 1);
    // Where the derivative of m_c crosses -strength and +strength: the range of x_c given x_{c+1}.
    let mut range = Vec::with_capacity(d - 1);
    // Pieces left and right of all knots, as (slope, offset).
    let (mut left, mut right) = ((1.0, -v[0]), (1.0, -v[0]));
    for &next in &v[1..] {
        while let Some(knot) = knots.front().filter(|k| left.0 * k.at + left.1 <= -strength) {
            left = (left.0 + knot.slope, left.1 + knot.offset);
            knots.pop_front();
        }
        while let Some(knot) = knots.back().filter(|k| right.0 * k.at + right.1 >= strength) {
            right = (right.0 - knot.slope, right.1 - knot.offset);
            knots.pop_back();
        }
        let low = (-strength - left.1) / left.0;
        let high = (strength - right.1) / right.0;
        knots.push_front(Knot { at: low, slope: left.0, offset: left.1 + strength });
        knots.push_back(Knot { at: high, slope: -right.0, offset: strength - right.1 });
        range.push((low, high));
        // Beyond the knots the clipped derivative is constant; the next coordinate adds b - v.
        left = (1.0, -strength - next);
        right = (1.0, strength - next);
    }
    while let Some(knot) = knots.front().filter(|k| left.0 * k.at + left.1 <= 0.0) {
        left = (left.0 + knot.slope, left.1 + knot.offset);
        knots.pop_front();
    }
    let mut x = -left.1 / left.0;
    v[d - 1] = x;
    for (v, &(low, high)) in v[..d - 1].iter_mut().zip(&range).rev() {
        x = if x < low {
            low
        } else if x > high {
            high
        } else {
            x
        };
        *v = x;
    }
}
