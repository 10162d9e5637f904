//! The tests of the public interface, one program: `cargo test -p fenchel-causal --test suite FILE::`.

mod adjusting;
mod answers;
mod bad_input;
mod categorical;
mod classes;
mod common;
mod effects;
mod files;
mod graphs;
mod identification;
mod normal;
mod scm;
