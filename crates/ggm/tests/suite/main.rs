//! The tests of the public interface, one program: `cargo test -p fenchel-ggm --test suite FILE::`.

mod common;
mod estimator;
mod glasso;
mod path;
mod synthetic;
