//! Short programs, one a task: see the examples folder of this package.

/// The examples of the repository's README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
