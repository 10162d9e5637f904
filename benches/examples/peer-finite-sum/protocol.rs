//! What the script asks, and what it gets.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use fenchel_optim::{Cadence, Certificate, Report, Status, Stop};
use serde::{Deserialize, Serialize};

use crate::files::Data;
use crate::methods::{Method, Penalty, Watch, solve};

/// A question: which method on which problem, and until when.
#[derive(Deserialize)]
pub(crate) struct Request {
    method: Method,
    #[serde(flatten)]
    penalty: Penalty,
    #[serde(flatten)]
    until: Until,
    /// Where the weights go, as raw f64.
    weights: Option<PathBuf>,
}

/// When a solve ends. `relative` is what the caller is after: the estimator chooses its method by it.
#[derive(Deserialize)]
#[serde(tag = "until", rename_all = "kebab-case")]
pub(crate) enum Until {
    /// After so many passes, with a certificate at the end only.
    Passes { passes: f64, relative: f64 },
    /// When the method's own certificate proves this relative suboptimality.
    Proof { relative: f64, max_seconds: f64 },
    /// When this objective has been reached: not for timing, it looks after every pass.
    Objective { objective: f64, relative: f64, max_seconds: f64 },
}

/// An answer.
#[derive(Serialize)]
pub(crate) struct Reply {
    /// From borrowed arrays to weights.
    seconds: f64,
    passes: f64,
    status: Status,
    objective: Option<f64>,
    lower_bound: Option<f64>,
    /// For [`Until::Objective`] the passes at which it was reached.
    met: Option<f64>,
}

/// Solves and times.
pub(crate) fn answer(data: &Data, request: &Request) -> Result<Reply, Box<dyn Error>> {
    let Request { method, penalty, until, weights } = request;
    let stop = Stop { absolute: 0.0, max_passes: f64::INFINITY, ..Stop::default() };
    let start = Instant::now();
    let ((point, report), met) = match *until {
        Until::Passes { passes, relative } => {
            // A cadence of the whole run: no certificate in between.
            let check = Cadence::Every(passes.max(1.0));
            let stop = Stop { relative, max_passes: passes, check, ..stop };
            (solve(data, *method, *penalty, stop, &mut Watch::idle())?, None)
        }
        Until::Proof { relative, max_seconds } => {
            let stop = Stop { relative, max_seconds: Some(max_seconds), ..stop };
            (solve(data, *method, *penalty, stop, &mut Watch::idle())?, None)
        }
        Until::Objective { objective, relative, max_seconds } => {
            let stop = Stop { relative, check: Cadence::Every(1.0), ..stop };
            let mut watch = Watch::new(objective, max_seconds);
            (solve(data, *method, *penalty, stop, &mut watch)?, watch.met)
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    if let Some(path) = weights {
        let bytes: Vec<u8> = point.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(path, bytes)?;
    }
    Ok(reply(seconds, &report, met))
}

fn reply(seconds: f64, report: &Report, met: Option<f64>) -> Reply {
    let lower_bound = match report.certificate {
        Certificate::Gap { lower_bound, .. } => Some(lower_bound),
        _ => None,
    };
    Reply {
        seconds,
        passes: report.passes,
        status: report.status,
        objective: report.certificate.objective(),
        lower_bound,
        met,
    }
}
