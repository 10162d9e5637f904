//! This module repeats figures 3-5 and 3-6 of D. Babichev, PhD thesis 2019. Stochastic gradient descent with a
//! constant step size fits a linear model to data that are not linear. Averaged parameters are compared with averaged
//! predictions.

use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor};
use fenchel_linalg::special::sigmoid;
use fenchel_optim::random::{Generator, stream};
use ndarray::Array2;
use rand::RngExt;

use super::{BABICHEV, babichev};
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const FIRST: Experiment = Experiment {
    id: "cs-1",
    file: file!(),
    document: BABICHEV,
    title: "Figure 3-5: averaged parameters and averaged predictions",
    question: "Can averaging predictions beat the best linear model?",
    learnt: "Yes where the model is wrong: a larger step is then even better, and averaged parameters never do.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &[],
    run: first,
};

pub(super) const SECOND: Experiment = Experiment {
    id: "cs-2",
    file: file!(),
    document: BABICHEV,
    title: "Figure 3-6: where averaged predictions are not superior",
    question: "When is averaging predictions not superior?",
    learnt: "When the model is nearly right: halving the step then gains a factor four for parameters and two for predictions.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &[],
    run: second,
};

const BETTER: Source = babichev(
    "3.5.2",
    "the constant $\\bar{B}^{\\rm mis}$ can be negative. It means, that we obtain the estimator better than the optimal linear estimator, which is the limit of capacity for averaging parameters.",
);

const WORSE: Source = babichev(
    "3.7.1",
    "However in the second case (Fig. 3-6), averaging predictions is not superior to averaging parameters.",
);
const ORDERS: Source = babichev(
    "3.7.1",
    "we can see the dependency of the final performance in γ for averaging predictions, instead of γ^2 for averaging parameters",
);
const PLATEAU: Source = babichev(
    "3.7.1",
    "We first observed that constant step-size SGD without averaging leads to a bad performance.",
);

/// Log-odds as a function of two features, and the loss of the best linear model, by quadrature.
struct Model {
    name: &'static str,
    log_odds: fn(f64, f64) -> f64,
    best: f64,
}

const SINES: Model = Model {
    name: "x ~ N(0, I_2), log-odds sin x_1 + sin x_2",
    log_odds: |a, b| a.sin() + b.sin(),
    best: 0.619_099_940_6,
};
const CUBES: Model = Model {
    name: "x ~ N(0, I_2), log-odds x_1^3 + x_2^3",
    log_odds: |a, b| a * a * a + b * b * b,
    best: 0.483_727_25,
};

fn normal(rng: &mut Generator) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl Model {
    fn truth(&self, a: f64, b: f64) -> f64 {
        sigmoid((self.log_odds)(a, b))
    }

    /// The excess of the loss over that of the best linear model. The expectation over `N(0, I_2)` is computed by the midpoint rule.
    fn excess(
        &self,
        method: &AveragedSgd<Bernoulli>,
        predictor: Predictor,
    ) -> Result<f64, Failure> {
        let (h, m) = (0.2, 30);
        let grid: Vec<[f64; 2]> = (-m..=m)
            .flat_map(|i| (-m..=m).map(move |j| [f64::from(i) * h, f64::from(j) * h]))
            .collect();
        let x = Array2::from_shape_fn((grid.len(), 2), |(i, j)| grid[i][j]);
        let p = method.predict(&x, predictor)?.means;
        let mut loss = 0.0;
        for (g, p) in grid.iter().zip(&p) {
            let weight = h * h * (-0.5 * (g[0] * g[0] + g[1] * g[1])).exp() / std::f64::consts::TAU;
            let q = self.truth(g[0], g[1]);
            let cross = |q: f64, p: f64| if q > 0.0 { q * p.ln() } else { 0.0 };
            loss -= weight * (cross(q, *p) + cross(1.0 - q, 1.0 - *p));
        }
        Ok(loss - self.best)
    }
}

/// The excess loss at the end of a run, averaged over the seeds, for every step size. There are three predictors: averaged parameters,
/// averaged predictions, and the last iterate. For the last iterate, the loss is averaged over the second half of the run.
struct Ends {
    parameters: Vec<f64>,
    predictions: Vec<f64>,
    last: Vec<f64>,
}

fn race(
    context: &Context,
    model: &Model,
    steps: &[f64],
    chunks: usize,
    outcome: &mut Outcome,
) -> Result<Ends, Failure> {
    let seeds = 3;
    outcome
        .setting("data", model.name)
        .setting("observations", chunks * 10_000)
        .setting("seeds", seeds);
    let mut figure =
        Figure::new("Excess over the best linear model", Axis::log("n"), Axis::linear("nats"))
            .caption("One pass with a constant step g; means over the seeds.");
    let mut ends = Ends { parameters: vec![], predictions: vec![], last: vec![] };
    for (k, &g) in steps.iter().enumerate() {
        let mut sums = vec![[0.0; 3]; chunks];
        for seed in 0..seeds {
            context.check()?;
            let done = (k * seeds + seed) as f64 / (steps.len() * seeds) as f64;
            context.progress(done, "steps");
            let mut rng = stream(context.seed, seed as u64);
            // A method that is frozen takes steps that change no prediction.
            let step = if context.is_frozen("averaged-sgd") { 1e-300 } else { g };
            let settings = AveragedSettings { step: Some(step), ..AveragedSettings::default() };
            let mut method = AveragedSgd::new(Bernoulli, settings);
            for sums in &mut sums {
                let x = Array2::from_shape_simple_fn((10_000, 2), || normal(&mut rng));
                let draw = |r: ndarray::ArrayView1<f64>| model.truth(r[0], r[1]);
                let p: Vec<f64> = x.outer_iter().map(draw).collect();
                let y: Vec<f64> =
                    p.iter().map(|&p| if rng.random::<f64>() < p { 1.0 } else { 0.0 }).collect();
                method.partial_fit(&x, &y)?;
                let all = [Predictor::Parameters, Predictor::Exact, Predictor::Last];
                for (sum, predictor) in sums.iter_mut().zip(all) {
                    *sum += model.excess(&method, predictor)? / seeds as f64;
                }
            }
        }
        let curve = |which: usize| -> Vec<(f64, f64)> {
            sums.iter().enumerate().map(|(i, s)| (1e4 * (i + 1) as f64, s[which])).collect()
        };
        figure = figure
            .with(Series::line(format!("parameters, g = {g}"), curve(0)).dashed())
            .with(Series::line(format!("predictions, g = {g}"), curve(1)));
        let end = sums[chunks - 1];
        ends.parameters.push(end[0]);
        ends.predictions.push(end[1]);
        let half = &sums[chunks / 2..];
        ends.last.push(half.iter().map(|s| s[2]).sum::<f64>() / half.len() as f64);
    }
    outcome.figure(figure);
    Ok(ends)
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn shown(values: &[f64]) -> String {
    values.iter().map(|e| short(*e)).collect::<Vec<_>>().join(", ")
}

fn first(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let chunks = context.pick(10, 100);
    let ends = race(context, &SINES, &[1.0, 0.5, 0.125], chunks, &mut outcome)?;
    let (lowest_parameters, highest_parameters) = (least(&ends.parameters), most(&ends.parameters));
    let highest_predictions = most(&ends.predictions);
    // The excess of the start, which predicts 1/2 everywhere.
    let start = std::f64::consts::LN_2 - SINES.best;
    outcome.claim(
        BETTER
            .claim("averaged predictions end below the loss of the best linear model, for steps 1, 1/2 and 1/8")
            .rests_on(["averaged-sgd"])
            .specification("a negative excess for every step")
            .holds((highest_predictions, highest_predictions < 0.0)),
    );
    outcome.claim(
        BETTER
            .claim("averaged parameters never do")
            .rests_on(["averaged-sgd"])
            .specification(
                "an excess above 0 for every step, and at most half of that of no parameters",
            )
            .holds((
                format!("{} to {}", short(lowest_parameters), short(highest_parameters)),
                lowest_parameters > 0.0 && highest_parameters < 0.5 * start,
            )),
    );
    let falling = ends.predictions.windows(2).all(|w| w[0] < w[1]);
    outcome.claim(
        BETTER
            .claim("a larger step is better for averaged predictions, up to 1")
            .rests_on(["averaged-sgd"])
            .specification("ordered: 1, 1/2, 1/8")
            .holds((shown(&ends.predictions), falling)),
    );
    let worst = ends.last.iter().zip(&ends.parameters).all(|(last, mean)| *last > 2.0 * mean);
    outcome.claim(
        PLATEAU
            .claim(
                "without averaging the loss is worse than with averaged parameters, for every step",
            )
            .rests_on(["averaged-sgd"])
            .specification("more than twice the excess")
            .holds((shown(&ends.last), worst)),
    );
    Ok(outcome)
}

fn second(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let chunks = context.pick(50, 100);
    let ends = race(context, &CUBES, &[0.5, 0.25, 0.125], chunks, &mut outcome)?;
    let Ends { parameters, predictions, last } = &ends;
    let worse = parameters.iter().zip(predictions).all(|(a, b)| b > a);
    let pairs = format!("{} against {}", shown(predictions), shown(parameters));
    outcome.claim(
        WORSE
            .claim("averaged predictions are worse than averaged parameters, for steps 1/2, 1/4 and 1/8")
            .rests_on(["averaged-sgd"])
            .document("a larger excess for every step")
            .holds((pairs, worse)),
    );
    let ratios = [parameters[0] / parameters[1], predictions[1] / predictions[2]];
    outcome.claim(
        ORDERS
            .claim("half of the step leaves a quarter of the excess of averaged parameters, and half of that of averaged predictions")
            .rests_on(["averaged-sgd"])
            .specification("factors in [3, 5] from 1/2 to 1/4 and in [1.7, 2.3] from 1/4 to 1/8")
            .holds((
                shown(&ratios),
                (3.0..=5.0).contains(&ratios[0]) && (1.7..=2.3).contains(&ratios[1]),
            )),
    );
    // B = .042067307, by quadrature.
    let plateau = last[2] / (0.125 * 0.042_067_307);
    outcome.claim(
        PLATEAU
            .claim(
                "without averaging the excess stays at about `g B`, and is the worst of the three",
            )
            .rests_on(["averaged-sgd"])
            .specification("in [0.5, 2] times g B at g = 1/8, mean over the second half")
            .holds((
                plateau,
                (0.5..=2.0).contains(&plateau) && last[2] > most(&[parameters[2], predictions[2]]),
            )),
    );
    Ok(outcome)
}
