//! Model selection: penalty paths with information criteria, held-out scores, stability selection, confidence intervals
//! and refits.
//!
//! | question | item |
//! |---|---|
//! | which penalty | [`penalty_path`], [`Path::refitted`] and [`Path::best_ebic`]; or [`held_out_scores`] |
//! | which edges, with a bound on the false ones | [`StabilitySelection`] |
//! | how sure is a coupling | [`EdgeBootstrap`] |
//! | couplings without the shrinkage | [`refit`] |
//!
//! All items work with any [`Learner`].

mod bootstrap;
mod learner;
mod path;
mod stability;

pub use bootstrap::{EdgeBootstrap, EdgeInterval};
pub use learner::Learner;
pub use path::{
    Path, PathFit, falling_grid, held_out_scores, held_out_scores_with, penalty_path,
    penalty_path_with, refit,
};
pub use stability::{StabilitySelection, StableEdges};
