//! L-BFGS on the primal problem of graphs.

use fenchel_linalg::lanes;
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, Smooth};
use fenchel_optim::{Certificate, Observer, Solution};

use super::oracle::Oracle;
use super::problem::GraphProblem;
use crate::Error;

/// Minimises the objective `P(w)` of a [`GraphProblem`] by L-BFGS, from zero or from flat weights. A pass is one gradient,
/// which takes n oracle calls.
///
/// The method stores no marginals and runs on one core. The certificate is the duality gap `norm(grad P)^2 / (2 l2)` between
/// `w` and the marginals of the model at `w`.
///
/// Source: J. Nocedal and S. Wright, "Numerical Optimization" (2006), algorithm 7.5, implemented in [`fenchel_optim::lbfgs`].
///
/// # Errors
/// [`Error::Invalid`] for settings out of range or a start of another length or not finite.
pub fn graph_lbfgs<'p, 'a, O: Observer<Lbfgs<GraphLikelihood<'p, 'a>>>>(
    problem: &'p GraphProblem<'a>,
    settings: &LbfgsSettings,
    start: Option<Vec<f64>>,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Error> {
    let start = start.unwrap_or_else(|| vec![0.0; problem.dimension]);
    let likelihood = GraphLikelihood::new(problem);
    let solution = fenchel_optim::lbfgs::lbfgs(likelihood, settings, start, observer)?;
    Ok(Solution { state: solution.state.point, report: solution.report })
}

/// The objective of a [`GraphProblem`] as a smooth function of the flat weights, with the gradient
/// `l2 w + 1/n sum_i [E_p F(x_i, .) - F(x_i, y_i)]`.
pub struct GraphLikelihood<'p, 'a> {
    problem: &'p GraphProblem<'a>,
    oracle: Oracle,
    sums: Vec<f64>,
}

impl<'p, 'a> GraphLikelihood<'p, 'a> {
    /// `P` and its gradient.
    pub fn new(problem: &'p GraphProblem<'a>) -> Self {
        GraphLikelihood { problem, oracle: Oracle::new(&problem.structures), sums: Vec::new() }
    }
}

impl Smooth for GraphLikelihood<'_, '_> {
    fn dimension(&self) -> usize {
        self.problem.dimension
    }

    fn value_gradient(&mut self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let problem = self.problem;
        let scale = 1.0 / problem.n() as f64;
        for ((g, w), count) in gradient.iter_mut().zip(w).zip(&problem.counts) {
            *g = problem.l2 * w - scale * count;
        }
        let mut log_partitions = 0.0;
        for item in &problem.items {
            // A score that overflows is a step too far: the value says so.
            let Some(log_z) = self.oracle.infer(problem, item, w) else { return f64::NAN };
            log_partitions += log_z;
            item.sums(&self.oracle.expected, &mut self.sums);
            item.scatter(scale, &self.sums, gradient);
        }
        problem.finish(w, log_partitions)
    }

    fn value_only(&mut self, w: &[f64]) -> f64 {
        self.problem.value(w, &mut self.oracle)
    }

    fn certify(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let square = lanes::dot(gradient, gradient);
        Certificate::gap(value, value - square / (2.0 * self.problem.l2))
    }
}
