//! Priors of maximum entropy under given constraints.
//!
//! | you know | use |
//! |---|---|
//! | the means of some statistics of finitely many values | [`maximum_entropy`] |
//! | the means of the statistics of a family | [`Distribution::from_mean`](crate::distribution::Distribution::from_mean): the family's member *is* the law of maximum entropy relative to its base measure |
//! | that a number of a family lies in an interval with some probability | [`maximum_entropy_within`](crate::quantiles::maximum_entropy_within) |

use fenchel_linalg::special::{kl, log_sum_exp, softmax_in_place};
use fenchel_linalg::{Cholesky, Invalid};
use fenchel_optim::{Certificate, Iterative, Report, Status, Stop, run};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::divergence::dot;
use crate::error::Error;

/// The law `p_i ~ q_i exp(<multipliers, t_i>)` on finitely many values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MaximumEntropy {
    /// `p_i`.
    pub probabilities: Vec<f64>,
    /// One multiplier per statistic.
    pub multipliers: Vec<f64>,
    /// `KL(p || q)` from the base law `q`, in nats: the information in the constraints. If the base law is uniform, it
    /// is the log of the number of values minus the entropy of `p`.
    pub divergence: f64,
    /// How the run ended. The norm of the certificate is the distance between the means of the solution and the
    /// requested means, with each statistic divided by its own size.
    pub report: Report,
}

/// The law that has the given means of statistics and the smallest divergence from `base`. With a uniform `base` it is
/// the law of maximum entropy. Row `i` of `statistics` has the statistics of value `i`.
///
/// The method is Newton's method with backtracking on the dual problem,
/// `minimise log sum_i q_i exp(<l, t_i>) - <l, means>`. A step costs O(n k^2) for `n` values and `k` statistics. If no
/// law with all `p_i > 0` has the given means, the multipliers grow without bound. The status is then
/// [`Status::NoMinimiser`] if the multipliers prove it, and [`Status::Stalled`] or [`Status::PassLimit`] otherwise; the
/// returned law is the last iterate. Statistics may have any units.
///
/// # Errors
/// [`Invalid::Length`]; [`Invalid::NonFinite`], of multipliers as well, where a unit is so small that they overflow;
/// [`Invalid::Parameter`] unless all base weights are positive.
///
/// ```
/// use fenchel_expfam::maximum_entropy::maximum_entropy;
/// use ndarray::Array2;
///
/// // A die whose mean is 4.5 (E. T. Jaynes).
/// let faces = Array2::from_shape_fn((6, 1), |(i, _)| i as f64 + 1.0);
/// let die = maximum_entropy(&[1.0; 6], faces.view(), &[4.5])?;
/// assert!((die.probabilities[5] - 0.347_494).abs() < 1e-6);
/// # Ok::<(), fenchel_expfam::Error>(())
/// ```
pub fn maximum_entropy(
    base: &[f64],
    statistics: ArrayView2<f64>,
    means: &[f64],
) -> Result<MaximumEntropy, Error> {
    Invalid::check_length("statistics (rows)", base.len(), statistics.nrows())?;
    Invalid::check_length("means", statistics.ncols(), means.len())?;
    Invalid::check_finite("means", means)?;
    if base.is_empty() || means.is_empty() {
        return Err(Invalid::Empty { what: "statistics" }.into());
    }
    base.iter().try_for_each(|&q| Invalid::check_positive("base weight", q))?;
    statistics
        .rows()
        .into_iter()
        .try_for_each(|row| Invalid::check_finite("statistics", &row.to_vec()))?;
    let mut logs: Vec<f64> = base.iter().map(|q| q.ln()).collect();
    let total = log_sum_exp(&logs);
    logs.iter_mut().for_each(|q| *q -= total);
    // Statistics relative to the means, each in a unit of its own, by powers of 2: the gradient at l is then their mean.
    let mut rows = vec![vec![0.0; means.len()]; base.len()];
    let mut units = vec![1.0; means.len()];
    for (j, (column, &mean)) in statistics.columns().into_iter().zip(means).enumerate() {
        let size = power_of_two(column.iter().fold(mean.abs(), |a, t| a.max(t.abs())));
        let relative = |t: f64| t / size - mean / size;
        let spread = power_of_two(column.iter().fold(0.0, |a: f64, &t| a.max(relative(t).abs())));
        rows.iter_mut().zip(&column).for_each(|(row, &t)| row[j] = relative(t) / spread);
        units[j] = size * spread;
    }
    let mut dual =
        Dual { logs, rows, multipliers: vec![0.0; means.len()], moved: 0.0, stalled: false };
    // Exponents carry the rounding of the logs of the base law.
    let steep = dual.logs.iter().fold(1.0, |a: f64, q| a.max(q.abs()));
    let stop = Stop {
        absolute: 1e-14 * steep * means.len() as f64,
        relative: 0.0,
        max_passes: 200.0,
        ..Stop::default()
    };
    let mut report = run(&mut dual, &stop, &mut ())?;
    if dual.separates() {
        report.status = Status::NoMinimiser;
    } else if report.status == Status::Converged {
        let multipliers = dual.multipliers.clone();
        dual.advance(1.0);
        dual.multipliers = multipliers;
        // On the border every step multiplies the probabilities outside of it by another 1/e: the means never are those asked for.
        if dual.moved > 0.1 {
            report.status = Status::Stalled;
        }
    }
    let probabilities = dual.at(&dual.multipliers).1;
    let base: Vec<f64> = dual.logs.iter().map(|q| q.exp()).collect();
    // A base probability may underflow beside others, its logarithm does not.
    let divergence = match base.contains(&0.0) {
        false => kl(&probabilities, &base),
        true => {
            let terms = probabilities.iter().zip(&dual.logs).filter(|(p, _)| **p > 0.0);
            terms.map(|(p, q)| p * (p.ln() - q)).sum::<f64>().max(0.0)
        }
    };
    let multipliers: Vec<f64> = dual.multipliers.iter().zip(&units).map(|(l, u)| l / u).collect();
    Invalid::check_finite("multipliers (statistics of so small a unit)", &multipliers)?;
    Ok(MaximumEntropy { probabilities, multipliers, divergence, report })
}

/// The power of 2 at or below a number; 1 for 0.
fn power_of_two(x: f64) -> f64 {
    if x > 0.0 { 2f64.powi(x.log2().floor().clamp(-1022.0, 1023.0) as i32) } else { 1.0 }
}

/// The largest change of an exponent per step. Far from the optimum the quadratic model does not determine a step
/// length.
const LONGEST: f64 = 30.0;

struct Dual {
    logs: Vec<f64>,
    rows: Vec<Vec<f64>>,
    multipliers: Vec<f64>,
    /// The largest change of an exponent that the last full step asked for.
    moved: f64,
    stalled: bool,
}

impl Dual {
    fn at(&self, multipliers: &[f64]) -> (f64, Vec<f64>) {
        let mut p: Vec<f64> =
            self.logs.iter().zip(&self.rows).map(|(q, t)| q + dot(multipliers, t)).collect();
        let value = log_sum_exp(&p);
        softmax_in_place(&mut p);
        (value, p)
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        let mut mean = vec![0.0; self.multipliers.len()];
        for (p, row) in p.iter().zip(&self.rows) {
            mean.iter_mut().zip(row).for_each(|(m, t)| *m += p * t);
        }
        mean
    }

    /// Whether the multipliers prove that no law with all `p_i > 0` has these means. They do if, along the multipliers,
    /// the statistics of all values are at most the mean, and those of some values are below it.
    fn separates(&self) -> bool {
        let mut below = false;
        let rounding = 4.0 * f64::EPSILON * self.multipliers.len() as f64;
        let none_above = self.rows.iter().all(|row| {
            let along = dot(&self.multipliers, row);
            let size: f64 = row.iter().zip(&self.multipliers).map(|(t, l)| (t * l).abs()).sum();
            below |= along < 0.0;
            along + rounding * size <= 0.0
        });
        none_above && below
    }
}

impl Iterative for Dual {
    fn advance(&mut self, _: f64) -> f64 {
        let (value, p) = self.at(&self.multipliers);
        let (gradient, k) = (self.gradient(&p), self.multipliers.len());
        let mut hessian = vec![0.0; k * k];
        for (p, row) in p.iter().zip(&self.rows) {
            for i in 0..k {
                for j in 0..k {
                    hessian[i * k + j] += p * (row[i] - gradient[i]) * (row[j] - gradient[j]);
                }
            }
        }
        let mut step = gradient.clone();
        let solved = Cholesky::with_ridge(&hessian, k).and_then(|f| f.solve_in_place(&mut step));
        let largest =
            |step: &[f64]| self.rows.iter().map(|row| dot(step, row).abs()).fold(0.0, f64::max);
        self.moved = largest(&step);
        // Without any curvature, all of the mass at one value, the gradient shows the way.
        if solved.is_err() || !self.moved.is_finite() {
            step.copy_from_slice(&gradient);
            self.moved = f64::INFINITY;
        }
        if self.moved > LONGEST {
            let shorter = LONGEST / largest(&step);
            step.iter_mut().for_each(|s| *s *= shorter);
        }
        let decrease = dot(&step, &gradient);
        let mut size = 1.0;
        for _ in 0..60 {
            let next: Vec<f64> =
                self.multipliers.iter().zip(&step).map(|(l, s)| l - size * s).collect();
            let after = self.at(&next).0;
            if after <= value - 1e-4 * size * decrease || decrease < 1e-13 {
                self.stalled = next == self.multipliers;
                self.multipliers = next;
                return 1.0;
            }
            size *= 0.5;
        }
        self.stalled = true;
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let (value, p) = self.at(&self.multipliers);
        let gradient = self.gradient(&p);
        Certificate::residual(value, dot(&gradient, &gradient).sqrt(), 0.0)
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
