//! One test program: each module is named for what it checks.

mod answers;
mod bad_input;
mod classics;
mod common;
mod contract;
mod derivatives;
mod files;
mod honesty;
mod inference;
mod limits;
mod matching;
mod sade;
mod scores;
mod streaming;
mod subspaces;
mod theory;
mod units;
mod weighted;
