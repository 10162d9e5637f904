//! The graphical lasso with an l1 penalty on the partial correlations.
//!
//! ```text
//! min_(d > 0, R)  <D C D, R> - log det R - 2 sum_i log d_i + l1 sum_(i != j) |R_ij|,      R_ii = 1,   Theta = D R D
//! ```
//!
//! The off-diagonal entries of `R` are minus the partial correlations. They do not depend on the units of the columns,
//! so the set of selected edges does not either. The penalty of [`GraphicalLasso`](crate::estimator::GraphicalLasso) on the
//! correlation scale is also independent of units, but it weights an edge by the conditional precisions of its two
//! ends. Variables that the others explain well, such as hubs, have large conditional precisions, so their edges are
//! penalised more strongly there than here.
//!
//! The problem is convex in `R` and in `d`, but not jointly. The method finds a stationary point. It starts from
//! independent columns, or from an earlier model, and never increases the objective. An iteration is a Newton step of QUIC
//! for `R` and `d` together, shortened until it lowers the objective. Coordinate updates of `d` that
//! solve `d_i (C o R d)_i = 1` follow. An iteration costs O(p^3).
//!
//! The penalty is bounded, because partial correlations are. So with a singular covariance matrix the problem has no
//! optimum.
//!
//! Source: Carter, Rossell and Smith, Scandinavian Journal of Statistics 51, 2024.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Fit, Iterative, MAX_MEMORY, Report, Status, Stop, run, settings};
use ndarray::Array2;

use crate::data::AsStatistics;
use crate::error::{Error, check_memory};
use crate::glasso::{GlassoState, UnitDiagonal, default_stop};
use crate::model::GaussianModel;
use crate::singular::is_regular;
use crate::statistics::Scale;

settings! {
    /// A sparse precision matrix by an l1 penalty on the partial correlations.
    ///
    /// ```
    /// use fenchel_ggm::{PartialCorrelationLasso, Statistics};
    /// use ndarray::array;
    ///
    /// let c = array![[1.0, 0.6, 0.1], [0.6, 1.0, 0.1], [0.1, 0.1, 1.0]];
    /// let statistics = Statistics::from_covariance(c.view(), 100)?;
    /// let model = PartialCorrelationLasso { l1: 0.2, ..Default::default() }.fit(&statistics)?;
    /// assert_eq!(model.graph().edges().collect::<Vec<_>>(), [(0, 1)]);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    pub struct PartialCorrelationLasso {
        /// Weight of the sum of the absolute partial correlations, each pair twice.
        l1: f64 = 0.1,
        /// When the method stops: the largest violation of the conditions of a stationary point, relative to the largest
        /// covariance in the scale in which all conditional variances are 1.
        /// By default residual 1e-6, absolute or relative; 10,000 iterations.
        stop: Stop = Stop { max_passes: 1e4, ..default_stop() },
        /// Bytes that may be allocated; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

impl PartialCorrelationLasso {
    /// Fits a data matrix with one sample per row, or the [`Statistics`](crate::Statistics) of one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that are empty, not finite or a single row, and for settings out of range;
    /// [`Error::ZeroVariance`] for columns that never vary; [`Error::RankDeficient`] for a singular covariance matrix, as
    /// there is with fewer samples than variables; [`Error::Refused`] beyond the memory limit.
    pub fn fit(&self, data: &(impl AsStatistics + ?Sized)) -> Result<GaussianModel, Error> {
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
        fit: Fit<'_, GaussianModel>,
    ) -> Result<GaussianModel, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        let statistics = &*data.statistics(weights, self.max_memory)?;
        let p = statistics.variables();
        Invalid::check_nonnegative("l1", self.l1)?;
        let hint = "leave columns out, or raise max_memory";
        check_memory("partial correlations", 8 * (p as u64).pow(2), self.max_memory, hint)?;
        let (correlation, units) = statistics.on(Scale::Correlation)?;
        if !is_regular(correlation.view(), correlation.diag()) {
            let hint = "take the shrunken covariances of `ledoit_wolf`, or the graphical lasso";
            return Err(Error::RankDeficient { what: "the penalty on partial correlations", hint });
        }
        let start = match start {
            Some(start) => GlassoState::in_units(start.precision.view(), &units)?,
            None => GlassoState::from_precision(Array2::eye(p).view())?,
        };
        let point = UnitDiagonal::new(&correlation, self.l1, &start);
        let mut method = Alternating { point, least: f64::INFINITY, idle: 0 };
        let report: Report = run(&mut method, &self.stop, &mut watch)?;
        let UnitDiagonal { d, .. } = &method.point;
        let (matrix, inverse) = (method.point.matrix(), method.point.inverse());
        let precision = Array2::from_shape_fn((p, p), |(i, j)| matrix[i * p + j] * d[i] * d[j]);
        let covariance = Array2::from_shape_fn((p, p), |(i, j)| inverse[i * p + j] / (d[i] * d[j]));
        let mean = statistics.mean.clone();
        let names = statistics.names.clone();
        Ok(GaussianModel { mean, names, precision, covariance, report }.in_units(&units))
    }
}

/// Steps without a visible decrease of the objective after which the method stalls.
const IDLE: u32 = 20;

/// Steps for `R` and `d` together, then for `d` alone.
struct Alternating<'a> {
    point: UnitDiagonal<'a>,
    /// The least objective so far, and the steps since it fell by more than rounding.
    least: f64,
    idle: u32,
}

impl Iterative for Alternating<'_> {
    fn advance(&mut self, _passes: f64) -> f64 {
        self.point.step();
        self.point.minimise_scale();
        let now = self.point.objective();
        let rounding = 4.0 * f64::EPSILON * (now.abs() + self.point.d.len() as f64);
        self.idle = if now < self.least - rounding { 0 } else { self.idle + 1 };
        self.least = self.least.min(now);
        1.0
    }

    fn verdict(&self) -> Option<Status> {
        (self.idle >= IDLE).then_some(Status::Stalled)
    }

    /// The largest violation of the conditions of a stationary point, in the scale in which all conditional variances
    /// are 1.
    fn certify(&mut self) -> Certificate {
        let (violation, size) = self.point.violation();
        Certificate::residual(self.point.objective(), violation, 0.0).on_scale(size)
    }
}
