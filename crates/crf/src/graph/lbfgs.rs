//! L-BFGS on the primal problem of graphs.

use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings};
use fenchel_optim::{Observer, Solution};

use super::problem::GraphProblem;
use crate::Error;
use crate::likelihood::Likelihood;

/// Minimises the objective `P(w)` of a [`GraphProblem`] by L-BFGS, from zero or from flat weights. A pass is one gradient,
/// which takes n oracle calls.
///
/// The method stores no marginals. It runs on all cores, and gives the same bits with any number of threads. The certificate is the duality gap `norm(grad P)^2 / (2 l2)` between
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
    let start = start.unwrap_or_else(|| vec![0.0; problem.weights()]);
    let likelihood = Likelihood::new(problem);
    let solution = fenchel_optim::lbfgs::lbfgs(likelihood, settings, start, observer)?;
    Ok(Solution { state: solution.state.point, report: solution.report })
}

/// The objective of a [`GraphProblem`] as a smooth function of the flat weights.
pub type GraphLikelihood<'p, 'a> = Likelihood<'p, GraphProblem<'a>>;
