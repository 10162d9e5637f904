//! What SVRG and SGD return.

use fenchel_optim::random::{Place, Visits};
use serde::{Deserialize, Serialize};

use crate::Point;

/// The state of [`svrg`](super::svrg()) and [`sgd`](super::sgd()): a point. The visits go on
/// from where they stood, and the steps of SGD, which shrink, with the size that they had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncrementalState {
    /// The point.
    pub point: Point,
    /// Steps that were done, where their size depends on that.
    #[serde(default)]
    pub(super) steps: u64,
    /// Where the visits stand; absent in a state made by hand.
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
