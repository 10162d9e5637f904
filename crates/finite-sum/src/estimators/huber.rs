//! Regression with outliers, whose scale is fitted along with the model.

use fenchel_erm::parts::term_scales;
use fenchel_linalg::{AsDesign, Design, Invalid, multiply, multiply_transposed};
use fenchel_optim::model::Saved;
use fenchel_optim::prox::L1;
use fenchel_optim::scalar::increasing_root;
use fenchel_optim::settings;
use fenchel_optim::{Budget, Certificate, Fit, Loss, Status, Stop};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use super::linear::LinearModel;
use super::solve::Penalised;
use crate::Error;
use crate::loss::{Huber, Squared};

settings! {
    /// Regression that outliers do not move far, with the scale `s` of the noise:
    ///
    /// ```math
    /// \min_{x, b, s > 0} \; \frac{s}{2} + \frac{1}{n s} \sum_{i=1}^n h_{\epsilon s}(a_i \cdot x + b - y_i) + \frac{l_2}{2} \|x\|^2
    /// ```
    ///
    /// Here `h` is the loss of [`Huber`], with `epsilon s` as its `delta`. The objective is convex in `(x, b, s)`. It is that of
    /// scikit-learn's estimator of this name divided by `2n`, whose `alpha` is `l2 n`. Without a scale, take
    /// [`Penalised`] with [`Huber`].
    ///
    /// A fit alternates: the model for the scale, by any method, and the scale for the model, which is a root. For a given model, the
    /// derivatives of the loss are a dual point of all three variables, since their mean square is 1. With `l2 > 0` this proves
    /// a gap; without, the certificate is the norm of the gradient.
    ///
    /// A. B. Owen, "A robust hybrid of lasso and ridge regression", Contemporary Mathematics 443 (2007).
    ///
    /// ```
    /// use fenchel_finite_sum::estimators::HuberRegressor;
    /// use ndarray::array;
    ///
    /// let x = array![[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]];
    /// let model = HuberRegressor::default().fit(&x, &[0.1, 0.9, 2.1, 2.9, 4.1, 500.0])?;
    /// assert!((model.linear.weights[0] - 1.0).abs() < 0.1 && model.scale < 1.0);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    pub struct HuberRegressor {
        /// The residual above which the loss is linear, in units of the scale, at least 1.
        epsilon: f64 = 1.35,
        /// Weight of `||x||^2 / 2`; scikit-learn's `alpha / n`.
        l2: f64 = 1e-4,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

/// A fitted regression with the scale of its noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HuberModel {
    /// Weights, intercept and report; it predicts.
    pub linear: LinearModel,
    /// `s`.
    pub scale: f64,
}

impl Saved for HuberModel {
    const KIND: &'static str = "Huber regression";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        Invalid::check_positive("scale", self.scale).map_err(|error| error.to_string())?;
        self.linear.check()
    }
}

/// So many times the model and the scale are fitted in turn at most.
const ROUNDS: usize = 200;

/// With `epsilon = 1`, each scale up to the least residual is a root: the largest of them is found with so much less than 1.
const SLACK: f64 = 1e-12;

/// The largest extrapolation of the logarithm of a scale.
const LEAP: f64 = 3.0;

/// The scales of successive rounds. Their error falls by a constant factor, by which two steps are extrapolated (A. C. Aitken,
/// Proceedings of the Royal Society of Edinburgh 46, 1926). Any scale is a sound place to go on from.
struct Scales(Vec<f64>);

impl Scales {
    /// The scale of the next round, after a round that has led from the last one to this.
    fn next(&mut self, found: f64) -> f64 {
        self.0.push(found.ln());
        let [a, b, c] = self.0[..] else { return found };
        let ratio = (c - b) / (b - a);
        let leap = if ratio.abs() < 1.0 { (c - b) * ratio / (1.0 - ratio) } else { 0.0 };
        let to = c + leap.clamp(-LEAP, LEAP);
        self.0 = vec![to];
        to.exp()
    }
}

impl HuberRegressor {
    /// Fits a model to an `n x d` design and `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, targets beyond 1e150, a negative penalty, or an `epsilon` below 1, for
    /// which the scale would be 0.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<HuberModel, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches the fits of the
    /// model. Only the proportions of the weights matter.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, or not one a row, and for a
    /// start of other features.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        fit: Fit<'_, HuberModel>,
    ) -> Result<HuberModel, Error> {
        let HuberRegressor { epsilon, l2, intercept, stop, seed } = *self;
        let (y, Fit { weights, start, mut watch, .. }) = (y.into().to_vec(), fit);
        if !(epsilon >= 1.0 && epsilon.is_finite()) {
            let (name, expected) = ("epsilon", "a finite number >= 1");
            return Err(Invalid::Parameter { name, value: epsilon, expected }.into());
        }
        stop.check()?;
        let (design, norms) = x.as_design_with_norms()?;
        let n = design.rows();
        Invalid::check_length("targets", n, y.len())?;
        // The scale is in the unit of the targets, so that a loss is one of their squares.
        y.iter().enumerate().try_for_each(|(row, &y)| Squared.check_target(row, y))?;
        let shares = match weights {
            Some(weights) => term_scales(&weights.to_vec(), n)?,
            None => vec![1.0; n],
        };
        let shares: Vec<f64> = shares.into_iter().map(|share| share / n as f64).collect();
        let length =
            norms.iter().zip(&shares).map(|(norm, share)| share * norm).sum::<f64>().sqrt();
        let rows = Rows { y: &y, shares: &shares, epsilon, l2, intercept, length };
        let mut scale = start.map_or_else(|| rows.scale(&rows.spread()), |start| start.scale);
        let mut point = start.map(|start| start.linear.point());
        let mut budget = Budget::new(stop);
        let (mut round, mut scales) = (0, Scales(vec![scale.ln()]));
        loop {
            round += 1;
            let delta = epsilon * scale;
            let mut left = budget.left();
            // The objective of the model is that of all three, less s / 2, times the scale.
            left.relative *= 0.1;
            left.absolute *= 0.1 * scale;
            let penalised = Penalised {
                loss: Huber { delta },
                regulariser: L1 { strength: 0.0 },
                l2: scale * l2,
                intercept,
                stop: left,
                seed,
            };
            let parts = (design, norms.clone());
            let mut fitted = penalised.solve(parts, &y, weights, point.take(), &mut watch)?;
            let ended = fitted.report.status;
            let mut report = budget.spend(fitted.report);
            let residuals = rows.residuals(&design, &fitted.weights, fitted.intercept);
            let next = rows.scale(&residuals);
            report.certificate = rows.certificate(&design, &fitted.weights, &residuals, next);
            let halted = !matches!(ended, Status::Converged | Status::Stalled);
            let still = (next - scale).abs() <= f64::EPSILON * scale || round >= ROUNDS;
            report.status = match ended {
                _ if stop.met_by(&report.certificate) => Status::Converged,
                ended if halted => ended,
                _ => Status::Stalled,
            };
            fitted.report = report;
            let linear = LinearModel::new(fitted, x.names());
            if report.status == Status::Converged || halted || still {
                return Ok(HuberModel { linear, scale: next });
            }
            (point, scale) = (Some(linear.point()), scales.next(next));
        }
    }
}

/// The data of a fit, with weights that add up to 1.
struct Rows<'a> {
    y: &'a [f64],
    shares: &'a [f64],
    epsilon: f64,
    l2: f64,
    intercept: bool,
    /// The root mean square of the lengths of rows, the unit of a gradient.
    length: f64,
}

impl Rows<'_> {
    /// The residuals of the mean, or of 0 without an intercept.
    fn spread(&self) -> Vec<f64> {
        let mean = if self.intercept { self.mean(|i| self.y[i]) } else { 0.0 };
        self.y.iter().map(|y| mean - y).collect()
    }

    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.shares
            .iter()
            .enumerate()
            .filter(|(_, share)| **share > 0.0)
            .map(|(i, s)| s * of(i))
            .sum()
    }

    fn residuals<D: Design>(&self, design: &D, weights: &Array1<f64>, intercept: f64) -> Vec<f64> {
        let mut scores = vec![0.0; self.y.len()];
        multiply(design, &weights.to_vec(), &mut scores);
        scores.iter().zip(self.y).map(|(score, y)| score + intercept - y).collect()
    }

    /// The scale for residuals, the root of `1 = mean min(|r| / s, epsilon)^2`; a tiny one for a perfect fit.
    fn scale(&self, residuals: &[f64]) -> f64 {
        let largest = self.y.iter().fold(0.0, |largest: f64, y| largest.max(y.abs()));
        let least = 10.0 * f64::EPSILON * if largest > 0.0 { largest } else { 1.0 };
        let size = residuals.iter().fold(0.0, |size: f64, r| size.max(r.abs()));
        if !(size > 0.0) {
            return least;
        }
        // In units of the root mean square, the scale is at most 1.
        let unit = size * self.mean(|i| (residuals[i] / size).powi(2)).sqrt();
        let excess = |s: f64| {
            let (mut inside, mut outside) = (0.0, 0.0);
            for (r, share) in residuals.iter().zip(self.shares) {
                let r = (r / unit).abs();
                if r <= self.epsilon * s { inside += share * r * r } else { outside += share }
            }
            let inside = inside / (s * s);
            (1.0 - SLACK - inside - self.epsilon.powi(2) * outside, 2.0 * inside / s)
        };
        (unit * increasing_root(excess, f64::MIN_POSITIVE.sqrt(), 1.0, 1.0, 1e-16)).max(least)
    }

    fn certificate<D: Design>(
        &self,
        design: &D,
        weights: &Array1<f64>,
        residuals: &[f64],
        scale: f64,
    ) -> Certificate {
        let Rows { y, shares, epsilon, l2, intercept, length } = *self;
        let loss = Huber { delta: epsilon };
        let square = weights.iter().map(|w| w * w).sum::<f64>();
        let losses = scale * self.mean(|i| loss.value(residuals[i] / scale, 0.0));
        let objective = 0.5 * scale + losses + 0.5 * l2 * square;
        let mut dual: Vec<f64> =
            residuals.iter().map(|r| (r / scale).clamp(-epsilon, epsilon)).collect();
        let (up, down) = (self.mean(|i| dual[i].max(0.0)), self.mean(|i| (-dual[i]).max(0.0)));
        if l2 > 0.0 {
            if intercept {
                // The larger of both sums is made as small as the other, so that the dual variables add up to 0.
                let (up, down) = ((down / up).min(1.0), (up / down).min(1.0));
                dual.iter_mut().for_each(|u| *u *= if *u > 0.0 { up } else { down });
            }
            let shrink = (1.0 / self.mean(|i| dual[i].powi(2)).sqrt()).min(1.0);
            dual.iter_mut().for_each(|u| *u *= shrink);
        }
        dual.iter_mut().zip(shares).for_each(|(u, share)| *u *= share);
        let mut gradient = vec![0.0; weights.len()];
        multiply_transposed(design, &dual, &mut gradient);
        if l2 > 0.0 {
            let norm = gradient.iter().map(|g| g * g).sum::<f64>();
            let linear: f64 = dual.iter().zip(y).map(|(u, y)| u * y).sum();
            // Any part of a dual point is feasible. Beside the optimum of a perfect fit the whole of it is worth less than nothing.
            let part = if norm > 0.0 { (-linear * l2 / norm).clamp(0.0, 1.0) } else { 1.0 };
            return Certificate::gap(objective, -part * (linear + part * norm / (2.0 * l2)));
        }
        let slope = if intercept { up - down } else { 0.0 };
        let norm = gradient.iter().chain([&slope]).map(|g| g * g).sum::<f64>().sqrt();
        Certificate::residual(objective, norm, 0.0).on_scale(length)
    }
}
