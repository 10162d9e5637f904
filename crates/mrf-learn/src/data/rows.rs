//! Checked rows of states.

use std::borrow::Cow;

use fenchel_linalg::{Invalid, Names};
use fenchel_optim::Refusal;
use ndarray::{Array2, ArrayView1, ArrayView2};

use super::entry::{BinaryEntry, MissingPolicy};
use crate::error::Error;
use crate::layout::{Coordinates, Layout};

/// Rows of discrete variables, checked, with weights that sum to 1.
///
/// ```
/// use fenchel_mrf_learn::{Coordinates, Data, MissingPolicy};
/// use ndarray::array;
///
/// let data = Data::binary(array![[1u8, 1], [0, 1], [1, 0], [1, 1]].view(), MissingPolicy::Error)?;
/// assert_eq!(data.means(Coordinates::Binary)?, [0.75, 0.5, 0.75]);
/// let data = Data::states(array![[0u8, 2], [1, 0], [1, 1]].view())?;
/// assert_eq!(data.cards(), [2, 3]);
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    rows: usize,
    /// Number of states of every variable.
    cards: Vec<usize>,
    names: Names,
    pub(super) cells: Cells,
    pub(super) weights: Option<Vec<f64>>,
    missing: Vec<(u32, u32)>,
    /// Rows that were left out, as they were counted.
    dropped: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cells {
    /// Columns of `words` words each; bits beyond the last row are 0.
    Bits {
        words: usize,
        columns: Vec<u64>,
    },
    States(Array2<u8>),
}

/// More variables than `u16` can count have more parameters than memory.
const MOST: usize = 65_535;

fn check_shape(rows: usize, columns: usize) -> Result<(), Error> {
    for (what, count) in [("data (rows)", rows), ("data (columns)", columns)] {
        if count == 0 {
            return Err(Invalid::Empty { what }.into());
        }
    }
    if columns > MOST {
        let (name, value) = ("data (columns)", columns as f64);
        return Err(Invalid::Parameter { name, value, expected: "at most 65535 variables" }.into());
    }
    Ok(())
}

/// Checks that every cell is a state. `first` is the number of the first row.
pub(super) fn check_states(
    states: ArrayView2<u8>,
    cards: &[usize],
    first: usize,
) -> Result<(), Error> {
    for ((row, column), &state) in states.indexed_iter() {
        if usize::from(state) >= cards[column] {
            let expected = "a state below the number of states of its variable";
            let (row, value) = (first + row, state.to_string());
            return Err(Error::Entry { row, column, value, expected });
        }
    }
    Ok(())
}

impl Data {
    /// Checks and packs an array of binary values, samples x variables.
    ///
    /// # Errors
    /// [`Invalid::Empty`] without rows or columns, or where every row is dropped; [`Error::Entry`] for what is not binary, or missing under
    /// [`MissingPolicy::Error`]; [`Invalid::Parameter`] for more than 65,535 variables; [`Invalid::Layout`] for a column to impute in
    /// which nothing was observed.
    pub fn binary<T: BinaryEntry>(x: ArrayView2<T>, policy: MissingPolicy) -> Result<Self, Error> {
        let (n, p) = x.dim();
        check_shape(n, p)?;
        let mut dropped = Vec::new();
        let mut kept: Vec<Vec<Option<bool>>> = Vec::with_capacity(n);
        for (row, entries) in x.rows().into_iter().enumerate() {
            let mut bits = Vec::with_capacity(p);
            for (column, &entry) in entries.iter().enumerate() {
                let wrong = |expected| {
                    let value = format!("{entry:?}");
                    Error::Entry { row, column, value, expected }
                };
                let bit = entry.bit().map_err(wrong)?;
                if bit.is_none() && policy == MissingPolicy::Error {
                    return Err(wrong("0 or 1 (the policy for missing values is an error)"));
                }
                bits.push(bit);
            }
            if policy != MissingPolicy::DropRow || bits.iter().all(Option::is_some) {
                kept.push(bits);
            } else {
                dropped.push(row as u32);
            }
        }
        if kept.is_empty() {
            return Err(Invalid::Empty { what: "data (rows without a missing value)" }.into());
        }
        if policy == MissingPolicy::Impute
            && let Some(column) = (0..p).find(|&i| kept.iter().all(|bits| bits[i].is_none()))
        {
            let reason = format!("column {column} has no observed cell; leave it out");
            return Err(Invalid::Layout { what: "data", reason }.into());
        }
        let rows = kept.len();
        let words = rows.div_ceil(64);
        let mut columns = vec![0; p * words];
        let mut missing = Vec::new();
        for (row, bits) in kept.iter().enumerate() {
            for (i, bit) in bits.iter().enumerate() {
                match bit {
                    Some(true) => columns[i * words + row / 64] |= 1 << (row % 64),
                    None if policy == MissingPolicy::Impute => missing.push((row as u32, i as u32)),
                    Some(false) | None => {}
                }
            }
        }
        let cells = Cells::Bits { words, columns };
        let (cards, names) = (vec![2; p], Names::NONE);
        Ok(Data { rows, cards, names, cells, weights: None, missing, dropped })
    }

    /// Rows of states, counted from 0. The number of states of a variable is its largest state plus 1, and at least 2.
    ///
    /// # Errors
    /// As [`with_cards`](Self::with_cards); [`Error::Entry`] for the state 255.
    pub fn states(states: ArrayView2<u8>) -> Result<Self, Error> {
        let largest = |column: ArrayView1<u8>| column.iter().fold(1, |a, &b| a.max(b));
        let columns = states.columns().into_iter();
        let cards: Vec<usize> =
            columns.map(|column| (usize::from(largest(column)) + 1).min(255)).collect();
        Data::with_cards(states, &cards)
    }

    /// The same with given numbers of states.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no row or no variable; [`Error::Entry`] for a state that there is not; [`Invalid::Parameter`] for a
    /// number of states outside 1 to 255, or more than 65,535 variables; [`Invalid::Length`].
    pub fn with_cards(states: ArrayView2<u8>, cards: &[usize]) -> Result<Self, Error> {
        check_shape(states.nrows(), states.ncols())?;
        Invalid::check_length("cards", states.ncols(), cards.len())?;
        if let Some(&card) = cards.iter().find(|card| !(1..=255).contains(*card)) {
            let (name, value) = ("states", card as f64);
            return Err(Invalid::Parameter { name, value, expected: "1 to 255" }.into());
        }
        check_states(states, cards, 0)?;
        if cards.iter().all(|&card| card == 2) {
            return Data::binary(states, MissingPolicy::Error);
        }
        let (rows, states) = (states.nrows(), states.as_standard_layout().into_owned());
        let (cards, cells) = (cards.to_vec(), Cells::States(states));
        let (names, missing, dropped) = (Names::NONE, Vec::new(), Vec::new());
        Ok(Data { rows, cards, names, cells, weights: None, missing, dropped })
    }

    /// Gives every row a weight; they are divided by their sum.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Layout`] for a weight that is negative or not finite; [`Invalid::Parameter`] for a sum of 0.
    pub fn with_weights<'a>(
        mut self,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let weights = weights.into();
        Invalid::check_weights("weights", self.rows, weights.iter())?;
        let sum = weights.sum();
        Invalid::check_positive("weights (sum)", sum)?;
        self.weights = Some(weights.iter().map(|weight| weight / sum).collect());
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
        self.rows
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.cards.len()
    }

    /// Number of states of every variable.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// The same data with names of the variables, which a model keeps and prints.
    ///
    /// # Errors
    /// [`Invalid::Length`] unless there is one name per variable.
    pub fn named(mut self, names: Names) -> Result<Self, Error> {
        Invalid::check_length("names of the variables", self.variables(), names.len())?;
        self.names = names;
        Ok(self)
    }

    /// The names of the variables, if they were given.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The order of the parameters of a model of these variables.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn layout(&self, coordinates: Coordinates) -> Result<Layout, Error> {
        Layout::new(&self.cards, coordinates)
    }

    /// Refuses cells to impute, which have no value.
    pub(crate) fn check_complete(&self, method: &'static str) -> Result<(), Error> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let what = "cells to impute, which have no value; Spg draws them, other policies drop or fill them";
        Err(Refusal::unsupported(method, what).into())
    }

    /// Refuses cells to impute, variables with more than two states, and parameters of indicators.
    pub(crate) fn check_binary(
        &self,
        method: &'static str,
        coordinates: Coordinates,
    ) -> Result<(), Error> {
        self.check_complete(method)?;
        if self.is_binary() && coordinates != Coordinates::Indicators {
            return Ok(());
        }
        let what = "indicators, or variables with more than two states; ExactMle, Spg and potts do";
        Err(Refusal::unsupported(method, what).into())
    }

    /// Whether all variables have two states.
    pub(crate) fn is_binary(&self) -> bool {
        matches!(self.cells, Cells::Bits { .. })
    }

    /// The weight of a row; all of them sum to 1.
    ///
    /// # Panics
    /// If there is no such row and rows have weights.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0 / self.rows as f64, |weights| weights[row])
    }

    /// Whether rows have weights of their own.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// The state of a cell; 0 where it is missing.
    ///
    /// # Panics
    /// If there is no such row or variable.
    #[inline]
    pub fn state(&self, row: usize, i: usize) -> u8 {
        assert!(row < self.rows);
        match &self.cells {
            Cells::Bits { words, columns } => {
                (columns[i * words + row / 64] >> (row % 64) & 1) as u8
            }
            Cells::States(states) => states[[row, i]],
        }
    }

    /// Whether a cell is in another state than the first: `x_i = 1` of a binary variable.
    ///
    /// # Panics
    /// If there is no such row or variable.
    #[inline]
    pub fn get(&self, row: usize, i: usize) -> bool {
        self.state(row, i) != 0
    }

    /// All cells: samples x variables.
    pub fn to_array(&self) -> Array2<u8> {
        Array2::from_shape_fn((self.rows, self.variables()), |(row, i)| self.state(row, i))
    }

    /// The rows with these indices, in that order, possibly with repetitions: a subsample or a bootstrap sample.
    /// Missing cells stay missing.
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Layout`] for a row that does not exist.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        if let Some(row) = rows.iter().find(|&&row| row >= self.rows) {
            let reason = format!("row {row} does not exist; there are {}", self.rows);
            return Err(Invalid::Layout { what: "rows", reason }.into());
        }
        let shape = (rows.len(), self.variables());
        let picked = Array2::from_shape_fn(shape, |(row, i)| self.state(rows[row], i));
        let mut selected = Data::with_cards(picked.view(), &self.cards)?;
        if !self.missing.is_empty() {
            let mut cells = vec![Vec::new(); self.rows];
            for &(row, i) in &self.missing {
                cells[row as usize].push(i);
            }
            let cells = rows
                .iter()
                .enumerate()
                .flat_map(|(to, &row)| cells[row].iter().map(move |&i| (to as u32, i)));
            selected.missing = cells.collect();
        }
        match &self.weights {
            None => Ok(selected),
            Some(weights) => {
                selected.with_weights(&rows.iter().map(|&row| weights[row]).collect::<Vec<_>>())
            }
        }
    }

    /// The rows that [`MissingPolicy::DropRow`] left out, in the order of the input and counted from 0. Fitted models
    /// report their number ([`Warning::RowsDropped`](crate::Warning)).
    pub fn dropped(&self) -> &[u32] {
        &self.dropped
    }

    /// The cells that are to be drawn anew, as (row, variable).
    pub fn missing(&self) -> &[(u32, u32)] {
        &self.missing
    }

    /// Sets a bit; used where missing cells are drawn.
    pub(crate) fn set(&mut self, row: usize, i: usize, value: bool) {
        if let Cells::Bits { words, columns } = &mut self.cells {
            let word = &mut columns[i * *words + row / 64];
            let bit = 1 << (row % 64);
            if value { *word |= bit } else { *word &= !bit }
        }
    }

    /// Rows of bits as +-1 in f64.
    pub(crate) fn signs(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.rows, self.variables()), |(row, i)| {
            if self.get(row, i) { 1.0 } else { -1.0 }
        })
    }
}
