//! The batch method to compare with: L-BFGS on the whole objective.

use fenchel_linalg::{Design, multiply, multiply_transposed};
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, Smooth};
use fenchel_optim::prox::Zero;
use fenchel_optim::{Certificate, Loss, Observer, Solution};

use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// A problem without regulariser as one smooth function; the intercept is the last variable.
#[derive(Debug)]
pub struct Batch<'p, 'a, D, L> {
    problem: &'p Problem<'a, D, L, Zero>,
    margins: Vec<f64>,
    gap: Gap,
}

impl<D: Design, L: Loss> Batch<'_, '_, D, L> {
    fn point(&self, x: &[f64]) -> Point {
        let (weights, rest) = x.split_at(self.problem.d());
        Point { weights: weights.to_vec(), intercept: rest.first().copied().unwrap_or(0.0) }
    }
}

impl<D: Design, L: Loss> Smooth for Batch<'_, '_, D, L> {
    fn dimension(&self) -> usize {
        self.problem.d() + usize::from(self.problem.intercept())
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let problem = self.problem;
        let (weights, rest) = x.split_at(problem.d());
        let (slope, slope_rest) = gradient.split_at_mut(problem.d());
        multiply(problem.design(), weights, &mut self.margins);
        if let Some(intercept) = rest.first() {
            self.margins.iter_mut().for_each(|t| *t += intercept);
        }
        let value = problem.objective_at(&self.margins, weights);
        problem.differentiate(&mut self.margins, 1.0 / problem.n() as f64);
        multiply_transposed(problem.design(), &self.margins, slope);
        for (g, x) in slope.iter_mut().zip(weights) {
            *g += problem.l2() * x;
        }
        if let Some(g) = slope_rest.first_mut() {
            *g = self.margins.iter().sum();
        }
        value
    }

    /// A duality gap where `l2 > 0`, else the norm of the gradient.
    fn certify(&mut self, x: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let norm_squared: f64 = gradient.iter().map(|g| g * g).sum();
        let l2 = self.problem.l2();
        if l2 == 0.0 {
            Certificate::residual(value, norm_squared.sqrt(), 0.0)
        } else if self.problem.intercept() && value.is_finite() {
            let point = self.point(x);
            self.gap.at(self.problem, &point)
        } else {
            // For u = phi' the gap is ||F'||^2 / (2 l2): no further look at the data.
            Certificate::gap(value, value - norm_squared / (2.0 * l2))
        }
    }
}

/// L-BFGS on the whole objective, for smooth losses without regulariser (`l2 >= 0`).
///
/// A pass is one evaluation of the objective and its gradient. Certifies a duality gap where `l2 > 0`,
/// else the norm of the gradient. The method itself is [`fenchel_optim::lbfgs`].
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::{AsDesign, Problem, Status, lbfgs};
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
/// let solution = lbfgs(&problem, &Default::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] for a loss that is not smooth; [`Error::Invalid`] for a start of another shape
/// or settings out of range.
pub fn lbfgs<'p, 'a, D, L, O>(
    problem: &'p Problem<'a, D, L, Zero>,
    settings: &LbfgsSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error>
where
    D: Design,
    L: Loss,
    O: Observer<Lbfgs<Batch<'p, 'a, D, L>>>,
{
    settings.stop.check()?;
    problem.check_smooth("lbfgs")?;
    let start = start.unwrap_or_else(|| Point::zero(problem.d()));
    problem.check_point(&start)?;
    let mut x = start.weights;
    if problem.intercept() {
        x.push(start.intercept);
    }
    let batch = Batch { problem, margins: vec![0.0; problem.n()], gap: Gap::new(problem) };
    let Solution { state: mut x, report } =
        fenchel_optim::lbfgs::lbfgs(batch, settings, x, observer)?;
    let intercept = if problem.intercept() { x.pop().unwrap_or(0.0) } else { 0.0 };
    Ok(Solution { state: Point { weights: x, intercept }, report })
}
