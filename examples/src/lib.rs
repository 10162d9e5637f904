//! This package has short programs, one per task. See its folder `examples`.

mod pipe;
mod show;

pub use pipe::end_on_lost_output;
pub use show::{Show, certificates, of_file};

/// The examples of the repository's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
