//! A problem as one function of its weights and, behind them, its intercept: what the batch methods minimise.

use fenchel_linalg::{Design, multiply, multiply_squares_transposed, multiply_transposed};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::newton::TwiceDifferentiable;
use fenchel_optim::prox::Zero;
use fenchel_optim::{Certificate, Loss, Regulariser};

use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// The smooth part of a problem, risk and l2 term, as one function; the intercept is the last variable.
#[derive(Debug, Clone)]
pub struct SmoothPart<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    /// Margins, then a number a row.
    rows: Vec<f64>,
    /// `phi''(t_i) / n`
    h: Vec<f64>,
    gap: Gap,
}

impl<'p, 'a, D: Design, L: Loss, R: Regulariser> SmoothPart<'p, 'a, D, L, R> {
    /// The function, and the variables of a start.
    pub(crate) fn new(
        problem: &'p Problem<'a, D, L, R>,
        start: Option<Point>,
    ) -> Result<(Self, Vec<f64>), Error> {
        let start = start.unwrap_or_else(|| Point::zero(problem.d()));
        problem.check_point(&start)?;
        let mut x = start.weights;
        if problem.intercept() {
            x.push(start.intercept);
        }
        let (rows, gap) = (vec![0.0; problem.n()], Gap::new(problem));
        Ok((SmoothPart { problem, rows, h: Vec::new(), gap }, x))
    }

    /// `rows <- A x + b`; returns the value.
    fn evaluate(&mut self, x: &[f64]) -> f64 {
        margins(self.problem, x, &mut self.rows);
        self.problem.smooth_objective_at(&self.rows, &x[..self.problem.d()])
    }

    /// `out = A'rows + l2 v`, and the sum of the rows for the intercept. Half a pass.
    fn transpose(&self, v: &[f64], out: &mut [f64]) {
        let (out, rest) = out.split_at_mut(self.problem.d());
        multiply_transposed(self.problem.design(), &self.rows, out);
        for (o, v) in out.iter_mut().zip(v) {
            *o += self.problem.l2() * v;
        }
        if let Some(o) = rest.first_mut() {
            *o = self.rows.iter().sum();
        }
    }
}

/// The point that the variables stand for.
pub(crate) fn point(d: usize, x: &[f64]) -> Point {
    let (weights, rest) = x.split_at(d);
    Point { weights: weights.to_vec(), intercept: rest.first().copied().unwrap_or(0.0) }
}

/// `A x + b`. Half a pass.
fn margins<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    x: &[f64],
    out: &mut [f64],
) {
    let (weights, rest) = x.split_at(problem.d());
    multiply(problem.design(), weights, out);
    if let Some(intercept) = rest.first() {
        out.iter_mut().for_each(|t| *t += intercept);
    }
}

fn dimension<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> usize {
    problem.d() + usize::from(problem.intercept())
}

impl<D: Design, L: Loss, R: Regulariser> Smooth for SmoothPart<'_, '_, D, L, R> {
    fn dimension(&self) -> usize {
        dimension(self.problem)
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let value = self.evaluate(x);
        self.problem.differentiate(&mut self.rows, 1.0 / self.problem.n() as f64);
        self.transpose(x, gradient);
        value
    }

    fn value_only(&mut self, x: &[f64]) -> f64 {
        self.evaluate(x)
    }

    /// Of a problem without regulariser: a duality gap where `l2 > 0`, else the norm of the gradient.
    fn certify(&mut self, x: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let norm_squared: f64 = gradient.iter().map(|g| g * g).sum();
        let l2 = self.problem.l2();
        if l2 == 0.0 || !R::IDENTITY {
            Certificate::residual(value, norm_squared.sqrt(), 0.0)
        } else if self.problem.intercept() && value.is_finite() {
            self.gap.at(self.problem, &point(self.problem.d(), x))
        } else {
            // For u = phi' the gap is ||F'||^2 / (2 l2): no further look at the data.
            Certificate::gap(value, value - norm_squared / (2.0 * l2))
        }
    }

    fn certify_composite(&mut self, x: &[f64], _: f64) -> Option<Certificate> {
        Some(self.gap.at(self.problem, &point(self.problem.d(), x)))
    }
}

impl<D: Design, L: Loss> TwiceDifferentiable for SmoothPart<'_, '_, D, L, Zero> {
    fn dimension(&self) -> usize {
        dimension(self.problem)
    }

    fn margins(&self) -> usize {
        self.problem.n()
    }

    fn multiply(&self, v: &[f64], z: &mut [f64]) {
        margins(self.problem, v, z);
    }

    fn value(&mut self, x: &[f64], z: &[f64]) -> f64 {
        self.problem.smooth_objective_at(z, &x[..self.problem.d()])
    }

    /// A duality gap where `l2 > 0`, else the norm of the gradient, with the intercept at its optimum.
    fn measure(&mut self, x: &mut [f64], z: &mut Vec<f64>, gradient: &mut [f64]) -> Certificate {
        let (problem, d) = (self.problem, self.problem.d());
        let mut point = point(d, x);
        std::mem::swap(z, &mut self.gap.margins);
        let certificate = self.gap.at_margins(problem, &mut point);
        std::mem::swap(z, &mut self.gap.margins);
        // With the intercept at its optimum the dual point was feasible as it stood: v = -(1/n) A' phi'.
        let weights = self.gap.correlation.iter().zip(&point.weights);
        for (g, (v, x)) in gradient.iter_mut().zip(weights) {
            *g = problem.l2() * x - v;
        }
        if problem.intercept() {
            x[d] = point.intercept;
            gradient[d] = problem.sum_derivatives(z) / problem.n() as f64;
        }
        certificate
    }

    fn bend(&mut self, z: &[f64]) {
        self.h.resize(z.len(), 0.0);
        self.problem.seconds(z, 1.0 / self.problem.n() as f64, &mut self.h);
    }

    fn diagonal(&mut self, out: &mut [f64]) {
        let (out, rest) = out.split_at_mut(self.problem.d());
        multiply_squares_transposed(self.problem.design(), &self.h, out);
        out.iter_mut().for_each(|o| *o += self.problem.l2());
        if let Some(o) = rest.first_mut() {
            *o = self.h.iter().sum();
        }
    }

    fn curve(&mut self, v: &[f64], z: &[f64], out: &mut [f64]) {
        for ((s, t), h) in self.rows.iter_mut().zip(z).zip(&self.h) {
            *s = h * t;
        }
        self.transpose(v, out);
    }
}
