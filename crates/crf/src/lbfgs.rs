//! L-BFGS on the primal problem; with an l1 penalty OWL-QN.

use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, Owlqn, Smooth};
use fenchel_optim::{Certificate, Observer, Solution};

use crate::objective::Objective;
use crate::{Error, Problem, Weights};

/// Minimises `P` by L-BFGS, from zero or from given weights; a pass is one gradient, n oracle calls.
///
/// The batch method, on all cores with the same bits for any number of threads. It needs many more passes than
/// [`sdca`](fn@crate::sdca) on sparse text and little memory beside the weights: `8 d (2 memory + 5)` bytes, and `8 d`
/// for each thread, up to eight. The certificate is the duality gap `norm(grad P)^2 / (2 l2)`.
///
/// The start costs a pass, and so does every point that a line search tries. A run takes one step at least, which is two passes,
/// and finishes a step that has begun: it may end above its limit of passes, by what the search of its last step tried beyond it.
///
/// ```
/// use fenchel_crf::{Dataset, Features, Problem, Token, lbfgs};
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
/// Source: J. Nocedal and S. Wright, "Numerical Optimization" (2006), algorithm 7.5, as [`fenchel_optim::lbfgs`] has it.
///
/// # Errors
/// [`Error::Invalid`] for settings out of range or a start of another shape or not finite.
pub fn lbfgs<'p, 'a, O: Observer<Lbfgs<Likelihood<'p, 'a>>>>(
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

/// Minimises `P(w) + l1 norm(w)_1` by OWL-QN, from zero or from given weights: CRFsuite's `c1 = n l1`.
///
/// Weights that do not pay become exactly zero, biases and transitions included. A pass is one gradient; the certificate is
/// the duality gap `norm(g)^2 / (2 l2)` with `g` the subgradient of least norm.
///
/// ```
/// use fenchel_crf::{Dataset, Features, Problem, Token, owlqn};
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
/// Source: G. Andrew and J. Gao, "Scalable training of L1-regularized log-linear models" (2007), as
/// [`fenchel_optim::lbfgs::owlqn`] has it.
///
/// # Errors
/// As [`lbfgs`], and [`Error::Invalid`] for a negative `l1`.
pub fn owlqn<'p, 'a, O: Observer<Owlqn<Likelihood<'p, 'a>>>>(
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

/// The objective of a [`Problem`] as a smooth function of flat weights: what an observer of [`lbfgs`] meets, and what opens any
/// method for [`Smooth`] functions to conditional random fields.
pub struct Likelihood<'p, 'a> {
    problem: &'p Problem<'a>,
    objective: Objective<'p, 'a>,
}

impl<'p, 'a> Likelihood<'p, 'a> {
    /// `P` and its gradient, on all cores.
    pub fn new(problem: &'p Problem<'a>) -> Self {
        Likelihood { problem, objective: Objective::new(problem) }
    }

    /// The flat vector of weights, in the order of [`value_gradient`](Smooth::value_gradient). Weights of features that the
    /// problem does not have are left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights of another shape or that are not finite.
    pub fn flat(&self, weights: &Weights) -> Result<Vec<f64>, Error> {
        weights.check()?;
        self.problem.layout.pack(weights)
    }

    /// Flat weights with names.
    ///
    /// # Panics
    /// If `w` has another length than [`dimension`](Smooth::dimension).
    pub fn weights(&self, w: &[f64]) -> Weights {
        assert_eq!(w.len(), self.dimension());
        self.problem.unpack(w)
    }
}

impl Smooth for Likelihood<'_, '_> {
    fn dimension(&self) -> usize {
        self.objective.dimension()
    }

    fn value_gradient(&mut self, w: &[f64], gradient: &mut [f64]) -> f64 {
        self.objective.value_gradient(w, gradient)
    }

    fn certify(&mut self, w: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        self.objective.certify(w, value, gradient)
    }
}
