//! The tests of the public interface, one program: `cargo test -p fenchel-erm --test suite FILE::`.

mod answers;
mod ascent;
mod capabilities;
mod certificates;
mod common;
mod coordinate;
mod determinism;
mod equivalence;
mod flat;
mod incremental;
mod lagged;
mod minibatch;
mod multiclass_newton;
mod newton;
mod newton_cg;
mod optimum;
mod own;
mod sparse_text;
mod spread;
mod structured;
mod subsampled;
mod textbook;
mod trajectories;
mod units;
