//! What the methods for general sums return: a point, a table, and where the visits stand.

use fenchel_optim::random::{Place, Visits};
use serde::{Deserialize, Serialize};

/// The state of the methods for general sums: the point, and for [`saga`](super::saga()) and [`sdca`](super::sdca()) the last gradient of every term on its support, one after the
/// other; for [`finito`](super::finito()) its own table.
///
/// A warm start on this sum or one like it, as is a state made [`from`](From) a point. The visits go on from where they stood.
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
    /// Inverse step and `l2` that the table of Finito belongs to: it holds no gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finito: Option<(f64, f64)>,
    /// Steps of SGD, on which their size depends.
    #[serde(default)]
    pub(super) steps: u64,
    /// Where the visits stand; absent in a state made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place>,
}

impl SumState {
    /// A warm start.
    pub fn new(point: Vec<f64>, table: Vec<f64>) -> Self {
        SumState { point, table, finito: None, steps: 0, place: None }
    }

    /// The same state, with the visits where they stand.
    pub(super) fn visited(self, visits: &Visits) -> Self {
        SumState { place: Some(visits.place()), ..self }
    }

    /// Lets the visits go on; what another order or seed has left begins anew.
    pub(super) fn resume(&mut self, visits: &mut Visits) {
        let _ = self.place.take().is_some_and(|place| visits.go_to(&place));
    }

    /// The table, unless it is one of Finito.
    pub(super) fn gradients(&mut self) -> Vec<f64> {
        if self.finito.is_some() {
            self.table.clear();
        }
        std::mem::take(&mut self.table)
    }
}

impl From<Vec<f64>> for SumState {
    fn from(point: Vec<f64>) -> Self {
        SumState::new(point, Vec::new())
    }
}
