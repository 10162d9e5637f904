//! Hessians of the smooth part, written down: of all rows, or of some that stand for all.

mod cost;
mod gram;
mod sample;

pub(crate) use cost::{REGULAR, gram_cost};
pub(crate) use gram::{RIDGE, Variables};
pub(crate) use sample::{Sample, Weighted, all};
