//! The tests of the public interface, one program: `cargo test -p fenchel-graphical --test suite FILE::`.

mod answers;
mod approximate;
mod bayes_net;
mod bif;
mod binary;
mod chain;
mod clique_marginals;
mod common;
mod em;
mod files;
mod graphs;
mod impossible;
mod influence;
mod junction_tree;
mod log_linear;
mod posteriors;
mod queries;
mod sampling;
mod structure;
mod tables;
mod uai;
