//! The tests of the public interface, one program: `cargo test -p fenchel-mrf-learn --test suite FILE::`.

mod answers;
mod bounds;
mod chains;
mod common;
mod conditional;
mod data;
mod discrete;
mod exact;
mod files;
mod fit_with;
mod oracle;
mod own;
mod potts;
mod selection;
mod spg;
mod theorems;
