//! Sparse plus low rank: the graph of the observed variables in the presence of hidden variables.
//!
//! ```text
//! min_(S, L)  <C, S - L> - log det(S - L) + sum_ij Lambda_ij |S_ij| + rank_penalty tr L,      L positive semidefinite
//! ```
//!
//! Suppose that observed variables `O` and hidden variables `H` are jointly Gaussian with precision matrix `K`. Then
//! the precision matrix of the observed variables is `K_O - K_OH K_H^-1 K_HO`. This is a sparse matrix `S = K_O`, the
//! graph of the observed variables given all others, minus a matrix `L` whose rank is at most the number of hidden
//! variables.
//!
//! **Dual.** With the constraint `R = S - L` and its multiplier `U`, the Lagrangian is
//!
//! ```text
//! <C, R> - log det R + sum_ij Lambda_ij |S_ij| + rank_penalty tr L + <U, R - S + L>
//! ```
//!
//! It is minimal over `R` at `R = (C + U)^-1`. Over `S` and `L` it is bounded below if `|U_ij| <= Lambda_ij` and
//! `U + rank_penalty I` is positive semidefinite. So the dual problem is
//!
//! ```text
//! max_U  log det(C + U) + p      |U_ij| <= Lambda_ij,   U + rank_penalty I positive semidefinite
//! ```
//!
//! **Certificate.** The method computes a matrix `U` that is feasible for the dual problem. It takes the difference between
//! a matrix before and after soft-thresholding. This difference satisfies `|U_ij| <= Lambda_ij`. If its smallest eigenvalue
//! is below `-rank_penalty`, the method multiplies it by the factor in (0, 1) that raises this eigenvalue to
//! `-rank_penalty`. The result satisfies both constraints, and the dual objective there is a lower bound of the minimum.
//!
//! Suppose that `rank_penalty` is at least the largest row sum of `Lambda`. Then every matrix with `|U_ij| <= Lambda_ij` has
//! eigenvalues of at least `-rank_penalty`. The second constraint has no effect, `L = 0` is optimal, and the problem is the
//! [graphical lasso](crate::glasso).
//!
//! The method is ADMM with the constraint `R = S - L`. An iteration costs two eigendecompositions, about `18 p^3`
//! operations.
//!
//! Source: Chandrasekaran, Parrilo and Willsky, Annals of Statistics 40, 2012; Ma, Xue and Zou, Neural Computation 25, 2013.

mod admm;
mod model;

use fenchel_linalg::{Invalid, factor};
use fenchel_optim::{Fit, MAX_MEMORY, Stop, run, settings};
use ndarray::{Array1, Array2, ArrayView2};

use self::admm::{Point, SparseLowRank};
pub use self::model::LatentVariableModel;
use crate::anderson::KEPT;
use crate::data::AsStatistics;
use crate::error::{Error, check_bounded, check_memory};
use crate::glasso::default_stop;
use crate::model::GaussianModel;
use crate::penalty::PenaltyWeights;
use crate::singular::check_regular;
use crate::statistics::{Scale, unit_of};

settings! {
    /// A sparse graph over the observed variables, and a few hidden variables that explain the rest.
    ///
    /// ```
    /// use fenchel_ggm::{LatentGraphicalLasso, Statistics};
    /// use ndarray::array;
    ///
    /// // Four variables that all follow a fifth one, which was not observed.
    /// let c = array![[1.0, 0.5, 0.5, 0.5], [0.5, 1.0, 0.5, 0.5], [0.5, 0.5, 1.0, 0.5], [0.5, 0.5, 0.5, 1.0]];
    /// let statistics = Statistics::from_covariance(c.view(), 100)?;
    /// let model = LatentGraphicalLasso { rank_penalty: 0.2, ..Default::default() }.fit(&statistics)?;
    /// assert_eq!((model.hidden(), model.graph().edge_count()), (1, 0));
    /// assert!(model.report.certificate.value() <= 1e-5);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    pub struct LatentGraphicalLasso {
        /// Weights of the sparse part; a single number leaves the diagonal unpenalised.
        l1: PenaltyWeights = PenaltyWeights::default(),
        /// Weight of the trace of the low-rank part: the larger, the fewer hidden variables.
        rank_penalty: f64 = 0.5,
        /// The scale of the weights.
        scale: Scale = Scale::Correlation,
        /// First penalty parameter of ADMM, then balanced.
        rho: f64 = 0.5,
        /// When the method stops.
        /// By default gap 1e-6, absolute or relative; 100,000 iterations.
        stop: Stop = default_stop(),
        /// Bytes that may be allocated; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

impl LatentGraphicalLasso {
    /// Fits a data matrix with one sample per row, or the [`Statistics`](crate::Statistics) of one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that are empty, not finite or a single row, and for settings out of range;
    /// [`Error::ZeroVariance`] for columns that never vary; [`Error::Refused`] beyond the memory limit.
    pub fn fit(&self, data: &(impl AsStatistics + ?Sized)) -> Result<LatentVariableModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, of which only the ratios matter, a former model to start from, in the
    /// units of the data, and a closure that watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and for weights of the wrong length, negative, or all 0, and a start of another order or not positive
    /// definite.
    pub fn fit_with(
        &self,
        data: &(impl AsStatistics + ?Sized),
        fit: Fit<'_, LatentVariableModel>,
    ) -> Result<LatentVariableModel, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        let statistics = &*data.statistics(weights, self.max_memory)?;
        let p = statistics.variables();
        self.l1.check(p)?;
        Invalid::check_positive("rank_penalty", self.rank_penalty)?;
        Invalid::check_positive("rho", self.rho)?;
        let hint = "leave columns out, or raise max_memory";
        let numbers = (16 + 3 * KEPT) * (p as u64).pow(2);
        check_memory("hidden variables", numbers, self.max_memory, hint)?;
        let unit = unit_of(self.scale, statistics.covariance.diag().iter());
        let (covariance, units) = statistics.within(self.scale, unit)?;
        let weights = self.l1.scaled(1.0 / unit);
        if (0..p).all(|i| (0..p).all(|j| i == j || weights.at(i, j) == 0.0)) && p > 1 {
            check_regular("the penalty on the sparse part", covariance.view(), covariance.diag())?;
        }
        let mut method =
            SparseLowRank::new(&covariance, &weights, self.rank_penalty / unit, self.rho);
        method.shift = p as f64 * unit.ln();
        if let Some(start) = start {
            method.begin(start, &units)?;
        }
        let report = run(&mut method, &self.stop, &mut watch)?;
        check_bounded("sparse plus low rank", &report)?;
        let Point { sparse, low_rank, precision, factor, .. } = method.point();
        let loadings = loadings(&low_rank, p, method.rank(), &units)?;
        let mut inverse = vec![0.0; p * p];
        factor::inverse_into(&factor, &mut inverse);
        let square = |m: Vec<f64>| Array2::from_shape_vec((p, p), m).expect("p x p");
        let mut sparse = square(sparse);
        sparse.indexed_iter_mut().for_each(|((i, j), x)| *x /= units[i] * units[j]);
        let (precision, covariance) = (square(precision), square(inverse));
        let (mean, names) = (statistics.mean.clone(), statistics.names.clone());
        let observed =
            GaussianModel { mean, names, precision, covariance, report }.in_units(&units);
        Ok(LatentVariableModel { observed, sparse, loadings, report })
    }
}

/// `F` with `F F' = L`, in the units of the data.
fn loadings(
    low_rank: &[f64],
    p: usize,
    rank: usize,
    units: &Array1<f64>,
) -> Result<Array2<f64>, Error> {
    let view = ArrayView2::from_shape((p, p), low_rank).expect("p x p");
    let eigen = factor::symmetric_eigen(view)?;
    let kept: Vec<usize> = (0..p).rev().take(rank).filter(|&k| eigen.values[k] > 0.0).collect();
    Ok(Array2::from_shape_fn((p, kept.len()), |(i, k)| {
        eigen.vectors[[i, kept[k]]] * eigen.values[kept[k]].sqrt() / units[i]
    }))
}
