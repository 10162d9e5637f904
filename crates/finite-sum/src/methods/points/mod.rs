//! Methods that keep a point a term: Finito and MISO.
//!
//! With `f_i(x) = phi_i(a_i.x) + (mu/2) ||x||^2` and a point `phi_i` for every term, both minimise a mean of parabolas
//! of one curvature `lambda`, each touching its term at its own point:
//!
//! ```text
//! w = (1/n) sum_i phi_i - (1/(lambda n)) sum_i f_i'(phi_i) = -(1/(lambda n)) sum_i p_i,
//! p_i = s_i a_i - (lambda - mu) phi_i,     s_i = phi_i'(a_i.phi_i)
//! ```
//!
//! so that one vector a term is enough (thesis, section 3.1.3). The table holds `n d` numbers and a step costs O(d):
//! for dense data of moderate size.
//!
//! | method | `lambda` | |
//! |---|---|---|
//! | [`finito`] | `alpha mu`, `alpha = 2` | fast for `n mu >= 2 L`; the order matters |
//! | [`miso`] | `L` | upper bounds: safe in any order, slow |
//! | [`miso_mu`](crate::methods::miso_mu()) | `mu` | `p_i = s_i a_i`: needs no points, and lives with the dual methods |

mod finito;
mod miso;
mod table;

pub use finito::{FinitoSettings, FinitoStart, finito};
pub use miso::{MisoSettings, miso};
pub use table::{PointTable, PointTableState};
