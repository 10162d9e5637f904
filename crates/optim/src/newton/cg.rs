//! Newton-CG: Newton's method whose linear systems are solved by conjugate gradients.

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use super::system::{Promise, Quadratic, System};
use super::{Descent, Point, TwiceDifferentiable};
use crate::{Certificate, CertificateCost, Iterative, Observer, Solution, Status, Stop, run};

/// The conjugate gradients of a step that only has to lead out of a flat region end at this fraction of the residual.
const ROUGH: f64 = 0.5;

/// How the length of a Newton step is controlled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Globalisation {
    /// Line search: the step is halved until the objective falls by a hundredth of what its slope predicts.
    #[default]
    LineSearch,
    /// Trust region (Steihaug's method): the conjugate gradients end at the boundary of a region whose radius follows the
    /// quality of the model. It takes about as many passes as the line search.
    TrustRegion,
}

/// The preconditioner of the conjugate gradients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preconditioner {
    /// The identity.
    None,
    /// The diagonal of the Hessian, at half a pass per step. For logistic regression with small `l2` it divides the number of
    /// passes by 2.2 to 2.9 on generated text, census data and web pages. On Reuters the factor is 0.6, so that it costs
    /// passes.
    #[default]
    Diagonal,
}

crate::settings! {
    /// Settings of [`newton_cg`](fn@newton_cg).
    pub struct NewtonCgSettings {
        /// How the length of a step is controlled.
        globalisation: Globalisation = Globalisation::LineSearch,
        /// Preconditioner of the Newton system.
        preconditioner: Preconditioner = Preconditioner::Diagonal,
        /// Conjugate gradients end when the residual has fallen to this fraction, in (0, 1). Those of a quadratic function end at the
        /// tolerance.
        forcing: f64 = 0.1,
        /// When to end. A product with the Hessian is a pass.
        stop: Stop = Stop::default(),
    }
}

/// The method behind [`newton_cg`](fn@newton_cg).
#[derive(Debug, Clone)]
pub struct NewtonCg<F> {
    at: Descent<F>,
    globalisation: Globalisation,
    preconditioner: Preconditioner,
    forcing: f64,
    stop: Stop,
    /// Radius of the trust region, in the norm of the preconditioner. `None` before the first step and for the line search.
    radius: Option<f64>,
    /// `M`
    diagonal: Vec<f64>,
    system: System,
}

/// Minimises a function from `start`.
///
/// A step costs 1.5 passes, and one more for each product with the Hessian, of which it takes at most 200 whatever the
/// dimension. Memory: seven vectors of margins and seven of variables. Where a step leads nowhere because the function is flat at the
/// point, one is made with upper bounds of the second derivatives, if there are any
/// ([`bend_most`](TwiceDifferentiable::bend_most)). The run ends as `Stalled` when the decrease that the model predicts is below the
/// rounding of the objective and the gradient no longer halves.
///
/// Sources: Steihaug, SIAM Journal on Numerical Analysis 20 (1983); Lin, Weng and Keerthi, "Trust region Newton method for
/// large-scale logistic regression", JMLR 9 (2008); Hsia, Chiang and Lin, "Preconditioned conjugate gradient methods in
/// truncated Newton frameworks for large-scale linear classification", ACML 2018.
///
/// # Errors
/// [`Invalid`] for a start of the wrong length or with non-finite entries, or settings out of range.
pub fn newton_cg<F: TwiceDifferentiable, O: Observer<NewtonCg<F>>>(
    function: F,
    settings: &NewtonCgSettings,
    start: Vec<f64>,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Invalid> {
    settings.stop.check()?;
    let NewtonCgSettings { globalisation, preconditioner, forcing, stop } = *settings;
    if !(forcing > 0.0 && forcing < 1.0) {
        let (name, expected) = ("forcing", "a number in (0, 1)");
        return Err(Invalid::Parameter { name, value: forcing, expected });
    }
    let at = Descent::new(function, start)?;
    let d = at.x.len();
    let mut method = NewtonCg {
        system: System::new(at.z.len(), d),
        at,
        globalisation,
        preconditioner,
        forcing,
        stop,
        radius: None,
        diagonal: vec![1.0; d],
    };
    let report = run(&mut method, &stop, observer)?;
    Ok(Solution { state: method.at.x, report })
}

impl<F: TwiceDifferentiable> NewtonCg<F> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.at.x
    }

    /// Computes the preconditioner for the stored second derivatives. The diagonal costs half a pass.
    fn prepare(&mut self) -> f64 {
        let function = &mut self.at.function;
        if self.preconditioner == Preconditioner::None {
            return 0.0;
        }
        function.diagonal(&mut self.diagonal);
        // An empty column, or margins so large that all curvature is rounded away.
        for m in self.diagonal.iter_mut().filter(|m| !(**m > 0.0)) {
            *m = 1.0;
        }
        0.5
    }

    /// The fraction of the residual at which the conjugate gradients end. A quadratic function has one linear system, which is
    /// solved to half of the tolerance: a gap goes with the square of the residual, the norm of a gradient with the residual itself.
    fn forcing_at(&self, certificate: &Certificate) -> f64 {
        let wanted = 0.5 * self.stop.tolerance_for(certificate) / certificate.value();
        if !(self.at.function.quadratic() && wanted > 0.0) {
            return self.forcing;
        }
        let fraction = match certificate {
            Certificate::Gap { .. } => wanted.sqrt(),
            _ => wanted,
        };
        fraction.min(self.forcing)
    }

    /// One Newton step. Returns its cost in passes.
    fn step(&mut self) -> f64 {
        let certificate = self.at.measure();
        self.at.function.bend(&self.at.z);
        let mut passes = 1.0 + self.prepare();
        let forcing = self.forcing_at(&certificate);
        let gradient = &self.at.gradient;
        let size: f64 =
            gradient.iter().zip(&self.diagonal).map(|(g, m)| g * g / m).sum::<f64>().sqrt();
        let first = self.radius.is_none();
        if first && self.globalisation == Globalisation::TrustRegion && size > 0.0 {
            self.radius = Some(size);
        }
        let radius = match self.globalisation {
            Globalisation::LineSearch => f64::INFINITY,
            Globalisation::TrustRegion => self.radius.unwrap_or(f64::INFINITY),
        };
        let model = Quadratic { gradient, diagonal: &self.diagonal, radius };
        let promise = self.system.solve(&mut self.at.function, model, forcing);
        passes += promise.passes;
        // Where the objective shows nothing any more, the gradient still may.
        let lost = self.at.hopeless(promise.slope, promise.decrease, size);
        if lost || promise.flat {
            match self.rescue() {
                Some(cost) => return passes + cost,
                None if lost => {
                    self.at.stalled = true;
                    return passes;
                }
                None => {}
            }
        }
        let from = self.at.point();
        let accepted = match self.globalisation {
            Globalisation::LineSearch => {
                let System { step, step_margins, .. } = &self.system;
                self.at.search(&from, step, step_margins, promise.slope)
            }
            Globalisation::TrustRegion => self.try_region(promise, first, &from),
        };
        self.at.settle(accepted, from);
        match self.at.stalled {
            true => passes + self.rescue().unwrap_or(0.0),
            false => passes,
        }
    }

    /// A step on the model with the largest second derivatives, where the one with those at the point leads nowhere. That model lies
    /// above the function: its step is as long as it is good for, and then doubled while the function falls, which costs no pass.
    /// Stalls if the decrease would not be seen. Returns its cost in passes, and none if there are no upper bounds.
    fn rescue(&mut self) -> Option<f64> {
        if !self.at.function.bend_most() {
            return None;
        }
        self.at.stalled = true;
        let passes = self.prepare();
        let model = Quadratic {
            gradient: &self.at.gradient,
            diagonal: &self.diagonal,
            radius: f64::INFINITY,
        };
        let promise = self.system.solve(&mut self.at.function, model, ROUGH);
        let passes = passes + promise.passes;
        if !(promise.slope < 0.0 && promise.decrease > 16.0 * self.at.slack()) {
            return Some(passes);
        }
        let from = self.at.point();
        let System { step, step_margins, .. } = &self.system;
        let mut scale = 1.0;
        let mut value = self.at.move_to(&from, step, step_margins, scale);
        let lower = value < self.at.objective;
        let mut falls = lower;
        while falls {
            let next = self.at.move_to(&from, step, step_margins, 2.0 * scale);
            falls = next < value;
            if falls {
                (scale, value) = (2.0 * scale, next);
            }
        }
        if lower {
            self.at.shift(&from, step, step_margins, scale);
            (self.at.stalled, self.at.last_size) = (false, f64::INFINITY);
            self.radius = self.radius.map(|_| scale * promise.length);
        }
        self.at.settle(lower, from);
        Some(passes)
    }

    /// Tries the step, and changes the radius by the result.
    fn try_region(&mut self, promise: Promise, first: bool, from: &Point) -> bool {
        let Promise { slope, decrease, length, bounded, .. } = promise;
        let old = self.radius.unwrap_or(length);
        let slack = self.at.slack();
        let System { step, step_margins, .. } = &self.system;
        let actual = self.at.objective - self.at.move_to(from, step, step_margins, 1.0);
        if decrease <= slack && actual >= -slack {
            // Both are rounding: no evidence against the model, none for another radius.
            return true;
        }
        // The minimiser of the parabola through the two values with the known slope.
        let excess = -actual - slope;
        let reach = if excess <= 0.0 { 4.0 } else { f64::max(0.25, -0.5 * slope / excess) };
        let target = reach * length;
        let radius = if first { old.min(length) } else { old };
        let next = if !(actual >= 1e-4 * decrease) {
            target.min(0.5 * radius)
        } else if actual < 0.25 * decrease {
            target.clamp(0.25 * radius, 0.5 * radius)
        } else if actual < 0.75 * decrease {
            target.clamp(0.25 * radius, 4.0 * radius)
        } else if bounded {
            4.0 * radius
        } else {
            radius.max(target.min(4.0 * radius))
        };
        // A value that is not finite gives no parabola.
        let next = if next.is_finite() { next } else { 0.25 * radius };
        self.radius = Some(next);
        if !(next > 1e-300) {
            self.at.stalled = true;
        }
        actual > 1e-4 * decrease
    }
}

impl<F: TwiceDifferentiable> Iterative for NewtonCg<F> {
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
