//! Losses against their definitions.

use fenchel_linalg::special::softplus;
use fenchel_optim::Loss;
use fenchel_optim::loss::{
    Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Poisson, Quantile, SmoothedHinge,
    Squared, SquaredHinge,
};
use proptest::prelude::*;
use rand::RngExt;

/// `phi(t) + phi*(u) >= u t` everywhere, with equality at `u = phi'(t)`.
fn fenchel_young<L: Loss>(loss: L, t: f64, s: f64, y: f64) {
    let (u, v) = (loss.derivative(t, y), loss.derivative(s, y));
    let size =
        1.0 + t.abs() * u.abs() + loss.value(t, y).abs() + y.abs() * (u.abs() + v.abs() + t.abs());
    let equality = loss.value(t, y) + loss.conjugate(u, y) - u * t;
    assert!(equality.abs() <= 1e-14 * size, "{}: {equality:e} at t = {t}, y = {y}", L::NAME);
    let other = loss.value(t, y) + loss.conjugate(v, y) - v * t;
    assert!(other >= -1e-14 * (size + s.abs() * v.abs() + (t * v).abs()), "{}: {other:e}", L::NAME);
}

/// The derivatives against central differences, and the curvature bound. `kinks` are those of `phi'`.
fn differences<L: Loss>(loss: L, t: f64, y: f64, kinks: &[f64]) {
    let h = 1e-5 * (1.0 + t.abs());
    let slope = (loss.value(t + h, y) - loss.value(t - h, y)) / (2.0 * h);
    // Third derivatives are below 1, kinks of phi' below 2: the error of a difference is O(h).
    assert!((slope - loss.derivative(t, y)).abs() < 2.0 * h, "{} at {t}", L::NAME);
    let bend = (loss.derivative(t + h, y) - loss.derivative(t - h, y)) / (2.0 * h);
    assert!(bend <= loss.curvature() * (1.0 + 1e-6), "{} at {t}: {bend}", L::NAME);
    if kinks.iter().all(|kink| (t - kink).abs() > 2.0 * h) {
        assert!((bend - loss.second(t, y)).abs() < 1e-4 * (1.0 + t.abs()), "{} at {t}", L::NAME);
    }
}

/// `u = phi'(m - q u)`, up to the rounding of `m - q u`.
fn dual_step<L: Loss>(loss: L, m: f64, q: f64, y: f64, guess: f64) {
    let u = loss.dual_step(m, q, y, guess);
    let t = m - q * u;
    let off = 4.0 * f64::EPSILON * (m.abs() + q * (u.abs() + y.abs()));
    // Rounding may carry t over a kink of phi'.
    let bend = [t - off, t, t + off].map(|t| loss.second(t, y)).into_iter().fold(0.0, f64::max);
    let residual = (u - loss.derivative(t, y)).abs();
    let bound = 1e-12 * (1.0 + u.abs()) + 4.0 * off * bend;
    assert!(residual <= bound, "{}: {residual:e} at m = {m}, q = {q}, y = {y}", L::NAME);
    assert!(loss.conjugate(u, y).is_finite(), "{}: u = {u} outside the domain", L::NAME);
}

/// At a kink the equation is an inclusion: check that no other dual value in `[low, high]` does better.
fn maximises_the_dual<L: Loss>(loss: L, m: f64, q: f64, y: f64, (low, high): (f64, f64)) {
    let dual = |u: f64| -loss.conjugate(u, y) - 0.5 * q * u * u + m * u;
    let best = loss.dual_step(m, q, y, 0.0);
    assert!((low..=high).contains(&best), "{}: {best}", L::NAME);
    for k in 0..=200 {
        let other = low + (high - low) * f64::from(k) / 200.0;
        assert!(dual(other) <= dual(best) + 1e-12, "{}: {other} beats {best}", L::NAME);
    }
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
    fn parametrised_conjugates_satisfy_fenchel_young(
        t in -40.0..40.0f64, s in -40.0..40.0f64, y in -20.0..20.0f64, share in 0.01..0.99f64,
    ) {
        let sign = y.signum();
        fenchel_young(SmoothedHinge { width: 10.0 * share }, t, s, sign);
        fenchel_young(Huber { delta: 10.0 * share }, t, s, y);
        fenchel_young(Absolute, t, s, y);
        fenchel_young(Quantile { tau: share }, t, s, y);
        fenchel_young(EpsilonInsensitive { epsilon: 10.0 * share }, t, s, y);
        fenchel_young(Poisson, t, s, y.abs());
        fenchel_young(Poisson, t, s, 0.0);
    }

    #[test]
    fn derivatives_are_derivatives(t in -30.0..30.0f64, sign: bool) {
        let y = if sign { 1.0 } else { -1.0 };
        differences(Logistic, t, y, &[]);
        differences(SquaredHinge, t, y, &[y]);
        differences(Squared, t, 0.7 * y, &[]);
        for width in [0.5, 1.0, 20.0] {
            differences(SmoothedHinge { width }, t, y, &[y, y * (1.0 - width)]);
        }
        for delta in [0.3, 5.0] {
            differences(Huber { delta }, t, 0.7 * y, &[0.7 * y - delta, 0.7 * y + delta]);
        }
    }

    /// All derivatives of `e^t` are of its own size.
    #[test]
    fn derivatives_of_the_poisson_loss(t in -30.0..30.0f64, y in 0.0..20.0f64) {
        let h = 1e-5;
        let size = t.exp() + y * (1.0 + t.abs());
        let slope = (Poisson.value(t + h, y) - Poisson.value(t - h, y)) / (2.0 * h);
        prop_assert!((slope - Poisson.derivative(t, y)).abs() <= 1e-9 * size);
        let bend = (Poisson.derivative(t + h, y) - Poisson.derivative(t - h, y)) / (2.0 * h);
        prop_assert!((bend - Poisson.second(t, y)).abs() <= 1e-9 * size);
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
        for parameter in [0.1, 3.0] {
            for q in [q, 0.0] {
                dual_step(SmoothedHinge { width: parameter }, m, q, y, guess);
                dual_step(Huber { delta: parameter }, m, q, 2.5 * y, guess);
            }
        }
        dual_step(Poisson, m, q, 0.0, guess);
        dual_step(Poisson, m, q, 7.0, guess);
        dual_step(Poisson, m.clamp(-1e6, 300.0), 0.0, 7.0, guess);
    }

    /// As a relative error, where `m - q u` loses nothing to rounding.
    #[test]
    fn poisson_step_is_accurate(m in -30.0..30.0f64, log_q in -6.0..1.0f64, y in 0.0..10.0f64) {
        let q = 10f64.powf(log_q);
        let u = Poisson.dual_step(m, q, y, 0.0);
        let expected = Poisson.derivative(m - q * u, y);
        prop_assert!((u - expected).abs() <= 3e-13 * (u.abs() + y), "{u:e} {expected:e}");
        // Without a count the tail is not hidden behind y.
        let u = Poisson.dual_step(m, q, 0.0, 0.0);
        let expected = (m - q * u).exp();
        prop_assert!((u - expected).abs() <= 3e-13 * u, "{u:e} {expected:e}");
    }

    #[test]
    fn steps_on_kinked_losses_maximise_the_dual(
        m in -5.0..5.0f64, q in 1e-3..10.0f64, y in -3.0..3.0f64, share in 0.01..0.99f64,
    ) {
        let sign = y.signum();
        maximises_the_dual(Hinge, m, q, sign, (f64::min(-sign, 0.0), f64::max(-sign, 0.0)));
        for q in [q, 0.0] {
            maximises_the_dual(Absolute, m, q, y, (-1.0, 1.0));
            maximises_the_dual(Quantile { tau: share }, m, q, y, (-share, 1.0 - share));
            maximises_the_dual(EpsilonInsensitive { epsilon: 2.0 * share }, m, q, y, (-1.0, 1.0));
        }
    }

    /// What a certificate relies on: 0 and `phi'` at any margin lie in the domain, and with them what is
    /// between.
    #[test]
    fn derivatives_and_zero_lie_in_the_domain(
        t in wide(), y in -1e6..1e6f64, parameter in 1e-6..1e6f64, scale in 0.0..1.0f64,
    ) {
        fn check<L: Loss>(loss: L, t: f64, y: f64, scale: f64) {
            let u = loss.derivative(t, y);
            for u in [0.0, u, scale * u] {
                assert!(loss.conjugate(u, y).is_finite(), "{} at t = {t}, y = {y}", L::NAME);
            }
        }
        let sign = y.signum();
        check(Logistic, t, sign, scale);
        check(Hinge, t, sign, scale);
        check(SquaredHinge, t, sign, scale);
        check(SmoothedHinge { width: parameter }, t, sign, scale);
        check(Squared, t, y, scale);
        check(Huber { delta: parameter }, t, y, scale);
        check(Absolute, t, y, scale);
        check(Quantile { tau: parameter / 1e6 }, t, y, scale);
        check(EpsilonInsensitive { epsilon: parameter }, t, y, scale);
        check(Poisson, t.min(700.0), y.abs(), scale);
        check(Poisson, t.min(700.0), 0.0, scale);
    }
}

/// By hand, on every piece and at its ends.
#[test]
fn values_and_conjugates_of_the_pieces() {
    let smoothed = SmoothedHinge { width: 0.5 };
    for (t, value) in [(2.0, 0.0), (1.0, 0.0), (0.75, 0.0625), (0.5, 0.25), (-1.0, 1.75)] {
        assert_eq!(smoothed.value(t, 1.0), value);
        assert_eq!(smoothed.value(-t, -1.0), value);
    }
    assert_eq!(smoothed.conjugate(-1.0, 1.0), -0.75);
    let huber = Huber { delta: 2.0 };
    for (r, value) in [(0.0, 0.0), (1.0, 0.5), (2.0, 2.0), (5.0, 8.0)] {
        assert_eq!(huber.value(3.0 + r, 3.0), value);
        assert_eq!(huber.value(3.0 - r, 3.0), value);
    }
    assert_eq!(huber.conjugate(2.0, 3.0), 8.0);
    assert_eq!(huber.conjugate(2.1, 3.0), f64::INFINITY);
    assert_eq!(Absolute.value(1.0, 4.0), 3.0);
    assert_eq!(Absolute.conjugate(-1.0, 4.0), -4.0);
    let quantile = Quantile { tau: 0.25 };
    assert_eq!([quantile.value(1.0, 5.0), quantile.value(5.0, 1.0)], [1.0, 3.0]);
    assert_eq!(quantile.conjugate(0.75, 2.0), 1.5);
    assert_eq!(quantile.conjugate(-0.3, 2.0), f64::INFINITY);
    let tube = EpsilonInsensitive { epsilon: 0.5 };
    assert_eq!([tube.value(1.0, 1.5), tube.value(1.0, 3.0)], [0.0, 1.5]);
    assert_eq!([tube.conjugate(-1.0, 3.0), tube.conjugate(1.0, 3.0)], [-2.5, 3.5]);
    assert_eq!(Poisson.value(0.0, 5.0), 1.0);
    assert_eq!(Poisson.conjugate(-5.0, 5.0), 0.0);
    assert_eq!(Poisson.conjugate(-4.0, 5.0), -1.0);
    assert_eq!(Poisson.conjugate(-5.1, 5.0), f64::INFINITY);
}

/// A row of zeros: the subgradient at the margin, and 0 at a kink or inside a tube.
#[test]
fn steps_without_a_row() {
    let tube = EpsilonInsensitive { epsilon: 0.5 };
    for (m, absolute, quantile, inside) in [
        (3.0, 1.0, 0.75, 1.0),
        (1.0, -1.0, -0.25, -1.0),
        (2.0, 0.0, 0.0, 0.0),
        (2.4, 1.0, 0.75, 0.0),
    ] {
        assert_eq!(Absolute.dual_step(m, 0.0, 2.0, 0.0), absolute);
        assert_eq!(Quantile { tau: 0.25 }.dual_step(m, 0.0, 2.0, 0.0), quantile);
        assert_eq!(tube.dual_step(m, 0.0, 2.0, 0.0), inside);
    }
}

/// From arbitrary-precision evaluation with 40 digits.
#[test]
fn poisson_steps_agree_with_reference_values() {
    for (m, q, y, expected) in [
        (1.2, 0.7, 3.0, 0.098_628_945_633_741_85),
        (-40.0, 1.0, 0.0, 4.248_354_255_291_589e-18),
        (5.0, 100.0, 2.0, 0.042_856_509_219_617_15),
    ] {
        let u = Poisson.dual_step(m, q, y, 0.0);
        assert!((u - expected).abs() <= 4e-15 * (expected + y), "{u:e} {expected:e}");
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

/// The sum that shares the exponentials with the derivatives, against sums of single values: margins of any size, values
/// from 1e-300 to 1e3, and lengths around the width of the blocks.
#[test]
fn derivatives_and_sum_are_those_of_single_terms() {
    let mut rng = fenchel_optim::random::stream(5, 0);
    for length in [0, 1, 7, 8, 9, 255, 256, 257, 700] {
        for scale in [1e-6, 1.0, 30.0, 700.0, -20.0] {
            let y: Vec<f64> =
                (0..length).map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 }).collect();
            // A negative scale: all are right by far, and all values tiny.
            let t: Vec<f64> = y
                .iter()
                .map(|y| match scale < 0.0 {
                    true => y * (-scale + rng.random::<f64>()),
                    false => scale * (2.0 * rng.random::<f64>() - 1.0),
                })
                .collect();
            let exact: f64 = t.iter().zip(&y).map(|(t, y)| softplus(-y * t)).sum();
            let mut derivatives = t.clone();
            let sum = Logistic.derivatives_and_sum(&mut derivatives, &y);
            assert!((sum - exact).abs() <= 1e-13 * exact, "{length} {scale}: {sum} {exact}");
            for i in 0..length {
                let single = Logistic.derivative(t[i], y[i]);
                assert!((derivatives[i] - single).abs() <= 1e-15 * single.abs() + 1e-300, "{i}");
            }
        }
    }
    let mut nan = [f64::NAN; 256];
    assert!(Logistic.derivatives_and_sum(&mut nan, &[1.0; 256]).is_nan());
}

/// The loss with what the trait provides by default.
struct Plain<L>(L);

impl<L: Loss> Loss for Plain<L> {
    const NAME: &'static str = L::NAME;
    fn value(&self, t: f64, y: f64) -> f64 {
        self.0.value(t, y)
    }
    fn derivative(&self, t: f64, y: f64) -> f64 {
        self.0.derivative(t, y)
    }
    fn second(&self, t: f64, y: f64) -> f64 {
        self.0.second(t, y)
    }
    fn curvature(&self) -> f64 {
        self.0.curvature()
    }
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        self.0.conjugate(u, y)
    }
    fn check_target(&self, row: usize, y: f64) -> Result<(), fenchel_linalg::Invalid> {
        self.0.check_target(row, y)
    }
}

/// `phi*(v) >= phi*(u) + t (v - u)` at `t = phi*'(u)`, and `phi'(t) = u` where `phi` is smooth.
fn conjugate_derivative<L: Loss>(loss: &L, y: f64, (low, high): (f64, f64)) {
    for i in 1..40 {
        let u = low + (high - low) * f64::from(i) / 40.0;
        let t = loss.conjugate_derivative(u, y);
        if loss.twice_differentiable() {
            let off = (loss.derivative(t, y) - u).abs();
            assert!(off < 1e-13 * (1.0 + t.abs() + y.abs()), "{} at u = {u}: {off:e}", L::NAME);
        }
        for k in 0..=40 {
            let v = low + (high - low) * f64::from(k) / 40.0;
            let above = loss.conjugate(v, y) - loss.conjugate(u, y) - t * (v - u);
            assert!(above > -1e-12, "{} at u = {u}, v = {v}: {above:e}", L::NAME);
        }
    }
}

#[test]
fn derivatives_of_conjugates_are_subgradients() {
    fn both<L: Loss>(loss: L, y: f64, ends: (f64, f64)) {
        conjugate_derivative(&loss, y, ends);
        conjugate_derivative(&Plain(loss), y, ends);
    }
    both(Squared, 0.7, (-5.0, 5.0));
    both(Huber { delta: 1.5 }, -2.0, (-1.5, 1.5));
    both(Poisson, 2.0, (-2.0, 30.0));
    both(Logistic, 1.0, (-1.0, 0.0));
    both(Logistic, -1.0, (0.0, 1.0));
    both(SquaredHinge, 1.0, (-4.0, 0.0));
    both(SmoothedHinge { width: 0.4 }, -1.0, (0.0, 1.0));
    both(Hinge, -1.0, (0.0, 1.0));
    both(Absolute, 3.0, (-1.0, 1.0));
    both(Quantile { tau: 0.3 }, 3.0, (-0.3, 0.7));
    both(EpsilonInsensitive { epsilon: 0.5 }, 1.0, (-1.0, 1.0));
}
