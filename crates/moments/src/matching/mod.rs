//! Learning a score from the features alone.
//!
//! Score matching minimises, over models `l(x) = Psi(x)' theta` that are linear in `theta`, the risk
//!
//! ```text
//! R(l) = (1/2n) sum_i ||l(x_i)||^2 - (1/n) sum_i div l(x_i)
//! ```
//!
//! which is half the mean squared error of `l` as a score, up to a constant that does not depend on `l`: no density is
//! needed. With `C = (1/n) sum Psi Psi'`, `b = (1/n) sum div Psi` and a ridge `a` the minimiser is
//! `theta = (C + a I)^{-1} b` (with a plus: the text has a minus in 2.5.2).
//!
//! | basis | functions | when |
//! |---|---|---|
//! | [`Basis::Bumps`] | gradients of Gaussian bumps at centres | the default |
//! | [`Basis::Separable`] | one-dimensional bumps a feature | independent features |
//! | [`Basis::Affine`] | all affine maps | gives exactly the Gaussian score of the sample: SADE becomes SIR |
//!
//! By default the features are whitened and the bumps model what a Gaussian score leaves (`offset`): with a large
//! ridge SADE with the learned score is SIR, with a small one the two-step method of the thesis; the error is much
//! less sensitive to bandwidth and ridge (experiment `mo-e8`). Source: D. Babichev, PhD thesis 2019, sections 2.4.1
//! and 2.5.2; offset and whitening are ours.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `z_j` | centre | `m x d` |
//! | `h` | bandwidth | |
//! | `k_ij` | `exp(-\|\|x_i - z_j\|\|^2 / (2 h^2))` | `n x m` |
//! | `theta` | coefficients | `m` |

pub(crate) mod bumps;
mod learned;
mod select;
mod separable;
mod settings;

pub use learned::LearnedScore;
pub(crate) use learned::bump_score as learned_bumps;
pub use select::{Selected, Selection};
pub use settings::{Bandwidth, Basis, Centres, Ridge, ScoreMatching};
