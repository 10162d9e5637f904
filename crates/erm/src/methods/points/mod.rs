//! Methods that store one point per term: Finito and MISO.
//!
//! Let `f_i(x) = loss_i(a_i.x) + (mu/2) ||x||^2`, and let `phi_i` be the stored point of term `i`. Both methods
//! minimise the mean of parabolas of the same curvature `lambda`. Each parabola touches its term at the stored point:
//!
//! ```text
//! w = (1/n) sum_i phi_i - (1/(lambda n)) sum_i f_i'(phi_i) = -(1/(lambda n)) sum_i p_i,
//! p_i = s_i a_i - (lambda - mu) phi_i,     s_i = phi_i'(a_i.phi_i)
//! ```
//!
//! where `s_i` is the derivative of the loss. So one vector per term is enough (A. Defazio, PhD thesis 2014, section
//! 3.1.3). The table contains `n d` numbers and a step costs O(d), so that the methods are for dense data of moderate
//! size.
//!
//! The same section has a second way to store no points: keep the gradients `g_i = f_i'(phi_i)`, and compute a point when
//! it is needed as `phi_i = f_i*'(g_i)`. It needs as much memory, because `g_i` is as dense as `phi_i`, and one dual step
//! more per step. But the table then does not depend on `lambda`. `finito` offers it as [`FinitoStorage::Gradients`].
//!
//! | method | `lambda` | |
//! |---|---|---|
//! | [`finito`] | `alpha mu`, `alpha = 2` | fast for `n mu >= 2 L`; the order matters |
//! | [`miso`] | `L` | upper bounds: safe in any order, slow |
//! | [`miso_mu`](crate::methods::miso_mu()) | `mu` | `p_i = s_i a_i`: needs no points, and is one of the dual methods |

mod finito;
mod miso;
mod table;

pub use finito::{FinitoSettings, FinitoStart, FinitoStorage, finito};
pub use miso::{MisoSettings, miso};
pub use table::{PointTable, PointTableState};
