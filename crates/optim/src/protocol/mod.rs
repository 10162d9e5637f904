//! The interface of a solver: a method says how to take a step and what it can prove, and [`run`] does the rest.

mod average;
mod certificate;
mod clock;
mod fit;
mod guard;
mod observer;
mod run;
mod stop;

pub use average::{Average, RunningMean};
pub use certificate::Certificate;
pub use clock::{Budget, Clock, Wall};
pub use fit::{Fit, Placement, SharedWatch, Watch, Whole};
pub use observer::{Observer, Progress, Trace};
pub use run::{CertificateCost, Iterative, run, run_by};
pub use stop::{Cadence, Stop, limit};

use fenchel_linalg::text;
use serde::{Deserialize, Serialize};

/// How a run ended.
///
/// Ending without convergence is not an error: the point and its certificate are returned in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Status {
    /// The certificate is within the tolerance.
    Converged,
    /// `max_passes` were done.
    PassLimit,
    /// `max_seconds` were over.
    TimeLimit,
    /// No progress is possible in floating point.
    Stalled,
    /// The remaining suboptimality is the noise of a stochastic method at its step size.
    NoiseFloor,
    /// The objective diverged; the best point so far was restored.
    Diverged,
    /// The observer asked to stop.
    Stopped,
    /// No minimiser exists: the objective decreases without end along the returned point, or along a direction derived from it.
    /// Without a penalty this happens for the logistic loss on data that a hyperplane separates, even if some rows lie on the
    /// hyperplane. With labels of one class it happens under any penalty, along an intercept, which is not penalised.
    NoMinimiser,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Converged => "converged",
            Status::PassLimit => "pass limit reached",
            Status::TimeLimit => "time limit reached",
            Status::Stalled => "stalled at working precision",
            Status::NoiseFloor => "at the noise floor",
            Status::Diverged => "diverged",
            Status::Stopped => "stopped by the observer",
            Status::NoMinimiser => "no minimiser exists",
        })
    }
}

/// The summary of a run.
///
/// `seconds` differ from run to run. They are not saved (0 after loading) and not compared, so that equal runs have equal files
/// and equal reports.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// The certificate of the returned point.
    pub certificate: Certificate,
    /// Passes over the data.
    pub passes: f64,
    /// Number of evaluations of the method's oracle.
    pub oracle_calls: u64,
    /// Seconds spent in the method itself; certificates and observers are not counted.
    #[serde(skip)]
    pub seconds: f64,
}

impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        let determined = |of: &Self| (of.status, of.certificate, of.passes, of.oracle_calls);
        determined(self) == determined(other)
    }
}

impl Report {
    /// The same report with `seconds` set to 0. All that remains is determined by the seed.
    pub fn without_seconds(self) -> Self {
        Report { seconds: 0.0, ..self }
    }

    /// This report with the passes, oracle calls and seconds of another part of the call, if there was one. Status and
    /// certificate stay.
    pub fn with_spent(self, part: Option<&Report>) -> Self {
        let Some(part) = part else { return self };
        Report {
            passes: self.passes + part.passes,
            oracle_calls: self.oracle_calls + part.oracle_calls,
            seconds: self.seconds + part.seconds,
            ..self
        }
    }
}

/// In a line: how it ended, the certificate, passes and time.
impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Report { status, certificate, passes, seconds, .. } = self;
        let passes = text::short(*passes);
        write!(
            f,
            "{status}: {certificate}, {passes} pass{}",
            if passes == "1" { "" } else { "es" }
        )?;
        // A loaded report does not know its seconds.
        if *seconds > 0.0 { write!(f, ", {}", text::seconds(*seconds)) } else { Ok(()) }
    }
}

/// The result of a solver: its final state and its report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Solution<S> {
    /// The final state. Passed as the `start` of another run, on this problem or a similar one, it is a warm start.
    pub state: S,
    /// The summary of the run.
    pub report: Report,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_shown_without_zeros() {
        let shown = |passes| {
            let certificate = Certificate::Uncertified { objective: None };
            let status = Status::TimeLimit;
            Report { status, certificate, passes, oracle_calls: 0, seconds: 0.0 }.to_string()
        };
        assert_eq!(shown(138.0), "time limit reached: no certificate, 138 passes");
        assert!(shown(1.0).ends_with(", 1 pass") && shown(0.0).ends_with(", 0 passes"));
        assert!(shown(100.0).ends_with(", 100 passes") && shown(2.5).ends_with(", 2.5 passes"));
        assert!(shown(0.123_456).ends_with(", 0.1235 passes"));
    }

    #[test]
    fn a_report_is_a_line_for_people() {
        let certificate = Certificate::gap(1_647.297_51, 1_647.142_51);
        let (status, passes) = (Status::Converged, 10.0);
        let report = Report { status, certificate, passes, oracle_calls: 0, seconds: 0.173 };
        assert_eq!(
            report.to_string(),
            "converged: objective 1647.30, gap 0.155 (relative 9.4e-5), 10 passes, 0.17 s"
        );
        // What is proved more exactly is shown more exactly.
        let certificate = Certificate::gap(2.0, 2.0 - 4e-9);
        assert_eq!(certificate.to_string(), "objective 2.000000000, gap 4.00e-9 (relative 2.0e-9)");
        let certificate =
            Certificate::Residual { objective: Some(-0.5), norm: 1e-7, error: 0.0, scale: None };
        assert_eq!(certificate.to_string(), "objective -0.500000, residual 1.0e-7");
    }

    #[test]
    fn seconds_are_neither_saved_nor_compared() {
        let (status, certificate) = (Status::Converged, Certificate::gap(2.0, 1.5));
        let report =
            |seconds| Report { status, certificate, passes: 3.0, oracle_calls: 4, seconds };
        let text = |report: Report| serde_json::to_string(&report).unwrap();
        assert_eq!(text(report(1.5)), text(report(2.5)));
        let loaded: Report = serde_json::from_str(&text(report(1.5))).unwrap();
        assert_eq!((loaded, loaded.seconds), (report(1.5), 0.0));
        assert_ne!(loaded, Report { passes: 4.0, ..loaded });
    }
}
