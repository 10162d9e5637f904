//! The tests of the public interface, one program: `cargo test -p fenchel-experiments --test suite FILE::`.

mod adaptation;
mod common;
mod normal_adaptation;
mod registry;
mod report;
mod theory;
