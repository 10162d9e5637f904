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

use fenchel_optim::prox::{Interval, L1, L1L2, NonnegativeL1, WeightedL1, Zero, soft_threshold};
use fenchel_optim::{Regulariser, Separable};

/// The powers `rho^m` and the sums `S_m = 1 + rho + ... + rho^{m-1}` of the affine step `rho x - step g`. If the step
/// size changes, it contains the products and sums since the last flush instead.
#[derive(Debug, Clone)]
pub struct Powers {
    single: Single,
    l2: f64,
    /// `(rho^m, S_m)` for `m <= capacity`; empty if `rho = 1`, where they are `(1, m)`.
    table: Vec<(f64, f64)>,
    capacity: u32,
    /// The steps since the last flush, if they are not all the same.
    list: Option<List>,
}

/// One step `prox(rho x - pull g, step)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Single {
    /// Step of the method.
    pub(crate) step: f64,
    /// `shrink * (1 - step l2)`
    rho: f64,
    /// `shrink * step`
    drift: f64,
    /// The factor of the averaged gradient. It is the drift, except in a first pass over terms that are introduced
    /// one by one.
    pull: f64,
}

impl Single {
    fn new(step: f64, l2: f64, shrink: f64, scale: f64) -> Self {
        let drift = shrink * step;
        Single { step, rho: shrink * (1.0 - step * l2), drift, pull: drift * scale }
    }
}

/// Steps that differ from each other. From step `a` to step `b`, the coordinate becomes `x_b = (C_b / C_a) x_a - g
/// C_b (S_b - S_a)`.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    steps: Vec<Single>,
    /// `C_k`, the product of the first `k` factors `rho`, and `S_k = sum_{i<k} pull_i / C_{i+1}`.
    marks: Vec<(f64, f64)>,
    /// Whether some step multiplies the averaged gradient by another factor than the regulariser's.
    uneven: bool,
}

impl List {
    fn clear(&mut self) {
        self.steps.clear();
        self.marks.clear();
        self.marks.push((1.0, 0.0));
        self.uneven = false;
    }
}

/// A list ends when the product of its factors is below this, because its inverse would lose digits: three of sixteen, by judgement.
const SMALLEST: f64 = 1e-3;

impl Powers {
    /// Tables for up to `capacity` delayed steps. `shrink` is the factor by which the regulariser multiplies every
    /// step.
    pub fn new(step: f64, l2: f64, shrink: f64, capacity: u32) -> Self {
        let single = Single::new(step, l2, shrink, 1.0);
        let rho = single.rho;
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
        Powers { single, l2, table, capacity, list: None }
    }

    /// A list of steps that are reported one by one, up to `capacity` of them between two flushes.
    pub(crate) fn listed(l2: f64, capacity: u32) -> Self {
        let single = Single { step: f64::NAN, rho: 0.5, drift: 0.0, pull: 0.0 };
        let mut list = List::default();
        list.clear();
        Powers { single, l2, table: Vec::new(), capacity, list: Some(list) }
    }

    /// Records the step that was just made. It does nothing if all steps are the same. Requires `step l2 < 1`.
    #[inline(always)]
    pub(crate) fn push(&mut self, step: f64, shrink: f64, scale: f64) {
        if let Some(list) = &mut self.list {
            let single = Single::new(step, self.l2, shrink, scale);
            let (power, sum) = list.marks[list.steps.len()];
            let power = power * single.rho;
            list.marks.push((power, sum + single.pull / power));
            list.uneven |= scale != 1.0;
            list.steps.push(single);
        }
    }

    /// Clears the list, after all coordinates are up to date.
    pub(crate) fn clear(&mut self) {
        if let Some(list) = &mut self.list {
            list.clear();
        }
    }

    /// Whether all coordinates have to be brought up to date before the next step.
    #[inline(always)]
    pub(crate) fn full(&self, now: u32) -> bool {
        now >= self.capacity
            || self.list.as_ref().is_some_and(|list| list.marks[list.steps.len()].0 < SMALLEST)
    }

    /// The index of the first of the last `m` steps.
    #[inline(always)]
    fn first_of(&self, m: u32) -> Single {
        match &self.list {
            None => self.single,
            Some(list) => list.steps[list.steps.len() - m as usize],
        }
    }

    /// Applies the last `m` steps one by one.
    pub(crate) fn follow(&self, m: u32, x: f64, step: impl Fn(f64, Single) -> f64) -> f64 {
        (0..m).fold(x, |x, k| step(x, self.first_of(m - k)))
    }

    /// Whether the closed forms of regularisers are valid. They are not for steps with different factors of the
    /// averaged gradient, nor for `rho <= 0` (a step size of at least `1 / l2`), where the path alternates in sign.
    #[inline(always)]
    fn smooth(&self) -> bool {
        self.single.rho > 0.0 && !self.list.as_ref().is_some_and(|list| list.uneven)
    }

    /// Largest number of delayed steps.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// `(rho^m, S_m)`
    #[inline(always)]
    fn at(&self, m: u32) -> (f64, f64) {
        if self.single.rho == 1.0 { (1.0, f64::from(m)) } else { self.table[m as usize] }
    }

    /// `rho^m x - step g S_m`: `m` steps without a regulariser.
    #[inline(always)]
    fn affine(&self, x: f64, g: f64, m: u32) -> f64 {
        self.affine_first(x, g, m, m)
    }

    /// Applies the first `k` of the last `m` steps, without a regulariser.
    #[inline(always)]
    fn affine_first(&self, x: f64, g: f64, m: u32, k: u32) -> f64 {
        if let Some(list) = &self.list {
            let from = list.steps.len() - m as usize;
            let ((power, sum), (end, total)) = (list.marks[from], list.marks[from + k as usize]);
            return end / power * x - g * (end * (total - sum));
        }
        let (power, sum) = self.at(k);
        power * x - self.single.drift * g * sum
    }
}

/// A separable regulariser that can apply delayed steps.
pub trait Lagged: Separable {
    /// The factor by which a proximal step multiplies every coordinate. It is 1 unless the regulariser has a
    /// quadratic part.
    fn shrink(&self, _step: f64) -> f64 {
        1.0
    }

    /// Applies `T^m` to `x` at coordinate `c`, with averaged gradient `g`.
    ///
    /// The default applies the steps one by one, which is correct for every regulariser and costs O(m). If your own
    /// regulariser relies on it, [`shrink`](Lagged::shrink) must stay 1.
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        powers.follow(m, x, |x, s| self.prox_coordinate(c, s.rho * x - s.pull * g, s.step))
    }
}

/// A regulariser that the incremental methods accept. If it is [`Lagged`], sparse data are updated by delayed steps.
/// If it is not separable, every step updates the whole vector, which costs O(d).
///
/// For your own regulariser that is not separable, set `type Coordinates = Zero` and let `coordinates` return `None`. With
/// `impl Automatic for MyPenalty {}` ([`Automatic`](crate::Automatic)) every method that takes a group norm takes it.
pub trait Composite: Regulariser {
    /// The type of the regulariser as a sum over coordinates.
    type Coordinates: Lagged;

    /// Returns the regulariser itself if it is a sum over coordinates.
    fn coordinates(&self) -> Option<&Self::Coordinates>;
}

impl<R: Lagged> Composite for R {
    type Coordinates = R;

    #[inline(always)]
    fn coordinates(&self) -> Option<&R> {
        Some(self)
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
