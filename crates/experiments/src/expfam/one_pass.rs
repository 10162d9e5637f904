//! One pass of stochastic gradient descent with a constant step, and what the experiments on its averages share: the loss of
//! four predictors after so many observations, for several steps and seeds.

use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor};
use fenchel_linalg::parallel;
use ndarray::{Array1, Array2, Axis as Rows, Slice};

use crate::numbers::{median, range};
use crate::table::row;
use crate::{Axis, Context, Failure, Figure, Judged, Sample, Series, Table};

pub(super) const PARAMETERS: usize = 0;
/// The thesis' way to average predictions.
pub(super) const TAYLOR: usize = 1;
pub(super) const EXACT: usize = 2;
pub(super) const LAST: usize = 3;
const PREDICTORS: [(&str, Predictor); 4] = [
    ("averaged parameters", Predictor::Parameters),
    ("Taylor expansion", Predictor::Taylor),
    ("averaged predictions", Predictor::Exact),
    ("no averaging", Predictor::Last),
];

/// The data of one seed, and the points at which predictions are judged.
pub(super) struct Data {
    pub(super) x: Array2<f64>,
    pub(super) y: Vec<f64>,
    pub(super) queries: Array2<f64>,
    /// `P(y = 1)` or the label of each query.
    pub(super) target: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// The loss that is subtracted.
    pub(super) best: f64,
}

impl Data {
    /// The weighted log-loss above the best.
    pub(super) fn excess(&self, p: &Array1<f64>) -> f64 {
        let one = |q: f64, p: f64| if q > 0.0 { -q * p.max(1e-300).ln() } else { 0.0 };
        let each = self.target.iter().zip(&self.weights).zip(p);
        each.map(|((&q, w), &p)| w * (one(q, p) + one(1.0 - q, 1.0 - p))).sum::<f64>() - self.best
    }
}

/// About three numbers of observations a decade from 100 to `n`.
pub(super) fn counts(n: usize) -> Vec<usize> {
    let all = (6..).map(|k| 10f64.powf(f64::from(k) / 3.0).round() as usize);
    all.take_while(|&m| 4 * m < 3 * n).chain([n]).collect()
}

/// The rows from one to before another.
pub(super) fn rows(x: &Array2<f64>, from: usize, to: usize) -> Array2<f64> {
    x.slice_axis(Rows(0), Slice::from(from..to)).to_owned()
}

/// Losses by seed, step, predictor and number of observations.
pub(super) struct Losses<'a> {
    steps: &'a [f64],
    /// With larger steps the Taylor expansion is shown and not judged.
    taylor: f64,
    counts: Vec<usize>,
    values: Vec<Vec<Vec<Vec<f64>>>>,
}

/// What the notes say of the Taylor expansion.
pub(super) const EXPANSION: &str = "`averaged parameters`: the prediction by averaged parameters. `averaged predictions`: the mean of the predictions of stored iterates; `Taylor \
     expansion`: the same mean by an expansion, as in the thesis. The thesis does not state its steps, and says that they cannot be too large. Here the largest is at most 4 / R^2, and is halved \
     again and again; R^2 is the mean of the squared norm of the features. With large steps the expansion leaves (0, 1), and its loss has no bound: it is judged \
     with steps up to the one that the settings name, the mean over stored iterates with all.";

/// Runs every step on the data of every seed. `draw` returns the data, and the factor of the steps on them.
pub(super) fn run<'a>(
    context: &Context,
    steps: &'a [f64],
    (taylor, l2, seeds): (f64, f64, u64),
    draw: impl Fn(u64) -> Result<(Data, f64), Failure> + Sync,
) -> Result<Losses<'a>, Failure> {
    let seeds: Vec<u64> = (0..seeds).collect();
    let runs = parallel::try_map(&seeds, |&seed| {
        let (data, scale) = draw(seed)?;
        let ends = counts(data.y.len());
        let mut losses = vec![vec![vec![]; PREDICTORS.len()]; steps.len()];
        for (k, step) in steps.iter().enumerate() {
            let done = seed as f64 + k as f64 / steps.len() as f64;
            context.progress(done / seeds.len() as f64, "steps")?;
            // A method that is frozen takes steps that change no prediction.
            let step = if context.is_frozen("averaged-sgd") { 1e-300 } else { step * scale };
            let (step, snapshots) = (Some(step), 25_600 / data.x.ncols().max(50));
            let settings = AveragedSettings { step, l2, snapshots, ..AveragedSettings::default() };
            let mut method = AveragedSgd::new(Bernoulli, settings);
            let mut from = 0;
            for &to in &ends {
                method.partial_fit(&rows(&data.x, from, to), &data.y[from..to])?;
                from = to;
                for (predictor, (_, which)) in PREDICTORS.into_iter().enumerate() {
                    let p = method.predict(&data.queries, which)?.means;
                    losses[k][predictor].push(data.excess(&p));
                }
            }
        }
        Ok::<_, Failure>((ends, losses))
    })?;
    let (ends, values): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    let counts = ends.into_iter().next().unwrap_or_default();
    Ok(Losses { steps, taylor, counts, values })
}

impl Losses<'_> {
    /// The losses after a number of observations, one per seed.
    fn at(&self, step: usize, predictor: usize, count: usize) -> Vec<f64> {
        self.values.iter().map(|seed| seed[step][predictor][count]).collect()
    }

    /// The losses at the end, one per seed.
    pub(super) fn end(&self, step: usize, predictor: usize) -> Result<Sample, Failure> {
        Sample::over_seeds(self.at(step, predictor, self.counts.len() - 1))
    }

    /// One predictor is better than another with every step.
    pub(super) fn all_below(&self, a: usize, b: usize) -> Result<Judged, Failure> {
        self.judged(a == TAYLOR || b == TAYLOR, |k| Ok(self.end(k, a)?.below(&self.end(k, b)?)))
    }

    /// A comparison that must hold with every step; with the Taylor expansion, with every step up to `taylor`.
    pub(super) fn judged(
        &self,
        expanded: bool,
        one: impl Fn(usize) -> Result<Judged, Failure>,
    ) -> Result<Judged, Failure> {
        let steps = self.steps.iter().enumerate();
        let steps = steps.filter(|(_, step)| !expanded || **step <= self.taylor);
        Judged::all(steps.map(|(k, step)| Ok(one(k)?.named(format!("step {step}")))))
    }

    /// Medians over the seeds against n. `above` is added to every loss.
    pub(super) fn figure(&self, title: &str, above: f64) -> Figure {
        let mut figure = Figure::new(title, Axis::log("observations"), Axis::log("excess (nats)"))
            .caption("With the largest and the smallest step, which stands behind each name. What is not above 0 is not drawn.")
            .note(format!(
                "Lines: medians over {} seeds of one pass with a constant step.",
                self.values.len()
            ));
        let ends = self.steps.iter().enumerate();
        for (k, step) in ends.filter(|(k, _)| [0, self.steps.len() - 1].contains(k)) {
            for (predictor, (name, _)) in PREDICTORS.into_iter().enumerate() {
                let point = |(c, &n)| (n as f64, above + median(self.at(k, predictor, c)));
                let points = self.counts.iter().enumerate().map(point).collect();
                figure = figure.with(Series::line(format!("{name}, step = {step}"), points));
            }
        }
        figure
    }

    /// The medians and ranges at the end.
    pub(super) fn table(&self, title: &str) -> Table {
        let mut table = Table::new(title, ["step", "predictor", "median", "least", "largest"]);
        for (k, step) in self.steps.iter().enumerate() {
            for (predictor, (name, _)) in PREDICTORS.into_iter().enumerate() {
                let last = self.at(k, predictor, self.counts.len() - 1);
                let [least, middle, largest] = range(last);
                table.push(row![*step, name, middle, least, largest]);
            }
        }
        table
    }
}
