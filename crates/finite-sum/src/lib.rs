//! Certified solvers for regularised empirical risk of linear models,
//!
//! ```text
//! F(x, b) = (1/n) sum_i phi(a_i.x + b; y_i) + (l2/2) ||x||^2 + h(x).
//! ```
//!
//! A [`Problem`] borrows the data and is checked once. A method is a function of the problem, its settings, a
//! start and an observer: [`sdca`](fn@sdca), [`catalyst`](fn@catalyst), [`qning`](fn@qning),
//! [`miso_mu`](fn@miso_mu), [`prox_finito`](fn@prox_finito), [`newton_cg`](fn@newton_cg), [`saga`](fn@saga), [`sag`](fn@sag),
//! [`svrg`](fn@svrg), [`finito`](fn@finito), [`miso`](fn@miso), [`newton`](fn@newton), [`fista`](fn@fista),
//! [`lbfgs`](fn@lbfgs), [`owlqn`](fn@owlqn). What comes back is a state (ready for a warm
//! start) and a report whose certificate is a duality gap at the returned point. [`LogisticRegression`],
//! [`Lasso`] and [`ElasticNet`] choose a method for you.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `A`, `a_i` | design, its rows | `n x d`, `d` |
//! | `x`, `b` | weights, intercept: a [`Point`] | `d`, 1 |
//! | `t_i = a_i.x + b` | margins | `n` |
//! | `s_i` | stored derivatives or dual variables | `n` |
//! | `mu` | strong convexity, `l2` and what the regulariser adds | |
//! | `L` | smoothness of a term, `gamma max \|\|a_i\|\|^2 + l2` | |
//!
//! A pass is `n` term gradients. When `n mu >= L` (the big-data condition), every incremental method needs
//! about ten passes, and permuted [`sdca`](fn@sdca) is the fastest; below, [`catalyst`](fn@catalyst)
//! accelerates it. With few features, or features of very different scale, [`newton`](fn@newton) needs a handful
//! of expensive steps whatever the conditioning. The crate's README has the table of choices.
#![forbid(unsafe_code)]

pub mod auto;
pub mod averaged;
pub mod dual;
mod error;
pub mod estimators;
mod fista;
mod gap;
pub mod general;
mod hessian;
pub mod incremental;
pub mod lag;
mod lbfgs;
pub mod loss;
pub mod multiclass;
pub mod newton;
pub mod order;
pub mod path;
pub mod points;
mod problem;
mod recession;
mod smooth;
mod terms;

pub use auto::{AutoSettings, AutoState, Automatic, Choice, Method, Reason, auto};
pub use dual::{
    Catalyst, CatalystSettings, DualState, MisoMuSettings, ProxFinitoSettings, Qning,
    QningSettings, Sdca, SdcaSettings, SdcaStep, catalyst, draw_weights, miso_mu, prox_finito,
    qning, sdca,
};
pub use error::Error;
pub use estimators::{
    Choose, CrossValidated, ElasticNetCv, LassoCv, LinearSvcCv, LogisticRegressionCv, RidgeCv,
    Score, Scoring, SoftmaxRegressionCv,
};
pub use estimators::{
    ClassWeights, ElasticNet, GroupLasso, Label, Lasso, LinearModel, LinearSvc, LogisticModel,
    LogisticRegression, OneVsRest, OneVsRestModel, PoissonModel, PoissonRegressor, Ridge,
    SoftmaxModel, SoftmaxRegression, Standardised, Standardiser, SvcLoss, SvcModel, penalty_of_c,
    weighted_penalty_of_c,
};
pub use fista::{OnWeights, fista};
pub use general::FiniteSum;
pub use incremental::{
    IncrementalState, Katyusha, KatyushaSettings, Sag, SagSettings, Saga, SagaSettings, SagaTheory,
    Sgd, SgdSettings, Snapshot, Svrg, SvrgSettings, TableMethod, TableStart, TableState, katyusha,
    sag, saga, sgd, svrg,
};
pub use lbfgs::{lbfgs, owlqn};
pub use multiclass::{MulticlassPoint, MulticlassProblem, MulticlassSettings};
pub use newton::{
    AsElasticNet, Newton, NewtonSettings, SubsampledNewton, SubsampledNewtonSettings, newton,
    newton_cg, subsampled_newton,
};
pub use path::{
    Grid, GroupPathSettings, Path, PathPoint, PathSettings, Screening, elastic_net_path,
    group_path, group_path_from, logistic_path, path, path_from,
};
pub use points::{
    FinitoSettings, FinitoStart, MisoSettings, PointTable, PointTableState, finito, miso,
};
pub use problem::{Point, Problem};
pub use smooth::SmoothPart;

// What a caller of this crate needs of its floor.
pub use fenchel_linalg::{AsDesign, Csr, CsrMatrix, Dense, Design, Invalid, Rows};
pub use fenchel_optim::fista::{Fista, FistaSettings, FistaState, FistaStep};
pub use fenchel_optim::lbfgs::{LbfgsSettings, LbfgsState};
pub use fenchel_optim::model::Saved;
pub use fenchel_optim::newton::{Globalisation, NewtonCg, NewtonCgSettings, Preconditioner};
pub use fenchel_optim::prox;
pub use fenchel_optim::random::Order;
pub use fenchel_optim::{
    Cadence, Certificate, Loss, MAX_MEMORY, Observer, Progress, Refusal, Regulariser, Report,
    Separable, Solution, Status, StepSize, Stop, Trace,
};

#[doc = include_str!("../SOURCES.md")]
pub mod sources {}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
