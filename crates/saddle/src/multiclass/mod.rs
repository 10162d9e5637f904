//! Multiclass linear classification as a saddle point problem.
//!
//! ```text
//! min_U (1/n) sum_j w_j loss(U' x_j, y_j) + lambda norm(U),   norm(U) <= R
//! ```
//!
//! Each loss is a Fenchel-Young loss. It is a maximum over the simplex, `loss(s, y) = max_v (v - e_y)' s - f(v, y)`:
//!
//! | loss | `f(v, y)` | `loss(s, y)` |
//! |---|---|---|
//! | hinge (Crammer and Singer) | `v_y - 1` | `max_l (1[l != y] + s_l) - s_y` |
//! | softmax | `sum v ln v` | `ln sum e^s - s_y` |
//!
//! Therefore the problem is `min_U max_V -F(V) + (1/n) tr((V - Y)' X U) + lambda norm(U)`, with a probability vector
//! in every row of `V`. `Y` has the unit vector `e_y` of the label in every row, and `F` is the mean of `f` over the
//! rows. For any feasible pair
//!
//! ```text
//! P(U) - D(V) >= P(U) - P*,   D(V) = -F(V) - R max(0, dual norm of S - lambda),   S = X'(V - Y)/n
//! ```
//!
//! is the certificate. Here `P` is the primal objective and `P*` its minimum. The weight `w_j` multiplies the row
//! `x_j` and its margin.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `X` | samples | n x d |
//! | `U` | weights | d x k |
//! | `V` | dual variables, rows in the simplex | n x k |
//! | `A` | largest column norm of `X` | |
//! | `B` | sum over rows of the largest entry | |
//!
//! Source: D. Babichev, PhD thesis 2019, sections 4.1 to 4.5.

mod bilinear;
mod loss;
mod polish;
pub(crate) mod preparation;
pub(crate) mod problem;
mod products;
pub(crate) mod samples;
mod sampling;
mod steps;
mod subgradient;
pub(crate) mod sublinear;

pub use bilinear::HingeBilinear;
pub use loss::MulticlassLoss;
pub use problem::{Dual, Geometry, Multiclass, Primal};
pub use samples::Samples;
pub use sampling::{Draw, Law, Sampler, Sampling};
pub use subgradient::{Subgradient, SubgradientSettings, subgradient};
pub use sublinear::{Sublinear, SublinearSettings, SublinearState, sublinear};
