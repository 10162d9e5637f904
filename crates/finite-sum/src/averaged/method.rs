//! Constant-step SGD, its averages, and predictions from them.

use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::scalar::increasing_root;
use fenchel_optim::settings;
use fenchel_optim::{MAX_MEMORY, Refusal, Status};
use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use super::MeanFunction;
use crate::Error;

settings! {
    /// Settings of [`AveragedSgd`].
    pub struct AveragedSettings {
        /// The constant step. The default `None` is `1 / (max a'' R^2)`, where `R^2` is the mean squared norm of the
        /// rows of the first call. It needs a family with a finite `max a''`.
        step: Option<f64> = None,
        /// Whether a step uses the gradient where it begins or where it ends.
        update: Update = Update::Explicit,
        /// Weight of the quadratic penalty.
        l2: f64 = 0.0,
        /// The largest number of stored iterates, evenly spread over the run; at least 2.
        snapshots: usize = 256,
        /// Number of steps between two updates of the covariance of the iterates. `Gaussian` and `Taylor` need this
        /// covariance. With 0 it is not computed. The first `10 * covariance_every` steps all count.
        covariance_every: u64 = 10,
        /// Bytes for the iterates that are stored, and for their covariance. `None`: no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

/// The gradient that a step uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Update {
    /// `theta_n = theta_{n-1} - g f_n'(theta_{n-1})`. Diverges for large steps.
    #[default]
    Explicit,
    /// `theta_n = theta_{n-1} - g f_n'(theta_n)`, the proximal step of the term `f_n`. It is an equation in the one variable
    /// `phi_n.theta_n`, and stable for every step, of families without a largest curvature too.
    Implicit,
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
    pub(super) family: M,
    settings: AveragedSettings,
    /// The step; 0 before the first rows.
    step: f64,
    pub(super) theta: Vec<f64>,
    pub(super) mean: Vec<f64>,
    /// Mean and centred second moments of the iterates. After the first ones only every `covariance_every`-th is used, and stands
    /// for the others: this is the number of iterates that they stand for.
    pub(super) sampled: u64,
    centre: Vec<f64>,
    pub(super) scatter: Vec<f64>,
    pub(super) snapshots: Vec<Vec<f64>>,
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
            Invalid::check_positive("sampled", if kept > 0 { sampled as f64 } else { 1.0 })?;
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

    /// The covariance of the iterates, including the start: `d x d`, divided by their number. `None` before the first rows, and
    /// without [`covariance_every`](AveragedSettings::covariance_every). O(d^2).
    pub fn covariance(&self) -> Option<Array2<f64>> {
        let d = self.theta.len();
        let entry =
            |i: usize, j: usize| self.scatter[i.max(j) * d + i.min(j)] / self.sampled as f64;
        (!self.scatter.is_empty()).then(|| Array2::from_shape_fn((d, d), |(i, j)| entry(i, j)))
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
                let what = "a default step for a family whose curvature has no bound; set AveragedSettings::step";
                return Err(Refusal::unsupported("averaged SGD", what).into());
            }
        };
        Invalid::check_positive("step", step)?;
        if self.settings.update == Update::Explicit && step * l2 >= 1.0 {
            let (name, value) = ("step * l2", step * l2);
            return Err(Invalid::Parameter { name, value, expected: "a number below 1" }.into());
        }
        let numbers = if self.settings.covariance_every > 0 { d as u64 + 1 } else { 0 };
        let numbers = numbers.saturating_add(2 + snapshots as u64).saturating_mul(d as u64);
        Refusal::check_memory(
            "averaged SGD (iterates and their covariance)",
            numbers.saturating_mul(8),
            self.settings.max_memory,
            "set covariance_every to 0, or fewer snapshots",
        )?;
        self.step = step;
        self.theta = vec![0.0; d];
        self.mean = vec![0.0; d];
        self.snapshots = vec![vec![0.0; d]];
        if self.settings.covariance_every > 0 {
            // The start, 0, is the first iterate.
            self.sampled = 1;
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
    /// of range; [`Refusal::Unsupported`] without a step for a family whose curvature has no bound;
    /// [`Refusal::MemoryLimit`].
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
        let eta = design.row_dot(i, &self.theta);
        // theta := shrink theta + move phi
        let (shrink, change) = match self.settings.update {
            Update::Explicit => {
                let error = self.family.mean(eta) - y;
                (1.0 - self.step * self.settings.l2, -self.step * error)
            }
            Update::Implicit => {
                let growth = 1.0 + self.step * self.settings.l2;
                let square = design.row_norm_squared(i);
                let rate = self.step * square;
                let end = implicit(&self.family, eta, y, rate, growth);
                // Two forms of one number: the first keeps its digits for small steps, the second for large ones.
                let change = if rate * self.family.variance(end) <= growth {
                    self.step * (y - self.family.mean(end)) / growth
                } else {
                    (end - eta / growth) / square
                };
                (1.0 / growth, change)
            }
        };
        if shrink < 1.0 {
            self.theta.iter_mut().for_each(|t| *t *= shrink);
        }
        design.row_axpy(i, change, &mut self.theta);
        if !self.theta.iter().all(|t| t.abs() < 1e100) {
            self.diverged = true;
            return;
        }
        self.steps += 1;
        let share = 1.0 / (self.steps + 1) as f64;
        self.mean.iter_mut().zip(&self.theta).for_each(|(m, t)| *m += share * (t - *m));
        let every = self.settings.covariance_every;
        if every > 0 {
            if self.steps <= every.saturating_mul(10) {
                self.update_covariance(1);
            } else if self.steps.is_multiple_of(every) {
                self.update_covariance(every);
            }
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

    /// Welford's update of mean and scatter, with an iterate that stands for `count`.
    fn update_covariance(&mut self, count: u64) {
        self.sampled += count;
        let d = self.theta.len();
        let share = count as f64 / self.sampled as f64;
        let off: Vec<f64> = self.theta.iter().zip(&self.centre).map(|(t, c)| t - c).collect();
        let weight = count as f64 * (1.0 - share);
        for i in 0..d {
            for j in 0..=i {
                self.scatter[i * d + j] += weight * off[i] * off[j];
            }
            self.centre[i] += share * off[i];
        }
    }
}

/// The `t = phi.theta_n` of the implicit step from `eta = phi.theta_{n-1}`: the root of the increasing function
/// `growth t - eta + rate (a'(t) - y)`, with `rate = g |phi|^2` and `growth = 1 + g l2`.
fn implicit<M: MeanFunction>(family: &M, eta: f64, y: f64, rate: f64, growth: f64) -> f64 {
    let excess = |t: f64| {
        let slope = growth + rate * family.variance(t);
        (growth * t - eta + rate * (family.mean(t) - y), slope)
    };
    // From the point without the new row, the bracket doubles towards the root.
    let start = eta / growth;
    let sign = if excess(start).0 > 0.0 { -1.0 } else { 1.0 };
    let (mut near, mut far, mut width) = (start, start, 1.0);
    while sign * excess(far).0 < 0.0 && width < f64::MAX {
        (near, far) = (far, start + sign * width);
        width *= 2.0;
    }
    let (low, high) = if sign < 0.0 { (far, near) } else { (near, far) };
    increasing_root(excess, low, high, start, 1e-15)
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
