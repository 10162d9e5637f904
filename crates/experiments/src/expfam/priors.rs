//! This module repeats figure 5.5 of R. Le Priol, PhD thesis 2021: the risk of the MAP estimate as a function of the
//! strength and the mean of the prior.

use fenchel_expfam::risk::gamma_map;
use fenchel_linalg::text::short;

use super::{LE_PRIOL, le_priol};
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "ef-2",
    title: "Figure 5.5: the prior with the least risk",
    question: "Which prior mean mu0 gives the MAP estimate of the variance mu* of a normal law the least risk, for each strength n0 of the prior?",
    learnt: "For a strong prior the truth itself. For a weak one a larger mean: about 1 + 1/n0 times the truth with one observation, about three times that with ten.",
    quick: "17 strengths of the prior in the place of 41",
    run: experiment,
    ..Experiment::of(LE_PRIOL)
};

const VALLEY: Source = le_priol(
    "5.A.6",
    "for large values of n_0, it is mu_0 = mu* is the best prior, but for small n_0, one better sets larger values for mu_0. In Figure 5.5, we observe this behavior numerically.",
);

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let points = context.pick(17, 41);
    let grid = |decades: f64| {
        (0..points).map(move |i| 10f64.powf(-2.0 + decades * f64::from(i) / f64::from(points - 1)))
    };
    let axis: Vec<f64> = grid(4.0).collect();
    // For weak priors the best mean is at 2.8 / n0: beyond the figure.
    let means: Vec<f64> = grid(6.0).chain(axis.iter().copied()).collect();
    outcome
        .setting("grid", format!("{points} strengths in [1e-2, 1e2], means in [1e-2, 1e4]"))
        .setting("truth", "N(0, 1), so that mu* = 1");
    let (mut weakest, mut strongest) = (f64::INFINITY, vec![]);
    let valley =
        || Series::line("1 + 1/n0", axis.iter().map(|&n0| (n0, 1.0 + 1.0 / n0)).collect()).dashed();
    let mut figure =
        Figure::new("The best prior mean", Axis::log("prior strength n0"), Axis::log("mu0 / mu*"))
            .caption("The prior mean mu0 of least risk, over the truth mu*; dashed: 1 + 1/n0.")
            .with(valley());
    for (k, n) in [1.0, 5.0, 10.0].into_iter().enumerate() {
        let mut best_means = vec![];
        for &n0 in &axis {
            context.progress(k as f64 / 3.0, "exact risks")?;
            let risks = means.iter().map(|&r| (gamma_map(0.5, n0, r, n), r));
            let at = risks.fold((f64::INFINITY, 1.0), |a, b| if b.0 < a.0 { b } else { a }).1;
            if n0 <= 0.1 {
                weakest = weakest.min(at);
            }
            best_means.push((n0, at));
        }
        strongest.extend(best_means.last().map(|best| best.1));
        let levels = [0.03, 0.1, 0.2, 0.5, 1.0, 3.0];
        let panel = format!("Risk of the MAP estimate with n = {n} observations (figure 5.5)");
        outcome.figure(
            Figure::new(
                panel,
                Axis::log("prior strength n0"),
                Axis::log("mu0 / mu*").limits(1e-2, 1e2),
            )
            .caption("A line joins priors of the same exact risk, in nats; dashed: 1 + 1/n0.")
            .with_contours("risk", &levels, (&axis, &axis), |n0, r| gamma_map(0.5, n0, r, n))
            .with(valley()),
        );
        figure = figure.with(Series::line_points(format!("n = {n}"), best_means));
    }
    outcome.figure(figure);
    outcome.claim(
        VALLEY
            .claim("for a weak prior (`n0 <= 0.1`) the best mean is above the truth, for the strongest one it is the truth")
            .document("mu0 / mu* of least risk on the grid above 1 at each n0 <= 0.1, and the nearest to 1 at n0 = 100, for n = 1, 5 and 10")
            .exact((
                format!("at least {} for n0 <= 0.1; {strongest:?} at n0 = 100, for n = 1, 5 and 10", short(weakest)),
                weakest > 1.0 && strongest.iter().all(|&r| r == 1.0),
            )),
    );
    outcome.note("The text prints `n mu0 / mu* = 1 + 1/n0`. The second term of bound (5.19), that of the bias, is 0 at `mu0 / mu* = 1 + 1/n0`, which is drawn here.");
    Ok(())
}
