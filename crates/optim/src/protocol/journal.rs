//! Where the looks of a run stand.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::stop::{Pace, Stop};
use super::{Certificate, Observer, Progress};

/// What [`run`](super::run()) knows beyond the state of its method: how far it has come, where the next look is due, and what
/// the last looks showed.
///
/// The state of a method takes its steps up again; with the journal of the run, an observer that watches nothing, the looks go
/// on as well: at those passes where they would have been without the interruption. Lower bounds of former parts serve to
/// predict alone: no certificate is made of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// Passes done, in all parts.
    passes: f64,
    /// Passes at which the next look is due.
    next: f64,
    /// Passes at the last look that was recorded.
    seen: Option<f64>,
    objective: Option<f64>,
    lower_bound: Option<f64>,
    pace: Pace,
}

impl Journal {
    /// Passes done, in all parts.
    pub fn passes(&self) -> f64 {
        self.passes
    }

    /// Whether a look is due here. A look at a limit that ends the run need not be.
    pub fn due(&self) -> bool {
        self.passes >= self.next
    }

    /// The value of a certificate with the best lower bound of all parts: to predict by, not to prove.
    pub fn value(&self, certificate: &Certificate) -> f64 {
        certificate.with_lower_bound(self.lower_bound.unwrap_or(f64::NEG_INFINITY)).value()
    }

    /// Whether a run can have left this behind.
    pub(super) fn fits(&self) -> bool {
        self.passes >= 0.0 && self.passes.is_finite() && self.next.is_finite()
    }

    /// The objective at the last look.
    pub(super) fn last(&self) -> Certificate {
        Certificate::Uncertified { objective: self.objective }
    }

    /// Remembers a look, once; the pace not of a cold start, which is certified for an observer alone: the looks to come are
    /// the same whether anyone watches or not.
    pub(super) fn record(&mut self, certificate: &Certificate, cold: bool) {
        if self.seen == Some(self.passes) {
            return;
        }
        self.seen = Some(self.passes);
        self.objective = certificate.objective();
        if let Certificate::Gap { lower_bound, .. } = *certificate {
            self.lower_bound = Some(self.lower_bound.map_or(lower_bound, |l| l.max(lower_bound)));
        }
        if !cold {
            self.pace.record(self.passes, self.value(certificate));
        }
    }

    /// Decides where to look next.
    pub(super) fn plan(&mut self, stop: &Stop, objective: Option<f64>) {
        let ahead = self.pace.ahead(stop.check, self.passes, stop.tolerance(objective));
        // A method may count its passes in fractions that do not add up exactly: 1e-9 passes are
        // nothing. A cadence as short as that would look for ever without moving.
        self.next = self.passes + ahead.max(2e-9);
    }

    /// Passes to go to, given those at which the run ends in any case.
    pub(super) fn target(&self, last: f64) -> f64 {
        if self.next < last - 1e-9 { self.next } else { last }
    }

    /// After a move; `looks` where that is reason enough for a look.
    pub(super) fn arrive(&mut self, passes: f64, looks: bool) {
        self.passes = passes;
        if looks {
            self.next = passes;
        }
    }
}

impl<M: ?Sized> Observer<M> for Journal {
    const WATCHES: bool = false;

    fn observe(&mut self, _: &Progress, _: &M) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn journal(&mut self) -> Option<&mut Journal> {
        Some(self)
    }
}
