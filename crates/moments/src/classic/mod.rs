//! The classical inverse-regression methods. They use only the mean and the covariance of the features' distribution.
//!
//! All four methods need features whose conditional mean given the true indices is linear in these indices; elliptical
//! features have this property. SAVE, pHd and directional regression also need a constant conditional variance, which
//! normal features have.
//!
//! | method | moment matrix, `z` whitened | finds | misses |
//! |---|---|---|---|
//! | [`Sir`] | `sum_h p_h mean_h(z) mean_h(z)'` | trends | symmetric dependence |
//! | [`Save`] | `sum_h p_h (I - Cov_h(z))^2` | trends and symmetric dependence | weak trends, few samples |
//! | [`Phd`] | `(1/n) sum_i r_i z_i z_i'` | curvature | trends |
//! | [`DirectionalRegression`] | SIR and SAVE combined | both | |

mod directional;
mod phd;
mod save;
mod sir;

pub use directional::DirectionalRegression;
pub use phd::Phd;
pub(crate) use phd::linear_residuals;
pub use save::Save;
pub use sir::Sir;
