//! One vector of scores for all cells: a model without a direction.

use fenchel_linalg::Invalid;
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::{CategoricalPair, center, check_scores, check_shape, kl_of_logs};
use crate::Error;

/// `p(x, y) = exp(s_xy) / sum exp(s)`. The scores have mean zero over all cells and are stored as one row per state of
/// X.
///
/// Source: R. Le Priol, PhD thesis 2021, section 4.5.4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct JointCategorical {
    logits: Array2<f64>,
}

#[derive(Deserialize)]
struct Parts {
    logits: Array2<f64>,
}

impl TryFrom<Parts> for JointCategorical {
    type Error = Error;
    fn try_from(p: Parts) -> Result<JointCategorical, Error> {
        JointCategorical::from_logits(p.logits.view())
    }
}

impl JointCategorical {
    /// Builds the model from scores, which are determined up to a constant.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no cells, and scores that are not finite or larger than 1e150 in size.
    pub fn from_logits(logits: ArrayView2<'_, f64>) -> Result<JointCategorical, Error> {
        if logits.is_empty() {
            return Err(Invalid::Empty { what: "the joint scores" }.into());
        }
        check_scores("the joint scores", logits.indexed_iter())?;
        let mut cells: Vec<f64> = logits.iter().copied().collect();
        center(&mut cells);
        let columns = logits.ncols();
        let logits = Array2::from_shape_fn(logits.dim(), |(i, j)| cells[i * columns + j]);
        Ok(JointCategorical { logits })
    }

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
    /// [`Error::Invalid`] for different numbers of states.
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
