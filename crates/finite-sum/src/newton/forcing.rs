//! How far a model is minimised: a fraction of the violation that it may leave.
//!
//! More than the model is wrong by is wasted. What it was wrong by shows at the next point, where the violation is that
//! plus what the minimisation had left (Eisenstat and Walker, SIAM J. Sci. Comput. 17, 1996, choice 1); it is proportional
//! to the length of the step. On a Gram matrix, where a sweep costs next to nothing, the fraction is small at once.

use serde::{Deserialize, Serialize};

/// On a large working set never more than this,
const LOOSE: f64 = 0.3;
/// nor less than this,
const TIGHT: f64 = 1e-3;
/// nor at once so much less than at the last step.
const FALL: f64 = 0.2;
/// By coordinate descent on columns of a set small enough for a Gram matrix.
const COLUMNS: f64 = 0.1;
/// On a Gram matrix.
const GRAM: f64 = 1e-3;
/// On no model less than this.
const TIGHTEST: f64 = 1e-6;
/// So much of what a model is expected to be wrong by counts where the question is whether to try its step as the last:
/// failing costs little.
const HOPE: f64 = 0.3;
/// A model with the Hessian of an earlier point is wrong by about so much.
const OLD: f64 = 0.2;
/// The last step leaves this fraction of the certificate that ends the run.
const LAST: f64 = 0.5;

/// What the descents on a model may leave, as fractions of the violation at the outer point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Tolerances {
    /// On a working set too large for a Gram matrix.
    pub(super) large: f64,
    /// On the columns of a smaller one.
    pub(super) columns: f64,
    /// On its Gram matrix.
    pub(super) gram: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Tolerances { large: LOOSE, columns: COLUMNS, gram: GRAM }
    }
}

/// What is known at an outer point.
pub(super) struct Known {
    pub(super) violation: f64,
    pub(super) objective: f64,
    /// The certificate's value, and what is to end the run.
    pub(super) gap: f64,
    pub(super) tolerance: f64,
    /// Whether the working set is small enough for a Gram matrix.
    pub(super) small: bool,
    /// Whether the model has the Hessian of an earlier point.
    pub(super) old: bool,
    /// Whether the model is the function itself: what is left comes from beyond the working set.
    pub(super) quadratic: bool,
}

/// The tolerances of one outer step after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Forcing {
    pub(super) tolerances: Tolerances,
    /// Whether the next step may be the last, if the dual point at the end of its model is looked at.
    pub(super) last: bool,
    /// Violation at the last point; what minimising its model left of that.
    before: Option<f64>,
    #[serde(with = "fenchel_optim::limit")]
    pub(super) left: f64,
}

impl Forcing {
    /// Whether a step from a point of this violation is.
    pub(super) fn step(&mut self, known: &Known) {
        let needed = LAST * known.tolerance / known.gap;
        let pace = self.before.map_or(f64::INFINITY, |before| known.violation / before);
        let wrong = (pace - self.left).max(0.5 * pace);
        // The model of this step, if its error goes on falling with the length of the step.
        let ahead = wrong * pace;
        let large = if ahead <= needed { needed } else { wrong.max(FALL * self.tolerances.large) };
        self.tolerances = Tolerances { large: large.clamp(TIGHT, LOOSE), ..Tolerances::default() };
        // What its dual point is wrong by is of second order in that. That of a quadratic is phi' itself.
        let scale = known.objective.abs();
        let relative = if known.old { OLD } else { HOPE * ahead } * known.gap / scale;
        let right = relative * relative * scale <= known.tolerance;
        self.last = known.small && right && !known.quadratic;
        if self.last {
            let needed = needed.max(TIGHTEST);
            self.tolerances.gram = GRAM.min(needed);
            self.tolerances.columns = COLUMNS.min(needed);
        }
        self.before = Some(known.violation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(violation: f64, gap: f64) -> Known {
        let (objective, tolerance) = (1.0, 1e-6);
        Known { violation, objective, gap, tolerance, small: false, old: false, quadratic: false }
    }

    /// Newton's method on a model problem: the next violation is what was left of the last and a quadratic error. The
    /// violations fall faster and faster, and no model is minimised much further than it is right.
    #[test]
    fn a_quadratic_pace_is_kept_with_models_that_leave_as_much_as_they_are_wrong_by() {
        let (mut forcing, mut violation, mut steps) = (Forcing::default(), 0.4, 0);
        let mut paces = Vec::new();
        while violation > 1e-7 {
            forcing.step(&known(violation, 1.0));
            let left = forcing.tolerances.large;
            forcing.left = left;
            let error = 0.5 * violation;
            assert!(left >= 0.2 * error || left == TIGHT, "{left} of {violation}");
            paces.push(left + error);
            violation *= left + error;
            steps += 1;
        }
        assert!(paces.windows(2).all(|p| p[1] < p[0]), "{paces:?}");
        // With exact models 5: 0.4, 0.08, 3.2e-3, 5e-6, 1e-11.
        assert!(steps <= 8, "{steps} steps");
    }

    #[test]
    fn the_last_model_is_brought_as_far_as_the_proof_needs() {
        let mut forcing = Forcing::default();
        forcing.step(&known(1.0, 1e-2));
        assert_eq!((forcing.tolerances.large, forcing.last), (LOOSE, false));
        // A pace of 1e-3: the next error is about 1e-6 of the violation, and 1e-4 / 2 of the gap is needed.
        forcing.step(&known(1e-3, 1e-2));
        assert_eq!(forcing.tolerances.large, TIGHT);
        forcing.step(&Known { small: true, ..known(1e-6, 1e-2) });
        assert!(forcing.last);
        assert_eq!(forcing.tolerances.gram, 0.5 * 1e-6 / 1e-2);
        // Of a quadratic there is no better dual point than its own gradient.
        forcing.step(&Known { small: true, quadratic: true, ..known(1e-9, 1e-2) });
        assert!(!forcing.last);
        // The Hessian of another point is not trusted with a gap of a hundredth.
        let mut forcing = Forcing::default();
        forcing.step(&known(1.0, 1e-2));
        forcing.step(&Known { small: true, old: true, ..known(1e-6, 1e-2) });
        assert!(!forcing.last);
    }
}
