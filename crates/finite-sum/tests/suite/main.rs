//! The tests of the public interface, one program: `cargo test -p fenchel-finite-sum --test suite FILE::`.

mod ascent;
mod auto;
mod auto_start;
mod bad_input;
mod capabilities;
mod certificates;
mod common;
mod cross_validation;
mod determinism;
mod edges;
mod equivalence;
mod estimators;
mod general;
mod general_sdca;
mod group_path;
mod incremental;
mod katyusha;
mod lagged;
mod losses;
mod multiclass;
mod multiclass_newton;
mod multiclass_weights;
mod newton;
mod newton_cg;
mod optimum;
mod path;
mod path_from;
mod promises;

mod sparse_text;
mod structured;
mod subsampled;
mod theory;
mod trajectories;
mod warm_start;
mod weights;
