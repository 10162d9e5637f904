//! The graphical lasso: covariance selection with an l1 penalty.
//!
//! ```text
//! min_Theta  <C, Theta> - log det Theta + sum_ij Lambda_ij |Theta_ij|
//! ```
//!
//! | method | an iteration costs | when |
//! |---|---|---|
//! | [`Method::Quic`], the default | `p` operations per free entry and sweep; one Cholesky factorisation and one inverse per step | always |
//! | [`Method::BlockCoordinate`] | `p` lasso problems | comparison with other programs |
//! | [`Method::Admm`] | an eigendecomposition | comparison; what other penalties are built on |
//!
//! **Components.** The graph `{|C_ij| > Lambda_ij}` has the same connected components as the solution (Witten, Friedman
//! and Simon, JCGS 20, 2011; Mazumder and Hastie, JMLR 13, 2012). So each component is solved separately, in parallel,
//! and scaled to a unit diagonal.
//!
//! **Certificate.** Every result contains the objective and a lower bound; see [`problem`](crate::problem).
//!
//! Source: A. Defazio, PhD thesis 2014, section 6.3.1.

mod admm;
mod bcd;
mod block;
mod components;
mod gradient;
mod part;
mod quic;
mod start;
mod state;
mod support;
mod unit;

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Observer, Report, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use crate::error::{Error, check_memory};
use crate::problem::Problem;

pub(crate) use admm::{balance, positive_part};
pub(crate) use block::soft;
pub use components::components;
pub(crate) use components::components_by;
pub use part::Screened;
pub(crate) use part::repaired;
pub use state::{GlassoState, Precision};
pub(crate) use unit::UnitDiagonal;

/// The solver for each connected component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Method {
    /// Proximal Newton steps.
    #[default]
    Quic,
    /// Coordinate descent on columns of the dual, known as glasso.
    BlockCoordinate,
    /// ADMM: alternating eigendecompositions and soft-thresholding.
    Admm,
}

/// Settings of [`graphical_lasso`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `method` | QUIC | the solver for each component |
/// | `screening` | true | whether components are solved separately |
/// | `stop` | gap 1e-6, absolute or relative; 1000 iterations | when the method stops; a pass is one iteration, with QUIC a Newton step or the gradient steps before it |
/// | `max_memory` | 4 GiB | bytes that may be allocated; `None` for no limit |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GlassoSettings {
    /// The solver for each connected component.
    pub method: Method,
    /// Whether components are solved by themselves.
    pub screening: bool,
    /// When the method stops.
    pub stop: Stop,
    /// Bytes that may be allocated.
    pub max_memory: Option<u64>,
}

/// The stopping rule of this crate: a gap of 1e-6.
pub fn default_stop() -> Stop {
    Stop { absolute: 1e-6, relative: 1e-6, ..Stop::default() }
}

impl Default for GlassoSettings {
    fn default() -> Self {
        GlassoSettings {
            method: Method::Quic,
            screening: true,
            stop: default_stop(),
            max_memory: MAX_MEMORY,
        }
    }
}

/// Solves the graphical lasso from `start`, which is the state of an earlier run or `None`.
///
/// The status is `Stalled` if rounding prevents more accuracy; the certificate then has the accuracy that was reached.
///
/// ```
/// use fenchel_ggm::{GlassoSettings, Problem, Weights, graphical_lasso};
/// use ndarray::array;
///
/// let covariance = array![[1.0, 0.5], [0.5, 1.0]];
/// let weights = Weights::Uniform(0.2);
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
    let squares = parts.iter().map(|nodes| (nodes.len() as u64).pow(2)).sum::<u64>();
    let hint = "raise the penalty, so that the graph falls into smaller components, or max_memory";
    check_memory("the graphical lasso", squares.saturating_mul(9), settings.max_memory, hint)?;
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
