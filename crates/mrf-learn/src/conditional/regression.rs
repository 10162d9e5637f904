//! The problems of single variables, and their combination into one network.

use fenchel_optim::{Certificate, Report, Status};
use serde::{Deserialize, Serialize};

use crate::layout::{packed_length, pair_index};

/// How the two estimates of a coupling, one from each regression, are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// An edge needs both regressions; its coupling is their mean.
    #[default]
    And,
    /// An edge needs one of the two regressions; if both have it, the coupling is their mean.
    Or,
}

/// The problem of one variable, as node-wise methods solve it before they combine the answers into one network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// The bias of the variable: of states 0 and 1 for [`NodewiseLogistic`](crate::NodewiseLogistic), of spins for
    /// [`InteractionScreening`](crate::InteractionScreening).
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
/// single core), and the status of the first problem that has not converged. Gaps add up to a gap, residuals to a
/// residual. If one problem is uncertified, or if both kinds occur, the sum is uncertified. The tolerance is that of a
/// single problem, so that the sum may exceed it.
pub(crate) fn combine(regressions: &[Regression]) -> Report {
    let reports: Vec<&Report> = regressions.iter().filter_map(|r| r.report.as_ref()).collect();
    let mut certificates = reports.iter().map(|report| report.certificate);
    let first = certificates.next().unwrap_or(Certificate::gap(0.0, 0.0));
    let certificate = certificates.fold(first, |sum, one| match (sum, one) {
        (
            Certificate::Gap { objective: f, lower_bound: g, rounding: e },
            Certificate::Gap { objective, lower_bound, rounding },
        ) => Certificate::gap_within(f + objective, g + lower_bound, e + rounding),
        (
            Certificate::Residual { objective: f, norm: n, error: e, scale: s },
            Certificate::Residual { objective, norm, error, scale },
        ) => {
            let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
            let (objective, scale) = (both(f, objective), both(s, scale));
            Certificate::Residual { objective, norm: n + norm, error: e + error, scale }
        }
        (a, b) => {
            let objective = a.objective().zip(b.objective()).map(|(a, b)| a + b);
            Certificate::Uncertified { objective }
        }
    });
    let unfinished = reports.iter().find(|report| report.status != Status::Converged);
    Report {
        status: unfinished.map_or(Status::Converged, |report| report.status),
        certificate,
        passes: reports.iter().map(|report| report.passes).fold(0.0, f64::max),
        oracle_calls: reports.iter().map(|report| report.oracle_calls).sum(),
        seconds: reports.iter().map(|report| report.seconds).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(certificates: &[Certificate]) -> Certificate {
        let report = |&certificate| Report {
            status: Status::Converged,
            certificate,
            passes: 1.0,
            oracle_calls: 1,
            seconds: 0.0,
        };
        let one = |certificate| Regression {
            bias: 0.0,
            couplings: Vec::new(),
            report: Some(report(certificate)),
        };
        combine(&certificates.iter().map(one).collect::<Vec<_>>()).certificate
    }

    /// Gaps and residuals keep their kind and scale; what cannot be added proves nothing.
    #[test]
    fn sums_of_certificates_are_of_one_kind() {
        let gap = Certificate::gap(3.0, 1.0);
        let residual = Certificate::residual(2.0, 0.5, 0.25).on_scale(4.0);
        assert_eq!(sum(&[]), Certificate::gap(0.0, 0.0));
        assert_eq!(sum(&[gap, gap]), Certificate::gap(6.0, 2.0));
        assert_eq!(sum(&[residual, residual]), Certificate::residual(4.0, 1.0, 0.5).on_scale(8.0));
        let nothing = Certificate::Uncertified { objective: Some(5.0) };
        assert_eq!(sum(&[gap, residual]), nothing);
        assert_eq!(sum(&[nothing, gap]), Certificate::Uncertified { objective: Some(8.0) });
    }
}
