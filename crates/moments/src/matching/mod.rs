//! Score matching: learns a score function from the features alone.
//!
//! Score matching fits a model `l(x) = Psi(x)' theta` that is linear in its coefficients `theta`. It minimises the risk
//!
//! ```text
//! R(l) = (1/2n) sum_i ||l(x_i)||^2 - (1/n) sum_i div l(x_i)
//! ```
//!
//! This risk is half the mean squared error of `l` as an estimate of the score, up to a constant that does not depend
//! on `l`. So the density itself is not needed. With `C = (1/n) sum Psi Psi'`, `b = (1/n) sum div Psi` and a ridge `a`,
//! the minimiser is `theta = (C + a I)^{-1} b`. (D. Babichev, PhD thesis 2019, section 2.5.2, prints a minus sign
//! here.)
//!
//! | basis | functions | when |
//! |---|---|---|
//! | [`Basis::Bumps`] | gradients of Gaussian bumps at centres | the default |
//! | [`Basis::Separable`] | one-dimensional bumps for each feature | independent features |
//! | [`Basis::Affine`] | all affine maps | gives exactly the Gaussian score of the sample: SADE becomes SIR |
//!
//! By default the features are whitened, and the bumps model the difference between the score and a Gaussian score
//! (option `offset`). With a large ridge, SADE with the learned score is then SIR; with a small ridge, it is the
//! two-step method of the thesis. With these defaults the error is much less sensitive to bandwidth and ridge
//! (experiment `mo-e8`). Source: D. Babichev, PhD thesis 2019, sections 2.4.1 and 2.5.2; offset and whitening are ours.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `z_j` | centre | `m x d` |
//! | `h` | bandwidth | |
//! | `k_ij` | `exp(-\|\|x_i - z_j\|\|^2 / (2 h^2))` | `n x m` |
//! | `theta` | coefficients | `m` |

mod basis;
pub(crate) mod bumps;
mod coordinate;
mod fit;
mod learned;
mod select;
mod separable;
mod settings;

pub use basis::{Bandwidth, Basis, Centres, Ridge};
pub use learned::LearnedScore;
pub(crate) use learned::bump_score;
pub use select::{Selected, Selection};
pub use settings::ScoreMatching;
