//! The state that the methods for general sums return: a point, a table, and the position in the visiting order.

use fenchel_optim::random::{Place, Visits};
use serde::{Deserialize, Serialize};

/// The state of the methods for general sums. It contains the point and a table. For [`saga`](super::saga()) and
/// [`sdca`](super::sdca()) the table has the last gradient of every term on its support, one after the other.
/// [`finito`](super::finito()) has its own kind of table.
///
/// It can be the start of another run on the same sum or a similar one. The visiting order then continues. A start
/// can also be made [`from`](From) a point.
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
    /// The gradients. It is empty for a method without a table. If it is empty in a start, the gradients are computed
    /// at the point.
    pub table: Vec<f64>,
    /// The inverse step and `l2` for which the table of Finito was made. Such a table does not contain gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finito: Option<(f64, f64)>,
    /// The position in the visiting order. It is absent in a state that was made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place>,
}

impl SumState {
    /// A warm start.
    pub fn new(point: Vec<f64>, table: Vec<f64>) -> Self {
        SumState { point, table, finito: None, place: None }
    }

    /// The same state, with the current position in the visiting order.
    pub(super) fn visited(self, visits: &Visits) -> Self {
        SumState { place: Some(visits.place()), ..self }
    }

    /// Continues the visiting order. If order or seed have changed, it begins anew.
    pub(super) fn resume(&mut self, visits: &mut Visits) {
        let _ = self.place.take().is_some_and(|place| visits.go_to(&place));
    }

    /// Returns the table, unless it was made by Finito.
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
