//! The tests of the public interface, one program: `cargo test -p fenchel-optim --test suite FILE::`.

mod accounts;
mod certifying;
mod common;
mod losses;
mod observers;
mod protocol;
mod prox;
mod prox_structured;
mod prox_values;
mod quasi_newton;
mod random;
mod smooth;
