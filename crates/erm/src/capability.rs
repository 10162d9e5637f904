//! Which losses a method takes.

use fenchel_linalg::Design;
use fenchel_optim::{Loss, Refusal, Regulariser};

use crate::{Error, Problem};

impl<D: Design, L: Loss, R: Regulariser> Problem<'_, D, L, R> {
    /// A method with a step size needs a smooth loss. `method` is its name, for the message.
    ///
    /// # Errors
    /// [`Error::Refused`] for a loss whose derivative has no Lipschitz constant.
    pub fn check_smooth(&self, method: &'static str) -> Result<(), Error> {
        if self.loss().curvature().is_finite() {
            return Ok(());
        }
        let name = L::NAME;
        let newton = if self.loss().twice_differentiable() { " or newton" } else { "" };
        // SDCA itself comes here with its constant step only.
        let instead = match method {
            "sdca" => "the step Exact or Interval".to_owned(),
            _ => format!("sdca{newton}"),
        };
        let what =
            format!("the {name} loss, whose derivative has no Lipschitz constant; use {instead}");
        Err(Refusal::unsupported(method, what).into())
    }

    /// A dual method needs the conjugate of the loss. `method` is its name, for the message.
    ///
    /// # Errors
    /// [`Error::Refused`] for a loss whose conjugate is not known.
    pub fn check_dual(&self, method: &'static str) -> Result<(), Error> {
        if L::HAS_DUAL {
            return Ok(());
        }
        let what = format!("the {} loss, whose conjugate is not known; use saga", L::NAME);
        Err(Refusal::unsupported(method, what).into())
    }

    /// A Newton method needs second derivatives, bounded or not.
    pub(crate) fn check_twice_differentiable(&self, method: &'static str) -> Result<(), Error> {
        if self.loss().twice_differentiable() {
            return Ok(());
        }
        let reason = if L::HAS_DUAL {
            "which has a kink; use sdca"
        } else {
            "whose second derivative is not known; use saga"
        };
        let what = format!("the {} loss, {reason}", L::NAME);
        Err(Refusal::unsupported(method, what).into())
    }
}
