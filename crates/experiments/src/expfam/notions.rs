//! This module repeats table 5.1 of R. Le Priol, PhD thesis 2021: three definitions of the variance of stochastic
//! mirror descent, for the variance of a normal law.

use fenchel_expfam::Family;
use fenchel_expfam::families::NormalKnownMean;
use fenchel_expfam::mirror::{
    Schedule, StochasticMirrorDescent, gamma_gap_of_minima, normal_variance_noise,
};
use fenchel_optim::random::stream;

use super::{LE_PRIOL, le_priol};
use crate::table::Cell;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "ef-6",
    title: "Table 5.1: three notions of the noise of stochastic mirror descent",
    question: "Stochastic mirror descent estimates a variance. Three notions measure the noise of its gradients. Which of them stays finite when the estimate comes near 0, where the objective explodes?",
    learnt: "The gap (5.35) does. The two usual ones, the variances (5.31) and (5.33), do not. With a constant step the method stays in a ball around the optimum.",
    quick: "400 runs in the place of 4,000",
    run: experiment,
    ..Experiment::of(LE_PRIOL)
};

const UNBOUNDED: Source = le_priol(
    "5.6.2",
    "In general, this uniform bound over mu^_n [a bound of the variances (5.31) and (5.33) for every iterate mu^_n] cannot hold for barrier objectives – functions exploding to infinity in some finite point of space.",
);
const GAP: Source = le_priol(
    "5.6.2",
    "For probabilistic models, such a bound [on the gap (5.35)] is finite as soon as the model cannot give infinite density to any data point x.",
);
const CONSTANT: Source = le_priol(
    "5.6.2",
    "D’Orazio et al. (2021, Thm.1) only proves linear convergence to a variance ball of size C/alpha under constant step-size [C: the bound on the noise; alpha: strong convexity]",
);
const RATE: Source = le_priol("5.6", "we know that MAP converges asymptotically as O(n^(-1))");

/// Mean divergence from the truth after so many observations.
fn mean_risk(
    context: &Context,
    schedule: Schedule,
    ends: &[u64],
    trials: usize,
) -> Result<Vec<f64>, Failure> {
    let family = NormalKnownMean::default();
    let truth = family.with_variance(1.0)?;
    let start = family.with_variance(4.0)?;
    let mut sums = vec![0.0; ends.len()];
    for trial in 0..trials {
        context.check()?;
        let mut rng = stream(context.seed, trial as u64);
        let mut method = StochasticMirrorDescent::new(&start, schedule)?;
        for (sum, &end) in sums.iter_mut().zip(ends) {
            while method.steps() < end && !context.is_frozen("SMD") {
                method.observe(&truth.sample(&mut rng))?;
            }
            *sum += truth.kl(&method.estimate()?) / trials as f64;
        }
    }
    Ok(sums)
}

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let trials = context.pick(400, 4000);
    outcome
        .setting("truth", "N(0, 1)")
        .setting("start", "variance 4")
        .setting("step of (5.31) and (5.33)", "1/2")
        .setting("runs", format!("{trials}, each with its own observations; one seed"));
    let places = [1.0, 1e-2, 1e-4, 1e-6, 1e-8];
    let noise: Vec<f64> = places.iter().map(|&m| normal_variance_noise(1.0, m, 0.5)).collect();
    let slope = (noise[4] / noise[3]).ln() / (places[4] / places[3]).ln();
    // (5.33) at the iterate m, step 1/2: infinite where m - (1 - x^2) <= 0 has positive probability.
    let mut rng = stream(context.seed, 1 << 40);
    let truth = NormalKnownMean::default().with_variance(1.0)?;
    let outside = |m: f64, rng: &mut _| {
        let hits = (0..10_000).filter(|_| {
            let x: f64 = truth.sample(rng);
            m - (1.0 - x * x) <= 0.0
        });
        hits.count() as f64 / 10_000.0
    };
    let shares: Vec<f64> = places[1..].iter().map(|&m| outside(m, &mut rng)).collect();
    let gap = gamma_gap_of_minima(0.5);
    let mut table = Table::new(
        "The three notions, by their equations in the thesis, where the estimate of the variance is m",
        ["m", "(5.31)", "P(infinite) in (5.33)", "(5.35)"],
    );
    for (i, &m) in places.iter().enumerate() {
        let share = if i == 0 { 0.0 } else { shares[i - 1] };
        table.push([Cell::from(m), Cell::from(noise[i]), Cell::from(share), Cell::from(gap)]);
    }
    outcome.table(table);
    outcome.claim(
        UNBOUNDED
            .claim("the variance (5.31) of a step is unbounded: at the estimate m of the variance it is like `m^(-1/2)`")
            .at_size("")
            .document("larger at each smaller m of the table; slope of its logarithm against that of m nearer to -1/2 than to 0")
            .exact((slope, noise.windows(2).all(|pair| pair[1] > pair[0]) && slope < -0.25)),
    );
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    outcome.claim(
        UNBOUNDED
            .claim("the variance at the optimum (5.33) is infinite at small estimates m, because a step leaves the domain with positive probability")
            .at_size("")
            .document("probability above 0 at each m <= 1e-2 (shown: the least)")
            .exact((least, least > 0.0)),
    );
    outcome.claim(
        GAP.claim("the gap (5.35), which does not depend on the estimate m, is finite")
            .at_size("")
            .document("finite")
            .exact((gap, gap.is_finite())),
    );
    let ends = [10, 30, 100, 300, 1000, 2000];
    let constant = mean_risk(context, Schedule::Constant(0.1), &ends, trials)?;
    context.progress(0.5, "runs")?;
    let decaying = mean_risk(context, Schedule::Map { pseudo_count: 1.0 }, &ends, trials)?;
    let start = NormalKnownMean::default().kl(&[-0.5], &[-0.125]);
    let points = |values: &[f64]| -> Vec<(f64, f64)> {
        ends.iter().zip(values).map(|(&n, &r)| (n as f64, r)).collect()
    };
    outcome.figure(
        Figure::new(
            "Risk of stochastic mirror descent",
            Axis::log("observations"),
            Axis::log("nats"),
        )
        .caption("Means over the runs; dashed: the asymptote of the MAP estimate.")
        .with(Series::line_points("step 0.1", points(&constant)))
        .with(Series::line_points("step 1 / (1 + n), MAP", points(&decaying)))
        .with(Series::line("1/(2n)", points(&ends.map(|n| 0.5 / n as f64))).dashed()),
    );
    let (settled, end) = (constant[4], constant[5]);
    outcome.claim(
        CONSTANT
            .claim("with the constant step 0.1 the method ends in a ball around the optimum")
            .rests_on(["SMD"])
            .document("risks at n = 1000 and 2000 closer than a factor of root 2, and below that at the start")
            .holds((
                format!("{settled:.4} at 1000, {end:.4} at 2000, {start:.4} at the start"),
                // By more than the rounding of a mean.
                (end / settled).log2().abs() < 0.5 && end < start * (1.0 - 1e-9),
            )),
    );
    let slope = (decaying[5] / decaying[3]).ln() / (2000.0_f64 / 300.0).ln();
    outcome.claim(
        RATE.claim("with steps `1 / (n0 + n)`, n0 = 1, those of MAP, the risk falls like 1/n")
            .rests_on(["SMD"])
            .document("slope of log risk on log n, 300 to 2000, nearer to -1 than to 0 or -2")
            .holds((slope, (-1.5..-0.5).contains(&slope))),
    );
    Ok(())
}
