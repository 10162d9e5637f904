//! Euclidean projections on simple convex sets, in place: `P(v) = argmin_(z in C) ||z - v||`.
//!
//! | set `C` | function | cost |
//! |---|---|---|
//! | `z >= 0, sum z = r` | [`simplex`] | O(d + k log k), `k` entries within `r` of the largest |
//! | `sum abs(z_i) <= r` | [`l1_ball`] | as the simplex |
//! | `norm(z) <= r` | [`l2_ball`] | O(d) |
//! | `low <= z_i <= high` | [`interval`], [`intervals`] | O(d) |
//! | `z_1 <= z_2 <= ... <= z_d` | [`isotonic`], [`isotonic_weighted`] | O(d) |
//!
//! All projections are exact: the algorithms are finite and have no tolerance. A projection `P` satisfies the variational
//! inequality `<v - P(v), z - P(v)> <= 0` for all `z` in `C`, and it is non-expansive. The tests check both properties.
//!
//! A vector with entries that are NaN or infinite is refused with their position, and it is not changed.

mod ball;
mod isotonic;
#[cfg(test)]
mod tests;

pub use ball::{interval, intervals, l1_ball, l2_ball, simplex};
pub use isotonic::{isotonic, isotonic_weighted};
