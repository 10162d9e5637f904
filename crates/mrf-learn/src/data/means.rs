//! Sufficient statistics of rows.

use fenchel_linalg::special::xlogx;
use fenchel_linalg::spread::Shards;
use fenchel_linalg::{Invalid, parallel};
use ndarray::{ArrayView2, Axis, Slice};

use super::rows::{Cells, Data, check_states};
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

    /// The [means](Self::means) of rows of states of which this process has those of its shards, and maybe none: the frequencies of
    /// states and of pairs of states, in these coordinates. All processes call it together, with the numbers of states of all variables,
    /// and get the means of all rows, the same for any number of processes. It takes one sum, of a number a pair of states.
    ///
    /// [`ExactMle::fit_means`](crate::ExactMle::fit_means) fits a model to them, and they are the target of an
    /// [`SpgProblem`](crate::spg::SpgProblem).
    ///
    /// ```
    /// use fenchel_mrf_learn::{Coordinates, Data};
    /// use fenchel_optim::spread::{Communicator, Shards, threads};
    ///
    /// // Two ranks: one has the first row, the other the rest.
    /// let x = ndarray::array![[1, 1], [0, 1], [1, 0], [1, 1]];
    /// let means = threads::run(2, |ranks| {
    ///     let rows = [0..1, 1..4][ranks.rank()].clone();
    ///     let shards = Shards::new(ranks, &[rows.len()])?;
    ///     Data::spread_means(x.slice(ndarray::s![rows, ..]), &[2, 2], Coordinates::Binary, &shards)
    /// });
    /// assert_eq!(means.unwrap(), [[0.75, 0.5, 0.75]; 2]);
    /// ```
    ///
    /// # Errors
    /// As [`Layout::new`]; [`Error::Entry`] for a state that there is not, with the place of its row among all; [`Invalid::Length`] for
    /// another number of rows than that of the shards, or of columns; [`Invalid::Layout`] for processes with other variables or
    /// coordinates.
    pub fn spread_means(
        own: ArrayView2<u8>,
        cards: &[usize],
        coordinates: Coordinates,
        shards: &Shards<'_>,
    ) -> Result<Vec<f64>, Error> {
        let layout = Layout::new(cards, coordinates)?;
        let states = Layout::new(cards, Coordinates::Indicators)?;
        Invalid::check_length("rows of the shards", own.nrows(), shards.rows())?;
        Invalid::check_length("cards", own.ncols(), cards.len())?;
        check_states(own, cards, shards.before())?;
        let settings = format!("{coordinates:?}, states: {cards:?}");
        shards.communicator().check_alike("coordinates and variables", &settings)?;
        let mut means = vec![0.0; states.len()];
        shards.sum(&mut means, &|_, rows, counts| {
            let rows = own.slice_axis(Axis(0), Slice::from(rows));
            counts.copy_from_slice(&means_of_states(&states, rows, |_| 1.0));
            0.0
        });
        means.iter_mut().for_each(|count| *count /= shards.all_rows() as f64);
        if coordinates == Coordinates::Indicators {
            return Ok(means);
        }
        // The last number of a block is that of states 1 and 1.
        let both: Vec<f64> = states.blocks().map(|(_, block)| means[block.end - 1]).collect();
        let mut out = vec![0.0; layout.len()];
        layout.expand(&layout.reference()?, &both, &mut out);
        Ok(out)
    }

    /// The same in the order of a layout of these variables.
    pub(crate) fn means_of(&self, layout: &Layout) -> Vec<f64> {
        let (words, columns) = match &self.cells {
            Cells::States(states) => {
                return means_of_states(layout, states.view(), |row| self.weight(row));
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
    states: ArrayView2<u8>,
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
