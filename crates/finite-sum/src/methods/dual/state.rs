//! What a dual method returns: a point, its dual variables, and where the visits stand.

use fenchel_optim::random::Place;
use serde::{Deserialize, Serialize};

use crate::Point;

/// The state of a dual method: the point and one dual variable a term.
///
/// As a start of any dual method, on this problem or one like it, the weights are read off the dual variables, the intercept
/// and Catalyst's centre off the point. The visits go on from where they stood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualState {
    /// The point.
    pub point: Point,
    /// The dual variables.
    pub dual: Vec<f64>,
    /// Where the visits stand; absent in a state made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place>,
}

impl DualState {
    /// A warm start.
    pub fn new(point: Point, dual: Vec<f64>) -> Self {
        DualState { point, dual, place: None }
    }
}
