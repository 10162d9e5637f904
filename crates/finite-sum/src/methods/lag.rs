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

use fenchel_optim::prox::{
    ElasticNet, FusedLasso, GroupLasso, GroupMax, Interval, L1, L1Ball, L2Ball, L2Norm,
    NonnegativeL1, Simplex, SparseGroupLasso, TotalVariation, WeightedL1, Zero, soft_threshold,
};
use fenchel_optim::{Regulariser, Separable};

/// The powers `rho^m` and the sums `S_m = 1 + rho + ... + rho^{m-1}` of the affine step `rho x - step g`; or, where
/// steps change on the way, their products and sums since the last flush.
#[derive(Debug, Clone)]
pub struct Powers {
    single: Single,
    l2: f64,
    /// `(rho^m, S_m)` for `m <= capacity`; empty if `rho = 1`, where they are `(1, m)`.
    table: Vec<(f64, f64)>,
    capacity: u32,
    /// The steps since the last flush, where they are not all the same.
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
    /// What the averaged gradient is multiplied by: the drift, but for a first pass over terms unseen.
    pull: f64,
}

impl Single {
    fn new(step: f64, l2: f64, shrink: f64, scale: f64) -> Self {
        let drift = shrink * step;
        Single { step, rho: shrink * (1.0 - step * l2), drift, pull: drift * scale }
    }
}

/// Steps that differ, and where each of them leads: `x_b = (C_b / C_a) x_a - g C_b (S_b - S_a)`.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    steps: Vec<Single>,
    /// `C_k`, the product of the first `k` factors `rho`, and `S_k = sum_{i<k} pull_i / C_{i+1}`.
    marks: Vec<(f64, f64)>,
    /// Whether some step takes the averaged gradient at another scale than the regulariser.
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

/// A product of factors below this is where a list ends, before its inverse loses digits.
const SMALLEST: f64 = 1e-3;

impl Powers {
    /// Tables for up to `capacity` missed steps. `shrink` is what the regulariser multiplies every step by.
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

    /// Steps that are reported one by one, up to `capacity` of them between two flushes.
    pub(crate) fn listed(l2: f64, capacity: u32) -> Self {
        let single = Single { step: f64::NAN, rho: 0.5, drift: 0.0, pull: 0.0 };
        let mut list = List::default();
        list.clear();
        Powers { single, l2, table: Vec::new(), capacity, list: Some(list) }
    }

    /// The step that was done just now; nothing to do where all are the same. Needs `step l2 < 1`.
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

    /// Forgets the steps that everybody has caught up with.
    pub(crate) fn clear(&mut self) {
        if let Some(list) = &mut self.list {
            list.clear();
        }
    }

    /// Whether everybody has to catch up before the next step.
    #[inline(always)]
    pub(crate) fn full(&self, now: u32) -> bool {
        now >= self.capacity
            || self.list.as_ref().is_some_and(|list| list.marks[list.steps.len()].0 < SMALLEST)
    }

    /// The first of the last `m` steps.
    #[inline(always)]
    fn first_of(&self, m: u32) -> Single {
        match &self.list {
            None => self.single,
            Some(list) => list.steps[list.steps.len() - m as usize],
        }
    }

    /// The last `m` steps one by one.
    pub(crate) fn follow(&self, m: u32, x: f64, step: impl Fn(f64, Single) -> f64) -> f64 {
        (0..m).fold(x, |x, k| step(x, self.first_of(m - k)))
    }

    /// Whether the closed forms of regularisers hold: not for uneven steps, nor where `rho <= 0`
    /// (a step beyond `1 / l2`) and the path alternates.
    #[inline(always)]
    fn smooth(&self) -> bool {
        self.single.rho > 0.0 && !self.list.as_ref().is_some_and(|list| list.uneven)
    }

    /// Largest number of missed steps.
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

    /// The first `k` of the last `m` steps, without a regulariser.
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
        powers.follow(m, x, |x, s| self.prox_coordinate(c, s.rho * x - s.pull * g, s.step))
    }
}

/// A regulariser that the incremental methods take: by lagged coordinates on sparse data if it is [`Lagged`], by whole
/// vectors, O(d) a step, if it ties coordinates together.
///
/// For a joint regulariser of your own: `type Coordinates = Zero`, and `coordinates` is `None`.
pub trait Composite: Regulariser {
    /// The regulariser seen coordinate by coordinate.
    type Coordinates: Lagged;

    /// Itself, if it is a sum over coordinates.
    fn coordinates(&self) -> Option<&Self::Coordinates>;
}

impl<R: Lagged> Composite for R {
    type Coordinates = R;

    #[inline(always)]
    fn coordinates(&self) -> Option<&R> {
        Some(self)
    }
}

macro_rules! joint {
    ($($regulariser:ty),*) => {$(
        impl Composite for $regulariser {
            type Coordinates = Zero;

            #[inline(always)]
            fn coordinates(&self) -> Option<&Zero> {
                None
            }
        }
    )*};
}

joint!(
    GroupLasso,
    GroupMax,
    SparseGroupLasso,
    L2Norm,
    L1Ball,
    L2Ball,
    Simplex,
    TotalVariation,
    FusedLasso
);

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
    /// A bound at 0 with the gradient `g + strength`: one clip is enough.
    #[inline(always)]
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        Interval::NONNEGATIVE.catch_up(c, x, g + self.strength, m, powers)
    }
}

/// `T^m(x)` for `T(x) = soft(rho x - drift g, drift l1)`.
///
/// On either side of 0 the map is affine, `x <- rho x - c` with `c = drift (g +- l1)`. Most paths rest at
/// 0 or stay on their side; the others are followed in [`cross_zero`].
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

/// The same step by step, where there is no closed form.
#[cold]
fn alternate(x: f64, g: f64, l1: f64, m: u32, powers: &Powers) -> f64 {
    powers.follow(m, x, |x, s| soft_threshold(s.rho * x - s.pull * g, s.drift * l1))
}

/// The same for a path that reaches 0: the number of steps before it has a closed form, the crossing step
/// is evaluated directly, and what is left starts at 0 or on the other side.
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

/// The largest `k <= m` for which `k` affine steps leave `x` on its side of 0, when it moves towards 0.
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
