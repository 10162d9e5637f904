//! The losses, as maxima over the simplex.

use fenchel_linalg::special::softmax_loss;
use serde::{Deserialize, Serialize};

/// A loss of `k` scores and a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MulticlassLoss {
    /// `max_l (1[l != y] + s_l) - s_y`: the support vector machine of Crammer and Singer.
    #[default]
    Hinge,
    /// `ln sum_l e^{s_l} - s_y`: multinomial logistic regression.
    Softmax,
}

impl MulticlassLoss {
    /// The loss of scores that have been multiplied by the margin, times the margin.
    #[inline]
    pub(crate) fn weighted(self, scores: &[f64], label: usize, margin: f64) -> f64 {
        match self {
            MulticlassLoss::Hinge => {
                let top =
                    |m: f64, (l, s): (usize, &f64)| m.max(if l == label { *s } else { margin + s });
                scores.iter().enumerate().fold(f64::NEG_INFINITY, top) - scores[label]
            }
            MulticlassLoss::Softmax if margin == 1.0 => softmax_loss(scores, label),
            MulticlassLoss::Softmax => {
                let plain: Vec<f64> = scores.iter().map(|s| s / margin).collect();
                margin * softmax_loss(&plain, label)
            }
        }
    }

    /// The loss of one sample.
    ///
    /// # Panics
    /// If `label` is not below the number of scores.
    pub fn value(self, scores: &[f64], label: usize) -> f64 {
        self.weighted(scores, label, 1.0)
    }

    /// A subgradient in the scores: `v - e_y` with `v` a maximiser.
    ///
    /// # Panics
    /// If `label` is not below the number of scores, or if lengths differ.
    pub fn subgradient(self, scores: &[f64], label: usize, out: &mut [f64]) {
        assert_eq!(scores.len(), out.len());
        match self {
            MulticlassLoss::Hinge => {
                let value = |l: usize| if l == label { scores[l] } else { 1.0 + scores[l] };
                let best =
                    (0..scores.len()).fold(label, |b, l| if value(l) > value(b) { l } else { b });
                out.fill(0.0);
                out[best] += 1.0;
            }
            MulticlassLoss::Softmax => {
                fenchel_linalg::special::softmax(scores, out);
            }
        }
        out[label] -= 1.0;
    }

    /// `-f(v, y)` for a probability vector `v`, which is its contribution to the dual objective.
    pub fn gain(self, v: &[f64], label: usize) -> f64 {
        match self {
            MulticlassLoss::Hinge => 1.0 - v[label],
            MulticlassLoss::Softmax => fenchel_linalg::special::entropy(v),
        }
    }

    /// The loss if all scores are 0, which is `P(0)`.
    pub fn at_zero(self, classes: usize) -> f64 {
        match self {
            MulticlassLoss::Hinge => 1.0,
            MulticlassLoss::Softmax => (classes as f64).ln(),
        }
    }
}
