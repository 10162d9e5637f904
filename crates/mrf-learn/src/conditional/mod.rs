//! Estimators based on conditional distributions. They need neither the partition function nor sampling.
//!
//! | estimator | objective | for |
//! |---|---|---|
//! | [`PseudoLikelihood`] | all conditionals at once, one shared coupling per pair | the usual choice for large p |
//! | [`NodewiseLogistic`] | one l1 logistic regression per variable, then AND or OR | graph recovery, in parallel |
//! | [`InteractionScreening`] | `mean exp(-energy)` of a spin, or its logarithm | graph recovery at low temperature |
//!
//! All three estimators are consistent. Their objectives differ from the likelihood, so with the same `lambda` they
//! keep different edges. An edge enters two conditionals, so near independence the pseudo-likelihood gradient of a
//! coupling is twice that of the likelihood. [`EdgeWeight::Two`] doubles `lambda` for couplings to compensate for this.

mod nodewise;
mod pseudo;
mod screening;

pub use nodewise::{NodewiseLogistic, Rule};
pub use pseudo::{EdgeWeight, PseudoLikelihood};
pub use screening::{InteractionScreening, ScreeningObjective};

use fenchel_optim::{Certificate, Report, Status};
use serde::{Deserialize, Serialize};

use crate::coordinates::{packed_length, pair_index};

/// The problem of one variable, as node-wise methods solve it before they combine the answers into one network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// The bias of the variable: of states 0 and 1 for [`NodewiseLogistic`], of spins for [`InteractionScreening`].
    pub bias: f64,
    /// The coefficient of every variable, in the same states; that of the variable itself is 0.
    pub couplings: Vec<f64>,
    /// The report on this problem; `None` where nothing was solved, as for a constant column.
    pub report: Option<Report>,
}

/// Combines node-wise regressions into one set of parameters.
pub(crate) fn symmetrise(rows: &[Regression], rule: Rule) -> Vec<f64> {
    let p = rows.len();
    let mut theta = vec![0.0; packed_length(p)];
    for i in 0..p {
        theta[pair_index(i, i, p)] = rows[i].bias;
        for j in i + 1..p {
            let (a, b) = (rows[i].couplings[j], rows[j].couplings[i]);
            theta[pair_index(i, j, p)] = match rule {
                Rule::And if a == 0.0 || b == 0.0 => 0.0,
                Rule::Or if a == 0.0 => b,
                Rule::Or if b == 0.0 => a,
                Rule::And | Rule::Or => 0.5 * (a + b),
            };
        }
    }
    theta
}

/// One report for many independent problems. It has the sums over the problems, including the seconds (those of a
/// single core), and the worst status. If one problem is uncertified, so is the sum.
pub(crate) fn combine(regressions: &[Regression]) -> Report {
    let reports: Vec<&Report> = regressions.iter().filter_map(|r| r.report.as_ref()).collect();
    let mut objective = 0.0;
    let mut value = 0.0;
    let mut gaps = true;
    for report in &reports {
        objective += report.certificate.objective().unwrap_or(f64::NAN);
        value += report.certificate.value();
        gaps &= matches!(report.certificate, Certificate::Gap { .. });
    }
    let certificate = if gaps {
        Certificate::gap(objective, objective - value)
    } else {
        Certificate::residual(objective, value, 0.0)
    };
    let unfinished = reports.iter().find(|report| report.status != Status::Converged);
    Report {
        status: unfinished.map_or(Status::Converged, |report| report.status),
        certificate,
        passes: reports.iter().map(|report| report.passes).fold(0.0, f64::max),
        oracle_calls: reports.iter().map(|report| report.oracle_calls).sum(),
        seconds: reports.iter().map(|report| report.seconds).sum(),
    }
}

/// Applies a function to `0..n`, on all cores where the feature `parallel` is on; the results are in order.
pub(crate) fn for_all<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        (0..n).into_par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    (0..n).map(f).collect()
}
