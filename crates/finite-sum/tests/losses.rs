//! Losses against their definitions.

use fenchel_finite_sum::loss::{Hinge, Logistic, Squared, SquaredHinge};
use fenchel_optim::Loss;
use proptest::prelude::*;

/// `phi(t) + phi*(u) >= u t` everywhere, with equality at `u = phi'(t)`.
fn fenchel_young<L: Loss>(loss: L, t: f64, s: f64, y: f64) {
    let (u, v) = (loss.derivative(t, y), loss.derivative(s, y));
    let size = 1.0 + t.abs() * u.abs() + loss.value(t, y) + y.abs() * (u.abs() + v.abs());
    let equality = loss.value(t, y) + loss.conjugate(u, y) - u * t;
    assert!(equality.abs() <= 1e-14 * size, "{}: {equality:e} at t = {t}, y = {y}", L::NAME);
    let other = loss.value(t, y) + loss.conjugate(v, y) - v * t;
    assert!(other >= -1e-14 * (size + s.abs() * v.abs() + (t * v).abs()), "{}: {other:e}", L::NAME);
}

/// The derivatives against central differences, and the curvature bound.
fn differences<L: Loss>(loss: L, t: f64, y: f64) {
    let h = 1e-5 * (1.0 + t.abs());
    let slope = (loss.value(t + h, y) - loss.value(t - h, y)) / (2.0 * h);
    // Third derivatives are below 1, kinks of phi' below 1: the error of a difference is O(h).
    assert!((slope - loss.derivative(t, y)).abs() < 2.0 * h, "{} at {t}", L::NAME);
    let bend = (loss.derivative(t + h, y) - loss.derivative(t - h, y)) / (2.0 * h);
    assert!(bend <= loss.curvature() * (1.0 + 1e-6), "{} at {t}: {bend}", L::NAME);
    if (1.0 - y * t).abs() > 2.0 * h {
        assert!((bend - loss.second(t, y)).abs() < 1e-4 * (1.0 + t.abs()), "{} at {t}", L::NAME);
    }
}

/// `u = phi'(m - q u)`, up to the rounding of `m - q u`.
fn dual_step<L: Loss>(loss: L, m: f64, q: f64, y: f64, guess: f64) {
    let u = loss.dual_step(m, q, y, guess);
    let t = m - q * u;
    let rounding = 4.0 * f64::EPSILON * (m.abs() + q * u.abs()) * loss.second(t, y);
    let residual = (u - loss.derivative(t, y)).abs();
    let bound = 1e-12 * (1.0 + u.abs()) + 4.0 * rounding;
    assert!(residual <= bound, "{}: {residual:e} at m = {m}, q = {q}", L::NAME);
    assert!(loss.conjugate(u, y).is_finite(), "{}: u = {u} outside the domain", L::NAME);
}

fn wide() -> impl Strategy<Value = f64> {
    prop_oneof![-1e6..1e6f64, -50.0..50.0f64, -1.0..1.0f64, Just(0.0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn conjugates_satisfy_fenchel_young(t in -40.0..40.0f64, s in -40.0..40.0f64, sign: bool) {
        let y = if sign { 1.0 } else { -1.0 };
        fenchel_young(Logistic, t, s, y);
        fenchel_young(SquaredHinge, t, s, y);
        fenchel_young(Hinge, t, s, y);
        fenchel_young(Squared, t, s, 3.7 * y);
    }

    #[test]
    fn derivatives_are_derivatives(t in -30.0..30.0f64, sign: bool) {
        let y = if sign { 1.0 } else { -1.0 };
        differences(Logistic, t, y);
        differences(SquaredHinge, t, y);
        differences(Squared, t, 0.7 * y);
    }

    #[test]
    fn dual_steps_solve_their_equation(
        m in wide(), log_q in -12.0..8.0f64, sign: bool, guess in wide(),
    ) {
        let (q, y) = (10f64.powf(log_q), if sign { 1.0 } else { -1.0 });
        dual_step(Logistic, m, q, y, guess);
        dual_step(Squared, m, q, 2.5 * y, guess);
        dual_step(SquaredHinge, m, q, y, guess);
        dual_step(Logistic, m, 0.0, y, guess);
        dual_step(SquaredHinge, m, 0.0, y, guess);
    }

    /// For the hinge the equation is an inclusion: check that no other dual value does better.
    #[test]
    fn hinge_step_maximises_the_dual(m in -5.0..5.0f64, q in 1e-3..10.0f64, sign: bool) {
        let y = if sign { 1.0 } else { -1.0 };
        let dual = |u: f64| -Hinge.conjugate(u, y) - 0.5 * q * u * u + m * u;
        let best = dual(Hinge.dual_step(m, q, y, 0.0));
        for k in 0..=100 {
            prop_assert!(dual(-y * f64::from(k) / 100.0) <= best + 1e-12);
        }
    }
}

#[test]
fn extreme_margins_neither_overflow_nor_lose_the_tail() {
    assert_eq!(Logistic.value(1e300, 1.0), 0.0);
    assert_eq!(Logistic.value(-1e300, 1.0), 1e300);
    // e^-50, correctly rounded value from a table of exponentials.
    assert!((Logistic.value(50.0, 1.0) / 1.928_749_847_963_917_7e-22 - 1.0).abs() < 1e-14);
    assert!((Logistic.derivative(50.0, 1.0) / -1.928_749_847_963_917_7e-22 - 1.0).abs() < 1e-14);
}

#[test]
fn a_tiny_dual_variable_keeps_its_relative_accuracy() {
    // For q p << 1 the solution is p = sigmoid(-m) (1 - q p (1 - p) + ...): p = e^-40 to first order.
    let p = -Logistic.dual_step(40.0, 1.0, 1.0, 0.0);
    assert!((p / 4.248_354_255_291_589e-18 - 1.0).abs() < 1e-13, "{p:e}");
}
