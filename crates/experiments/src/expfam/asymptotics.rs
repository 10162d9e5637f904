//! This module tests a statement of R. Le Priol, PhD thesis 2021, section 5.5.1: the risk of every family tends to `d
//! / (2n)`, with `d` the dimension of the parameter and `n` the number of samples.

use fenchel_expfam::risk;
use fenchel_linalg::text::short;

use super::{LE_PRIOL, le_priol};
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "ef-7",
    title: "Section 5.5.1: the limit of n times the risk",
    question: "Does n times the risk tend to d / 2, for n observations and d parameters?",
    learnt: "It does for four families with maximum likelihood (MLE) and for five with a prior (MAP). The distance from the limit falls like 1/n.",
    run: experiment,
    ..Experiment::of(LE_PRIOL)
};

const LIMIT: Source = le_priol(
    "5.5.1",
    "Plugging the MLE (5.2) or MAP (5.11) into (5.22) [the quadratic approximation of the divergence B], we get E B(E[T(X)]; mu_n) = d/(2n) + O(n^(-3/2))",
);

/// A family, the dimension of its parameter, and its risk as a function of `n`.
type Case = (&'static str, usize, fn(f64) -> f64);

const CASES: [Case; 9] = [
    ("normal variance, MLE", 1, |n| risk::gamma_mle(0.5, n)),
    ("exponential, MLE", 1, |n| risk::gamma_mle(1.0, n)),
    ("gamma of shape 3, MAP", 1, |n| risk::gamma_map(3.0, 1.0, 2.0, n)),
    ("normal, MAP", 2, |n| risk::normal_map(1.0, 1.0, 1.0, n).0),
    ("covariance of order 3, MLE", 6, |n| risk::covariance_mle(3, n)),
    ("normal vector of dimension 2, MLE", 5, |n| risk::normal_vector_mle(2, n)),
    ("normal of known variance, MAP", 1, |n| risk::quadratic_map(1, 1.0, 2.0, n)),
    ("Poisson of rate 3, MAP", 1, |n| risk::poisson_map(3.0, 1.0, 2.0, n)),
    ("three categories, MAP", 2, |n| {
        risk::categorical_map(&[0.2, 0.3, 0.5], 1.0, &[0.4, 0.4, 0.2], n as u32)
    }),
];

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let mut figure = Figure::new(
        "Relative distance of n times the risk from its limit d / 2",
        Axis::log("observations n"),
        Axis::log("|2 n risk / d - 1|"),
    )
    .caption("Closed forms, one-dimensional integrals and finite sums; nothing is drawn. The priors of MAP are worth n0 = 1 observation, whose mean parameters are not those of the truth. MAP pulls towards its prior while n is small.");
    let (mut worst, mut orders) = (0.0_f64, (f64::INFINITY, 0.0_f64));
    for (name, d, risk) in CASES {
        context.check()?;
        let off = |n: f64| (2.0 * n * risk(n) / d as f64 - 1.0).abs();
        let curve: Vec<(f64, f64)> =
            [10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4].map(|n| (n, off(n))).to_vec();
        let (near, far) = (curve[4].1, curve[6].1);
        worst = worst.max(far);
        orders = (orders.0.min(near / far), orders.1.max(near / far));
        figure = figure.with(Series::line_points(name, curve));
    }
    outcome.figure(figure);
    outcome.claim(
        LIMIT
            .claim("n times the risk, the expected Bregman divergence B of the estimate from the truth, tends to d / 2 for the nine families of the figure, four by maximum likelihood and five by MAP")
            .document("for each family the relative distance from d / 2 falls from n = 10^3 to 10^4 by a factor between 3.2 and 32: the O(n^(-3/2)) of the sentence is a fall of 3.2 at least, and a fall like 1/n is 10")
            .exact((
                format!("it falls by factors of {:.2} to {:.2}, and is {} at most at n = 10^4", orders.0, orders.1, short(worst)),
                orders.0.powi(2) > 10.0 && orders.1.powi(2) < 1000.0,
            )),
    );
    Ok(())
}
