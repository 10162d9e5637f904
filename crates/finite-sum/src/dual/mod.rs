//! Dual coordinate ascent: SDCA, proximal SDCA, and Catalyst on top.
//!
//! One dual number `s_i` a term, with the point read off their sum:
//!
//! ```text
//! v = kappa y - (1/n) sum_i s_i a_i,     x = argmax_x v.x - h(x) - ((l2 + kappa)/2) ||x||^2
//! ```
//!
//! For `h = 0` and no proximal centre this is `x = v / l2`, the thesis's algorithm 2.1; with l1 it is
//! `x = soft(v, l1) / l2`, read on the fly, so that a step costs O(nnz of the row) whatever `h` is.
//! With a centre `y` of weight `kappa` it is the inner method of [`catalyst`].
//!
//! | symbol | name |
//! |---|---|
//! | `s_i` | dual variable, `phi'` at the optimum (the thesis's `alpha_i = s_i a_i`) |
//! | `q_j` | `||a_j||^2 / ((l2 + kappa) n)`: how far the margin moves for a unit of `s_j` |

mod ascent;
mod catalyst;
mod sdca;

pub use ascent::{DualState, SdcaStep};
pub use catalyst::{Catalyst, CatalystSettings, catalyst};
pub use sdca::{Sdca, SdcaSettings, sdca};
