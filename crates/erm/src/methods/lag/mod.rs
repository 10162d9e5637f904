//! Steps on sparse rows in O(nnz), by delayed updates of the coordinates that the row does not contain.
//!
//! Between two rows that contain coordinate `c`, the averaged gradient `g = gbar_c` does not change. So every step in
//! between applies the same scalar map
//!
//! ```text
//! T(x) = prox( (1 - step l2) x - step g, step ).
//! ```
//!
//! When a row contains the coordinate again after `m` steps, `T^m` is applied at once, in constant time. Without a
//! regulariser it is a geometric sum. For l1 there is at most one change of sign on the way, and for bounds one
//! projection is enough. Source: A. Defazio, PhD thesis 2014, section 4.4 item 3, which calls the steps just-in-time.
//! The closed forms for l1 and bounds are not from the thesis.

mod composite;
mod powers;

use fenchel_optim::Separable;
use fenchel_optim::prox::{
    FusedLasso, GroupMax, GroupNorm, Interval, L1, L1Ball, L1L2, L2Ball, L2Norm, NonnegativeL1,
    Simplex, SortedL1, SparseGroupLasso, TotalVariation, WeightedL1, Zero, soft_threshold,
};

pub use composite::{Call, Composite, Lagged};
pub use powers::Powers;
use powers::Single;

/// Sums over coordinates: of l1 and l2 alone, and others.
macro_rules! separable {
    ($($regulariser:ty: $call:ident),*) => {$(
        impl Composite for $regulariser {
            #[inline(always)]
            fn coordinates(&self) -> Option<&impl Lagged> {
                Some(self)
            }

            fn dispatch<C: Call<Self>>(call: C) -> C::Solved {
                call.$call()
            }
        }
    )*};
}

separable!(
    Zero: elastic_net,
    L1: elastic_net,
    L1L2: elastic_net,
    Interval: general,
    WeightedL1: general,
    NonnegativeL1: general
);

impl Composite for GroupNorm {}
impl Composite for GroupMax {}
impl Composite for SparseGroupLasso {}
impl Composite for L2Norm {}
impl Composite for L1Ball {}
impl Composite for L2Ball {}
impl Composite for Simplex {}
impl Composite for SortedL1 {}
impl Composite for TotalVariation {}
impl Composite for FusedLasso {}

impl Lagged for Zero {
    #[inline(always)]
    fn catch_up(&self, _: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        powers.affine(x, g, m)
    }
}

impl Lagged for L1 {
    #[inline]
    fn catch_up(&self, _: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        catch_up_l1(x, g, self.strength, m, powers)
    }
}

impl Lagged for L1L2 {
    fn shrink(&self, step: f64) -> f64 {
        1.0 / (1.0 + step * self.l2)
    }

    #[inline]
    fn catch_up(&self, _: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        catch_up_l1(x, g, self.l1, m, powers)
    }
}

impl Lagged for Interval {
    /// The affine path is monotone, and a coordinate that leaves the interval stays at the bound. So one projection
    /// is enough.
    #[inline(always)]
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        if !powers.smooth() {
            return powers
                .follow(m, x, |x, s| self.prox_coordinate(c, s.rho * x - s.pull * g, s.step));
        }
        self.prox_coordinate(c, powers.affine(x, g, m), 1.0)
    }
}

impl Lagged for WeightedL1 {
    #[inline]
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        catch_up_l1(x, g, self.weights[c], m, powers)
    }
}

impl Lagged for NonnegativeL1 {
    /// A lower bound of 0 and the gradient `g + strength`. One projection is enough.
    #[inline(always)]
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        Interval::NONNEGATIVE.catch_up(c, x, g + self.strength, m, powers)
    }
}

/// `T^m(x)` for `T(x) = soft(rho x - drift g, drift l1)`.
///
/// On each side of 0 the map is affine, `x <- rho x - c` with `c = drift (g +- l1)`. Most paths stay at 0 or on their
/// side. The others are computed by [`cross_zero`].
#[inline]
fn catch_up_l1(x: f64, g: f64, l1: f64, m: u32, powers: &Powers) -> f64 {
    if !powers.smooth() {
        return alternate(x, g, l1, m, powers);
    }
    if x == 0.0 && g.abs() <= l1 {
        return 0.0;
    }
    // From 0 the path moves away from 0, to the side that -g points to.
    let side = if x == 0.0 { -g.signum() } else { x.signum() };
    let gradient = g + side * l1;
    let end = powers.affine(x, gradient, m);
    if side * gradient <= 0.0 || side * end > 0.0 {
        return end;
    }
    cross_zero(x, g, l1, m, powers)
}

/// Applies the steps one by one, if there is no closed form.
#[cold]
fn alternate(x: f64, g: f64, l1: f64, m: u32, powers: &Powers) -> f64 {
    powers.follow(m, x, |x, s| soft_threshold(s.rho * x - s.pull * g, s.drift * l1))
}

/// Applies the steps of a path that reaches 0. The number of steps before that has a closed form, the step across 0
/// is evaluated directly, and the remaining path starts at 0 or on the other side.
#[cold]
fn cross_zero(x: f64, g: f64, l1: f64, m: u32, powers: &Powers) -> f64 {
    // A run that diverges brings NaN here, which is on no side of 0.
    if x.is_nan() || g.is_nan() {
        return f64::NAN;
    }
    // Below a handful of steps the loop is cheaper.
    if m <= 3 {
        return alternate(x, g, l1, m, powers);
    }
    let side = x.signum();
    let gradient = g + side * l1;
    let stays = steps_before_zero(x, gradient, side, m, powers);
    let before = if stays > 0 { powers.affine_first(x, gradient, m, stays) } else { x };
    if stays == m {
        return before;
    }
    let s = powers.first_of(m - stays);
    let crossed = soft_threshold(s.rho * before - s.pull * g, s.drift * l1);
    catch_up_l1(crossed, g, l1, m - stays - 1, powers)
}

/// The largest `k <= m` such that `x` is still on its side of 0 after `k` affine steps, for a path that moves towards
/// 0.
fn steps_before_zero(x: f64, gradient: f64, side: f64, m: u32, powers: &Powers) -> u32 {
    let on_side = |k: u32| side * powers.affine_first(x, gradient, m, k) > 0.0;
    if powers.list.is_some() {
        // On one side the path is monotone: bisection.
        let (mut low, mut high) = (0, m + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if on_side(middle) { low = middle } else { high = middle }
        }
        return low;
    }
    let Single { rho, drift, .. } = powers.single;
    let c = drift * gradient;
    let guess = if rho == 1.0 {
        (x / c).floor()
    } else {
        // The affine map has its fixed point at -xi.
        let xi = c / (1.0 - rho);
        ((xi / (x + xi)).ln() / rho.ln()).floor()
    };
    let mut k = guess.clamp(0.0, f64::from(m)) as u32;
    // Rounding puts the guess off by one at most; the loops make sure in any case.
    while k > 0 && !on_side(k) {
        k -= 1;
    }
    while k < m && on_side(k + 1) {
        k += 1;
    }
    k
}

#[cfg(test)]
mod tests;
