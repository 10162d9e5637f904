//! Certified incremental solvers for regularised empirical risk.
//!
//! under construction
#![forbid(unsafe_code)]

mod batch;
pub mod dual;
mod error;
pub mod estimators;
mod finito;
mod gap;
pub mod incremental;
pub mod lag;
pub mod loss;
mod problem;

pub use batch::{Batch, lbfgs};
pub use dual::{
    Catalyst, CatalystSettings, DualState, Sdca, SdcaSettings, SdcaStep, catalyst, sdca,
};
pub use error::Error;
pub use estimators::{ElasticNet, Lasso, LinearModel, LogisticModel, LogisticRegression};
pub use finito::{Finito, FinitoSettings, FinitoStart, finito};
pub use incremental::{
    Sag, SagSettings, Saga, SagaSettings, Svrg, SvrgSettings, TableMethod, TableStart, TableState,
    sag, saga, svrg,
};
pub use problem::{Point, Problem};
