//! Rows of states, checked, and their sufficient statistics.
//!
//! Where all variables have two states, a cell is one bit, and each column is stored as words of 64 rows. The mean of a
//! product of two columns then costs `n / 64` word operations and population counts (Geng et al., UAI 2018, equation 4).
//! Otherwise a cell is one byte.

mod entry;
mod means;
mod rows;

pub use entry::{BinaryEntry, MissingPolicy};
pub(crate) use means::means_of_states;
pub use rows::Data;
