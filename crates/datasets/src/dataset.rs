//! What a reader returns.

use ndarray::Array1;

/// A data set for supervised learning: `x` holds one sample a row, `y` one label or target a sample.
///
/// Plain data with public fields. The readers and generators of this crate return `n` rows in `x`
/// and `n` entries in `y`; a data set put together by hand is checked by whatever uses it.
///
/// | `X` | from |
/// |---|---|
/// | `CsrMatrix<f64>` | [`libsvm`](crate::libsvm()), [`generate::spgen`](crate::generate::spgen) |
/// | `Array2<f64>` | [`table`](crate::table()), [`embedded`](crate::embedded), [`generate::low_rank`](crate::generate::low_rank) |
/// | `Array2<u8>` | [`idx_dataset`](crate::idx_dataset) |
///
/// `Y` is `Array1<f64>` for real targets and for binary labels in {-1, +1}; `Array1<usize>` or
/// `Array1<u8>` for classes counted from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset<X, Y = Array1<f64>> {
    /// Samples, one a row: `n x d`.
    pub x: X,
    /// Labels or targets: `n`.
    pub y: Y,
}
