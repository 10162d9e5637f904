//! This module repeats figures 3-5 and 3-6 of D. Babichev, PhD thesis 2019. Stochastic gradient descent with a
//! constant step size fits a linear model to data that are not linear. Averaged parameters are compared with averaged
//! predictions.

use fenchel_linalg::special::sigmoid;
use fenchel_optim::random::{Generator, stream};
use ndarray::{Array2, ArrayView1};
use rand::RngExt;

use super::one_pass::{Data, EXACT, EXPANSION, LAST, Losses, PARAMETERS, TAYLOR, run};
use super::{BABICHEV, babichev};
use crate::numbers::normal;
use crate::{Claim, Context, Experiment, Failure, Outcome, Sample, Source};

pub(super) const FIRST: Experiment = Experiment {
    id: "cs-1",
    title: "Figure 3-5: averaged parameters and averaged predictions",
    question: "With constant steps, are averages of the predictions of all iterates better than the prediction by averaged parameters, and than the best linear model of the log-odds?",
    learnt: "They are better than both, on these data, which no linear model fits, and the more so the larger the step. The Taylor expansion, by which the thesis averages predictions, breaks down with the largest step.",
    quick: "100,000 observations and 5 seeds in the place of 1,000,000 and 10",
    run: first,
    ..Experiment::of(BABICHEV)
};

pub(super) const SECOND: Experiment = Experiment {
    id: "cs-2",
    title: "Figure 3-6: data on which averaged predictions are worse",
    question: "Are averaged predictions better than averaged parameters also on the second data of the thesis, with cubic log-odds?",
    learnt: "They are worse here. With half of the step the excess loss falls to a quarter for averaged parameters, and to a half for averaged predictions.",
    quick: "500,000 observations and 5 seeds in the place of 1,000,000 and 10",
    run: second,
    ..Experiment::of(BABICHEV)
};

const BETTER: Source = babichev(
    "3.7.1",
    "in the first case (Fig. 3-5) averaging predictions beats averaging parameters, and moreover beats the best linear model",
);
const LARGER: Source = babichev(
    "3.7.1",
    "in Fig. 3-5, we can observe the surprising behavior of a larger step-size leading to a better performance",
);
const WORSE: Source = babichev(
    "3.7.1",
    "However in the second case (Fig. 3-6), averaging predictions is not superior to averaging parameters.",
);
const ORDERS: Source = babichev(
    "3.7.1",
    "we can see the dependency of the final performance in γ [the step size] for averaging predictions, instead of γ^2 for averaging parameters",
);
const PLATEAU: Source = babichev(
    "3.7.1",
    "We first observed that constant step-size SGD without averaging leads to a bad performance.",
);
/// The predictors that average predictions.
pub(super) const BOTH: [(&str, usize); 2] =
    [("the document's Taylor expansion", TAYLOR), ("mean over stored iterates", EXACT)];

/// Log-odds as a function of two features. The losses of the best linear model and of the truth are computed by the trapezoid rule with
/// nodes 0.02 apart.
struct Model {
    name: &'static str,
    log_odds: fn(f64, f64) -> f64,
    best: f64,
    truth: f64,
}

const SINES: Model = Model {
    name: "x ~ N(0, I_2), log-odds sin x_1 + sin x_2",
    log_odds: |a, b| a.sin() + b.sin(),
    best: 0.619_099_940_6,
    truth: 0.606_229_331_9,
};
const CUBES: Model = Model {
    name: "x ~ N(0, I_2), log-odds x_1^3 + x_2^3",
    log_odds: |a, b| a * a * a + b * b * b,
    best: 0.483_682_055,
    truth: 0.435_484_59,
};

impl Model {
    /// `n` observations, and the trapezoid rule for expectations over `N(0, I_2)`. For the cubes a rule with nodes 0.2 apart would be
    /// wrong by 6e-7.
    fn draw(&self, n: usize, rng: &mut Generator) -> Data {
        let truth = |r: ArrayView1<f64>| sigmoid((self.log_odds)(r[0], r[1]));
        let x = Array2::from_shape_simple_fn((n, 2), || normal(rng));
        let y =
            x.outer_iter().map(|r| f64::from(u8::from(rng.random::<f64>() < truth(r)))).collect();
        let (h, m) = (0.1, 60_usize);
        let side = 2 * m + 1;
        let at = |k: usize| h * (k as f64 - m as f64);
        let queries = Array2::from_shape_fn((side * side, 2), |(i, j)| {
            at(if j == 0 { i / side } else { i % side })
        });
        let density = |r: ArrayView1<f64>| h * h * (-0.5 * r.dot(&r)).exp() / std::f64::consts::TAU;
        let target = queries.outer_iter().map(truth).collect();
        let weights = queries.outer_iter().map(density).collect();
        Data { x, y, queries, target, weights, best: self.best }
    }
}

fn race<'a>(
    context: &Context,
    model: &Model,
    steps: &'a [f64],
    n: usize,
    outcome: &mut Outcome,
) -> Result<Losses<'a>, Failure> {
    let seeds = context.pick(5, 10);
    outcome.setting("data", model.name).setting("observations", n).setting("seeds", seeds);
    outcome.setting("steps", format!("{steps:?}, constant in a run, this project's choice; the Taylor expansion is judged with those up to 0.5"));
    outcome.note(EXPANSION);
    let losses = run(context, steps, (0.5, 0.0, seeds), |seed| {
        Ok((model.draw(n, &mut stream(context.seed, seed)), 1.0))
    })?;
    outcome.figure(losses.figure("Log-loss less that of the true model", model.best - model.truth));
    outcome.table(losses.table("Log-loss at the end less that of the best linear model, nats"));
    Ok(losses)
}

fn without_averaging(losses: &Losses) -> Result<Claim, Failure> {
    Ok(PLATEAU
        .claim("the last iterate has a larger loss than averaged parameters, with every step")
        .rests_on(["averaged-sgd"])
        .document("larger expected log-loss at the end of the pass, in the median over the seeds (shown: excess over the best linear model of averaged parameters against the last iterate)")
        .holds(losses.all_below(PARAMETERS, LAST)?))
}

fn first(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let steps = [1.0, 0.5, 0.25, 0.125];
    let losses = race(context, &SINES, &steps, context.pick(100_000, 1_000_000), outcome)?;
    let zero = Sample::exact(0.0);
    for (name, which) in BOTH {
        let below = losses.all_below(which, PARAMETERS)?;
        let beaten = losses.judged(which == TAYLOR, |k| Ok(losses.end(k, which)?.below(&zero)))?;
        outcome.claim(
            BETTER
                .claim(format!("averaged predictions ({name}) have a smaller loss than averaged parameters and than the best linear model, with every step that is shown"))
                .rests_on(["averaged-sgd"])
                .document("excess over the best linear model smaller than that of averaged parameters, in the median over the seeds, and below 0 (shown: averaged predictions against averaged parameters, then against 0)")
                .holds(below.and(beaten)),
        );
        let ordered = losses.judged(which == TAYLOR, |k| {
            let smaller = losses.end((k + 1).min(steps.len() - 1), which)?;
            let larger = losses.end(k, which)?;
            Ok(if k + 1 < steps.len() { larger.below(&smaller) } else { larger.below(&zero) })
        })?;
        outcome.claim(
            LARGER
                .claim(format!("averaged predictions ({name}): the larger the step, the better"))
                .rests_on(["averaged-sgd"])
                .document("smaller excess over the best linear model than with half of the step, in the median over the seeds; with the smallest step below 0 (shown: each step against its half, the smallest against 0)")
                .holds(ordered),
        );
    }
    outcome.claim(without_averaging(&losses)?);
    Ok(())
}

fn second(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let steps = [0.5, 0.25, 0.125];
    let losses = race(context, &CUBES, &steps, context.pick(500_000, 1_000_000), outcome)?;
    // log2 of the ratio of the excess at the largest and at the smallest step, a factor of 4 apart.
    let exponent = |which: usize| -> Result<f64, Failure> {
        Ok((losses.end(0, which)?.median() / losses.end(2, which)?.median()).log2() / 2.0)
    };
    let parameters = exponent(PARAMETERS)?;
    for (name, which) in BOTH {
        outcome.claim(
            WORSE
                .claim(format!(
                    "averaged predictions ({name}) have a larger loss than averaged parameters, with every step"
                ))
                .rests_on(["averaged-sgd"])
                .document("larger expected log-loss at the end of the pass, in the median over the seeds (shown: excess over the best linear model of averaged parameters against averaged predictions)")
                .holds(losses.all_below(PARAMETERS, which)?),
        );
        let predictions = exponent(which)?;
        outcome.claim(
            ORDERS
                .claim(format!("the excess over the best linear model is of order g for averaged predictions ({name}) and of order g^2 for averaged parameters, with step g"))
                .rests_on(["averaged-sgd"])
                .document("exponent of g, from the excess with steps 1/2 and 1/8: of predictions nearer to 1 than to 2, of parameters nearer to 2 than to 1")
                .holds((
                    format!("predictions {predictions:.2}, parameters {parameters:.2}"),
                    (0.5..1.5).contains(&predictions) && (1.5..2.5).contains(&parameters),
                )),
        );
    }
    outcome.claim(without_averaging(&losses)?);
    Ok(())
}
