//! The type that readers and generators return.

use ndarray::Array1;

/// A data set for supervised learning: `x` has one sample per row, and `y` one label or target per sample.
///
/// The fields are public. The readers and generators of this crate return `n` rows in `x` and `n` entries in `y`. If you build
/// a data set yourself, the functions that use it check the lengths.
///
/// | `X` | from |
/// |---|---|
/// | `CsrMatrix<f64>` | [`libsvm`](crate::libsvm()), [`generate::spgen`](crate::generate::spgen) |
/// | `Array2<f64>` | [`embedded`](crate::embedded), [`generate::low_rank`](crate::generate::low_rank) |
/// | `Array2<u8>` | [`idx_dataset`](crate::idx::idx_dataset) |
///
/// `Y` is `Array1<f64>` for real targets and for binary labels in {-1, +1}; `Array1<usize>` or
/// `Array1<u8>` for classes counted from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset<X, Y = Array1<f64>> {
    /// Samples, one per row: `n x d`.
    pub x: X,
    /// Labels or targets: `n`.
    pub y: Y,
}
