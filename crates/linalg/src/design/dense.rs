//! Row-major dense designs.

use ndarray::{Array2, ArrayView2};

use super::product::row_norms_squared;
use super::{AsDesign, Design, Scalar, Subset, all_finite, sum_of_squares};
use crate::Invalid;
use crate::spread::Shards;

/// A borrowed row-major matrix with finite entries.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a, T> {
    entries: &'a [T],
    rows: usize,
    columns: usize,
    /// The rows that are seen, in this order; all, unless it is a part.
    subset: Option<&'a Subset>,
    /// Where the other rows are, if they are not here.
    shards: Option<&'a Shards<'a>>,
}

impl<'a, T: Scalar> Dense<'a, T> {
    /// Checks and borrows a matrix with one sample per row. O(nd).
    ///
    /// # Errors
    /// [`Invalid::Layout`] if the rows do not lie one behind the other in memory (a transposed or
    /// sliced view: call `.as_standard_layout()` on it first); [`Invalid::NonFinite`].
    pub fn new(matrix: ArrayView2<'a, T>) -> Result<Self, Invalid> {
        let design = Dense::unchecked(matrix)?;
        if all_finite(design.entries) { Ok(design) } else { Err(design.fault(0)) }
    }

    /// Does the same as [`new`](Dense::new), and also returns the squared norms of all rows. The data are read once for both.
    /// O(nd).
    ///
    /// # Errors
    /// As [`Dense::new`].
    pub fn with_norms(matrix: ArrayView2<'a, T>) -> Result<(Self, Vec<f64>), Invalid> {
        let design = Dense::unchecked(matrix)?;
        let norms_squared = row_norms_squared(&design);
        // Squares of finite numbers may overflow.
        for (i, norm) in norms_squared.iter().enumerate() {
            if !norm.is_finite() && !all_finite(design.row(i)) {
                return Err(design.fault(i));
            }
        }
        Ok((design, norms_squared))
    }

    fn unchecked(matrix: ArrayView2<'a, T>) -> Result<Self, Invalid> {
        let (rows, columns) = matrix.dim();
        let Some(entries) = matrix.to_slice() else {
            return Err(Invalid::Layout {
                what: "design matrix",
                reason: format!(
                    "the rows of this {rows} x {columns} view (strides {:?}) are not contiguous; \
                     pass `.as_standard_layout()` of it",
                    matrix.strides()
                ),
            });
        };
        Ok(Dense { entries, rows, columns, subset: None, shards: None })
    }

    /// Names the first entry from row `i` on that is not finite.
    fn fault(&self, i: usize) -> Invalid {
        let entries = self.entries[i * self.columns..].iter().map(|v| v.to_f64());
        let found = entries.enumerate().find(|(_, v)| !v.is_finite());
        let (k, value) = found.unwrap_or((0, f64::NAN));
        let (row, column) = (i + k / self.columns, k % self.columns);
        Invalid::NonFinite { what: "design matrix", row, column, value }
    }

    /// Row `i` as stored.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [T] {
        let i = self.stored_at(i);
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }
}

impl<'a, T: Scalar> Design for Dense<'a, T> {
    const DENSE: bool = true;

    type Part<'s>
        = Dense<'s, T>
    where
        'a: 's;

    fn part<'s>(&self, subset: &'s Subset) -> Dense<'s, T>
    where
        'a: 's,
    {
        Dense { rows: subset.rows(), subset: Some(subset), shards: None, ..*self }
    }

    fn spread<'s>(&self, shards: impl Into<Option<&'s Shards<'s>>>) -> Result<Dense<'s, T>, Invalid>
    where
        'a: 's,
    {
        let shards = shards.into();
        shards.map_or(Ok(()), |shards| shards.check(self.rows(), self.columns))?;
        Ok(Dense { shards, ..*self })
    }

    fn shards(&self) -> Option<&Shards<'_>> {
        self.shards
    }

    #[inline(always)]
    fn stored_at(&self, i: usize) -> usize {
        Subset::stored_at(self.subset, i)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn stored(&self) -> usize {
        self.rows * self.columns
    }

    fn row_stored(&self, _: usize) -> usize {
        self.columns
    }

    /// Uses eight partial sums, so that the additions do not wait for each other.
    #[inline(always)]
    fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        sum_of_terms(self.row(i), x, |a, x| a * x)
    }

    #[inline(always)]
    fn row_square_dot(&self, i: usize, x: &[f64]) -> f64 {
        sum_of_terms(self.row(i), x, |a, x| x * (a * a))
    }

    #[inline(always)]
    fn row_axpy(&self, i: usize, scale: f64, out: &mut [f64]) {
        let row = self.row(i);
        let out = &mut out[..row.len()];
        for k in 0..row.len() {
            out[k] += scale * row[k].to_f64();
        }
    }

    #[inline(always)]
    fn row_entries(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let row = self.row(i);
        for c in 0..row.len() {
            f(c, row[c].to_f64());
        }
    }

    /// Skips blocks of eight zeros.
    #[inline(always)]
    fn row_nonzeros(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let (blocks, rest) = self.row(i).as_chunks::<8>();
        for (k, block) in blocks.iter().enumerate() {
            let all_zero = block.iter().fold(true, |all, a| all & (a.to_f64() == 0.0));
            if !all_zero {
                for l in 0..8 {
                    f(8 * k + l, block[l].to_f64());
                }
            }
        }
        for (l, a) in rest.iter().enumerate() {
            f(8 * blocks.len() + l, a.to_f64());
        }
    }

    #[inline(always)]
    fn row_part(&self, i: usize, columns: &[usize], scale: f64, out: &mut [f64]) {
        let row = self.row(i);
        let out = &mut out[..columns.len()];
        for k in 0..columns.len() {
            out[k] = scale * row[columns[k]].to_f64();
        }
    }

    #[inline(always)]
    fn row_norm_squared(&self, i: usize) -> f64 {
        sum_of_squares(self.row(i))
    }
}

impl<T: Scalar> AsDesign for Array2<T> {
    type View<'a> = Dense<'a, T>;

    fn as_design(&self) -> Result<Dense<'_, T>, Invalid> {
        Dense::new(self.view())
    }

    fn as_design_with_norms(&self) -> Result<(Dense<'_, T>, Vec<f64>), Invalid> {
        Dense::with_norms(self.view())
    }
}

impl<T: Scalar> AsDesign for ArrayView2<'_, T> {
    type View<'a>
        = Dense<'a, T>
    where
        Self: 'a;

    fn as_design(&self) -> Result<Dense<'_, T>, Invalid> {
        Dense::new(self.view())
    }

    fn as_design_with_norms(&self) -> Result<(Dense<'_, T>, Vec<f64>), Invalid> {
        Dense::with_norms(self.view())
    }
}

/// A sum over the entries of a row and the corresponding entries of `x`, in eight partial sums.
#[inline(always)]
fn sum_of_terms<T: Scalar>(row: &[T], x: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let x = &x[..row.len()];
    let mut lanes = [0.0; 8];
    let (a, last_a) = row.as_chunks::<8>();
    let (b, last_b) = x.as_chunks::<8>();
    let (b, last_b) = (&b[..a.len()], &last_b[..last_a.len()]);
    for i in 0..a.len() {
        for k in 0..8 {
            lanes[k] += term(a[i][k].to_f64(), b[i][k]);
        }
    }
    let mut tail = 0.0;
    for k in 0..last_a.len() {
        tail += term(last_a[k].to_f64(), last_b[k]);
    }
    let [l0, l1, l2, l3, l4, l5, l6, l7] = lanes;
    ((l0 + l4) + (l1 + l5)) + ((l2 + l6) + (l3 + l7)) + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn nan_is_reported_with_row_and_column() {
        let x = array![[1.0, 2.0, 3.0], [4.0, 5.0, f64::NAN]];
        match Dense::new(x.view()) {
            Err(Invalid::NonFinite { row: 1, column: 2, .. }) => {}
            other => panic!("{other:?}"),
        }
    }

    /// The same design and the same errors as without the norms.
    #[test]
    fn norms_come_with_the_checks() {
        let x = array![[3.0, 4.0], [1e200, 0.0], [0.5, -0.5]];
        let (design, norms_squared) = x.as_design_with_norms().unwrap();
        // A square that overflows belongs to a finite number.
        assert_eq!(norms_squared, [25.0, f64::INFINITY, 0.5]);
        assert_eq!(design.row(2), [0.5, -0.5]);
        for (bad, value) in [([2, 1], f64::NAN), ([1, 1], f64::NEG_INFINITY)] {
            let mut x = x.clone();
            x[bad] = value;
            let error = x.as_design_with_norms().unwrap_err().to_string();
            assert_eq!(error, x.as_design().unwrap_err().to_string());
            assert!(error.contains(&format!("row {}, column 1", bad[0])), "{error}");
        }
        assert!(x.t().as_design_with_norms().is_err());
        assert!(Array2::<f64>::zeros((3, 0)).as_design_with_norms().is_ok());
    }

    #[test]
    fn a_transposed_view_is_refused_by_name() {
        let x = Array2::<f64>::zeros((2, 3));
        let error = Dense::new(x.t()).unwrap_err();
        assert!(error.to_string().contains("as_standard_layout"), "{error}");
    }

    #[test]
    fn dot_and_axpy_agree_with_the_plain_loop() {
        let x = Array2::from_shape_fn((3, 19), |(i, j)| (i as f64 + 1.0) * (j as f64 - 7.5));
        let view = Dense::new(x.view()).unwrap();
        let point: Vec<f64> = (0..19).map(|j| 1.0 / (1.0 + j as f64)).collect();
        for i in 0..3 {
            let plain: f64 = (0..19).map(|j| x[[i, j]] * point[j]).sum();
            assert!((view.row_dot(i, &point) - plain).abs() <= 1e-13 * plain.abs());
            let mut out = point.clone();
            view.row_axpy(i, -0.5, &mut out);
            for j in 0..19 {
                assert_eq!(out[j], point[j] - 0.5 * x[[i, j]]);
            }
        }
    }
}
