//! Dual coordinate ascent: SDCA, proximal SDCA, and two outer loops that accelerate it.
//!
//! One dual number `s_i` a term, with the point read off their sum:
//!
//! ```text
//! v = kappa y - (1/n) sum_i s_i a_i,     x = argmax_x v.x - h(x) - ((l2 + kappa)/2) ||x||^2
//! ```
//!
//! For `h = 0` and no proximal centre this is `x = v / l2`, the thesis's algorithm 2.1; with l1 it is
//! `x = soft(v, l1) / l2`, read on the fly, so that a step costs O(nnz of the row) whatever `h` is.
//! With a centre `y` of weight `kappa` it is the inner method of [`catalyst`] and [`qning`].
//!
//! | method | what it is | when |
//! |---|---|---|
//! | [`sdca`] | exact steps, or steps of one derivative | `n mu >= L`; any loss with a kink |
//! | [`miso_mu`] | constant steps only, damped | the low-memory form of Finito; the same steps as `sdca`'s `Constant` |
//! | [`prox_finito`] | `sdca` in other variables | to draw terms by their Lipschitz constants |
//! | [`catalyst`] | a proximal centre that is extrapolated | `n mu < L` |
//! | [`qning`] | a proximal centre that L-BFGS moves | no strong convexity, small l1 |
//!
//! | symbol | name |
//! |---|---|
//! | `s_i` | dual variable, `phi'` at the optimum (the thesis's `alpha_i = s_i a_i`) |
//! | `q_j` | `\|\|a_j\|\|^2 / ((l2 + kappa) n)`: how far the margin moves for a unit of `s_j` |

mod ascent;
mod catalyst;
mod miso_mu;
mod momentum;
mod prox_finito;
mod qning;
mod sdca;
mod state;
mod tail;
mod weights;

pub use ascent::SdcaStep;
pub(crate) use ascent::check_strength;
pub(crate) use momentum::Momentum;

pub use catalyst::{Catalyst, CatalystSettings, catalyst};
pub use miso_mu::{MisoMuSettings, miso_mu};
pub use prox_finito::{ProxFinitoSettings, prox_finito};
pub use qning::{Qning, QningSettings, qning};
pub use sdca::{Sdca, SdcaSettings, sdca};
pub use state::DualState;
pub use weights::draw_weights;
