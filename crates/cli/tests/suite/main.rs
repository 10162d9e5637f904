//! The programs from outside, files in, files out: `cargo test -p fenchel-cli --test suite FILE::`.

mod common;
mod crf;
mod fit;
mod identify;
mod lines;
mod pages;
mod query;
