//! Every method for a [`Problem`](crate::Problem), with its settings and its state.
//!
//! A method is a function of the problem, its settings, a start and an observer. What comes back is a state, which is a warm
//! start, and a report whose certificate is a duality gap at the returned point, or the norm of the gradient where no gap is
//! finite.
//!
//! | module | methods |
//! |---|---|
//! | [`dual`] | [`sdca`](fn@sdca), [`catalyst`](fn@catalyst), [`cocoa`](fn@cocoa), [`qning`](fn@qning), [`miso_mu`](fn@miso_mu), [`prox_finito`](fn@prox_finito) |
//! | [`mod@newton`] | [`newton`](fn@newton), [`newton_cg`](fn@newton_cg), [`subsampled_newton`](fn@subsampled_newton) |
//! | [`incremental`] | [`saga`](fn@saga), [`sag`](fn@sag), [`svrg`](fn@svrg), [`sgd`](fn@sgd) |
//! | [`points`] | [`finito`](fn@finito), [`miso`](fn@miso) |
//! | coordinates | [`coordinate_descent`](fn@coordinate_descent) |
//! | batch | [`fista`](fn@fista), [`lbfgs`](fn@lbfgs) |
//!
//! [`order`] has which term is next, [`lag`] the updates that make a step on a sparse row O(nnz).
//!
//! # Example
//!
//! ```
//! use fenchel_erm::Problem;
//! use fenchel_erm::loss::Logistic;
//! use fenchel_erm::methods::*;
//! use fenchel_erm::prelude::{AsDesign, Order, Report, Status, Stop};
//! use fenchel_erm::prox::{L1, Simplex, Zero};
//!
//! let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
//! let y = [1.0, -1.0, 1.0, -1.0];
//! let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
//! let check = |report: Report| assert_eq!(report.status, Status::Converged);
//! check(sdca(&problem, &SdcaSettings::default(), None, &mut ())?.report);
//! check(catalyst(&problem, &CatalystSettings::default(), None, &mut ())?.report);
//! check(qning(&problem, &QningSettings::default(), None, &mut ())?.report);
//! check(miso_mu(&problem, &MisoMuSettings::default(), None, &mut ())?.report);
//! // Long rows more often.
//! let settings = ProxFinitoSettings { order: Order::Lipschitz, ..Default::default() };
//! check(prox_finito(&problem, &settings, None, &mut ())?.report);
//! check(newton(&problem, &NewtonSettings::default(), None, &mut ())?.report);
//! check(subsampled_newton(&problem, &Default::default(), None, &mut ())?.report);
//! check(lbfgs(&problem, &LbfgsSettings::default(), None, &mut ())?.report);
//! check(sag(&problem, &SagSettings::default(), None, &mut ())?.report);
//! let settings = SvrgSettings { snapshot: Snapshot::Loopless, ..SvrgSettings::default() };
//! check(svrg(&problem, &settings, None, &mut ())?.report);
//! // Three passes are what SGD is good for.
//! let settings = SgdSettings { stop: Stop::after_passes(3.0), ..SgdSettings::default() };
//! let point = sgd(&problem, &settings, None, &mut ())?.state.point;
//! assert!(problem.objective(&point)? < 2f64.ln());
//!
//! let sparse = Problem::new(a.as_design()?, &y, Logistic, L1 { strength: 0.01 }, 0.1)?;
//! check(saga(&sparse, &SagaSettings::default(), None, &mut ())?.report);
//! let inside = Problem::new(a.as_design()?, &y, Logistic, Simplex { radius: 1.0 }, 0.1)?;
//! check(fista(&inside, &FistaSettings::default(), None, &mut ())?.report);
//! let curved = Problem::new(a.as_design()?, &y, Logistic, Zero, 1.0)?;
//! check(finito(&curved, &FinitoSettings::default(), None, &mut ())?.report);
//! check(miso(&curved, &MisoSettings::default(), None, &mut ())?.report);
//! # Ok::<(), fenchel_erm::Error>(())
//! ```

/// Passes between two computations of a sum or an average from its terms, which remove the rounding errors of many small
/// updates. One of them costs up to a pass, so all of them at most a tenth of a run.
pub const REFRESH: usize = 10;

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
    Catalyst, CatalystSettings, Cocoa, CocoaSettings, DualState, MisoMuSettings,
    ProxFinitoSettings, Qning, QningSettings, Sdca, SdcaSettings, SdcaStep, catalyst, cocoa,
    draw_weights, miso_mu, prox_finito, qning, sdca,
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
