//! Rows of states, checked.

use std::borrow::Cow;

use fenchel_linalg::Invalid;
use ndarray::{Array2, ArrayView1, ArrayView2};

use super::Layout;
use crate::Error;
use crate::conditional::for_all;

/// Rows of discrete variables with weights that sum to 1.
///
/// ```
/// use fenchel_mrf_learn::DiscreteData;
/// use ndarray::array;
///
/// let data = DiscreteData::new(array![[0u8, 2], [1, 0], [1, 1]].view())?;
/// assert_eq!(data.layout().cards(), [2, 3]);
/// assert!(DiscreteData::with_cards(array![[0u8, 2]].view(), &[2, 2]).is_err());
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DiscreteData {
    states: Array2<u8>,
    layout: Layout,
    weights: Vec<f64>,
}

impl DiscreteData {
    /// Rows of states, counted from 0. The number of states of a variable is its largest state plus 1, and at least 2.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no row or no variable; [`Error::Entry`] for the state 255.
    pub fn new(states: ArrayView2<u8>) -> Result<Self, Error> {
        let largest = |column: ArrayView1<u8>| column.iter().fold(1, |a, &b| a.max(b));
        let cards: Vec<usize> = states
            .columns()
            .into_iter()
            .map(|column| (usize::from(largest(column)) + 1).min(255))
            .collect();
        DiscreteData::with_cards(states, &cards)
    }

    /// The same with given numbers of states.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Entry`] for a state that there is not; as [`Layout::new`].
    pub fn with_cards(states: ArrayView2<u8>, cards: &[usize]) -> Result<Self, Error> {
        if states.nrows() == 0 {
            return Err(Invalid::Empty { what: "data (rows)" }.into());
        }
        let layout = Layout::new(cards)?;
        Invalid::check_length("cards", states.ncols(), cards.len())?;
        for ((row, column), &state) in states.indexed_iter() {
            if usize::from(state) >= cards[column] {
                let expected = "a state below the number of states of its variable";
                return Err(Error::Entry { row, column, value: state.to_string(), expected });
            }
        }
        let rows = states.nrows();
        let states = states.as_standard_layout().into_owned();
        Ok(DiscreteData { states, layout, weights: vec![1.0 / rows as f64; rows] })
    }

    /// Gives every row a weight; they are scaled to sum to 1.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Parameter`] for a weight that is negative or not finite, or a sum of 0.
    pub fn with_weights<'a>(
        mut self,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let weights = weights.into();
        Invalid::check_length("weights", self.rows(), weights.len())?;
        for &weight in weights {
            Invalid::check_nonnegative("weights", weight)?;
        }
        let sum = weights.sum();
        Invalid::check_positive("weights (sum)", sum)?;
        self.weights = weights.iter().map(|weight| weight / sum).collect();
        Ok(self)
    }

    /// The data with the weights of a fit, if it has any, in place of their own.
    pub(crate) fn weighted(
        &self,
        fit: Option<ArrayView1<'_, f64>>,
    ) -> Result<Cow<'_, Self>, Error> {
        fit.map_or(Ok(Cow::Borrowed(self)), |weights| {
            Ok(Cow::Owned(self.clone().with_weights(weights)?))
        })
    }

    /// Number of rows, `n`.
    pub fn rows(&self) -> usize {
        self.states.nrows()
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.states.ncols()
    }

    /// Numbers of states, and the order of the parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The states: rows x variables.
    pub fn states(&self) -> &Array2<u8> {
        &self.states
    }

    /// The weight of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights[row]
    }

    /// Means of the statistics: the shares of every state, and of every pair of states.
    pub fn means(&self) -> Vec<f64> {
        weighted_means(&self.layout, &self.states, |row| self.weights[row])
    }

    /// The entropy of the rows as a distribution, equal rows together, in nats.
    pub(super) fn entropy(&self) -> f64 {
        let mut order: Vec<usize> = (0..self.rows()).collect();
        order.sort_by(|&a, &b| self.states.row(a).iter().cmp(self.states.row(b).iter()));
        let mut entropy = 0.0;
        let mut share = 0.0;
        for (at, &row) in order.iter().enumerate() {
            share += self.weights[row];
            let last =
                order.get(at + 1).is_none_or(|&next| self.states.row(next) != self.states.row(row));
            if last {
                entropy -= fenchel_linalg::special::xlogx(share);
                share = 0.0;
            }
        }
        entropy
    }
}

/// Means of the indicators over rows of states; variables in parallel, rows in order.
pub(super) fn weighted_means(
    layout: &Layout,
    states: &Array2<u8>,
    weight: impl Fn(usize) -> f64 + Sync + Send,
) -> Vec<f64> {
    let p = layout.variables();
    let cards = layout.cards();
    let parts = for_all(p, |i| {
        let first = if i + 1 < p { layout.table_of(i, i + 1).start } else { 0 };
        let end = if i + 1 < p { layout.table_of(i, p - 1).end } else { 0 };
        let mut field = vec![0.0; cards[i]];
        let mut tables = vec![0.0; end - first];
        for (row, x) in states.rows().into_iter().enumerate() {
            let (w, a) = (weight(row), usize::from(x[i]));
            field[a] += w;
            let mut at = 0;
            for j in i + 1..p {
                tables[at + a * cards[j] + usize::from(x[j])] += w;
                at += cards[i] * cards[j];
            }
        }
        (field, first, tables)
    });
    let mut out = vec![0.0; layout.len()];
    for (i, (field, first, tables)) in parts.into_iter().enumerate() {
        out[layout.field(i)].copy_from_slice(&field);
        out[first..first + tables.len()].copy_from_slice(&tables);
    }
    out
}
