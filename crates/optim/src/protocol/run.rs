//! The outer loop of all methods.

use std::ops::ControlFlow;

use fenchel_linalg::Invalid;

use super::clock::{Clock, Wall};
use super::guard::Guard;
use super::stop::Pace;
use super::{Cadence, Certificate, Observer, Progress, Report, Status, Stop};

/// What the next certificate of a method costs, and what it may show.
///
/// It influences when [`run`] computes a certificate, never what is proved. Under a cadence other than [`Cadence::Adaptive`]
/// the cadence decides when; an estimate can still save a certificate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CertificateCost {
    /// The certificate needs no work beyond that of the next step. It is computed after every step.
    Free,
    /// The certificate costs one or two passes. It is computed when the decay of the earlier certificates predicts convergence.
    Passes,
    /// The certificate costs one or two passes, and its value is about this estimate. The estimate is asked for after every
    /// pass, and the certificate is computed as soon as the estimate meets the tolerance.
    Estimated(f64),
    /// The certificate costs one or two passes, and the point is a cold start that cannot meet any tolerance. It is computed
    /// for observers only.
    Uninformative,
}

/// What a method implements: it holds a checked problem and a state, takes steps, and certifies its point.
pub trait Iterative {
    /// Advances by about `passes` passes over the data, and by at least one step. Returns the passes done.
    fn advance(&mut self, passes: f64) -> f64;

    /// The certificate of the current point, computed from that point itself.
    fn certify(&mut self) -> Certificate;

    /// What the next certificate costs, and what it may show. At most O(d).
    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Passes
    }

    /// Number of evaluations of the method's oracle so far.
    fn oracle_calls(&self) -> u64 {
        0
    }

    /// Stores the current point as the best so far. Only methods whose points can become worse need it.
    fn keep(&mut self) {}

    /// Returns to the stored point.
    fn restore(&mut self) {}

    /// Whether the run returns the best certified point rather than the last one. Methods whose points can become worse need
    /// it, such as a stochastic method at its noise floor.
    fn returns_best(&self) -> bool {
        false
    }

    /// A status that only the method can know: that it stalls, or has reached its noise floor.
    fn verdict(&self) -> Option<Status> {
        None
    }
}

/// Runs a method until its certificate meets the tolerance or a limit is reached.
///
/// This is the only outer loop of the workspace. It measures time, applies the stopping rule, decides when certificates are
/// computed, detects divergence, and stores the best lower bound so far. A lower bound of the optimum holds at every later
/// point too.
///
/// Points are compared by their objective, or by their proved bound where a certificate has no objective. A run diverges if
/// this number is no longer finite. It also diverges if the number has risen over three certificates in a row and exceeds the
/// best one by more than 10 times the scale of the run. The scale is the largest of the first gap, the first change, and the
/// decrease from the first certificate to the best one, so that a constant added to the objective has no influence. The best
/// point is then restored and certified.
///
/// A lower bound above its objective by more than rounding is reported as [`Certificate::Uncertified`]. After three of them in a
/// row the run is [`Status::Stalled`].
///
/// # Errors
/// [`Invalid::Parameter`] if a limit of `stop` is out of range.
pub fn run<M: Iterative, O: Observer<M>>(
    method: &mut M,
    stop: &Stop,
    observer: &mut O,
) -> Result<Report, Invalid> {
    run_by(method, stop, observer, &Wall::start())
}

/// Does the same as [`run`], with a given clock.
///
/// # Errors
/// Those of [`run`].
pub fn run_by<M: Iterative, O: Observer<M>>(
    method: &mut M,
    stop: &Stop,
    observer: &mut O,
    clock: &impl Clock,
) -> Result<Report, Invalid> {
    stop.check()?;
    let attention = Attention { watches: observer.watches(), polls: observer.polls() };
    Ok(drive(&mut Watched { method, observer }, attention, stop, clock))
}

/// A method and its observer as one trait object, so that the loop is compiled only once.
trait Driven {
    fn advance(&mut self, passes: f64) -> f64;
    fn certify(&mut self) -> Certificate;
    fn certificate_cost(&self) -> CertificateCost;
    fn oracle_calls(&self) -> u64;
    fn keep(&mut self);
    fn restore(&mut self);
    fn returns_best(&self) -> bool;
    fn verdict(&self) -> Option<Status>;
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()>;
    fn poll(&mut self, progress: &Progress) -> ControlFlow<()>;
}

/// Which calls the observer wants.
#[derive(Clone, Copy)]
struct Attention {
    watches: bool,
    polls: bool,
}

struct Watched<'r, M, O> {
    method: &'r mut M,
    observer: &'r mut O,
}

impl<M: Iterative, O: Observer<M>> Driven for Watched<'_, M, O> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.method.advance(passes)
    }
    fn certify(&mut self) -> Certificate {
        self.method.certify()
    }
    fn certificate_cost(&self) -> CertificateCost {
        self.method.certificate_cost()
    }
    fn oracle_calls(&self) -> u64 {
        self.method.oracle_calls()
    }
    fn keep(&mut self) {
        self.method.keep();
    }
    fn restore(&mut self) {
        self.method.restore();
    }
    fn returns_best(&self) -> bool {
        self.method.returns_best()
    }
    fn verdict(&self) -> Option<Status> {
        self.method.verdict()
    }
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.observer.observe(progress, self.method)
    }
    fn poll(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.observer.poll(progress, self.method)
    }
}

/// Passes below this number are rounding errors: a method may count its passes in fractions.
const NOTHING: f64 = 1e-9;

fn drive(
    method: &mut dyn Driven,
    Attention { watches, polls }: Attention,
    stop: &Stop,
    clock: &dyn Clock,
) -> Report {
    let begin = clock.seconds();
    let over = || stop.max_seconds.is_some_and(|limit| clock.seconds() - begin >= limit);
    let adaptive = stop.check == Cadence::Adaptive;
    let (mut guard, mut pace) = (Guard::default(), Pace::default());
    // Passes done, and those at which the next certificate is due.
    let (mut passes, mut next) = (0.0, 0.0);
    let mut seconds = 0.0;
    let mut asked_to_stop = false;
    let mut certificate = Certificate::Uncertified { objective: None };

    let status = loop {
        let ended = if asked_to_stop {
            Some(Status::Stopped)
        } else if passes >= stop.max_passes {
            Some(Status::PassLimit)
        } else if over() {
            Some(Status::TimeLimit)
        } else {
            method.verdict()
        };
        let cost = method.certificate_cost();
        // Where a certificate, or an estimate of it, is free, it is asked for after every step.
        let often =
            adaptive && matches!(cost, CertificateCost::Free | CertificateCost::Estimated(_));
        let due = passes >= next || ended.is_some();
        let certifies = (due || often)
            && match cost {
                CertificateCost::Free | CertificateCost::Passes => true,
                CertificateCost::Estimated(estimate) => {
                    (watches && due) || stop.may_be_met(estimate, &certificate)
                }
                CertificateCost::Uninformative => watches,
            };
        if certifies {
            certificate = see(method, &mut guard);
            // A certificate for an observer alone does not change when the next ones are computed.
            if cost != CertificateCost::Uninformative {
                pace.record(passes, certificate.value());
            }
            let oracle_calls = method.oracle_calls();
            let progress = Progress { passes, oracle_calls, seconds, certificate };
            if method.observe(&progress).is_break() {
                break Status::Stopped;
            }
            if stop.met_by(&certificate) {
                break Status::Converged;
            }
            if guard.diverged() {
                break Status::Diverged;
            }
            if guard.stalled() {
                break Status::Stalled;
            }
        }
        if due {
            let tolerance = stop.tolerance_for(&certificate);
            // A cadence shorter than that would certify for ever without moving.
            next = passes + pace.ahead(stop.check, passes, tolerance).max(2.0 * NOTHING);
        }
        // The certificate may have taken the time that was left.
        if let Some(status) = ended.or_else(|| over().then_some(Status::TimeLimit)) {
            if !certifies {
                certificate = see(method, &mut guard);
            }
            // The last point may turn out better than the estimate said.
            break match () {
                () if guard.diverged() => Status::Diverged,
                () if stop.met_by(&certificate) => Status::Converged,
                () => status,
            };
        }
        let target = if next < stop.max_passes - NOTHING { next } else { stop.max_passes };
        let slice = match cost {
            CertificateCost::Free if often => 0.0,
            CertificateCost::Estimated(_) if often => 1.0,
            _ if polls || stop.max_seconds.is_some() => 1.0,
            _ => f64::INFINITY,
        };
        while passes < target - NOTHING {
            let before = clock.seconds();
            passes += method.advance((target - passes).min(slice));
            seconds += clock.seconds() - before;
            if polls {
                let oracle_calls = method.oracle_calls();
                let progress = Progress { passes, oracle_calls, seconds, certificate };
                asked_to_stop = method.poll(&progress).is_break();
            }
            if asked_to_stop || over() || often || method.verdict().is_some() {
                break;
            }
        }
        // The complement of the condition of the loop, to the last bit: else nobody would ever move on.
        if passes >= target - NOTHING && passes <= target + NOTHING {
            passes = target;
        }
    };
    let best = method.returns_best() && status != Status::Converged && guard.worse_than_best();
    if best || (status == Status::Diverged && guard.diverged()) {
        method.restore();
        certificate = guard.with_lower_bound(method.certify());
    }
    Report { status, certificate, passes, oracle_calls: method.oracle_calls(), seconds }
}

/// Certifies the current point, and stores it if it is the best so far.
fn see(method: &mut dyn Driven, guard: &mut Guard) -> Certificate {
    let certificate = method.certify();
    if guard.see(&certificate) {
        method.keep();
    }
    guard.with_lower_bound(certificate)
}
