//! This module repeats figure 5.1 of R. Le Priol, PhD thesis 2021: the risk of maximum likelihood and MAP for the
//! variance of a normal law.

use fenchel_expfam::Prior;
use fenchel_expfam::families::NormalKnownMean;
use fenchel_expfam::risk::{
    Simulated, gamma_map, gamma_map_bound, gamma_mle, gamma_mle_bounds, monte_carlo,
    normal_variance_map_bound,
};
use fenchel_linalg::text::short;

use super::{LE_PRIOL, le_priol};
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "ef-1",
    title: "Figure 5.1: risk of two estimates of the variance of a normal law",
    question: "How large is the risk (expected Kullback-Leibler divergence) of the MLE and of the MAP estimate of a variance, and are their bounds tight?",
    learnt: "With one or two observations the risk of maximum likelihood (MLE) is infinite, and that of MAP, with a prior, finite. Each bound holds wherever it is stated, up to n = 100: that of MLE from n = 3 on, that of MAP from n = 2 on. The bound of MAP is twice the risk in the end.",
    quick: "4,000 simulated trials in the place of 100,000",
    run: experiment,
    ..Experiment::of(LE_PRIOL)
};

const INFINITE: Source = le_priol("5.1", "The MLE expected KL is infinite for n = 1 and n = 2");
const LOWER_VARIANCE: Source =
    le_priol("5.1", "MAP’s expected KL is always finite, and it has lower variance than MLE");
const BOUNDS: Source = le_priol(
    "5.1",
    "Dashed curves are upper bounds (5.18) (blue) and (5.19) (orange, not tight by a factor 2)",
);
/// The seed omits the prior of the figure; this one is twice the truth, worth one observation.
const N0: f64 = 1.0;
const MU0: f64 = 2.0;

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let trials = context.pick(4000, 100_000);
    outcome.setting("truth", "N(0, 1)").setting("n0", N0).setting("mu0", MU0).setting(
        "trials",
        format!("{trials} for each n, each a sample of n observations; one seed"),
    );
    outcome.note("The thesis does not state the prior of the figure. Here it is n0 = 1 pseudo-observation of variance mu0 = 2, twice the truth: the bias in the bound (5.19) is then 0, and the bound 1/n.");
    let family = NormalKnownMean::default();
    let truth = family.with_variance(1.0)?;
    let prior = Prior::new(family, N0, &[MU0])?;
    let sizes: Vec<f64> = (1..=100).map(f64::from).collect();
    let curve = |f: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        sizes.iter().map(|&n| (n, f(n))).filter(|(_, y)| y.is_finite()).collect()
    };
    let map = |n: f64| gamma_map(0.5, N0, MU0, n);
    let map_bound = |n: f64| normal_variance_map_bound(N0, MU0, n);
    let other_bound = |n: f64| gamma_map_bound(0.5, N0, MU0, n);
    let mle = |n: f64| gamma_mle(0.5, n);
    let mle_bound = |n: f64| gamma_mle_bounds(0.5, n).1;
    let (mut drawn, mut off, mut narrower, mut widths) = (vec![], 0.0_f64, true, vec![]);
    // A method that is frozen learns from no more than three observations.
    let seen = |method: &str, n: usize| if context.is_frozen(method) { 3 } else { n };
    let width = |s: &Simulated| s.quantile(0.95) - s.quantile(0.05);
    for (k, n) in [3, 6, 10, 20, 50].into_iter().enumerate() {
        context.progress(k as f64 / 5.0, "simulating")?;
        let by_map = monte_carlo(&truth, Some(&prior), seen("MAP", n), trials, context.seed)?;
        let by_mle = monte_carlo(&truth, None, seen("MLE", n), trials, context.seed + 1)?;
        let size = n as f64;
        if n >= 6 {
            let from = |s: &Simulated, risk: f64| (s.mean - risk).abs() / s.standard_error;
            off = off.max(from(&by_map, map(size))).max(from(&by_mle, mle(size)));
        }
        if n <= 10 {
            let [one, other] = [&by_map, &by_mle].map(width);
            narrower &= one < other;
            widths.push(format!("{} against {} (n = {n})", short(one), short(other)));
        }
        drawn.push((size, [by_map, by_mle]));
    }
    let mut figure = Figure::new(
        "Risk against observations",
        Axis::log("observations n"),
        Axis::log("expected KL (nats)"),
    )
    .caption("Lines: exact. Dashed: bounds by their equations, and the asymptote 1/(2n).")
    .note(format!("Points: means of {trials} trials; vertical lines: 5 % to 95 % of them."))
    .with(Series::line("MLE", curve(&mle)))
    .with(Series::line("MAP", curve(&map)))
    .with(Series::line("(5.18), MLE", curve(&mle_bound)).dashed())
    .with(Series::line("(5.19), MAP", curve(&map_bound)).dashed())
    .with(Series::line("(5.98), MAP", curve(&other_bound)).dashed())
    .with(Series::line("1/(2n)", curve(&|n| 0.5 / n)).dashed());
    for (k, name) in ["MAP, simulated", "MLE, simulated"].into_iter().enumerate() {
        let (points, band) = drawn
            .iter()
            .map(|(n, by): &(f64, [Simulated; 2])| {
                ((*n, by[k].mean), (by[k].quantile(0.05), by[k].quantile(0.95)))
            })
            .unzip();
        figure = figure.with(Series::line_points(name, points).band(band));
    }
    outcome.figure(figure);
    let infinite = mle(1.0).is_infinite() && mle(2.0).is_infinite() && mle(3.0).is_finite();
    let infinite = infinite && map(1.0).is_finite() && map(2.0).is_finite();
    outcome.claim(
        INFINITE
            .claim("the risk of maximum likelihood is infinite for one and two observations, and finite from three on; that of MAP is finite for one and two")
            .at_size("")
            .document("infinite, infinite and finite for n = 1, 2 and 3; MAP finite for n = 1 and 2 (shown: the three risks of MLE)")
            .exact((format!("{}, {}, {:.4}", mle(1.0), mle(2.0), mle(3.0)), infinite)),
    );
    let of_mle = sizes[2..].iter().map(|&n| mle(n) / mle_bound(n));
    let of_map = sizes[1..].iter().map(|&n| map(n) / map_bound(n));
    let worst = of_mle.chain(of_map).fold(0.0, f64::max);
    outcome.claim(
        BOUNDS
            .claim("the risks of MLE and MAP are at most their bounds (5.18) and (5.19)")
            .at_size("")
            .document("risk over bound at most 1, for MLE from n = 3 to 100, for MAP from n = 2 to 100 (shown: the largest)")
            .exact((worst, worst <= 1.0)),
    );
    let slack = map_bound(1e4) / map(1e4);
    outcome.claim(
        BOUNDS
            .claim("for many observations the bound (5.19) of MAP is twice the risk")
            .at_size("")
            .document("bound over risk at n = 10^4 nearer to 2 than to 1 or 3")
            .exact((slack, (1.5..2.5).contains(&slack))),
    );
    outcome.claim(
        LOWER_VARIANCE
            .claim("the divergence of MAP from the truth varies less from trial to trial than that of MLE")
            .rests_on(["MAP", "MLE"])
            .document("the band from 5 % to 95 % of the trials is narrower at n = 3, 6 and 10; simulated means for n >= 6 within four standard errors of the exact risks")
            .holds((
                format!(
                    "widths in nats, MAP against MLE: {}; the means are {} standard errors away at most",
                    widths.join(", "),
                    short(off)
                ),
                narrower && off <= 4.0,
            )),
    );
    Ok(())
}
