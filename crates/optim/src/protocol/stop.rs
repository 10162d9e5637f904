//! The stopping rule of a run, and the cadence of its certificates.

use std::fmt::Arguments;

use fenchel_linalg::Invalid;
use fenchel_linalg::spread::Shards;
use serde::{Deserialize, Serialize};

use super::Certificate;

/// The stopping rule of a run.
///
/// | field | default | unit |
/// |---|---|---|
/// | `absolute` | 1e-12 | unit of the certificate (nats for log losses), or the scale of a residual if that is below 1 |
/// | `relative` | 1e-4 | fraction of `\|objective\|`, or of the scale of a residual |
/// | `max_passes` | 1000 | passes over the data |
/// | `max_seconds` | none | wall-clock seconds, checks included |
/// | `check` | [`Cadence::Adaptive`] | passes between certificates |
///
/// A run is `Converged` as soon as the value of its certificate is at most `absolute` or at most `relative * scale`. For a gap this
/// value bounds the suboptimality, and the scale is `|objective|`. A residual is a norm, whose unit is not that of the objective. It
/// may bring a [`scale`](Certificate::Residual::scale) of its own, which does not depend on the start: a start at the solution ends at
/// once, and so does a run that is resumed. A residual without one is compared with `relative * |objective|` as well. That is a rough
/// default for data near size 1: set `absolute` there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Largest acceptable certificate; of a residual with a [`scale`](Certificate::Residual::scale) below 1, as a multiple of that.
    pub absolute: f64,
    /// Largest acceptable certificate as a fraction of its [`scale`](Certificate::scale).
    pub relative: f64,
    /// Passes over the data after which the run ends in any case; infinite (`null` in JSON) for no limit.
    #[serde(with = "limit")]
    pub max_passes: f64,
    /// Wall-clock seconds after which the run ends in any case.
    pub max_seconds: Option<f64>,
    /// How often the certificate is computed and the observer called.
    pub check: Cadence,
}

impl Default for Stop {
    fn default() -> Self {
        Stop {
            absolute: 1e-12,
            relative: 1e-4,
            max_passes: 1000.0,
            max_seconds: None,
            check: Cadence::Adaptive,
        }
    }
}

impl Stop {
    /// Stops when the certificate is at most `relative * |objective|` (`relative` times its scale, for a residual that has one), or
    /// at most 1e-12. All other fields have their defaults:
    /// `absolute` stays 1e-12, so that a run also ends where the objective is 0. For an objective near 1e-12 or below, set
    /// `absolute: 0.0` beside it.
    pub fn at_relative(relative: f64) -> Self {
        Stop { relative, ..Stop::default() }
    }

    /// Runs for `passes` passes with a certificate after each, for convergence curves. The run ends earlier only if a
    /// certificate is exactly 0.
    pub fn after_passes(passes: f64) -> Self {
        Stop {
            absolute: 0.0,
            relative: 0.0,
            max_passes: passes,
            check: Cadence::Every(1.0),
            ..Stop::default()
        }
    }

    /// Refuses negative or NaN limits.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        Invalid::check_nonnegative("stop.absolute", self.absolute)?;
        Invalid::check_nonnegative("stop.relative", self.relative)?;
        // An infinite limit is a way to say "until converged".
        if !(self.max_passes >= 0.0) {
            return Err(Invalid::Parameter {
                name: "stop.max_passes",
                value: self.max_passes,
                expected: "a number >= 0",
            });
        }
        if let Some(seconds) = self.max_seconds {
            Invalid::check_nonnegative("stop.max_seconds", seconds)?;
        }
        match self.check {
            Cadence::Every(passes) | Cadence::Doubling(passes) => {
                Invalid::check_positive("stop.check", passes)
            }
            Cadence::Adaptive => Ok(()),
        }
    }

    /// What a fit of rows that are spread over processes begins with: all have the same rule and the same other `settings`, and no
    /// limit of seconds, as their clocks differ. All processes call it together. Nothing is checked where all rows are here.
    ///
    /// # Errors
    /// [`Invalid::Layout`] with the first process that differs, [`Invalid::Parameter`] for a limit of seconds.
    pub fn check_spread(
        &self,
        shards: Option<&Shards<'_>>,
        settings: Arguments<'_>,
    ) -> Result<(), Invalid> {
        let Some(shards) = shards else { return Ok(()) };
        let own = format!("{self:?}, {settings}");
        shards.communicator().check_alike("settings of the fit", &own)?;
        let Some(value) = self.max_seconds else { return Ok(()) };
        let (name, expected) =
            ("stop.max_seconds", "none, for rows that are spread over processes");
        Err(Invalid::Parameter { name, value, expected })
    }

    /// The largest value of a gap that ends the run at this objective.
    pub fn tolerance(&self, objective: Option<f64>) -> f64 {
        match objective {
            Some(objective) => self.absolute.max(self.relative * objective.abs()),
            None => self.absolute,
        }
    }

    /// The largest value with which this certificate would end the run.
    pub fn tolerance_for(&self, certificate: &Certificate) -> f64 {
        // A residual with a scale of its own is in a unit of its own.
        if let Certificate::Residual { scale: Some(of_one), .. } = *certificate
            && of_one > 0.0
            && of_one < 1.0
        {
            return self.absolute.max(self.relative) * of_one;
        }
        // A fraction of an infinite objective would accept anything: the scale is finite.
        self.tolerance(certificate.scale())
    }

    /// Whether a certificate of about this value may end the run. The scale is taken from an earlier certificate.
    pub(super) fn may_be_met(&self, guess: f64, known: &Certificate) -> bool {
        guess < f64::INFINITY && guess <= self.tolerance(known.scale().or(Some(f64::INFINITY)))
    }

    /// Whether a certificate ends the run.
    pub fn met_by(&self, certificate: &Certificate) -> bool {
        certificate.value() <= self.tolerance_for(certificate)
    }
}

/// JSON has no infinity. With `#[serde(with = "limit")]` an infinite limit is written as `None`.
pub mod limit {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a number, infinity as `None`.
    ///
    /// # Errors
    /// Those of the format.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub fn serialize<S: Serializer>(limit: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*limit).filter(|limit| *limit != f64::INFINITY).serialize(to)
    }

    /// Reads a number, `None` as infinity.
    ///
    /// # Errors
    /// Those of the format.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

/// How many passes lie between two certificates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Cadence {
    /// Every so many passes.
    Every(f64),
    /// After this many passes, then after twice as many, and so on, for runs of unknown length.
    Doubling(f64),
    /// When the decay so far predicts that the tolerance will be met, and 1 to 10 passes after the last check. A certificate
    /// costs one to two passes, so that a good prediction saves time.
    Adaptive,
}

/// The last two certificates, from which [`Cadence::Adaptive`] extrapolates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    last: Option<Seen>,
    before: Option<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    passes: f64,
    value: f64,
}

impl Pace {
    pub(super) fn record(&mut self, passes: f64, value: f64) {
        self.before = self.last.replace(Seen { passes, value });
    }

    /// Number of passes until the next check.
    pub(super) fn ahead(&self, cadence: Cadence, passes: f64, tolerance: f64) -> f64 {
        match cadence {
            Cadence::Every(passes) => passes,
            Cadence::Doubling(first) => {
                if passes < first {
                    first
                } else {
                    passes
                }
            }
            Cadence::Adaptive => self.predicted(tolerance).unwrap_or(2.0),
        }
    }

    /// The passes at which the tolerance is met by linear convergence, for which `log(value)` is a straight line over passes.
    fn predicted(&self, tolerance: f64) -> Option<f64> {
        let Seen { passes: from, value: high } = self.before?;
        let Seen { passes: to, value: low } = self.last?;
        let rate = (high / low).ln() / (to - from);
        let needed = (low / tolerance).ln() / rate;
        // Without a decay to go by (rate <= 0, infinite values, tolerance 0) certify again in 5 passes.
        if needed.is_finite() && needed > 0.0 {
            Some(needed.ceil().clamp(1.0, 10.0))
        } else {
            Some(5.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_out_of_range_are_named() {
        let bad = [
            Stop { absolute: -1.0, ..Stop::default() },
            Stop { relative: f64::NAN, ..Stop::default() },
            Stop { max_passes: f64::NAN, ..Stop::default() },
            Stop { max_seconds: Some(-1.0), ..Stop::default() },
            Stop { check: Cadence::Every(0.0), ..Stop::default() },
        ];
        for stop in bad {
            assert!(matches!(stop.check(), Err(Invalid::Parameter { .. })), "{stop:?}");
        }
        assert!(Stop { max_passes: f64::INFINITY, ..Stop::default() }.check().is_ok());
    }

    /// A residual with a scale is compared with that, whatever the objective is.
    #[test]
    fn a_residual_is_compared_with_its_own_scale() {
        let stop = Stop::at_relative(1e-2);
        let residual = |norm, objective| Certificate::residual(objective, norm, 0.0);
        assert!(
            stop.met_by(&residual(1.0, 1e9)) && !stop.met_by(&residual(1.0, 1e9).on_scale(1.0))
        );
        assert!(stop.met_by(&residual(1.0, 1e-9).on_scale(1e3)));
        assert!(stop.met_by(&residual(1e-13, 1.0).on_scale(0.0)), "absolute");
        // In the unit of features near 1e-140 a gradient of 1e-140 is as large as one can be.
        let tiny = |norm: f64| residual(norm, 1.0).on_scale(1e-140);
        assert!(!stop.met_by(&tiny(0.9e-140)) && stop.met_by(&tiny(0.9e-142)));
        let absolute = Stop { relative: 0.0, ..stop };
        assert!(!absolute.met_by(&tiny(1e-150)) && absolute.met_by(&tiny(1e-153)));
        for bad in [f64::INFINITY, f64::NAN] {
            assert!(!stop.met_by(&residual(1.0, 1e9).on_scale(bad)), "{bad}");
        }
    }

    #[test]
    fn adaptive_cadence_finds_the_end_of_a_straight_line() {
        // value = 10^-passes: after checks at 0 and 2, the tolerance 1e-7 is 5 passes away.
        let mut pace = Pace::default();
        pace.record(0.0, 1.0);
        assert_eq!(pace.ahead(Cadence::Adaptive, 0.0, 1e-7), 2.0);
        pace.record(2.0, 1e-2);
        let ahead = pace.ahead(Cadence::Adaptive, 2.0, 1.0001e-7);
        assert_eq!(ahead, 5.0);
    }

    #[test]
    fn adaptive_cadence_survives_growth_and_zero() {
        let mut pace = Pace::default();
        pace.record(0.0, 1.0);
        pace.record(1.0, 2.0);
        assert_eq!(pace.ahead(Cadence::Adaptive, 1.0, 1e-3), 5.0);
        pace.record(2.0, f64::INFINITY);
        assert_eq!(pace.ahead(Cadence::Adaptive, 2.0, 1e-3), 5.0);
        pace.record(3.0, 0.5);
        pace.record(4.0, 0.25);
        assert_eq!(pace.ahead(Cadence::Adaptive, 4.0, 0.0), 5.0);
    }

    #[test]
    fn doubling_certifies_at_powers_of_two() {
        let pace = Pace::default();
        let mut at = 0.0;
        let mut seen = vec![];
        for _ in 0..5 {
            at += pace.ahead(Cadence::Doubling(1.0), at, 0.0);
            seen.push(at);
        }
        assert_eq!(seen, [1.0, 2.0, 4.0, 8.0, 16.0]);
    }
}
