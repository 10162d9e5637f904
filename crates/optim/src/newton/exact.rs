//! Newton's method with an explicit Hessian.

use fenchel_linalg::vectors::dot;
use fenchel_linalg::{Cholesky, Invalid};

use super::{Descent, WithHessian};
use crate::{Certificate, CertificateCost, Iterative, Observer, Solution, Status, Stop, run};

/// Minimises a function of few variables from `start` by Newton's method with a line search.
///
/// A step costs a pass for gradient and certificate, half a pass for the margins of the step, the Hessian, and its
/// factorisation. Memory: two `d x d` matrices for `d` variables. A small ridge is added to a singular Hessian. The run ends as
/// `Stalled` when the decrease that the model predicts is below the rounding of the objective and the gradient no longer
/// halves.
///
/// Reference: Nocedal and Wright, "Numerical Optimization" (2006), algorithm 3.2.
///
/// # Errors
/// [`Invalid`] for a start of the wrong length or with non-finite entries, or settings out of range.
pub fn newton<F: WithHessian, O: Observer<Newton<F>>>(
    function: F,
    stop: &Stop,
    start: Vec<f64>,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Invalid> {
    stop.check()?;
    let at = Descent::new(function, start)?;
    let mut method = Newton { step_margins: vec![0.0; at.z.len()], at };
    let report = run(&mut method, stop, observer)?;
    Ok(Solution { state: method.at.x, report })
}

/// The method behind [`newton`].
#[derive(Debug, Clone)]
pub struct Newton<F> {
    at: Descent<F>,
    step_margins: Vec<f64>,
}

impl<F: WithHessian> Newton<F> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.at.x
    }

    /// Takes one step. Returns its cost in passes.
    fn step(&mut self) -> f64 {
        let Newton { at, step_margins } = self;
        at.measure();
        at.function.bend(&at.z);
        let (hessian, cost) = at.function.hessian();
        let passes = 1.5 + cost;
        let mut step: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
        let solved = Cholesky::with_ridge(&hessian, step.len())
            .is_ok_and(|factor| factor.solve_in_place(&mut step).is_ok());
        let slope = dot(&at.gradient, &step);
        if !solved || at.hopeless(slope, -0.5 * slope, (-slope).max(0.0).sqrt()) {
            at.stalled = true;
            return passes;
        }
        at.function.multiply(&step, step_margins);
        let from = at.point();
        let accepted = at.search(&from, &step, step_margins, slope);
        at.settle(accepted, from);
        passes
    }
}

impl<F: WithHessian> Iterative for Newton<F> {
    /// Takes one Newton step, whatever its cost.
    fn advance(&mut self, _: f64) -> f64 {
        self.step()
    }

    /// The next step needs all of this work anyway.
    fn certify(&mut self) -> Certificate {
        self.at.measure()
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Free
    }

    /// Accepted steps.
    fn oracle_calls(&self) -> u64 {
        self.at.steps
    }

    fn verdict(&self) -> Option<Status> {
        self.at.stalled.then_some(Status::Stalled)
    }
}
