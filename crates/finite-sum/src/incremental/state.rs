//! What an incremental method returns, ready for a warm start or for going on bit for bit.

use fenchel_optim::random::Place;
use serde::{Deserialize, Serialize};

use super::search::Search;
use crate::Point;
use crate::lag::List;

/// All that a run knows beyond its point and table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trail {
    pub(super) method: String,
    pub(super) step: f64,
    pub(super) penalty: f64,
    pub(super) place: Place,
    /// With the coordinates that were not caught up with.
    pub(super) point: Point,
    pub(super) average: Vec<f64>,
    pub(super) average_intercept: f64,
    pub(super) done: Vec<u32>,
    pub(super) now: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) list: Option<List>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) search: Option<Search>,
}
