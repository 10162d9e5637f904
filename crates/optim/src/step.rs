//! Step sizes.

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

/// The step size of a method. All values are true step sizes, so that larger means farther.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum StepSize {
    /// The step that the theory of the method gives, computed from the constants of the problem. Each method documents it.
    #[default]
    Theory,
    /// A multiple of the step that the theory gives.
    Scaled(f64),
    /// A given step.
    Constant(f64),
    /// `first / k^power` in step `k = 1, 2, ...`. Only some methods support it, and document it.
    Decaying {
        /// The first step.
        first: f64,
        /// How fast the steps shrink; 1 and 1/2 are usual.
        power: f64,
    },
    /// Found by a line search during the run. Only some methods support it, and document it.
    Backtracking,
}

impl StepSize {
    /// The step size to use, where `theory` is the step that the theory gives.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a step or factor that is not a finite number above 0. [`Invalid::Layout`] for `Decaying` and
    /// `Backtracking`, which are not a single number.
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
