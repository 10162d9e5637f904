//! This module repeats figure 5.3 of R. Le Priol, PhD thesis 2021: the bias-variance decomposition of the MAP estimate
//! of the mean and the variance of a normal law, with a Bregman divergence as the loss.

use fenchel_expfam::risk::{gamma_map_parts, gamma_map_variance_bound, normal_map};

use super::{LE_PRIOL, le_priol};
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "ef-3",
    title: "Figure 5.3: bias and variance of the MAP estimate of a normal law",
    question: "How do the bias and the variance of the MAP estimate of a normal law fall with the number n of observations?",
    learnt: "The bias falls like 1/n^2, the variance like 1/n. Both are Kullback-Leibler divergences, which add up to the risk. The variance stays below half of its bound.",
    run: experiment,
    ..Experiment::of(LE_PRIOL)
};

const ASYMPTOTE: Source = le_priol("5.5.2", "The asymptote [of figure 5.3] is 1/n.");

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    outcome
        .setting("truth", "N(0, 1)")
        .setting("prior", "n0 = 1 observation, of mean 1 and second moment 2; in the last claim, where the mean is known, of variance mu0 = 2");
    let mut rows = vec![];
    for n in [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 1000] {
        context.check()?;
        let n = f64::from(n);
        let (risk, bias, variance) = normal_map(1.0, 1.0, 1.0, n);
        rows.push((n, risk, bias, variance));
    }
    let pick = |f: fn(&(f64, f64, f64, f64)) -> f64| rows.iter().map(|r| (r.0, f(r))).collect();
    outcome.figure(
        Figure::new(
            "Risk, bias and variance of MAP",
            Axis::log("observations n"),
            Axis::log("nats"),
        )
        .caption("Exact, by one-dimensional integrals; nothing is drawn. The risk is the bias plus the variance.")
        .with(Series::line("risk", pick(|r| r.1)))
        .with(Series::line("bias", pick(|r| r.2)))
        .with(Series::line("variance", pick(|r| r.3)))
        .with(Series::line("1/n", pick(|r| 1.0 / r.0)).dashed()),
    );
    let at = |n: f64| rows.iter().find(|r| r.0 == n).copied().unwrap_or_default();
    let slope = (at(100.0).2 / at(30.0).2).ln() / (100.0_f64 / 30.0).ln();
    outcome.claim(
        le_priol("5.5.2", "These observations [that the biases of the MLE of the variance of a normal law and of a MAP estimate with quadratic risk are O(1/n^2)] hint towards a general O(1/n^2) upper bound for the bias").claim("for a normal law with unknown mean and variance, the bias of the MAP estimate falls like `1/n^2`")
            .document("slope of log bias against log n from 30 to 100 nearer to -2 than to -1")
            .exact((slope, slope < -1.5)),
    );
    let off = [10.0, 100.0, 1000.0].map(|n| n * at(n).3 - 1.0);
    outcome.claim(
        ASYMPTOTE
            .claim("for the same law, n times the variance of the MAP estimate tends to 1; the project reads the asymptote as that of the variance, since the bias is O(1/n^2)")
            .document("n times the variance, less 1: its size falls to less than a third from n = 10 to 100, and again to 1000")
            .exact((format!("{:.4}, {:.4} and {:.4} at n = 10, 100 and 1000", off[0], off[1], off[2]), off.windows(2).all(|o| o[1].abs() < o[0].abs() / 3.0))),
    );
    let slack = (1..=100)
        .map(f64::from)
        .map(|n| gamma_map_parts(0.5, 1.0, 2.0, n).1 / gamma_map_variance_bound(0.5, 1.0, 2.0, n));
    let slack = slack.fold(0.0, f64::max);
    outcome.claim(
        le_priol("5.E.2", "E[B_A*(mu~_n, mu^_n)] <= n E[S_A*(mu^_n, E_n[mu^_n])] [on the left the variance of the estimate mu^_n; E_n: the mean over the last observation alone]")
            .claim("for the estimate of the variance of a normal law of known mean 0, the variance of MAP is at most its bound (5.128), n times the symmetrised divergence S_A* that the last observation alone makes")
            .document("variance over bound at most 1 for n = 1 to 100 (shown: the largest)")
            .exact((slack, slack <= 1.0)),
    );
    Ok(())
}
