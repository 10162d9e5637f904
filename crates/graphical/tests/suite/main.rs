//! The tests of the public interface, one program: `cargo test -p fenchel-graphical --test suite FILE::`.

mod ais;
mod answers;
mod bayes_net;
mod bif;
mod binary;
mod bp;
mod chain;
mod clique_marginals;
mod common;
mod diagnostics;
mod em;
mod files;
mod gibbs;
mod graphs;
mod impossible;
mod influence;
mod junction_tree;
mod log_linear;
mod mean_field;
mod moment_matching;
mod posteriors;
mod queries;
mod spread;
mod structure;
mod tables;
mod uai;
