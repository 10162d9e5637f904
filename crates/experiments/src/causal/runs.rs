//! Sweeps over step sizes, one per seed, and the numbers that claims compare.

use std::sync::Arc;

use fenchel_linalg::text::short;
use fenchel_metrics::spearman;

use super::methods::adapt::{Summary, Sweep};
use crate::race::with_winner;
use crate::runs::lines;
use crate::{Axis, Context, Failure, Figure, Judged, Outcome, SEEDS, Sample, Series, Table};

/// The number of samples at which step sizes are tuned and claims are judged: `K^2 / 4` for `K = 20` states.
pub(super) const AT: usize = 100;

/// The sweeps over step sizes, one per seed. A model that is frozen is read at its start.
pub(super) struct Runs {
    sweeps: Vec<Arc<Vec<Sweep>>>,
    frozen: Option<String>,
}

impl Runs {
    pub(super) fn new(
        context: &Context,
        data: &str,
        one: impl Fn(u64) -> Result<Sweep, Failure> + Sync,
    ) -> Result<Runs, Failure> {
        let sweep = |_: &'static str, (): &(), seed| Ok(vec![one(seed)?]);
        let mut all = lines(context, data, &[("sweep", ())], |()| SEEDS as u64, sweep)?;
        let frozen = context.frozen.map(str::to_owned);
        Ok(Runs { sweeps: all.remove(0).seeds, frozen })
    }

    fn sweeps(&self) -> impl Iterator<Item = &Sweep> {
        self.sweeps.iter().map(|rows| &rows[0])
    }

    /// The models with their names and curves, of every seed.
    pub(super) fn model(&self, model: usize) -> impl Iterator<Item = &Summary> {
        self.sweeps().map(move |sweep| &sweep.models[model])
    }

    fn models(&self) -> usize {
        self.sweeps[0][0].models.len()
    }

    /// The place of the number of samples at which a model is read.
    fn at(&self, sweep: &Sweep, model: usize) -> usize {
        let is_frozen = self.frozen.as_ref() == Some(&sweep.models[model].model);
        sweep.times.iter().position(|&t| t == AT && !is_frozen).unwrap_or(0)
    }

    /// The mean KL divergence after 100 samples, one number per seed.
    pub(super) fn kl(&self, model: usize) -> Result<Sample, Failure> {
        let of = |sweep: &Sweep| sweep.models[model].mean[self.at(sweep, model)];
        Sample::over_seeds(self.sweeps().map(of).collect())
    }

    /// The mean KL divergence at the start, one number per seed.
    pub(super) fn start(&self, model: usize) -> Result<Sample, Failure> {
        Sample::over_seeds(self.model(model).map(|m| m.mean[0]).collect())
    }

    /// Whether the models are in this order, the fastest first, and the divergence of each has fallen.
    pub(super) fn in_order(&self, models: &[usize]) -> Result<Judged, Failure> {
        let name = |model: usize| &self.sweeps[0][0].models[model].model;
        let one = |pair: &[usize]| {
            let judged = self.kl(pair[0])?.below(&self.kl(pair[1])?);
            Ok(judged.named(format!("{}, {}", name(pair[0]), name(pair[1]))))
        };
        let fell = self.fell()?.holds;
        Ok(Judged::all(models.windows(2).map(one))?.provided(fell, "the KL of one has not fallen"))
    }

    /// Whether the divergence of every model has fallen with every seed: a model cannot win against one that did not move.
    pub(super) fn fell(&self) -> Result<Judged, Failure> {
        let mut least = f64::INFINITY;
        for model in 0..self.models() {
            let (from, to) = (self.start(model)?, self.kl(model)?);
            let falls = from.values().iter().zip(to.values()).map(|(a, b)| a / b);
            least = falls.fold(least, f64::min);
        }
        Ok(Judged::from((
            format!("over all seeds the KL of each fell by a factor of {} at least", short(least)),
            least > 1.0,
        )))
    }

    /// Tests with most of the seeds that the mean of each model after 100 samples is between the 5 % and the 95 % quantile of each
    /// other one.
    pub(super) fn overlap(&self) -> Result<Judged, Failure> {
        let (mut text, mut seeds) = (String::new(), 0);
        for sweep in self.sweeps() {
            let at = sweep.times.iter().position(|&t| t == AT).unwrap_or(0);
            let means = (0..self.models()).map(|m| sweep.models[m].mean[self.at(sweep, m)]);
            let inside = |mean: f64| {
                sweep.models.iter().all(|other| (other.low[at]..=other.high[at]).contains(&mean))
            };
            seeds += usize::from(means.clone().all(inside));
            if text.is_empty() {
                for (model, mean) in sweep.models.iter().zip(means) {
                    let [mean, low, high] = [mean, model.low[at], model.high[at]].map(short);
                    text += &format!("; {} {mean} [{low}, {high}]", model.model);
                }
            }
        }
        let all = self.sweeps.len();
        let text = format!("{seeds} of {all} seeds; of the first seed, the mean [5 %, 95 %]{text}");
        Ok(Judged::from((text, 2 * seeds > all)).and(self.fell()?))
    }

    /// The median over the seeds of a rank correlation (Spearman): that of the distance at the start and the KL divergence after 100
    /// samples, over the pairs of all models.
    pub(super) fn correlated(&self) -> Result<Judged, Failure> {
        let mut found = vec![];
        for sweep in self.sweeps() {
            let points = (0..self.models()).flat_map(|m| {
                let at = self.at(sweep, m);
                sweep.models[m].curves.iter().map(move |c| (c.distance_sq, c.kl[at]))
            });
            let (distances, divergences): (Vec<f64>, Vec<f64>) = points.unzip();
            found.push(spearman(&distances, &divergences)?);
        }
        let found = Sample::over_seeds(found)?;
        Ok(Judged::from((format!("Spearman {found}"), found.median() > 0.0)).and(self.fell()?))
    }

    /// Curves, scatter plot and table of the first seed.
    pub(super) fn show(&self, outcome: &mut Outcome, name: &str, axis: fn(&str) -> Axis) {
        let result = &self.sweeps[0][0];
        let mut curves = Figure::new(
            format!("{name}: KL against samples"),
            Axis::linear("samples"),
            axis("KL(p* || p), nats"),
        )
        .caption("p* is the distribution after the intervention, p that of the model. Each run draws a new reference distribution, and one or several interventions on it (the settings say which). The constant step of each model is the one, from the list in the settings, with the least mean KL after 100 samples.");
        let runs = result.models.first().map_or(0, |model| model.curves.len());
        outcome.setting(
            "seeds",
            format!("{}, each with {runs} runs; claims: median [least, largest] over the seeds; figures and tables: the first seed", self.sweeps.len()),
        );
        curves = curves.note(format!(
            "Lines: means of {runs} runs on generated data; bands: 5 % to 95 % of them."
        ));
        let mut scatter = Figure::new(
            format!("{name}: KL after 100 samples against the distance at the start"),
            Axis::log("squared distance of the parameters from the new ones"),
            axis("KL(p* || p), nats"),
        )
        .note(format!("A point for each of {runs} runs on generated data and each model."))
        .caption("Across: the squared distance of the parameters of a model at the reference from those after the intervention. Up: its KL after 100 samples. A run with several interventions has the means over them.");
        let columns = ["model", "step", "KL at the start", "KL at 100", "KL at 400"];
        let mut table = Table::new(
            format!("{name}: KL in nats, means over the {runs} runs of the first seed"),
            columns,
        );
        let at = result.times.iter().position(|&t| t == AT).unwrap_or(0);
        for model in &result.models {
            let times = result.times.iter().map(|&t| t as f64);
            let line = Series::line(model.model.clone(), times.zip(model.mean.clone()).collect());
            let band = model.low.iter().copied().zip(model.high.clone()).collect();
            curves = curves.with(line.band(band));
            let points = model.curves.iter().map(|c| (c.distance_sq, c.kl[at])).collect();
            scatter = scatter.with(Series::points(model.model.clone(), points));
            let last = model.mean[model.mean.len() - 1];
            let numbers = [model.step, model.mean[0], model.mean[at], last].map(Into::into);
            table.push([model.model.clone().into()].into_iter().chain(numbers));
        }
        outcome.figure(with_winner(curves)).figure(scatter).table(table);
    }
}
