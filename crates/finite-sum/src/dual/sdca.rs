//! SDCA.

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Separable, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use super::ascent::{Ascent, DualState, SdcaStep};
use crate::{Error, Point, Problem};

/// Settings of [`sdca`](fn@sdca).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `step` | `Exact` | how far a coordinate moves |
/// | `order` | `Permuted` | the fastest; any order converges |
/// | `seed` | 0 | of the visiting order |
/// | `stop` | see [`Stop`] | when to end |
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SdcaSettings {
    /// How far a coordinate moves.
    pub step: SdcaStep,
    /// Visiting order.
    pub order: Order,
    /// Seed of the visiting order.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

/// SDCA on one problem: what an observer of [`sdca`](fn@sdca) sees.
#[derive(Debug, Clone)]
pub struct Sdca<'p, 'a, D, L, R> {
    ascent: Ascent<'p, 'a, D, L, R>,
    cold: bool,
}

/// Stochastic dual coordinate ascent (Defazio's thesis, algorithm 2.1), without a step size to tune,
/// for any loss, smooth or not; proximal for a separable regulariser.
///
/// Needs `l2 > 0` (or a strongly convex regulariser). A step costs O(nnz of the row), memory is
/// O(n + d). The dual suboptimality falls in expectation by the factor `1 - mu/(L + mu n)` a step. It is
/// the method of choice when `n mu >= L`; beyond, [`catalyst`](super::catalyst()) accelerates it.
///
/// Original paper: Shalev-Shwartz and Zhang, "Stochastic dual coordinate ascent methods for regularized
/// loss minimization", JMLR 14 (2013).
///
/// # Errors
/// [`Error::NeedsStrongConvexity`]; [`Error::Unsupported`] for a constant step on a loss that is not
/// smooth; [`Error::Invalid`] for a start of another shape or outside the domain, or settings out of range.
pub fn sdca<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SdcaSettings,
    start: Option<DualState>,
    observer: &mut O,
) -> Result<Solution<DualState>, Error>
where
    D: Design,
    L: Loss,
    R: Separable,
    O: Observer<Sdca<'p, 'a, D, L, R>>,
{
    let SdcaSettings { step, order, seed, stop } = settings;
    stop.check()?;
    let cold = start.is_none();
    let ascent = Ascent::new("sdca", problem, 0.0, *step, order, *seed, start)?;
    let mut method = Sdca { ascent, cold };
    let report = run(&mut method, stop, observer)?;
    Ok(Solution { state: method.ascent.state, report })
}

impl<D: Design, L: Loss, R: Separable> Sdca<'_, '_, D, L, R> {
    /// The current point.
    pub fn point(&self) -> &Point {
        &self.ascent.state.point
    }

    /// The dual variables.
    pub fn dual(&self) -> &[f64] {
        &self.ascent.state.dual
    }
}

impl<D: Design, L: Loss, R: Separable> Iterative for Sdca<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.cold = false;
        let n = self.ascent.problem.n() as f64;
        let steps = (passes * n).round().max(1.0);
        self.ascent.climb(steps as usize);
        self.ascent.read_point();
        steps / n
    }

    fn certify(&mut self) -> Certificate {
        self.ascent.certify()
    }

    /// A cold start is not worth a certificate.
    fn estimate(&self) -> Option<f64> {
        self.cold.then_some(f64::INFINITY)
    }
}
