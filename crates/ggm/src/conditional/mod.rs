//! Conditional Gaussian graphical models (Gaussian conditional random fields): outputs `y` that depend on each other
//! and on inputs `x`.
//!
//! ```text
//! p(y | x)  in proportion to  exp(-y' L y / 2 - x' T y)          y | x ~ N(-L^-1 T' x, L^-1)
//!
//! min_(L, T)  -log det L + <S_yy, L> + 2 <S_xy, T> + tr(L^-1 T' S_xx T) + l1 sum_(i != j) |L_ij| + input_l1 sum_ij |T_ij|
//! ```
//!
//! If `L_ij = 0`, the outputs `i` and `j` are independent given the inputs and all other outputs. If `T_ij = 0`, input
//! `i` has no direct effect on output `j`. The model makes no assumption on the distribution of the inputs. The problem
//! is jointly convex in `L` and `T`.
//!
//! **Dual.** With `U = S_yy + Z`, `V = S_xy + Q`, and `V` in the range of `S_xx`, the dual problem is
//!
//! ```text
//! max  log det(U - V' S_xx^+ V) + q        |Z_ij| <= l1 off the diagonal, Z_ii = 0,  |Q_ij| <= input_l1 / 2
//! ```
//!
//! It follows by minimising `-log det L + tr(L^-1 T' S_xx T) + <U, L> + 2 <V, T>` over `T`: the minimiser satisfies
//! `S_xx T = -V L`, and what remains of the last three terms is `<U - V' S_xx^+ V, L>`. The dual point of the report's
//! gap is `V = -S_xx B`, for which the product is `B' S_xx B`: `B` is the `T L^-1` of the model, moved towards minus the
//! coefficients of least squares until `V` is in the box.
//!
//! The method is FISTA with restarts. With `p` inputs and `q` outputs, an iteration costs a Cholesky factorisation of
//! order `q` and `p^2 q + p q^2` operations.
//!
//! Source: Sohn and Kim, AISTATS 2012; Wytock and Kolter, ICML 2013; A. Defazio, PhD thesis 2014, section 9.10.2.

mod likelihood;

use fenchel_graphical::Graph;
use fenchel_linalg::factor;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::model::Saved;
use fenchel_optim::{Fit, MAX_MEMORY, Report, Stop, Watch, settings};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use self::likelihood::{Blocks, Likelihood};
use crate::data::AsStatistics;
use crate::error::{Error, check_bounded, check_memory};
use crate::glasso::{GlassoState, default_stop};
use crate::model::{check_inverse, support};
use crate::statistics::{Scale, Statistics, unit_of};

settings! {
    /// A sparse Gaussian conditional random field of outputs given inputs.
    ///
    /// ```
    /// use fenchel_ggm::GaussianCrf;
    /// use ndarray::array;
    ///
    /// // The first output follows the input, the second one the first output.
    /// let x = array![[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]];
    /// let y = array![[1.1, 1.4], [1.8, 1.5], [3.2, 3.4], [3.9, 3.6], [5.1, 5.4], [5.9, 5.9]];
    /// let crf = GaussianCrf { l1: 0.01, input_l1: 0.01, ..GaussianCrf::default() };
    /// let model = crf.fit(&x, &y)?;
    /// assert!((model.predict(&array![[3.5]])?[[0, 0]] - 3.5).abs() < 0.2);
    /// assert!(model.report.certificate.value() <= 1e-5);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    pub struct GaussianCrf {
        /// Weight of the couplings of two outputs.
        l1: f64 = 0.1,
        /// Weight of the couplings of an input and an output.
        input_l1: f64 = 0.1,
        /// The scale of both penalties: columns of variance 1, or unscaled columns.
        scale: Scale = Scale::Correlation,
        /// When the method stops.
        /// By default gap 1e-6, absolute or relative; 100,000 iterations.
        stop: Stop = default_stop(),
        /// Bytes that may be allocated; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

/// The conditional distribution of the outputs given the inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GaussianCrfModel {
    /// Means of the inputs.
    pub input_mean: Array1<f64>,
    /// Means of the outputs.
    pub output_mean: Array1<f64>,
    /// `L`, `q x q`: the precision of the outputs given the inputs, with exact zeros.
    pub precision: Array2<f64>,
    /// `L^-1`: their covariance given the inputs.
    pub covariance: Array2<f64>,
    /// `T`, `p x q`: which input acts on which output directly, with exact zeros.
    pub coupling: Array2<f64>,
    /// The report of the fit.
    pub report: Report,
}

impl GaussianCrfModel {
    /// The graph of the outputs given the inputs.
    pub fn graph(&self) -> Graph {
        support(self.precision.view())
    }

    /// The regression coefficients of the outputs on the inputs that the model implies: `-T L^-1`, in the shape
    /// `p x q`.
    pub fn coefficients(&self) -> Array2<f64> {
        -self.coupling.dot(&self.covariance)
    }

    /// The means of the outputs given each row of inputs, `n x q`.
    ///
    /// # Errors
    /// [`Invalid`] for data of the wrong width.
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let x = centred("columns of the inputs", x, &self.input_mean)?;
        Ok(x.dot(&self.coefficients()) + &self.output_mean)
    }

    /// The mean log-density of the outputs given the inputs, in nats.
    ///
    /// # Errors
    /// [`Invalid`] for data of the wrong width, another number of rows, or none.
    pub fn score<X, Y>(&self, x: &X, y: &Y) -> Result<f64, Error>
    where
        X: AsDesign + ?Sized,
        Y: AsDesign + ?Sized,
    {
        let mean = self.predict(x)?;
        let y = centred("columns of the outputs", y, &self.output_mean)?;
        Invalid::check_length("rows of the outputs", mean.nrows(), y.nrows())?;
        let rest = y + &self.output_mean - mean;
        let n = rest.nrows();
        if n == 0 {
            return Err(Invalid::Empty { what: "data" }.into());
        }
        let squares = (&rest.dot(&self.precision) * &rest).sum() / n as f64;
        let log_det = factor::cholesky(self.precision.view())?.log_det();
        let constant = self.output_mean.len() as f64 * std::f64::consts::TAU.ln();
        Ok(0.5 * (log_det - constant - squares))
    }
}

impl Saved for GaussianCrfModel {
    const KIND: &'static str = "gaussian conditional random field";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let (p, q) = (self.input_mean.len(), self.output_mean.len());
        if self.precision.dim() != (q, q) || self.covariance.dim() != (q, q) {
            return Err(format!("precision and covariance must be {q} x {q}"));
        }
        if self.coupling.dim() != (p, q) {
            return Err(format!("the coupling must be {p} x {q}"));
        }
        let all = self.coupling.iter().chain(&self.input_mean).chain(&self.output_mean);
        if !all.into_iter().all(|v| v.is_finite()) {
            return Err("means and coupling must be finite".into());
        }
        check_inverse(self.precision.view(), self.covariance.view())
    }
}

/// The result with the argument called by its role.
fn named<T>(what: &'static str, result: Result<T, Invalid>) -> Result<T, Invalid> {
    result.map_err(|error| match error {
        Invalid::Layout { reason, .. } => Invalid::Layout { what, reason },
        Invalid::NonFinite { row, column, value, .. } => {
            Invalid::NonFinite { what, row, column, value }
        }
        other => other,
    })
}

/// Dense rows minus a mean.
fn centred<X: AsDesign + ?Sized>(
    what: &'static str,
    x: &X,
    mean: &Array1<f64>,
) -> Result<Array2<f64>, Error> {
    let x = x.as_design()?;
    Invalid::check_length(what, mean.len(), x.columns())?;
    let mut out = Array2::zeros((x.rows(), mean.len()));
    for (i, mut row) in out.rows_mut().into_iter().enumerate() {
        row -= mean;
        x.row_axpy(i, 1.0, row.as_slice_mut().expect("standard layout"));
    }
    Ok(out)
}

impl GaussianCrf {
    /// Fits inputs `x` and outputs `y`, with one sample per row. If both are views of columns of one matrix, copy them
    /// first (`to_owned`), or compute the statistics of the whole matrix and use
    /// [`fit_statistics`](GaussianCrf::fit_statistics), which needs no copy.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that are empty, not finite, a single row, or of different numbers of rows, and for settings out of range;
    /// [`Error::ZeroVariance`] for columns that never vary, inputs counted first; [`Error::Refused`] beyond the memory limit.
    pub fn fit<X, Y>(&self, x: &X, y: &Y) -> Result<GaussianCrfModel, Error>
    where
        X: AsDesign + ?Sized,
        Y: AsDesign + ?Sized,
    {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, of which only the ratios matter, a former model to start from, in the
    /// units of the data, and a closure that watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), for weights of the wrong length, negative, or all 0, and for a start with other inputs or outputs or with a
    /// precision that is not positive definite.
    pub fn fit_with<X, Y>(
        &self,
        x: &X,
        y: &Y,
        fit: Fit<'_, GaussianCrfModel>,
    ) -> Result<GaussianCrfModel, Error>
    where
        X: AsDesign + ?Sized,
        Y: AsDesign + ?Sized,
    {
        let (x, y) = (named("inputs", x.as_design())?, named("outputs", y.as_design())?);
        let (inputs, outputs) = (x.columns(), y.columns());
        self.check_width(inputs + outputs)?;
        Invalid::check_length("rows of the outputs", x.rows(), y.rows())?;
        let mut both = Array2::zeros((x.rows(), inputs + outputs));
        for (i, mut row) in both.rows_mut().into_iter().enumerate() {
            let row = row.as_slice_mut().expect("standard layout");
            x.row_axpy(i, 1.0, &mut row[..inputs]);
            y.row_axpy(i, 1.0, &mut row[inputs..]);
        }
        let Fit { weights, start, mut watch, .. } = fit;
        let statistics = both.statistics(weights, self.max_memory)?;
        self.solve(&statistics, inputs, start, &mut watch)
    }

    /// Fits the means and covariances of all columns, the `inputs` first, then the outputs.
    ///
    /// # Errors
    /// As [`fit_with`](Self::fit_with); [`Invalid`] for weights, and unless there is an input and an output.
    pub fn fit_statistics(
        &self,
        statistics: &Statistics,
        inputs: usize,
        fit: Fit<'_, GaussianCrfModel>,
    ) -> Result<GaussianCrfModel, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        let statistics = statistics.statistics(weights, None)?;
        self.solve(&statistics, inputs, start, &mut watch)
    }

    fn check_width(&self, columns: usize) -> Result<(), Error> {
        let hint = "leave columns out, or raise max_memory";
        check_memory("the covariance matrix", 8 * (columns as u64).pow(2), self.max_memory, hint)
    }

    fn solve(
        &self,
        statistics: &Statistics,
        inputs: usize,
        start: Option<&GaussianCrfModel>,
        watch: &mut Watch<'_>,
    ) -> Result<GaussianCrfModel, Error> {
        let all = statistics.variables();
        if !(1..all).contains(&inputs) {
            let (name, value) = ("inputs", inputs as f64);
            let expected = "at least one input and one output";
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        Invalid::check_nonnegative("l1", self.l1)?;
        Invalid::check_nonnegative("input_l1", self.input_l1)?;
        self.check_width(all)?;
        let (p, q) = (inputs, all - inputs);
        let (mut covariance, mut units) = statistics.on(self.scale)?;
        // Inputs and outputs each in units of their mean variance.
        let variances = statistics.covariance.diag();
        let input_unit = unit_of(self.scale, variances.iter().take(p)).sqrt();
        let output_unit = unit_of(self.scale, variances.iter().skip(p)).sqrt();
        if self.scale == Scale::Covariance {
            units = (0..all).map(|i| if i < p { input_unit } else { output_unit }).collect();
            covariance.indexed_iter_mut().for_each(|((i, j), c)| *c /= units[i] * units[j]);
        }
        let l1 = self.l1 / (output_unit * output_unit);
        let input_l1 = self.input_l1 / (input_unit * output_unit);
        let mut function = Likelihood::new(&covariance, inputs, l1, input_l1)?;
        function.shift = 2.0 * q as f64 * output_unit.ln();
        function.check_bounded()?;
        let penalty = Blocks { outputs: q, l1, input_l1 };
        let mut point = vec![0.0; q * q + p * q];
        match start {
            Some(start) => {
                Invalid::check_length("inputs of the start", p, start.coupling.nrows())?;
                Invalid::check_length("outputs of the start", q, start.coupling.ncols())?;
                let output_units: Array1<f64> = units.iter().skip(p).copied().collect();
                let state = GlassoState::in_units(start.precision.view(), &output_units)?;
                let coupling = start.coupling.indexed_iter();
                let coupling = coupling.map(|((i, j), t)| t * units[i] * output_units[j]);
                point.clear();
                point.extend(state.precision());
                point.extend(coupling);
            }
            // Without inputs and without couplings.
            None => (0..q).for_each(|j| point[j * q + j] = 1.0 / function.yy[[j, j]]),
        }
        let settings = FistaSettings { stop: self.stop, ..FistaSettings::default() };
        let solution = fista(function, penalty, &settings, point, watch)?;
        check_bounded("the conditional field", &solution.report)?;
        let point = &solution.state.point;
        let precision = Array2::from_shape_fn((q, q), |(i, j)| {
            point[i * q + j] / (units[p + i] * units[p + j])
        });
        let coupling = Array2::from_shape_fn((p, q), |(i, j)| {
            point[(q + i) * q + j] / (units[i] * units[p + j])
        });
        let covariance = factor::inverse(&factor::cholesky(precision.view())?);
        let means =
            |from: usize, to: usize| statistics.mean.iter().skip(from).take(to - from).copied();
        let (input_mean, output_mean) = (means(0, p).collect(), means(p, all).collect());
        let report = solution.report;
        Ok(GaussianCrfModel { input_mean, output_mean, precision, covariance, coupling, report })
    }
}
