//! Certificates: what is proved about a point.

use serde::{Deserialize, Serialize};

/// A proved bound for the returned point, computed from that point itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Certificate {
    /// `objective - lower_bound` bounds the suboptimality: no point has an objective below `lower_bound`.
    Gap {
        /// Objective at the point.
        objective: f64,
        /// A lower bound of the optimum, such as a dual value.
        lower_bound: f64,
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
    pub fn gap(objective: f64, lower_bound: f64) -> Self {
        if objective.is_finite() && lower_bound.is_finite() {
            Certificate::Gap { objective, lower_bound }
        } else {
            Certificate::Uncertified { objective: Some(objective).filter(|f| f.is_finite()) }
        }
    }

    /// A residual, or [`Certificate::Uncertified`] if the norm or the objective is not finite.
    pub fn residual(objective: f64, norm: f64, error: f64) -> Self {
        if objective.is_finite() && (norm + error).is_finite() {
            Certificate::Residual { objective: Some(objective), norm, error, scale: None }
        } else {
            Certificate::Uncertified { objective: Some(objective).filter(|f| f.is_finite()) }
        }
    }

    /// The same residual with a [`scale`](Certificate::Residual::scale); any other certificate as it is.
    #[must_use]
    pub fn on_scale(mut self, of_one: f64) -> Self {
        if let Certificate::Residual { scale, .. } = &mut self {
            *scale = Some(of_one);
        }
        self
    }

    /// The proved bound: on the suboptimality for a gap, on the norm for a residual, and infinite otherwise.
    ///
    /// A gap that rounding made negative counts as 0; a gap or norm that is not finite proves nothing.
    pub fn value(&self) -> f64 {
        let value = match *self {
            Certificate::Gap { objective, lower_bound } => objective - lower_bound,
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

    /// Keeps the objective, and the larger of the two lower bounds.
    pub(super) fn with_lower_bound(self, known: f64) -> Self {
        match self {
            Certificate::Gap { objective, lower_bound } => {
                Certificate::Gap { objective, lower_bound: lower_bound.max(known) }
            }
            Certificate::Uncertified { objective: Some(objective) } => {
                Certificate::gap(objective, known)
            }
            other => other,
        }
    }
}

impl std::fmt::Display for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Certificate::Gap { objective, .. } => write!(
                f,
                "objective {objective:.8e}, duality gap {:.2e} (relative {:.2e})",
                self.value(),
                self.relative()
            ),
            Certificate::Residual { objective, norm, error, .. } => {
                if let Some(objective) = objective {
                    write!(f, "objective {objective:.8e}, ")?;
                }
                write!(f, "residual {norm:.2e}")?;
                if error > 0.0 { write!(f, " (known up to {error:.1e})") } else { Ok(()) }
            }
            Certificate::Uncertified { objective: Some(objective) } => {
                write!(f, "objective {objective:.8e}, no certificate")
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
    }

    #[test]
    fn values_are_bounds() {
        assert_eq!(Certificate::gap(3.0, 1.0).value(), 2.0);
        assert_eq!(Certificate::gap(1.0, 1.0 + 1e-16).value(), 0.0);
        assert_eq!(Certificate::gap(-4.0, -5.0).relative(), 0.25);
        assert_eq!(Certificate::gap(0.0, 0.0).relative(), 0.0);
        let residual =
            Certificate::Residual { objective: None, norm: 1.0, error: 0.5, scale: None };
        assert_eq!((residual.value(), residual.relative()), (1.5, f64::INFINITY));
        let scaled = residual.on_scale(3.0);
        assert_eq!((scaled.value(), scaled.relative()), (1.5, 0.5));
        assert_eq!(Certificate::gap(-4.0, -5.0).on_scale(9.0), Certificate::gap(-4.0, -5.0));
    }
}
