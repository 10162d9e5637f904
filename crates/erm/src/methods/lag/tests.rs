use super::*;
use proptest::prelude::*;

fn looped<R: Separable>(regulariser: &R, step: f64, l2: f64, x: f64, g: f64, m: u32) -> f64 {
    let one = |x| regulariser.prox_coordinate(0, (1.0 - step * l2) * x - step * g, step);
    (0..m).fold(x, |x, _| one(x))
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
        check(L1L2 { l1, l2: net }, step, l2, x, g, m);
        let (lower, upper) = (-0.3, 0.7);
        check(Interval { lower, upper }, step, l2, x.clamp(lower, upper), g, m);
        check(Interval::NONNEGATIVE, step, l2, x.abs(), g, m);
        check(WeightedL1 { weights: vec![l1] }, step, l2, x, g, m);
        check(NonnegativeL1 { strength: l1 }, step, l2, x.abs(), g, m);
    }
}

/// Steps that change on the way, at the scale of the regulariser or another.
fn check_listed<R: Lagged>(r: R, steps: &[(f64, f64)], l2: f64, x: f64, g: f64, m: u32) {
    let mut powers = Powers::listed(l2, 1000);
    for &(step, scale) in steps {
        powers.push(step, r.shrink(step), scale);
    }
    let last = &steps[steps.len() - m as usize..];
    let one =
        |x, &(s, scale): &(f64, f64)| r.prox_coordinate(0, (1.0 - s * l2) * x - s * scale * g, s);
    let loops = last.iter().fold(x, one);
    let closed = r.catch_up(0, x, g, m, &powers);
    let travelled: f64 = steps.iter().map(|(s, scale)| s * scale * (g.abs() + 1.0)).sum();
    // The product of the factors may have fallen to 1e-4 of its first value.
    let size = x.abs() + travelled;
    let bound = 1e4 * f64::EPSILON * f64::from(m + 1) * size;
    assert!((closed - loops).abs() <= bound, "{} {closed:e} {loops:e}", R::NAME);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn listed_steps_equal_the_loop(
        steps in proptest::collection::vec((1e-3..0.1f64, Just(1.0)), 60),
        scales in proptest::collection::vec(0.5..20.0f64, 60),
        l2 in prop_oneof![Just(0.0), 1e-9..1e-6f64, 1e-3..1.0f64],
        net in prop_oneof![Just(0.0), 1e-3..1.0f64],
        l1 in prop_oneof![Just(0.0), 1e-3..1.0f64],
        x in prop_oneof![Just(0.0), -3.0..3.0f64],
        g in prop_oneof![Just(0.0), -2.0..2.0f64],
        m in 0u32..60,
    ) {
        let uneven: Vec<_> = steps.iter().zip(&scales).map(|((s, _), c)| (*s, *c)).collect();
        for steps in [&steps, &uneven] {
            check_listed(Zero, steps, l2, x, g, m);
            check_listed(L1 { strength: l1 }, steps, l2, x, g, m);
            check_listed(L1L2 { l1, l2: net }, steps, l2, x, g, m);
            check_listed(Interval { lower: -0.3, upper: 0.7 }, steps, l2, x.clamp(-0.3, 0.7), g, m);
        }
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
