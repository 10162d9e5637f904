//! Certificates: what is proved about a point.

use fenchel_linalg::text::number;
use serde::{Deserialize, Serialize};

/// What rounding does to an objective or a bound, as a fraction of it: 256 units in the last place, for sums of many terms.
const ROUNDING: f64 = 256.0 * f64::EPSILON;

/// A proved bound for the returned point, computed from that point itself.
///
/// A lower bound cannot exceed the objective. Where rounding lifts it above by less than an allowance, it is lowered to the
/// objective. Where it is higher, one of the two numbers is wrong, and the pair proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Certificate {
    /// `objective - lower_bound` bounds the suboptimality: no point has an objective below `lower_bound`.
    Gap {
        /// Objective at the point.
        objective: f64,
        /// A lower bound of the optimum, such as a dual value.
        lower_bound: f64,
        /// What rounding may have done to `objective - lower_bound`, where that is more than 256 units in the last place of the larger
        /// of the two: they may be differences of large terms. 0 means at most those units.
        #[serde(default, skip_serializing_if = "is_zero")]
        rounding: f64,
    },
    /// A norm that vanishes exactly at the solutions, such as that of a gradient mapping, known up to `error`.
    Residual {
        /// Objective at the point, if it can be used to compare points. It is `None` for methods whose points may lie outside
        /// the domain, such as saddle point methods. Points are then compared by `norm + error`, and `Stop::relative` has no
        /// effect.
        objective: Option<f64>,
        /// The measured norm.
        norm: f64,
        /// A bound on the error of `norm`; 0 if `norm` is exact.
        error: f64,
        /// The norm that counts as 1 for [`Stop::relative`](super::Stop::relative), in the unit of `norm`. `None` is `|objective|`, a
        /// rough default: its unit is another, so that it suits data near size 1 only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<f64>,
    },
    /// Nothing is proved.
    Uncertified {
        /// Objective at the point, if it is known.
        objective: Option<f64>,
    },
}

impl Certificate {
    /// A gap, or [`Certificate::Uncertified`] if the objective or the lower bound is not finite.
    ///
    /// The allowance for rounding is 256 units in the last place of the larger of the two. That suits sums of terms of one sign;
    /// where large terms cancel, use [`gap_within`](Certificate::gap_within).
    pub fn gap(objective: f64, lower_bound: f64) -> Self {
        Certificate::gap_within(objective, lower_bound, 0.0)
    }

    /// A gap whose two numbers are differences of large terms: `rounding` bounds the rounding error of
    /// `objective - lower_bound`. The allowance of [`gap`](Certificate::gap) is the least. Where it is not finite, nothing is proved.
    pub fn gap_within(objective: f64, lower_bound: f64, rounding: f64) -> Self {
        if !(objective.is_finite() && lower_bound.is_finite()) {
            return Certificate::Uncertified {
                objective: Some(objective).filter(|f| f.is_finite()),
            };
        }
        if !rounding.is_finite() {
            return Certificate::Uncertified { objective: Some(objective) };
        }
        // The slack of a poor lower bound is large, and a merge may replace that bound.
        let rounding = if rounding > slack(objective, objective) { rounding } else { 0.0 };
        let gap = Certificate::Gap { objective, lower_bound, rounding };
        if gap.contradicts() {
            return gap;
        }
        Certificate::Gap { objective, lower_bound: lower_bound.min(objective), rounding }
    }

    /// A residual, or [`Certificate::Uncertified`] if the norm or the objective is not finite. The objective may be `None`.
    pub fn residual(objective: impl Into<Option<f64>>, norm: f64, error: f64) -> Self {
        let objective = objective.into();
        if objective.is_none_or(f64::is_finite) && (norm + error).is_finite() {
            Certificate::Residual { objective, norm, error, scale: None }
        } else {
            Certificate::Uncertified { objective: objective.filter(|f| f.is_finite()) }
        }
    }

    /// The same residual with a [`scale`](Certificate::Residual::scale); any other certificate as it is. A scale that is not finite
    /// becomes 0: no norm is small beside it.
    #[must_use]
    pub fn on_scale(mut self, of_one: f64) -> Self {
        if let Certificate::Residual { scale, .. } = &mut self {
            *scale = Some(if of_one.is_finite() { of_one } else { 0.0 });
        }
        self
    }

    /// Whether the lower bound exceeds the objective by more than rounding explains.
    pub(super) fn contradicts(&self) -> bool {
        matches!(*self, Certificate::Gap { objective, lower_bound, .. }
            if lower_bound - objective > self.allowance())
    }

    /// What rounding explains of a lower bound above the objective.
    fn allowance(&self) -> f64 {
        match *self {
            Certificate::Gap { objective, lower_bound, rounding } => {
                let own = if rounding.is_finite() { rounding } else { 0.0 };
                slack(objective, lower_bound).max(own)
            }
            _ => 0.0,
        }
    }

    /// The lower bound, less what rounding may have added to it; `None` where nothing is proved.
    pub fn sure_bound(&self) -> Option<f64> {
        match *self {
            Certificate::Gap { lower_bound, .. } if !self.contradicts() => {
                Some(lower_bound - self.allowance())
            }
            _ => None,
        }
    }

    /// The proved bound: on the suboptimality for a gap, up to its rounding, on the norm for a residual, and infinite otherwise.
    ///
    /// A gap or norm that is not finite proves nothing, nor does a lower bound above the objective.
    pub fn value(&self) -> f64 {
        let value = match *self {
            _ if self.contradicts() => f64::INFINITY,
            Certificate::Gap { objective, lower_bound, .. } => objective - lower_bound,
            Certificate::Residual { norm, error, .. } => norm + error,
            Certificate::Uncertified { .. } => f64::INFINITY,
        };
        // `max` alone would turn a NaN into 0: into a proof.
        if value.is_finite() { value.max(0.0) } else { f64::INFINITY }
    }

    /// The objective at the point, where it is known.
    pub fn objective(&self) -> Option<f64> {
        match *self {
            Certificate::Gap { objective, .. } => Some(objective),
            Certificate::Residual { objective, .. } | Certificate::Uncertified { objective } => {
                objective
            }
        }
    }

    /// What counts as 1 for a relative tolerance: `|objective|`, or the scale of a residual that has one. `None` where it is
    /// unknown or not finite.
    pub fn scale(&self) -> Option<f64> {
        let scale = match *self {
            Certificate::Residual { scale: Some(scale), .. } => Some(scale),
            _ => self.objective().map(f64::abs),
        };
        scale.filter(|scale| scale.is_finite())
    }

    /// [`value`](Certificate::value) divided by the [`scale`](Certificate::scale); infinite where this is unknown.
    pub fn relative(&self) -> f64 {
        let value = self.value();
        match self.scale() {
            _ if value == 0.0 => 0.0,
            Some(scale) => value / scale,
            None => f64::INFINITY,
        }
    }

    /// Keeps the objective, and the larger of the two lower bounds: a [sure bound](Self::sure_bound) of another point holds for this
    /// one too. An objective without a certificate gets one.
    #[must_use]
    pub fn with_lower_bound(self, known: f64) -> Self {
        match self {
            Certificate::Gap { objective, lower_bound, rounding } => {
                Certificate::gap_within(objective, lower_bound.max(known), rounding)
            }
            Certificate::Uncertified { objective: Some(objective) } => {
                Certificate::gap(objective, known)
            }
            other => other,
        }
    }
}

fn is_zero(rounding: &f64) -> bool {
    *rounding == 0.0
}

/// What rounding explains of a negative gap.
fn slack(objective: f64, lower_bound: f64) -> f64 {
    ROUNDING * objective.abs().max(lower_bound.abs())
}

/// The objective and what is proved of it. The objective has six digits, and more, up to ten, where a gap proves more. An allowance for
/// rounding that is not small beside the gap is shown.
impl std::fmt::Display for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let relative = self.relative();
        // The digits that a gap proves, and one more.
        let proved = match self {
            Certificate::Gap { .. } if relative > 0.0 => 1.0 - relative.log10().floor(),
            _ => 6.0,
        };
        let objective = |objective: f64| number(objective, proved.clamp(6.0, 10.0) as usize);
        match *self {
            Certificate::Gap { objective: value, lower_bound, .. } if self.contradicts() => write!(
                f,
                "objective {}, no certificate (a lower bound of {} contradicts it)",
                number(value, 10),
                number(lower_bound, 10)
            ),
            Certificate::Gap { objective: value, rounding, .. } => {
                let gap = number(self.value(), 3);
                write!(
                    f,
                    "objective {}, gap {gap} (relative {}",
                    objective(value),
                    number(relative, 2)
                )?;
                if rounding > 0.1 * self.value() {
                    write!(f, "; rounding up to {}", number(rounding, 2))?;
                }
                write!(f, ")")
            }
            Certificate::Residual { objective: value, norm, error, .. } => {
                if let Some(value) = value {
                    write!(f, "objective {}, ", objective(value))?;
                }
                write!(f, "residual {}", number(norm, 2))?;
                if error > 0.0 { write!(f, " (known up to {})", number(error, 2)) } else { Ok(()) }
            }
            Certificate::Uncertified { objective: Some(value) } => {
                write!(f, "objective {}, no certificate", objective(value))
            }
            Certificate::Uncertified { objective: None } => write!(f, "no certificate"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_end_proves_nothing() {
        assert_eq!(
            Certificate::gap(1.0, f64::NEG_INFINITY),
            Certificate::Uncertified { objective: Some(1.0) }
        );
        assert_eq!(Certificate::gap(f64::NAN, 0.0), Certificate::Uncertified { objective: None });
        assert_eq!(Certificate::gap(f64::NAN, 0.0).value(), f64::INFINITY);
        let known = Certificate::Uncertified { objective: Some(1.0) };
        assert_eq!(Certificate::residual(1.0, f64::INFINITY, 0.0), known);
        let unknown = Certificate::Uncertified { objective: None };
        assert_eq!(Certificate::residual(f64::NEG_INFINITY, 0.0, 0.0), unknown);
        assert_eq!(Certificate::residual(None, f64::NAN, 0.0), unknown);
        assert_eq!(Certificate::residual(None, 1.0, 0.5).value(), 1.5);
    }

    #[test]
    fn values_are_bounds() {
        assert_eq!(Certificate::gap(3.0, 1.0).value(), 2.0);
        assert_eq!(Certificate::gap(1.0, 1.0 + 1e-14), Certificate::gap(1.0, 1.0));
        assert_eq!(Certificate::gap(-4.0, -5.0).relative(), 0.25);
        assert_eq!(Certificate::gap(0.0, 0.0).relative(), 0.0);
        let residual =
            Certificate::Residual { objective: None, norm: 1.0, error: 0.5, scale: None };
        assert_eq!((residual.value(), residual.relative()), (1.5, f64::INFINITY));
        let scaled = residual.on_scale(3.0);
        assert_eq!((scaled.value(), scaled.relative()), (1.5, 0.5));
        assert_eq!(Certificate::gap(-4.0, -5.0).on_scale(9.0), Certificate::gap(-4.0, -5.0));
        // A file has no number for an infinite scale, and what it has in its place must not mean `|objective|`.
        for beyond in [f64::INFINITY, f64::NAN] {
            let found = Certificate::residual(1e9, 1.0, 0.0).on_scale(beyond);
            assert!(!super::super::Stop::at_relative(1e-3).met_by(&found), "{found:?}");
            let text = serde_json::to_string(&found).unwrap();
            assert_eq!(serde_json::from_str::<Certificate>(&text).unwrap(), found);
        }
    }

    /// `objective < lower_bound` is a contradiction, not a proof, whoever built the pair.
    #[test]
    fn a_lower_bound_above_the_objective_proves_nothing() {
        for (objective, lower_bound) in [
            (999_999_998.62, 1_000_000_000.5),
            (0.126_928_002, 0.126_928_011_04),
            (-10.775, -9.915),
            (0.0, 1e-300),
        ] {
            let gap = Certificate::gap(objective, lower_bound);
            assert_eq!((gap.value(), gap.relative()), (f64::INFINITY, f64::INFINITY), "{gap}");
            assert!(!super::super::Stop::at_relative(1.0).met_by(&gap), "{gap}");
            assert_eq!(Certificate::Gap { objective, lower_bound, rounding: 0.0 }, gap);
            let built = Certificate::Gap { objective, lower_bound, rounding: f64::INFINITY };
            assert_eq!(built.value(), f64::INFINITY);
            assert!(gap.to_string().contains("no certificate"), "{gap}");
        }
        // log det + trace of 1e6 each leave a difference of 1 with an error of 1e-10.
        assert!(Certificate::gap(1.0, 1.0 + 1e-10).value() > 1.0);
        assert_eq!(Certificate::gap_within(1.0, 1.0 + 1e-10, 2e-10).value(), 0.0);
        for unknown in [f64::NAN, f64::INFINITY] {
            assert!(Certificate::gap_within(1.0, 1.0 + 1e-10, unknown).value() > 1.0);
        }
    }

    /// A later certificate takes only what is sure of an earlier bound.
    #[test]
    fn an_allowance_is_kept() {
        let first = Certificate::gap_within(1.0 + 1e-10, 1.0 + 1e-10, 2e-10);
        assert_eq!(first.sure_bound(), Some(1.0 + 1e-10 - 2e-10));
        let known = |certificate: Certificate| certificate.with_lower_bound(1.0 + 1e-10).value();
        for poor in [0.5, -1e6] {
            assert_eq!(known(Certificate::gap_within(1.0, poor, 2e-10)), 0.0);
        }
        assert_eq!(known(Certificate::gap(1.0, 0.5)), f64::INFINITY);
        let text = |certificate: &Certificate| serde_json::to_string(certificate).unwrap();
        assert!(!text(&Certificate::gap(1.0, 0.5)).contains("rounding"));
        assert_eq!(serde_json::from_str::<Certificate>(&text(&first)).unwrap(), first);
        let bare = r#"{"Gap":{"objective":1.0,"lower_bound":0.5}}"#;
        assert_eq!(serde_json::from_str::<Certificate>(bare).unwrap(), Certificate::gap(1.0, 0.5));
    }
}
