//! Conditional random fields on graphs: trees, skip chains, and whatever else has a junction tree of a small width.
//!
//! ```text
//! min_w  (1/n) sum_i -log p(y_i | x_i; w) + (l2/2) ||w||^2,   p(y | x; w) = exp(sum_C s_C(y_C)) / Z(x; w)
//! ```
//!
//! Algorithm 2 of the paper asks a model for no more than the marginals of cliques and separators: entropies, divergences and
//! their derivatives are sums over the cliques less sums over the separators. The room holds what differs from chains, which
//! have a fast path of their own; the sampling of [`sdca`](fn@crate::sdca) and its line search are the same code.
//!
//! | file | what |
//! |---|---|
//! | `data.rs` | templates, graphs, data sets: all that a caller can get wrong |
//! | `problem.rs` | graphs compiled to cells and rows of weights; the objective |
//! | `oracle.rs` | scores, calibration, marginals |
//! | `sdca.rs`, `lbfgs.rs` | the methods |
//! | `estimator.rs`, `model.rs` | `fit`, `predict` |
//!
//! Cost of a visit: O(entries x cells of their cliques) and four passes over the junction tree, whose size is exponential in
//! its width.

mod data;
mod estimator;
mod lbfgs;
mod model;
mod oracle;
mod problem;
mod sdca;

pub use data::{CliqueTemplate, GraphDataset, GraphInstance};
pub use estimator::GraphCrf;
pub use lbfgs::{GraphLikelihood, graph_lbfgs};
pub use model::GraphModel;
pub use oracle::TreeMarginals;
pub use problem::GraphProblem;
pub use sdca::{GraphDualState, GraphSdca, GraphSdcaSettings, graph_sdca};
