//! Constant-step SGD with averaging in a reproducing kernel Hilbert space.

use fenchel_linalg::Invalid;

use super::MeanFunction;
use crate::Error;

/// The kernel `exp(-|s - t|_1 / sigma)`.
///
/// # Errors
/// [`Invalid::Parameter`] unless `sigma > 0`.
pub fn laplacian_kernel(sigma: f64) -> Result<impl Fn(&[f64], &[f64]) -> f64, Error> {
    Invalid::check_positive("sigma", sigma)?;
    Ok(move |s: &[f64], t: &[f64]| {
        (-s.iter().zip(t).map(|(s, t)| (s - t).abs()).sum::<f64>() / sigma).exp()
    })
}

/// Constant-step SGD for a function `eta(x) = sum_t alpha_t k(x_t, x)`. Step `n` adds the coefficient `alpha_n = -g
/// (a'(eta(x_n)) - y_n)` and multiplies all older coefficients by `1 - g l2`. It evaluates the kernel once per stored
/// point, so that a run costs O(n^2). For more than some ten thousand points, use Nystrom features
/// (`fenchel_linalg::factor::Nystrom`, in its feature `factor`) with [`AveragedSgd`](super::AveragedSgd).
///
/// Averaged predictions are computed for queries that are given before the run. They are exact, and cost one kernel
/// per step and query.
#[derive(Debug, Clone)]
pub struct KernelSgd<M, K> {
    family: M,
    kernel: K,
    step: f64,
    l2: f64,
    points: Vec<Vec<f64>>,
    /// Coefficients divided by `scale`.
    alpha: Vec<f64>,
    scale: f64,
    queries: Vec<Vec<f64>>,
    /// `eta` at the queries, its running mean, and the mean prediction.
    natural: Vec<f64>,
    natural_mean: Vec<f64>,
    prediction_mean: Vec<f64>,
}

impl<M: MeanFunction, K: Fn(&[f64], &[f64]) -> f64> KernelSgd<M, K> {
    /// A method that has seen no data, with the points at which predictions will be needed.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `step > 0`, `l2 >= 0` and `step * l2 < 1`; [`Invalid::Length`] for queries of different lengths;
    /// [`Invalid::NonFinite`].
    pub fn new(
        family: M,
        kernel: K,
        step: f64,
        l2: f64,
        queries: Vec<Vec<f64>>,
    ) -> Result<Self, Error> {
        Invalid::check_positive("step", step)?;
        Invalid::check_nonnegative("l2", l2)?;
        if step * l2 >= 1.0 {
            let (name, value) = ("step * l2", step * l2);
            return Err(Invalid::Parameter { name, value, expected: "a number below 1" }.into());
        }
        for query in &queries {
            Invalid::check_length("query", queries[0].len(), query.len())?;
            Invalid::check_finite("query", query)?;
        }
        let m = queries.len();
        let start = family.mean(0.0);
        Ok(KernelSgd {
            family,
            kernel,
            step,
            l2,
            points: vec![],
            alpha: vec![],
            scale: 1.0,
            queries,
            natural: vec![0.0; m],
            natural_mean: vec![0.0; m],
            prediction_mean: vec![start; m],
        })
    }

    /// One step.
    ///
    /// # Errors
    /// [`Invalid::Length`] if the length is not that of the queries, or of the first observation;
    /// [`Invalid::NonFinite`] if the observation or a kernel value is not finite; [`Invalid::Target`]. After an
    /// error, the observation is not counted.
    pub fn observe(&mut self, x: &[f64], y: f64) -> Result<(), Error> {
        let first = self.queries.first().or(self.points.first());
        Invalid::check_length("observation", first.map_or(x.len(), Vec::len), x.len())?;
        Invalid::check_finite("observation", x)?;
        self.family.check(self.points.len(), y)?;
        let sum: f64 =
            self.points.iter().zip(&self.alpha).map(|(p, a)| a * (self.kernel)(p, x)).sum();
        let change = -self.step * (self.family.mean(self.scale * sum) - y);
        let reached: Vec<f64> = self.queries.iter().map(|q| (self.kernel)(x, q)).collect();
        Invalid::check_finite("step", &[change])?;
        Invalid::check_finite("kernel", &reached)?;
        let shrink = 1.0 - self.step * self.l2;
        self.scale *= shrink;
        if self.scale < 1e-100 {
            self.alpha.iter_mut().for_each(|a| *a *= self.scale);
            self.scale = 1.0;
        }
        self.alpha.push(change / self.scale);
        self.points.push(x.to_vec());
        let share = 1.0 / (self.points.len() + 1) as f64;
        for (q, kernel) in reached.into_iter().enumerate() {
            self.natural[q] = shrink * self.natural[q] + change * kernel;
            self.natural_mean[q] += share * (self.natural[q] - self.natural_mean[q]);
            let mean = self.family.mean(self.natural[q]);
            self.prediction_mean[q] += share * (mean - self.prediction_mean[q]);
        }
        Ok(())
    }

    /// The points of the function, in the order in which they were observed.
    pub fn points(&self) -> &[Vec<f64>] {
        &self.points
    }

    /// Its coefficients, one per point: `eta(x) = sum_t alpha_t k(x_t, x)` is the last iterate. O(n).
    pub fn coefficients(&self) -> Vec<f64> {
        self.alpha.iter().map(|a| self.scale * a).collect()
    }

    /// `a'` at the averaged parameters, one value per query.
    pub fn from_parameters(&self) -> Vec<f64> {
        self.natural_mean.iter().map(|&t| self.family.mean(t)).collect()
    }

    /// The averaged predictions, one per query.
    pub fn from_predictions(&self) -> &[f64] {
        &self.prediction_mean
    }

    /// `eta` of the last iterate, one value per query.
    pub fn natural(&self) -> &[f64] {
        &self.natural
    }
}
