//! This module repeats figure 3-7 of D. Babichev, PhD thesis 2019: averaged predictions in the feature space of a
//! kernel, which is approximated by column sampling (Nystrom).

use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor};
use fenchel_linalg::factor::Nystrom;
use fenchel_linalg::special::{kl, sigmoid};
use fenchel_optim::random::{Generator, stream};
use ndarray::{Array1, Array2, ArrayView1, Axis as Rows};
use rand::RngExt;

use super::{BABICHEV, babichev};
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "cs-3",
    file: file!(),
    document: BABICHEV,
    title: "Figure 3-7: averaged predictions with a Laplacian kernel",
    question: "Do averaged predictions lead with a kernel?",
    learnt: "They do at large steps, by smaller factors than were read from one run, and tie at small ones.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &[],
    run: experiment,
};

const BETTER: Source = babichev(
    "3.7.1",
    "The results are shown in Fig. 3-7, where averaging predictions leads to a better performance than averaging estimators.",
);

/// `exp(-|s - t|_1 / sigma)`.
pub(super) fn laplacian(sigma: f64) -> impl Fn(ArrayView1<f64>, ArrayView1<f64>) -> f64 {
    move |s, t| {
        let distance: f64 = s.iter().zip(t).map(|(s, t)| (s - t).abs()).sum();
        (-distance / sigma).exp()
    }
}

fn points(n: usize, rng: &mut Generator) -> Array2<f64> {
    let mut normal = || {
        let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    Array2::from_shape_simple_fn((n, 5), &mut normal)
}

/// `P(y = 1 | x)` for log-odds `5 / (5 + x'x)`.
fn truth(x: &Array2<f64>) -> Vec<f64> {
    x.outer_iter().map(|r| sigmoid(5.0 / (5.0 + r.dot(&r)))).collect()
}

/// The mean divergence from the true probabilities: the excess over the best of all models.
fn excess(p: &Array1<f64>, q: &[f64]) -> f64 {
    let each = q.iter().zip(p).map(|(&q, &p)| kl(&[q, 1.0 - q], &[p, 1.0 - p]));
    each.sum::<f64>() / q.len() as f64
}

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let (n, seeds) = (60_000, context.pick(2, 5));
    let steps = [4.0, 2.0, 1.0, 0.25];
    outcome
        .setting("data", "x ~ N(0, I_5), log-odds 5 / (5 + x'x)")
        .setting("kernel", "exp(-|s - t|_1 / 50), 100 columns")
        .setting("observations", n)
        .setting("l2", "1e-4, and 1e-3 at step 1")
        .setting("seeds", seeds);
    outcome.note("The document does not state the law of x, the steps and the penalties.");
    let blocks = 12;
    // By step, and at last the larger penalty: parameters, predictions, last iterate.
    let mut sums = vec![vec![[0.0; 3]; blocks]; steps.len() + 1];
    for seed in 0..seeds {
        let mut rng = stream(context.seed, seed);
        let (train, test) = (points(n, &mut rng), points(2000, &mut rng));
        let probability = truth(&train);
        let y: Vec<f64> =
            probability.iter().map(|&p| f64::from(u8::from(rng.random::<f64>() < p))).collect();
        let map = Nystrom::new(points(100, &mut rng), laplacian(50.0))?;
        let (features, queries) = (map.features(train.view())?, map.features(test.view())?);
        let target = truth(&test);
        let runs = steps.iter().map(|&g| (g, 1e-4)).chain([(1.0, 1e-3)]);
        for (k, (g, l2)) in runs.enumerate() {
            context.check()?;
            context.progress(seed as f64 / seeds as f64, "steps");
            let step = Some(if context.is_frozen("averaged-sgd") { 1e-300 } else { g });
            let settings =
                AveragedSettings { step, l2, covariance_every: 0, ..AveragedSettings::default() };
            let mut method = AveragedSgd::new(Bernoulli, settings);
            for (block, sums) in sums[k].iter_mut().enumerate() {
                let rows = block * n / blocks..(block + 1) * n / blocks;
                let part = features.select(Rows(0), &rows.clone().collect::<Vec<_>>());
                method.partial_fit(&part, &y[rows])?;
                let all = [Predictor::Parameters, Predictor::Exact, Predictor::Last];
                for (sum, predictor) in sums.iter_mut().zip(all) {
                    let p = method.predict(&queries, predictor)?.means;
                    *sum += excess(&p, &target) / seeds as f64;
                }
            }
        }
    }
    let mut figure = Figure::new("Excess over the true model", Axis::log("n"), Axis::log("nats"))
        .caption("One pass with a constant step g, l2 = 1e-4; means over the seeds.");
    for (k, g) in steps.iter().enumerate() {
        let curve = |which: usize| -> Vec<(f64, f64)> {
            (0..blocks).map(|b| ((b + 1) as f64 * (n / blocks) as f64, sums[k][b][which])).collect()
        };
        figure = figure
            .with(Series::line(format!("parameters, g = {g}"), curve(0)).dashed())
            .with(Series::line(format!("predictions, g = {g}"), curve(1)));
    }
    outcome.figure(figure);
    let end = |k: usize| sums[k][blocks - 1];
    // The excess of the start, which predicts 1/2 everywhere, is about .067.
    let learned = end(2)[1] < 0.02;
    let ratio = |k: usize| end(k)[0] / end(k)[1];
    let show = |values: &[f64]| values.iter().map(|v| short(*v)).collect::<Vec<_>>().join(", ");
    let better = (0..3).all(|k| end(k)[1] < end(k)[0]);
    outcome.claim(
        BETTER
            .claim("averaged predictions beat averaged parameters, for steps 4, 2 and 1")
            .rests_on(["averaged-sgd"])
            .document("a smaller excess for each step, below 0.02")
            .holds((show(&[ratio(0), ratio(1), ratio(2)]), better && learned)),
    );
    // Both averages share the error of estimation: about what is left at the small step.
    let floor = end(3)[1].min(end(1)[1]).min(end(2)[1]);
    let above = (end(1)[0] - floor) / (end(1)[1] - floor).max(1e-12);
    outcome.claim(
        BETTER
            .claim("they do so by large factors")
            .rests_on(["averaged-sgd"])
            .specification("at least 4 for steps 4 and 2, and 1.8 for step 1")
            .known_failure(
                (
                    show(&[ratio(0), ratio(1), ratio(2)]),
                    ratio(0) >= 4.0 && ratio(1) >= 4.0 && ratio(2) >= 1.8,
                ),
                Reason::checked(
                    "the factors were read from one run; both averages share the error of estimation, about the least excess of the \
                     smaller steps, and above it the factor at step 2 is at least 4",
                    above,
                    above >= 4.0,
                ),
            ),
    );
    outcome.claim(
        BETTER
            .claim("they tie at a small step")
            .rests_on(["averaged-sgd"])
            .specification("within 10 % of each other at step 1/4, both below 0.02")
            .holds((ratio(3), (0.9..=1.1).contains(&ratio(3)) && end(3)[0] < 0.02)),
    );
    let last = (0..steps.len()).all(|k| end(k)[2] > 2.0 * end(k)[0]);
    outcome.claim(
        BETTER
            .claim("the last iterate is far worse")
            .rests_on(["averaged-sgd"])
            .specification("more than twice the excess of averaged parameters, for every step")
            .holds((show(&[end(0)[2], end(1)[2], end(2)[2], end(3)[2]]), last)),
    );
    let penalised = end(4)[1];
    outcome.claim(
        BETTER
            .claim("a larger penalty puts a floor under averaged predictions")
            .rests_on(["averaged-sgd"])
            .specification(
                "l2 = 1e-3 leaves at least 1.5 times the excess of 1e-4 at step 1, below 0.02",
            )
            .holds((
                show(&[penalised, end(2)[1]]),
                penalised >= 1.5 * end(2)[1] && penalised < 0.02,
            )),
    );
    Ok(outcome)
}
