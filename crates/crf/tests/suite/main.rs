//! The tests of the public interface, one program: `cargo test -p fenchel-crf --test suite FILE::`.

mod answers;
mod batch;
mod catalyst;
mod common;
mod competitors;
mod dataset;
mod elastic_net;
mod estimator;
mod files;
mod graph_sdca;
mod graphs;
mod objective;
mod path;
mod sdca;
mod spread;
mod symmetries;
mod tagging;
mod templates;
mod theory;
mod visits;
