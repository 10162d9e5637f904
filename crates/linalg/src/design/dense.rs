//! Row-major dense designs.

use ndarray::{Array2, ArrayView2};

use super::{AsDesign, Design, Scalar, all_finite, sum_of_squares};
use crate::Invalid;

/// A borrowed row-major matrix with finite entries.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a, T> {
    entries: &'a [T],
    rows: usize,
    columns: usize,
}

impl<'a, T: Scalar> Dense<'a, T> {
    /// Checks and borrows a matrix, one row a sample. O(nd).
    ///
    /// # Errors
    /// [`Invalid::Layout`] if the rows do not lie one behind the other in memory (a transposed or
    /// sliced view: call `.as_standard_layout()` on it first); [`Invalid::NonFinite`].
    pub fn new(matrix: ArrayView2<'a, T>) -> Result<Self, Invalid> {
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
        let fault = || entries.iter().position(|v| !v.to_f64().is_finite());
        if let Some(k) = if all_finite(entries) { None } else { fault() } {
            return Err(Invalid::NonFinite {
                what: "design matrix",
                row: k / columns,
                column: k % columns,
                value: entries[k].to_f64(),
            });
        }
        Ok(Dense { entries, rows, columns })
    }

    /// Row `i` as stored.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }
}

impl<T: Scalar> Design for Dense<'_, T> {
    const DENSE: bool = true;

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

    /// Eight partial sums, so that the additions do not wait for one another.
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

    #[inline(always)]
    fn row_part(&self, i: usize, columns: &[usize], scale: f64, out: &mut [f64]) {
        let row = self.row(i);
        let out = &mut out[..columns.len()];
        for k in 0..columns.len() {
            out[k] = scale * row[columns[k]].to_f64();
        }
    }

    fn row_norm_squared(&self, i: usize) -> f64 {
        sum_of_squares(self.row(i))
    }
}

impl<T: Scalar> AsDesign for Array2<T> {
    type View<'a> = Dense<'a, T>;

    fn as_design(&self) -> Result<Dense<'_, T>, Invalid> {
        Dense::new(self.view())
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
}

/// A sum over a row and the numbers beside it, in eight partial sums.
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
