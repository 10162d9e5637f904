//! The logistic loss.

use fenchel_linalg::special::{sigmoid, softplus, xlogx};
use fenchel_linalg::{Invalid, lanes};

use super::{DOMAIN_SLACK, Loss, check_sign};

/// `log(1 + e^{-yt})` with `y` in {-1, +1}, in nats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logistic;

impl Loss for Logistic {
    const NAME: &'static str = "logistic";

    fn recession(&self, y: f64) -> f64 {
        y
    }

    #[inline]
    fn value(&self, t: f64, y: f64) -> f64 {
        softplus(-y * t)
    }

    #[inline]
    fn derivative(&self, t: f64, y: f64) -> f64 {
        -y * sigmoid(-y * t)
    }

    #[inline]
    fn second(&self, t: f64, _: f64) -> f64 {
        let p = sigmoid(t);
        p * (1.0 - p)
    }

    #[inline]
    fn curvature(&self) -> f64 {
        0.25
    }

    #[inline]
    fn conjugate(&self, u: f64, y: f64) -> f64 {
        let p = -y * u;
        if !(-DOMAIN_SLACK..=1.0 + DOMAIN_SLACK).contains(&p) {
            return f64::INFINITY;
        }
        let p = p.clamp(0.0, 1.0);
        // `1 - p` has no digits of a tiny `p`; its logarithm needs them.
        let other = if p < 1.0 { (1.0 - p) * (-p).ln_1p() } else { 0.0 };
        xlogx(p) + other
    }

    #[inline]
    fn conjugate_derivative(&self, u: f64, y: f64) -> f64 {
        let p = (-y * u).clamp(0.0, 1.0);
        -y * (p.ln() - (-p).ln_1p())
    }

    /// Newton's method for the log-odds `w` of `p = -y u = sigmoid(w)`. This keeps the relative accuracy of a tiny
    /// `p`. The equation is `G(w) = w + y m + q sigmoid(w) = 0`.
    ///
    /// `G` is increasing, convex for `w < 0` and concave for `w > 0`. The sign of `G(0)` determines the side of 0 on
    /// which the root lies. On that side Newton's iteration converges from any point. The first step ends between the
    /// root and 0, or beyond 0, where it is replaced by 0. The further steps are monotone. So no bracket is needed.
    #[inline]
    fn dual_step(&self, m: f64, q: f64, y: f64, guess: f64) -> f64 {
        let z = y * m;
        let positive = z + 0.5 * q < 0.0;
        let onto_side = |w: f64| if (w > 0.0) == positive { w } else { 0.0 };
        let mut w = onto_side(-y * guess);
        // 100 is never reached: a handful of steps from any guess, see the tests.
        for _ in 0..100 {
            let p = sigmoid(w);
            let slope = 1.0 + q * p * (1.0 - p);
            let move_by = (w + z + q * p) / slope;
            // |sigmoid''| <= sigmoid', so the error after a step is at most half its square, and so is the relative one of
            // going to the sigmoid there by its slope here.
            if move_by.abs() <= 1e-8 {
                return -y * (p - move_by * p * (1.0 - p));
            }
            w = onto_side(w - move_by);
        }
        -y * sigmoid(w)
    }

    fn values(&self, margins: &mut [f64], targets: &[f64]) {
        batch(
            margins,
            targets,
            #[inline(always)]
            |t, y| {
                let z = -y * t;
                let e = lanes::exp(-z.abs());
                // ln(1 + e), the rounding of 1 + e put back.
                let rounded = 1.0 + e;
                let positive = if z > 0.0 { z } else { 0.0 };
                positive + (lanes::ln(rounded) + (e - (rounded - 1.0)) / rounded)
            },
        );
    }

    fn derivatives(&self, margins: &mut [f64], targets: &[f64]) {
        batch(
            margins,
            targets,
            #[inline(always)]
            |t, y| {
                let e = lanes::exp(-t.abs());
                let share = if y * t > 0.0 { e } else { 1.0 };
                -y * share / (1.0 + e)
            },
        );
    }

    fn derivatives_and_sum(&self, margins: &mut [f64], targets: &[f64]) -> f64 {
        lanes::run(DerivativesAndSum { margins, targets })
    }

    fn seconds(&self, margins: &mut [f64], targets: &[f64]) {
        batch(
            margins,
            targets,
            #[inline(always)]
            |t, _| {
                let e = lanes::exp(-t.abs());
                e / ((1.0 + e) * (1.0 + e))
            },
        );
    }

    fn conjugates(&self, dual: &mut [f64], targets: &[f64]) {
        batch(
            dual,
            targets,
            #[inline(always)]
            |u, y| {
                let p = -y * u;
                let inside = (p - 0.5).abs() <= 0.5 + DOMAIN_SLACK;
                let p = if p > 0.0 { p } else { 0.0 };
                let p = if p < 1.0 { p } else { 1.0 };
                // p ln p is 0 at 0: `lanes::ln` is finite there.
                let entropy = p * lanes::ln(p) + (1.0 - p) * lanes::ln(1.0 - p);
                if inside { entropy } else { f64::INFINITY }
            },
        );
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        check_sign(row, y)
    }
}

/// Sets `x_i <- f(x_i, y_i)`. The loop vectorises if `f` has no branch.
fn batch<F: Fn(f64, f64) -> f64>(x: &mut [f64], targets: &[f64], f: F) {
    lanes::run(Batch { x, targets, f });
}

struct Batch<'a, F> {
    x: &'a mut [f64],
    targets: &'a [f64],
    f: F,
}

impl<F: Fn(f64, f64) -> f64> lanes::Kernel for Batch<'_, F> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let length = self.x.len().min(self.targets.len());
        let (x, y) = (&mut self.x[..length], &self.targets[..length]);
        for i in 0..length {
            x[i] = (self.f)(x[i], y[i]);
        }
    }
}

/// Sets `t_i <- phi'(t_i)`, and adds up the losses. One logarithm of a product replaces the logarithms of 32 losses.
struct DerivativesAndSum<'a> {
    margins: &'a mut [f64],
    targets: &'a [f64],
}

const WIDTH: usize = 8;
/// The number of factors of a product. Each factor is in [1, 2] and is rounded once.
const FACTORS: usize = 32;
/// If the mean loss is below this, each loss gets a logarithm of its own, because the rounding of a factor (1e-16)
/// would matter.
const SMALL: f64 = 0.01;

impl lanes::Kernel for DerivativesAndSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let length = self.margins.len().min(self.targets.len());
        let mut total = 0.0;
        let mut from = 0;
        while from < length {
            let to = length.min(from + WIDTH * FACTORS);
            total += piece(&mut self.margins[from..to], &self.targets[from..to]);
            from = to;
        }
        total
    }
}

/// Adds at most 256 losses, with one product per vector lane.
#[inline(always)]
fn piece(t: &mut [f64], y: &[f64]) -> f64 {
    let (t, last_t) = t.as_chunks_mut::<WIDTH>();
    let (y, last_y) = y.as_chunks::<WIDTH>();
    let mut sum = Sum { products: [1.0; WIDTH], positive: [0.0; WIDTH] };
    let mut e = [[0.0; WIDTH]; FACTORS + 1];
    for k in 0..t.len() {
        e[k] = eight(&mut t[k], &y[k], &mut sum);
    }
    if !last_t.is_empty() {
        // Filled up with terms that are right by far: e = 0.
        let (mut rest_t, mut rest_y) = ([1e3; WIDTH], [1.0; WIDTH]);
        for l in 0..last_t.len() {
            (rest_t[l], rest_y[l]) = (last_t[l], last_y[l]);
        }
        e[t.len()] = eight(&mut rest_t, &rest_y, &mut sum);
        last_t.copy_from_slice(&rest_t[..last_t.len()]);
    }
    let mut logs = [0.0; WIDTH];
    for l in 0..WIDTH {
        logs[l] = lanes::ln(sum.products[l]);
    }
    let mut log = lanes::sum(&logs);
    if log < SMALL * (WIDTH * t.len() + last_t.len()) as f64 {
        log = e.as_flattened().iter().map(|e| e.ln_1p()).sum();
    }
    log + lanes::sum(&sum.positive)
}

/// `prod (1 + e_i)` and `sum max(-y_i t_i, 0)`, one of each per vector lane.
struct Sum {
    products: [f64; WIDTH],
    positive: [f64; WIDTH],
}

/// Adds eight terms, by `log(1 + exp(-y t)) = max(-y t, 0) + log(1 + e)` with `e = exp(-|t|)`. Returns the `e`.
#[inline(always)]
fn eight(t: &mut [f64; WIDTH], y: &[f64; WIDTH], sum: &mut Sum) -> [f64; WIDTH] {
    let mut e = [0.0; WIDTH];
    for l in 0..WIDTH {
        let z = -y[l] * t[l];
        e[l] = lanes::exp(-z.abs());
        sum.products[l] *= 1.0 + e[l];
        sum.positive[l] += if z > 0.0 { z } else { 0.0 };
        let share = if z > 0.0 { 1.0 } else { e[l] };
        t[l] = -y[l] * share / (1.0 + e[l]);
    }
    e
}
