//! Estimators with a penalty on the rows.

use fenchel_linalg::Invalid;
use fenchel_optim::{Fit, MAX_MEMORY, Report, Stop, Watch, run, settings};
use ndarray::Array2;

use super::penalty::DegreePrior;
use super::row::RowNorm;
use super::rows::ScaleFreeAdmm;
use crate::data::AsStatistics;
use crate::error::{Error, check_bounded};
use crate::glasso::{GlassoState, default_stop};
use crate::model::GaussianModel;
use crate::problem::repaired;
use crate::singular::check_regular;
use crate::statistics::{Scale, Statistics, unit_of};

/// `fit` and `fit_with` of an estimator whose method `rows` gives its penalty.
macro_rules! by_rows {
    ($(#[$errors:meta])* $name:ident) => {
        impl $name {
            /// Fits a data matrix with one sample per row, or the [`Statistics`](crate::statistics::Statistics) of one.
            ///
            /// # Errors
            $(#[$errors])*
            pub fn fit(&self, data: &(impl AsStatistics + ?Sized)) -> Result<GaussianModel, Error> {
                self.fit_with(data, Fit::new())
            }

            /// As [`fit`](Self::fit), with weights of the rows, of which only the ratios matter, a former model to start from, in
            /// the units of the data, and a closure that watches.
            ///
            /// # Errors
            /// As [`fit`](Self::fit), and for weights of the wrong length, negative, or all 0, and a start of another order or not
            /// positive definite.
            pub fn fit_with(
                &self,
                data: &(impl AsStatistics + ?Sized),
                fit: Fit<'_, GaussianModel>,
            ) -> Result<GaussianModel, Error> {
                let Fit { weights, start, mut watch, .. } = fit;
                let statistics = &*data.statistics(weights, MAX_MEMORY)?;
                let rows = self.rows(statistics.variables())?;
                rows.solve(statistics, start, &self.stop, &mut watch)
            }
        }
    };
}

settings! {
    /// A sparse precision matrix whose graph has hubs:
    ///
    /// ```text
    /// min_X  <C, X> - log det X + strength Omega(X)
    /// ```
    ///
    /// ```
    /// use fenchel_ggm::scale_free::ScaleFree;
    /// use fenchel_ggm::Statistics;
    /// use ndarray::array;
    ///
    /// let c = array![[1.0, 0.6, 0.5], [0.6, 1.0, 0.3], [0.5, 0.3, 1.0]];
    /// let statistics = Statistics::from_covariance(c.view(), 100)?;
    /// let model = ScaleFree::default().fit(&statistics)?;
    /// assert!(model.report.certificate.value() <= 1e-5);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    ///
    /// Source: A. Defazio, PhD thesis 2014, section 7.3.1.
    pub struct ScaleFree {
        /// The cost of a further edge at a node of degree k.
        prior: DegreePrior = DegreePrior::default(),
        /// Weight of the penalty; with `Linear` it is the `l1` of the graphical lasso.
        strength: f64 = 0.1,
        /// The scale of the weight.
        scale: Scale = Scale::Correlation,
        /// First penalty parameter of ADMM, then balanced.
        rho: f64 = 0.5,
        /// When the method stops; a pass is one eigendecomposition.
        /// By default gap 1e-6.
        stop: Stop = default_stop(),
    }
}

by_rows! {
    /// As [`GraphicalLasso::fit`](crate::estimator::GraphicalLasso::fit), and for a prior or settings out of range.
    ScaleFree
}

impl ScaleFree {
    fn rows(&self, variables: usize) -> Result<ByRows, Error> {
        let norm = RowNorm::Sorted(self.prior.increments(variables)?);
        let (what, strength) = ("the scale-free penalty", self.strength);
        Ok(ByRows { what, norm, strength, scale: self.scale, rho: self.rho })
    }
}

/// `min_X <C, X> - log det X + strength sum_i norm(X_i)`.
struct ByRows {
    what: &'static str,
    norm: RowNorm,
    strength: f64,
    scale: Scale,
    rho: f64,
}

impl ByRows {
    fn solve(
        self,
        statistics: &Statistics,
        start: Option<&GaussianModel>,
        stop: &Stop,
        watch: &mut Watch<'_>,
    ) -> Result<GaussianModel, Error> {
        let p = statistics.variables();
        Invalid::check_nonnegative("strength", self.strength)?;
        Invalid::check_positive("rho", self.rho)?;
        let unit = unit_of(self.scale, statistics.covariance.diag().iter());
        let (covariance, units) = statistics.within(self.scale, unit)?;
        let strength = self.strength / unit;
        let nothing = match &self.norm {
            RowNorm::Sorted(increments) => increments.first().is_none_or(|h| !(h * strength > 0.0)),
            RowNorm::Euclidean { .. } => strength == 0.0,
        };
        if nothing && p > 1 {
            check_regular(self.what, covariance.view(), covariance.diag())?;
        }
        let start = start.map(|start| GlassoState::in_units(start.precision.view(), &units));
        let start = start.transpose()?;
        let (norm, covariance) = (self.norm, covariance.view());
        let mut method =
            ScaleFreeAdmm::with_norm(covariance, norm, strength, self.rho, start.as_ref());
        method.shift = p as f64 * unit.ln();
        let report: Report = run(&mut method, stop, watch)?;
        check_bounded(self.what, &report)?;
        let (x, _) = repaired(method.point().to_vec(), p);
        let state =
            GlassoState::from_precision(Array2::from_shape_vec((p, p), x).expect("p x p").view())?;
        let (precision, covariance) = (state.precision(), state.covariance());
        let (mean, names) = (statistics.mean.clone(), statistics.names.clone());
        Ok(GaussianModel { mean, names, precision, covariance, report }.in_units(&units))
    }
}

settings! {
    /// A sparse precision matrix in which whole nodes become independent. The penalty has one group per node, which
    /// contains all edges of that node.
    ///
    /// ```text
    /// min_X  <C, X> - log det X + strength sum_i ||X_i||_2
    /// ```
    ///
    /// An edge is in the groups of both its nodes. The groups `X_i` are rows without the diagonal entry. A. Defazio, PhD
    /// thesis 2014, section 6.4, uses whole rows. Since a diagonal entry is never 0, whole rows never vanish, the penalty
    /// is then smooth at every model, and its solutions have no zeros.
    ///
    /// ```
    /// use fenchel_ggm::Statistics;
    /// use fenchel_ggm::scale_free::NodeGroups;
    /// use ndarray::array;
    ///
    /// let c = array![[1.0, 0.6, 0.05], [0.6, 1.0, 0.05], [0.05, 0.05, 1.0]];
    /// let statistics = Statistics::from_covariance(c.view(), 100)?;
    /// let model = NodeGroups { strength: 0.2, ..NodeGroups::default() }.fit(&statistics)?;
    /// assert_eq!(model.graph().edges().collect::<Vec<_>>(), [(0, 1)]);
    /// assert!(model.report.certificate.value() <= 1e-5);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    ///
    /// Source: A. Defazio, PhD thesis 2014, section 6.4.
    pub struct NodeGroups {
        /// Weight of the penalty.
        strength: f64 = 0.1,
        /// Whether the entry on the diagonal is part of a row, as printed.
        diagonal: bool = false,
        /// The scale of the weight.
        scale: Scale = Scale::Correlation,
        /// First penalty parameter of ADMM, then balanced.
        rho: f64 = 0.5,
        /// When the method stops; a pass is one eigendecomposition.
        stop: Stop = default_stop(),
    }
}

by_rows! {
    /// As [`ScaleFree::fit`].
    NodeGroups
}

impl NodeGroups {
    fn rows(&self, _: usize) -> Result<ByRows, Error> {
        let norm = RowNorm::Euclidean { diagonal: self.diagonal };
        let (what, strength) = ("the penalty on node groups", self.strength);
        Ok(ByRows { what, norm, strength, scale: self.scale, rho: self.rho })
    }
}
