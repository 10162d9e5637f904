//! The graphical lasso as an estimator.

use std::ops::ControlFlow;

use fenchel_linalg::AsDesign;
use fenchel_optim::{MAX_MEMORY, Progress, Stop};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::error::check_memory;
use crate::glasso::{GlassoSettings, GlassoState, Method, default_stop, graphical_lasso};
use crate::watch::{Watch, unwatched};
use crate::{Error, GaussianModel, Problem, Statistics, Weights};

/// The scale of a penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Scale {
    /// The covariance scale: the penalty depends on the units of the columns.
    Covariance,
    /// The correlation scale: columns are scaled to variance 1, and the model is mapped back to the units of the data.
    #[default]
    Correlation,
}

/// The graphical lasso: a sparse precision matrix by an l1 penalty.
///
/// ```text
/// min_Theta  <C, Theta> - log det Theta + sum_ij Lambda_ij |Theta_ij|
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `l1` | `Uniform(0.1)` | weights of the penalty; a single number leaves the diagonal unpenalised; scikit-learn's `alpha`, R's `rho` |
/// | `scale` | correlation | what `l1` refers to; scikit-learn and R: covariance |
/// | `method` | QUIC | the solver; see [`glasso`](crate::glasso) |
/// | `stop` | gap 1e-6, absolute or relative | when the method stops |
/// | `max_memory` | 4 GiB | bytes that may be allocated; `None` for no limit |
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphicalLasso {
    /// Weights of the penalty.
    pub l1: Weights,
    /// The scale of the weights.
    pub scale: Scale,
    /// The solver for each connected component.
    pub method: Method,
    /// When the method stops.
    pub stop: Stop,
    /// Bytes that may be allocated.
    pub max_memory: Option<u64>,
}

impl Default for GraphicalLasso {
    fn default() -> Self {
        GraphicalLasso {
            l1: Weights::default(),
            scale: Scale::default(),
            method: Method::Quic,
            stop: default_stop(),
            max_memory: MAX_MEMORY,
        }
    }
}

impl GraphicalLasso {
    /// Fits a data matrix with one sample per row.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that are empty, not finite or a single row, and for settings out of range;
    /// [`Error::ZeroVariance`] for columns that never vary; [`Error::Refused`] beyond the memory limit.
    pub fn fit<X: AsDesign + ?Sized>(&self, x: &X) -> Result<GaussianModel, Error> {
        self.check_width(x)?;
        self.fit_statistics(&Statistics::from_data_within(x, self.max_memory)?)
    }

    /// As [`fit`](GraphicalLasso::fit), with one weight `>= 0` per row. Only the ratios of the weights matter.
    ///
    /// # Errors
    /// As `fit`, and for weights of the wrong length, negative, or all 0.
    pub fn fit_weighted<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<GaussianModel, Error> {
        self.check_width(x)?;
        let statistics = Statistics::weighted_within(x, weights.into(), self.max_memory)?;
        self.fit_statistics(&statistics)
    }

    /// As [`fit`](GraphicalLasso::fit), but calls `watch` with the certificate of every iteration. If `watch` returns
    /// `Break`, the fit ends with the current model.
    ///
    /// # Errors
    /// As `fit`.
    pub fn fit_watched<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<GaussianModel, Error> {
        self.check_width(x)?;
        let statistics = Statistics::from_data_within(x, self.max_memory)?;
        Ok(self.solve(&statistics, None, &mut Watch::new(watch))?.0)
    }

    /// Fits a mean and covariance matrix.
    ///
    /// # Errors
    /// As [`fit`](GraphicalLasso::fit).
    pub fn fit_statistics(&self, statistics: &Statistics) -> Result<GaussianModel, Error> {
        Ok(self.solve(statistics, None, &mut unwatched())?.0)
    }

    /// As [`fit_statistics`](GraphicalLasso::fit_statistics), but started from the precision matrix of an earlier
    /// model, in the units of the data.
    ///
    /// # Errors
    /// As `fit`, and for a start of the wrong order or not positive definite.
    pub fn fit_from(
        &self,
        statistics: &Statistics,
        start: &GaussianModel,
    ) -> Result<GaussianModel, Error> {
        let units = match self.scale {
            Scale::Covariance => Array1::ones(statistics.variables()),
            Scale::Correlation => statistics.on(self.scale)?.1,
        };
        let start = GlassoState::in_units(start.precision.view(), &units)?;
        Ok(self.solve(statistics, Some(start), &mut unwatched())?.0)
    }

    fn check_width<X: AsDesign + ?Sized>(&self, x: &X) -> Result<(), Error> {
        use fenchel_linalg::Design;
        let p = x.as_design()?.columns() as u64;
        let hint = "leave columns out, or raise max_memory";
        check_memory("the covariance matrix", 3 * p * p, self.max_memory, hint)
    }

    /// The model, and the state on the scale of the penalty.
    pub(crate) fn solve<F, const W: bool>(
        &self,
        statistics: &Statistics,
        start: Option<GlassoState>,
        watch: &mut Watch<F, W>,
    ) -> Result<(GaussianModel, GlassoState), Error>
    where
        F: FnMut(&Progress) -> ControlFlow<()>,
    {
        statistics.check()?;
        let settings = GlassoSettings {
            method: self.method,
            stop: self.stop,
            max_memory: self.max_memory,
            ..GlassoSettings::default()
        };
        let constant = match self.scale {
            Scale::Covariance => Vec::new(),
            Scale::Correlation => statistics.constant(),
        };
        if !constant.is_empty() {
            return Err(Error::ZeroVariance { columns: constant });
        }
        let scaled = (self.scale == Scale::Correlation).then(|| statistics.correlation());
        let covariance = scaled.as_ref().map_or(&statistics.covariance, |(c, _)| c);
        let problem = Problem::new(covariance.view(), &self.l1)?;
        let solution = graphical_lasso(&problem, &settings, start, watch)?;
        let mut precision = solution.state.precision();
        let mut covariance = solution.state.covariance();
        if let Some((_, scale)) = &scaled {
            precision.indexed_iter_mut().for_each(|((i, j), x)| *x /= scale[i] * scale[j]);
            covariance.indexed_iter_mut().for_each(|((i, j), x)| *x *= scale[i] * scale[j]);
        }
        let mean = statistics.mean.clone();
        let model = GaussianModel { mean, precision, covariance, report: solution.report };
        Ok((model, solution.state))
    }
}
