//! The tests of the crate, in one program.

mod answers;
mod cases;
mod counts;
mod digits;
mod estimation;
mod extremes;
mod glm;
mod glm_shifts;
mod integrals;
mod own;
mod practitioner;
mod random;
mod reference;
mod refusals;
mod risk;
mod samplers;
mod special;
mod spread;
mod sweep;
mod tails;
mod units;
mod univariate;
mod wide;
