//! Gauss rules of any size, from the three-term recurrence of their orthogonal polynomials.

use std::f64::consts::PI;
use std::sync::LazyLock;

use crate::Invalid;

/// The largest rule that can be made. The work is quadratic in the size, and an integrand that needs more nodes is better
/// integrated in pieces.
const LARGEST: usize = 10_000;

/// Nodes and weights of a quadrature rule: `int f(x) w(x) dx` is about `sum_i weights_i f(nodes_i)`. Nodes ascend.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The points at which the integrand is evaluated, ascending.
    pub nodes: Vec<f64>,
    /// The weights, all positive. In rules with hundreds of nodes the weights of extreme nodes may underflow to 0.
    pub weights: Vec<f64>,
}

impl Rule {
    /// `sum_i weights_i f(nodes_i)`.
    pub fn sum(&self, mut f: impl FnMut(f64) -> f64) -> f64 {
        self.nodes.iter().zip(&self.weights).map(|(&x, w)| w * f(x)).sum()
    }

    /// Maps every node `x` to `shift + scale x` and keeps the weights. A rule for `E f(Z)` becomes a rule for `E f(shift +
    /// scale Z)`.
    #[must_use]
    pub fn affine(mut self, shift: f64, scale: f64) -> Self {
        self.nodes.iter_mut().for_each(|x| *x = shift + scale * *x);
        self
    }

    /// Maps a rule on `[-1, 1]` to the interval `[a, b]`.
    #[must_use]
    pub fn between(mut self, a: f64, b: f64) -> Self {
        let half = 0.5 * (b - a);
        self.weights.iter_mut().for_each(|w| *w *= half);
        self.affine(0.5 * (a + b), half)
    }
}

fn check(n: usize) -> Result<(), Invalid> {
    if (1..=LARGEST).contains(&n) {
        return Ok(());
    }
    let expected = "between 1 and 10000 nodes";
    Err(Invalid::Parameter { name: "nodes", value: n as f64, expected })
}

/// The rule of `n` nodes on `[-1, 1]` with weight 1. O(n^2).
///
/// The nodes are the zeros of the Legendre polynomial `P_n`. Newton's method finds the i-th zero from the asymptotic position
/// `cos(pi (i - 1/4) / (n + 1/2))`, from which it converges for every `n`. Nodes and weights have absolute errors of a few
/// times 1e-16.
///
/// # Errors
/// [`Invalid::Parameter`] unless `1 <= n <= 10,000`.
pub fn gauss_legendre(n: usize) -> Result<Rule, Invalid> {
    check(n)?;
    let mut rule = Rule { nodes: vec![0.0; n], weights: vec![0.0; n] };
    for i in 0..n.div_ceil(2) {
        let mut x = (PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        if 2 * i + 1 == n {
            x = 0.0;
        }
        let mut slope = legendre(n, x).1;
        for _ in 0..20 {
            let (value, derivative) = legendre(n, x);
            let step = value / derivative;
            x -= step;
            slope = derivative;
            // Quadratic convergence: what a further step would change is below the last bit.
            if step.abs() <= 1e-9 {
                slope = legendre(n, x).1;
                break;
            }
        }
        let weight = 2.0 / ((1.0 - x) * (1.0 + x) * slope * slope);
        (rule.nodes[i], rule.nodes[n - 1 - i]) = (-x, x);
        (rule.weights[i], rule.weights[n - 1 - i]) = (weight, weight);
    }
    if n % 2 == 1 {
        rule.nodes[n / 2] = 0.0;
    }
    Ok(rule)
}

/// `P_n(x)` and its derivative at an interior point.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut p) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (before, p) = (p, ((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k);
    }
    (p, n as f64 * (before - x * p) / ((1.0 - x) * (1.0 + x)))
}

/// The rule of `n` nodes on the whole axis with weight `e^(-x^2)`. O(n^2).
///
/// # Errors
/// [`Invalid::Parameter`] unless `1 <= n <= 10,000`.
pub fn gauss_hermite(n: usize) -> Result<Rule, Invalid> {
    let rule = gauss_normal(n)?;
    let mut rule = rule.affine(0.0, std::f64::consts::FRAC_1_SQRT_2);
    rule.weights.iter_mut().for_each(|w| *w *= PI.sqrt());
    Ok(rule)
}

/// The rule of `n` nodes for expectations under the standard normal distribution; the weights sum to 1. O(n^2).
///
/// The nodes are the eigenvalues of the Jacobi matrix of the three-term recurrence (Golub and Welsch, *Calculation of Gauss
/// quadrature rules*, 1969). They are found by bisection on its Sturm sequence and Newton's method. The weight of a node `x` is
/// `1 / sum_k p_k(x)^2`, where `p_k` are the orthonormal polynomials of degree below `n`. This formula is accurate at extreme
/// nodes too.
///
/// # Errors
/// [`Invalid::Parameter`] unless `1 <= n <= 10,000`.
pub fn gauss_normal(n: usize) -> Result<Rule, Invalid> {
    check(n)?;
    let mut rule = Rule { nodes: vec![0.0; n], weights: vec![0.0; n] };
    // All zeros of He_n are below 2 sqrt(n); the largest comes first, each is below the one before.
    let mut above = 2.0 * (n as f64).sqrt() + 1.0;
    for i in 0..n.div_ceil(2) {
        let x = if 2 * i + 1 == n { 0.0 } else { zero(n, i, above) };
        let weight = hermite(n, x).weight;
        (rule.nodes[i], rule.nodes[n - 1 - i]) = (-x, x);
        (rule.weights[i], rule.weights[n - 1 - i]) = (weight, weight);
        above = x;
    }
    if n % 2 == 1 {
        rule.nodes[n / 2] = 0.0;
    }
    Ok(rule)
}

/// Finds the zero of `He_n` that has `i` zeros above it. All of those are at least `above`.
fn zero(n: usize, i: usize, above: f64) -> f64 {
    let (mut low, mut high) = (0.0, above);
    // Bisection until the zero is alone in an interval a hundredth of its neighbours' distance wide, which is at least
    // 1 / sqrt(n) everywhere: Newton converges from there.
    let width = 0.01 / (n as f64).sqrt();
    while high - low > width {
        let middle = 0.5 * (low + high);
        if zeros_above(n, middle) > i { low = middle } else { high = middle }
    }
    let mut x = 0.5 * (low + high);
    for _ in 0..5 {
        let step = hermite(n, x).newton;
        x -= step;
        if !(step.abs() > 1e-9) {
            break;
        }
    }
    x
}

/// Counts the zeros of `He_n` above `x` by the sign changes of the Sturm sequence, computed from ratios of its neighbours.
fn zeros_above(n: usize, x: f64) -> usize {
    let (mut count, mut ratio) = (0, x);
    for k in 1..=n {
        if ratio < 0.0 {
            count += 1;
        }
        // A ratio of 0 is a zero that two neighbours do not share; a tiny one gives the same count.
        let divisor = if ratio == 0.0 { 1e-300 } else { ratio };
        ratio = x - k as f64 / divisor;
    }
    count
}

struct Hermite {
    /// `He_n(x) / He_n'(x)`.
    newton: f64,
    /// `1 / sum_(k < n) p_k(x)^2`.
    weight: f64,
}

/// The orthonormal polynomials `p_k = He_k / sqrt(k!)` at `x`, rescaled whenever they become large.
fn hermite(n: usize, x: f64) -> Hermite {
    const LARGE: f64 = 1e100;
    let (mut before, mut p, mut sum, mut scale) = (0.0, 1.0, 0.0, 0);
    for k in 0..n {
        sum += p * p;
        let next = (x * p - (k as f64).sqrt() * before) / ((k + 1) as f64).sqrt();
        (before, p) = (p, next);
        if p.abs() > LARGE {
            (before, p, sum) = (before / LARGE, p / LARGE, sum / LARGE / LARGE);
            scale += 1;
        }
    }
    let weight = (0..2 * scale).fold(1.0 / sum, |w, _| w / LARGE);
    // He_n' = n He_(n-1): p_n' = sqrt(n) p_(n-1).
    Hermite { newton: p / ((n as f64).sqrt() * before), weight }
}

/// `int_0^inf e^f(t) dt` for a concave `f` with `f(0) = 0` that falls, by panels of 16 nodes. `unit` is about the distance over
/// which it falls by 1, and `f` must be smooth on a few units.
pub fn concave_tail(unit: f64, f: impl Fn(f64) -> f64) -> f64 {
    static RULE: LazyLock<Rule> =
        LazyLock::new(|| gauss_legendre(16).expect("16 nodes").between(0.0, 4.0));
    let (mut sum, mut start) = (0.0, 0.0);
    loop {
        let panel = RULE.sum(|u| f(unit * (start + u)).exp());
        sum += panel;
        // The panels fall ever faster, so that the rest is of the size of the last. NaN ends the loop too.
        if !(panel > 1e-17 * sum) {
            return unit * sum;
        }
        start += 4.0;
    }
}
