//! Storage formats for the probabilities of pairs.

use fenchel_linalg::lanes;
use serde::{Deserialize, Serialize};

/// A storage format for probabilities: `f64`, `f32` (half the memory) or [`LogF64`] (no underflow).
///
/// The functions over slices are the inner loops of [`ChainMarginals`](super::ChainMarginals). They vectorise, and their bits
/// do not depend on the instruction set. The trait is not meant to be implemented elsewhere.
pub trait Probability:
    Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static
{
    /// Whether values are logarithms, so that inference has to stay in the log domain.
    const LOG: bool;

    /// Relative rounding error of a stored value beyond that of `f64`.
    const ROUNDING: f64 = 0.0;

    /// The stored form of `p`.
    fn from_linear(p: f64) -> Self;

    /// The stored form of `e^l`.
    fn from_log(l: f64) -> Self;

    /// The probability.
    fn linear(self) -> f64;

    /// Its logarithm; `-inf` or a very negative number for 0.
    fn log(self) -> f64;

    /// Sums over the entries of `m = (1 - step) p + step q` with `d = q - p`.
    fn line_terms(p: &[Self], q: &[Self], step: f64) -> LineTerms;

    /// `p <- (1 - step) p + step q`.
    fn mix(p: &mut [Self], q: &[Self], step: f64);

    /// `out += q - p` entry by entry.
    fn add_difference(p: &[Self], q: &[Self], out: &mut [f64]);

    /// `-sum p log p`.
    fn entropy(p: &[Self]) -> f64;

    /// `sum p log(p / q)`, infinite where only `q` is 0.
    fn divergence(p: &[Self], q: &[Self]) -> f64 {
        p.iter().zip(q).map(|(p, q)| relative(p.linear(), p.log(), q.linear(), q.log())).sum()
    }
}

fn relative(p: f64, log_p: f64, q: f64, log_q: f64) -> f64 {
    match (p > 0.0, q > 0.0) {
        (false, _) => 0.0,
        (true, false) => f64::INFINITY,
        (true, true) => p * (log_p - log_q),
    }
}

/// The entropy and its derivatives at `m = (1 - step) p + step q`, with `d = q - p`, for a line search.
///
/// The entropy of `m` has the derivatives `-slope` and `-curvature` in `step`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LineTerms {
    /// `sum d log m` over the cliques, minus the same sum over the separators.
    pub slope: f64,
    /// `sum d^2 / m` over the cliques, minus the same sum over the separators.
    pub curvature: f64,
    /// `-sum m log m` over the cliques, minus the same sum over the separators.
    pub entropy: f64,
}

impl LineTerms {
    /// The terms of the cliques minus those of the separators.
    pub fn minus(self, other: LineTerms) -> LineTerms {
        LineTerms {
            slope: self.slope - other.slope,
            curvature: self.curvature - other.curvature,
            entropy: self.entropy - other.entropy,
        }
    }
}

/// Adds the terms of one group of lanes to the running sums of slope, curvature and entropy.
macro_rules! add_terms {
    ($t:ty, $ln:path, $floor:expr, $lanes:literal, $pair:expr, $weights:expr, $sums:ident) => {{
        let (p, q): (&[$t; $lanes], &[$t; $lanes]) = $pair;
        let (step, rest) = $weights;
        for l in 0..$lanes {
            let d = q[l] - p[l];
            let m = rest * p[l] + step * q[l];
            // No branch for zeros: d = 0 wherever m = 0.
            let m = if m > $floor { m } else { $floor };
            let log = $ln(m);
            $sums[0][l] += d * log;
            $sums[1][l] += d * d / m;
            $sums[2][l] -= m * log;
        }
    }};
}

/// The loops for `f64` and `f32`, with `$lanes` running sums that are added to `f64` sums after every `$block` entries.
macro_rules! linear_storage {
    ($t:ty, $ln:path, $floor:expr, $lanes:literal, $block:literal, $rounding:expr) => {
        impl Probability for $t {
            const LOG: bool = false;
            const ROUNDING: f64 = $rounding;

            #[inline(always)]
            fn from_linear(p: f64) -> Self {
                p as $t
            }

            #[inline(always)]
            fn from_log(l: f64) -> Self {
                lanes::exp(l) as $t
            }

            #[inline(always)]
            fn linear(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn log(self) -> f64 {
                f64::from(self).ln()
            }

            fn line_terms(p: &[Self], q: &[Self], step: f64) -> LineTerms {
                lanes::run(OnLine { p, q, step })
            }

            fn mix(p: &mut [Self], q: &[Self], step: f64) {
                let (step, rest) = (step as $t, (1.0 - step) as $t);
                lanes::dispatch(|| {
                    for (p, q) in p.iter_mut().zip(q) {
                        *p = rest * *p + step * *q;
                    }
                });
            }

            #[inline(always)]
            fn add_difference(p: &[Self], q: &[Self], out: &mut [f64]) {
                for ((out, p), q) in out.iter_mut().zip(p).zip(q) {
                    *out += f64::from(*q - *p);
                }
            }

            fn entropy(p: &[Self]) -> f64 {
                lanes::run(OnLine { p, q: p, step: 0.0 }).entropy
            }
        }

        impl lanes::Kernel for OnLine<'_, $t> {
            type Output = LineTerms;

            #[inline(always)]
            fn compute(self) -> LineTerms {
                let (step, rest) = (self.step as $t, (1.0 - self.step) as $t);
                let length = self.p.len().min(self.q.len());
                let mut total = LineTerms::default();
                let mut from = 0;
                while from < length {
                    let to = (from + $block).min(length);
                    let mut sums = [[0.0; $lanes]; 3];
                    let (ps, p_rest) = self.p[from..to].as_chunks::<$lanes>();
                    let (qs, q_rest) = self.q[from..to].as_chunks::<$lanes>();
                    for i in 0..ps.len() {
                        add_terms!($t, $ln, $floor, $lanes, (&ps[i], &qs[i]), (step, rest), sums);
                    }
                    if !p_rest.is_empty() {
                        let (mut p, mut q) = ([0.0; $lanes], [0.0; $lanes]);
                        for l in 0..p_rest.len() {
                            (p[l], q[l]) = (p_rest[l], q_rest[l]);
                        }
                        add_terms!($t, $ln, $floor, $lanes, (&p, &q), (step, rest), sums);
                    }
                    total.slope += join(&sums[0]);
                    total.curvature += join(&sums[1]);
                    total.entropy += join(&sums[2]);
                    from = to;
                }
                total
            }
        }
    };
}

/// Two distributions and a position on the line between them.
struct OnLine<'a, T> {
    p: &'a [T],
    q: &'a [T],
    step: f64,
}

linear_storage!(f64, lanes::ln, 1e-300, 16, 4096, 0.0);
linear_storage!(f32, lanes::ln_f32, 1e-37, 32, 512, 6e-8);

/// Adds up lanes in a fixed order, in double precision.
#[inline(always)]
fn join<T: Copy + Into<f64>, const N: usize>(lanes: &[T; N]) -> f64 {
    let mut sums = [0.0_f64; 8];
    for (l, &lane) in lanes.iter().enumerate() {
        sums[l % 8] += lane.into();
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// A probability stored as its logarithm in double precision. It is slow and cannot underflow, and serves for cross-checks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogF64(pub f64);

impl Default for LogF64 {
    /// Probability 0.
    fn default() -> Self {
        LogF64(f64::NEG_INFINITY)
    }
}

impl Probability for LogF64 {
    const LOG: bool = true;

    fn from_linear(p: f64) -> Self {
        LogF64(p.ln())
    }

    fn from_log(l: f64) -> Self {
        LogF64(l)
    }

    fn linear(self) -> f64 {
        self.0.exp()
    }

    fn log(self) -> f64 {
        self.0
    }

    fn line_terms(p: &[Self], q: &[Self], step: f64) -> LineTerms {
        let mut total = LineTerms::default();
        for (&p, &q) in p.iter().zip(q) {
            let log = mix_logs(p.0, q.0, step);
            if log == f64::NEG_INFINITY {
                continue;
            }
            let d = q.linear() - p.linear();
            total.slope += d * log;
            // d^2 / m = d (d / m), and d / m stays in range when m does not.
            total.curvature += d * ((q.0 - log).exp() - (p.0 - log).exp());
            total.entropy -= log.exp() * log;
        }
        total
    }

    fn mix(p: &mut [Self], q: &[Self], step: f64) {
        for (p, q) in p.iter_mut().zip(q) {
            p.0 = mix_logs(p.0, q.0, step);
        }
    }

    fn add_difference(p: &[Self], q: &[Self], out: &mut [f64]) {
        for ((out, p), q) in out.iter_mut().zip(p).zip(q) {
            *out += q.linear() - p.linear();
        }
    }

    fn entropy(p: &[Self]) -> f64 {
        p.iter().filter(|p| p.0 > f64::NEG_INFINITY).map(|p| -p.linear() * p.0).sum()
    }

    fn divergence(p: &[Self], q: &[Self]) -> f64 {
        let term = |p: &LogF64, q: &LogF64| match (p.0 == f64::NEG_INFINITY, q.0) {
            (true, _) => 0.0,
            (false, f64::NEG_INFINITY) => f64::INFINITY,
            (false, log_q) => p.linear() * (p.0 - log_q),
        };
        p.iter().zip(q).map(|(p, q)| term(p, q)).sum()
    }
}

/// `log((1 - step) e^p + step e^q)`.
fn mix_logs(p: f64, q: f64, step: f64) -> f64 {
    fenchel_linalg::special::log_add_exp((-step).ln_1p() + p, step.ln() + q)
}
