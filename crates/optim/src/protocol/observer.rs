//! Watching a run.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::Certificate;

/// A row of the record of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Passes over the data so far.
    pub passes: f64,
    /// Evaluations of the method's own oracle so far, in the method's unit.
    pub oracle_calls: u64,
    /// Seconds spent in the method itself; certificates and observers are not counted.
    pub seconds: f64,
    /// What is proved about the current point.
    pub certificate: Certificate,
}

/// Sees the progress of a run and the method itself at every check, and may end it.
///
/// An observer only watches: what it sees, and how often, changes no step of the method. `()` watches nothing and costs
/// nothing. Any `FnMut(&Progress, &M) -> ControlFlow<()>` is an
/// observer, a [`Trace`] keeps the record, and a pair `(a, b)` is both.
pub trait Observer<M: ?Sized> {
    /// Whether anyone watches: if not, checks may be skipped.
    const WATCHES: bool = true;

    /// Whether [`poll`](Observer::poll) wants to be called: the method then moves on by a pass at a time.
    const POLLS: bool = false;

    /// Called at every check, first before the method has moved; `Break` ends the run as `Stopped`.
    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()>;

    /// Called between checks, after each pass: for what cannot wait until the next certificate. `Break` ends the run as
    /// `Stopped`, after a last certificate.
    fn poll(&mut self, _method: &M) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<M: ?Sized> Observer<M> for () {
    const WATCHES: bool = false;

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
    const WATCHES: bool = A::WATCHES || B::WATCHES;
    const POLLS: bool = A::POLLS || B::POLLS;

    /// Both see every row, also the one at which the first asks to stop.
    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        let first = self.0.observe(progress, method);
        let second = self.1.observe(progress, method);
        if first.is_break() { first } else { second }
    }

    fn poll(&mut self, method: &M) -> ControlFlow<()> {
        let first = self.0.poll(method);
        let second = self.1.poll(method);
        if first.is_break() { first } else { second }
    }
}

/// The record of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// One row a check, the first before the method has moved.
    pub rows: Vec<Progress>,
}

impl Trace {
    /// An empty record.
    pub fn new() -> Self {
        Trace::default()
    }

    /// `(passes, objective - reference)` of every row whose objective is known: a convergence curve.
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
