//! Methods that average a score function against the response, without slices, and the second-order sliced method.
//!
//! | method | moment | finds | misses |
//! |---|---|---|---|
//! | [`Ade`] | `E[y S1]` | one direction, if the mean slope is not 0 | every further direction |
//! | [`Sade`](crate::Sade) | `Cov[E(S1 given y)]` | trends of any number | even functions of symmetric features; two classes give one direction |
//! | [`PhdPlus`] | `E[y S2]` | curvature | linear and odd functions of symmetric features |
//! | [`Sphd`] | `E[E(S2 given y)^2]` | the widest class | needs more samples than SADE where both work |
//!
//! This is table 2.1 of D. Babichev, PhD thesis 2019; a test checks every entry. The sliced methods depend only on the
//! order of the responses `y`.

mod ade;
mod phd_plus;
mod sphd;

pub use ade::Ade;
pub use phd_plus::PhdPlus;
pub use sphd::{Sphd, SphdEstimator};
