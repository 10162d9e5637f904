//! The end of a training: whether its model may be saved, and the message about it.

use fenchel_crf::{Corpus, Report, Status};
use fenchel_optim::Certificate;

use fenchel_cli::Failure;
use fenchel_cli::interrupts::interrupted;

/// Refuses weights that must not replace a good model. These are the weights of a training that diverged, and those of a
/// training that ended before it converged if they are no better than zero weights. `trained`: held-out sequences have chosen
/// weights after the start.
pub(super) fn check_use(report: &Report, trained: bool, corpus: &Corpus) -> Result<(), Failure> {
    let n = corpus.data.sequences() as f64;
    let without = corpus.data.tokens() as f64 * (corpus.labels.len() as f64).ln();
    // The sums are not rounded alike.
    let below = |objective: f64| n * objective < without * (1.0 - 1e-9);
    let better = report.certificate.objective().is_some_and(below);
    match report.status {
        Status::Diverged => Err(Failure::Diverged { report: summed(report, n) }),
        Status::Converged => Ok(()),
        Status::Stopped if better || trained => Ok(()),
        Status::Stopped => Err(Failure::Useless { report: ending(report, n, None), without }),
        _ if better || report.passes == 0.0 => Ok(()),
        _ => Err(Failure::Useless { report: summed(report, n), without }),
    }
}

/// The message about the end of a training.
pub(super) fn ending(report: &Report, n: f64, patience: Option<u32>) -> String {
    let text = summed(report, n);
    let reason = match (report.status, patience) {
        (Status::Stopped, _) if interrupted() => "interrupted".to_owned(),
        (Status::Stopped, Some(checks)) => format!("no better score in {checks} checks, ended"),
        _ => return text,
    };
    text.replacen(&Status::Stopped.to_string(), &reason, 1)
}

/// A report with objectives as sums, like the lines before it.
fn summed(report: &Report, n: f64) -> String {
    let certificate = match report.certificate {
        Certificate::Gap { objective, lower_bound, rounding } => {
            Certificate::gap_within(n * objective, n * lower_bound, n * rounding)
        }
        Certificate::Residual { objective, norm, error, scale } => Certificate::Residual {
            objective: objective.map(|objective| n * objective),
            norm: n * norm,
            error: n * error,
            scale: scale.map(|scale| n * scale),
        },
        Certificate::Uncertified { objective } => {
            Certificate::Uncertified { objective: objective.map(|objective| n * objective) }
        }
    };
    Report { certificate, ..*report }.to_string()
}
