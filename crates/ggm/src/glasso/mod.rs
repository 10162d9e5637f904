//! The graphical lasso: covariance selection with an l1 penalty.
//!
//! ```text
//! min_Theta  <C, Theta> - log det Theta + sum_ij Lambda_ij |Theta_ij|
//! ```
//!
//! | method | an iteration costs | when |
//! |---|---|---|
//! | [`Method::Quic`], the default | `p` operations per free entry and sweep; one Cholesky factorisation and one inverse per step | always; where its steps are not solved, or after 10 iterations unless the last one was quick, ADMM takes over, and then block coordinate descent; with more than 100 variables block coordinate descent after 25 |
//! | [`Method::BlockCoordinate`] | `p` lasso problems | comparison with other programs |
//! | [`Method::Admm`] | an eigendecomposition | comparison; other penalties are built on the same engine |
//!
//! **Components.** The graph `{|C_ij| > Lambda_ij}` has the same connected components as the solution (Witten, Friedman
//! and Simon, JCGS 20, 2011; Mazumder and Hastie, JMLR 13, 2012). So each component is solved separately, in parallel,
//! and scaled to a unit diagonal.
//!
//! **Certificate.** Every result contains the objective and a lower bound; see [`Problem`].
//!
//! Source: A. Defazio, PhD thesis 2014, section 6.3.1.

mod admm;
mod bcd;
mod block;
mod components;
mod direction;
mod gradient;
mod part;
mod point;
mod quic;
mod settings;
mod solver;
mod start;
mod state;
mod support;
mod unit;

use fenchel_linalg::Invalid;
use fenchel_optim::{Observer, Report, Solution, run};
use ndarray::Array2;

use crate::anderson::KEPT;
use crate::error::{Error, check_memory};
use crate::penalty::PenaltyWeights;
use crate::singular::{check_regular, unexplained};

pub use crate::problem::Problem;
pub use components::components;
pub(crate) use components::components_by;
pub use part::Screened;
pub use settings::{GlassoSettings, Method, default_stop};
pub use state::{GlassoState, Precision};
pub(crate) use unit::UnitDiagonal;

/// Solves the graphical lasso from `start`, which is the state of an earlier run or `None`.
///
/// The status is `Stalled` if rounding prevents more accuracy; the certificate then has the accuracy that was reached.
///
/// ```
/// use fenchel_ggm::PenaltyWeights;
/// use fenchel_ggm::glasso::{GlassoSettings, Problem, graphical_lasso};
/// use ndarray::array;
///
/// let covariance = array![[1.0, 0.5], [0.5, 1.0]];
/// let weights = PenaltyWeights::Uniform(0.2);
/// let problem = Problem::new(covariance.view(), &weights)?;
/// let solution = graphical_lasso(&problem, &GlassoSettings::default(), None, &mut ())?;
/// // The inverse of [[1, 0.3], [0.3, 1]].
/// assert!((solution.state.precision()[[0, 1]] + 0.3 / 0.91).abs() < 1e-6);
/// assert!(solution.report.certificate.value() <= 1e-6);
/// # Ok::<(), fenchel_ggm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Refused`] beyond the memory limit; [`Invalid`] for a start of the wrong order or limits out of range;
/// [`Error::Unbounded`] if an edge is unpenalised
/// and the run finds no optimum.
pub fn graphical_lasso<O: Observer<Screened>>(
    problem: &Problem<'_>,
    settings: &GlassoSettings,
    start: Option<GlassoState>,
    observer: &mut O,
) -> Result<Solution<GlassoState>, Error> {
    let p = problem.order();
    if let Some(start) = &start {
        Invalid::check_length("start", p, start.order())?;
    }
    let parts =
        if settings.screening { components(problem) } else { vec![(0..p as u32).collect()] };
    // QUIC hands small blocks to ADMM.
    let by_admm = |k: usize| match settings.method {
        Method::Admm => true,
        Method::Quic => k <= quic::SMALL,
        Method::BlockCoordinate => false,
    };
    let numbers = |k: usize| (k as u64).pow(2) * (9 + if by_admm(k) { KEPT } else { 0 });
    let numbers = parts.iter().map(|nodes| numbers(nodes.len())).fold(0, u64::saturating_add);
    let hint = "raise the penalty, so that the graph falls into smaller components, or max_memory";
    check_memory("the graphical lasso", numbers, settings.max_memory, hint)?;
    check_unpenalised(problem, &parts)?;
    let mut method = Screened::new(problem, settings, parts, start)?;
    let report: Report = run(&mut method, &settings.stop, observer)?;
    if report.certificate.value() == f64::INFINITY && method.degenerate() {
        return Err(Error::Unbounded {
            what: "the graphical lasso",
            reason: "the covariance matrix is singular where edges have no penalty, or has negative eigenvalues beyond the penalty; \
                     penalise these edges, or see `nearest_correlation`",
        });
    }
    Ok(Solution { state: method.into_state(), report })
}

/// Refuses components without any penalty whose covariances are singular, and perfectly correlated pairs without a penalty: rounding
/// alone would decide whether the likelihood looks bounded.
fn check_unpenalised(problem: &Problem<'_>, parts: &[Vec<u32>]) -> Result<(), Error> {
    let (c, weights) = (&problem.covariance, problem.weights);
    let free = |i: usize, j: usize| weights.at(i, j) == 0.0;
    let one_weight = !matches!(weights, PenaltyWeights::Each(_));
    if problem.order() < 2 || (one_weight && !free(0, 1)) {
        return Ok(());
    }
    let what = "the graphical lasso";
    let r = |i: usize, j: usize| c[[i, j]] / c[[i, i]].sqrt() / c[[j, j]].sqrt();
    for nodes in parts.iter().filter(|nodes| nodes.len() > 1) {
        let at = |a: usize| nodes[a] as usize;
        let pairs = || (0..nodes.len()).flat_map(|a| (0..=a).map(move |b| (a, b)));
        if pairs().all(|(a, b)| free(at(a), at(b))) {
            let k = nodes.len();
            let block = Array2::from_shape_fn((k, k), |(a, b)| {
                if a == b { 1.0 } else { r(at(a.max(b)), at(a.min(b))) }
            });
            check_regular(what, block.view(), block.diag())?;
        }
        let perfect = |(a, b): (usize, usize)| {
            let (i, j) = (at(a), at(b));
            let loose = i != j && free(i, j) && free(i, i) && free(j, j);
            loose && unexplained(r(i, j), problem.order()).is_none()
        };
        if pairs().any(perfect) {
            let reason = "two variables are perfectly correlated and their edge has no penalty; penalise it, or leave one of them out";
            return Err(Error::Unbounded { what, reason });
        }
    }
    Ok(())
}
