//! The program from outside, files in, files out: `cargo test -p fenchel-crf-cli --test suite FILE::`.

mod common;
mod faults;
mod formats;
mod safety;
mod training;
