//! Clocks, and limits shared by several methods.

use std::time::Instant;

use super::{Report, Stop};

/// Seconds since an arbitrary origin. Only differences of two readings have a meaning.
pub trait Clock {
    /// The current reading, which never decreases.
    fn seconds(&self) -> f64;
}

/// The system's monotonic clock. The libraries of the workspace read no other clock.
#[derive(Debug, Clone, Copy)]
pub struct Wall(Instant);

impl Wall {
    /// Starts now.
    pub fn start() -> Self {
        Wall(Instant::now())
    }
}

impl Clock for Wall {
    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Limits of a call that runs several methods one after the other. They hold for all of these methods together.
#[derive(Debug, Clone)]
pub struct Budget<C = Wall> {
    stop: Stop,
    clock: C,
    begin: f64,
    spent: Option<Report>,
}

impl Budget {
    /// Starts a budget with the limits of `stop`, measured from now on.
    pub fn new(stop: Stop) -> Self {
        Budget::by(Wall::start(), stop)
    }
}

impl<C: Clock> Budget<C> {
    /// Starts a budget with the limits of `stop`, measured from now on by a given clock.
    pub fn by(clock: C, stop: Stop) -> Self {
        Budget { begin: clock.seconds(), stop, clock, spent: None }
    }

    /// The stopping rule for the next method: `stop` with the remaining passes and the remaining wall-clock seconds.
    pub fn left(&self) -> Stop {
        let passes = self.spent.map_or(0.0, |spent| spent.passes);
        let elapsed = self.clock.seconds() - self.begin;
        Stop {
            max_passes: (self.stop.max_passes - passes).max(0.0),
            max_seconds: self.stop.max_seconds.map(|limit| (limit - elapsed).max(0.0)),
            ..self.stop
        }
    }

    /// Adds the report of a method to the report of the whole call, and returns the latter. Passes, oracle calls and seconds
    /// are summed; status and certificate are those of the last method.
    pub fn spend(&mut self, report: Report) -> Report {
        let all = report.with_spent(self.spent.as_ref());
        self.spent = Some(all);
        all
    }

    /// The sum of all reports so far; `None` at first.
    pub fn spent(&self) -> Option<&Report> {
        self.spent.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Certificate, Status};
    use std::cell::Cell;

    impl Clock for &Cell<f64> {
        fn seconds(&self) -> f64 {
            self.get()
        }
    }

    #[test]
    fn limits_hold_for_all_methods_together() {
        let now = Cell::new(100.0);
        let stop = Stop { max_passes: 50.0, max_seconds: Some(10.0), ..Stop::default() };
        let mut budget = Budget::by(&now, stop);
        assert_eq!(budget.left(), stop);
        let certificate = Certificate::gap(1.0, 0.5);
        let (status, passes, oracle_calls) = (Status::Stalled, 20.0, 7);
        // The method says 3 seconds; on the wall it took 4.
        let report = Report { status, certificate, passes, oracle_calls, seconds: 3.0 };
        now.set(104.0);
        assert_eq!(budget.spend(report), report);
        assert_eq!(budget.left(), Stop { max_passes: 30.0, max_seconds: Some(6.0), ..stop });
        now.set(112.0);
        let all = budget.spend(Report { status: Status::TimeLimit, passes: 40.0, ..report });
        assert_eq!((all.passes, all.oracle_calls, all.seconds), (60.0, 14, 6.0));
        assert_eq!((all.status, budget.spent()), (Status::TimeLimit, Some(&all)));
        let left = budget.left();
        assert_eq!((left.max_passes, left.max_seconds), (0.0, Some(0.0)));
    }
}
