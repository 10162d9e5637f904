//! The state that a multiclass dual method returns: a point, its dual variables, and the position in the visiting
//! order.

use fenchel_linalg::Design;
use fenchel_linalg::special::softmax_in_place;
use fenchel_optim::Regulariser;
use fenchel_optim::random::Place;
use serde::{Deserialize, Serialize};

use super::problem::{MulticlassPoint, MulticlassProblem};

/// The state of a dual method. It contains the point, and for every term the probabilities of the `r - 1` wrong
/// classes, in their order. The probability of the right class is 1 minus their sum. This loses no accuracy, since
/// the stored probabilities are the small ones.
///
/// It can be the start of any dual method, on the same problem or a similar one. The visiting order then continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MulticlassState {
    /// The point.
    pub point: MulticlassPoint,
    /// `n x (r - 1)` probabilities.
    pub dual: Vec<f64>,
    /// The position in the visiting order. It is absent in a state that was made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<Place>,
}

impl MulticlassState {
    /// A warm start.
    pub fn new(point: MulticlassPoint, dual: Vec<f64>) -> Self {
        MulticlassState { point, dual, place: None }
    }

    /// A warm start from a point, with the dual variables `softmax(z_i)` that belong to it. Half a pass.
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

/// The intercepts. Each has a proximal term whose centre is updated after every pass, as in the binary case.
#[derive(Debug, Clone)]
pub(super) struct Bias {
    pub(super) values: Vec<f64>,
    pub(super) centres: Vec<f64>,
    pub(super) weight: f64,
}

impl Bias {
    /// Moves the centres to the current values. The values move by the same amount, since the dual variables are
    /// unchanged.
    pub(super) fn follow(&mut self) {
        for (b, centre) in self.values.iter_mut().zip(&mut self.centres) {
            let shift = *b - *centre;
            *centre += shift;
            *b += shift;
        }
    }

    /// Recomputes `b = centre - (1/(n weight)) sum_i u_i`, to remove the rounding errors of many small updates.
    pub(super) fn read(&mut self, mean_dual: &[f64]) {
        for ((b, centre), mean) in self.values.iter_mut().zip(&self.centres).zip(mean_dual) {
            *b = centre - mean / self.weight;
        }
    }
}

/// Computes the distribution of a term from its stored part.
pub(super) fn expand(stored: &[f64], y: usize, p: &mut [f64]) {
    p[..y].copy_from_slice(&stored[..y]);
    p[y + 1..].copy_from_slice(&stored[y..]);
    p[y] = (1.0 - stored.iter().sum::<f64>()).max(0.0);
}

pub(super) fn reduce(p: &[f64], y: usize, stored: &mut [f64]) {
    stored[..y].copy_from_slice(&p[..y]);
    stored[y..].copy_from_slice(&p[y + 1..]);
}

/// `(1/n) sum_i u_i`, `u_i = c_i (p_i - e_y)`
pub(super) fn mean_dual<D: Design, R: Regulariser>(
    problem: &MulticlassProblem<'_, D, R>,
    dual: &[f64],
) -> Vec<f64> {
    let r = problem.classes();
    let (mut mean, mut p) = (vec![0.0; r], vec![0.0; r]);
    for (i, (stored, &y)) in dual.chunks_exact(r - 1).zip(problem.labels()).enumerate() {
        expand(stored, y, &mut p);
        p[y] -= 1.0;
        let weight = problem.term_weight(i);
        mean.iter_mut().zip(&p).for_each(|(mean, u)| *mean += weight * u);
    }
    mean.iter_mut().for_each(|mean| *mean /= problem.n() as f64);
    mean
}
