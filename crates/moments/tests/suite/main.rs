//! One test program: each module is named for what it checks.

mod bad_input;
mod classics;
mod common;
mod derivatives;
mod honesty;
mod inference;
mod matching;
mod sade;
mod scores;
mod streaming;
mod subspaces;
mod theory;
mod weighted;
