//! Potts models of aligned sequences: direct coupling analysis.
//!
//! ```text
//! P(x) ~ exp( sum_i h_i(x_i) + sum_{i<j} J_ij(x_i, x_j) ),    x_i one of q letters
//! min_{h, J}  -1/N sum_n w_n sum_i log P(x_ni | the rest of x_n) + l2_fields/2 ||h||^2 + l2/2 sum_{i<j} ||J_ij||^2 + group sum_{i<j} ||J_ij||
//! ```
//!
//! Columns that are in contact in the folded protein change together during evolution, so strong couplings predict
//! contacts. The weight `w_n` is one over the number of sequences that are at least 80 % identical to sequence `n`, and
//! `N` is the sum of the weights. The steps from an alignment to a contact map are:
//!
//! | step | item |
//! |---|---|
//! | letters to codes, gaps as a letter or as missing | [`Alignment`] |
//! | weights of sequences | [`Alignment::identity_weights`] |
//! | couplings, with a certified distance to the optimum | [`PottsPseudoLikelihood`] |
//! | one number per pair of columns | [`PottsModel::contact_scores`]: zero-sum gauge, Frobenius norm, average product correction |
//! | precision against a structure, a picture | [`contacts`] |
//! | effects of mutations, draws, files | [`PottsModel`] |

pub mod contacts;

mod alignment;
mod engine;
mod fit;
mod group;
mod model;
mod proof;
mod pseudo;
mod sdca;

pub use alignment::{Alignment, Alphabet, Gaps};
pub use model::PottsModel;
pub use pseudo::PottsPseudoLikelihood;
