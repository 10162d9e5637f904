//! This experiment tests statements of A. Defazio, PhD thesis 2014, table 5.1, on real data that are part of this
//! project: the breast cancer data.

use fenchel_datasets::embedded;
use fenchel_datasets::transform::normalise_rows;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::{Problem, Standardiser};
use fenchel_linalg::Dense;
use fenchel_optim::Loss;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;

use super::methods::{Entry, Line, Method, optimum, run};
use super::thesis;
use crate::race::{Curve, table};
use crate::{Context, Failure, Ground, Outcome};

const PASSES: f64 = 20.0;
const METHODS: [(&str, Method); 3] = [
    ("Finito, alpha 2", Method::FullFinito(2.0)),
    ("SAGA, 1/(3L)", Method::Saga(1.0)),
    ("SAG, 1/L", Method::FullSag(1.0)),
];

pub(super) fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let data = embedded::breast_cancer();
    let mut x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    normalise_rows(&mut x);
    let y = data.y.to_vec();
    // n mu = 2 L
    let mu = 2.0 * Logistic.curvature() / (y.len() as f64 - 2.0);
    let problem = Problem::new(Dense::new(x.view())?, &y, Logistic, Zero, mu)?;
    let (best, _) = optimum(context, &problem)?;
    let mut lines: Vec<[Line; 2]> = vec![];
    let mut curves: Vec<Curve> = vec![];
    for (name, method) in METHODS {
        let line =
            |order| run(context, &problem, &Entry::new(name, method, order), PASSES, 3, best);
        let pair = [line(Order::Uniform)?, line(Order::Permuted)?];
        curves.extend(pair.iter().map(|line| line.mean.clone()));
        lines.push(pair);
    }
    outcome.table(table(
        "Breast cancer, F - F*: each method at random, then permuted".into(),
        &curves,
        &[5.0, 10.0, 20.0],
    ));
    let [finito, saga, sag] = &lines[..] else {
        return Err(Failure::new("one pair of lines a method"));
    };
    let claim = |quote: &'static str, statement: &str, method: usize| {
        thesis("5.2", quote)
            .claim(format!("breast cancer: {statement}"))
            .rests_on([METHODS[method].0])
            .on(Ground::Real)
    };
    let start = finito[0].start();
    let [random, permuted] = finito;
    outcome.claim(
        claim(
            "Empirically converges rapidly under randomised ordering.",
            "Finito converges rapidly in random order",
            0,
        )
        .ours("in each of three seeds, F - F* after 20 passes at most 1e-6 of that at the start")
        .holds(random.at(PASSES)?.past_start(start, 1e6)),
    );
    outcome.claim(
        claim("Is always faster under permuted ordering.", "Finito is faster permuted", 0)
            .document("in each of three seeds, fewer passes to 1e-8")
            .holds(
                permuted
                    .passes_to(1e-8)?
                    .below(&random.passes_to(1e-8)?)
                    .and(random.at(PASSES)?.past_start(start, 10.0)),
            ),
    );
    let [random, permuted] = [saga[0].passes_to(1e-8)?, saga[1].passes_to(1e-8)?];
    outcome.claim(
        claim(
            "The permuted ordering converges at a similar rate to randomised ordering, but sometimes 50% slower or faster.",
            "SAGA is at most 50% slower or faster permuted than at random",
            1,
        )
        .document("in each of three seeds, passes to 1e-8 between 0.5 and 1.5 times those at random")
        .holds(permuted.at_most(1.5, &random).and(random.at_most(2.0, &permuted))),
    );
    let [random, permuted] = [sag[0].at(PASSES)?, sag[1].at(PASSES)?];
    outcome.claim(
        claim(
            "The permuted ordering is extremely slow, sometimes diverging, particularly if aggressive step sizes are used.",
            "SAG is extremely slow permuted",
            2,
        )
        .ours("in each of three seeds, at least 10 times the random order's F - F* after 20 passes, which is at most a hundredth of the start's")
        .holds(random.ahead_by(10.0, &permuted).and(random.past_start(start, 100.0)).and((
            "SAG permuted has left its start",
            sag[1].least()?.past_start(start, 1.2).holds,
        ))),
    );
    outcome.setting(
        "breast cancer",
        format!(
            "n = {}, d = {}, standardised, rows of unit norm, n mu = 2 L; F* = {best:.12}",
            y.len(),
            x.ncols()
        ),
    );
    Ok(())
}
