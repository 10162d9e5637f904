//! Prediction from the indices.

use fenchel_linalg::parallel::try_map;
use fenchel_linalg::{AsDesign, Cholesky, Invalid};
use fenchel_metrics::k_fold;
use fenchel_optim::model::Saved;
use fenchel_optim::{Fit, Report, Status, Watch};
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, Picked, checked, finite};
use crate::error::Error;
use crate::fit::{fit_blocks, refuse_weights, show};
use crate::neighbours::{beyond_nearest, nearest_mean, scaled_r2};
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::Response;

/// How responses are predicted from indices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Smoother {
    /// A plane around the point, weights `exp(-||difference||^2 / (2 h^2))`; its width is a bandwidth `h`.
    #[default]
    LocalLinear,
    /// The mean of the nearest indices; its width is their number, a whole number.
    Neighbours,
}

impl Smoother {
    /// The widths that are tried unless others are given.
    fn widths(self) -> Vec<f64> {
        match self {
            Smoother::LocalLinear => vec![0.15, 0.25, 0.4, 0.6, 1.0, 1.6],
            Smoother::Neighbours => vec![5.0, 10.0, 20.0, 40.0, 80.0],
        }
    }

    fn check_width(self, width: f64) -> Result<(), Invalid> {
        Invalid::check_positive("width", width)?;
        if self == Smoother::LocalLinear && !(1e-100..=1e100).contains(&width) {
            let expected = "a bandwidth between 1e-100 and 1e100";
            return Err(Invalid::Parameter { name: "width", value: width, expected });
        }
        if self == Smoother::Neighbours && !(width >= 1.0 && width.fract() == 0.0) {
            let expected = "a whole number of neighbours";
            return Err(Invalid::Parameter { name: "width", value: width, expected });
        }
        Ok(())
    }
}

/// A reduction, and a smoother on its indices.
///
/// ```
/// use fenchel_moments::{Components, IndexRegressor, Sir, synthetic};
///
/// let features = synthetic::StandardFeatures(5);
/// let truth = ndarray::Array2::from_shape_fn((5, 1), |(c, _)| (c + 1) as f64);
/// let problem = synthetic::multi_index(&features, truth, |z| (2.0 * z[0]).tanh(), 600, 0.2, 1)?;
/// let sir = Sir { components: Components::Fixed(1), ..Sir::default() };
/// let model = IndexRegressor::new(sir).fit(&problem.x, &problem.y)?;
/// assert!(model.cross_validated_r2 > 0.8);
/// assert_eq!(model.predict(&problem.x)?.len(), 600);
/// # Ok::<(), fenchel_moments::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexRegressor<R> {
    /// The method that finds the directions.
    pub reducer: R,
    /// How responses are predicted from indices of variance 1. Default: `LocalLinear`.
    pub smoother: Smoother,
    /// The widths that cross-validation tries. Default: empty, for bandwidths 0.15, 0.25, 0.4, 0.6, 1, 1.6, or 5, 10, 20,
    /// 40, 80 neighbours.
    pub widths: Vec<f64>,
    /// Parts of the samples for cross-validation. Default: 5.
    pub folds: usize,
    /// Seed of the folds. Default: 0.
    pub seed: u64,
}

/// A fitted index regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexModel {
    /// The directions.
    pub reduction: Reduction,
    /// How responses are predicted.
    pub smoother: Smoother,
    /// The width that was chosen.
    pub width: f64,
    /// R2 of predictions of held-out responses. The directions are estimated anew in every fold.
    pub cross_validated_r2: f64,
    /// The report of the reduction.
    pub report: Report,
    spread: Array1<f64>,
    indices: Array2<f64>,
    responses: Vec<f64>,
}

impl Saved for IndexModel {
    const KIND: &'static str = "moments-index-regression";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        self.reduction.check()?;
        let k = self.reduction.components();
        let fits = self.spread.len() == k && self.indices.dim() == (self.responses.len(), k);
        if !fits {
            return Err("the parts have different sizes".into());
        }
        if self.responses.is_empty() {
            return Err("no samples".into());
        }
        self.smoother.check_width(self.width).map_err(|error| error.to_string())?;
        if !self.spread.iter().all(|s| s.is_finite() && *s > 0.0) {
            return Err("the spread of an index is not a positive number".into());
        }
        let finite = self.indices.iter().chain(&self.responses).chain([&self.cross_validated_r2]);
        if finite.into_iter().all(|v| v.is_finite()) {
            Ok(())
        } else {
            Err("not all numbers are finite".into())
        }
    }
}

impl<R: Reducer> IndexRegressor<R> {
    /// The defaults with a method.
    pub fn new(reducer: R) -> Self {
        let smoother = Smoother::LocalLinear;
        IndexRegressor { reducer, smoother, widths: vec![], folds: 5, seed: 0 }
    }

    /// Fits directions and smoother to numbers `y`; the width is that of the best cross-validated R2.
    ///
    /// # Errors
    /// The errors of the method; [`Invalid::Parameter`] for widths out of range.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<IndexModel, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with a closure that is called with the report of every fold, and of the fit to all samples. After
    /// `Break` the width is chosen by the folds so far. The method is fitted without a start.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Refused`] for weights.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        fit: Fit<'_, IndexModel>,
    ) -> Result<IndexModel, Error> {
        refuse_weights("index regression", &fit)?;
        let mut watch = fit.watch;
        let (data, response) = (checked(x)?, Response::from(y.into()));
        response.check(data.count())?;
        let own = if self.widths.is_empty() { self.smoother.widths() } else { vec![] };
        let widths = if own.is_empty() { &self.widths } else { &own };
        for &width in widths {
            self.smoother.check_width(width)?;
        }
        let (choice, stopped) = self.choose(&data, &response, widths, &mut watch)?;
        let mut model = self.fitted(&data, &response, choice.0)?;
        model.cross_validated_r2 = choice.1;
        if stopped {
            model.report.status = Status::Stopped;
        }
        let _ = show(&mut watch, &model.report);
        Ok(model)
    }

    fn fitted(
        &self,
        data: &dyn Blocks,
        response: &Response,
        width: f64,
    ) -> Result<IndexModel, Error> {
        let reduction = fit_blocks(&self.reducer, data, response)?;
        let mut indices = reduction.transform_blocks(data)?;
        let n = indices.nrows() as f64;
        let spread: Array1<f64> = indices
            .columns()
            .into_iter()
            .map(|c| {
                // By the largest first, so that no square overflows or vanishes.
                let largest = c.fold(0.0, |m: f64, v| m.max(v.abs())).max(f64::MIN_POSITIVE);
                let squares: f64 = c.iter().map(|v| (v / largest).powi(2)).sum();
                (largest * (squares / n).sqrt()).max(f64::MIN_POSITIVE)
            })
            .collect();
        indices /= &spread;
        Ok(IndexModel {
            report: reduction.report,
            reduction,
            smoother: self.smoother,
            width,
            cross_validated_r2: f64::NAN,
            spread,
            indices,
            responses: response.values().to_vec(),
        })
    }

    /// The best width with its R2, and whether the closure stopped before all folds.
    fn choose(
        &self,
        data: &dyn Blocks,
        response: &Response,
        widths: &[f64],
        watch: &mut Watch,
    ) -> Result<((f64, f64), bool), Error> {
        let n = data.count();
        let mut predicted = vec![vec![]; widths.len()];
        let (mut seen, mut stopped) = (vec![], false);
        for (fold, (train, held)) in k_fold(n, self.folds, self.seed)?.into_iter().enumerate() {
            let inner = Picked { data, index: &train };
            let fitted = self.fitted(&inner, &response.pick(&train)?, widths[0]);
            let mut model = fitted.map_err(Error::without(fold, self.folds))?;
            let outer = Picked { data, index: &held };
            for (predicted, &width) in predicted.iter_mut().zip(widths) {
                model.width = width;
                predicted.extend(model.predict_blocks(&outer)?);
            }
            seen.extend(held.iter().map(|&i| response.values()[i]));
            stopped = show(watch, &model.report).is_break();
            if stopped {
                break;
            }
        }
        let mut best = (widths[0], f64::NEG_INFINITY);
        for (predicted, &width) in predicted.iter().zip(widths) {
            let found = scaled_r2(&seen, predicted)?;
            if found > best.1 {
                best = (width, found);
            }
        }
        if !best.1.is_finite() {
            let reason = "they are not finite for any width".to_owned();
            return Err(Invalid::Layout { what: "held-out predictions", reason }.into());
        }
        Ok((best, stopped))
    }
}

impl IndexModel {
    /// The predicted response of every row. O(n) per prediction.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a wrong number of features; [`Invalid::NonFinite`], or [`Invalid::Layout`] with the row, for
    /// a row so large that its index or the prediction is not a number.
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        self.predict_blocks(&x.as_design()?)
    }

    fn predict_blocks(&self, data: &dyn Blocks) -> Result<Array1<f64>, Error> {
        let points = self.reduction.transform_blocks(data)? / &self.spread;
        let points = finite(points, "indices of the rows")?;
        let n = points.nrows();
        let parts = (n / 64).clamp(1, 64);
        let predicted = try_map(0..parts, |p| {
            let rows = p * n / parts..(p + 1) * n / parts;
            rows.map(|i| self.at(points.row(i)))
                .zip(p * n / parts..)
                .map(|(found, row)| match found {
                    Ok(value) if value.is_finite() => Ok(value),
                    _ => {
                        let reason = format!("row {row} is too far from the samples to predict it");
                        Err(Invalid::Layout { what: "design matrix", reason }.into())
                    }
                })
                .collect::<Result<Vec<f64>, Error>>()
        })?;
        Ok(predicted.concat().into())
    }

    /// The indices of the samples, divided by their spread, and the responses.
    #[cfg(feature = "plot")]
    pub(crate) fn rows(&self) -> (&Array2<f64>, &[f64]) {
        (&self.indices, &self.responses)
    }

    /// The prediction at indices that were divided by their spread.
    pub(crate) fn at(&self, point: ArrayView1<f64>) -> Result<f64, Error> {
        match self.smoother {
            Smoother::Neighbours => {
                let count = (self.width as usize).max(1);
                Ok(nearest_mean(self.indices.view(), &self.responses, point, count))
            }
            Smoother::LocalLinear => self.local_linear(point),
        }
    }

    /// The level of the plane at the point. Its least squares are taken around the weighted mean of the samples, so that
    /// a point far from them cancels no digits.
    fn local_linear(&self, point: ArrayView1<f64>) -> Result<f64, Error> {
        let k = point.len();
        let scale = -0.5 / (self.width * self.width);
        let beyond = beyond_nearest(self.indices.view(), point);
        // Relative to the nearest, so that far points lean on what there is.
        let least = beyond.iter().fold(f64::INFINITY, |m, &v| m.min(v));
        let weights: Vec<f64> = beyond.iter().map(|d| (scale * (d - least)).exp()).collect();
        let near = || {
            let rows = self.indices.axis_iter(Axis(0)).zip(&weights).zip(&self.responses);
            rows.filter(|((_, w), _)| **w >= 1e-9)
        };
        let mut total = 0.0;
        let (mut mean, mut level) = (Array1::<f64>::zeros(k), 0.0);
        for ((row, &w), y) in near() {
            // Running means: sums of responses near 1e308 are infinite.
            total += w;
            mean.zip_mut_with(&row, |m, a| *m += w / total * (a - *m));
            level += w / total * (y - level);
        }
        let mut left = Array2::<f64>::zeros((k, k));
        let mut right = Array1::<f64>::zeros(k);
        for ((row, &w), y) in near() {
            let u = &row - &mean;
            for a in 0..k {
                right[a] += w * u[a] * (y - level);
                for b in 0..k {
                    left[[a, b]] += w * u[a] * u[b];
                }
            }
        }
        // A ridge on the slopes alone: beyond the data the prediction is a mean.
        let ridge = 1e-3 * total;
        left.diag_mut().mapv_inplace(|v| v + ridge);
        let slopes = Cholesky::new(left.view())?.solve(right.view())?;
        let along: f64 = slopes.iter().zip(&point).zip(&mean).map(|((s, p), m)| s * (p - m)).sum();
        Ok(level + along)
    }
}
