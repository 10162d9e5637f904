//! Item fields: a recommender that models the ratings `r_u` of a user as one draw of a Gaussian graphical model over
//! items.
//!
//! ```text
//! r_u ~ N(mu, Theta^-1),   Theta the Laplacian of a graph of similar items
//! ```
//!
//! Unknown ratings of a user are predicted by their conditional mean given the known ratings. Training needs only the
//! variances of differences `r_ui - r_uj` along the edges of the graph.
//!
//! | training | time | |
//! |---|---|---|
//! | [`Training::MaximumEntropy`], the default | O(E) per iteration, 30 of them | [`diagonal_ascent`](crate::bethe::diagonal_ascent) |
//! | [`Training::ClosedForm`] | O(E) | the same without iterations |
//! | [`Training::BetheLikelihood`] | belief propagation in L-BFGS | [`laplacian::bethe`](crate::bethe::laplacian::bethe()) |
//! | [`Training::ExactLikelihood`] | O(p^3) per evaluation | [`laplacian::exact`](crate::bethe::laplacian::exact()) |
//!
//! Missing ratings count as the mean of the item, or, after steps of expectation maximisation, as their distribution given the user's
//! ratings ([`ItemField::expect`]). The predictions hardly change; the variances become those of ratings.
//!
//! [`AttributeField`] lets the means depend on attributes of the users. [`baselines`] has other recommenders for
//! comparison. Source: A. Defazio, PhD thesis 2014, chapter 9.

mod attributes;
pub mod baselines;
mod expectation;
mod field;
mod model;
mod ratings;

pub use attributes::{AttributeField, AttributeFieldModel};
pub use field::{ItemField, ItemGraph, Training};
pub use model::{ItemFieldModel, Recommendation};
pub use ratings::Ratings;
