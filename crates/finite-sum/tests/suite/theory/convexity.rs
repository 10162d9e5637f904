//! Appendix A: the inequalities of smooth and strongly convex functions, and of conjugates, for every loss of this crate
//! with an l2 term: `f(x) = phi(a.x; y) + (mu/2) ||x||^2`, `L = gamma ||a||^2 + mu`.

use fenchel_finite_sum::loss::{
    Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Poisson, Quantile, SmoothedHinge,
    Squared, SquaredHinge,
};
use fenchel_optim::Loss;
use proptest::prelude::*;

use super::dot;

type Vector = [f64; 3];

/// Where a loss is looked at.
#[derive(Debug, Clone)]
struct Place {
    a: Vector,
    x: Vector,
    y: Vector,
    mu: f64,
    /// Both a width and, with its sign, a target.
    parameter: f64,
    positive: bool,
    /// A step as a multiple of `1/L`.
    step: f64,
}

fn place() -> impl Strategy<Value = Place> {
    let vector = || prop::array::uniform3(-3.0..3.0f64);
    let entry = prop_oneof![0.1..2.0f64, -2.0..-0.1f64];
    let scales = (-4.0..1.0f64, 0.05..0.95f64, any::<bool>(), 0.0..2.5f64);
    (prop::array::uniform3(entry), vector(), vector(), scales).prop_map(
        |(a, x, y, (log_mu, parameter, positive, step))| Place {
            a,
            x,
            y,
            mu: 10f64.powf(log_mu),
            parameter,
            positive,
            step,
        },
    )
}

/// `sum left >= sum right`, up to rounding of the parts.
#[track_caller]
fn above(name: &str, loss: &str, left: &[f64], right: &[f64]) {
    let excess: f64 = left.iter().sum::<f64>() - right.iter().sum::<f64>();
    let size: f64 = left.iter().chain(right).map(|v| v.abs()).sum();
    assert!(excess >= -1e-13 * (1.0 + size), "{name}, {loss}: {excess:e} of {size:e}");
}

fn minus(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|c| a[c] - b[c])
}

/// `mu = 0` stands for the loss alone.
fn check<L: Loss>(loss: L, target: f64, p: &Place) {
    for mu in [0.0, p.mu] {
        inequalities(&loss, target, &Place { mu, ..p.clone() });
    }
}

fn inequalities<L: Loss>(loss: &L, target: f64, p: &Place) {
    let name = L::NAME;
    let f = |x: &Vector| loss.value(dot(&p.a, x), target) + 0.5 * p.mu * dot(x, x);
    let gradient = |x: &Vector| -> Vector {
        let s = loss.derivative(dot(&p.a, x), target);
        std::array::from_fn(|c| s * p.a[c] + p.mu * x[c])
    };
    let (mu, offset) = (p.mu, minus(&p.y, &p.x));
    let distance = dot(&offset, &offset);
    let (gx, gy) = (gradient(&p.x), gradient(&p.y));
    let bend = minus(&gy, &gx);
    let (fx, fy, slope) = (f(&p.x), f(&p.y), dot(&gx, &offset));
    let (bends, inner) = (dot(&bend, &bend), dot(&bend, &offset));
    // Strong convexity; a subgradient will do.
    above("A.4", name, &[fy], &[fx, slope, 0.5 * mu * distance]);
    above("A.11", name, &[inner], &[mu * distance]);
    if mu > 0.0 {
        above("A.6", name, &[fx, slope, bends / (2.0 * mu)], &[fy]);
    }
    let l = loss.curvature() * dot(&p.a, &p.a) + mu;
    if !l.is_finite() {
        return;
    }
    // Smoothness.
    above("A.5", name, &[fx, slope, 0.5 * l * distance], &[fy]);
    above("A.8", name, &[fy], &[fx, slope, bends / (2.0 * l)]);
    above("A.10", name, &[inner], &[bends / l]);
    // Both.
    let right = [mu * l / (mu + l) * distance, bends / (mu + l)];
    above("A.12", name, &[inner], &right);
    let half = 0.5 / (l - mu);
    let right = [fx, slope, half * bends, half * mu * l * distance, -2.0 * half * mu * inner];
    above("A.14", name, &[fy], &right);
    let t = p.step / l;
    let moved: Vector = std::array::from_fn(|c| t * bend[c] - offset[c]);
    let factor = f64::max((1.0 - t * l).abs(), (1.0 - t * mu).abs());
    above("A.16", name, &[factor * distance.sqrt()], &[dot(&moved, &moved).sqrt()]);
    if mu > 0.0 {
        // A.17: gradient descent, to the minimum -(u/mu) a with u = phi'(a.x*).
        let u = loss.dual_step(0.0, dot(&p.a, &p.a) / mu, target, 0.0);
        let star: Vector = p.a.map(|a| -u / mu * a);
        let mut x = p.x;
        for _ in 0..3 {
            let (g, before) = (gradient(&x), minus(&x, &star));
            x = std::array::from_fn(|c| x[c] - 2.0 / (l + mu) * g[c]);
            let after = minus(&x, &star);
            let size = dot(&star, &star).sqrt();
            let bound = (l - mu) / (l + mu) * dot(&before, &before).sqrt();
            let left = bound + 1e-11 * size * (1.0 + l / mu * f64::EPSILON);
            above("A.17", name, &[left], &[dot(&after, &after).sqrt()]);
        }
    }
}

/// A.2, items 3 to 5, at `z`, with the scaling of Moreau's decomposition put right: `z = prox_{lambda phi}(z) + lambda
/// prox_{phi* / lambda}(z / lambda)`. Nothing near the two points does better.
fn moreau<L: Loss>(loss: L, target: f64, z: f64, lambda: f64) {
    let u = loss.dual_step(z, lambda, target, 0.0);
    let t = z - lambda * u;
    let primal = |t: f64| loss.value(t, target) + (t - z) * (t - z) / (2.0 * lambda);
    let dual = |u: f64| loss.conjugate(u, target) + 0.5 * lambda * (u - z / lambda).powi(2);
    let size = 1.0 + primal(t).abs() + z * z / lambda + z.abs();
    for h in [1e-1, 1e-3, 1e-5] {
        for h in [h, -h] {
            assert!(primal(t + h) >= primal(t) - 1e-13 * size, "{}: prox at {t}", L::NAME);
            // The conjugate accepts a hair beyond its domain.
            assert!(dual(u + h) >= dual(u) - 1e-12 * size, "{}: conjugate at {u}", L::NAME);
        }
    }
    // Fenchel and Young are equal at the pair: u is a subgradient at t, and t one of the conjugate at u.
    let equality = loss.value(t, target) + loss.conjugate(u, target) - u * t;
    assert!(equality.abs() <= 1e-12 * size, "{}: {equality:e}", L::NAME);
}

/// A.2, item 3: `(phi*)'(phi'(t)) = t` for strictly convex losses, by central differences inside the domain.
fn legendre<L: Loss>(loss: L, target: f64, t: f64) {
    let u = loss.derivative(t, target);
    let h = 1e-5 * loss.second(t, target);
    let slope = (loss.conjugate(u + h, target) - loss.conjugate(u - h, target)) / (2.0 * h);
    assert!((slope - t).abs() <= 1e-4 * (1.0 + t.abs()), "{}: {slope} {t}", L::NAME);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn convexity_inequalities(p in place()) {
        let sign = if p.positive { 1.0 } else { -1.0 };
        let real = 3.0 * sign * p.parameter;
        check(Logistic, sign, &p);
        check(SquaredHinge, sign, &p);
        check(SmoothedHinge { width: p.parameter }, sign, &p);
        check(Hinge, sign, &p);
        check(Squared, real, &p);
        check(Huber { delta: p.parameter }, real, &p);
        check(Absolute, real, &p);
        check(Quantile { tau: p.parameter }, real, &p);
        check(EpsilonInsensitive { epsilon: p.parameter }, real, &p);
        check(Poisson, real.abs(), &p);
    }

    #[test]
    fn conjugates_of_losses(
        z in -5.0..5.0f64, log_lambda in -2.0..1.0f64, parameter in 0.05..0.95f64, positive: bool,
    ) {
        let lambda = 10f64.powf(log_lambda);
        let sign = if positive { 1.0 } else { -1.0 };
        let real = 3.0 * sign * parameter;
        moreau(Logistic, sign, z, lambda);
        moreau(SquaredHinge, sign, z, lambda);
        moreau(SmoothedHinge { width: parameter }, sign, z, lambda);
        moreau(Hinge, sign, z, lambda);
        moreau(Squared, real, z, lambda);
        moreau(Huber { delta: parameter }, real, z, lambda);
        moreau(Absolute, real, z, lambda);
        moreau(Quantile { tau: parameter }, real, z, lambda);
        moreau(EpsilonInsensitive { epsilon: parameter }, real, z, lambda);
        moreau(Poisson, real.abs(), z, lambda);
        legendre(Logistic, sign, z);
        legendre(Squared, real, z);
        legendre(Poisson, real.abs(), z);
    }
}
