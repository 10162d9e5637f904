//! Regularisers with structure against their definitions: every proximal point by a subgradient that is
//! checked by hand, conjugates and dual scales by what they promise.

use fenchel_optim::Regulariser;
use fenchel_optim::prox::{
    FusedLasso, GroupMax, GroupNorm, Groups, L1Ball, L2Ball, L2Norm, NonnegativeL1, Simplex,
    SortedL1, SparseGroupLasso, TotalVariation, WeightedL1,
};
use proptest::prelude::*;

const EPS: f64 = f64::EPSILON;

/// What the tests know about a regulariser without asking it.
trait Independent: Regulariser {
    /// How far `u` is from being a subgradient of `h` at `p`, on the scale of `u`.
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64;
    /// Whether thresholding to 0 is part of the operator.
    const SPARSE: bool = true;
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn above(excess: f64) -> f64 {
    excess.max(0.0)
}

/// A norm: `u` lies in the unit ball of the dual norm, and attains `h(p) = u.p`. The second is measured
/// relative to the size of `p`.
fn of_a_norm(outside: f64, h: f64, p: &[f64], u: &[f64]) -> f64 {
    outside.max((h - dot(p, u)).abs() / (1.0 + norm(p)))
}

/// A set: `p` lies in it, and attains the support function, `sup u.z = u.p`.
fn of_a_set(inside: f64, support: f64, p: &[f64], u: &[f64]) -> f64 {
    assert_eq!(inside, 0.0, "outside the set");
    (support - dot(p, u)).abs() / (1.0 + norm(p))
}

impl Independent for WeightedL1 {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let one = |((&p, &u), &w): ((&f64, &f64), &f64)| {
            if p == 0.0 { above(u.abs() - w) } else { (u - w * p.signum()).abs() }
        };
        p.iter().zip(u).zip(&self.weights).map(one).fold(0.0, f64::max)
    }
}

impl Independent for NonnegativeL1 {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let one = |(&p, &u): (&f64, &f64)| {
            assert!(p >= 0.0);
            if p == 0.0 { above(u - self.strength) } else { (u - self.strength).abs() }
        };
        p.iter().zip(u).map(one).fold(0.0, f64::max)
    }
}

fn soft(v: f64, t: f64) -> f64 {
    v.signum() * above(v.abs() - t)
}

fn outside_groups(groups: &Groups, strength: f64, l1: f64, u: &[f64]) -> f64 {
    let mut free: Vec<bool> = vec![true; u.len()];
    let mut worst = 0.0f64;
    for (group, w) in groups.iter() {
        let inner: Vec<f64> = group.iter().map(|&c| soft(u[c], l1)).collect();
        worst = worst.max(norm(&inner) - strength * w);
        group.iter().for_each(|&c| free[c] = false);
    }
    let free = (0..u.len()).filter(|&c| free[c]).map(|c| u[c].abs() - l1);
    free.fold(worst, f64::max)
}

impl Independent for GroupNorm {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let outside = outside_groups(&self.groups, self.strength, 0.0, u);
        let h = self.groups.iter().map(|(group, w)| {
            self.strength * w * norm(&group.iter().map(|&c| p[c]).collect::<Vec<_>>())
        });
        of_a_norm(outside, h.sum(), p, u)
    }
}

impl Independent for SparseGroupLasso {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let outside = outside_groups(&self.groups, self.group, self.l1, u);
        let h = self.groups.iter().map(|(group, w)| {
            self.group * w * norm(&group.iter().map(|&c| p[c]).collect::<Vec<_>>())
        });
        let h = h.sum::<f64>() + self.l1 * p.iter().map(|p| p.abs()).sum::<f64>();
        of_a_norm(outside, h, p, u)
    }
}

impl Independent for GroupMax {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let (mut outside, mut h) = (0.0f64, 0.0);
        let mut free = vec![true; u.len()];
        for (group, w) in self.groups.iter() {
            let size: f64 = group.iter().map(|&c| u[c].abs()).sum();
            outside = outside.max(size - self.strength * w);
            h += self.strength * w * group.iter().map(|&c| p[c].abs()).fold(0.0, f64::max);
            group.iter().for_each(|&c| free[c] = false);
        }
        let free = (0..u.len()).filter(|&c| free[c]).map(|c| u[c].abs());
        of_a_norm(free.fold(outside, f64::max), h, p, u)
    }
}

/// The dual ball by all subsets of coordinates; the norm as a sum of the largest sums of `k` entries, by all subsets.
impl Independent for SortedL1 {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let (d, mut outside) = (p.len(), 0.0f64);
        let mut largest = vec![0.0f64; d + 1];
        for subset in 1..1usize << d {
            let sum = |x: &[f64]| -> f64 {
                (0..d).filter(|c| subset >> c & 1 == 1).map(|c| x[c].abs()).sum()
            };
            let k = subset.count_ones() as usize;
            outside = outside.max(sum(u) - self.weights[..k].iter().sum::<f64>());
            largest[k] = largest[k].max(sum(p));
        }
        let weight = |k: usize| self.weights.get(k).copied().unwrap_or(0.0);
        let h = (1..=d).map(|k| (weight(k - 1) - weight(k)) * largest[k]).sum();
        of_a_norm(outside, h, p, u)
    }
}

impl Independent for L2Norm {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        of_a_norm(norm(u) - self.strength, self.strength * norm(p), p, u)
    }
}

impl Independent for L2Ball {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let inside = above(norm(p) - self.radius * (1.0 + 1e-14));
        of_a_set(inside, self.radius * norm(u), p, u)
    }
    const SPARSE: bool = false;
}

impl Independent for L1Ball {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let inside = above(p.iter().map(|p| p.abs()).sum::<f64>() - self.radius * (1.0 + 1e-13));
        of_a_set(inside, self.radius * u.iter().fold(0.0f64, |m, u| m.max(u.abs())), p, u)
    }
    const SPARSE: bool = false;
}

impl Independent for Simplex {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        assert!(p.iter().all(|&p| p >= 0.0));
        let inside = above((p.iter().sum::<f64>() - self.radius).abs() - self.radius * 1e-13);
        of_a_set(inside, self.radius * u.iter().copied().fold(f64::NEG_INFINITY, f64::max), p, u)
    }
    const SPARSE: bool = false;
}

/// `h(x) = tv |Dx|_1`: `u = D'z` with `|z| <= tv`, that is, sums from the left in `[-tv, tv]` that end in 0.
impl Independent for TotalVariation {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        let (mut sum, mut outside) = (0.0f64, 0.0f64);
        for u in &u[..u.len() - 1] {
            sum += u;
            outside = outside.max(sum.abs() - self.strength);
        }
        outside = outside.max((sum + u[u.len() - 1]).abs());
        let h: f64 = self.strength * p.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f64>();
        of_a_norm(outside, h, p, u)
    }
    const SPARSE: bool = false;
}

/// `u = a + D'z` with `|a| <= l1`, `|z| <= tv`: the sums of `a` from the left move by at most `l1` a step and
/// stay within `tv` of the sums of `u`, with which they begin and end. The reachable sums are intervals.
impl Independent for FusedLasso {
    fn subgradient_error(&self, p: &[f64], u: &[f64]) -> f64 {
        // The smallest violation for which a path exists, by bisection.
        let exists = |slack: f64| {
            let (mut low, mut high, mut sum) = (0.0f64, 0.0f64, 0.0);
            for (c, u) in u.iter().enumerate() {
                sum += u;
                let free = if c + 1 == p.len() { slack } else { self.tv + slack };
                low = (low - self.l1).max(sum - free);
                high = (high + self.l1).min(sum + free);
                if low > high {
                    return false;
                }
            }
            true
        };
        let (mut low, mut high) = (0.0, 1.0 + norm(u) * (u.len() as f64));
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if exists(middle) { high = middle } else { low = middle }
        }
        let h: f64 = self.tv * p.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f64>();
        of_a_norm(high, h + self.l1 * p.iter().map(|p| p.abs()).sum::<f64>(), p, u)
    }
}

trait Check {
    fn check<R: Independent>(&mut self, h: &R);
}

#[derive(Debug, Clone)]
struct Parameters {
    weights: Vec<f64>,
    groups: Vec<Vec<usize>>,
    l1: f64,
    other: f64,
    radius: f64,
}

const D: usize = 7;

fn parameters() -> impl Strategy<Value = Parameters> {
    let weight = || prop_oneof![Just(0.0), 0.01..3.0f64];
    (
        proptest::collection::vec(weight(), D),
        // Each coordinate in one of three groups, or in none.
        proptest::collection::vec(0usize..4, D),
        weight(),
        weight(),
        0.01..5.0f64,
    )
        .prop_map(|(weights, places, l1, other, radius)| {
            let group = |g| (0..D).filter(|&c| places[c] == g).collect::<Vec<usize>>();
            let groups = (0..3).map(group).filter(|g| !g.is_empty()).collect();
            Parameters { weights, groups, l1, other, radius }
        })
}

fn every(p: &Parameters, check: &mut impl Check) {
    let groups = Groups::new(D, &p.groups).unwrap();
    let weights: Vec<f64> = (0..groups.len()).map(|g| 0.5 + g as f64).collect();
    let weighted = groups.clone().with_weights(&weights).unwrap();
    check.check(&WeightedL1 { weights: p.weights.clone() });
    check.check(&NonnegativeL1 { strength: p.l1 });
    check.check(&GroupNorm { groups, strength: p.other });
    check.check(&GroupMax { groups: weighted.clone(), strength: p.other });
    check.check(&SparseGroupLasso { groups: weighted, l1: p.l1, group: p.other });
    let mut falling = p.weights.clone();
    falling.sort_by(|a, b| b.total_cmp(a));
    check.check(&SortedL1 { weights: falling });
    check.check(&L2Norm { strength: p.other });
    check.check(&L2Ball { radius: p.radius });
    check.check(&L1Ball { radius: p.radius });
    check.check(&Simplex { radius: p.radius });
    check.check(&TotalVariation { strength: p.other });
    check.check(&FusedLasso { l1: p.l1, tv: p.other });
}

fn prox<R: Regulariser>(h: &R, v: &[f64], step: f64) -> Vec<f64> {
    let mut x = v.to_vec();
    h.prox(&mut x, step);
    x
}

fn vector(d: usize) -> impl Strategy<Value = Vec<f64>> {
    let entry = prop_oneof![4 => -6.0..6.0f64, 1 => Just(0.0), 1 => Just(1.5), 1 => -1e3..1e3f64];
    proptest::collection::vec(entry, d)
}

struct Optimal<'a>(&'a [f64], f64);

impl Check for Optimal<'_> {
    fn check<R: Independent>(&mut self, h: &R) {
        let Self(v, step) = *self;
        let p = prox(h, v, step);
        let u: Vec<f64> = v.iter().zip(&p).map(|(v, p)| (v - p) / step).collect();
        let error = h.subgradient_error(&p, &u);
        let rounding = 64.0 * EPS * (norm(v) / step + norm(&u) + 1.0) * v.len() as f64;
        assert!(error <= rounding, "{}: {error:e} > {rounding:e}, {v:?} -> {p:?}", R::NAME);
        // Fenchel and Young, with equality: h(p) + h*(u) = u.p.
        let conjugate = h.conjugate(&u, 0.0);
        if conjugate.is_finite() {
            let off = h.value(&p) + conjugate - dot(&u, &p);
            assert!(off.abs() <= rounding * (1.0 + norm(&p)), "{}: {off:e}", R::NAME);
        }
        // With a quadratic term: (h + l2/2 ||.||^2)* at u + l2 p.
        let l2 = 0.7;
        let w: Vec<f64> = u.iter().zip(&p).map(|(u, p)| u + l2 * p).collect();
        let off = h.value(&p) + 0.5 * l2 * dot(&p, &p) + h.conjugate(&w, l2) - dot(&w, &p);
        let bound = rounding * (1.0 + norm(&p) + norm(&w) / l2);
        assert!(off.abs() <= bound, "{}: {off:e} {bound:e}", R::NAME);
    }
}

/// A regulariser of which only value and proximal operator are known.
struct Bare<'a, R>(&'a R);

impl<R: Regulariser> Regulariser for Bare<'_, R> {
    const NAME: &'static str = R::NAME;
    fn check(&self, columns: usize) -> Result<(), fenchel_linalg::Invalid> {
        self.0.check(columns)
    }
    fn value(&self, x: &[f64]) -> f64 {
        self.0.value(x)
    }
    fn prox(&self, x: &mut [f64], step: f64) {
        self.0.prox(x, step);
    }
}

/// The conjugate with an l2 term that follows from the proximal operator is the one that is implemented.
struct Conjugates<'a>(&'a [f64], f64);

impl Check for Conjugates<'_> {
    fn check<R: Independent>(&mut self, h: &R) {
        let Self(v, l2) = *self;
        let (implemented, derived) = (h.conjugate(v, l2), Bare(h).conjugate(v, l2));
        let size = 1.0 + implemented.abs() + dot(v, v) / l2;
        let off = (implemented - derived).abs();
        assert!(off <= 64.0 * EPS * v.len() as f64 * size, "{}: {off:e}", R::NAME);
        assert_eq!((Bare(h).dual_scale(v, l2), Bare(h).dual_scale(v, 0.0)), (1.0, 0.0));
        assert!(Bare(h).conjugate(v, 0.0).is_infinite() && !Bare(h).coercive());
    }
}

struct NonExpansive<'a>(&'a [f64], &'a [f64], f64);

impl Check for NonExpansive<'_> {
    fn check<R: Independent>(&mut self, h: &R) {
        let Self(a, b, step) = *self;
        let (p, q) = (prox(h, a, step), prox(h, b, step));
        let difference =
            |x: &[f64], y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| x - y).collect() };
        let (u, w) = (difference(&p, &q), difference(a, b));
        // Firmly: <p - q, a - b> >= ||p - q||^2.
        let rounding = 64.0 * EPS * (norm(a) + norm(b) + 1.0) * (norm(&w) + 1.0);
        assert!(dot(&u, &w) >= dot(&u, &u) - rounding, "{}", R::NAME);
    }
}

/// The conjugate with a quadratic term is no smaller than what any point gives.
struct Young<'a>(&'a [f64], &'a [f64], f64);

impl Check for Young<'_> {
    fn check<R: Independent>(&mut self, h: &R) {
        let Self(v, w, l2) = *self;
        let x = prox(h, w, 1.0);
        let young = h.value(&x) + 0.5 * l2 * dot(&x, &x) + h.conjugate(v, l2) - dot(v, &x);
        let size = (1.0 + norm(v) + norm(&x)) * (1.0 + norm(v) / l2.max(0.05) + norm(&x));
        assert!(young >= -64.0 * EPS * size, "{}: {young:e}", R::NAME);
        assert_eq!(h.strong_convexity(), 0.0);
    }
}

/// The scaled point is in the domain of the conjugate, and no larger multiple is. Whether it is, is asked of
/// the proximal operator: for a norm, `prox(u, 1) = 0` means that `u` lies in the dual unit ball.
struct Scaled<'a>(&'a [f64]);

impl Check for Scaled<'_> {
    fn check<R: Independent>(&mut self, h: &R) {
        let v = self.0;
        let times = |c: f64| -> Vec<f64> { v.iter().map(|v| c * v).collect() };
        assert_eq!(h.dual_scale(v, 0.3), 1.0, "{}", R::NAME);
        let c = h.dual_scale(v, 0.0);
        assert!((0.0..=1.0).contains(&c), "{}: {c}", R::NAME);
        let at = h.conjugate(&times(c), 0.0);
        assert!(at.is_finite(), "{}: {at} at {c} {v:?}", R::NAME);
        if h.coercive() {
            assert!(c > 0.0, "{}: {v:?}", R::NAME);
        }
        if h.value(&vec![1e-3; v.len()]).is_infinite() || h.conjugate(&times(1e9), 0.0).is_finite()
        {
            return; // a set
        }
        let size = |c: f64| norm(&prox(h, &times(c), 1.0));
        assert!(size(c) <= 1e-12 * (1.0 + norm(&times(c))), "{}: {c} is too large", R::NAME);
        if c < 1.0 {
            let larger = c * (1.0 + 1e-6) + 1e-9;
            assert!(size(larger) > 0.0, "{}: {c} could be larger", R::NAME);
            assert_eq!(h.conjugate(&times(larger), 0.0), f64::INFINITY, "{}", R::NAME);
        }
    }
}

fn step() -> impl Strategy<Value = f64> {
    prop_oneof![1e-3..1.0f64, 1.0..50.0f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn proximal_points_have_their_subgradient(p in parameters(), v in vector(D), step in step()) {
        every(&p, &mut Optimal(&v, step));
    }

    #[test]
    fn proximal_operators_are_firmly_non_expansive(
        p in parameters(), a in vector(D), b in vector(D), step in step()
    ) {
        every(&p, &mut NonExpansive(&a, &b, step));
    }

    #[test]
    fn conjugates_are_upper_bounds(
        p in parameters(), v in vector(D), w in vector(D), l2 in 0.05..3.0f64
    ) {
        every(&p, &mut Young(&v, &w, l2));
        every(&p, &mut Conjugates(&v, l2));
        every(&p, &mut Young(&v, &w, 0.0));
    }

    #[test]
    fn dual_points_are_scaled_into_the_domain_and_no_further(
        p in parameters(),
        v in proptest::collection::vec(prop_oneof![Just(0.0), 1e-2..6.0f64, -6.0..-1e-2f64], D),
    ) {
        every(&p, &mut Scaled(&v));
        let sum: f64 = v.iter().sum();
        let centred: Vec<f64> = v.iter().map(|v| v - sum / D as f64).collect();
        // Sums of 0 up to rounding are feasible for the total variation.
        let tv = TotalVariation { strength: 1e9 };
        prop_assert_eq!(tv.conjugate(&centred, 0.0), 0.0);
    }

    /// Against all patterns of jumps: each stretch of a pattern is its mean, moved by its ends.
    #[test]
    fn total_variation_agrees_with_enumeration(
        v in vector(6), strength in 0.01..4.0f64, step in step(),
    ) {
        let h = TotalVariation { strength };
        let p = prox(&h, &v, step);
        let value = |x: &[f64]| {
            let gap: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x - v).collect();
            h.value(x) + dot(&gap, &gap) / (2.0 * step)
        };
        let lambda = step * strength;
        let mut best = f64::INFINITY;
        let mut argmin = vec![];
        for pattern in 0..3usize.pow(5) {
            let jumps: Vec<f64> =
                (0..5).map(|k| (pattern / 3usize.pow(k) % 3) as f64 - 1.0).collect();
            let mut x = vec![];
            while x.len() < 6 {
                let start = x.len();
                let end = (start..5).find(|&c| jumps[c] != 0.0).map_or(6, |c| c + 1);
                let left = if start > 0 { jumps[start - 1] } else { 0.0 };
                let right = if end < 6 { jumps[end - 1] } else { 0.0 };
                let sum: f64 = v[start..end].iter().sum();
                x.resize(end, (sum + lambda * (right - left)) / (end - start) as f64);
            }
            if value(&x) < best {
                best = value(&x);
                argmin = x;
            }
        }
        let size = 1.0 + norm(&v);
        for (a, b) in p.iter().zip(&argmin) {
            prop_assert!((a - b).abs() <= 1e-6 * size, "{p:?} {argmin:?}");
        }
        prop_assert!(value(&p) <= best + 16.0 * EPS * (best + size * size / step));
    }
}

/// Long signals, among them those on which quadratic algorithms take their worst case.
#[test]
fn long_signals_are_optimal_too() {
    let d = 5000;
    let signals: [fn(usize) -> f64; 5] = [
        |c| (c as f64 * 12.9898).sin() * 43758.5453 % 1.0,
        |c| (c as f64 / 500.0).sin() + if c % 2 == 0 { 0.3 } else { -0.3 },
        |c| (c as f64 / 5000.0).powi(2),
        |c| -(c as f64).sqrt(),
        |c| if c < 2500 { 0.0 } else { 1.0 },
    ];
    for signal in signals {
        let v: Vec<f64> = (0..d).map(signal).collect();
        for strength in [1e-3, 0.3, 20.0, 1e5] {
            let h = TotalVariation { strength };
            let p = prox(&h, &v, 1.0);
            let u: Vec<f64> = v.iter().zip(&p).map(|(v, p)| v - p).collect();
            let error = h.subgradient_error(&p, &u);
            // Sums of 5000 entries reach 1e5: the check itself rounds by 1e-10 or less.
            assert!(error <= 1e-10 * (1.0 + strength), "{error:e} at {strength}");
            let h = FusedLasso { l1: 0.2, tv: strength };
            let p = prox(&h, &v, 1.0);
            let u: Vec<f64> = v.iter().zip(&p).map(|(v, p)| v - p).collect();
            let error = h.subgradient_error(&p, &u);
            assert!(error <= 1e-10 * (1.0 + strength), "fused: {error:e} at {strength}");
        }
    }
}

/// Whole groups and single weights become exact zeros; stretches become exactly equal.
#[test]
fn structure_is_exact() {
    struct Exact;
    impl Check for Exact {
        fn check<R: Independent>(&mut self, h: &R) {
            if !R::SPARSE || !h.coercive() {
                return;
            }
            let p = prox(h, &[1e-3, -2e-3, 3e-3, 1e-4, 0.0, -1e-3, 1e-3], 100.0);
            assert!(p.iter().all(|p| p.to_bits() == 0), "{}: {p:?}", R::NAME);
        }
    }
    let groups = vec![vec![0, 1, 2], vec![3, 4], vec![5, 6]];
    every(
        &Parameters { weights: vec![1.0; D], groups, l1: 1.0, other: 1.0, radius: 1.0 },
        &mut Exact,
    );
    let p = prox(&TotalVariation { strength: 0.5 }, &[0.1, 0.3, 0.2, 5.4, 5.3, 5.5], 1.0);
    assert!(p[0] == p[1] && p[1] == p[2] && p[3] == p[4] && p[4] == p[5] && p[3] > p[2]);
}

#[test]
fn a_nan_is_never_taken_for_a_zero() {
    struct Nan;
    impl Check for Nan {
        fn check<R: Independent>(&mut self, h: &R) {
            let mut v = [0.1; D];
            v[1] = f64::NAN;
            assert!(prox(h, &v, 0.5)[1].is_nan(), "{}", R::NAME);
            assert!(!h.conjugate(&v, 0.5).is_finite(), "{}", R::NAME);
            assert!(!h.conjugate(&v, 0.0).is_finite(), "{}", R::NAME);
        }
    }
    let groups = vec![vec![0, 1, 2], vec![3, 4]];
    every(
        &Parameters { weights: vec![1.0; D], groups, l1: 1.0, other: 1.0, radius: 1.0 },
        &mut Nan,
    );
}
