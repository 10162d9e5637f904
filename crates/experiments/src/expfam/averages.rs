//! Figure 3-5: constant-step SGD where the linear model is wrong; averaged parameters against averaged predictions.

use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor};
use fenchel_linalg::special::sigmoid;
use fenchel_optim::random::{Generator, stream};
use ndarray::Array2;
use rand::RngExt;

use super::{BABICHEV, babichev};
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "cs-1",
    document: BABICHEV,
    title: "Figure 3-5: averaged parameters and averaged predictions",
    needs: &[],
    run: experiment,
};

const BETTER: Source = babichev(
    "3.5.2",
    "the constant $\\bar{B}^{\\rm mis}$ can be negative. It means, that we obtain the estimator better than the optimal linear estimator, which is the limit of capacity for averaging parameters.",
);

/// The loss of the best linear model, by quadrature.
const BEST: f64 = 0.619_099_940_6;

fn normal(rng: &mut Generator) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn truth(a: f64, b: f64) -> f64 {
    sigmoid(a.sin() + b.sin())
}

/// Excess over the best linear model, by the midpoint rule over `N(0, I_2)`.
fn excess(method: &AveragedSgd<Bernoulli>, predictor: Predictor) -> Result<f64, Failure> {
    let (h, m) = (0.2, 30);
    let grid: Vec<[f64; 2]> = (-m..=m)
        .flat_map(|i| (-m..=m).map(move |j| [f64::from(i) * h, f64::from(j) * h]))
        .collect();
    let x = Array2::from_shape_fn((grid.len(), 2), |(i, j)| grid[i][j]);
    let p = method.predict(&x, predictor)?.means;
    let mut loss = 0.0;
    for (g, p) in grid.iter().zip(&p) {
        let weight = h * h * (-0.5 * (g[0] * g[0] + g[1] * g[1])).exp() / std::f64::consts::TAU;
        let q = truth(g[0], g[1]);
        loss -= weight * (q * p.ln() + (1.0 - q) * (-p).ln_1p());
    }
    Ok(loss - BEST)
}

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let (chunks, seeds) = (context.pick(10, 100), 3);
    outcome
        .setting("data", "x ~ N(0, I_2), log-odds sin x_1 + sin x_2")
        .setting("observations", chunks * 10_000)
        .setting("seeds", seeds);
    let mut figure =
        Figure::new("Excess over the best linear model", Axis::log("n"), Axis::linear("nats"))
            .caption("One pass with a constant step g; means over the seeds.");
    let (mut lowest_parameters, mut highest_predictions) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut highest_parameters = f64::NEG_INFINITY;
    let mut ends = vec![];
    for (k, g) in [1.0, 0.5, 0.125].into_iter().enumerate() {
        let mut sums = vec![[0.0; 2]; chunks];
        for seed in 0..seeds {
            context.check()?;
            context.progress((k * seeds + seed) as f64 / (3 * seeds) as f64, "steps");
            let mut rng = stream(context.seed, seed as u64);
            // A method that is frozen takes steps that change no prediction.
            let step = if context.is_frozen("averaged-sgd") { 1e-300 } else { g };
            let settings = AveragedSettings { step: Some(step), ..AveragedSettings::default() };
            let mut method = AveragedSgd::new(Bernoulli, settings);
            for sums in &mut sums {
                let x = Array2::from_shape_simple_fn((10_000, 2), || normal(&mut rng));
                let draw = |r: ndarray::ArrayView1<f64>| truth(r[0], r[1]);
                let p: Vec<f64> = x.outer_iter().map(draw).collect();
                let y: Vec<f64> =
                    p.iter().map(|&p| if rng.random::<f64>() < p { 1.0 } else { 0.0 }).collect();
                method.partial_fit(&x, &y)?;
                sums[0] += excess(&method, Predictor::Parameters)? / seeds as f64;
                sums[1] += excess(&method, Predictor::Exact)? / seeds as f64;
            }
        }
        let curve = |which: usize| -> Vec<(f64, f64)> {
            sums.iter().enumerate().map(|(i, s)| (1e4 * (i + 1) as f64, s[which])).collect()
        };
        figure = figure
            .with(Series::line(format!("parameters, g = {g}"), curve(0)).dashed())
            .with(Series::line(format!("predictions, g = {g}"), curve(1)));
        let last = sums[chunks - 1];
        lowest_parameters = lowest_parameters.min(last[0]);
        highest_parameters = highest_parameters.max(last[0]);
        highest_predictions = highest_predictions.max(last[1]);
        ends.push(last[1]);
    }
    outcome.figure(figure);
    // The excess of the start, which predicts 1/2 everywhere.
    let start = std::f64::consts::LN_2 - BEST;
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
    let falling = ends.windows(2).all(|w| w[0] < w[1]);
    outcome.claim(
        BETTER
            .claim("a larger step is better for averaged predictions, up to 1")
            .rests_on(["averaged-sgd"])
            .specification("ordered: 1, 1/2, 1/8")
            .holds((ends.iter().map(|e| short(*e)).collect::<Vec<_>>().join(", "), falling)),
    );
    Ok(outcome)
}
