//! Transformations of data: rows of unit norm, and two classes from many.

use fenchel_linalg::CsrMatrix;
use ndarray::{Array1, Array2, ArrayView1};

/// Matrices whose rows can be scaled to unit length; see [`normalise_rows`].
pub trait NormaliseRows {
    /// Divides every row by its Euclidean norm.
    fn normalise_rows(&mut self);
}

/// Divides every row by its Euclidean norm, in place. O(stored entries).
///
/// Rows of zeros are unchanged. Rows with a NaN or an infinity are unchanged too; the function that uses the matrix reports
/// them by row and column. Rows whose squares overflow or underflow are scaled first.
///
/// ```
/// use fenchel_datasets::transform::normalise_rows;
/// use ndarray::array;
///
/// let mut x = array![[3.0, 4.0], [0.0, 0.0]];
/// normalise_rows(&mut x);
/// assert_eq!(x, array![[0.6, 0.8], [0.0, 0.0]]);
/// ```
pub fn normalise_rows(x: &mut (impl NormaliseRows + ?Sized)) {
    x.normalise_rows();
}

impl NormaliseRows for Array2<f64> {
    fn normalise_rows(&mut self) {
        for mut row in self.rows_mut() {
            let mut length = Length::default();
            row.iter().for_each(|&a| length.record(a));
            row.iter().for_each(|&a| length.add(a));
            row.iter_mut().for_each(|a| length.divide(a));
        }
    }
}

impl NormaliseRows for CsrMatrix<f64> {
    fn normalise_rows(&mut self) {
        // `sprs` allows storage by columns under the same type; one length a row serves both.
        let by_rows = self.is_csr();
        let mut lengths = vec![Length::default(); self.rows()];
        for step in [Length::record, Length::add] {
            for (outer, vector) in self.outer_iterator().enumerate() {
                for (inner, &a) in vector.iter() {
                    step(&mut lengths[if by_rows { outer } else { inner }], a);
                }
            }
        }
        for (outer, mut vector) in self.outer_iterator_mut().enumerate() {
            for (inner, a) in vector.iter_mut() {
                lengths[if by_rows { outer } else { inner }].divide(a);
            }
        }
    }
}

/// Labels in {-1, +1} from any labels: +1 where `positive` is true.
///
/// ```
/// use fenchel_datasets::{embedded, transform::signs};
///
/// // Digits 0 to 4 against 5 to 9.
/// let y = signs(embedded::digits().y.view(), |&digit| digit < 5);
/// assert_eq!(y.iter().filter(|&&y| y == 1.0).count(), 901);
/// ```
pub fn signs<L>(labels: ArrayView1<L>, positive: impl Fn(&L) -> bool) -> Array1<f64> {
    labels.iter().map(|label| if positive(label) { 1.0 } else { -1.0 }).collect()
}

/// The norm of a row, computed in two passes. The first finds the largest entry, and the second sums the squares. Entries are
/// scaled by a power of two, which is exact, only if squares would overflow or underflow.
#[derive(Debug, Clone, Copy)]
struct Length {
    largest: f64,
    finite: bool,
    squares: f64,
}

impl Default for Length {
    fn default() -> Length {
        Length { largest: 0.0, finite: true, squares: 0.0 }
    }
}

impl Length {
    fn record(&mut self, a: f64) {
        self.largest = self.largest.max(a.abs());
        self.finite &= a.is_finite();
    }

    fn add(&mut self, a: f64) {
        let a = a * self.scale();
        self.squares += a * a;
    }

    fn divide(&self, a: &mut f64) {
        if self.finite && self.largest > 0.0 {
            *a = *a * self.scale() / self.squares.sqrt();
        }
    }

    fn scale(&self) -> f64 {
        const HUGE: f64 = 1.0e140;
        /// 2^600.
        const POWER: f64 = f64::from_bits((1023 + 600) << 52);
        if self.largest > HUGE {
            1.0 / POWER
        } else if self.largest < 1.0 / HUGE {
            POWER
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn sparse() -> CsrMatrix<f64> {
        let values = vec![3.0, -4.0, 2.0];
        CsrMatrix::try_new((3, 4), vec![0, 2, 2, 3], vec![0, 3, 1], values).unwrap()
    }

    #[test]
    fn rows_get_unit_length_and_empty_rows_stay() {
        let expected = array![[0.6, 0.0, 0.0, -0.8], [0.0; 4], [0.0, 1.0, 0.0, 0.0]];
        let mut by_rows = sparse();
        normalise_rows(&mut by_rows);
        assert_eq!(by_rows.to_dense(), expected);
        let mut by_columns = sparse().to_csc();
        normalise_rows(&mut by_columns);
        assert_eq!(by_columns.to_dense(), expected);
        let mut dense = sparse().to_dense();
        normalise_rows(&mut dense);
        assert_eq!(dense, expected);
    }

    #[test]
    fn tiny_and_huge_rows_neither_vanish_nor_overflow() {
        let mut x = array![[3e300, 4e300], [3e-320, 4e-320], [1e-200, 0.0], [f64::MAX, f64::MAX]];
        normalise_rows(&mut x);
        let half = 0.5f64.sqrt();
        // Numbers near 1e-320 have three digits.
        let expected = [(0.6, 0.8, 1e-15), (0.6, 0.8, 1e-3), (1.0, 0.0, 0.0), (half, half, 1e-15)];
        for (row, (a, b, tolerance)) in x.rows().into_iter().zip(expected) {
            assert!((row[0] - a).abs() <= tolerance && (row[1] - b).abs() <= tolerance, "{row}");
        }
    }

    #[test]
    fn rows_that_are_not_finite_are_left_to_be_reported() {
        let mut x = array![[f64::INFINITY, 4.0], [f64::NAN, 3.0]];
        normalise_rows(&mut x);
        assert_eq!((x[[0, 1]], x[[1, 1]]), (4.0, 3.0));
        assert!(x[[0, 0]].is_infinite() && x[[1, 0]].is_nan());
    }

    #[test]
    fn signs_answer_the_question() {
        assert_eq!(signs(array![0u8, 7, 3].view(), |&digit| digit > 2), array![-1.0, 1.0, 1.0]);
    }
}
