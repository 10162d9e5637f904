//! Every method for a [`Problem`](crate::Problem), with its settings and its state.
//!
//! A method is a function of the problem, its settings, a start and an observer. What comes back is a state, which is a warm
//! start, and a report whose certificate is a duality gap at the returned point, or the norm of the gradient where no gap is
//! finite.
//!
//! | module | methods |
//! |---|---|
//! | [`dual`] | [`sdca`](fn@sdca), [`catalyst`](fn@catalyst), [`qning`](fn@qning), [`miso_mu`](fn@miso_mu), [`prox_finito`](fn@prox_finito) |
//! | [`mod@newton`] | [`newton`](fn@newton), [`newton_cg`](fn@newton_cg), [`subsampled_newton`](fn@subsampled_newton) |
//! | [`incremental`] | [`saga`](fn@saga), [`sag`](fn@sag), [`svrg`](fn@svrg), [`sgd`](fn@sgd) |
//! | [`points`] | [`finito`](fn@finito), [`miso`](fn@miso) |
//! | coordinates | [`coordinate_descent`](fn@coordinate_descent) |
//! | batch | [`fista`](fn@fista), [`lbfgs`](fn@lbfgs) |
//!
//! [`order`] has which term is next, [`lag`] the updates that make a step on a sparse row O(nnz).

pub(crate) mod coordinate;
pub mod dual;
mod fista;
pub(crate) mod hessian;
pub mod incremental;
pub mod lag;
mod lbfgs;
pub mod newton;
pub mod order;
pub mod points;
pub(crate) mod smooth;

pub use coordinate::{CoordinateDescent, CoordinateSettings, coordinate_descent};
pub use dual::{
    Catalyst, CatalystSettings, DualState, MisoMuSettings, ProxFinitoSettings, Qning,
    QningSettings, Sdca, SdcaSettings, SdcaStep, catalyst, draw_weights, miso_mu, prox_finito,
    qning, sdca,
};
pub use fista::{OnWeights, fista};
pub use incremental::{
    IncrementalState, Sag, SagSettings, Saga, SagaSettings, SagaTheory, Sgd, SgdSettings, Snapshot,
    Svrg, SvrgSettings, TableMethod, TableStart, TableState, sag, saga, sgd, svrg,
};
pub use lbfgs::lbfgs;
pub use newton::{
    AsElasticNet, Newton, NewtonSettings, SubsampledNewton, SubsampledNewtonSettings, newton,
    newton_cg, subsampled_newton,
};
pub use points::{
    FinitoSettings, FinitoStart, FinitoStorage, MisoSettings, PointTable, PointTableState, finito,
    miso,
};
pub use smooth::SmoothPart;

// The same method for other functions than a finite sum, with the settings that both take.
pub use fenchel_optim::fista::{Fista, FistaSettings, FistaState, FistaStep};
pub use fenchel_optim::lbfgs::{LbfgsSettings, LbfgsState};
pub use fenchel_optim::newton::{Globalisation, NewtonCg, NewtonCgSettings, Preconditioner};
