//! The one outer loop.

use std::time::Instant;

use fenchel_linalg::Invalid;

use super::{Cadence, Certificate, Journal, Observer, Progress, Report, Status, Stop};

/// A checked problem, a state, and how to move on: all that a method has to say.
pub trait Iterative {
    /// Whether a certificate costs nothing beyond what the next step needs anyway: [`run`] then computes
    /// it after every step, unless a cadence is asked for.
    const FREE_CERTIFICATE: bool = false;

    /// Moves on by about `passes` passes over the data, by one step at least. Returns the passes done.
    fn advance(&mut self, passes: f64) -> f64;

    /// What can be proved about the current point, computed from that point itself.
    fn certify(&mut self) -> Certificate;

    /// Evaluations of the method's own oracle so far.
    fn oracle_calls(&self) -> u64 {
        0
    }

    /// A free guess of the certificate's value. While nobody watches, [`run`] certifies only when the
    /// guess meets the tolerance, and at the end. A cold start may answer infinity.
    fn estimate(&self) -> Option<f64> {
        None
    }

    /// Remembers the current point as the best so far. Only methods that can diverge need it.
    fn keep(&mut self) {}

    /// Goes back to the remembered point.
    fn restore(&mut self) {}

    /// What only the method can know: that it stalls, or has reached its noise floor.
    fn verdict(&self) -> Option<Status> {
        None
    }
}

/// Runs a method until its certificate meets the tolerance or a limit is reached.
///
/// The only outer loop of the workspace: it owns the clock, the stopping rule, the cadence of
/// certificates, the divergence guard and the best lower bound seen so far (any lower bound holds for
/// every later point).
///
/// A run diverges when the objective is not finite, or stands 10 times above its first value after
/// growing over 3 checks in a row; the best point is then restored and certified.
///
/// # Errors
/// [`Invalid::Parameter`] if a limit of `stop` is out of range.
pub fn run<M: Iterative, O: Observer<M>>(
    method: &mut M,
    stop: &Stop,
    observer: &mut O,
) -> Result<Report, Invalid> {
    stop.check()?;
    let mut clock = Clock::new(O::WATCHES || stop.max_seconds.is_some());
    let mut guard = Guard::new();
    let kept = observer.journal().filter(|kept| kept.fits());
    let mut journal = kept.map_or_else(Journal::default, |kept| *kept);
    let begin = journal.passes();
    let last = begin + stop.max_passes;
    let free = M::FREE_CERTIFICATE && stop.check == Cadence::Adaptive;
    let mut certificate = journal.last();
    // A run that goes on looks where it would have looked.
    let mut looks = journal.due();

    let status = loop {
        let due = looks
            && (O::WATCHES
                || method.estimate().is_none_or(|guess| {
                    guess <= stop.tolerance(certificate.objective().or(Some(f64::INFINITY)))
                        && guess < f64::INFINITY
                }));
        let mut certified = false;
        if due {
            certificate = guard.certify(method);
            certified = true;
            if journal.due() {
                journal.record(&certificate, method.estimate() == Some(f64::INFINITY));
            }
            keep(observer, journal);
            let progress = Progress {
                passes: journal.passes() - begin,
                oracle_calls: method.oracle_calls(),
                seconds: clock.seconds,
                certificate,
            };
            if observer.observe(&progress, method).is_break() {
                break Status::Stopped;
            }
            if stop.met_by(&certificate) {
                break Status::Converged;
            }
            if guard.diverged() {
                method.restore();
                certificate = guard.certify(method);
                break Status::Diverged;
            }
        }
        if journal.due() {
            journal.plan(stop, certificate.objective());
        }
        let ended = if journal.passes() >= last {
            Some(Status::PassLimit)
        } else if stop.max_seconds.is_some_and(|limit| clock.elapsed() >= limit) {
            Some(Status::TimeLimit)
        } else {
            method.verdict()
        };
        if let Some(status) = ended {
            if !certified {
                certificate = guard.certify(method);
                if guard.diverged() {
                    method.restore();
                    certificate = guard.certify(method);
                    break Status::Diverged;
                }
            }
            // The last point may turn out better than the guess said.
            break if stop.met_by(&certificate) { Status::Converged } else { status };
        }
        let target = journal.target(last);
        let mut passes = journal.passes();
        while passes < target - 1e-9 {
            let slice = match stop.max_seconds {
                _ if free => 0.0,
                Some(_) => 1.0,
                None => f64::INFINITY,
            };
            passes += clock.time(|| method.advance((target - passes).min(slice)));
            let over = stop.max_seconds.is_some_and(|limit| clock.elapsed() >= limit);
            if over || free || method.verdict().is_some() {
                break;
            }
        }
        // The complement of the condition of the loop, to the last bit: else nobody would ever move on.
        let there = passes >= target - 1e-9 && passes <= target + 1e-9;
        journal.arrive(if there { target } else { passes }, free);
        looks = true;
    };
    keep(observer, journal);
    Ok(Report {
        status,
        certificate,
        passes: journal.passes() - begin,
        oracle_calls: method.oracle_calls(),
        seconds: clock.seconds,
    })
}

fn keep<M: ?Sized, O: Observer<M>>(observer: &mut O, journal: Journal) {
    if let Some(kept) = observer.journal() {
        *kept = journal;
    }
}

/// Best lower bound, best objective, and signs of divergence.
struct Guard {
    lower_bound: f64,
    first: Option<f64>,
    best: f64,
    last: f64,
    rises: u32,
    finite: bool,
}

impl Guard {
    fn new() -> Self {
        Guard {
            lower_bound: f64::NEG_INFINITY,
            first: None,
            best: f64::INFINITY,
            last: f64::INFINITY,
            rises: 0,
            finite: true,
        }
    }

    fn certify<M: Iterative>(&mut self, method: &mut M) -> Certificate {
        let certificate = method.certify();
        if let Certificate::Gap { lower_bound, .. } = certificate {
            self.lower_bound = self.lower_bound.max(lower_bound);
        }
        match certificate.objective().filter(|objective| objective.is_finite()) {
            Some(objective) => {
                self.first.get_or_insert(objective);
                self.rises = if objective > self.last { self.rises + 1 } else { 0 };
                self.last = objective;
                if objective < self.best {
                    self.best = objective;
                    method.keep();
                }
            }
            // A method whose objective was known and no longer is a number has left the domain.
            None => self.finite = self.first.is_none(),
        }
        certificate.with_lower_bound(self.lower_bound)
    }

    fn diverged(&self) -> bool {
        let high = self.first.is_some_and(|first| self.last > 10.0 * first.abs());
        !self.finite || (high && self.rises >= 3)
    }
}

/// The only reader of the clock.
struct Clock {
    start: Option<Instant>,
    seconds: f64,
}

impl Clock {
    fn new(wanted: bool) -> Self {
        Clock { start: wanted.then(Instant::now), seconds: 0.0 }
    }

    fn elapsed(&self) -> f64 {
        self.start.map_or(0.0, |start| start.elapsed().as_secs_f64())
    }

    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = self.elapsed();
        let result = work();
        self.seconds += self.elapsed() - before;
        result
    }
}
