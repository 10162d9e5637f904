//! The parameters of a model.

use fenchel_graphical::chain::Chain;
use fenchel_linalg::Invalid;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The parameters `w = (W, M)` of a model with `A` attributes and `K` labels.
///
/// The score of a labelling is `sum_t u_t(y_t) + sum_t M(y_t, y_t+1)` with
/// `u_t(k) = sum_a x_ta W(a, k) + W(bias, k) + [t first] W(begin, k) + [t last] W(end, k)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// `W`, an `(A + 3) x K` matrix: one row per attribute, then the rows of [`bias`](Self::bias), [`begin`](Self::begin) and
    /// [`end`](Self::end).
    pub emission: Array2<f64>,
    /// The transition weights `M`, `K x K`, from the label of the row to the label of the column.
    pub transition: Array2<f64>,
}

impl Weights {
    /// All zero.
    pub fn zeros(attributes: usize, labels: usize) -> Self {
        Weights {
            emission: Array2::zeros((attributes + 3, labels)),
            transition: Array2::zeros((labels, labels)),
        }
    }

    /// Number of attributes `A`.
    pub fn attributes(&self) -> usize {
        self.emission.nrows() - 3
    }

    /// Number of labels `K`.
    pub fn labels(&self) -> usize {
        self.emission.ncols()
    }

    /// The row of `W` that every token has.
    pub fn bias(&self) -> usize {
        self.attributes()
    }

    /// The row of `W` that the first token has.
    pub fn begin(&self) -> usize {
        self.attributes() + 1
    }

    /// The row of `W` that the last token has.
    pub fn end(&self) -> usize {
        self.attributes() + 2
    }

    /// `norm(w)^2`
    pub fn norm_squared(&self) -> f64 {
        self.emission.iter().chain(&self.transition).map(|w| w * w).sum()
    }

    /// `norm(w)_1`
    pub fn l1_norm(&self) -> f64 {
        self.emission.iter().chain(&self.transition).map(|w| w.abs()).sum()
    }

    /// Checks that the shapes fit each other and that all weights are finite, for models from outside.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn check(&self) -> Result<(), Error> {
        if self.emission.nrows() < 3 || self.emission.ncols() == 0 {
            return Err(Invalid::Empty { what: "emission weights" }.into());
        }
        let labels = self.labels();
        Invalid::check_length("rows of the transition weights", labels, self.transition.nrows())?;
        Invalid::check_length(
            "columns of the transition weights",
            labels,
            self.transition.ncols(),
        )?;
        for (what, matrix) in
            [("emission weights", &self.emission), ("transition weights", &self.transition)]
        {
            if let Some(((row, column), &value)) =
                matrix.indexed_iter().find(|(_, value)| !value.is_finite())
            {
                return Err(Invalid::NonFinite { what, row, column, value }.into());
            }
        }
        Ok(())
    }

    /// Writes the transition scores to a chain of `K` states with shared pair scores. Once is enough for many sequences.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a chain of another number of states.
    pub fn write_transitions(&self, chain: &mut Chain) -> Result<(), Error> {
        Invalid::check_length("states of the chain", self.labels(), chain.states())?;
        for (from, row) in self.transition.outer_iter().enumerate() {
            chain.pairwise_mut(0, from).iter_mut().zip(row).for_each(|(score, w)| *score = *w);
        }
        Ok(())
    }

    /// Writes the scores of tokens, given as lists of attributes and values, to a chain. Attributes `>= A` are ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a chain of another number of states or for no tokens.
    pub fn write_scores<I>(
        &self,
        tokens: impl ExactSizeIterator<Item = I>,
        chain: &mut Chain,
    ) -> Result<(), Error>
    where
        I: IntoIterator<Item = (u32, f64)>,
    {
        Invalid::check_length("states of the chain", self.labels(), chain.states())?;
        let last = tokens.len().saturating_sub(1);
        chain.resize(tokens.len())?;
        for (t, token) in tokens.enumerate() {
            let scores = chain.unary_mut(t);
            let mut add = |row: usize, value: f64| {
                let row = self.emission.row(row);
                scores.iter_mut().zip(row).for_each(|(score, w)| *score += value * w);
            };
            add(self.bias(), 1.0);
            if t == 0 {
                add(self.begin(), 1.0);
            }
            if t == last {
                add(self.end(), 1.0);
            }
            for (attribute, value) in token {
                if (attribute as usize) < self.attributes() {
                    add(attribute as usize, value);
                }
            }
        }
        Ok(())
    }
}
