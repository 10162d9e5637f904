//! Sufficient statistics of rows.

use fenchel_linalg::parallel;
use fenchel_linalg::special::xlogx;
use ndarray::Array2;

use super::rows::{Cells, Data};
use crate::error::Error;
use crate::layout::{Coordinates, Layout, pair_index, pairs};

impl Data {
    /// The sufficient statistics `E psi` of the data. O(p^2 n / 64) words for binary variables, otherwise and with weights
    /// O(p^2 n).
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn means(&self, coordinates: Coordinates) -> Result<Vec<f64>, Error> {
        Ok(self.means_of(&self.layout(coordinates)?))
    }

    /// The same in the order of a layout of these variables.
    pub(crate) fn means_of(&self, layout: &Layout) -> Vec<f64> {
        let (words, columns) = match &self.cells {
            Cells::States(states) => {
                return means_of_states(layout, states, |row| self.weight(row));
            }
            Cells::Bits { words, columns } => (*words, columns),
        };
        let column = |i: usize| &columns[i * words..(i + 1) * words];
        let both = pairs(self.variables()).map(|(i, j)| self.both(column(i), column(j)));
        let both: Vec<f64> = both.collect();
        if layout.coordinates() == Coordinates::Binary {
            return both;
        }
        let mut out = vec![0.0; layout.len()];
        // The layout of binary coordinates has the order of pairs.
        if let Ok(reference) = layout.reference() {
            layout.expand(&reference, &both, &mut out);
        }
        out
    }

    /// The weight of the rows in which both columns are 1.
    fn both(&self, one: &[u64], two: &[u64]) -> f64 {
        let words = one.iter().zip(two).map(|(a, b)| a & b);
        match &self.weights {
            None => {
                let count: u32 = words.map(u64::count_ones).sum();
                f64::from(count) / self.rows() as f64
            }
            Some(weights) => {
                let mut sum = 0.0;
                for (at, mut word) in words.enumerate() {
                    while word != 0 {
                        sum += weights[64 * at + word.trailing_zeros() as usize];
                        word &= word - 1;
                    }
                }
                // Weights that sum to 1 up to rounding.
                sum.min(1.0)
            }
        }
    }

    /// The entropy in nats of the empirical distribution of whole rows. O(n p).
    pub(crate) fn entropy(&self) -> f64 {
        let mut seen = std::collections::BTreeMap::new();
        for row in 0..self.rows() {
            let states: Vec<u8> = (0..self.variables()).map(|i| self.state(row, i)).collect();
            *seen.entry(states).or_insert(0.0) += self.weight(row);
        }
        -seen.values().map(|&weight| xlogx(weight)).sum::<f64>()
    }
}

/// Means of the indicators over rows of states; variables in parallel, rows in order.
pub(crate) fn means_of_states(
    layout: &Layout,
    states: &Array2<u8>,
    weight: impl Fn(usize) -> f64 + Sync + Send,
) -> Vec<f64> {
    let (p, cards) = (layout.variables(), layout.cards());
    // The blocks of a variable and all later ones lie next to each other.
    let parts = parallel::map(0..p, |i| {
        let (first, end) = (layout.field(i).start, layout.block(pair_index(i, p - 1, p)).end);
        let mut means = vec![0.0; end - first];
        for (row, x) in states.rows().into_iter().enumerate() {
            let (w, a) = (weight(row), usize::from(x[i]));
            means[a] += w;
            let mut at = cards[i];
            for j in i + 1..p {
                means[at + a * cards[j] + usize::from(x[j])] += w;
                at += cards[i] * cards[j];
            }
        }
        means
    });
    parts.concat()
}
