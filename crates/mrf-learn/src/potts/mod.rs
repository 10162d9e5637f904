//! Potts models of aligned sequences: direct coupling analysis.
//!
//! ```text
//! P(x) ~ exp( sum_i h_i(x_i) + sum_{i<j} J_ij(x_i, x_j) ),    x_i one of q letters
//! min_{h, J}  -1/N sum_n w_n sum_i log P(x_ni | the rest of x_n) + l2_fields/2 ||h||^2 + l2/2 sum_{i<j} ||J_ij||^2 + group sum_{i<j} ||J_ij||
//! ```
//!
//! Columns that touch in the folded protein change together over evolution. `w_n` is one over the number of sequences at least 80 % identical
//! to sequence `n`, `N` their sum. From alignment to contact map:
//!
//! | step | item |
//! |---|---|
//! | letters to codes, gaps as a letter or as missing | [`Alignment`] |
//! | weights of sequences | [`Alignment::identity_weights`] |
//! | couplings, with a proof of how near to the optimum | [`PottsPseudoLikelihood`] |
//! | one number a pair of columns | [`PottsModel::contact_scores`]: zero-sum gauge, Frobenius norm, average product correction |
//! | precision against a structure, a picture | [`contacts`] |
//! | effects of mutations, draws, files | [`PottsModel`] |

pub mod contacts;

mod alignment;
mod engine;
mod group;
mod model;
mod pseudo;
mod sdca;

pub use alignment::{Alignment, Alphabet, Gaps};
pub use model::PottsModel;
pub use pseudo::PottsPseudoLikelihood;
