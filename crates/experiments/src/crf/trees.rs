//! Algorithm 2 of Le Priol, Piche and Lacoste-Julien (2018) on trees. The paper states it for every graph with a junction tree, and
//! runs it on chains.

use fenchel_crf::graph::{GraphProblem, graph_lbfgs, graph_sdca};
use fenchel_crf::methods::SdcaSettings;
use fenchel_crf::{CliqueTemplate, GraphDataset, GraphInstance, Order};
use fenchel_linalg::text::short;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, MAX_MEMORY, Stop};
use rand::{Rng, RngExt};

use crate::documents::adaptive_sdca as paper;
use crate::race::{Seen, Watch};
use crate::table::row;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Table};

pub(super) const TREES: Experiment = Experiment {
    id: "crf-trees",
    title: "Section 3.2: SDCA on trees",
    question: "Does SDCA (algorithm 2) work on other graphs than chains?",
    learnt: "It does on trees: it proves the same optimum of the objective as L-BFGS.",
    quick: "300 generated trees; a full run has 2,000, and the paper runs on chains only",
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const GAP: &str = "SDCA by gaps";
const UNIFORM: &str = "SDCA uniform";
const BATCH: &str = "L-BFGS";

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    outcome.setting("l2", "1/n").setting("sampling by gaps", "80 % of the draws, one Newton step");
    outcome.setting("data", "generated trees of 5 to 20 variables with 4 labels: 300 in a quick run, else 2,000; one run, seed 1 unless the page names another");
    let data = trees(context, context.seed)?;
    let (best, runs) = runs(context, &data, context.seed)?;
    let (a, b) = (runs[0].last(), runs[2].last());
    let apart = (a.objective - b.objective).abs() / a.gap.max(b.gap);
    outcome.claim(
        paper("3.2", "Now, assume that the graph has a *junction tree* structure")
            .claim("on trees, too, algorithm 2 of the paper (SDCA), which it states for every graph with a junction tree and runs on chains, finds the optimum: the same as L-BFGS")
            .rests_on([GAP, BATCH])
            .document("objectives in the end of SDCA by gaps and of L-BFGS, one run of each, no further apart than the larger of the two duality gaps (upper bounds of P - P*), and both gaps at most 1e-6 of the objective")
            .holds((
                format!("distance over the larger gap: {}", short(apart)),
                apart <= 1.0 && a.gap.max(b.gap) <= 1e-6 * b.objective,
            )),
    );
    show(outcome, best, &runs);
    Ok(())
}

struct Run {
    name: &'static str,
    rows: Vec<Seen>,
    seconds: f64,
}

impl Run {
    /// The number of passes until `reached` returns `true`.
    fn passes_to(&self, reached: impl Fn(&Seen) -> bool) -> Option<f64> {
        self.rows.iter().find(|row| reached(row)).map(|row| row.passes)
    }

    fn certified(&self, relative: f64) -> Option<f64> {
        self.passes_to(|row| row.gap <= relative * row.objective)
    }

    fn last(&self) -> Seen {
        self.rows[self.rows.len() - 1]
    }
}

/// Runs the methods on a task until the relative gap is 1e-6. Also returns the optimum.
fn runs(context: &Context, data: &GraphDataset, seed: u64) -> Result<(f64, Vec<Run>), Failure> {
    let problem = GraphProblem::new(data, 1.0 / data.len() as f64, MAX_MEMORY)?;
    let to = |relative, max_passes| Stop { max_passes, ..Stop::at_relative(relative) };
    let best = LbfgsSettings { memory: 30, stop: to(1e-9, 2000.0) };
    let best = graph_lbfgs(&problem, &best, None, &mut ())?.report.certificate;
    let best = best.objective().unwrap_or(f64::NAN);
    let stop =
        |name, most| context.stop(name, Stop { check: Cadence::Every(1.0), ..to(1e-6, most) });
    let mut all = Vec::new();
    for (name, order) in [(GAP, Order::Gap), (UNIFORM, Order::Uniform)] {
        context.check()?;
        let mut watch = Watch::new(context);
        let settings = SdcaSettings { order, seed, stop: stop(name, 200.0), ..Default::default() };
        let seconds = graph_sdca(&problem, &settings, None, &mut watch)?.report.seconds;
        all.push(Run { name, rows: watch.rows, seconds });
    }
    let mut watch = Watch::new(context);
    let settings = LbfgsSettings { stop: stop(BATCH, 1000.0), ..LbfgsSettings::default() };
    let seconds = graph_lbfgs(&problem, &settings, None, &mut watch)?.report.seconds;
    all.push(Run { name: BATCH, rows: watch.rows, seconds });
    Ok((best, all))
}

fn show(outcome: &mut Outcome, best: f64, runs: &[Run]) {
    let columns = ["method", "gap of 1e-2 P", "P - P* of 1e-3 P*", "gap of 1e-6 P", "seconds"];
    let mut table = Table::new("Passes of each method on trees, and seconds of its run", columns);
    for run in runs {
        let near = run.passes_to(|row| row.objective - best <= 1e-3 * best);
        let (early, late) = (run.certified(1e-2), run.certified(1e-6));
        table.push(row![run.name, early, near, late, run.seconds]);
    }
    outcome.table(table);
    let axis = Axis::log("primal suboptimality (P - P*) / P*").limits(1e-7, 1e2);
    let figure = Figure::new("SDCA on trees", Axis::linear("passes").limits(0.0, 60.0), axis);
    let points = |run: &Run| {
        run.rows.iter().map(|row| (row.passes, (row.objective - best) / best)).collect()
    };
    let figure = figure.caption("One run of each method on the generated trees. A pass is as many updates as there are trees; for L-BFGS it is one evaluation of P and its gradient. P*: the minimum of the objective P, by a longer run of L-BFGS.");
    outcome.figure(runs.iter().fold(figure, |f, run| f.with(Series::line(run.name, points(run)))));
}

/// Random trees of up to 20 variables of 4 labels. A child has its parent's label in 6 of 10 cases, else any. Of the four
/// attributes of a variable half are of 100 that its label prefers, the others of 300 that all have.
fn trees(context: &Context, seed: u64) -> Result<GraphDataset, Failure> {
    const LABELS: usize = 4;
    const OWN: usize = 100;
    const COMMON: usize = 300;
    let node = CliqueTemplate::new(&[LABELS], LABELS * OWN + COMMON + 1);
    let edge = CliqueTemplate::new(&[LABELS, LABELS], 1);
    let mut data = GraphDataset::new(vec![node, edge])?;
    let mut rng = stream(seed, 0);
    for _ in 0..context.pick(300, 2_000) {
        let size = rng.random_range(5..=20);
        let mut labels: Vec<usize> = Vec::new();
        let (mut tree, mut edges) = (GraphInstance::new(&vec![LABELS; size]), Vec::new());
        for v in 0..size {
            let parent = if v > 0 { Some(rng.random_range(0..v)) } else { None };
            let any = rng.random_range(0..LABELS);
            let inherited = parent.filter(|_| rng.random_bool(0.6)).map(|parent| labels[parent]);
            labels.push(inherited.unwrap_or(any));
            edges.extend(parent.map(|parent| [parent, v]));
            let word = |rng: &mut dyn Rng| match rng.random_bool(0.5) {
                true => labels[v] * OWN + rng.random_range(0..OWN),
                false => LABELS * OWN + rng.random_range(0..COMMON),
            };
            let mut attributes: Vec<(u32, f64)> =
                (0..4).map(|_| (word(&mut rng) as u32, 1.0)).collect();
            attributes.push(((LABELS * OWN + COMMON) as u32, 1.0));
            tree.clique(0, &[v], &attributes);
        }
        edges.iter().for_each(|edge| _ = tree.clique(1, edge, &[(0, 1.0)]));
        data.push(tree, &labels)?;
    }
    Ok(data)
}
