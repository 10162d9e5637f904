//! This module repeats figures 1, 4, 5 and 6 of Geng, Kuang, Liu, Wright and Page (2018): structure learning with sampled
//! gradients, one random network a seed.

use fenchel_linalg::text::short;
use fenchel_mrf_learn::layout::pair_index;
use fenchel_mrf_learn::spg::spg_network;
use fenchel_mrf_learn::{
    ChainStart, EdgeWeight, Penalty, PseudoLikelihood, Schedule, Spg, Tay, metrics, synthetic,
};
use fenchel_optim::{Cadence, Progress, StepSize, Stop};

use super::paper;
use crate::numbers::mean;
use crate::runs::{Line, line, lines};
use crate::{Axis, Context, Experiment, Failure, Figure, Judged, Outcome, Sample, Source, Table};

pub(super) const STRUCTURE: Experiment = Experiment {
    id: "ml-structure",
    title: "Figures 1 and 6: edges of a Markov random field with 10 nodes",
    question: "How many Gibbs sweeps does a sampled gradient need when a bound on its error decides (the schedule TAY), to rank the edges of a network as well as with a fixed number of sweeps?",
    learnt: "About ten an iteration in the mean. TAY takes far fewer sweeps in all than 30 in each iteration, and ranks the edges about as well.",
    quick: "five trials in the place of ten",
    run: |context, outcome| run(context, outcome, 10, &[0.025]),
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const LARGER: Experiment = Experiment {
    id: "ml-structure-20",
    title: "Figures 1 and 5: edges of a Markov random field with 20 nodes, three penalties",
    question: "TAY chooses the number of Gibbs sweeps by a bound on the error of the gradient. With 20 nodes, does it take fewer sweeps than a fixed number, and rank the edges as well, as it does with 10?",
    learnt: "It does: TAY takes fewer sweeps than the fixed schedule, and ranks the edges about as well.",
    quick: "five trials in the place of ten; 12 nodes, 1,000 rows, 2,000 chains and 80 iterations in the place of 20, 2,000, 5,000 and 150; the penalty is 1.5 times as large",
    run: |context, outcome| run(context, outcome, 20, &[0.017, 0.015, 0.02]),
    ..STRUCTURE
};

pub(super) const LAMBDA: Experiment = Experiment {
    id: "ml-lambda",
    title: "Figure 4: edges of a Markov random field with 10 nodes, two more penalties",
    question: "TAY chooses the number of Gibbs sweeps by a bound on the error of the gradient. With other strengths lambda of the penalty, does it take fewer sweeps than a fixed number, and rank the edges as well?",
    learnt: "It takes fewer sweeps with both. In the median the area under the curve (AUC) is as large with 0.02, and smaller by 0.02 with 0.03 in a quick run, less than it varies from trial to trial. An iteration takes about ten sweeps in the mean.",
    run: |context, outcome| run(context, outcome, 10, &[0.02, 0.03]),
    ..STRUCTURE
};

const LOWEST: Source = paper(
    "7.1",
    "SPG with τ=1 reaches the lowest AUC, since the quality of the gradient approximation cannot be guaranteed with such a small τ.",
);
const ORDER_OF_TEN: Source = paper(
    "7.2",
    "TAY needs a τ only on the order of ten, suggesting that the bound in Theorem 3 is tight enough for practical applications.",
);

const TAY: &str = "TAY";
const FIXED: &str = "SPG, fixed";
const GROWING: &str = "SPG-Inc";
const ONE: &str = "SPG, 1 sweep";

/// A method with everything that its run depends on, beside the data.
#[derive(Debug)]
enum Method {
    Spg(Schedule, ChainStart),
    Pseudo(EdgeWeight),
}

/// What is seen after an iteration.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    iteration: f64,
    auc: f64,
    /// Of this iteration, and of all so far.
    sweeps: f64,
    total: f64,
    /// The largest spectral radius of the influence bound so far.
    radius: f64,
}

/// The networks of a panel, and its methods' settings.
struct Panel {
    nodes: usize,
    rows: usize,
    lambda: f64,
    chains: usize,
    fixed: usize,
    iterations: f64,
    /// The penalty is that of figure 1.
    first: bool,
}

fn run(
    context: &Context,
    outcome: &mut Outcome,
    nodes: usize,
    lambdas: &[f64],
) -> Result<(), Failure> {
    let (small, quick) = (nodes == 10, context.pick(true, false));
    let trials = context.pick(5, 10);
    for &lambda in lambdas {
        let panel = Panel {
            first: [0.025, 0.017].contains(&lambda),
            nodes: if quick { nodes.min(12) } else { nodes },
            rows: if small || quick { 1000 } else { 2000 },
            // The penalty falls with the number of rows.
            lambda: if small || !quick { lambda } else { lambda * 1.5 },
            chains: if small || quick { 2000 } else { 5000 },
            fixed: if small { 30 } else { 60 },
            iterations: if quick && !small { 80.0 } else { 150.0 },
        };
        let lines = panel.lines(context, trials)?;
        panel.show(outcome, &lines)?;
        panel.judge(context, outcome, &lines)?;
    }
    outcome
        .setting(
            "true parameters",
            "each, of a pair or of a single node, is nonzero with probability 0.3, with a size uniform in [1, 2] and a sign by a coin",
        )
        .setting("step", 0.4)
        .setting("trials, one a seed: a network, data and chains each", trials);
    outcome.note(
        "The AUC is the area under the ROC curve of the edges, pairs of nodes ranked by the size of their estimated coupling. SPG is the stochastic \
         proximal gradient method. Its number of Gibbs sweeps in an iteration is fixed (τ, 30 with 10 nodes and 60 with more), grows (SPG-Inc), or is chosen by a bound on the error of \
         the gradient (TAY). Chains go on from iteration to iteration, except with `SPG, 1 sweep`, which starts new ones as algorithm 2 prints it. \
         Sweeps are counted in the place of seconds.",
    );
    Ok(())
}

impl Panel {
    fn lines(&self, context: &Context, trials: u64) -> Result<Vec<Line<Row>>, Failure> {
        let &Panel { nodes, rows, lambda, chains, fixed, iterations, .. } = self;
        // Where the influence bound says nothing any more, the rule asks for any number of sweeps.
        let tay = Schedule::Tay(Tay { most: fixed, ..Tay::default() });
        let methods = [
            (TAY, Method::Spg(tay, ChainStart::Persistent)),
            (FIXED, Method::Spg(Schedule::Fixed(fixed), ChainStart::Persistent)),
            (GROWING, Method::Spg(Schedule::Increasing, ChainStart::Persistent)),
            (ONE, Method::Spg(Schedule::Fixed(1), ChainStart::Restart)),
            (
                "SPG, 1 sweep of chains that persist",
                Method::Spg(Schedule::Fixed(1), ChainStart::Persistent),
            ),
            ("pseudo-likelihood", Method::Pseudo(EdgeWeight::One)),
            ("pseudo-likelihood, twice lambda on edges", Method::Pseudo(EdgeWeight::Two)),
        ];
        let data = format!(
            "{nodes} nodes, {rows} rows, lambda {}, {iterations} iterations",
            short(lambda)
        );
        lines(
            context,
            &data,
            &methods,
            |_| trials,
            |name, method, seed| {
                let truth = synthetic::random_network(nodes, 0.3, (1.0, 2.0), seed)?;
                let data = synthetic::exact_draws(&truth, rows, seed)?;
                let penalty = Penalty::l1(lambda);
                match *method {
                    Method::Pseudo(edge_weight) => {
                        let default = PseudoLikelihood::default();
                        let stop = context.stop(name, default.stop);
                        let fit = PseudoLikelihood { penalty, edge_weight, stop, ..default };
                        let scores = fit.fit(&data)?.scores();
                        let auc = metrics::edge_auc(&truth, &scores)?.unwrap_or(0.5);
                        Ok(vec![Row { auc, ..Row::default() }])
                    }
                    Method::Spg(schedule, start) => {
                        let check = Cadence::Every(5.0);
                        let stop = Stop { max_passes: iterations, check, ..Spg::default().stop };
                        let spg = Spg {
                            penalty,
                            schedule,
                            start,
                            chains,
                            step: StepSize::Constant(0.4),
                            noise_floor: None,
                            stop: context.stop(name, stop),
                            seed,
                            ..Spg::default()
                        };
                        let mut found = vec![];
                        let mut observer = |progress: &Progress, theta: &[f64]| {
                            let of = |i| (i + 1..nodes).map(move |j| pair_index(i, j, nodes));
                            let pairs = (0..nodes).flat_map(of);
                            let scores: Vec<f64> = pairs.map(|k| theta[k].abs()).collect();
                            let auc =
                                metrics::edge_auc(&truth, &scores).ok().flatten().unwrap_or(0.5);
                            found.push(Row { iteration: progress.passes, auc, ..Row::default() });
                            context.control()
                        };
                        let model = spg_network(&data, &spg, None, &mut observer)?;
                        context.check()?;
                        for row in &mut found {
                            let so_far =
                                &model.trace[..model.trace.len().min(row.iteration as usize)];
                            row.sweeps = so_far.last().map_or(0.0, |record| record.sweeps as f64);
                            row.radius = so_far.iter().filter_map(|r| r.radius).fold(0.0, f64::max);
                            row.total = so_far.iter().map(|record| record.sweeps as f64).sum();
                        }
                        Ok(found)
                    }
                }
            },
        )
    }

    fn show(&self, outcome: &mut Outcome, lines: &[Line<Row>]) -> Result<(), Failure> {
        let &Panel { nodes, lambda, rows, chains, .. } = self;
        let title = format!("{nodes} nodes, lambda {}", short(lambda));
        let mut table = Table::new(
            format!("{title}: {rows} rows, {chains} chains; medians over the trials, and ranges"),
            ["method", "AUC at the end", "sweeps"],
        );
        for line in lines {
            let sweeps = line.sample(|rows| last(rows).total)?;
            let sweeps = if sweeps.median() > 0.0 { sweeps.to_string() } else { "–".into() };
            table.push([line.name.into(), auc(line)?.to_string().into(), sweeps.into()]);
        }
        outcome.table(table);
        let sampled = &lines[..5];
        let figure = |what: &str, x: Axis, y: Axis| Figure::new(format!("{title}: {what}"), x, y);
        let mut iterations =
            figure("AUC against iterations", Axis::linear("iteration"), Axis::linear("AUC"));
        let mut sweeps =
            figure("AUC against sweeps", Axis::log("sweeps so far"), Axis::linear("AUC"));
        for line in sampled {
            iterations = iterations.with(line.series(|r| r.iteration, |r| r.auc));
            sweeps = sweeps.with(line.series(|r| r.total, |r| r.auc));
        }
        let each = figure("sweeps an iteration", Axis::linear("iteration"), Axis::linear("sweeps"));
        let tay = line(lines, TAY)?.series(|r| r.iteration, |r| r.sweeps);
        let trials = line(lines, TAY)?.seeds.len();
        let note =
            format!("Lines: medians of {trials} trials; bands: from the least to the largest.");
        for figure in [iterations, sweeps, each.with(tay)] {
            let caption = "Each trial has its own network, data and chains.";
            outcome.figure(figure.note(note.as_str()).caption(caption));
        }
        Ok(())
    }

    fn judge(
        &self,
        context: &Context,
        outcome: &mut Outcome,
        lines: &[Line<Row>],
    ) -> Result<(), Failure> {
        let &Panel { nodes, lambda, .. } = self;
        let title = format!("{nodes} nodes, lambda {}", short(lambda));
        let of = |name: &str| line(lines, name);
        let sweeps = |name: &str| of(name)?.sample(|rows| last(rows).total);
        // The AUC of no edge at all is one half.
        let errs = |name: &str| of(name)?.sample(|rows| 1.0 - last(rows).auc);
        let similar = format!("AUC of TAY {}, of SPG, fixed {}", auc(of(TAY)?)?, auc(of(FIXED)?)?);
        outcome.claim(
            paper("7.1", "Using much less time, TAY achieves a similar AUC to SPG with τ=30 [10 nodes] and τ=60 [20 nodes].")
                .claim(format!("{title}: TAY takes fewer sweeps than SPG with a fixed number, and ranks the edges as well"))
                .in_unit("sweeps")
                .rests_on([TAY, FIXED])
                .document("fewer sweeps in all, in the median over the trials (shown: TAY against SPG, fixed), and both AUC above 0.5, that of no knowledge; \"similar\" has no number, so that both are shown")
                .holds(
                    sweeps(TAY)?
                        .below(&sweeps(FIXED)?)
                        .and((similar, errs(TAY)?.median() < 0.5 && errs(FIXED)?.median() < 0.5)),
                ),
        );
        // The next two sentences are about figure 1; the other strengths of the penalty are in figures without a sentence.
        if self.first {
            // "The results are averaged over 10 trials", the same networks for all methods.
            let average = |name: &str| {
                Ok::<_, Failure>(mean(of(name)?.seeds.iter().map(|rows| last(rows).auc)))
            };
            let lowest = average(ONE)?;
            let mut judged =
                Judged::from((format!("{} for one sweep", short(lowest)), lowest > 0.5));
            for name in [TAY, FIXED, GROWING] {
                let other = average(name)?;
                judged = judged.and((format!("{name}: {}", short(other)), lowest < other));
            }
            let claim = LOWEST
                .claim(format!("{title}: one sweep of new chains has the lowest AUC at the end"))
                .in_unit("AUC")
                .rests_on([TAY, FIXED, GROWING, ONE])
                .document("AUC above 0.5, and below that of TAY, of the fixed number of sweeps and of SPG-Inc, averaged over the trials as in the document")
                .holds(judged);
            outcome.claim(context.at_full(claim, "five trials in the place of ten: the AUC differs more from network to network than from method to method. With five"));
            let tay = of(TAY)?;
            let first = tay.sample(|rows| rows.get(1).map_or(0.0, |row| row.sweeps))?;
            let most = tay.sample(|rows| rows.iter().map(|row| row.sweeps).fold(0.0, f64::max))?;
            let each = tay.sample(|rows| last(rows).total / last(rows).iteration)?;
            let holds = (10_f64.powf(0.5)..=10_f64.powf(1.5)).contains(&each.median());
            let text = format!("{each} in the mean, {first} in iteration 5, {most} at most");
            outcome.claim(
                ORDER_OF_TEN
                    .claim(format!("{title}: the number of sweeps of TAY in an iteration is of order ten"))
                    .in_unit("sweeps")
                    .rests_on([TAY])
                    .document("mean over the iterations, in the median over the trials, on a log scale nearer to 10 than to 1 or 100: from 3.2 to 32 (shown beside it: iteration 5, and the largest)")
                    .holds((text, holds)),
            );
        }
        let median = |name: &str| Ok::<_, Failure>(short(auc(of(name)?)?.median()));
        let (same, twice) =
            (median("pseudo-likelihood")?, median("pseudo-likelihood, twice lambda on edges")?);
        outcome.claim(paper("B.2", "Note that the two methods [TAY and pseudo-likelihood] achieve a comparable performance").claim(format!("{title}: pseudo-likelihood ranks the edges about as well as TAY")).reported(
            "median AUC at the end; \"comparable\" has no number",
            format!("TAY {}, pseudo-likelihood {same} ({twice} with twice the penalty on edges)", median(TAY)?),
        ));
        Ok(())
    }
}

fn last(rows: &[Row]) -> Row {
    rows.last().copied().unwrap_or_default()
}

fn auc(line: &Line<Row>) -> Result<Sample, Failure> {
    line.sample(|rows| last(rows).auc)
}
