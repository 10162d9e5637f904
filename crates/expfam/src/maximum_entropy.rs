//! Priors that say no more than they are told.
//!
//! | you know | use |
//! |---|---|
//! | the means of some statistics of finitely many values | [`maximum_entropy`] |
//! | the means of the statistics of a family | [`Distribution::from_mean`](crate::Distribution::from_mean): the family's member *is* the law of maximum entropy relative to its base measure |
//! | that a number of a family lies in an interval with some probability | [`maximum_entropy_within`](crate::quantiles::maximum_entropy_within) |

use fenchel_linalg::special::log_sum_exp;
use fenchel_linalg::{Cholesky, Invalid};
use fenchel_optim::{Certificate, Iterative, Report, Status, Stop, run};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::family::dot;

/// The law `p_i ~ q_i exp(<multipliers, t_i>)` on finitely many values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MaximumEntropy {
    /// `p_i`.
    pub probabilities: Vec<f64>,
    /// One a statistic.
    pub multipliers: Vec<f64>,
    /// `KL(p || q)`, in nats: what the means say beyond the base law. Of the uniform base law, the log of the number of values less
    /// the entropy.
    pub divergence: f64,
    /// How the run ended. The norm of its certificate is the distance of the means from those that were asked for.
    pub report: Report,
}

/// The law nearest to `base` (all equal: the law of the largest entropy) whose statistics have the given means: row `i` of
/// `statistics` is `t_i`, of value `i`.
///
/// Newton's method on the dual problem, `minimise log sum_i q_i exp(<l, t_i>) - <l, means>`, with backtracking; O(n k^2) a step. Means
/// that no law with all `p_i > 0` has are found out by multipliers that grow without end: the status is then not
/// [`Status::Converged`].
///
/// # Errors
/// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless all base weights are positive.
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
    let rows: Vec<Vec<f64>> = statistics.rows().into_iter().map(|r| r.to_vec()).collect();
    rows.iter().try_for_each(|row| Invalid::check_finite("statistics", row))?;
    let total: f64 = base.iter().sum();
    let logs: Vec<f64> = base.iter().map(|q| (q / total).ln()).collect();
    // Statistics relative to the means: the gradient at l is then their mean.
    let rows: Vec<Vec<f64>> =
        rows.iter().map(|row| row.iter().zip(means).map(|(t, m)| t - m).collect()).collect();
    let scale = rows.iter().flatten().fold(0.0, |a: f64, t| a.max(t.abs()));
    let mut dual = Dual { logs, rows, multipliers: vec![0.0; means.len()], stalled: false };
    let stop = Stop {
        absolute: 1e-14 * scale.max(f64::MIN_POSITIVE) * means.len() as f64,
        relative: 0.0,
        max_passes: 200.0,
        ..Stop::default()
    };
    let report = run(&mut dual, &stop, &mut ())?;
    let (value, probabilities) = dual.at(&dual.multipliers);
    // At the solution KL = <l, means> - log Z, the dual value.
    Ok(MaximumEntropy { probabilities, multipliers: dual.multipliers, divergence: -value, report })
}

struct Dual {
    logs: Vec<f64>,
    rows: Vec<Vec<f64>>,
    multipliers: Vec<f64>,
    stalled: bool,
}

impl Dual {
    fn at(&self, multipliers: &[f64]) -> (f64, Vec<f64>) {
        let exponents: Vec<f64> =
            self.logs.iter().zip(&self.rows).map(|(q, t)| q + dot(multipliers, t)).collect();
        let value = log_sum_exp(&exponents);
        let p = exponents.iter().map(|e| (e - value).exp()).collect();
        (value, p)
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        let mut mean = vec![0.0; self.multipliers.len()];
        for (p, row) in p.iter().zip(&self.rows) {
            mean.iter_mut().zip(row).for_each(|(m, t)| *m += p * t);
        }
        mean
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
        if solved.is_err() {
            self.stalled = true;
            return 1.0;
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
