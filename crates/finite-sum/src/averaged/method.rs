//! Constant-step SGD, its averages, and predictions from them.

use fenchel_erm::settings;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::Status;
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};

use super::MeanFunction;
use crate::Error;

settings! {
    /// Settings of [`AveragedSgd`].
    pub struct AveragedSettings {
        /// The constant step. The default `None` is `1 / (max a'' R^2)`, where `R^2` is the mean squared norm of the
        /// rows of the first call. It needs a family with a finite `max a''`.
        step: Option<f64> = None,
        /// Weight of the quadratic penalty.
        l2: f64 = 0.0,
        /// The largest number of stored iterates, evenly spread over the run; at least 2.
        snapshots: usize = 256,
        /// Number of steps between two updates of the covariance of the iterates. `Gaussian` and `Taylor` need this
        /// covariance. With 0 it is not computed.
        covariance_every: u64 = 10,
    }
}

/// The way predictions are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Predictor {
    /// `a'(phi.theta)` at the last iterate.
    Last,
    /// `a'(phi.mean)` at the mean iterate.
    Parameters,
    /// The mean of `a'(phi.theta_i)` over the stored iterates `theta_i`.
    Exact,
    /// `E a'(N(phi.mean, phi'C phi))` with the covariance `C` of the iterates.
    Gaussian,
    /// `a'(m) + a'''(m) phi'C phi / 2` at `m = phi.mean`, clamped to the mean domain.
    Taylor,
}

/// Predicted means.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The predicted means, one per row.
    pub means: Array1<f64>,
    /// The number of predictions that were outside the mean domain and were clamped ([`Predictor::Taylor`] only).
    pub clamped: usize,
}

/// Constant-step SGD with averaging, which can be fed row by row.
///
/// ```
/// use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor};
/// use ndarray::array;
///
/// let x = array![[1.0, 0.5], [1.0, -0.5], [1.0, 1.5], [1.0, -1.0]];
/// let mut method = AveragedSgd::new(Bernoulli, AveragedSettings::default());
/// for _ in 0..200 {
///     method.partial_fit(&x, &[1.0, 0.0, 1.0, 0.0])?;
/// }
/// let p = method.predict(&x, Predictor::Exact)?.means;
/// assert!(p[2] > 0.8 && p[3] < 0.2);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<M>", bound(deserialize = "M: Deserialize<'de>"))]
pub struct AveragedSgd<M> {
    family: M,
    settings: AveragedSettings,
    /// The step; 0 before the first rows.
    step: f64,
    theta: Vec<f64>,
    mean: Vec<f64>,
    /// Mean and centred second moments of the iterates. Only every `covariance_every`-th iterate is used.
    sampled: u64,
    centre: Vec<f64>,
    scatter: Vec<f64>,
    snapshots: Vec<Vec<f64>>,
    stride: u64,
    steps: u64,
    diverged: bool,
}

/// The fields as they are in a file, before they are checked.
#[derive(Deserialize)]
struct Unchecked<M> {
    family: M,
    settings: AveragedSettings,
    step: f64,
    theta: Vec<f64>,
    mean: Vec<f64>,
    sampled: u64,
    centre: Vec<f64>,
    scatter: Vec<f64>,
    snapshots: Vec<Vec<f64>>,
    stride: u64,
    steps: u64,
    diverged: bool,
}

impl<M> TryFrom<Unchecked<M>> for AveragedSgd<M> {
    type Error = Error;

    /// Checks that all iterates have one length, and that the covariance exists if the settings say so.
    fn try_from(read: Unchecked<M>) -> Result<Self, Error> {
        let Unchecked { family, settings, step, theta, mean, sampled, centre, .. } = read;
        let Unchecked { scatter, snapshots, stride, steps, diverged, .. } = read;
        let d = theta.len();
        Invalid::check_length("mean", d, mean.len())?;
        let kept = if settings.covariance_every > 0 { d } else { 0 };
        Invalid::check_length("centre", kept, centre.len())?;
        Invalid::check_length("scatter", kept.saturating_mul(kept), scatter.len())?;
        snapshots.iter().try_for_each(|s| Invalid::check_length("snapshot", d, s.len()))?;
        Invalid::check_positive("stride", stride as f64)?;
        if d > 0 {
            Invalid::check_positive("snapshots", snapshots.len() as f64)?;
            Invalid::check_positive("step", step)?;
        }
        Ok(AveragedSgd {
            family,
            settings,
            step,
            theta,
            mean,
            sampled,
            centre,
            scatter,
            snapshots,
            stride,
            steps,
            diverged,
        })
    }
}

impl<M: MeanFunction> AveragedSgd<M> {
    /// A method that has seen no data.
    pub fn new(family: M, settings: AveragedSettings) -> Self {
        AveragedSgd {
            family,
            settings,
            step: 0.0,
            theta: vec![],
            mean: vec![],
            sampled: 0,
            centre: vec![],
            scatter: vec![],
            snapshots: vec![],
            stride: 1,
            steps: 0,
            diverged: false,
        }
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The step size; 0 before the first rows.
    pub fn step_size(&self) -> f64 {
        self.step
    }

    /// The last iterate.
    pub fn last(&self) -> &[f64] {
        &self.theta
    }

    /// The mean of all iterates, including the start.
    pub fn averaged(&self) -> &[f64] {
        &self.mean
    }

    /// [`Status::Diverged`] after an iterate was not finite or too large. The averages do not contain this iterate;
    /// try a smaller step. Otherwise [`Status::PassLimit`], because a run with a constant step has no natural end.
    pub fn status(&self) -> Status {
        if self.diverged { Status::Diverged } else { Status::PassLimit }
    }

    fn begin(&mut self, d: usize, squares: f64) -> Result<(), Error> {
        let AveragedSettings { step, l2, snapshots, .. } = self.settings;
        Invalid::check_nonnegative("l2", l2)?;
        if snapshots < 2 {
            let (name, value) = ("snapshots", snapshots as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 2" }.into());
        }
        if d == 0 {
            return Err(Invalid::Empty { what: "design matrix (columns)" }.into());
        }
        let step = match (step, self.family.curvature()) {
            (None, Some(_)) if !squares.is_finite() => {
                let (name, value) = ("mean square of the first rows", squares);
                let expected = "a finite number: divide columns by their size, or set a step";
                return Err(Invalid::Parameter { name, value, expected }.into());
            }
            (Some(step), _) => step,
            (None, Some(curvature)) if squares > 0.0 => 1.0 / (curvature * squares),
            (None, Some(_)) => 1.0,
            (None, None) => {
                let (name, value) = ("step", f64::NAN);
                let expected = "a number > 0: this family has no bound on its curvature";
                return Err(Invalid::Parameter { name, value, expected }.into());
            }
        };
        Invalid::check_positive("step", step)?;
        if step * l2 >= 1.0 {
            let (name, value) = ("step * l2", step * l2);
            return Err(Invalid::Parameter { name, value, expected: "a number below 1" }.into());
        }
        self.step = step;
        self.theta = vec![0.0; d];
        self.mean = vec![0.0; d];
        self.snapshots = vec![vec![0.0; d]];
        if self.settings.covariance_every > 0 {
            self.centre = vec![0.0; d];
            self.scatter = vec![0.0; d * d];
        }
        Ok(())
    }

    /// Makes one step per row, in the order of the rows. The first call determines the dimension and the default
    /// step, which depends on the mean squared norm of its rows.
    ///
    /// # Errors
    /// [`Invalid`] for another number of columns than before, NaN, targets outside the mean domain, or settings out
    /// of range.
    pub fn partial_fit<'y, X: AsDesign + ?Sized>(
        &mut self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<(), Error> {
        let design = x.as_design()?;
        let y = y.into();
        let (n, d) = (design.rows(), design.columns());
        if n == 0 {
            return Err(Invalid::Empty { what: "design matrix (rows)" }.into());
        }
        Invalid::check_length("targets", n, y.len())?;
        y.iter().enumerate().try_for_each(|(i, &y)| self.family.check(i, y))?;
        if self.theta.is_empty() {
            let squares = (0..n).map(|i| design.row_norm_squared(i)).sum::<f64>() / n as f64;
            self.begin(d, squares)?;
        }
        Invalid::check_length("columns of the design", self.theta.len(), d)?;
        for i in 0..n {
            if self.diverged {
                break;
            }
            self.advance(&design, i, y[i]);
        }
        Ok(())
    }

    fn advance<D: Design>(&mut self, design: &D, i: usize, y: f64) {
        let error = self.family.mean(design.row_dot(i, &self.theta)) - y;
        if self.settings.l2 > 0.0 {
            let shrink = 1.0 - self.step * self.settings.l2;
            self.theta.iter_mut().for_each(|t| *t *= shrink);
        }
        design.row_axpy(i, -self.step * error, &mut self.theta);
        if !self.theta.iter().all(|t| t.abs() < 1e100) {
            self.diverged = true;
            return;
        }
        self.steps += 1;
        let share = 1.0 / (self.steps + 1) as f64;
        self.mean.iter_mut().zip(&self.theta).for_each(|(m, t)| *m += share * (t - *m));
        let every = self.settings.covariance_every;
        if every > 0 && self.steps.is_multiple_of(every) {
            self.update_covariance();
        }
        if self.steps.is_multiple_of(self.stride) {
            self.snapshots.push(self.theta.clone());
            if self.snapshots.len() > self.settings.snapshots {
                // Every second one goes: what is left is spread evenly again.
                let mut keep = false;
                self.snapshots.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
        }
    }

    /// Welford's update of mean and scatter.
    fn update_covariance(&mut self) {
        self.sampled += 1;
        let d = self.theta.len();
        let share = 1.0 / self.sampled as f64;
        let off: Vec<f64> = self.theta.iter().zip(&self.centre).map(|(t, c)| t - c).collect();
        let weight = 1.0 - share;
        for i in 0..d {
            for j in 0..=i {
                self.scatter[i * d + j] += weight * off[i] * off[j];
            }
            self.centre[i] += share * off[i];
        }
    }

    /// `phi'C phi` of row `i`.
    fn spread<D: Design>(&self, design: &D, i: usize) -> f64 {
        let d = self.theta.len();
        let mut row = vec![0.0; d];
        design.row_axpy(i, 1.0, &mut row);
        let mut sum = 0.0;
        for a in 0..d {
            if row[a] != 0.0 {
                let below: f64 = (0..a).map(|b| self.scatter[a * d + b] * row[b]).sum();
                sum += row[a] * (2.0 * below + self.scatter[a * d + a] * row[a]);
            }
        }
        (sum / self.sampled.max(1) as f64).max(0.0)
    }

    /// Predicted means, one per row.
    ///
    /// # Errors
    /// [`Invalid::Empty`] before the first rows; [`Invalid::Length`] for another number of columns;
    /// [`Invalid::Parameter`] if the predictor needs a covariance and none was computed; [`Invalid::NonFinite`] for a
    /// mean that overflows, for instance after a divergence.
    pub fn predict<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        predictor: Predictor,
    ) -> Result<Predictions, Error> {
        let design = x.as_design()?;
        if self.theta.is_empty() {
            return Err(Invalid::Empty { what: "training data" }.into());
        }
        Invalid::check_length("columns of the design", self.theta.len(), design.columns())?;
        if self.scatter.is_empty() && matches!(predictor, Predictor::Gaussian | Predictor::Taylor) {
            let (name, value) = ("covariance_every", 0.0);
            return Err(Invalid::Parameter { name, value, expected: "at least 1" }.into());
        }
        if predictor == Predictor::Last {
            Invalid::check_finite("last iterate", &self.theta)?;
        }
        let (low, high) = self.family.range();
        let mut clamped = 0;
        let means: Array1<f64> = (0..design.rows())
            .map(|i| {
                let middle = || design.row_dot(i, &self.mean);
                match predictor {
                    Predictor::Last => self.family.mean(design.row_dot(i, &self.theta)),
                    Predictor::Parameters => self.family.mean(middle()),
                    Predictor::Exact => {
                        let each =
                            self.snapshots.iter().map(|s| self.family.mean(design.row_dot(i, s)));
                        each.sum::<f64>() / self.snapshots.len() as f64
                    }
                    Predictor::Gaussian => self.family.smoothed(middle(), self.spread(&design, i)),
                    Predictor::Taylor => {
                        let m = middle();
                        let p = self.family.mean(m)
                            + 0.5 * self.family.third(m) * self.spread(&design, i);
                        clamped += usize::from(!(p >= low && p <= high));
                        p.clamp(low, high)
                    }
                }
            })
            .collect();
        if let Some((row, &value)) = means.iter().enumerate().find(|(_, m)| !m.is_finite()) {
            return Err(Invalid::NonFinite { what: "prediction", row, column: 0, value }.into());
        }
        Ok(Predictions { means, clamped })
    }
}

/// Makes one pass over the rows in order. It is [`AveragedSgd`] in one call.
///
/// # Errors
/// Those of [`AveragedSgd::partial_fit`].
pub fn averaged_sgd<'y, M: MeanFunction, X: AsDesign + ?Sized>(
    family: M,
    x: &X,
    y: impl Into<ArrayView1<'y, f64>>,
    settings: &AveragedSettings,
) -> Result<AveragedSgd<M>, Error> {
    let mut method = AveragedSgd::new(family, settings.clone());
    method.partial_fit(x, y)?;
    Ok(method)
}
