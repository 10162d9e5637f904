//! The state that a dual method returns: a point, its dual variables, and the position in the visiting order.

use fenchel_optim::random::Place;
use serde::{Deserialize, Serialize};

use crate::Point;

/// The state of a dual method. It contains the point and one dual variable per term.
///
/// It can be the start of any dual method, on the same problem or a similar one. The weights are then computed from
/// the dual variables. The intercept and Catalyst's centre are taken from the point. The visiting order continues. A run that has
/// found no lower point returns the point of its start, or the origin, beside the dual variables that it has reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualState {
    /// The point.
    pub point: Point,
    /// The dual variables.
    pub dual: Vec<f64>,
    /// The position in the visiting order. It is absent in a state that was made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place>,
}

impl DualState {
    /// A warm start.
    pub fn new(point: Point, dual: Vec<f64>) -> Self {
        DualState { point, dual, place: None }
    }
}
