//! Newton's method for twice differentiable functions of a linear map.
//!
//! ```text
//! F(x) = f(z) + q(x),     z = A x,     H = A' f''(z) A + q''
//! ```
//!
//! where `q` is quadratic, and evaluating `f` is cheap compared with a product with `A`. The margins `z = A x` are linear in
//! `x`: at a step length `s` along a direction `w` they are `A x + s A w`. So a line search costs no pass over the data.
//!
//! | your problem has | use |
//! |---|---|
//! | many variables | [`newton_cg`]: the Newton system by conjugate gradients, one pass per product with the Hessian |
//! | few variables | [`newton`](fn@newton): the Newton system by a Cholesky factorisation |
//! | a matrix near the Hessian that is cheaper to compute | [`quasi_newton`]: L-BFGS with the inverse of this matrix as its first matrix |
//!
//! | symbol | name |
//! |---|---|
//! | `g`, `H` | gradient and Hessian of `F` |
//! | `w` | step, `H w = -g` |
//! | `M` | diagonal preconditioner |

mod cg;
mod exact;
mod quasi;
mod system;

pub use cg::{Globalisation, NewtonCg, NewtonCgSettings, Preconditioner, newton_cg};
pub use exact::{Newton, newton};
pub use quasi::{QuasiNewton, QuasiNewtonSettings, quasi_newton};

use fenchel_linalg::Invalid;

use crate::Certificate;

/// A decrease of the objective below this fraction of its value is taken for rounding.
const INVISIBLE: f64 = 1e-16;

/// A twice differentiable, convex function of a linear map; see the [module](self).
pub trait TwiceDifferentiable {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Number of margins.
    fn margins(&self) -> usize;

    /// Number of terms that `f` adds up, those of other processes among them: it bounds the rounding of the objective.
    fn terms(&self) -> usize {
        self.margins()
    }

    /// Whether `f` is quadratic, so that one linear system is the whole problem.
    fn quadratic(&self) -> bool {
        false
    }

    /// Computes `z = A v`. Half a pass.
    fn multiply(&self, v: &[f64], z: &mut [f64]);

    /// `F(x)`, given `z = A x`. No pass.
    fn value(&mut self, x: &[f64], z: &[f64]) -> f64;

    /// The certificate at `x`, given `z = A x`. The gradient is written to `gradient`. The function may move the point to a
    /// better one first, for example an intercept to its optimum, and then updates the margins too. Half a pass.
    ///
    /// The certificate must contain the objective.
    fn measure(&mut self, x: &mut [f64], z: &mut Vec<f64>, gradient: &mut [f64]) -> Certificate;

    /// Computes and stores `f''(z)` for later products with the Hessian. No pass.
    fn bend(&mut self, z: &[f64]);

    /// Replaces the stored `f''(z)` by upper bounds that hold everywhere, and returns true, if there are any. The model with them
    /// lies above the function: it is asked for where `f''(z)` is of no use, because `f` is flat at `z`. No pass.
    fn bend_most(&mut self) -> bool {
        false
    }

    /// The diagonal of `H`. Half a pass.
    fn diagonal(&mut self, out: &mut [f64]);

    /// Writes `out = H v`, given `z = A v`. Half a pass.
    fn curve(&mut self, v: &[f64], z: &[f64], out: &mut [f64]);
}

/// A twice differentiable function that can compute its Hessian as a matrix.
pub trait WithHessian: TwiceDifferentiable {
    /// Returns `H` in row-major order, of which the upper triangle is read, at the second derivatives that were stored, and its cost in passes.
    fn hessian(&mut self) -> (Vec<f64>, f64);
}

/// A twice differentiable function with a matrix that approximates its Hessian.
pub trait Preconditioned: TwiceDifferentiable {
    /// Returns a positive definite matrix near `H` in row-major order, of which the upper triangle is read, given `z = A x`, and its cost in passes.
    fn preconditioner(&mut self, z: &[f64]) -> (Vec<f64>, f64);

    /// Returns `F(x)`, and writes `z = A x` to `z` and `F'(x)` to `gradient`. Stores `f'(z)` like [`evaluate`](Self::evaluate).
    /// The cost is one pass; where possible the data are read once for both products.
    fn value_and_gradient(&mut self, x: &[f64], z: &mut [f64], gradient: &mut [f64]) -> f64 {
        self.multiply(x, z);
        let value = self.evaluate(x, z);
        self.gradient(x, gradient);
        value
    }

    /// Returns `F(x)`, given `z = A x`. Stores `f'(z)` for later slopes and gradients at this point. No pass.
    fn evaluate(&mut self, x: &[f64], z: &[f64]) -> f64;

    /// The slope `F'(x).w` at the point evaluated last, given `a = A w`. No pass.
    fn slope(&self, x: &[f64], w: &[f64], a: &[f64]) -> f64;

    /// The gradient `F'(x)` at the point evaluated last. Half a pass.
    fn gradient(&mut self, x: &[f64], out: &mut [f64]);

    /// The certificate that follows from value and gradient at `x` alone, if it is as good as that of
    /// [`measure`](TwiceDifferentiable::measure). No pass.
    fn certificate(&mut self, x: &[f64], value: f64, gradient: &[f64]) -> Option<Certificate>;

    /// An estimate of the certificate's value, used where [`certificate`](Self::certificate) is `None`.
    fn estimate(&self, gradient: &[f64]) -> f64;
}

/// The current point, with its objective, gradient and certificate.
#[derive(Debug, Clone)]
struct Descent<F> {
    function: F,
    x: Vec<f64>,
    z: Vec<f64>,
    gradient: Vec<f64>,
    certificate: Option<Certificate>,
    objective: f64,
    /// Norm of the gradient at the last step, once decreases of the objective are below rounding.
    last_size: f64,
    /// Accepted steps.
    steps: u64,
    stalled: bool,
}

impl<F: TwiceDifferentiable> Descent<F> {
    /// # Errors
    /// [`Invalid`] for a start of the wrong length or with non-finite entries.
    fn new(function: F, x: Vec<f64>) -> Result<Self, Invalid> {
        Invalid::check_length("start", function.dimension(), x.len())?;
        Invalid::check_finite("start", &x)?;
        Ok(Descent {
            z: vec![0.0; function.margins()],
            gradient: vec![0.0; x.len()],
            function,
            x,
            certificate: None,
            objective: f64::INFINITY,
            last_size: f64::INFINITY,
            steps: 0,
            stalled: false,
        })
    }

    /// Computes objective, gradient and certificate at the current point, unless they are known. The margins are recomputed.
    fn measure(&mut self) -> Certificate {
        if let Some(certificate) = self.certificate {
            return certificate;
        }
        self.function.multiply(&self.x, &mut self.z);
        let certificate = self.function.measure(&mut self.x, &mut self.z, &mut self.gradient);
        self.objective = certificate.objective().unwrap_or(f64::INFINITY);
        self.certificate = Some(certificate);
        certificate
    }

    /// The rounding error of the objective, which is a sum of many terms.
    fn slack(&self) -> f64 {
        let rounding = f64::EPSILON * (4.0 + (self.function.terms() as f64).sqrt());
        rounding * self.objective.abs()
    }

    /// Whether the method has stalled: the slope is not negative, or the decrease is below the rounding of the objective and
    /// the gradient, of norm `size`, no longer halves.
    fn hopeless(&mut self, slope: f64, decrease: f64, size: f64) -> bool {
        let invisible = !(decrease > INVISIBLE * self.objective.abs());
        let hopeless = !(slope < 0.0) || (invisible && size > 0.5 * self.last_size);
        self.last_size = if invisible { size } else { f64::INFINITY };
        hopeless
    }

    /// Moves to `x + scale w`, with its margins. Returns the objective there.
    fn move_to(&mut self, from: &Point, step: &[f64], step_margins: &[f64], scale: f64) -> f64 {
        self.shift(from, step, step_margins, scale);
        self.function.value(&self.x, &self.z)
    }

    /// Moves to `x + scale w`, with its margins.
    fn shift(&mut self, from: &Point, step: &[f64], step_margins: &[f64], scale: f64) {
        for ((x, from), w) in self.x.iter_mut().zip(&from.x).zip(step) {
            *x = from + scale * w;
        }
        for ((z, from), a) in self.z.iter_mut().zip(&from.z).zip(step_margins) {
            *z = from + scale * a;
        }
    }

    fn point(&self) -> Point {
        Point { x: self.x.clone(), z: self.z.clone() }
    }

    /// Halves the step until the objective falls by a hundredth of what the slope predicts, and stalls if it never does. If the
    /// difference is within rounding, the step is accepted.
    fn search(&mut self, from: &Point, step: &[f64], step_margins: &[f64], slope: f64) -> bool {
        let slack = self.slack();
        let mut scale = 1.0;
        while scale > 1e-12 {
            let value = self.move_to(from, step, step_margins, scale);
            if value - self.objective <= 0.01 * scale * slope + slack {
                return true;
            }
            scale *= 0.5;
        }
        self.stalled = true;
        false
    }

    /// Ends a step at the new point, or returns to the old one.
    fn settle(&mut self, accepted: bool, from: Point) {
        if accepted {
            self.steps += 1;
            self.certificate = None;
        } else {
            (self.x, self.z) = (from.x, from.z);
        }
    }
}

/// Where a step began.
#[derive(Debug, Clone)]
struct Point {
    x: Vec<f64>,
    z: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of a million terms is here.
    struct Part;

    impl TwiceDifferentiable for Part {
        fn dimension(&self) -> usize {
            1
        }
        fn margins(&self) -> usize {
            1
        }
        fn terms(&self) -> usize {
            1_000_000
        }
        fn multiply(&self, _: &[f64], _: &mut [f64]) {}
        fn value(&mut self, _: &[f64], _: &[f64]) -> f64 {
            // Within the rounding of so many terms, and beyond that of a few.
            1.0 + 500.0 * f64::EPSILON
        }
        fn measure(&mut self, _: &mut [f64], _: &mut Vec<f64>, _: &mut [f64]) -> Certificate {
            Certificate::gap(1.0, 0.0)
        }
        fn bend(&mut self, _: &[f64]) {}
        fn diagonal(&mut self, _: &mut [f64]) {}
        fn curve(&mut self, _: &[f64], _: &[f64], _: &mut [f64]) {}
    }

    /// All processes accept the same steps, however many terms each of them has.
    #[test]
    fn rounding_is_that_of_all_terms() {
        let mut at = Descent::new(Part, vec![0.0]).unwrap();
        at.measure();
        let from = at.point();
        assert!(at.search(&from, &[1.0], &[1.0], -1e-30));
    }
}
