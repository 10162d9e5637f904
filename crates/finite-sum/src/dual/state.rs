//! What a dual method returns: a point, its dual variables, and where the run stood.

use fenchel_optim::lbfgs::Memory;
use fenchel_optim::random::Place;
use serde::{Deserialize, Serialize};

use super::rest::Rest;
use super::tail::Tail;
use crate::Point;

/// The state of a dual method: the point and one dual variable a term.
///
/// Given back to the same method with the same problem and settings (of `stop`, anything may differ), it goes on
/// bit for bit as if the run had not been interrupted. Given to another dual method or another problem, it is a warm
/// start: the weights are read off the dual variables, the intercept and Catalyst's centre off the point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualState {
    /// The point.
    pub point: Point,
    /// The dual variables.
    pub dual: Vec<f64>,
    /// Where the run stood; absent in a state made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trail: Option<Box<Trail>>,
}

impl DualState {
    /// A warm start.
    pub fn new(point: Point, dual: Vec<f64>) -> Self {
        DualState { point, dual, trail: None }
    }
}

/// All that a run knows beyond its point and dual variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trail {
    pub(super) place: Place,
    pub(super) steps: usize,
    /// `v`, with the rounding of its history.
    pub(super) direction: Vec<f64>,
    pub(super) kappa: f64,
    pub(super) centre: Vec<f64>,
    pub(super) bias: Option<Bias>,
    pub(super) tail: Option<Tail>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Rest>,
    /// The running dual variables, where the state shows an average.
    pub(super) live: Option<Vec<f64>>,
    pub(super) outer: Outer,
}

/// The intercept as a coordinate with a proximal term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Bias {
    pub(super) value: f64,
    pub(super) centre: f64,
    pub(super) weight: f64,
}

/// The memory of an outer loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Outer {
    /// No outer loop.
    None,
    Catalyst {
        alpha: f64,
        previous: Vec<f64>,
    },
    Qning {
        value: Option<f64>,
        pairs: Memory,
    },
}
