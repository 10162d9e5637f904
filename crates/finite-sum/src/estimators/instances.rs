//! The estimators for `Array2` and CSR matrices of `f64`, as machine code of this crate.
//!
//! In a build without full optimisation the compiler takes an instance of a generic function from a dependency that has it. The
//! solvers are by far the largest functions of the workspace. Without these instances every program of tests, and the module for
//! Python, would compile them again.

use fenchel_linalg::{AsDesign, CsrMatrix};
use fenchel_optim::prox::{L1, NonnegativeL1};
use ndarray::{Array2, ArrayView1};

use super::*;
use crate::loss::{Huber, Quantile, Squared, SquaredHinge};

#[used]
static DENSE: fn(&Array2<f64>) = fit_all;
#[used]
static SPARSE: fn(&CsrMatrix<f64>) = fit_all;

/// Never runs.
fn fit_all<X: AsDesign + Sync>(x: &X) {
    let y: ArrayView1<f64> = ArrayView1::from(&[]);
    let l1 = L1 { strength: 0.0 };
    drop(Ridge::default().fit(x, y));
    drop(Lasso::default().fit(x, y));
    drop(ElasticNet::default().fit(x, y));
    drop(GroupLasso::default().fit(x, y));
    drop(PoissonRegressor::default().fit(x, y));
    drop(LogisticRegression::default().fit(x, y));
    drop(LinearSvc::default().fit(x, y));
    drop(SoftmaxRegression::default().fit(x, y));
    drop(Penalised::new(Squared, NonnegativeL1 { strength: 0.0 }).fit(x, y));
    drop(Penalised::new(SquaredHinge, l1).fit(x, y));
    drop(Penalised::new(Huber { delta: 1.0 }, l1).fit(x, y));
    drop(Penalised::new(Quantile { tau: 0.5 }, l1).fit(x, y));
    drop(RidgeCv::default().fit(x, y));
    drop(LassoCv::default().fit(x, y));
    drop(ElasticNetCv::default().fit(x, y));
    drop(LogisticRegressionCv::default().fit(x, y));
    drop(LinearSvcCv::default().fit(x, y));
    drop(SoftmaxRegressionCv::default().fit(x, y));
}
