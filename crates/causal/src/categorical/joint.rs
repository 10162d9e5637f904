//! One vector of scores for all cells: a model without a direction.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::{CategoricalPair, center, check_shape, kl_of_logs};
use crate::Error;

/// `p(x, y) = exp(s_xy) / sum exp(s)`, scores of mean zero over all cells; a row for each state of X.
///
/// Source: Le Priol, section 4.5.4 (CA-02).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointCategorical {
    logits: Array2<f64>,
}

impl JointCategorical {
    /// The joint of a pair.
    pub fn of(pair: &CategoricalPair) -> JointCategorical {
        let mut logits = pair.log_joint();
        if let Some(cells) = logits.as_slice_mut() {
            center(cells);
        }
        JointCategorical { logits }
    }

    /// The scores, of mean zero over all cells.
    pub fn logits(&self) -> ArrayView2<'_, f64> {
        self.logits.view()
    }

    /// The causal factorisation of the same joint. O(K^2).
    ///
    /// # Errors
    /// As [`CategoricalPair::from_log_joint`].
    pub fn factorise(&self) -> Result<CategoricalPair, Error> {
        CategoricalPair::from_log_joint(self.logits.view())
    }

    /// `KL(self || other)` in nats. O(K^2).
    ///
    /// # Errors
    /// [`Error::Invalid`] for other numbers of states.
    pub fn kl(&self, other: &JointCategorical) -> Result<f64, Error> {
        check_shape(self.logits.dim(), other.logits.dim())?;
        let total = |j: &JointCategorical| {
            fenchel_linalg::special::log_sum_exp(j.logits.as_slice().unwrap_or_default())
        };
        let (a, b) = (total(self), total(other));
        let p = self.logits.iter().map(|s| s - a);
        Ok(kl_of_logs(p, other.logits.iter().map(|s| s - b)))
    }

    /// The squared Euclidean distance of the parameters.
    ///
    /// # Errors
    /// As [`kl`](Self::kl).
    pub fn distance_sq(&self, other: &JointCategorical) -> Result<f64, Error> {
        check_shape(self.logits.dim(), other.logits.dim())?;
        Ok(self.logits.iter().zip(&other.logits).map(|(a, b)| (a - b) * (a - b)).sum())
    }
}
