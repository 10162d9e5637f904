//! The scores of a joint distribution as the sum of a row effect, a column effect and an interaction.
//!
//! ```text
//! s_xy = n(x) + m(y) + I_xy,   sum_x n = sum_y m = 0,   sum_x I_xy = sum_y I_xy = 0
//! n(x) = mean_y s_{x|y},  m(y) = mean_x s_{y|x},  s_{y|x} = m(y) + I_xy,  s_{x|y} = n(x) + I_xy
//! ```
//!
//! The conditional scores of both directions contain the same interaction. So, with `d` for the difference between two
//! joint distributions, the squared parameter distances of the three models are
//!
//! ```text
//! delta_causal     = |d s_X|^2  + K_x |d m|^2 + |d I|^2
//! delta_anticausal = |d s_Y|^2  + K_y |d n|^2 + |d I|^2
//! delta_joint      = K_y |d n|^2 + K_x |d m|^2 + |d I|^2
//! ```
//!
//! Source: R. Le Priol, PhD thesis 2021, lemma 4.B.5. Its last equation prints `s_{x|y}` where `s_{y|x}` is meant. The
//! reading as an analysis of variance is ours.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::{CategoricalPair, Direction, check_shape};
use crate::Error;

/// The decomposition, with the marginal scores of both variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anova {
    /// `n(x)`.
    pub row: Array1<f64>,
    /// `m(y)`.
    pub column: Array1<f64>,
    /// `I_xy`.
    pub interaction: Array2<f64>,
    /// Scores of the marginal of X.
    pub marginal_x: Array1<f64>,
    /// Scores of the marginal of Y.
    pub marginal_y: Array1<f64>,
}

/// Squared distances of parameters in the three models.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// `delta_causal`.
    pub causal: f64,
    /// `delta_anticausal`.
    pub anticausal: f64,
    /// The distance of joint scores.
    pub joint: f64,
}

impl Anova {
    /// The decomposition of the joint of a pair. O(K^2).
    pub fn of(pair: &CategoricalPair) -> Anova {
        let causal = match pair.direction() {
            Direction::Causal => pair.clone(),
            Direction::Anticausal => pair.reverse(),
        };
        let reverse = causal.reverse();
        let mean =
            |p: &CategoricalPair| p.conditional().mean_axis(ndarray::Axis(0)).unwrap_or_default();
        let (column, row) = (mean(&causal), mean(&reverse));
        let interaction = &causal.conditional() - &column;
        Anova {
            row,
            column,
            interaction,
            marginal_x: causal.marginal().to_owned(),
            marginal_y: reverse.marginal().to_owned(),
        }
    }

    /// The squared distances of the parameters of two joints in all three models. O(K^2).
    ///
    /// # Errors
    /// [`Error::Invalid`] for different numbers of states.
    pub fn distances(&self, other: &Anova) -> Result<Distances, Error> {
        check_shape(self.interaction.dim(), other.interaction.dim())?;
        let square = |a: &Array1<f64>, b: &Array1<f64>| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let (kx, ky) = self.interaction.dim();
        let i: f64 =
            self.interaction.iter().zip(&other.interaction).map(|(a, b)| (a - b) * (a - b)).sum();
        let n = ky as f64 * square(&self.row, &other.row);
        let m = kx as f64 * square(&self.column, &other.column);
        Ok(Distances {
            causal: square(&self.marginal_x, &other.marginal_x) + m + i,
            anticausal: square(&self.marginal_y, &other.marginal_y) + n + i,
            joint: n + m + i,
        })
    }
}
