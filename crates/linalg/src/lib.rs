//! Design matrices behind one trait for access to rows, products, factorisations, special functions, projections.
//!
//! Every crate of Fenchel uses this crate. It depends on no other crate of the workspace.
//!
//! | task | item | cost |
//! |---|---|---|
//! | `n x d` data, dense or sparse, accessed by rows | [`Design`]; views [`Dense`], [`Csr`]; [`AsDesign`] | checked once, O(nnz) |
//! | names of columns, which models keep and print | [`Named`], [`Names`]; as text [`NamedRows`], [`NamedEdges`] | |
//! | features of mean 0 and deviation 1 | [`Standardiser`] | O(nnz) |
//! | `A x`, `A' s` on all cores | [`multiply`], [`multiply_transposed`]; both in one pass over the data, [`multiply_through`], [`multiply_row_by_row`] | O(nnz) |
//! | products with the squared entries | [`multiply_squares`], [`multiply_squares_transposed`] | O(nnz) |
//! | rows that are spread over processes: shards, and sums over all of them | [`spread`], [`Design::spread`] | O(d log K) sent |
//! | columns far from 0, and a copy in which they are centred | [`far_columns`], [`Centred`] | a look at 64 rows; O(nnz) |
//! | `sum_i b_i b_i'` of dense rows | [`Gram`] | `n m^2 / 2` |
//! | labels of any type as codes `0..k` or as -1, +1 | [`labels::Classes`], [`labels::binary_signs`] | O(n log n) |
//! | `exp`, `ln`, sums and dots that vectorise; use of the widest vector instructions | [`lanes`] | O(n) |
//! | dots and sums of vectors so long that threads share them | [`vectors`] | O(n) |
//! | log-sum-exp, softmax, entropy, gamma family | [`special`] | O(n), O(1) |
//! | integrals of one variable: Gauss rules, adaptive Gauss-Kronrod | [`quadrature`] | O(n) |
//! | projections on simplex, balls, boxes, monotone sequences | [`project`] | O(d), O(d log d) |
//! | `A = L L'` without dependencies | [`Cholesky`] | `n^3 / 3` |
//! | `norm(A)` of a design, spectral radius of a square matrix | [`spectral`] | products with `A` |
//! | Cholesky, QR, eigenvalues, SVD at full speed | module `factor`, feature `factor` | O(n^3) |
//! | a quote in CSV that does not end | [`Quotes`] | O(bytes) |
//! | lines of a text, of bounded length | [`lines()`], [`read_line`] | O(bytes) |
//! | errors for bad arguments | [`Invalid`] | |
//!
//! Conventions: arithmetic is in `f64`. Vectors are slices, and matrices are `ndarray` views. Rows, columns and pivots count
//! from 0. A bad argument is an [`Invalid`] error, which names the argument, the value and what was expected. No result depends
//! on the number of threads.
#![forbid(unsafe_code)]

mod cholesky;
mod design;
mod error;
#[cfg(feature = "factor")]
pub mod factor;
mod gram;
pub mod labels;
pub mod lanes;
mod lines;
pub mod parallel;
pub mod project;
pub mod quadrature;
mod quotes;
pub mod special;
pub mod spectral;
pub mod spread;
pub mod text;
pub mod vectors;

pub use cholesky::Cholesky;
pub use design::{
    AsDesign, Centred, CentredView, Columns, Csr, CsrMatrix, Dense, Design, FarColumn, Named,
    NamedEdges, NamedRows, Names, Nonzeros, Rows, Scalar, Standardiser, Subset, far_columns,
    multiply, multiply_row_by_row, multiply_squares, multiply_squares_transposed, multiply_through,
    multiply_transposed, nonzeros_by_column, row_norms_squared,
};
pub use error::Invalid;
pub use gram::Gram;
pub use lines::{lines, read_line};
pub use quotes::Quotes;

/// The example of the README, as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
