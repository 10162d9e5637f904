//! Compressed sparse rows.

use sprs::{CsMatI, CsMatViewI};

use super::product::row_norms_squared;
use super::{AsDesign, Design, Scalar, Subset, all_finite, sum_of_squares};
use crate::Invalid;
use crate::spread::Shards;

/// An owned sparse matrix: `sprs` CSR with `u32` columns and `usize` offsets.
pub type CsrMatrix<T> = CsMatI<T, u32, usize>;

/// A borrowed CSR matrix with finite entries and strictly ascending columns in every row.
#[derive(Debug, Clone, Copy)]
pub struct Csr<'a, T> {
    offsets: &'a [usize],
    columns_of: &'a [u32],
    values: &'a [T],
    columns: usize,
    /// The rows that are seen, in this order; all, unless it is a part.
    subset: Option<&'a Subset>,
    /// Where the other rows are, if they are not here.
    shards: Option<&'a Shards<'a>>,
}

impl<'a, T: Scalar> Csr<'a, T> {
    /// Checks and borrows a sparse matrix. O(nnz).
    ///
    /// # Errors
    /// [`Invalid::Layout`] for CSC storage or columns that are out of range, unsorted or repeated;
    /// [`Invalid::NonFinite`].
    pub fn new(matrix: CsMatViewI<'a, T, u32, usize>) -> Result<Self, Invalid> {
        let csr = Csr::laid_out(matrix)?;
        if !all_finite(csr.values) {
            csr.find_fault()?;
        }
        Ok(csr)
    }

    /// Does the same as [`new`](Csr::new), and also returns the squared norms of all rows. The values are read once for both.
    /// O(nnz).
    ///
    /// # Errors
    /// As [`Csr::new`].
    pub fn with_norms(matrix: CsMatViewI<'a, T, u32, usize>) -> Result<(Self, Vec<f64>), Invalid> {
        let csr = Csr::laid_out(matrix)?;
        let norms_squared = row_norms_squared(&csr);
        // Squares of finite numbers may overflow: then there is nothing to find.
        if norms_squared.iter().any(|norm| !norm.is_finite()) {
            csr.find_fault()?;
        }
        Ok((csr, norms_squared))
    }

    /// Checks everything except the values.
    fn laid_out(matrix: CsMatViewI<'a, T, u32, usize>) -> Result<Self, Invalid> {
        if !matrix.is_csr() {
            return Err(Invalid::Layout {
                what: "design matrix",
                reason: "stored by columns (CSC); call `.to_csr()` first".into(),
            });
        }
        let columns = matrix.cols();
        let (offsets, columns_of, values) = matrix.into_raw_storage();
        Csr::of_parts(offsets, columns_of, values, columns)
    }

    /// Checks and borrows the three arrays of a CSR matrix: row `i` holds the entries
    /// `offsets[i]..offsets[i + 1]` of `columns_of` and `values`. O(nnz).
    ///
    /// # Errors
    /// As [`Csr::new`], and [`Invalid::Layout`] if the offsets do not rise from 0 to the number of entries.
    pub fn from_parts(
        offsets: &'a [usize],
        columns_of: &'a [u32],
        values: &'a [T],
        columns: usize,
    ) -> Result<Self, Invalid> {
        let csr = Csr::of_parts(offsets, columns_of, values, columns)?;
        if !all_finite(values) {
            csr.find_fault()?;
        }
        Ok(csr)
    }

    /// Does the same as [`from_parts`](Csr::from_parts), without a check of the values.
    fn of_parts(
        offsets: &'a [usize],
        columns_of: &'a [u32],
        values: &'a [T],
        columns: usize,
    ) -> Result<Self, Invalid> {
        let layout = |reason: String| Err(Invalid::Layout { what: "design matrix", reason });
        if columns_of.len() != values.len() {
            return layout(format!("{} columns for {} values", columns_of.len(), values.len()));
        }
        if offsets.first() != Some(&0) || offsets.last() != Some(&values.len()) {
            return layout(format!("offsets must rise from 0 to {}", values.len()));
        }
        let csr = Csr::unchecked(offsets, columns_of, values, columns);
        if !csr.is_laid_out() {
            csr.find_fault()?;
        }
        Ok(csr)
    }

    /// Makes a view of arrays that are known to be valid.
    pub(super) fn unchecked(
        offsets: &'a [usize],
        columns_of: &'a [u32],
        values: &'a [T],
        columns: usize,
    ) -> Self {
        Csr { offsets, columns_of, values, columns, subset: None, shards: None }
    }

    /// Whether offsets and columns are valid. This is faster than finding the first error.
    fn is_laid_out(&self) -> bool {
        if self.offsets.windows(2).any(|o| o[0] > o[1]) {
            return false;
        }
        self.offsets.windows(2).all(|o| {
            let columns_of = &self.columns_of[o[0]..o[1]];
            let ascends = columns_of.windows(2).fold(true, |all, c| all & (c[0] < c[1]));
            ascends & columns_of.last().is_none_or(|&c| (c as usize) < self.columns)
        })
    }

    /// Finds the first row or entry that is not valid.
    fn find_fault(&self) -> Result<(), Invalid> {
        let Csr { offsets, columns_of, values, columns, .. } = *self;
        let layout = |reason: String| Err(Invalid::Layout { what: "design matrix", reason });
        for (row, bounds) in offsets.windows(2).enumerate() {
            let (from, to) = (bounds[0], bounds[1]);
            // An offset beyond the entries falls to their number somewhere behind.
            if to > values.len() {
                let entries = values.len();
                return layout(format!(
                    "offset {to} at row {row}, but there are {entries} entries"
                ));
            }
            if from > to {
                return layout(format!("offsets fall from {from} to {to} at row {row}"));
            }
            for k in from..to {
                let column = columns_of[k] as usize;
                if column >= columns {
                    return layout(format!("row {row}: column {column}, but d = {columns}"));
                }
                if k > from && columns_of[k - 1] >= columns_of[k] {
                    return layout(format!(
                        "row {row}: column {column} after {}; columns must ascend without repeats",
                        columns_of[k - 1]
                    ));
                }
                let value = values[k].to_f64();
                if !value.is_finite() {
                    return Err(Invalid::NonFinite { what: "design matrix", row, column, value });
                }
            }
        }
        Ok(())
    }

    /// Columns and values of row `i` as stored.
    #[inline(always)]
    pub fn row(&self, i: usize) -> (&'a [u32], &'a [T]) {
        let i = self.stored_at(i);
        let (from, to) = (self.offsets[i], self.offsets[i + 1]);
        let columns_of = &self.columns_of[from..to];
        (columns_of, &self.values[from..to][..columns_of.len()])
    }
}

impl<'a, T: Scalar> Design for Csr<'a, T> {
    const DENSE: bool = false;

    type Part<'s>
        = Csr<'s, T>
    where
        'a: 's;

    fn part<'s>(&self, subset: &'s Subset) -> Csr<'s, T>
    where
        'a: 's,
    {
        Csr { subset: Some(subset), shards: None, ..*self }
    }

    fn spread<'s>(&self, shards: impl Into<Option<&'s Shards<'s>>>) -> Result<Csr<'s, T>, Invalid>
    where
        'a: 's,
    {
        let shards = shards.into();
        shards.map_or(Ok(()), |shards| shards.check(self.rows(), self.columns))?;
        Ok(Csr { shards, ..*self })
    }

    fn shards(&self) -> Option<&Shards<'_>> {
        self.shards
    }

    #[inline(always)]
    fn stored_at(&self, i: usize) -> usize {
        Subset::stored_at(self.subset, i)
    }

    fn rows(&self) -> usize {
        self.subset.map_or(self.offsets.len() - 1, Subset::rows)
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn stored(&self) -> usize {
        self.subset.map_or(self.values.len(), Subset::stored)
    }

    fn row_stored(&self, i: usize) -> usize {
        let i = self.stored_at(i);
        self.offsets[i + 1] - self.offsets[i]
    }

    #[inline(always)]
    fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        let x = &x[..self.columns];
        let (columns, last_columns) = columns.as_chunks::<4>();
        let (values, last) = values.as_chunks::<4>();
        let (values, last) = (&values[..columns.len()], &last[..last_columns.len()]);
        let mut sums = [0.0; 4];
        for k in 0..columns.len() {
            for l in 0..4 {
                sums[l] += values[k][l].to_f64() * x[columns[k][l] as usize];
            }
        }
        let mut rest = 0.0;
        for k in 0..last.len() {
            rest += last[k].to_f64() * x[last_columns[k] as usize];
        }
        (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
    }

    #[inline(always)]
    fn row_axpy(&self, i: usize, scale: f64, out: &mut [f64]) {
        let (columns, values) = self.row(i);
        let out = &mut out[..self.columns];
        for k in 0..columns.len() {
            out[columns[k] as usize] += scale * values[k].to_f64();
        }
    }

    #[inline(always)]
    fn row_entries(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let (columns, values) = self.row(i);
        for k in 0..columns.len() {
            f(columns[k] as usize, values[k].to_f64());
        }
    }

    #[inline(always)]
    fn row_norm_squared(&self, i: usize) -> f64 {
        sum_of_squares(self.row(i).1)
    }
}

impl<T: Scalar> AsDesign for CsrMatrix<T> {
    type View<'a> = Csr<'a, T>;

    fn as_design(&self) -> Result<Csr<'_, T>, Invalid> {
        Csr::new(self.view())
    }

    fn as_design_with_norms(&self) -> Result<(Csr<'_, T>, Vec<f64>), Invalid> {
        Csr::with_norms(self.view())
    }
}

impl<T: Scalar> AsDesign for CsMatViewI<'_, T, u32, usize> {
    type View<'a>
        = Csr<'a, T>
    where
        Self: 'a;

    fn as_design(&self) -> Result<Csr<'_, T>, Invalid> {
        Csr::new(self.view())
    }

    fn as_design_with_norms(&self) -> Result<(Csr<'_, T>, Vec<f64>), Invalid> {
        Csr::with_norms(self.view())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(offsets: &[usize], columns_of: &[u32], values: &[f64], expected: &str) {
        let error = Csr::from_parts(offsets, columns_of, values, 3).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn malformed_storage_is_refused_with_its_place() {
        refused(&[0, 2], &[1, 0], &[1.0, 2.0], "row 0: column 0 after 1");
        refused(&[0, 3, 2], &[0, 1], &[1.0, 1.0], "offset 3 at row 0, but there are 2 entries");
        refused(&[0, 2], &[1, 1], &[1.0, 2.0], "row 0: column 1 after 1");
        refused(&[0, 1], &[3], &[1.0], "row 0: column 3, but d = 3");
        refused(&[0, 2, 1], &[0, 1], &[1.0, 2.0], "offsets must rise");
        refused(&[0, 2, 1, 2], &[0, 1], &[1.0, 2.0], "offsets fall from 2 to 1 at row 1");
        refused(&[0, 1], &[2], &[f64::INFINITY], "row 0, column 2");
        refused(&[], &[], &[], "offsets must rise");
    }

    /// The same design and the same errors as without the norms.
    #[test]
    fn norms_come_with_the_checks() {
        let matrix = |values: [f64; 3]| {
            CsrMatrix::new((3, 3), vec![0, 2, 2, 3], vec![0, 2, 1], values.to_vec())
        };
        let good = matrix([3.0, -4.0, 1e200]);
        let (design, norms_squared) = good.as_design_with_norms().unwrap();
        assert_eq!(norms_squared, [25.0, 0.0, f64::INFINITY]);
        assert_eq!(design.row(2), (&[1][..], &[1e200][..]));
        let bad = matrix([3.0, -4.0, f64::NAN]);
        let error = bad.as_design_with_norms().unwrap_err().to_string();
        assert_eq!(error, bad.as_design().unwrap_err().to_string());
        assert!(error.contains("row 2, column 1"), "{error}");
        let by_columns = good.to_csc();
        assert!(by_columns.view().as_design_with_norms().is_err());
    }

    #[test]
    fn rows_behave_like_the_dense_matrix() {
        let csr = Csr::from_parts(&[0, 2, 2, 3], &[0, 2, 1], &[1.5f32, -2.0, 4.0], 3).unwrap();
        assert_eq!((csr.rows(), csr.columns(), csr.stored()), (3, 3, 3));
        let x = [1.0, 10.0, 100.0];
        assert_eq!((0..3).map(|i| csr.row_dot(i, &x)).collect::<Vec<_>>(), [-198.5, 0.0, 40.0]);
        assert_eq!(row_norms_squared(&csr), [6.25, 0.0, 16.0]);
        let mut out = x;
        csr.row_axpy(0, 2.0, &mut out);
        assert_eq!(out, [4.0, 10.0, 96.0]);
        assert_eq!(csr.row_square_dot(0, &x), 2.25 + 400.0);
        let mut part = [7.0; 3];
        csr.row_part(0, &[1, 2], 2.0, &mut part);
        assert_eq!(part, [0.0, -4.0, 7.0]);
    }
}
