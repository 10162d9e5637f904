//! Sparse steps in O(nnz): what happened to a coordinate while nobody looked.
//!
//! Between two rows that touch coordinate `c`, the averaged gradient `g = gbar_c` does not change, so
//! every missed step applied the same scalar map
//!
//! ```text
//! T(x) = prox( (1 - step l2) x - step g, step ).
//! ```
//!
//! When a row touches the coordinate again after `m` steps, `T^m` is applied at once, in constant time:
//! a geometric sum, for l1 with at most one change of sign on the way, for bounds with one clip
//! (Defazio's thesis, section 4.4 item 3, where the steps are called just-in-time; the closed forms for
//! l1 and bounds are this library's).

use fenchel_optim::Separable;
use fenchel_optim::prox::{ElasticNet, Interval, L1, Zero, soft_threshold};

/// The powers `rho^m` and the sums `S_m = 1 + rho + ... + rho^{m-1}` of one affine step `rho x - step g`.
#[derive(Debug, Clone)]
pub struct Powers {
    /// Step of the method.
    step: f64,
    /// `shrink * (1 - step l2)`
    rho: f64,
    /// `shrink * step`
    drift: f64,
    /// `(rho^m, S_m)` for `m <= capacity`; empty if `rho = 1`, where they are `(1, m)`.
    table: Vec<(f64, f64)>,
    capacity: u32,
}

impl Powers {
    /// Tables for up to `capacity` missed steps. `shrink` is what the regulariser multiplies every step by.
    pub fn new(step: f64, l2: f64, shrink: f64, capacity: u32) -> Self {
        let rho = shrink * (1.0 - step * l2);
        let mut table = Vec::new();
        if rho != 1.0 {
            // ln_1p and exp_m1 keep 1 - rho^m accurate when step * l2 is tiny.
            let decay = shrink.ln() + (-step * l2).ln_1p();
            table = if rho > 0.0 {
                let at = |m| {
                    let exponent = f64::from(m) * decay;
                    (exponent.exp(), exponent.exp_m1() / decay.exp_m1())
                };
                (0..=capacity).map(at).collect()
            } else {
                let next = |&(power, sum): &(f64, f64)| Some((power * rho, sum + power));
                std::iter::successors(Some((1.0, 0.0)), next).take(capacity as usize + 1).collect()
            };
        }
        Powers { step, rho, drift: shrink * step, table, capacity }
    }

    /// Largest number of missed steps.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// `(rho^m, S_m)`
    #[inline(always)]
    fn at(&self, m: u32) -> (f64, f64) {
        if self.rho == 1.0 { (1.0, f64::from(m)) } else { self.table[m as usize] }
    }

    /// `rho^m x - step g S_m`: `m` steps without a regulariser.
    #[inline(always)]
    fn affine(&self, x: f64, g: f64, m: u32) -> f64 {
        let (power, sum) = self.at(m);
        power * x - self.drift * g * sum
    }
}

/// A separable regulariser whose missed steps can be caught up with.
pub trait Lagged: Separable {
    /// Factor by which a proximal step multiplies everything (1 but for a quadratic part).
    fn shrink(&self, _step: f64) -> f64 {
        1.0
    }

    /// `T^m(x)` on coordinate `c`, with averaged gradient `g`.
    ///
    /// The default applies the steps one by one: right for every regulariser, O(m). A regulariser of
    /// your own that relies on it must leave [`shrink`](Lagged::shrink) at 1.
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        let mut x = x;
        for _ in 0..m {
            x = self.prox_coordinate(c, powers.rho * x - powers.drift * g, powers.step);
        }
        x
    }
}

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

impl Lagged for ElasticNet {
    fn shrink(&self, step: f64) -> f64 {
        1.0 / (1.0 + step * self.l2)
    }

    #[inline]
    fn catch_up(&self, _: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        catch_up_l1(x, g, self.l1, m, powers)
    }
}

impl Lagged for Interval {
    /// The affine path is monotone, and what leaves the interval stays at the bound: one clip is enough.
    #[inline(always)]
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        if powers.rho <= 0.0 {
            return stepwise(m, x, |x| {
                self.prox_coordinate(c, powers.rho * x - powers.drift * g, powers.step)
            });
        }
        self.prox_coordinate(c, powers.affine(x, g, m), powers.step)
    }
}

fn stepwise(m: u32, x: f64, step: impl Fn(f64) -> f64) -> f64 {
    (0..m).fold(x, |x, _| step(x))
}

/// `T^m(x)` for `T(x) = soft(rho x - drift g, drift l1)`.
///
/// On either side of 0 the map is affine, `x <- rho x - c` with `c = drift (g +- l1)`. Most paths rest at
/// 0 or stay on their side; the others are followed in [`cross_zero`].
#[inline]
fn catch_up_l1(x: f64, g: f64, l1: f64, m: u32, powers: &Powers) -> f64 {
    if x == 0.0 && g.abs() <= l1 {
        return 0.0;
    }
    // From 0 the path moves away from 0, to the side that -g points to.
    let side = if x == 0.0 { -g.signum() } else { x.signum() };
    let gradient = g + side * l1;
    if powers.rho > 0.0 {
        let end = powers.affine(x, gradient, m);
        if side * gradient <= 0.0 || side * end > 0.0 {
            return end;
        }
    }
    cross_zero(x, g, l1, m, powers)
}

/// The same for a path that reaches 0: the number of steps before it has a closed form, the crossing step
/// is evaluated directly, and what is left starts at 0 or on the other side.
#[cold]
fn cross_zero(x: f64, g: f64, l1: f64, m: u32, powers: &Powers) -> f64 {
    let one_step = |x: f64| soft_threshold(powers.rho * x - powers.drift * g, powers.drift * l1);
    // A run that diverges brings NaN here, which is on no side of 0.
    if x.is_nan() || g.is_nan() {
        return f64::NAN;
    }
    // Below a handful of steps the loop is cheaper; rho <= 0 (a step beyond 1 / l2) alternates in sign.
    if m <= 3 || powers.rho <= 0.0 {
        return stepwise(m, x, one_step);
    }
    let side = x.signum();
    let gradient = g + side * l1;
    let stays = steps_before_zero(x, gradient, side, m, powers);
    let before = if stays > 0 { powers.affine(x, gradient, stays) } else { x };
    if stays == m {
        return before;
    }
    catch_up_l1(one_step(before), g, l1, m - stays - 1, powers)
}

/// The largest `k <= m` for which `k` affine steps leave `x` on its side of 0, when it moves towards 0.
fn steps_before_zero(x: f64, gradient: f64, side: f64, m: u32, powers: &Powers) -> u32 {
    let c = powers.drift * gradient;
    let guess = if powers.rho == 1.0 {
        (x / c).floor()
    } else {
        // The affine map has its fixed point at -xi.
        let xi = c / (1.0 - powers.rho);
        ((xi / (x + xi)).ln() / powers.rho.ln()).floor()
    };
    let mut k = guess.clamp(0.0, f64::from(m)) as u32;
    let on_side = |k: u32| side * powers.affine(x, gradient, k) > 0.0;
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn looped<R: Separable>(regulariser: &R, step: f64, l2: f64, x: f64, g: f64, m: u32) -> f64 {
        stepwise(m, x, |x| regulariser.prox_coordinate(0, (1.0 - step * l2) * x - step * g, step))
    }

    fn check<R: Lagged>(regulariser: R, step: f64, l2: f64, x: f64, g: f64, m: u32) {
        let powers = Powers::new(step, l2, regulariser.shrink(step), 200);
        let closed = regulariser.catch_up(0, x, g, m, &powers);
        let loops = looped(&regulariser, step, l2, x, g, m);
        // Each looped step rounds a number of this size once.
        let size = x.abs() + f64::from(m) * step * (g.abs() + 1.0);
        assert!(
            (closed - loops).abs() <= 4.0 * f64::EPSILON * f64::from(m + 1) * size,
            "{} {closed:e} {loops:e}: step {step} l2 {l2} x {x} g {g} m {m}",
            R::NAME
        );
        // A zero may only turn into a number within rounding of the crossing.
        if loops == 0.0 {
            assert!(closed.abs() <= 1e-13 * size, "{closed:e} for an exact zero");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn closed_forms_equal_the_loop(
            step in 1e-3..1.5f64,
            l2 in prop_oneof![Just(0.0), 1e-12..1e-6f64, 1e-3..0.6f64],
            net in prop_oneof![Just(0.0), 1e-3..1.0f64],
            l1 in prop_oneof![Just(0.0), Just(0.5), 1e-3..1.0f64],
            x in prop_oneof![Just(0.0), -3.0..3.0f64, -1e-3..1e-3f64],
            g in prop_oneof![Just(0.0), Just(0.5), Just(-0.5), -2.0..2.0f64],
            m in 0u32..200,
        ) {
            check(Zero, step, l2, x, g, m);
            check(L1 { strength: l1 }, step, l2, x, g, m);
            check(ElasticNet { l1, l2: net }, step, l2, x, g, m);
            let (lower, upper) = (-0.3, 0.7);
            check(Interval { lower, upper }, step, l2, x.clamp(lower, upper), g, m);
            check(Interval::NONNEGATIVE, step, l2, x.abs(), g, m);
        }
    }

    #[test]
    fn a_step_beyond_one_over_l2_is_followed_one_by_one() {
        for m in 0..20 {
            check(Zero, 1.5, 0.9, 0.7, 0.1, m);
            check(L1 { strength: 0.2 }, 1.5, 0.9, 0.7, 0.1, m);
            check(Interval { lower: -0.2, upper: 0.4 }, 1.5, 0.9, 0.3, 0.1, m);
        }
    }
}
