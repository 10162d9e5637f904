//! Hessians of the smooth part as matrices: of all rows, or of a sample of them.

mod cost;
mod gram;
mod sample;

pub(crate) use cost::{REGULAR, gram_cost};
pub(crate) use gram::{RIDGE, Variables, Weighted};
pub(crate) use sample::{Sample, all};
