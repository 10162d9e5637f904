//! The constants of the proofs: section 4.8, and the elementary inequalities of appendix B.

use proptest::prelude::*;

/// Section 4.8: the conditions on the constants of SAGA, over 12 decades of conditioning. What is to be `<= 0` is a
/// difference of numbers of size `1/n` (or `c gamma / L`), so rounding is measured in these.
#[test]
fn constants_of_section_4_8() {
    for log_n in 0..=70 {
        let n = 10f64.powf(0.1 * f64::from(log_n)).round();
        for log_ratio in 0..=240 {
            for l in [1e-3, 1.0, 7e4] {
                let mu = l * 10f64.powf(-0.05 * f64::from(log_ratio));
                let known = 1.0 / (2.0 * (mu * n + l));
                let unknown = 1.0 / (3.0 * l);
                let slow = f64::min(1.0 / (4.0 * n), mu / (3.0 * l));
                for (g, b, rate) in
                    [(known, (2.0 * mu * n + l) / l, known * mu), (unknown, 2.0, slow)]
                {
                    let c = 1.0 / (2.0 * g * (1.0 - g * mu) * n);
                    let c1 = 1.0 / n - 2.0 * c * g * (l - mu) / l - 2.0 * c * g * g * mu * b;
                    let c2 = rate + 2.0 * (1.0 + 1.0 / b) * c * g * g * l - 1.0 / n;
                    let c3 = c * rate - g * mu * c;
                    let c4 = (1.0 + b) * c * g * g - c * g / l;
                    let place = format!("n {n}, L {l}, mu {mu:e}, step {g:e}");
                    assert!(c1 * n <= 1e-14, "c1 = {c1:e} at {place}");
                    assert!(c2 * n <= 1e-14, "c2 = {c2:e} at {place}");
                    assert!(c3 <= 1e-15 * c * rate, "c3 = {c3:e} at {place}");
                    assert!(c4 <= 1e-14 * c * g / l, "c4 = {c4:e} at {place}");
                }
            }
        }
    }
}

/// Section 4.8.3, without strong convexity: 4 (1 + 2/3) = 20/3, which the thesis prints as 8/3. All is in units of `1/n`
/// and `1/L`: with `L = n = 1` nothing is lost.
#[test]
fn constants_of_section_4_8_3() {
    let (g, b, c, a) = (1.0 / 3.0, 1.5, 1.5, 0.15);
    let t1: f64 = 1.0 - 2.0 * c * g;
    let t2 = 4.0 * (1.0 + 1.0 / b) * a * g * g + 2.0 * (1.0 + 1.0 / b) * c * g * g - 1.0;
    let t3: f64 = (1.0 + b) * c * g + 2.0 * (1.0 + b) * a * g - c;
    assert!(t1.abs() < 1e-15 && t3.abs() < 1e-15, "{t1} {t3}");
    assert!((t2 + 1.0 / 3.0).abs() < 1e-15, "{t2}");
}

fn vector() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1e3..1e3f64, 4)
}

fn squares(v: impl Iterator<Item = f64>) -> f64 {
    v.map(|v| v * v).sum()
}

proptest! {
    /// B.1.
    #[test]
    fn young(a in vector(), b in vector(), log_beta in -6.0..6.0f64) {
        let beta = 10f64.powf(log_beta);
        let sum = squares(a.iter().zip(&b).map(|(a, b)| a + b));
        let bound = (1.0 + beta) * squares(a.iter().copied())
            + (1.0 + 1.0 / beta) * squares(b.iter().copied());
        prop_assert!(sum <= bound * (1.0 + 1e-12));
        // With equality for b = beta a.
        let sum = squares(a.iter().map(|a| a + beta * a));
        let bound = (1.0 + beta + (1.0 + 1.0 / beta) * beta * beta) * squares(a.iter().copied());
        prop_assert!((sum - bound).abs() <= 1e-12 * bound);
    }

    /// B.3 as meant: `exp(x) >= 1 + x`, and `log(1 + x) <= x`.
    #[test]
    fn exponential_and_logarithm(x in -50.0..50.0f64, small in -1e-3..1e-3f64) {
        for x in [x, small] {
            prop_assert!(x.exp() >= (1.0 + x) * (1.0 - f64::EPSILON));
            prop_assert!(x <= -1.0 || x.ln_1p() <= x);
        }
    }

    /// B.4, B.6 and B.7: `1 - k a <= (1 - a)^k <= exp(-k a)`, and `(1 - a)^r <= 1 - r a` for roots.
    #[test]
    fn bernoulli(a in 0.0..1.0f64, k in 0..200i32, r in 1e-6..1.0f64, negative in -1e3..0.0f64) {
        let power = (1.0 - a).powi(k);
        prop_assert!(power >= 1.0 - f64::from(k) * a - 1e-13);
        prop_assert!(power <= (-f64::from(k) * a).exp() * (1.0 + 1e-13));
        for a in [a, negative] {
            prop_assert!((1.0 - a).powf(r) <= (1.0 - r * a) * (1.0 + 1e-14));
        }
    }

    /// B.8, section 2.1.2: an epoch at rate `1 - 1/(c n)` a step is a factor of about `exp(-1/c)`, from below, off by
    /// `1/(c^2 n)` at most.
    #[test]
    fn epochs(n in 1..100_000u32, c in 1.0..20.0f64) {
        let n = f64::from(n);
        let epoch = (n * (-1.0 / (c * n)).ln_1p()).exp();
        let limit = (-1.0 / c).exp();
        prop_assert!(epoch <= limit * (1.0 + 1e-12));
        prop_assert!(limit - epoch <= 1.0 / (c * c * n));
    }

    /// B.9.
    #[test]
    fn variance_decomposes(points in prop::collection::vec(vector(), 1..9), y in vector()) {
        let count = points.len() as f64;
        let mean: Vec<f64> =
            (0..4).map(|c| points.iter().map(|p| p[c]).sum::<f64>() / count).collect();
        let from = |z: &[f64]| {
            let each = points.iter().map(|p| squares(p.iter().zip(z).map(|(p, z)| p - z)));
            each.sum::<f64>() / count
        };
        let offset = squares(y.iter().zip(&mean).map(|(y, m)| y - m));
        prop_assert!((from(&y) - offset - from(&mean)).abs() <= 1e-12 * (1.0 + from(&y)));
    }
}
