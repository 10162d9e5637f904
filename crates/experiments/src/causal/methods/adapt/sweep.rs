//! Runs several models with a grid of step sizes on many pairs of distributions: the curves of Le Priol, PhD thesis
//! 2021, chapter 4.

use fenchel_linalg::parallel;
use fenchel_optim::random::stream;
use fenchel_optim::settings;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::Average;
use crate::numbers::{mean, sorted};
use fenchel_causal::Error;

/// A reference and a transfer distribution that models can go between.
pub trait Task: Sync {
    /// The type of a draw from the transfer distribution.
    type Sample: Send + Sync;
    /// The names of the models.
    const MODELS: &'static [&'static str];

    /// Draws from the transfer distribution.
    fn draw(&self, samples: usize, rng: &mut impl Rng) -> Vec<Self::Sample>;

    /// The squared distance between the model's parameters at the reference and at the transfer distribution.
    ///
    /// # Errors
    /// The errors of the family.
    fn distance_sq(&self, model: usize) -> Result<f64, Error>;

    /// `KL(transfer || average)` before the first sample and then after every `every` samples. It is infinite once the
    /// iterates diverge.
    ///
    /// # Errors
    /// The errors of the family.
    fn run(
        &self,
        model: usize,
        step: f64,
        average: Average,
        every: usize,
        samples: &[Self::Sample],
    ) -> Result<Vec<f64>, Error>;
}

settings! {
    /// Settings of a sweep.
    pub struct SweepSettings {
        /// The constant steps to choose from.
        steps: Vec<f64> = vec![0.03, 0.1, 0.3, 1.0, 3.0, 9.0, 30.0],
        /// Samples per run.
        samples: usize = 400,
        /// The divergence of the average is computed every so many samples.
        every: usize = 10,
        /// The step size is chosen by the mean KL after this many samples; 100 is K^2/4 for K = 20. It must be a
        /// multiple of `every`.
        tune_at: usize = 100,
        /// Which iterates are averaged.
        average: Average = Average::Uniform,
        /// The number of consecutive tasks whose curves are first averaged into one. The value 10 pools the
        /// interventions of Le Priol, PhD thesis 2021, figure 4.8, column 3.
        pool: usize = 1,
        /// The seed; task k draws from stream k.
        seed: u64 = 1,
    }
}

/// One run of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The squared distance of the parameters at the start, averaged over the pool.
    pub distance_sq: f64,
    /// KL at the start and after every `every` samples.
    pub kl: Vec<f64>,
}

/// A model at its best step size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The name of the model.
    pub model: String,
    /// The chosen step.
    pub step: f64,
    /// A curve for each pool of tasks.
    pub curves: Vec<Curve>,
    /// The mean over the curves.
    pub mean: Vec<f64>,
    /// The 5 % quantile over the curves.
    pub low: Vec<f64>,
    /// The 95 % quantile over the curves.
    pub high: Vec<f64>,
}

/// All models of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The numbers of samples at which curves are read.
    pub times: Vec<usize>,
    /// The models, in the order of [`Task::MODELS`].
    pub models: Vec<Summary>,
}

/// Runs every model with every step size on every task. For each model it keeps the step size with the smallest mean KL
/// at `tune_at`.
///
/// A step size is excluded if its mean KL ends at more than twice the initial value. All models and step sizes receive
/// the same samples of a task. Tasks run on all cores; the result does not depend on their number.
///
/// # Errors
/// The errors of the tasks; [`Error::NoSuchSet`] if every step diverges.
pub fn sweep<T: Task>(tasks: &[T], settings: &SweepSettings) -> Result<Sweep, Error> {
    let SweepSettings { steps, samples, every, tune_at, average, pool, seed } = settings;
    let one = |k: usize| -> Result<Vec<Vec<Curve>>, Error> {
        let task = &tasks[k];
        let draws = task.draw(*samples, &mut stream(*seed, k as u64));
        let model = |m: usize| -> Result<Vec<Curve>, Error> {
            let distance_sq = task.distance_sq(m)?;
            let run = |&step: &f64| {
                Ok(Curve { distance_sq, kl: task.run(m, step, *average, *every, &draws)? })
            };
            steps.iter().map(run).collect()
        };
        (0..T::MODELS.len()).map(model).collect()
    };
    let all = parallel::try_map(0..tasks.len(), one)?;
    let times: Vec<usize> = (0..=samples / every).map(|k| k * every).collect();
    let at = tune_at / every;
    let mut models = Vec::new();
    for (m, name) in T::MODELS.iter().enumerate() {
        let curves = |s: usize| -> Vec<Curve> {
            let pooled = |group: &[Vec<Vec<Curve>>]| {
                let kl = |k: usize| mean(group.iter().map(|t| t[m][s].kl[k]));
                let distance_sq = mean(group.iter().map(|t| t[m][s].distance_sq));
                Curve { distance_sq, kl: (0..times.len()).map(kl).collect() }
            };
            all.chunks(*pool).map(pooled).collect()
        };
        let mean = |curves: &[Curve], k: usize| mean(curves.iter().map(|c| c.kl[k]));
        let judge = |s: usize| {
            let c = curves(s);
            let (start, tuned, end) = (mean(&c, 0), mean(&c, at), mean(&c, times.len() - 1));
            if end <= 2.0 * start && tuned.is_finite() { tuned } else { f64::INFINITY }
        };
        let tuning: Vec<f64> = (0..steps.len()).map(judge).collect();
        let best = (0..steps.len()).filter(|&s| tuning[s] < f64::INFINITY);
        let best = best.min_by(|&a, &b| tuning[a].total_cmp(&tuning[b]));
        let best = best.ok_or(Error::NoSuchSet { what: "step that converges" })?;
        let curves = curves(best);
        let quantile = |k: usize, q: f64| {
            let values = sorted(curves.iter().map(|c| c.kl[k]));
            let place = q * (values.len() - 1) as f64;
            let (low, part) = (place.floor() as usize, place.fract());
            let next = values[(low + 1).min(values.len() - 1)];
            values[low] + part * (next - values[low])
        };
        models.push(Summary {
            model: (*name).into(),
            step: steps[best],
            mean: (0..times.len()).map(|k| mean(&curves, k)).collect(),
            low: (0..times.len()).map(|k| quantile(k, 0.05)).collect(),
            high: (0..times.len()).map(|k| quantile(k, 0.95)).collect(),
            curves,
        });
    }
    Ok(Sweep { times, models })
}
