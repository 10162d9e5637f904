//! Item fields: a recommender that is a Gaussian graphical model over items.
//!
//! ```text
//! r_u ~ N(mu, Theta^-1),   Theta the Laplacian of a graph of similar items
//! ```
//!
//! A user's unknown ratings are their conditional mean given the known ones: ratings diffuse over the graph. Training looks at the variances of
//! differences along the edges only.
//!
//! | training | time | |
//! |---|---|---|
//! | [`Training::MaximumEntropy`], the default | O(E) an iteration, 30 of them | [`diagonal_ascent`](crate::bethe::diagonal_ascent) |
//! | [`Training::ClosedForm`] | O(E) | the same without iterations |
//! | [`Training::BetheLikelihood`] | belief propagation in L-BFGS | [`laplacian::bethe`](crate::laplacian::bethe()) |
//! | [`Training::ExactLikelihood`] | O(p^3) an evaluation | [`laplacian::exact`](crate::laplacian::exact()) |
//!
//! [`AttributeField`] lets the means depend on attributes of the users. [`baselines`] has what it is compared with.
//! Source: A. Defazio, PhD thesis 2014, chapter 9.

mod attributes;
pub mod baselines;
mod model;
mod ratings;

pub use attributes::{AttributeField, AttributeFieldModel};
pub use model::{ItemField, ItemFieldModel, ItemGraph, Training};
pub use ratings::Ratings;
