//! The graphical lasso as an estimator.

use fenchel_optim::{Fit, MAX_MEMORY, Solution, Stop, settings};

use crate::data::AsStatistics;
use crate::error::Error;
use crate::glasso::{GlassoSettings, GlassoState, Method, default_stop, graphical_lasso};
use crate::model::GaussianModel;
use crate::penalty::PenaltyWeights;
use crate::problem::Problem;
use crate::statistics::Scale;

settings! {
    /// The graphical lasso: a sparse precision matrix by an l1 penalty.
    ///
    /// ```text
    /// min_Theta  <C, Theta> - log det Theta + sum_ij Lambda_ij |Theta_ij|
    /// ```
    ///
    /// ```
    /// use fenchel_ggm::GraphicalLasso;
    /// use ndarray::array;
    ///
    /// // Three columns: the second follows the first, the third is by itself.
    /// let x = array![[1.0, 1.1, 0.3], [2.0, 1.8, -0.2], [3.0, 3.1, 0.1], [4.0, 4.2, -0.3], [5.0, 4.8, 0.2]];
    /// let model = GraphicalLasso { l1: 0.3.into(), ..GraphicalLasso::default() }.fit(&x)?;
    /// assert_eq!(model.graph().edges().collect::<Vec<_>>(), [(0, 1)]);
    /// assert!(model.report.certificate.value() <= 1e-6);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    pub struct GraphicalLasso {
        /// Weights of the penalty; a single number leaves the diagonal unpenalised; scikit-learn's `alpha`, R's `rho`.
        l1: PenaltyWeights = PenaltyWeights::default(),
        /// What `l1` refers to; scikit-learn and R: covariance.
        scale: Scale = Scale::default(),
        /// The solver for each connected component.
        method: Method = Method::Quic,
        /// When the method stops.
        /// By default gap 1e-6, absolute or relative.
        stop: Stop = default_stop(),
        /// Bytes that may be allocated; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

impl GraphicalLasso {
    /// Fits a data matrix with one sample per row, or the [`Statistics`](crate::statistics::Statistics) of one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that are empty, not finite or a single row, and for settings out of range;
    /// [`Error::ZeroVariance`] for columns that never vary; [`Error::Refused`] beyond the memory limit.
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
        let statistics = data.statistics(weights, self.max_memory)?;
        let (covariance, units) = statistics.scaled(self.scale)?;
        let start = start.map(|start| GlassoState::in_units(start.precision.view(), &units));
        let settings = GlassoSettings {
            method: self.method,
            stop: self.stop,
            max_memory: self.max_memory,
            ..GlassoSettings::default()
        };
        let problem = Problem::new(covariance.view(), &self.l1)?;
        let Solution { state, report } =
            graphical_lasso(&problem, &settings, start.transpose()?, &mut watch)?;
        let (precision, covariance) = (state.precision(), state.covariance());
        let mean = statistics.mean.clone();
        let names = statistics.names.clone();
        Ok(GaussianModel { mean, names, precision, covariance, report }.in_units(&units))
    }
}
