//! Access to a design by columns, for methods that update one feature at a time.

use super::Design;
use crate::{Invalid, lanes, parallel};

/// Number of entries that a thread reads at a time.
const ENTRIES_PER_PART: usize = 1 << 16;

/// An owned copy of a design, stored by columns: the explicit transpose that coordinate descent needs.
///
/// The copy takes 12 bytes per nonzero entry, or 8 bytes per entry of a dense design with few zeros. Of a sparse design whose entries are
/// all 1 (indicators, sets of words) only the places are kept, 4 bytes an entry. The borrowed rows stay as they are.
#[derive(Debug, Clone)]
pub struct Columns {
    offsets: Vec<usize>,
    /// Row numbers of the stored entries. They are left out for a column that has every row in order.
    rows_of: Vec<u32>,
    /// Empty where all are 1.
    values: Vec<f64>,
    rows: usize,
    /// Whether every row is stored.
    whole: bool,
}

/// How many entries of each column are not 0. O(nnz).
pub fn nonzeros_by_column<D: Design>(design: &D) -> Vec<usize> {
    let mut counts = vec![0; design.columns()];
    for i in 0..design.rows() {
        design.row_entries(i, |c, a| counts[c] += usize::from(a != 0.0));
    }
    counts
}

/// Whether all stored entries of a sparse design are 1. O(nnz), and O(1) where the first ones are not.
fn are_ones<D: Design>(design: &D) -> bool {
    let all_of = |i: usize| {
        let mut ones = true;
        design.row_entries(i, |_, a| ones &= a == 1.0 || a == 0.0);
        ones
    };
    !D::DENSE && (0..design.rows()).all(all_of)
}

impl Columns {
    /// Copies a design. O(nnz + d).
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for more than 2^32 - 1 rows.
    pub fn new<D: Design>(design: &D) -> Result<Self, Invalid> {
        Columns::counted(design, &nonzeros_by_column(design))
    }

    /// Copies a design whose counts of nonzeros per column, [`nonzeros_by_column`], are already known.
    ///
    /// # Errors
    /// As [`Columns::new`].
    ///
    /// # Panics
    /// If `counts` are not the counts of this design.
    pub fn counted<D: Design>(design: &D, counts: &[usize]) -> Result<Self, Invalid> {
        Columns::check(design)?;
        let (n, d) = (design.rows(), design.columns());
        let mut offsets = vec![0; d + 1];
        offsets[1..].copy_from_slice(counts);
        let nonzeros: usize = offsets.iter().sum();
        // Zeros of a dense design are left out where that saves memory.
        let whole = D::DENSE && nonzeros * 3 >= design.stored() * 2;
        if whole {
            offsets[1..].fill(n);
        }
        for c in 0..d {
            offsets[c + 1] += offsets[c];
        }
        let mut next = offsets.clone();
        let mut rows_of = vec![0; if whole { 0 } else { offsets[d] }];
        let ones = are_ones(design);
        let mut values = vec![0.0; if ones { 0 } else { offsets[d] }];
        for i in 0..n {
            design.row_entries(i, |c, a| {
                if whole {
                    values[c * n + i] = a;
                } else if a != 0.0 {
                    rows_of[next[c]] = i as u32;
                    if !ones {
                        values[next[c]] = a;
                    }
                    next[c] += 1;
                }
            });
        }
        Ok(Columns { offsets, rows_of, values, rows: n, whole })
    }

    /// Whether [`Columns::new`] would succeed. Nothing is copied.
    ///
    /// # Errors
    /// As [`Columns::new`].
    pub fn check<D: Design>(design: &D) -> Result<(), Invalid> {
        if u32::try_from(design.rows()).is_ok() {
            return Ok(());
        }
        Err(Invalid::Parameter {
            name: "number of rows",
            value: design.rows() as f64,
            expected: "at most 2^32 - 1 for a copy by columns",
        })
    }

    /// An upper bound of the bytes that [`Columns::new`] allocates.
    pub fn bytes<D: Design>(design: &D) -> u64 {
        let entry = if D::DENSE { 8 } else { 12 };
        design.stored() as u64 * entry + 8 * (design.columns() as u64 + 1)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of stored entries of column `c`. The zeros of a sparse design are not stored.
    pub fn stored(&self, c: usize) -> usize {
        self.offsets[c + 1] - self.offsets[c]
    }

    /// Calls `f(row, value)` for the stored entries of column `c`, rows ascending.
    #[inline]
    pub fn entries(&self, c: usize, mut f: impl FnMut(usize, f64)) {
        let range = self.offsets[c]..self.offsets[c + 1];
        if self.whole {
            self.values[range].iter().enumerate().for_each(|(i, &a)| f(i, a));
        } else if self.values.is_empty() {
            self.rows_of[range].iter().for_each(|&i| f(i as usize, 1.0));
        } else {
            let entries = self.rows_of[range.clone()].iter().zip(&self.values[range]);
            entries.for_each(|(&i, &a)| f(i as usize, a));
        }
    }

    /// `A_c . v`
    #[inline(always)]
    pub fn dot(&self, c: usize, v: &[f64]) -> f64 {
        let range = self.offsets[c]..self.offsets[c + 1];
        if self.whole {
            return lanes::dispatch(|| lanes::dot(&self.values[range], v));
        }
        let (rows, last_rows) = self.rows_of[range.clone()].as_chunks::<4>();
        let mut sums = [0.0; 4];
        if self.values.is_empty() {
            for rows in rows {
                for l in 0..4 {
                    sums[l] += v[rows[l] as usize];
                }
            }
            let rest: f64 = last_rows.iter().map(|&i| v[i as usize]).sum();
            return (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest;
        }
        let (values, last) = self.values[range].as_chunks::<4>();
        for (rows, values) in rows.iter().zip(values) {
            for l in 0..4 {
                sums[l] += values[l] * v[rows[l] as usize];
            }
        }
        let rest: f64 = last_rows.iter().zip(last).map(|(&i, a)| a * v[i as usize]).sum();
        (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
    }

    /// `A_c . v` of several columns, on all cores.
    pub fn dots(&self, columns: &[usize], v: &[f64]) -> Vec<f64> {
        let stored: usize = columns.iter().map(|&c| self.stored(c)).sum();
        let parts = (stored / ENTRIES_PER_PART).clamp(1, columns.len().max(1));
        let parts = columns.chunks(columns.len().div_ceil(parts).max(1));
        parallel::map(parts, |part| part.iter().map(|&c| self.dot(c, v)).collect::<Vec<_>>())
            .concat()
    }

    /// `out += scale * A_c`
    #[inline]
    pub fn axpy(&self, c: usize, scale: f64, out: &mut [f64]) {
        self.entries(c, |i, a| out[i] += scale * a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Dense};
    use ndarray::array;

    #[test]
    fn columns_of_both_storages_are_the_transpose() {
        let dense = array![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0]];
        let sparse =
            Csr::from_parts(&[0, 2, 3, 4], &[0, 2, 2, 0], &[1.0, 2.0, 3.0, 4.0], 3).unwrap();
        let v = [1.0, 10.0, 100.0];
        let check = |columns: Columns| {
            for (c, expected) in [401.0, 0.0, 32.0].into_iter().enumerate() {
                assert_eq!(columns.dot(c, &v), expected);
                let mut out = v;
                columns.axpy(c, 2.0, &mut out);
                for i in 0..3 {
                    assert_eq!(out[i], v[i] + 2.0 * dense[[i, c]]);
                }
            }
            assert_eq!(columns.dots(&[2, 0], &v), [32.0, 401.0]);
            assert_eq!((columns.rows(), columns.columns()), (3, 3));
        };
        check(Columns::new(&Dense::new(dense.view()).unwrap()).unwrap());
        check(Columns::new(&sparse).unwrap());
        assert_eq!(Columns::new(&sparse).unwrap().stored(1), 0);
        assert_eq!(Columns::bytes(&sparse), 4 * 12 + 32);
    }

    /// Entries that are all 1 have the dots of the same entries beside one that is not.
    #[test]
    fn ones_are_not_stored() {
        let (n, d) = (57, 5);
        let places: Vec<u32> = (0..n * 2).map(|k| (k * k % 3 + 3 * (k % 2)) as u32 % 5).collect();
        let offsets: Vec<usize> = (0..=n).map(|i| 2 * i).collect();
        let mut values = vec![1.0; 2 * n];
        values[8] = 0.0;
        let of = |values: &[f64]| {
            Columns::new(&Csr::from_parts(&offsets, &places, values, d).unwrap()).unwrap()
        };
        let ones = of(&values);
        values[2 * n - 1] = 1.0 + f64::EPSILON;
        let others = of(&values);
        assert_eq!((ones.values.len(), others.values.len()), (0, 2 * n - 1));
        let v: Vec<f64> = (0..n).map(|i| ((i * i) % 7) as f64).collect();
        let sums = |columns: &Columns| {
            let of = |c: usize| {
                let (mut sum, mut out) = (0.0, v.clone());
                columns.entries(c, |i, a| sum += a * v[i]);
                columns.axpy(c, 2.0, &mut out);
                assert_eq!(columns.dot(c, &v).round(), sum.round());
                (sum.round(), columns.stored(c), out.iter().map(|a| a.round()).collect::<Vec<_>>())
            };
            (0..d).map(of).collect::<Vec<_>>()
        };
        assert_eq!(sums(&ones), sums(&others));
    }
}
