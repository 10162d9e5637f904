//! Multiclass linear classification as a saddle point.
//!
//! ```text
//! min_U (1/n) sum_j w_j loss(U' x_j, y_j) + lambda norm(U),   norm(U) <= R
//! ```
//!
//! A Fenchel-Young loss is a maximum over the simplex, `loss(s, y) = max_v (v - e_y)' s - f(v, y)`:
//!
//! | loss | `f(v, y)` | `loss(s, y)` |
//! |---|---|---|
//! | hinge (Crammer and Singer) | `v_y - 1` | `max_l (1[l != y] + s_l) - s_y` |
//! | softmax | `sum v ln v` | `ln sum e^s - s_y` |
//!
//! so the problem is `min_U max_V -F(V) + (1/n) tr((V - Y)' X U) + lambda norm(U)`, with a probability vector in every row of `V`.
//! For any feasible pair
//!
//! ```text
//! P(U) - D(V) >= P(U) - P*,   D(V) = -F(V) - R max(0, dual norm of S - lambda),   S = X'(V - Y)/n
//! ```
//!
//! is the certificate. Weights `w_j` scale the row `x_j` and its margin.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `X` | samples | n x d |
//! | `U` | weights | d x k |
//! | `V` | dual variables, rows in the simplex | n x k |
//! | `A` | largest column norm of `X` | |
//! | `B` | sum over rows of the largest entry | |
//!
//! Source: Babichev's thesis, sections 4.1 to 4.5.

mod bilinear;
mod polish;
pub(crate) mod problem;
mod products;
pub(crate) mod samples;
mod sampling;
mod steps;
mod subgradient;
pub(crate) mod sublinear;

pub use bilinear::HingeBilinear;
pub use problem::{Dual, Geometry, Multiclass, MulticlassLoss, Primal};
pub use samples::Samples;
pub use sampling::{Draw, Law, Sampler, Sampling};
pub use subgradient::{Subgradient, SubgradientSettings, subgradient};
pub use sublinear::{Sublinear, SublinearSettings, SublinearState, sublinear};
