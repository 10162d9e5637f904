//! Regularisers against their definitions.

use fenchel_optim::prox::{Interval, L1, L1L2, Zero, soft_threshold};
use fenchel_optim::{Regulariser, Separable};
use proptest::prelude::*;

const EPS: f64 = f64::EPSILON;

/// A test for one regulariser, to be run on every one.
trait Check {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R);
}

/// What the tests know about a regulariser without asking it.
trait Independent {
    /// `argmin_u h*(u) + (u - w)^2 / (2t)` of one coordinate, derived from `h*` by hand.
    fn prox_of_conjugate(&self, w: f64, t: f64) -> f64;
    /// Points where one coordinate of `h` has a kink or ends.
    fn corners(&self) -> Vec<f64>;
    /// The coefficient of `x^2 / 2` in `h`.
    fn bend(&self) -> f64;
}

/// `h*` is the indicator of 0.
impl Independent for Zero {
    fn prox_of_conjugate(&self, _: f64, _: f64) -> f64 {
        0.0
    }
    fn corners(&self) -> Vec<f64> {
        vec![]
    }
    fn bend(&self) -> f64 {
        0.0
    }
}

/// `h*` is the indicator of `[-strength, strength]`.
impl Independent for L1 {
    fn prox_of_conjugate(&self, w: f64, _: f64) -> f64 {
        w.max(-self.strength).min(self.strength)
    }
    fn corners(&self) -> Vec<f64> {
        vec![0.0]
    }
    fn bend(&self) -> f64 {
        0.0
    }
}

/// `h*(u) = max(|u| - l1, 0)^2 / (2 l2)`: beyond `l1`, `(|u| - l1) / l2 + (|u| - |w|) / t = 0`.
impl Independent for L1L2 {
    fn prox_of_conjugate(&self, w: f64, t: f64) -> f64 {
        if w.abs() <= self.l1 {
            return w;
        }
        w.signum() * (w.abs() * self.l2 + t * self.l1) / (self.l2 + t)
    }
    fn corners(&self) -> Vec<f64> {
        vec![0.0]
    }
    fn bend(&self) -> f64 {
        self.l2
    }
}

/// `h*(u) = max(lower u, upper u)`: two straight lines that meet in 0.
impl Independent for Interval {
    fn prox_of_conjugate(&self, w: f64, t: f64) -> f64 {
        if w > t * self.upper {
            w - t * self.upper
        } else if w < t * self.lower {
            w - t * self.lower
        } else {
            0.0
        }
    }
    fn corners(&self) -> Vec<f64> {
        [self.lower, self.upper].into_iter().filter(|b| b.is_finite()).collect()
    }
    fn bend(&self) -> f64 {
        0.0
    }
}

/// Parameters of every regulariser.
#[derive(Debug, Clone, Copy)]
struct Parameters {
    l1: f64,
    l2: f64,
    bounds: (f64, f64),
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let weight = || prop_oneof![Just(0.0), 0.01..3.0f64];
    let lower = prop_oneof![Just(f64::NEG_INFINITY), Just(0.0), -4.0..4.0f64];
    let width = prop_oneof![Just(f64::INFINITY), Just(0.0), 0.0..5.0f64];
    (weight(), weight(), lower, width, -4.0..4.0f64).prop_map(|(l1, l2, lower, width, upper)| {
        let bounds = if lower.is_finite() {
            (lower, lower + width)
        } else if width.is_finite() {
            (lower, upper)
        } else {
            (lower, width)
        };
        Parameters { l1, l2, bounds }
    })
}

fn every(p: Parameters, check: &mut impl Check) {
    check.check(Zero);
    check.check(L1 { strength: p.l1 });
    check.check(L1L2 { l1: p.l1, l2: p.l2 });
    let interval = Interval { lower: p.bounds.0, upper: p.bounds.1 };
    assert!(interval.check(1).is_ok(), "{interval:?}");
    check.check(interval);
}

fn vector(d: usize) -> impl Strategy<Value = Vec<f64>> {
    let entry = prop_oneof![4 => -6.0..6.0f64, 1 => Just(0.0), 1 => -1e3..1e3f64];
    proptest::collection::vec(entry, d)
}

fn prox<R: Regulariser>(h: &R, v: &[f64], step: f64) -> Vec<f64> {
    let mut x = v.to_vec();
    h.prox(&mut x, step);
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Equally spaced points of `[-reach, reach]`, the corners of `h` and whatever else; all in its domain.
fn grid<R: Regulariser + Independent>(h: &R, reach: f64, count: usize, extra: &[f64]) -> Vec<f64> {
    let spaced = (0..=count).map(|k| reach * (2.0 * k as f64 / count as f64 - 1.0));
    let all = spaced.chain(h.corners()).chain(extra.iter().copied());
    all.filter(|&x| h.value(&[x]).is_finite()).collect()
}

struct NonExpansive<'a>(&'a [f64], &'a [f64], f64);

impl Check for NonExpansive<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(a, b, step) = *self;
        let (p, q) = (prox(&h, a, step), prox(&h, b, step));
        let rounding = 8.0 * EPS * (largest(a) + largest(b) + step);
        // A strongly convex h contracts by 1 + step times its constant.
        let factor = 1.0 / (1.0 + step * h.bend());
        assert!(distance(&p, &q) <= factor * distance(a, b) + rounding, "{}", R::NAME);
        // Firmly: <p - q, a - b> >= ||p - q||^2.
        let (u, w): (Vec<f64>, Vec<f64>) = (0..a.len()).map(|c| (p[c] - q[c], a[c] - b[c])).unzip();
        let rounding = rounding * (largest(&w) + 1.0) * a.len() as f64;
        assert!(dot(&u, &w) >= dot(&u, &u) - rounding, "{}", R::NAME);
    }
}

struct Optimal<'a>(&'a [f64], &'a [f64], f64);

impl Check for Optimal<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(v, other, step) = *self;
        let p = prox(&h, v, step);
        assert!(h.value(&p).is_finite(), "{}: outside the domain", R::NAME);
        // The variational inequality `<v - p, z - p> <= step (h(z) - h(p))` for every z.
        let z = prox(&h, other, 1.0);
        let left: f64 = (0..v.len()).map(|c| (v[c] - p[c]) * (z[c] - p[c])).sum();
        let right = step * (h.value(&z) - h.value(&p));
        let sizes = (largest(v) + largest(&z)) * (largest(v) + largest(&z));
        let size = sizes * (1.0 + step) + step * (h.value(&z) + h.value(&p));
        assert!(left <= right + 16.0 * EPS * v.len() as f64 * size, "{}", R::NAME);
        // In one dimension against a grid: the objective is (1/step)-strongly convex, so that it grows
        // from its minimiser by at least the square of the distance.
        let (v, p) = (v[0], p[0]);
        let f = |z: f64| h.value(&[z]) + (z - v) * (z - v) / (2.0 * step);
        let points = grid(&h, 1.0 + v.abs(), 2000, &[v]);
        for z in points {
            let grown = f(p) + (z - p) * (z - p) / (2.0 * step);
            let rounding = 32.0 * EPS * (f(z) + f(p) + (v * v + z * z) / step);
            assert!(f(z) >= grown - rounding, "{}: {z} beats {p} at v = {v}", R::NAME);
        }
    }
}

struct Moreau<'a>(&'a [f64], f64);

impl Check for Moreau<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(v, step) = *self;
        for (&v, p) in v.iter().zip(prox(&h, v, step)) {
            let dual = step * h.prox_of_conjugate(v / step, 1.0 / step);
            let rounding = 16.0 * EPS * (v.abs() + p.abs() + dual.abs());
            assert!((p + dual - v).abs() <= rounding, "{}: {p} + {dual} != {v}", R::NAME);
        }
    }
}

struct Coordinates<'a>(&'a [f64], f64);

impl Check for Coordinates<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(v, step) = *self;
        let p = prox(&h, v, step);
        for (c, (&v, p)) in v.iter().zip(p).enumerate() {
            // Dividing and multiplying by the reciprocal differ by two roundings.
            let alone = h.prox_coordinate(c, v, step);
            assert!((alone - p).abs() <= 2.0 * EPS * p.abs(), "{}: {alone} {p}", R::NAME);
            assert!(!h.is_zero() || p == v);
        }
        // The value is a sum over coordinates.
        let x: Vec<f64> = prox(&h, v, step);
        let sum: f64 = x.iter().map(|&x| h.value(&[x])).sum();
        assert!((h.value(&x) - sum).abs() <= 16.0 * EPS * sum, "{}", R::NAME);
        assert_eq!(h.strong_convexity(), h.bend(), "{}", R::NAME);
    }
}

/// `conjugate` and its gradient with a quadratic term, so that the maximiser lies on the grid's reach.
struct Conjugate<'a>(&'a [f64], f64);

impl Check for Conjugate<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(v, l2) = *self;
        let curvature = l2 + h.bend();
        let gain = |v: f64, x: f64| v * x - h.value(&[x]) - 0.5 * l2 * x * x;
        let mut sum = 0.0;
        let mut grids = vec![];
        for (c, &v) in v.iter().enumerate() {
            // The maximiser of a strongly concave function lies within |v| / l2 of its corners and 0.
            let reach = 1.0 + v.abs() / l2;
            let spacing = 2.0 * reach / 4000.0;
            let points = grid(&h, reach, 4000, &[]);
            let best = points.iter().map(|&x| gain(v, x)).fold(f64::NEG_INFINITY, f64::max);
            let conjugate = h.conjugate(&[v], l2);
            let size = v * v / l2 + v.abs() * largest(&h.corners()) + 1.0;
            let size = size + l2 * largest(&h.corners()).powi(2);
            assert!(conjugate >= best - 32.0 * EPS * size, "{}: {conjugate} {best}", R::NAME);
            // Between two points without a corner in between, the function is a parabola of this
            // curvature: at most curvature * (spacing / 2)^2 / 2 above the better of the two.
            let missed = curvature * spacing * spacing / 8.0;
            assert!(conjugate <= best + missed + 32.0 * EPS * size, "{}: {conjugate}", R::NAME);
            // The gradient of the conjugate is the maximiser.
            let x = h.conjugate_gradient(c, v, l2);
            assert!((gain(v, x) - conjugate).abs() <= 32.0 * EPS * size, "{}: {x}", R::NAME);
            sum += conjugate;
            grids.push((grid(&h, reach, 60, &[x]), v));
        }
        let all = h.conjugate(v, l2);
        assert!((all - sum).abs() <= 16.0 * EPS * (sum.abs() + 1.0) * 1e3, "{}", R::NAME);
        // Two dimensions at once: no point of the plane beats it, and one comes up to it.
        let mut best = f64::NEG_INFINITY;
        let size =
            1.0 + grids.iter().map(|(_, v)| v * v / l2 + 8.0 * v.abs() + 64.0 * l2).sum::<f64>();
        for &x in &grids[0].0 {
            for &y in &grids[1].0 {
                let norm_squared = x * x + y * y;
                best = best.max(dot(v, &[x, y]) - h.value(&[x, y]) - 0.5 * l2 * norm_squared);
            }
        }
        assert!((all - best).abs() <= 32.0 * EPS * size, "{}: {all} {best}", R::NAME);
    }
}

struct FenchelYoung<'a>(&'a [f64], &'a [f64], f64, f64);

impl Check for FenchelYoung<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(v, w, l2, step) = *self;
        let x = prox(&h, w, step);
        let side =
            |v: &[f64]| h.value(&x) + 0.5 * l2 * dot(&x, &x) + h.conjugate(v, l2) - dot(v, &x);
        let size = |v: &[f64]| {
            let conjugate = h.conjugate(v, l2);
            let sizes = (largest(v) + 1.0) * (largest(&x) + 1.0) * v.len() as f64;
            sizes
                + h.value(&x)
                + l2 * dot(&x, &x)
                + if conjugate.is_finite() { conjugate.abs() } else { 0.0 }
        };
        assert!(side(v) >= -64.0 * EPS * size(v), "{}: {}", R::NAME, side(v));
        // Equality at a subgradient: (w - x) / step is one of h at x. Its rounding error, relative to
        // w / step, comes in twice divided by the curvature of the whole.
        if l2 > 0.0 {
            let u: Vec<f64> = x.iter().zip(w).map(|(x, w)| (w - x) / step + l2 * x).collect();
            let rounding = 64.0 * EPS * (largest(w) / step + 1.0);
            let bound = rounding * (largest(&x) + 1.0 + largest(&u) / l2) * u.len() as f64;
            let bound = bound + 64.0 * EPS * size(&u);
            assert!(side(&u).abs() <= bound, "{}: {} {bound}", R::NAME, side(&u));
        }
    }
}

struct DualScale<'a>(&'a [f64], f64);

impl Check for DualScale<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(v, l2) = *self;
        let scaled = |c: f64| v.iter().map(|v| c * v).collect::<Vec<f64>>();
        let c = h.dual_scale(v, l2);
        assert!((0.0..=1.0).contains(&c), "{}: {c}", R::NAME);
        let finite = h.conjugate(&scaled(c), l2);
        assert!(finite.is_finite(), "{}: {finite} at {c}", R::NAME);
        if c < 1.0 {
            let beyond = h.conjugate(&scaled((c * (1.0 + 1e-9) + 1e-9).min(1.0)), l2);
            assert_eq!(beyond, f64::INFINITY, "{}: {c} can be larger", R::NAME);
        }
        // Infinite or not is a matter of the growth of v x - h(x) - l2 x^2 / 2 on either side.
        let conjugate = h.conjugate(v, l2);
        let far = 1e9;
        let gain = |v: f64, x: f64| v * x - h.value(&[x]) - 0.5 * l2 * x * x;
        let unbounded = v.iter().any(|&v| gain(v, far).max(gain(v, -far)) > 1e-6 * far);
        assert_eq!(conjugate.is_infinite(), unbounded, "{}: {conjugate}", R::NAME);
    }
}

struct Zeros<'a>(&'a [f64], f64, f64);

impl Check for Zeros<'_> {
    fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
        let Self(v, step, l1) = *self;
        if R::NAME != L1::NAME && R::NAME != L1L2::NAME {
            return;
        }
        for (c, (&v, p)) in v.iter().zip(prox(&h, v, step)).enumerate() {
            // Exactly +0.0, not a rounding error.
            if v.abs() <= step * l1 {
                assert_eq!(p.to_bits(), 0, "{}: {p:e}", R::NAME);
                assert_eq!(h.prox_coordinate(c, v, step).to_bits(), 0);
            } else {
                assert_eq!(p.signum(), v.signum(), "{}: {p:e}", R::NAME);
            }
        }
    }
}

fn step() -> impl Strategy<Value = f64> {
    prop_oneof![1e-3..1.0f64, 1.0..50.0f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn proximal_operators_are_firmly_non_expansive(
        p in parameters(), a in vector(5), b in vector(5), step in step()
    ) {
        every(p, &mut NonExpansive(&a, &b, step));
    }

    #[test]
    fn proximal_points_are_minimisers(
        p in parameters(), v in vector(3), z in vector(3), step in step()
    ) {
        every(p, &mut Optimal(&v, &z, step));
    }

    #[test]
    fn moreau_decomposes_every_vector(p in parameters(), v in vector(5), step in step()) {
        every(p, &mut Moreau(&v, step));
    }

    #[test]
    fn one_coordinate_is_treated_like_all(p in parameters(), v in vector(5), step in step()) {
        every(p, &mut Coordinates(&v, step));
    }

    #[test]
    fn small_weights_become_exact_zeros(p in parameters(), v in vector(5), step in step()) {
        every(p, &mut Zeros(&v, step, p.l1));
        // On the threshold itself.
        every(p, &mut Zeros(&[step * p.l1, -step * p.l1, -0.0], step, p.l1));
    }

    #[test]
    fn fenchel_and_young_agree(
        p in parameters(), v in vector(4), w in vector(4), step in step(),
        l2 in prop_oneof![Just(0.0), 0.05..3.0f64],
    ) {
        every(p, &mut FenchelYoung(&v, &w, l2, step));
    }

    #[test]
    fn dual_points_are_scaled_into_the_domain_and_no_further(
        p in parameters(),
        v in proptest::collection::vec(prop_oneof![Just(0.0), 1e-3..6.0f64, -6.0..-1e-3f64], 1..6),
        l2 in prop_oneof![Just(0.0), 0.05..3.0f64],
    ) {
        every(p, &mut DualScale(&v, l2));
        // Far inside: nothing to do.
        let inside: Vec<f64> = v.iter().map(|v| v * p.l1 / 7.0).collect();
        prop_assert_eq!(L1 { strength: p.l1 }.dual_scale(&inside, l2), 1.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn conjugates_are_suprema(
        p in parameters(), v in -6.0..6.0f64, w in -6.0..6.0f64, l2 in 0.2..3.0f64
    ) {
        every(p, &mut Conjugate(&[v, w], l2));
    }
}

#[test]
fn known_values() {
    assert_eq!(prox(&L1 { strength: 2.0 }, &[3.0, -3.0, 0.5], 0.5), [2.0, -2.0, 0.0]);
    assert_eq!(prox(&L1L2 { l1: 2.0, l2: 2.0 }, &[3.0, -3.0, 0.5], 0.5), [1.0, -1.0, 0.0]);
    assert_eq!(
        prox(&Interval { lower: -1.0, upper: 2.0 }, &[3.0, -3.0, 0.5], 9.0),
        [2.0, -1.0, 0.5]
    );
    assert_eq!(prox(&Interval::NONNEGATIVE, &[3.0, -3.0], 9.0), [3.0, 0.0]);
    assert_eq!(prox(&Zero, &[3.0, -3.0], 9.0), [3.0, -3.0]);
    assert_eq!(L1L2 { l1: 2.0, l2: 3.0 }.value(&[1.0, -2.0]), 2.0 * 3.0 + 1.5 * 5.0);
    assert_eq!(Interval::NONNEGATIVE.value(&[0.0, -1e-9]), f64::INFINITY);
    // A dual point on the edge of the box of the l1 norm, and outside it.
    let l1 = L1 { strength: 0.5 };
    assert_eq!(l1.conjugate(&[0.5, -0.5], 0.0), 0.0);
    assert_eq!(l1.conjugate(&[0.5, -0.6], 0.0), f64::INFINITY);
    assert_eq!(l1.dual_scale(&[1.0, -2.0], 0.0), 0.25);
    // Towards a finite bound the conjugate is linear, towards an infinite one there is none.
    let upper = Interval { lower: f64::NEG_INFINITY, upper: 2.0 };
    assert_eq!(upper.conjugate(&[3.0, 0.0], 0.0), 6.0);
    assert_eq!(upper.dual_scale(&[3.0, -1e-3], 0.0), 0.0);
}

/// A NaN is the trace of an overflow; as a zero it would pass for a sparse weight or a feasible dual.
#[test]
fn a_nan_is_never_taken_for_a_zero() {
    struct Nan;
    impl Check for Nan {
        fn check<R: Separable + Independent + Copy>(&mut self, h: R) {
            assert!(prox(&h, &[1.0, f64::NAN], 0.5)[1].is_nan(), "{}", R::NAME);
            assert!(h.prox_coordinate(0, f64::NAN, 0.5).is_nan(), "{}", R::NAME);
            assert!(!h.conjugate(&[1.0, f64::NAN], 0.5).is_finite(), "{}", R::NAME);
            assert!(!h.conjugate(&[0.0, f64::NAN], 0.0).is_finite(), "{}", R::NAME);
        }
    }
    every(Parameters { l1: 2.0, l2: 0.0, bounds: (-1.0, 1.0) }, &mut Nan);
    every(Parameters { l1: 2.0, l2: 1.0, bounds: (0.0, f64::INFINITY) }, &mut Nan);
    assert!(soft_threshold(f64::NAN, 1.0).is_nan());
    assert_eq!(soft_threshold(f64::NEG_INFINITY, 1.0), f64::NEG_INFINITY);
}

#[test]
fn bad_parameters_are_named() {
    #[track_caller]
    fn refused(h: impl Regulariser, text: &str) {
        let error = h.check(3).unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
    assert!(Zero.check(3).is_ok());
    for (bad, shown) in
        [(-1.0, "-1"), (-1e-300, "-1e-300"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")]
    {
        refused(L1 { strength: bad }, &format!("l1 = {shown}"));
        refused(L1L2 { l1: bad, l2: 1.0 }, &format!("l1 = {shown}"));
        refused(L1L2 { l1: 1.0, l2: bad }, &format!("l2 = {shown}"));
    }
    assert!(L1 { strength: 0.0 }.check(3).is_ok());
    assert!(L1L2 { l1: 0.0, l2: 0.0 }.check(3).is_ok());
    let infinity = f64::INFINITY;
    for (lower, upper) in [
        (1.0, 0.0),
        (f64::NAN, 0.0),
        (0.0, f64::NAN),
        (infinity, infinity),
        (-infinity, -infinity),
        (infinity, -infinity),
    ] {
        refused(Interval { lower, upper }, "interval.");
    }
    for (lower, upper) in [(0.0, 0.0), (-infinity, infinity), (-infinity, -3.0), (2.0, infinity)] {
        assert!(Interval { lower, upper }.check(3).is_ok());
    }
}
