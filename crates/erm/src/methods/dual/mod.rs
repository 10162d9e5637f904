//! Dual coordinate ascent: SDCA, proximal SDCA, and two outer loops that accelerate it.
//!
//! Each term has one dual variable `s_i`, a number. The point is computed from their weighted sum:
//!
//! ```text
//! v = kappa y - (1/n) sum_i s_i a_i,     x = argmax_x v.x - h(x) - ((l2 + kappa)/2) ||x||^2
//! ```
//!
//! Without a regulariser `h` and a proximal centre this is `x = v / l2`, which is algorithm 2.1 in A. Defazio, PhD
//! thesis 2014. With l1 it is `x = soft(v, l1) / l2`. Only the coordinates of the visited row are computed, so that a
//! step costs O(nnz of the row) for every separable `h`. With a centre `y` of weight `kappa`, it is the inner method
//! of [`catalyst`] and [`qning`].
//!
//! | method | what it is | when |
//! |---|---|---|
//! | [`sdca`] | exact steps, or steps of one derivative | `n mu >= L`; any loss with a kink |
//! | [`miso_mu`] | constant steps only, damped | the low-memory form of Finito; the same steps as `sdca`'s `Constant` |
//! | [`prox_finito`] | `sdca` in other variables | to draw terms by their Lipschitz constants |
//! | [`catalyst`] | a proximal centre that is extrapolated | `n mu < L` |
//! | [`cocoa`] | `sdca` in shards, and a sum a round | rows on several processes |
//! | [`qning`] | a proximal centre that L-BFGS moves | no strong convexity, small l1 |
//!
//! | symbol | name |
//! |---|---|
//! | `s_i` | dual variable, equal to `phi'` at the optimum (Defazio's `alpha_i` is `s_i a_i`) |
//! | `q_j` | `\|\|a_j\|\|^2 / ((l2 + kappa) n)`: the change of the margin if `s_j` changes by 1 |

mod ascent;
mod batches;
mod catalyst;
mod cocoa;
mod miso_mu;
mod momentum;
mod prox_finito;
mod qning;
mod sdca;
mod state;
mod tail;
mod weights;

pub use ascent::SdcaStep;
pub(crate) use ascent::{bias_weight, check_strength};
pub(crate) use catalyst::default_centre;
pub(crate) use momentum::Momentum;

pub use catalyst::{Catalyst, CatalystSettings, catalyst};
pub use cocoa::{Cocoa, CocoaSettings, cocoa};
pub use miso_mu::{MisoMuSettings, miso_mu};
pub use prox_finito::{ProxFinitoSettings, prox_finito};
pub use qning::{Qning, QningSettings, qning};
pub use sdca::{Sdca, SdcaSettings, sdca};
pub use state::DualState;
pub use weights::draw_weights;
