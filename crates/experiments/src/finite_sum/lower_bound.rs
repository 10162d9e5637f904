//! This module tests A. Defazio, PhD thesis 2014, theorem 5.1: on a worst-case problem, any method that evaluates one
//! random term per step has an expected suboptimality after `k` steps of at least `(1 - 1/n)^k` times the initial one.

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Squared;
use fenchel_finite_sum::methods::{
    FinitoSettings, FinitoStart, SagSettings, SagaSettings, SdcaSettings, TableStart, finito, sag,
    saga, sdca,
};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Cadence, Stop};
use ndarray::Array2;

use super::sets::Need;
use super::thesis;
use crate::table::row;
use crate::{
    Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Reason, Series, Source, Table,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "fs-ex6",
    title: "Theorems 5.1 and 5.2: lower bounds for incremental methods",
    question: "How fast can an incremental method be on the worst problem, and do the two printed bounds hold?",
    learnt: "Theorem 5.1 holds, and SDCA attains its bound on the problem of the proof. The proof of theorem 5.2 does not give the printed constant 1/8, but 3/(32 n), with n the number of terms.",
    quick: "means over 1,000 runs; a full run of this project has 4,000",
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const N: usize = 20;
const STEPS: usize = 60;

type Worst<'a> = Problem<'a, Dense<'a, f64>, Squared, Zero>;

/// A run of a method for so many steps: the weights.
type Run = fn(&Worst, Order, u64, usize) -> Result<Vec<f64>, fenchel_finite_sum::Error>;

const METHODS: [(&str, Run); 4] = [
    ("SDCA", |p, order, seed, steps| {
        let settings = SdcaSettings { order, seed, stop: after(steps), ..Default::default() };
        Ok(sdca(p, &settings, None, &mut ())?.state.point.weights)
    }),
    ("SAGA", |p, order, seed, steps| {
        let (table, stop) = (TableStart::Zero, after(steps));
        let settings = SagaSettings { order, seed, table, stop, ..Default::default() };
        Ok(saga(p, &settings, None, &mut ())?.state.point.weights)
    }),
    ("SAG", |p, order, seed, steps| {
        let (table, stop) = (TableStart::Zero, after(steps));
        let settings = SagSettings { order, seed, table, stop, ..Default::default() };
        Ok(sag(p, &settings, None, &mut ())?.state.point.weights)
    }),
    // Here n mu < L, where alpha = 2 explodes: the step of MISO, alpha = L / mu, is safe.
    ("Finito, MISO step", |p, order, seed, steps| {
        let (alpha, start, stop) = (Some(N as f64 + 1.0), FinitoStart::FirstPass, after(steps));
        let settings = FinitoSettings { alpha, order, seed, stop, start, ..Default::default() };
        Ok(finito(p, &settings, None, &mut ())?.state.point.weights)
    }),
];

fn after(steps: usize) -> Stop {
    let max_passes = steps as f64 / N as f64;
    Stop { max_passes, check: Cadence::Every(1e9), ..Stop::after_passes(0.0) }
}

/// `F(w) - n/4` from the definition.
fn excess(w: &[f64]) -> f64 {
    w.iter().map(|w| 0.5 * (w - 1.0) * (w - 1.0) + 0.5 * w * w - 0.25).sum()
}

const UNSEEN: Source =
    thesis("theorem 5.1, proof", "the value of each w_i remains 0 unless term i has been seen");
const BOUND: Source = thesis(
    "theorem 5.1",
    "[On the worst problem] a k step optimisation procedure gives an expected sub-optimality of at best: E[f(w)] - f(w*) >= (1 - 1/n)^k (f(w^0) \
     - f(w*))",
);

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let seeds = context.pick(1000, 4000);
    outcome
        .setting("theorem 5.1", format!("f_i(w) = (n/2) (w_i - 1)^2 + ||w||^2 / 2, n = 20, from w = 0; {seeds} seeds, each with its own draws of the terms, whose mean is compared; SAGA and SAG start with gradients 0 in their tables"))
        .setting("theorem 5.2", "the problem of its proof: f is the mean of n = 6 chains, each a function of m = 2t + 1 weights of its own, (L/4) ((z_1^2 + (z_1 - z_2)^2 + ... + (z_(m-1) - z_m)^2 + z_m^2) / 2 - z_1), for t passes; L = 2.5, x^0 = 0; computed, without draws");
    let scale = (N as f64).sqrt();
    // n (w_i - 1)^2 / 2 is the squared loss of the margin sqrt(n) w_i at target sqrt(n).
    let design: Array2<f64> = Array2::eye(N) * scale;
    let targets = vec![scale; N];
    let problem = Problem::new(Dense::new(design.view())?, &targets, Squared, Zero, 1.0)?;
    let bound = |k: usize| (1.0 - 1.0 / N as f64).powi(k as i32) * N as f64 / 4.0;

    let checks: Vec<usize> = (0..=STEPS).step_by(5).chain([1]).collect();
    let mut figure = Figure::new(
        "Mean suboptimality on the worst problem (theorem 5.1)",
        Axis::linear("steps k"),
        Axis::log("mean of F - F*"),
    )
    .caption("Exact SDCA lies on the bound, up to the error of the mean; every other method lies above it.")
    .with(
        Series::line("bound (1 - 1/n)^k n/4", (0..=STEPS).map(|k| (k as f64, bound(k))).collect())
            .dashed(),
    );
    let mut table = Table::new(
        "F - F* over n/4, its start value",
        ["method", "k = 1", "k = 5", "k = 20", "k = 60"],
    );
    let at = |k: usize| bound(k) * 4.0 / N as f64;
    table.push(row!["bound", at(1), at(5), at(20), at(60)]);

    let (mut unseen, mut bounded) = (vec![], vec![]);
    for (m, (name, run)) in METHODS.iter().enumerate() {
        let mut means = vec![];
        let (mut moved_unseen, mut off_path, mut below) = (0, 0.0f64, 0);
        for (i, &k) in checks.iter().enumerate() {
            context.progress((m as f64 + i as f64 / checks.len() as f64) / 4.0, name)?;
            let (mut sum, mut squares) = (0.0, 0.0);
            for seed in 0..seeds {
                let visited = visited(context.seed + seed, k)?;
                let steps = if context.is_frozen(name) { 0 } else { k };
                let w = run(&problem, Order::Uniform, context.seed + seed, steps)?;
                let unseen = visited.iter().filter(|v| !**v).count();
                moved_unseen += w.iter().zip(&visited).filter(|(w, v)| !**v && **w != 0.0).count();
                let value = if steps == 0 { N as f64 / 4.0 } else { excess(&w) };
                off_path = off_path.max((value - unseen as f64 / 4.0).abs());
                sum += value;
                squares += value * value;
            }
            let n = seeds as f64;
            let mean = sum / n;
            let error = ((squares / n - mean * mean).max(0.0) / n).sqrt();
            below += usize::from(mean < bound(k) - 4.0 * error - 1e-12);
            means.push((k, mean));
        }
        means.sort_by_key(|(k, _)| *k);
        figure = figure
            .with(Series::line_points(*name, means.iter().map(|&(k, v)| (k as f64, v)).collect()));
        let at = |k: usize| means.iter().find(|m| m.0 == k).map(|m| m.1 * 4.0 / N as f64);
        table.push(row![*name, at(1), at(5), at(20), at(60)]);
        unseen.push(Ok((*name, (format!("{moved_unseen} exceptions"), moved_unseen == 0).into())));
        bounded.push(Ok((
            *name,
            (format!("below at {below} of {} k", checks.len()), below == 0).into(),
        )));
        if *name == "SDCA" {
            outcome.claim(
                Source::OURS
                    .claim("SDCA attains the bound of theorem 5.1: in every run `F - F*` is a quarter of the number of terms that were not visited yet")
                    .rests_on(["SDCA"])
                    .ours("equal up to 1e-12 in every run (shown: the largest difference)")
                    .exact((off_path, off_path <= 1e-12)),
            );
        }
    }
    outcome.claim(
        UNSEEN
            .claim("the coordinate w_i of a term that was not visited is exactly 0")
            .document("no exception among all seeds and numbers of steps k, with every method (the number of seeds is in the settings)")
            .exact(Need::All.over(unseen)?),
    );
    outcome.claim(
        BOUND
            .claim("the mean of `F - F*` after k steps is at least `(1 - 1/n)^k n/4`, for every method")
            .document("the mean over the seeds is not below the bound by more than 4 standard errors, at each of the 14 numbers of steps k = 0, 1, 5, 10, 15, ..., 60, with every method")
            .exact(Need::All.over(bounded)?),
    );
    without_strong_convexity(outcome);
    outcome.figure(figure).table(table);
    outcome.note(
        "The theorem's class is that of terms with smoothness `n + 1` and strong convexity 1 (the thesis \
         prints `n`): the Hessian of a term is `n e_i e_i' + I`.",
    );
    Ok(())
}

/// Theorem 5.2: `n` chains of `2t + 1` links, `z_l = 1 - l/(2t + 2)` at the optimum. By `t` gradients of every term the first `t` links
/// of each are reached, and the least that is left over is `L/(16 (t + 1))`.
fn without_strong_convexity(outcome: &mut Outcome) {
    let (n, l) = (6.0, 2.5);
    let mut largest = [0.0f64; 2];
    for t in [1, 3, 10] {
        let links = 2.0 * f64::from(t) + 2.0;
        let distance: f64 =
            (1..2 * t + 2).map(|k| (1.0 - f64::from(k) / links).powi(2)).sum::<f64>() * n;
        let (gap, passes) = (l / (8.0 * links), f64::from(t) + 1.0);
        let printed = l * distance / (8.0 * passes * passes);
        let mended = 3.0 * l * distance / (32.0 * n * passes * passes);
        largest = [largest[0].max(printed / gap), largest[1].max(mended / gap)];
    }
    let quote = "[for a worst f that is the mean of n convex L-smooth terms, of which a method may choose one a step] the following lower bound holds for k a multiple of n, for any x^0 in R^d: f(x^k) - f(x*) >= L ||x^0 - x*||^2 / (8 (k/n + 1)^2)";
    let what = "on the problem that the proof of theorem 5.2 builds (6 chains), the best point that can be reached in 1, 3 and 10 passes has F - F* of at least the bound";
    let size =
        "one problem with 6 terms, and three numbers of passes; the theorem is about every number";
    outcome.claim(
        thesis("theorem 5.2", quote)
            .claim(format!("{what} as it is printed"))
            .on(Ground::Exact)
            .at_size(size)
            .document("bound over F - F* at most 1 (shown: the largest of the three ratios)")
            .known_failure(
                (largest[0], largest[0] <= 1.0),
                Reason::checked(
                    "the bound multiplies the squared distance ||x^0 - x*||^2. In the proof this is about a third of 2t + 2 for each of the n chains, for t passes. \
                     The printed 1/8 would need a quarter of 2t + 2 for all chains together; a third for each gives 3/(32 n). The largest ratio with 3/(32 n) in the place of 1/8",
                    largest[1],
                    largest[1] <= 1.0,
                ),
            ),
    );
    outcome.claim(
        thesis("theorem 5.2", quote)
            .claim(format!("{what} with the constant 3/(32 n) that its proof gives"))
            .at_size(size)
            .document("bound over F - F* at most 1 (shown: the largest of the three ratios)")
            .exact((largest[1], largest[1] <= 1.0)),
    );
}

/// Which terms the first `k` uniform visits of a seed touch.
fn visited(seed: u64, k: usize) -> Result<[bool; N], Failure> {
    let mut visits = fenchel_optim::random::Visits::new(&Order::Uniform, N, seed)?;
    let mut seen = [false; N];
    (0..k).for_each(|_| seen[visits.draw()] = true);
    Ok(seen)
}
