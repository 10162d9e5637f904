//! This module runs a sweep over step sizes for three seeds, and computes the numbers that claims compare.

use super::methods::adapt::{CategoricalTask, Momentum, Sweep, SweepSettings, Task, sweep};
use super::methods::baseline::{BayesianJoint, BayesianPair};
use fenchel_causal::categorical::{CategoricalPair, JointCategorical};
use fenchel_causal::prior::{CategoricalPrior, Target};
use fenchel_metrics::spearman;
use fenchel_optim::random::stream;

use crate::number::short;
use crate::sample::SEEDS;
use crate::{Axis, Cell, Context, Failure, Figure, Judged, Outcome, Sample, Series, Table};

/// The number of samples at which step sizes are tuned and claims are judged: `K^2 / 4` for `K = 20` states.
pub(super) const AT: usize = 100;

/// The sweeps over step sizes, one per seed.
pub(super) struct Runs {
    pub(super) sweeps: Vec<Sweep>,
    frozen: Option<String>,
}

impl Runs {
    /// Runs `one` with the seed of the context and with the next two seeds.
    pub(super) fn new(
        context: &Context,
        one: impl Fn(u64) -> Result<Sweep, Failure>,
    ) -> Result<Runs, Failure> {
        let mut sweeps = Vec::new();
        for k in 0..SEEDS as u64 {
            context.check()?;
            sweeps.push(one(context.seed + k)?);
        }
        Ok(Runs { sweeps, frozen: context.frozen.map(str::to_owned) })
    }

    /// Whether the learner of this model must stay at its starting point in this run.
    fn is_frozen(&self, model: usize) -> bool {
        self.frozen.as_ref() == Some(&self.sweeps[0].models[model].model)
    }

    /// The mean KL divergence after 100 samples, one number per seed. A frozen learner has the divergence of its starting point.
    pub(super) fn kl(&self, model: usize) -> Result<Sample, Failure> {
        let at = if self.is_frozen(model) { 0 } else { AT };
        Sample::over_seeds(self.sweeps.iter().map(|s| s.mean_at(model, at)).collect())
    }

    /// The mean KL divergence after 100 samples, averaged over the seeds.
    pub(super) fn mean(&self, model: usize) -> Result<f64, Failure> {
        let values = self.kl(model)?;
        Ok(values.values().iter().sum::<f64>() / values.values().len() as f64)
    }

    /// The mean KL divergence at the start, one number per seed.
    pub(super) fn start(&self, model: usize) -> Result<Sample, Failure> {
        Sample::over_seeds(self.sweeps.iter().map(|s| s.mean_at(model, 0)).collect())
    }

    /// Tests for every seed that the mean KL divergence of every learner has decreased by at least `factor`. So a learner cannot win
    /// against one that did not move.
    pub(super) fn moved(&self, factor: f64) -> Result<Judged, Failure> {
        let mut least = f64::INFINITY;
        for model in 0..self.sweeps[0].models.len() {
            let (from, to) = (self.start(model)?, self.kl(model)?);
            let falls = from.values().iter().zip(to.values()).map(|(a, b)| a / b);
            least = falls.fold(least, f64::min);
        }
        Ok(Judged::from((format!("all fell at least {}-fold", short(least)), least >= factor)))
    }

    /// Tests with most of the seeds that the mean of each learner after 100 samples is between the 5 % and the 95 % quantile of each other one. A
    /// frozen learner has the divergence of its start.
    pub(super) fn overlap(&self) -> Result<Judged, Failure> {
        let (mut bands, mut seeds) = (vec![], 0);
        for (seed, sweep) in self.sweeps.iter().enumerate() {
            let at = sweep.times.iter().position(|&t| t == AT).unwrap_or(0);
            let mut inside = true;
            for a in 0..sweep.models.len() {
                let mean = self.kl(a)?.values()[seed];
                for other in &sweep.models {
                    inside &= (other.low[at]..=other.high[at]).contains(&mean);
                }
                let model = &sweep.models[a];
                if seed == 0 {
                    let (low, high) = (short(model.low[at]), short(model.high[at]));
                    bands.push(format!("{} {low} to {high}", model.model));
                }
            }
            seeds += usize::from(inside);
        }
        let (all, bands) = (self.sweeps.len(), bands.join(", "));
        let text = format!("{seeds} of {all} seeds; bands of the first seed: {bands}");
        Ok(Judged::from((text, 2 * seeds > all)))
    }

    fn curves(&self, sweep: &Sweep, model: usize) -> Vec<(f64, f64)> {
        let time = if self.is_frozen(model) { 0 } else { AT };
        let at = sweep.times.iter().position(|&t| t == time).unwrap_or(0);
        sweep.models[model].curves.iter().map(|c| (c.distance_sq, c.kl[at])).collect()
    }

    /// Tests for every seed that the first learner is better on a share of at least `share` of the pairs.
    pub(super) fn wins(&self, first: usize, second: usize, share: f64) -> Judged {
        let one = |sweep: &Sweep| {
            let (a, b) = (self.curves(sweep, first), self.curves(sweep, second));
            a.iter().zip(&b).filter(|(a, b)| a.1 < b.1).count() as f64 / a.len() as f64
        };
        let least = self.sweeps.iter().map(one).fold(1.0, f64::min);
        Judged::from((format!("{:.1} % of the pairs at least", 100.0 * least), least >= share))
    }

    /// Tests for every seed that a rank correlation (Spearman) exceeds a number. It is the correlation of the distance at the start and
    /// the KL divergence after 100 samples, over the pairs of all models.
    pub(super) fn correlated(&self, above: f64) -> Result<Judged, Failure> {
        let mut least = 1.0_f64;
        for sweep in &self.sweeps {
            let pooled = (0..sweep.models.len()).flat_map(|m| self.curves(sweep, m));
            let (distances, divergences): (Vec<f64>, Vec<f64>) = pooled.unzip();
            least = least.min(spearman(&distances, &divergences)?);
        }
        Ok(Judged::from((format!("{} at least", short(least)), least > above)))
    }

    /// The mean squared distance at the start, over all seeds.
    pub(super) fn distance(&self, model: usize) -> f64 {
        let all = self.sweeps.iter().flat_map(|s| &s.models[model].curves);
        let (sum, count) = all.fold((0.0, 0.0), |(s, n), c| (s + c.distance_sq, n + 1.0));
        sum / count
    }
}

/// A reference and a transfer distribution.
pub(super) type Pair = (CategoricalPair, CategoricalPair);

/// References and interventions of a prior; `targets` are taken in turn.
pub(super) fn pairs(
    seed: u64,
    prior: &CategoricalPrior,
    targets: &[Target],
    count: usize,
    references: usize,
) -> Result<Vec<Pair>, Failure> {
    let one = |k: usize| {
        let mut rng = stream(seed, (1_000_000 + k / (count / references)) as u64);
        let reference = prior.sample(&mut rng)?;
        let mut rng = stream(seed, 2_000_000 + k as u64);
        let change = prior.sample_intervention(&reference, targets[k % targets.len()], &mut rng)?;
        let transfer = reference.intervene(&change)?;
        Ok((reference, transfer))
    };
    (0..count).map(one).collect()
}

/// The sweep over pairs, `pool` of them averaged into one curve.
pub(super) fn sweep_pairs(
    seed: u64,
    pairs: &[Pair],
    pool: usize,
    momentum: Momentum,
) -> Result<Sweep, Failure> {
    let tasks = pairs
        .iter()
        .map(|(p, q)| Ok(CategoricalTask::new(p, q)?.momentum(momentum)))
        .collect::<Result<Vec<_>, Failure>>()?;
    Ok(sweep(&tasks, &SweepSettings { seed, pool, ..SweepSettings::default() })?)
}

/// Why not just count? The mean KL after 100 samples of posterior means, of the mechanisms and of the joint table, at the weight of the
/// reference that is best for each.
pub(super) fn counting(seed: u64, pairs: &[Pair]) -> Result<[f64; 2], Failure> {
    let mut best = [f64::INFINITY; 2];
    for strength in [0.3, 1.0, 3.0, 10.0, 30.0, 90.0, 200.0] {
        let mut sum = [0.0; 2];
        for (k, (reference, transfer)) in pairs.iter().enumerate() {
            let samples =
                CategoricalTask::new(reference, transfer)?.draw(AT, &mut stream(seed, k as u64));
            let mut mechanisms = BayesianPair::new(reference, strength)?;
            let mut joint = BayesianJoint::new(reference, strength)?;
            for &sample in &samples {
                mechanisms.learn(sample)?;
                joint.learn(sample)?;
            }
            sum[0] += transfer.kl(&mechanisms.model()?)?;
            sum[1] += JointCategorical::of(transfer).kl(&joint.model()?)?;
        }
        for (b, s) in best.iter_mut().zip(sum) {
            *b = b.min(s / pairs.len() as f64);
        }
    }
    Ok(best)
}

/// Curves, scatter plot, table of the first seed.
pub(super) fn show(outcome: &mut Outcome, name: &str, runs: &Runs) {
    let result = &runs.sweeps[0];
    let mut curves = Figure::new(
        format!("{name}: KL(p* || p) against samples"),
        Axis::linear("samples"),
        Axis::linear("KL, nats"),
    )
    .caption("Means over the pairs; dashed: 5 % and 95 % quantiles. Steps tuned for each model at 100 samples.");
    let mut scatter = Figure::new(
        format!("{name}: KL at 100 samples against the squared distance at the start"),
        Axis::log("squared distance of the parameters"),
        Axis::linear("KL, nats"),
    );
    let mut table = Table::new(
        format!("{name}: mean over the pairs"),
        ["model", "step", "squared distance", "KL at the start", "KL at 100", "KL at 400"],
    );
    let at = result.times.iter().position(|&t| t == AT).unwrap_or(0);
    for model in &result.models {
        let line = |values: &[f64]| -> Vec<(f64, f64)> {
            result.times.iter().map(|&t| t as f64).zip(values.iter().copied()).collect()
        };
        curves = curves
            .with(Series::line(model.model.clone(), line(&model.mean)))
            .with(Series::line(format!("{}, 5 %", model.model), line(&model.low)).dashed())
            .with(Series::line(format!("{}, 95 %", model.model), line(&model.high)).dashed());
        let points = model.curves.iter().map(|c| (c.distance_sq, c.kl[at])).collect();
        scatter = scatter.with(Series::points(model.model.clone(), points));
        let distance =
            model.curves.iter().map(|c| c.distance_sq).sum::<f64>() / model.curves.len() as f64;
        let last = model.mean.last().copied().unwrap_or(f64::NAN);
        table.push([
            Cell::from(model.model.clone()),
            model.step.into(),
            distance.into(),
            model.mean[0].into(),
            model.mean[at].into(),
            last.into(),
        ]);
    }
    outcome.figure(curves).figure(scatter).table(table);
    outcome.setting("average", "all iterates before the last step, the start among them");
    outcome.setting("seeds", SEEDS);
}
