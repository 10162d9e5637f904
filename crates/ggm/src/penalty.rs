//! Weights of an l1 penalty on a precision matrix.
//!
//! ```text
//! penalty(Theta) = sum_ij Lambda_ij |Theta_ij|      over both triangles
//! ```

use fenchel_linalg::Invalid;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The weights `Lambda`.
///
/// A weight of 0 leaves an edge unpenalised; an infinite one forbids it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PenaltyWeights {
    /// One weight for all entries off the diagonal; the diagonal has the weight 0.
    Uniform(f64),
    /// One weight for all entries, the diagonal included.
    WithDiagonal(f64),
    /// One weight per entry, in a symmetric matrix. The diagonal is used as given.
    Each(Array2<f64>),
}

impl Default for PenaltyWeights {
    fn default() -> Self {
        PenaltyWeights::Uniform(0.1)
    }
}

impl PenaltyWeights {
    /// Refuses negative and NaN weights, an infinite diagonal, and matrices that are not symmetric `p x p`.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn check(&self, p: usize) -> Result<(), Error> {
        match self {
            PenaltyWeights::Uniform(l1) | PenaltyWeights::WithDiagonal(l1) => {
                Ok(Invalid::check_nonnegative("l1", *l1)?)
            }
            PenaltyWeights::Each(matrix) => {
                let what = "weights";
                let order = Invalid::check_square(what, matrix.dim())?;
                Invalid::check_length(what, p, order)?;
                for ((i, j), &w) in matrix.indexed_iter() {
                    if !(w >= 0.0) || (i == j && w == f64::INFINITY) {
                        let reason = format!(
                            "weight ({i}, {j}) is {w}; expected a number >= 0, finite on the diagonal"
                        );
                        return Err(Invalid::Layout { what, reason }.into());
                    }
                    if w != matrix[[j, i]] {
                        let reason = format!(
                            "weight ({i}, {j}) is {w} but ({j}, {i}) is {}",
                            matrix[[j, i]]
                        );
                        return Err(Invalid::Layout { what, reason }.into());
                    }
                }
                Ok(())
            }
        }
    }

    /// The weight of an entry.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> f64 {
        match self {
            PenaltyWeights::Uniform(l1) => {
                if i == j {
                    0.0
                } else {
                    *l1
                }
            }
            PenaltyWeights::WithDiagonal(l1) => *l1,
            PenaltyWeights::Each(matrix) => matrix[[i, j]],
        }
    }

    /// The same weights multiplied by a number. Forbidden edges stay forbidden, even with the factor 0.
    pub fn scaled(&self, by: f64) -> PenaltyWeights {
        match self {
            PenaltyWeights::Uniform(l1) => PenaltyWeights::Uniform(l1 * by),
            PenaltyWeights::WithDiagonal(l1) => PenaltyWeights::WithDiagonal(l1 * by),
            PenaltyWeights::Each(matrix) => PenaltyWeights::Each(
                matrix.mapv(|w| if w == 0.0 || w == f64::INFINITY { w } else { w * by }),
            ),
        }
    }

    /// The weights at one penalty of a path: a single weight is replaced by the penalty, a matrix is multiplied by it.
    pub(crate) fn at_penalty(&self, l1: f64) -> PenaltyWeights {
        match self {
            PenaltyWeights::Uniform(_) => PenaltyWeights::Uniform(l1),
            PenaltyWeights::WithDiagonal(_) => PenaltyWeights::WithDiagonal(l1),
            PenaltyWeights::Each(_) => self.scaled(l1),
        }
    }
}

/// Soft-thresholding: `argmin_x t |x| + (x - z)^2 / 2`.
#[inline(always)]
pub(crate) fn soft(z: f64, t: f64) -> f64 {
    if z > t {
        z - t
    } else if z < -t {
        z + t
    } else {
        0.0
    }
}

impl From<f64> for PenaltyWeights {
    fn from(l1: f64) -> Self {
        PenaltyWeights::Uniform(l1)
    }
}
