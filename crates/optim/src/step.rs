//! Step sizes.

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

/// How far a method moves in a step. True steps throughout: large means far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum StepSize {
    /// The method's own step, computed from the constants of the problem; each method documents it.
    #[default]
    Theory,
    /// A multiple of the method's own step.
    Scaled(f64),
    /// A given step.
    Constant(f64),
    /// `first / k^power` in step `k = 1, 2, ...`; only for methods that say so.
    Decaying {
        /// The first step.
        first: f64,
        /// How fast the steps shrink; 1 and 1/2 are usual.
        power: f64,
    },
    /// Found by a line search on the way; only for methods that say so.
    Backtracking,
}

impl StepSize {
    /// The step in force, where `theory` is the method's own.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a step or factor that is not a finite number above 0; [`Invalid::Layout`] for
    /// steps that change on the way, which are not one number.
    pub fn resolve(&self, theory: f64) -> Result<f64, Invalid> {
        match *self {
            StepSize::Theory => Ok(theory),
            StepSize::Scaled(factor) => {
                Invalid::check_positive("step (factor)", factor)?;
                Ok(factor * theory)
            }
            StepSize::Constant(step) => {
                Invalid::check_positive("step", step)?;
                Ok(step)
            }
            StepSize::Decaying { .. } | StepSize::Backtracking => Err(Invalid::Layout {
                what: "step",
                reason: format!("this method cannot take {self:?}; use Theory, Scaled or Constant"),
            }),
        }
    }
}
