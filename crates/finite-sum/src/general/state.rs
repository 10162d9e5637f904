//! What the methods for general sums return: a point, a table, and where the run stood.

use fenchel_optim::Regulariser;
use fenchel_optim::random::{Place, Visits};
use serde::{Deserialize, Serialize};

use super::{FiniteSum, Sum};

/// The state of the methods for general sums: the point, and for [`saga`](super::saga()), [`sag`](super::sag()),
/// [`catalyst`](super::catalyst()) and [`sdca`](super::sdca()) the last gradient of every term on its support, one after the
/// other.
///
/// Given back to the same method with the same sum and settings (of `stop`, anything may differ), it goes on bit for bit
/// as if the run had not been interrupted. Elsewhere it is a warm start, as is a state made [`from`](From) a point: what it
/// says beyond the point and a table that fits is not used.
///
/// ```
/// use fenchel_finite_sum::general::SumState;
///
/// let start: SumState = vec![0.5, -1.0].into();
/// assert!(start.table.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumState {
    /// The point.
    pub point: Vec<f64>,
    /// The gradients; empty for a method without, and to have them computed at the point.
    pub table: Vec<f64>,
    /// Where the run stood; absent in a state made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trail: Option<Box<Trail>>,
}

impl SumState {
    /// A warm start.
    pub fn new(point: Vec<f64>, table: Vec<f64>) -> Self {
        SumState { point, table, trail: None }
    }
}

impl From<Vec<f64>> for SumState {
    fn from(point: Vec<f64>) -> Self {
        SumState::new(point, Vec::new())
    }
}

/// All that a run knows beyond its point and table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trail {
    method: String,
    step: f64,
    l2: f64,
    /// `(l2/2) ||x||^2 + h(x)` at the point of the state; absent where rounding puts it outside the domain.
    penalty: Option<f64>,
    place: Place,
    run: Run,
}

/// Where one method stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Run {
    Incremental(Lagging),
    Finito {
        /// `p_i`, `n x d`; empty where it is still to be filled.
        table: Vec<f64>,
        total: Vec<f64>,
        steps: usize,
    },
    Sdca {
        /// `f_i*(g_i)`, absent before the first visit.
        conjugates: Vec<Option<f64>>,
        /// `F` at the point: the conjugates are of the terms that have it.
        objective: Option<f64>,
        steps: usize,
    },
    Sgd {
        steps: u64,
    },
}

/// Where SAGA, SAG or SVRG stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Lagging {
    /// With the coordinates that were not caught up with.
    pub(super) x: Vec<f64>,
    pub(super) average: Vec<f64>,
    pub(super) steps: usize,
    pub(super) done: Vec<u32>,
    pub(super) now: u32,
    /// The snapshot of SVRG and the steps since.
    pub(super) snapshot: Option<(Vec<f64>, usize)>,
    /// The proximal centre of Catalyst and its weight.
    pub(super) centre: Option<(Vec<f64>, f64)>,
    /// `alpha` and `x_old` of Catalyst.
    pub(super) momentum: Option<(f64, Vec<f64>)>,
}

impl Trail {
    /// Of a run that is now at the point `shown`.
    pub(super) fn new<T: FiniteSum, R: Regulariser>(
        method: &'static str,
        step: f64,
        sum: &Sum<'_, T, R>,
        shown: &[f64],
        visits: &Visits,
        run: Run,
    ) -> Box<Self> {
        let (l2, penalty, place) = (sum.l2, penalty(sum, shown), visits.place());
        Box::new(Trail { method: method.into(), step, l2, penalty, place, run })
    }

    /// Where the run stood, if it was of this method with this step on this sum, `fits`, and the visits go on from there.
    pub(super) fn follow<T: FiniteSum, R: Regulariser>(
        self,
        method: &'static str,
        step: f64,
        sum: &Sum<'_, T, R>,
        shown: &[f64],
        visits: &mut Visits,
        fits: impl FnOnce(&Run) -> bool,
    ) -> Option<Run> {
        let same = self.method == method
            && self.step == step
            && self.l2 == sum.l2
            && self.penalty == penalty(sum, shown)
            && fits(&self.run);
        (same && visits.go_to(&self.place)).then_some(self.run)
    }
}

/// Tells one sum on a regularisation path from the next.
fn penalty<T: FiniteSum, R: Regulariser>(sum: &Sum<'_, T, R>, x: &[f64]) -> Option<f64> {
    let square: f64 = x.iter().map(|x| x * x).sum();
    Some(0.5 * sum.l2 * square + sum.regulariser.value(x)).filter(|penalty| penalty.is_finite())
}
