//! Binary data, stored with one bit per cell, and their sufficient statistics.
//!
//! Each column is stored as words of 64 rows. The mean of a product of two columns then costs `n / 64` word operations
//! and population counts (Geng et al., UAI 2018, equation 4).

use std::borrow::Cow;

use fenchel_linalg::Invalid;
use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::coordinates::{packed_length, pair_index};
use crate::{Coordinates, Error};

/// How missing cells are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingPolicy {
    /// The first missing cell is an [`Error::Entry`].
    #[default]
    Error,
    /// Missing cells count as 0, as in Geng et al. (UAI 2018), section 7.3.
    AsZero,
    /// Rows with a missing cell are left out.
    DropRow,
    /// Missing cells stay missing: [`Spg`](crate::Spg) draws new values for them in every iteration (stochastic EM).
    /// Elsewhere they count as 0.
    Impute,
}

/// An entry of binary data.
pub trait BinaryEntry: Copy + std::fmt::Debug {
    /// `Ok(None)` for a missing value, `Err` for what is no binary value.
    ///
    /// # Errors
    /// What was expected.
    fn bit(self) -> Result<Option<bool>, &'static str>;
}

impl BinaryEntry for bool {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        Ok(Some(self))
    }
}

impl BinaryEntry for Option<bool> {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        Ok(self)
    }
}

impl BinaryEntry for u8 {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        match self {
            0 => Ok(Some(false)),
            1 => Ok(Some(true)),
            u8::MAX => Ok(None),
            _ => Err("0, 1, or 255 for a missing value"),
        }
    }
}

impl BinaryEntry for i8 {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        match self {
            0 => Ok(Some(false)),
            1 => Ok(Some(true)),
            -1 => Ok(None),
            _ => Err("0, 1, or -1 for a missing value"),
        }
    }
}

impl BinaryEntry for f64 {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        if self == 0.0 {
            Ok(Some(false))
        } else if self == 1.0 {
            Ok(Some(true))
        } else if self.is_nan() {
            Ok(None)
        } else {
            Err("0, 1, or NaN for a missing value")
        }
    }
}

/// Rows of binary variables, checked.
///
/// ```
/// use fenchel_mrf_learn::{BinaryData, Coordinates, MissingPolicy};
/// use ndarray::array;
///
/// let data = BinaryData::new(array![[1u8, 1], [0, 1], [1, 0], [1, 1]].view(), MissingPolicy::Error)?;
/// assert_eq!(data.means(Coordinates::Binary), [0.75, 0.5, 0.75]);
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryData {
    rows: usize,
    variables: usize,
    /// Words of a column.
    words: usize,
    planes: Vec<u64>,
    weights: Option<Vec<f64>>,
    missing: Vec<(u32, u32)>,
    /// Rows that were left out, as they were counted.
    dropped: Vec<u32>,
}

/// More variables than `u16` can count have more parameters than memory.
const MOST: usize = 65_535;

impl BinaryData {
    /// Checks and packs an array, samples x variables.
    ///
    /// # Errors
    /// [`Invalid::Empty`] without rows or columns, or where every row is dropped; [`Error::Entry`] for what is not binary, or missing under
    /// [`MissingPolicy::Error`]; [`Invalid::Parameter`] for more than 65,535 variables; [`Invalid::Layout`] for a column to impute in
    /// which nothing was observed.
    pub fn new<T: BinaryEntry>(x: ArrayView2<T>, policy: MissingPolicy) -> Result<Self, Error> {
        let (n, p) = x.dim();
        if n == 0 {
            return Err(Invalid::Empty { what: "data (rows)" }.into());
        }
        if p == 0 {
            return Err(Invalid::Empty { what: "data (columns)" }.into());
        }
        if p > MOST {
            let expected = "at most 65535 variables";
            return Err(
                Invalid::Parameter { name: "data (columns)", value: p as f64, expected }.into()
            );
        }
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
        let mut planes = vec![0; p * words];
        let mut missing = Vec::new();
        for (row, bits) in kept.iter().enumerate() {
            for (i, bit) in bits.iter().enumerate() {
                match bit {
                    Some(true) => planes[i * words + row / 64] |= 1 << (row % 64),
                    Some(false) => {}
                    None if policy == MissingPolicy::Impute => {
                        missing.push((row as u32, i as u32));
                    }
                    None => {}
                }
            }
        }
        Ok(BinaryData { rows, variables: p, words, planes, weights: None, missing, dropped })
    }

    /// Gives every row a weight; they are divided by their sum.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Parameter`] for a weight that is negative or not finite, or a sum of 0.
    pub fn with_weights<'a>(
        mut self,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let weights = weights.into();
        Invalid::check_length("weights", self.rows, weights.len())?;
        for &weight in weights {
            Invalid::check_nonnegative("weights", weight)?;
        }
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
        self.variables
    }

    /// The weight of a row; all of them sum to 1.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0 / self.rows as f64, |weights| weights[row])
    }

    /// Whether rows have weights of their own.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// A cell.
    ///
    /// # Panics
    /// If there is no such row or variable.
    #[inline]
    pub fn get(&self, row: usize, i: usize) -> bool {
        assert!(row < self.rows);
        self.planes[i * self.words + row / 64] >> (row % 64) & 1 == 1
    }

    /// All cells: samples x variables.
    pub fn to_array(&self) -> Array2<bool> {
        Array2::from_shape_fn((self.rows, self.variables), |(row, i)| self.get(row, i))
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
        let picked =
            Array2::from_shape_fn((rows.len(), self.variables), |(row, i)| self.get(rows[row], i));
        let mut selected = BinaryData::new(picked.view(), MissingPolicy::Error)?;
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

    /// Sets a cell; used where missing cells are drawn.
    pub(crate) fn set(&mut self, row: usize, i: usize, value: bool) {
        let word = &mut self.planes[i * self.words + row / 64];
        let bit = 1 << (row % 64);
        if value { *word |= bit } else { *word &= !bit }
    }

    /// The sufficient statistics `E psi` of the data, packed. O(p^2 n / 64) words, O(p^2 n) with weights.
    pub fn means(&self, coordinates: Coordinates) -> Vec<f64> {
        let p = self.variables;
        let mut means = vec![0.0; packed_length(p)];
        for i in 0..p {
            for j in i..p {
                means[pair_index(i, j, p)] = self.both(i, j);
            }
        }
        coordinates.from_binary_means(&mut means, p);
        means
    }

    /// The weight of the rows in which both are 1.
    fn both(&self, i: usize, j: usize) -> f64 {
        let columns = (self.column(i), self.column(j));
        let words = columns.0.iter().zip(columns.1).map(|(a, b)| a & b);
        match &self.weights {
            None => {
                let count: u32 = words.map(u64::count_ones).sum();
                f64::from(count) / self.rows as f64
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

    /// The words of a column; bits beyond the last row are 0.
    pub(crate) fn column(&self, i: usize) -> &[u64] {
        &self.planes[i * self.words..(i + 1) * self.words]
    }

    /// The entropy in nats of the empirical distribution of whole rows. O(n p).
    pub(crate) fn entropy(&self) -> f64 {
        let mut seen = std::collections::BTreeMap::new();
        for row in 0..self.rows {
            let bits: Vec<bool> = (0..self.variables).map(|i| self.get(row, i)).collect();
            *seen.entry(bits).or_insert(0.0) += self.weight(row);
        }
        -seen.values().map(|&weight| fenchel_linalg::special::xlogx(weight)).sum::<f64>()
    }

    /// The rows as +-1 in f64.
    pub(crate) fn signs(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.rows, self.variables), |(row, i)| {
            if self.get(row, i) { 1.0 } else { -1.0 }
        })
    }
}
