//! The protocol of a solver: a method says how to move on and what it can prove, [`run`] does the rest.

mod certificate;
mod journal;
mod observer;
mod run;
mod stop;

pub use certificate::Certificate;
pub use journal::Journal;
pub use observer::{Observer, Progress, Trace};
pub use run::{Iterative, run};
pub use stop::{Cadence, Stop, limit};

use serde::{Deserialize, Serialize};

/// How a run ended.
///
/// Ending without convergence is not an error: the point and its certificate are returned all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Status {
    /// The certificate met the tolerance.
    Converged,
    /// `max_passes` were done.
    PassLimit,
    /// `max_seconds` were over.
    TimeLimit,
    /// The method cannot move on in floating point.
    Stalled,
    /// What is left is the noise of a stochastic method at its step size.
    NoiseFloor,
    /// The objective blew up; the best point seen was restored.
    Diverged,
    /// The observer asked to stop.
    Stopped,
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
        })
    }
}

/// The account of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// What is proved about the returned point.
    pub certificate: Certificate,
    /// Passes over the data.
    pub passes: f64,
    /// Evaluations of the method's own oracle.
    pub oracle_calls: u64,
    /// Seconds spent in the method itself; exactly 0 if nobody watched and no time limit was set.
    pub seconds: f64,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} after {:.4} passes", self.status, self.passes)?;
        if self.seconds > 0.0 {
            write!(f, " ({:.3} s)", self.seconds)?;
        }
        write!(f, ": {}", self.certificate)
    }
}

/// A point, and what else a method needs to go on from it as if it had not been interrupted.
///
/// Given back to the same method with the same function and settings (of `stop`, anything may differ), the run goes on bit
/// for bit. Elsewhere it is a warm start at the point, as is a state made from a point alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Resumable<P, T> {
    /// The point.
    pub point: P,
    /// Where the run stood; absent in a state made from a point.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(crate) trail: Option<Box<T>>,
}

impl<P, T> From<P> for Resumable<P, T> {
    fn from(point: P) -> Self {
        Resumable { point, trail: None }
    }
}

impl<P, T> Resumable<P, T> {
    /// The same state in other variables.
    pub fn map<Q>(self, point: impl FnOnce(P) -> Q) -> Resumable<Q, T> {
        Resumable { point: point(self.point), trail: self.trail }
    }
}

/// What a solver returns: the state it ended in, ready to start another run, and the account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Solution<S> {
    /// The final state; pass it as `start` to go on.
    pub state: S,
    /// The account of the run.
    pub report: Report,
}
