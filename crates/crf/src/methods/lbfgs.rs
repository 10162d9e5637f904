//! L-BFGS on the primal problem, and OWL-QN with an l1 penalty.

use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, Owlqn, Smooth};
use fenchel_optim::{Observer, Solution};

use crate::Error;
use crate::likelihood::Likelihood;
use crate::problem::Problem;
use crate::weights::Weights;

/// Minimises the objective `P(w)` of a [`Problem`] by L-BFGS, from zero or from given weights. A pass is one gradient, which
/// takes n oracle calls.
///
/// This batch method runs on all cores, and gives the same bits with any number of threads. On sparse text it needs many more
/// passes than [`sdca`](fn@crate::methods::sdca). Beside the weights it needs little memory: `8 d (2 memory + 5)` bytes for `d` weights
/// and `memory` pairs, and `8 d` for each of up to eight threads. The certificate is the duality gap `norm(grad P)^2 / (2 l2)`.
///
/// The start costs a pass, and so does every point that a line search tries. A run takes at least one step, which is two
/// passes. It finishes every step that it has begun, so that it may exceed its limit of passes by the trials of its last line
/// search.
///
/// ```
/// use fenchel_crf::{Dataset, Features, Problem, Token};
/// use fenchel_crf::methods::lbfgs;
/// use fenchel_optim::lbfgs::LbfgsSettings;
///
/// let mut data = Dataset::new(3, 2);
/// for label in [0, 1, 1] {
///     let token = Token { attributes: &[(label, 1.0), (2, 1.0)], label };
///     data.push(&[token, token])?;
/// }
/// let problem = Problem::new(&data, 1.0 / 3.0, Features::default())?;
/// let solution = lbfgs(&problem, &LbfgsSettings::default(), None, &mut ())?;
/// assert!(solution.report.certificate.relative() <= 1e-4);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// Source: J. Nocedal and S. Wright, "Numerical Optimization" (2006), algorithm 7.5, implemented in [`fenchel_optim::lbfgs`].
///
/// # Errors
/// [`Error::Invalid`] for settings out of range or a start of another shape or not finite.
pub fn lbfgs<'p, 'a, O: Observer<Lbfgs<Likelihood<'p, Problem<'a>>>>>(
    problem: &'p Problem<'a>,
    settings: &LbfgsSettings,
    start: Option<Weights>,
    observer: &mut O,
) -> Result<Solution<Weights>, Error> {
    let start = match start {
        Some(weights) => problem.layout.pack(&weights)?,
        None => vec![0.0; problem.layout.dimension()],
    };
    let likelihood = Likelihood::new(problem);
    let solution = fenchel_optim::lbfgs::lbfgs(likelihood, settings, start, observer)?;
    Ok(Solution { state: problem.layout.unpack(&solution.state.point), report: solution.report })
}

/// Minimises `P(w) + l1 norm(w)_1` by OWL-QN, from zero or from given weights. CRFsuite's parameter is `c1 = n l1`.
///
/// Weights that do not reduce the objective become exactly zero, biases and transitions included. A pass is one gradient. The
/// certificate is the duality gap `norm(g)^2 / (2 l2)`, where `g` is the subgradient of least norm.
///
/// ```
/// use fenchel_crf::{Dataset, Features, Problem, Token};
/// use fenchel_crf::methods::owlqn;
/// use fenchel_optim::lbfgs::LbfgsSettings;
///
/// let mut data = Dataset::new(3, 2);
/// for label in [0, 1, 1] {
///     let token = Token { attributes: &[(label, 1.0), (2, 1.0)], label };
///     data.push(&[token, token])?;
/// }
/// let problem = Problem::new(&data, 1.0 / 3.0, Features::default())?;
/// let solution = owlqn(&problem, 0.1, &LbfgsSettings::default(), None, &mut ())?;
/// assert!(solution.state.emission.iter().any(|&w| w == 0.0));
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// Source: G. Andrew and J. Gao, "Scalable training of L1-regularized log-linear models" (2007), implemented in
/// [`fenchel_optim::lbfgs::owlqn`].
///
/// # Errors
/// As [`lbfgs`], and [`Error::Invalid`] for a negative `l1`.
pub fn owlqn<'p, 'a, O: Observer<Owlqn<Likelihood<'p, Problem<'a>>>>>(
    problem: &'p Problem<'a>,
    l1: f64,
    settings: &LbfgsSettings,
    start: Option<Weights>,
    observer: &mut O,
) -> Result<Solution<Weights>, Error> {
    Invalid::check_nonnegative("l1", l1)?;
    let dimension = problem.layout.dimension();
    let start = match start {
        Some(weights) => problem.layout.pack(&weights)?,
        None => vec![0.0; dimension],
    };
    let likelihood = Likelihood::new(problem);
    let l1 = vec![l1; dimension];
    let solution = fenchel_optim::lbfgs::owlqn(likelihood, l1, settings, start, observer)?;
    Ok(Solution { state: problem.layout.unpack(&solution.state.point), report: solution.report })
}

impl Likelihood<'_, Problem<'_>> {
    /// The flat vector of given weights, in the order of [`value_gradient`](Smooth::value_gradient). Weights of features that
    /// the problem does not have are ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights of another shape or that are not finite.
    pub fn flat(&self, weights: &Weights) -> Result<Vec<f64>, Error> {
        weights.check()?;
        self.problem().layout.pack(weights)
    }

    /// Converts flat weights to [`Weights`].
    ///
    /// # Panics
    /// If `w` has another length than [`dimension`](Smooth::dimension).
    pub fn weights(&self, w: &[f64]) -> Weights {
        assert_eq!(w.len(), self.dimension());
        self.problem().unpack(w)
    }
}
