//! Each projection against its definition: known points, exhaustive search in small dimension, and
//! the properties that characterise a projection.

use super::*;
use crate::Invalid;
use proptest::prelude::*;

type Projection = fn(&mut [f64]) -> Result<(), Invalid>;

fn projected(project: impl Fn(&mut [f64]) -> Result<(), Invalid>, v: &[f64]) -> Vec<f64> {
    let mut z = v.to_vec();
    project(&mut z).unwrap();
    z
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[test]
fn known_points() {
    let check = |project: Projection, v: &[f64], expected: &[f64]| {
        let z = projected(project, v);
        let off = minus(&z, expected).iter().fold(0.0, |m: f64, d| m.max(d.abs()));
        assert!(off <= 4e-16, "{v:?}: {z:?}, expected {expected:?}");
    };
    let simplex_1: Projection = |v| simplex(v, 1.0);
    check(simplex_1, &[0.5, 0.5, 0.5], &[1.0 / 3.0; 3]);
    check(simplex_1, &[2.0, 0.0, -1.0], &[1.0, 0.0, 0.0]);
    check(simplex_1, &[0.75, 0.5, -3.0], &[0.625, 0.375, 0.0]);
    check(|v| simplex(v, 0.0), &[3.0, 1.0], &[0.0, 0.0]);
    check(|v| simplex(v, 2.0), &[1e16, 1e16, 0.0], &[1.0, 1.0, 0.0]);
    check(|v| l1_ball(v, 1.0), &[-2.0, 1.5, 0.0], &[-0.75, 0.25, 0.0]);
    check(|v| l1_ball(v, 4.0), &[-2.0, 1.5, 0.0], &[-2.0, 1.5, 0.0]);
    check(|v| l2_ball(v, 1.0), &[3.0, -4.0], &[0.6, -0.8]);
    check(|v| l2_ball(v, 1.0), &[3e200, -4e200], &[0.6, -0.8]);
    check(|v| l2_ball(v, 1.0), &[3e-200, -4e-200], &[3e-200, -4e-200]);
    check(|v| interval(v, -1.0, f64::INFINITY), &[-3.0, 5.0], &[-1.0, 5.0]);
    check(|v| intervals(v, &[0.0, 2.0], &[1.0, 2.0]), &[-3.0, 5.0], &[0.0, 2.0]);
    check(isotonic, &[1.0, 3.0, 2.0, 4.0], &[1.0, 2.5, 2.5, 4.0]);
    check(isotonic, &[4.0, 3.0, 2.0, 1.0], &[2.5; 4]);
    check(|v| isotonic_weighted(v, &[1.0, 3.0]), &[5.0, 1.0], &[2.0, 2.0]);
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let check = |project: &dyn Fn(&mut [f64]) -> Result<(), Invalid>, expected: &str| {
        let mut v = [1.0, 2.0];
        let error = project(&mut v).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(v, [1.0, 2.0], "left alone");
    };
    check(&|v| simplex(v, -1.0), "radius = -1");
    check(&|v| simplex(v, f64::INFINITY), "radius = inf");
    check(&|v| l1_ball(v, f64::NAN), "radius = NaN");
    check(&|v| l2_ball(v, -0.5), "radius = -0.5");
    check(&|v| interval(v, 1.0, 0.0), "high = 0");
    check(&|v| interval(v, f64::NAN, 0.0), "low = NaN");
    check(&|v| interval(v, f64::INFINITY, f64::INFINITY), "low = inf");
    check(&|v| intervals(v, &[0.0], &[1.0, 1.0]), "lower bounds: expected length 2, found 1");
    check(&|v| intervals(v, &[0.0, 0.0], &[1.0, f64::NAN]), "high = NaN");
    check(&|v| isotonic_weighted(v, &[1.0]), "weights: expected length 2, found 1");
    check(&|v| isotonic_weighted(v, &[1.0, 0.0]), "weight = 0");
    assert_eq!(simplex(&mut [], 1.0), Err(Invalid::Empty { what: "point" }));
    let all: [Projection; 5] = [
        |v| simplex(v, 1.0),
        |v| l1_ball(v, 1.0),
        |v| l2_ball(v, 1.0),
        |v| interval(v, 0.0, 1.0),
        isotonic,
    ];
    for project in all {
        let error = project(&mut [0.0, f64::NAN]).unwrap_err();
        assert!(matches!(error, Invalid::NonFinite { row: 1, .. }), "{error}");
    }
}

/// Enumerates the supports of a point in the simplex. On each support it projects on the hyperplane `sum z = radius`. The
/// closest of the feasible points is the projection.
fn simplex_by_enumeration(v: &[f64], radius: f64) -> Vec<f64> {
    let mut best = (f64::INFINITY, Vec::new());
    for support in 1u32..1 << v.len() {
        let inside = |i: usize| support >> i & 1 == 1;
        let sum: f64 = (0..v.len()).filter(|&i| inside(i)).map(|i| v[i]).sum();
        let shift = (sum - radius) / f64::from(support.count_ones());
        let z: Vec<f64> =
            (0..v.len()).map(|i| if inside(i) { v[i] - shift } else { 0.0 }).collect();
        let off = minus(&z, v);
        if z.iter().all(|&z| z >= 0.0) && dot(&off, &off) < best.0 {
            best = (dot(&off, &off), z);
        }
    }
    best.1
}

/// The min-max formula `z_i = max_(j <= i) min_(k >= i) mean(v_j..v_k)` of isotonic regression.
fn isotonic_by_means(v: &[f64], w: &[f64]) -> Vec<f64> {
    let mean = |j: usize, k: usize| dot(&v[j..=k], &w[j..=k]) / w[j..=k].iter().sum::<f64>();
    let lowest =
        |i: usize, j: usize| (i..v.len()).map(|k| mean(j, k)).fold(f64::INFINITY, f64::min);
    (0..v.len()).map(|i| (0..=i).map(|j| lowest(i, j)).fold(-f64::INFINITY, f64::max)).collect()
}

/// Entries of size about 10: rounding is far below this.
const TOLERANCE: f64 = 1e-12;

fn point(d: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    // Whole numbers make ties, which reals never do.
    let entry = prop_oneof![-10.0..10.0f64, (-5i32..5).prop_map(f64::from)];
    prop::collection::vec(entry, d)
}

/// Two points of equal length.
fn two_points() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (1usize..20).prop_flat_map(|d| (point(d..d + 1), point(d..d + 1)))
}

/// Checks the properties of a projection `P` on the set where `distance(z) <= 0`: it is feasible, idempotent and non-expansive,
/// and satisfies the variational inequality at the feasible point `P(u)`.
fn is_projection(
    project: impl Fn(&mut [f64]) -> Result<(), Invalid>,
    violation: impl Fn(&[f64]) -> f64,
    v: &[f64],
    u: &[f64],
) -> Result<(), TestCaseError> {
    let (pv, pu) = (projected(&project, v), projected(&project, u));
    prop_assert!(violation(&pv) <= TOLERANCE, "infeasible by {}", violation(&pv));
    for (a, b) in projected(&project, &pv).iter().zip(&pv) {
        prop_assert!((a - b).abs() <= TOLERANCE, "not idempotent: {a} {b}");
    }
    let (between, before) = (minus(&pv, &pu), minus(v, u));
    prop_assert!(dot(&between, &between) <= dot(&before, &before) + TOLERANCE, "expansive");
    let inequality = dot(&minus(v, &pv), &minus(&pu, &pv));
    // A product of d <= 20 terms of size 1e2 at most.
    prop_assert!(inequality <= 100.0 * TOLERANCE, "<v - Pv, z - Pv> = {inequality}");
    Ok(())
}

fn sum_abs(z: &[f64]) -> f64 {
    z.iter().map(|z| z.abs()).sum()
}

/// How far the worst entry is below 0.
fn below_zero(z: &[f64]) -> f64 {
    z.iter().fold(0.0, |m: f64, &z| m.max(-z))
}

proptest! {
    #[test]
    fn simplex_is_the_closest_point_of_any_support(v in point(1..8), radius in 0.01..5.0f64) {
        let expected = simplex_by_enumeration(&v, radius);
        for (z, e) in projected(|v| simplex(v, radius), &v).iter().zip(&expected) {
            prop_assert!((z - e).abs() <= TOLERANCE, "{v:?}: {z} {e}");
        }
    }

    #[test]
    fn isotonic_is_the_min_max_of_means(
        (v, w) in (1usize..12).prop_flat_map(|d| {
            (point(d..d + 1), prop::collection::vec(0.1..3.0f64, d))
        }),
    ) {
        let z = projected(|v| isotonic_weighted(v, &w), &v);
        for (z, e) in z.iter().zip(isotonic_by_means(&v, &w)) {
            prop_assert!((z - e).abs() <= TOLERANCE, "{v:?}: {z} {e}");
        }
        let unweighted = projected(isotonic, &v);
        prop_assert_eq!(unweighted, projected(|u| isotonic_weighted(u, &vec![1.0; v.len()]), &v));
    }

    #[test]
    fn simplex_is_a_projection((v, u) in two_points(), radius in 0.0..5.0f64) {
        let violation =
            |z: &[f64]| (z.iter().sum::<f64>() - radius).abs().max(below_zero(z));
        is_projection(|v| simplex(v, radius), violation, &v, &u)?;
    }

    #[test]
    fn l1_ball_is_a_projection((v, u) in two_points(), radius in 0.0..50.0f64) {
        is_projection(|v| l1_ball(v, radius), |z| sum_abs(z) - radius, &v, &u)?;
        if sum_abs(&v) <= radius {
            prop_assert_eq!(projected(|v| l1_ball(v, radius), &v), v);
        }
    }

    #[test]
    fn l2_ball_is_a_projection((v, u) in two_points(), radius in 0.0..20.0f64) {
        is_projection(|v| l2_ball(v, radius), |z| dot(z, z).sqrt() - radius, &v, &u)?;
    }

    #[test]
    fn intervals_are_a_projection((v, u) in two_points(), (a, b) in (-5.0..5.0f64, -5.0..5.0f64)) {
        let (low, high) = (a.min(b), a.max(b));
        let violation = |z: &[f64]| {
            z.iter().fold(0.0, |m: f64, &z| m.max(low - z).max(z - high))
        };
        is_projection(|v| interval(v, low, high), violation, &v, &u)?;
        let each = (vec![low; v.len()], vec![high; v.len()]);
        prop_assert_eq!(
            projected(|v| interval(v, low, high), &v),
            projected(|v| intervals(v, &each.0, &each.1), &v)
        );
    }

    #[test]
    fn isotonic_is_a_projection((v, u) in two_points()) {
        let violation =
            |z: &[f64]| z.windows(2).fold(0.0, |m: f64, pair| m.max(pair[0] - pair[1]));
        is_projection(isotonic, violation, &v, &u)?;
    }
}
