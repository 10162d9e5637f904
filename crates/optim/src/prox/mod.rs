//! Regularisers and their proximal operators.
//!
//! The proximal operator with step `s > 0` is `prox(v, s) = argmin_x h(x) + ||x - v||^2 / (2s)`.
//!
//! | regulariser | `h(x)` | use |
//! |---|---|---|
//! | [`Zero`] | 0 | smooth problems; a problem has an l2 term of its own |
//! | [`L1`] | `strength * \|\|x\|\|_1` | sparse weights |
//! | [`L1L2`] | `l1 \|\|x\|\|_1 + (l2/2) \|\|x\|\|^2` | both terms in one proximal step |
//! | [`Interval`] | 0 on `[lower, upper]^d`, else infinite | bounds, non-negative weights |
//! | [`WeightedL1`] | `sum_c weights_c \|x_c\|` | one penalty per coordinate, 0 for none |
//! | [`NonnegativeL1`] | `strength * sum_c x_c`, `x >= 0` | sparse non-negative weights |
//! | [`GroupNorm`] | `strength * sum_g weights_g \|\|x_g\|\|` | groups that are zero together |
//! | [`GroupMax`] | `strength * sum_g weights_g max_{c in g} \|x_c\|` | groups that are zero together, with equal largest entries |
//! | [`SparseGroupLasso`] | `l1 \|\|x\|\|_1 + group * sum_g weights_g \|\|x_g\|\|` | sparse groups, and sparsity within groups |
//! | [`SortedL1`] | `sum_k weights_k` times the k-th largest `\|x_c\|` | sparse, with equal weights for correlated columns |
//! | [`L2Norm`] | `strength * \|\|x\|\|` | all weights zero, or none |
//! | [`L1Ball`], [`L2Ball`], [`Simplex`] | 0 inside, else infinite | budgets, mixture weights |
//! | [`TotalVariation`] | `strength * sum_c \|x_{c+1} - x_c\|` | piecewise constant weights |
//! | [`FusedLasso`] | `l1 \|\|x\|\|_1 + tv * sum_c \|x_{c+1} - x_c\|` | piecewise constant weights, most of them 0 |
//!
//! The first six are [`Separable`], and every method accepts them. The others need a proximal step on the whole vector. FISTA
//! ([`fista`](mod@crate::fista)) accepts them, and so do SAGA and similar methods, at a cost of O(d) per step.
//!
//! Every proximal operator is exact, so that zeros are exactly 0.

mod elastic_net;
mod group;
mod group_max;
mod interval;
mod norm_ball;
mod sorted;
mod total_variation;
mod weighted_l1;

pub use elastic_net::{L1, L1L2};
pub use group::{GroupNorm, Groups, SparseGroupLasso};
pub use group_max::GroupMax;
pub use interval::Interval;
pub use norm_ball::{L1Ball, L2Ball, L2Norm, Simplex};
pub use sorted::SortedL1;
pub use total_variation::{FusedLasso, TotalVariation};
pub use weighted_l1::{NonnegativeL1, WeightedL1};

use fenchel_linalg::Invalid;

/// A convex function `h` with a cheap proximal operator.
///
/// An implementation needs three functions: [`check`](Regulariser::check), [`value`](Regulariser::value) and
/// [`prox`](Regulariser::prox). In a problem with an l2 term the conjugate follows from them, and methods certify duality gaps.
/// Without an l2 term methods certify the norm of the gradient mapping. To have duality gaps there too, implement
/// [`conjugate`](Regulariser::conjugate), [`dual_scale`](Regulariser::dual_scale) and [`coercive`](Regulariser::coercive).
pub trait Regulariser: Sync {
    /// Its name in messages.
    const NAME: &'static str;

    /// Whether `h = 0`, so that the proximal operator is the identity. Methods do less then. The default is `false`.
    fn is_zero(&self) -> bool {
        false
    }

    /// Checks the parameters against the number of coordinates.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] or [`Invalid::Length`].
    fn check(&self, columns: usize) -> Result<(), Invalid>;

    /// The value `h(x)`; infinite outside the domain.
    fn value(&self, x: &[f64]) -> f64;

    /// Replaces `x` by `argmin_z h(z) + ||z - x||^2 / (2 step)`.
    fn prox(&self, x: &mut [f64], step: f64);

    /// The conjugate `sup_x v.x - h(x) - (l2/2) ||x||^2` of the regulariser together with an l2 term.
    ///
    /// The default uses the proximal operator if `l2 > 0`, and is infinite otherwise.
    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 { conjugate_by_prox(self, v, l2) } else { f64::INFINITY }
    }

    /// The largest `c` in `[0, 1]` for which [`conjugate`](Regulariser::conjugate) is finite at `c v`. The default is 1 if
    /// `l2 > 0`, and 0 otherwise.
    fn dual_scale(&self, _v: &[f64], l2: f64) -> f64 {
        if l2 > 0.0 { 1.0 } else { 0.0 }
    }

    /// The strong convexity constant of `h`.
    fn strong_convexity(&self) -> f64 {
        0.0
    }

    /// Whether `h` grows without bound in every direction of its domain, and its conjugate without an l2 term is implemented.
    /// Only then can every dual point be made feasible by scaling. If `h` is not coercive and there is no l2 term, certificates
    /// are norms of the gradient mapping instead of gaps.
    fn coercive(&self) -> bool {
        false
    }
}

impl<R: Regulariser> Regulariser for &R {
    const NAME: &'static str = R::NAME;

    #[inline(always)]
    fn is_zero(&self) -> bool {
        (**self).is_zero()
    }

    fn check(&self, columns: usize) -> Result<(), Invalid> {
        (**self).check(columns)
    }

    fn value(&self, x: &[f64]) -> f64 {
        (**self).value(x)
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        (**self).prox(x, step);
    }

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        (**self).conjugate(v, l2)
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        (**self).dual_scale(v, l2)
    }

    fn strong_convexity(&self) -> f64 {
        (**self).strong_convexity()
    }

    fn coercive(&self) -> bool {
        (**self).coercive()
    }
}

/// A regulariser that is a sum over coordinates, so that a proximal step can change a single coordinate.
pub trait Separable: Regulariser {
    /// The proximal operator on coordinate `c`.
    fn prox_coordinate(&self, c: usize, v: f64, step: f64) -> f64;

    /// The maximiser of `v x - h_c(x) - (l2/2) x^2`, the derivative of the conjugate. Needs `l2 > 0` or
    /// a strongly convex `h`.
    fn conjugate_gradient(&self, c: usize, v: f64, l2: f64) -> f64 {
        self.prox_coordinate(c, v / l2, 1.0 / l2)
    }
}

/// No regulariser.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Zero;

impl Regulariser for Zero {
    const NAME: &'static str = "none";

    #[inline(always)]
    fn is_zero(&self) -> bool {
        true
    }

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Ok(())
    }

    fn value(&self, _: &[f64]) -> f64 {
        0.0
    }

    fn prox(&self, _: &mut [f64], _: f64) {}

    fn conjugate(&self, v: &[f64], l2: f64) -> f64 {
        let norm_squared: f64 = v.iter().map(|v| v * v).sum();
        if norm_squared == 0.0 { 0.0 } else { norm_squared / (2.0 * l2) }
    }

    fn dual_scale(&self, v: &[f64], l2: f64) -> f64 {
        // Without l2 the conjugate is the indicator of v = 0.
        if l2 > 0.0 || v.iter().all(|&v| v == 0.0) { 1.0 } else { 0.0 }
    }

    fn coercive(&self) -> bool {
        false
    }
}

impl Separable for Zero {
    #[inline(always)]
    fn prox_coordinate(&self, _: usize, v: f64, _: f64) -> f64 {
        v
    }

    #[inline(always)]
    fn conjugate_gradient(&self, _: usize, v: f64, l2: f64) -> f64 {
        v / l2
    }
}

/// The conjugate `v.x - h(x) - (l2/2) ||x||^2` at its maximiser, which is the proximal point of `v / l2`.
fn conjugate_by_prox<R: Regulariser + ?Sized>(h: &R, v: &[f64], l2: f64) -> f64 {
    let mut x: Vec<f64> = v.iter().map(|v| v / l2).collect();
    h.prox(&mut x, 1.0 / l2);
    let gain: f64 = v.iter().zip(&x).map(|(v, x)| (v - 0.5 * l2 * x) * x).sum();
    gain - h.value(&x)
}

/// The proximal operator of `threshold |x|`, which is `sign(v) max(|v| - threshold, 0)`.
///
/// A NaN stays a NaN. Otherwise a diverged iterate or an overflown dual point could be mistaken for a zero.
#[inline(always)]
pub fn soft_threshold(v: f64, threshold: f64) -> f64 {
    if v > threshold {
        v - threshold
    } else if v >= -threshold {
        0.0
    } else {
        v + threshold
    }
}
