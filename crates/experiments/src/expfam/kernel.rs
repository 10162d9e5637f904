//! This module repeats figure 3-7 of D. Babichev, PhD thesis 2019: averaged predictions in the feature space of a
//! kernel, which is approximated by column sampling (Nystrom).

use fenchel_linalg::factor::Nystrom;
use fenchel_linalg::special::sigmoid;
use fenchel_linalg::text::short;
use fenchel_optim::random::{Generator, stream};
use ndarray::{Array2, ArrayView1};
use rand::RngExt;

use super::averages::BOTH;
use super::one_pass::{Data, EXACT, EXPANSION, PARAMETERS, run};
use super::{BABICHEV, babichev};
use crate::numbers::normal;
use crate::{Context, Experiment, Failure, Outcome, Reason, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "cs-3",
    title: "Figure 3-7: averaged predictions with a Laplacian kernel",
    question: "Are averaged predictions better than averaged parameters with a Laplacian kernel?",
    learnt: "They are with the same step. The smaller the step, the smaller their advantage; at the smallest, 0.5, the two tie. The Taylor expansion, by which the thesis averages predictions, breaks down with large steps.",
    run: experiment,
    ..Experiment::of(BABICHEV)
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
    Array2::from_shape_simple_fn((n, 5), || normal(rng))
}

/// `P(y = 1 | x)` for log-odds `5 / (5 + x'x)`.
fn truth(x: &Array2<f64>) -> Vec<f64> {
    x.outer_iter().map(|r| sigmoid(5.0 / (5.0 + r.dot(&r)))).collect()
}

/// The loss of the truth is subtracted.
fn draw(n: usize, rng: &mut Generator) -> Result<(Data, f64), Failure> {
    let (train, test) = (points(n, rng), points(2000, rng));
    let y = truth(&train).iter().map(|&p| f64::from(u8::from(rng.random::<f64>() < p))).collect();
    let map = Nystrom::new(points(100, rng), laplacian(50.0))?;
    let (x, queries, target) =
        (map.features(train.view())?, map.features(test.view())?, truth(&test));
    let weights = vec![1.0 / 2000.0; 2000];
    let mut data = Data { x, y, queries, target, weights, best: 0.0 };
    data.best = data.excess(&data.target.clone().into());
    Ok((data, 1.0))
}

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let n = 60_000;
    outcome
        .setting("data", "x ~ N(0, I_5), log-odds 5 / (5 + x'x)")
        .setting("kernel", "exp(-|s - t|_1 / 50), 100 columns")
        .setting("observations", format!("{n}; the loss is computed at 2000 others"))
        .setting("steps", "4, 2, 1 and 0.5, constant in a run, this project's choice; the Taylor expansion is judged with 1 and 0.5")
        .setting("seeds", 5);
    outcome.note(EXPANSION);
    outcome.note("The thesis does not state the distribution of x and the penalties. With the larger penalty, l2 = 0.001, the loss of every average stops falling early: the sentence is judged with the smaller one, 0.0001.");
    let steps = [4.0, 2.0, 1.0, 0.5];
    for l2 in [1e-4, 1e-3] {
        let losses =
            run(context, &steps, (1.0, l2, 5), |seed| draw(n, &mut stream(context.seed, seed)))?;
        outcome.figure(losses.figure(&format!("Log-loss less the truth's, l2 = {l2}"), 0.0));
        outcome
            .table(losses.table(&format!("Log-loss at the end less the truth's, l2 = {l2}, nats")));
        if l2 > 1e-4 {
            continue;
        }
        for (name, which) in BOTH {
            let claim = BETTER
                .claim(format!(
                    "averaged predictions ({name}) have a smaller loss than averaged parameters with the same step (l2 = 0.0001)"
                ))
                .rests_on(["averaged-sgd"])
                .document(
                    "smaller expected log-loss at the end with each of the steps under Measured, in the median over the seeds (shown: excess over the truth of averaged predictions against averaged parameters)",
                );
            let judged = losses.all_below(which, PARAMETERS)?;
            let last = steps.len() - 1;
            let tie = losses.end(last, which)?.median() / losses.end(last, PARAMETERS)?.median();
            outcome.claim(if which == EXACT {
                claim.known_failure(
                    judged,
                    Reason::checked(
                        "the sentence holds with all steps but the smallest. There the two nearly tie. \
                         With the smallest step the excess of averaged predictions, divided by that of averaged parameters, is",
                        format!("{} with step 0.5", short(tie)),
                        (0.9..1.1).contains(&tie),
                    ),
                )
            } else {
                claim.holds(judged)
            });
        }
    }
    Ok(())
}
