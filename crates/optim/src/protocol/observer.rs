//! Observers: callbacks during a run.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{Certificate, Report};

/// The state of a run at a check.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Passes over the data so far.
    pub passes: f64,
    /// Number of evaluations of the method's oracle so far, in the unit of the method.
    pub oracle_calls: u64,
    /// Seconds spent in the method itself; certificates and observers are not counted.
    pub seconds: f64,
    /// The certificate of the current point.
    pub certificate: Certificate,
}

impl Progress {
    /// The progress of a call whose earlier part has this report, if there was one.
    pub fn with_spent(self, part: Option<&Report>) -> Self {
        let Some(part) = part else { return self };
        Progress {
            passes: self.passes + part.passes,
            oracle_calls: self.oracle_calls + part.oracle_calls,
            seconds: self.seconds + part.seconds,
            ..self
        }
    }
}

/// A callback that receives the progress of a run and the method itself at every check, and may end the run.
///
/// An observer does not influence the method: whatever it observes, and however often, all steps are the same. The observer
/// `()` does nothing and costs nothing. Any `FnMut(&Progress, &M) -> ControlFlow<()>` is an observer. A [`Trace`] stores every
/// check, and a pair `(a, b)` calls both of its observers.
pub trait Observer<M: ?Sized> {
    /// Whether this observer uses its calls. If not, checks may be skipped. Asked once, before the run.
    fn watches(&self) -> bool {
        true
    }

    /// Whether [`poll`](Observer::poll) wants to be called. The method then advances by one pass at a time. Asked once, before
    /// the run.
    fn polls(&self) -> bool {
        false
    }

    /// Called at every check, the first time before the first step. `Break` ends the run as `Stopped`.
    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()>;

    /// Called after each pass between checks, for events that cannot wait until the next certificate. The certificate of
    /// `progress` is that of the last check. `Break` ends the run as `Stopped`, after a final certificate.
    fn poll(&mut self, _progress: &Progress, _method: &M) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<M: ?Sized> Observer<M> for () {
    fn watches(&self) -> bool {
        false
    }

    fn observe(&mut self, _: &Progress, _: &M) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<M: ?Sized, F: FnMut(&Progress, &M) -> ControlFlow<()>> Observer<M> for F {
    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        self(progress, method)
    }
}

impl<M: ?Sized, A: Observer<M>, B: Observer<M>> Observer<M> for (A, B) {
    fn watches(&self) -> bool {
        self.0.watches() || self.1.watches()
    }

    fn polls(&self) -> bool {
        self.0.polls() || self.1.polls()
    }

    /// Both observers receive every check, also the one at which the first asks to stop.
    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        let first = self.0.observe(progress, method);
        let second = self.1.observe(progress, method);
        if first.is_break() { first } else { second }
    }

    fn poll(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        let first = self.0.poll(progress, method);
        let second = self.1.poll(progress, method);
        if first.is_break() { first } else { second }
    }
}

/// An observer that stores the history of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// One row per check. The first is from before the first step.
    pub rows: Vec<Progress>,
}

impl Trace {
    /// An empty record.
    pub fn new() -> Self {
        Trace::default()
    }

    /// Pairs `(passes, objective - reference)` of all rows whose objective is known, as a convergence curve.
    pub fn suboptimality(&self, reference: f64) -> Vec<(f64, f64)> {
        self.rows
            .iter()
            .filter_map(|row| Some((row.passes, row.certificate.objective()? - reference)))
            .collect()
    }
}

impl<M: ?Sized> Observer<M> for Trace {
    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        self.rows.push(*progress);
        ControlFlow::Continue(())
    }
}
