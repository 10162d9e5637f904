//! Scale-free structure: a penalty that prefers a few hubs to many nodes of medium degree.
//!
//! ```text
//! min_X  <C, X> - log det X + strength Omega(X),      Omega(X) = sum_i sum_k h'(k) |X_i,(k)|
//! ```
//!
//! Here the entries of row `i` without the diagonal are sorted by decreasing absolute value. `X_i,(k)` is entry `k` of
//! this order, counted from 0, and `h'(k) = h(k + 1) - h(k)`. `Omega` is the convex envelope (Lovasz extension) of
//! `F(E) = sum_v h(degree of v)`, the negative log prior of a graph with edges `E`. The function `h` is non-decreasing
//! and concave with `h(0) = 0`, so a further edge costs less at a node with many edges. With `h(k) = k` the problem is
//! the graphical lasso.
//!
//! | function | what |
//! |---|---|
//! | [`ScaleFree`] | the estimator, by ADMM with a certificate |
//! | [`NodeGroups`] | the same method for the sum of the l2 norms of the rows: whole nodes become independent |
//! | [`DegreePrior`] | `h` |
//! | [`omega`], [`prior`] | the penalty and the prior |
//! | [`row_prox`] | one row exactly: sort, then pool adjacent violators, O(p log p) |
//! | [`prox`] | the whole matrix by dual decomposition, plain or accelerated |
//! | [`competitors`] | subgradients and the minimum-norm point for the same proximal problem; proximal gradients and subgradients for the whole |
//! | [`erg`] | graphs drawn from the prior |
//!
//! Screening into components is not valid for this penalty. Source: A. Defazio, PhD thesis 2014, section 6.4 and
//! chapter 7.

pub mod competitors;
pub mod erg;
mod estimators;
mod penalty;
pub mod prox;
mod row;
mod rows;

pub use estimators::{NodeGroups, ScaleFree};
pub use penalty::{DegreePrior, omega, prior};
pub use row::{RowOrder, row_prox};
pub use rows::ScaleFreeAdmm;
