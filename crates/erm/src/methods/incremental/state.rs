//! The state that SVRG and SGD return.

use fenchel_optim::random::{Place, Visits};
use serde::{Deserialize, Serialize};

use crate::Point;

/// The state of [`svrg`](super::svrg()) and [`sgd`](super::sgd()), which is a point. As a start, it continues the
/// visiting order. SGD also continues with the step size that it had reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncrementalState {
    /// The point.
    pub point: Point,
    /// The number of steps so far, if the step size depends on it.
    #[serde(default)]
    pub(super) steps: u64,
    /// The position in the visiting order. It is absent in a state that was made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place>,
}

impl IncrementalState {
    /// A warm start.
    pub fn new(point: Point) -> Self {
        IncrementalState { point, steps: 0, place: None }
    }

    pub(super) fn after(point: Point, steps: u64, visits: &Visits) -> Self {
        IncrementalState { point, steps, place: Some(visits.place()) }
    }
}

impl From<Point> for IncrementalState {
    fn from(point: Point) -> Self {
        IncrementalState::new(point)
    }
}
