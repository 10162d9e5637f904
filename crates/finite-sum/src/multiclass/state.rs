//! What a dual method of several classes returns: a point, its dual variables, and where the visits stand.

use fenchel_linalg::Design;
use fenchel_linalg::special::softmax_in_place;
use fenchel_optim::Regulariser;
use fenchel_optim::random::Place;
use serde::{Deserialize, Serialize};

use super::problem::{MulticlassPoint, MulticlassProblem};

/// The state of a dual method: the point, and for every term the probabilities of the `r - 1` wrong classes, in
/// their order; that of the right class is what is left of 1. Nothing is lost: what is stored are the small ones.
///
/// A warm start of any dual method, on this problem or one like it. The visits go on from where they stood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MulticlassState {
    /// The point.
    pub point: MulticlassPoint,
    /// `n x (r - 1)` probabilities.
    pub dual: Vec<f64>,
    /// Where the visits stand; absent in a state made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place>,
}

impl MulticlassState {
    /// A warm start.
    pub fn new(point: MulticlassPoint, dual: Vec<f64>) -> Self {
        MulticlassState { point, dual, place: None }
    }

    /// A warm start: the dual variables that belong to a point, `softmax(z_i)`. Half a pass.
    ///
    /// # Panics
    /// If the point has another shape than the problem.
    pub fn at<D: Design, R: Regulariser>(
        problem: &MulticlassProblem<'_, D, R>,
        point: MulticlassPoint,
    ) -> Self {
        let r = problem.classes();
        let mut scores = vec![0.0; problem.n() * r];
        problem.scores(&point, &mut scores);
        let mut dual = vec![0.0; problem.n() * (r - 1)];
        let rows = scores.chunks_exact_mut(r).zip(problem.labels());
        for ((z, &y), stored) in rows.zip(dual.chunks_exact_mut(r - 1)) {
            softmax_in_place(z);
            reduce(z, y, stored);
        }
        MulticlassState::new(point, dual)
    }
}

/// The intercepts, each with a proximal term whose centre follows after every pass, as in the binary case.
#[derive(Debug, Clone)]
pub(super) struct Bias {
    pub(super) values: Vec<f64>,
    pub(super) centres: Vec<f64>,
    pub(super) weight: f64,
}

impl Bias {
    /// Moves the centres to the values; the values move by as much, the dual variables stay.
    pub(super) fn follow(&mut self) {
        for (b, centre) in self.values.iter_mut().zip(&mut self.centres) {
            let shift = *b - *centre;
            *centre += shift;
            *b += shift;
        }
    }

    /// `b = centre - (1/(n weight)) sum_i u_i`, without the rounding of many small updates.
    pub(super) fn read(&mut self, mean_dual: &[f64]) {
        for ((b, centre), mean) in self.values.iter_mut().zip(&self.centres).zip(mean_dual) {
            *b = centre - mean / self.weight;
        }
    }
}

/// Reads the distribution of a term from its stored part.
pub(super) fn expand(stored: &[f64], y: usize, p: &mut [f64]) {
    p[..y].copy_from_slice(&stored[..y]);
    p[y + 1..].copy_from_slice(&stored[y..]);
    p[y] = (1.0 - stored.iter().sum::<f64>()).max(0.0);
}

pub(super) fn reduce(p: &[f64], y: usize, stored: &mut [f64]) {
    stored[..y].copy_from_slice(&p[..y]);
    stored[y..].copy_from_slice(&p[y + 1..]);
}
