//! Conditional random fields on graphs: trees, skip chains, and all graphs whose junction trees have small width.
//!
//! ```text
//! min_w  (1/n) sum_i -log p(y_i | x_i; w) + (l2/2) ||w||^2,   p(y | x; w) = exp(sum_C s_C(y_C)) / Z(x; w)
//! ```
//!
//! Algorithm 2 of Le Priol, Piche and Lacoste-Julien (2018) needs from a model only the marginals of cliques and separators.
//! Entropies, divergences and their derivatives are sums over the cliques minus sums over the separators. This module has the
//! code that differs from chains, which have a faster implementation. Loop, sampling, line search and certificate are those of
//! [`sdca`](fn@crate::methods::sdca).
//!
//! | file | content |
//! |---|---|
//! | `data.rs` | templates, graphs, data sets; checks of all arguments |
//! | `problem.rs` | graphs compiled to cells and rows of weights; the objective |
//! | `oracle.rs` | scores, calibration, marginals |
//! | `sdca.rs`, `lbfgs.rs` | training methods |
//! | `estimator.rs`, `model.rs` | `fit`, `predict` |
//!
//! An update of SDCA visits one graph of the data set. The update computes the scores of all cliques, then calibrates the
//! junction tree of the graph. A clique has one score per joint labelling of its nodes. This score takes one
//! multiplication per attribute of the clique. The calibration makes four passes over the tables of the junction tree. The
//! size of these tables is exponential in the treewidth.

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
pub use sdca::{GraphDualState, GraphSdca, graph_sdca};
