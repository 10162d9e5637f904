//! This experiment goes beyond Le Priol, Piche and Lacoste-Julien (2018), which treats chains. It runs their algorithm
//! 2 on trees and on skip chains.
//!
//! A skip chain is the chain of a sentence with one more edge for every pair of equal capitalised words (C. Sutton and
//! A. McCallum, "An introduction to conditional random fields for relational learning", 2007). Such an edge makes it
//! more likely that both words get the same label.

use std::ops::ControlFlow;

use fenchel_crf::graph::{GraphProblem, GraphSdca, graph_lbfgs, graph_sdca};
use fenchel_crf::methods::{SdcaSettings, sdca};
use fenchel_crf::text::{Boundary, Template};
use fenchel_crf::{
    CliqueTemplate, Corpus, CorpusBuilder, Features, GraphDataset, GraphInstance, GraphModel,
    Instance, Order, Problem,
};
use fenchel_datasets::{Folder, Sentence};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, MAX_MEMORY, Progress, Stop};
use rand::{Rng, RngExt};

use super::paper;
use super::tasks::{cells, spread};
use crate::number::short;
use crate::{
    Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Sample, Series, Source, Table,
};

pub(super) const TREES: Experiment = Experiment {
    id: "crf-trees",
    file: file!(),
    document: super::DOCUMENT,
    title: "Algorithm 2 on trees and skip chains",
    question: "Does the paper's algorithm 2 do on trees and skip chains what it does on chains?",
    learnt: "It needs a quarter to a fifth of the passes of L-BFGS, and gaps beat uniform draws; the edges themselves lower no test error.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["conll2000"],
    run: experiment,
};

const ANY: Source = paper("3.2", "Now, assume that the graph has a *junction tree* structure");

const GAP: &str = "SDCA by gaps";
const UNIFORM: &str = "SDCA uniform";
const BATCH: &str = "L-BFGS";
const SEEDS: u64 = crate::SEEDS as u64;
/// The largest width of the junction tree of a skip chain. Edges that would increase the width beyond it are left out.
const WIDTH: usize = 4;

/// A training set and a test set. `plain` has both without the edges whose effect is measured.
struct Task {
    name: String,
    train: GraphDataset,
    test: GraphDataset,
    plain: [GraphDataset; 2],
}

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome.setting("l2", "1/n").setting("sampling by gaps", "share 0.8, one Newton step");
    outcome.setting("seeds", SEEDS).setting("widest junction tree of a skip chain", WIDTH);
    let trees: Vec<Task> =
        (0..SEEDS).map(|k| tree_task(context, context.seed + k)).collect::<Result<_, _>>()?;
    judge(context, &mut outcome, "trees", &trees, Ground::Generated)?;
    match skip_task(context, &mut outcome)? {
        Some(task) => {
            judge(context, &mut outcome, "skip chains", &[task], Ground::Real)?;
        }
        None => _ = outcome.note("CoNLL-2000 is not there: only the generated trees were run."),
    }
    Ok(outcome)
}

/// One observation of a method.
#[derive(Clone, Copy)]
struct Row {
    passes: f64,
    objective: f64,
    gap: f64,
}

struct Run {
    name: &'static str,
    rows: Vec<Row>,
    weights: Vec<f64>,
    seconds: f64,
}

impl Run {
    /// The number of passes until `reached` returns `true`; infinite if it never does.
    fn passes_to(&self, reached: impl Fn(&Row) -> bool) -> f64 {
        self.rows.iter().find(|row| reached(row)).map_or(f64::INFINITY, |row| row.passes)
    }

    fn certified(&self, relative: f64) -> f64 {
        self.passes_to(|row| row.gap <= relative * row.objective)
    }

    fn within(&self, relative: f64, best: f64) -> f64 {
        self.passes_to(|row| row.objective - best <= relative * best)
    }

    fn last(&self) -> Row {
        self.rows[self.rows.len() - 1]
    }
}

/// Runs both methods on a task until the relative gap is 1e-6. Also returns the optimum.
fn runs(context: &Context, data: &GraphDataset, seed: u64) -> Result<(f64, Vec<Run>), Failure> {
    context.check()?;
    let problem = GraphProblem::new(data, 1.0 / data.len() as f64, MAX_MEMORY)?;
    let to = |relative, max_passes| Stop { max_passes, ..Stop::at_relative(relative) };
    let best = LbfgsSettings { memory: 30, stop: to(1e-9, 2000.0) };
    let best = graph_lbfgs(&problem, &best, None, &mut ())?.report.certificate;
    let best = best.objective().unwrap_or(f64::NAN);
    let mut all = Vec::new();
    for (name, order) in [(GAP, Order::Gap), (UNIFORM, Order::Uniform)] {
        let mut rows = Vec::new();
        let stop = Stop { check: Cadence::Every(1.0), ..to(1e-6, 200.0) };
        let stop = context.stop(name, stop);
        let settings = SdcaSettings { order, seed, stop, ..SdcaSettings::default() };
        let mut watch = |progress: &Progress, _: &GraphSdca<'_, '_>| {
            rows.push(row(progress));
            context.control()
        };
        let found = graph_sdca(&problem, &settings, None, &mut watch)?;
        let seconds = found.report.seconds;
        all.push(Run { name, rows, weights: found.state.weights, seconds });
        context.check()?;
    }
    let mut rows = Vec::new();
    let stop = Stop { check: Cadence::Every(1.0), ..to(1e-6, 1000.0) };
    let settings = LbfgsSettings { stop: context.stop(BATCH, stop), ..LbfgsSettings::default() };
    let mut watch = |progress: &Progress, _: &_| -> ControlFlow<()> {
        rows.push(row(progress));
        context.control()
    };
    let found = graph_lbfgs(&problem, &settings, None, &mut watch)?;
    let seconds = found.report.seconds;
    all.push(Run { name: BATCH, rows, weights: found.state, seconds });
    Ok((best, all))
}

fn row(progress: &Progress) -> Row {
    let objective = progress.certificate.objective().unwrap_or(f64::NAN);
    Row { passes: progress.passes, objective, gap: progress.certificate.value() }
}

/// The claims about tasks of one kind; a single task is visited in the orders of three seeds.
fn judge(
    context: &Context,
    outcome: &mut Outcome,
    kind: &str,
    tasks: &[Task],
    ground: Ground,
) -> Result<(), Failure> {
    let mut all = Vec::new();
    for k in 0..SEEDS {
        let task = &tasks[k as usize % tasks.len()];
        context.progress(k as f64 / SEEDS as f64, &format!("{kind}, seed {k}"));
        all.push(runs(context, &task.train, context.seed + k)?);
    }
    let claim = |statement: &str| ANY.claim(format!("{kind}: {statement}")).on(ground);
    let apart = |(_, runs): &(f64, Vec<Run>)| {
        let (a, b) = (runs[0].last(), runs[2].last());
        let proved = a.gap.max(b.gap);
        ((a.objective - b.objective).abs() / proved, proved / b.objective)
    };
    let worst = all.iter().map(apart).fold((0.0f64, 0.0f64), |w, x| (w.0.max(x.0), w.1.max(x.1)));
    let same = claim("dual ascent and L-BFGS reach the same optimum").rests_on([GAP, BATCH]);
    let same =
        same.ours("objectives apart by at most the larger gap, gaps at most 1e-6 of the objective");
    let measured = format!("{} of the gap, {} of P", short(worst.0), short(worst.1));
    outcome.claim(same.holds((measured, worst.0 <= 1.0 && worst.1 <= 1e-6)));

    let bound = |(best, runs): &(f64, Vec<Run>)| {
        let share = |row: &Row| (row.objective - best) / row.gap;
        runs[0].rows.iter().map(share).fold(0.0f64, f64::max)
    };
    let share = all.iter().map(bound).fold(0.0f64, f64::max);
    let far = all.iter().map(|(_, runs)| runs[0].certified(1e-4)).fold(0.0f64, f64::max);
    let valid = claim("the certificate is never below the distance from the optimum");
    let valid = valid
        .rests_on([GAP])
        .ours("(P - P*) / gap at most 1 at every pass, and a gap of 1e-4 reached");
    let measured = format!("at most {}; 1e-4 after {} passes", short(share), short(far));
    outcome.claim(valid.holds((measured, share <= 1.0 && far.is_finite())));

    let sample = |of: &dyn Fn(f64, &Run) -> f64, method: usize| {
        Sample::over_seeds(all.iter().map(|(best, runs)| of(*best, &runs[method])).collect())
    };
    let arrives = |loser: &Sample| {
        let finite = loser.values().iter().all(|passes| passes.is_finite());
        ("the loser arrives".to_owned(), finite)
    };
    let certified = |_: f64, run: &Run| run.certified(1e-2);
    let (dual, batch) = (sample(&certified, 0)?, sample(&certified, 2)?);
    let fewer = claim("dual ascent proves a gap of 1e-2 in fewer passes than L-BFGS");
    let fewer =
        fewer.rests_on([GAP, BATCH]).ours("passes to a relative gap of 1e-2 below, in each seed");
    outcome.claim(fewer.holds(dual.below(&batch).and(arrives(&batch))));
    let close = |best: f64, run: &Run| run.within(1e-3, best);
    let (dual, batch) = (sample(&close, 0)?, sample(&close, 2)?);
    let half = claim("dual ascent comes within 1e-3 of the optimum in half the passes of L-BFGS");
    let half = half
        .rests_on([GAP, BATCH])
        .ours("passes to P - P* = 1e-3 P* at most 0.5 times as many, in each seed");
    outcome.claim(half.holds(dual.at_most(0.5, &batch).and(arrives(&batch))));
    let uniform = sample(&close, 1)?;
    let gaps = claim("sampling by gaps is ahead of uniform sampling");
    let gaps = gaps.rests_on([GAP, UNIFORM]).ours("passes to P - P* = 1e-3 P* below, in each seed");
    outcome.claim(gaps.holds(dual.below(&uniform).and(arrives(&uniform))));

    errors(context, outcome, kind, tasks, &all, ground)?;
    show(outcome, kind, &all);
    Ok(())
}

/// Measures the effect of the edges: the errors on the test set with and without them.
fn errors(
    context: &Context,
    outcome: &mut Outcome,
    kind: &str,
    tasks: &[Task],
    all: &[(f64, Vec<Run>)],
    ground: Ground,
) -> Result<(), Failure> {
    let task = &tasks[0];
    let wrong = |train: &GraphDataset, test: &GraphDataset, weights: &[f64]| {
        let model = GraphModel::new(train.templates().to_vec(), weights.to_vec(), None)?;
        Ok::<f64, Failure>(1.0 - model.score(test)?)
    };
    let with = wrong(&task.train, &task.test, &all[0].1[0].weights)?;
    let [train, test] = &task.plain;
    let (_, plain) = runs(context, train, context.seed)?;
    let without = wrong(train, test, &plain[0].weights)?;
    let worth = Source::OURS.claim(format!("{kind}: what the edges are worth")).on(ground);
    let measured = format!("{} % against {} %", short(100.0 * with), short(100.0 * without));
    let what = format!("wrong labels of the test set: {}", task.name);
    outcome.claim(worth.rests_on([GAP]).reported(what, measured));
    Ok(())
}

fn show(outcome: &mut Outcome, kind: &str, all: &[(f64, Vec<Run>)]) {
    let columns = ["method", "passes to a gap of 1e-2", "P - P* to 1e-3", "gap of 1e-6", "seconds"];
    let mut table = Table::new(format!("Methods on {kind}, first seed"), columns);
    let (best, runs) = &all[0];
    let finite = |passes: f64| Some(passes).filter(|passes| passes.is_finite());
    for run in runs {
        table.push([
            run.name.into(),
            finite(run.certified(1e-2)).into(),
            finite(run.within(1e-3, *best)).into(),
            finite(run.certified(1e-6)).into(),
            run.seconds.into(),
        ]);
    }
    outcome.table(table);
    let axis = Axis::log("(P - P*) / P*").limits(1e-7, 1e2);
    let figure =
        Figure::new(format!("P - P* on {kind}"), Axis::linear("passes").limits(0.0, 60.0), axis);
    let points = |run: &Run| {
        run.rows.iter().map(|row| (row.passes, (row.objective - best) / best)).collect()
    };
    outcome.figure(runs.iter().fold(figure, |f, run| f.with(Series::line(run.name, points(run)))));
}

/// Random trees of up to 20 variables of 4 labels. A child has its parent's label in 6 of 10 cases, else any. Of the four
/// attributes of a variable half are of 100 that its label prefers, the others of 300 that all have.
fn tree_task(context: &Context, seed: u64) -> Result<Task, Failure> {
    const LABELS: usize = 4;
    const OWN: usize = 100;
    const COMMON: usize = 300;
    let node = CliqueTemplate::new(&[LABELS], LABELS * OWN + COMMON + 1);
    let edge = CliqueTemplate::new(&[LABELS, LABELS], 1);
    let empty = || GraphDataset::new(vec![node.clone(), edge.clone()]);
    let mut sets = [empty()?, empty()?, empty()?, empty()?];
    let (train, mut rng) = (context.pick(300, 2_000), stream(seed, 0));
    for i in 0..train + train / 2 {
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
        let at = usize::from(i >= train);
        sets[2 + at].push(tree.clone(), &labels)?;
        edges.iter().for_each(|edge| _ = tree.clique(1, edge, &[(0, 1.0)]));
        sets[at].push(tree, &labels)?;
    }
    let [train, test, plain, plain_test] = sets;
    let name = "trees against single variables".to_owned();
    Ok(Task { name, train, test, plain: [plain, plain_test] })
}

/// Noun phrases of CoNLL-2000, and chains of them with edges between equal capitalised words.
fn skip_task(context: &Context, outcome: &mut Outcome) -> Result<Option<Task>, Failure> {
    let Some(root) = &context.data else { return Ok(None) };
    let folder = Folder::new(root);
    let (Some(train), Some(test)) = (folder.conll2000_train()?, folder.conll2000_test()?) else {
        return Ok(None);
    };
    let limit = context.pick(400, usize::MAX);
    let (train, test) = (spread(&train, limit), spread(&test, limit));
    let template = Template::chunking(Boundary::Symbol("_".to_owned()));
    let expand = |sentence: &Sentence| -> Result<Instance, Failure> {
        let mut instance = Instance::new();
        template.expand(&cells(sentence, true), &phrases(sentence), &mut instance)?;
        Ok(instance)
    };
    let mut builder = CorpusBuilder::new();
    for sentence in &train {
        builder.push(&expand(sentence)?)?;
    }
    let corpus = builder.finish(3)?;
    let (attributes, labels) = (corpus.attributes.len(), corpus.labels.len());
    let node = CliqueTemplate::new(&[labels], attributes + 3);
    let next = CliqueTemplate::new(&[labels, labels], 1);
    let skip = CliqueTemplate::new(&[labels, labels], attributes + 1);
    let chain = || GraphDataset::new(vec![node.clone(), next.clone()]);
    let skips = || GraphDataset::new(vec![node.clone(), next.clone(), skip.clone()]);
    let (mut sets, mut plain) = ([skips()?, skips()?], [chain()?, chain()?]);
    for (at, sentences) in [&train, &test].into_iter().enumerate() {
        let (mut made, mut left_out) = (0, 0);
        for sentence in sentences {
            let (graph, truth, tokens) = as_chain(&corpus, &expand(sentence)?)?;
            plain[at].push(graph.clone(), &truth)?;
            let (graph, counts) = with_skips(graph, sentence, &tokens, attributes as u32)?;
            (made, left_out) = (made + counts.0, left_out + counts.1);
            sets[at].push(graph, &truth)?;
        }
        outcome.setting(
            ["skip edges, training set", "skip edges, test set"][at],
            format!("{made} in {} sentences; {left_out} left out", sentences.len()),
        );
    }
    speed(context, outcome, &corpus, &plain[0])?;
    let [train, test] = sets;
    let name = "skip chains against chains".to_owned();
    Ok(Some(Task { name, train, test, plain }))
}

/// The chunks that are noun phrases.
fn phrases(sentence: &Sentence) -> Vec<&str> {
    let phrase = |label: &'_ str| match label {
        "B-NP" => "B-NP",
        "I-NP" => "I-NP",
        _ => "O",
    };
    sentence.column(2).map(phrase).collect()
}

type Attributes = Vec<(u32, f64)>;

/// A sentence as a chain, with bias and ends as the crate's chains have them; its labels, and the attributes of its tokens.
fn as_chain(
    corpus: &Corpus,
    instance: &Instance,
) -> Result<(GraphInstance, Vec<usize>, Vec<Attributes>), Failure> {
    let first = corpus.attributes.len() as u32;
    let mut graph = GraphInstance::new(&vec![corpus.labels.len(); instance.len()]);
    let mut tokens = Vec::new();
    for t in 0..instance.len() {
        let known = |(name, value)| Some((corpus.attributes.get(name)?, value));
        let own: Attributes = instance.attributes(t).filter_map(known).collect();
        let mut all = own.clone();
        all.push((first, 1.0));
        all.extend((t == 0).then_some((first + 1, 1.0)));
        all.extend((t + 1 == instance.len()).then_some((first + 2, 1.0)));
        graph.clique(0, &[t], &all);
        if t > 0 {
            graph.clique(1, &[t - 1, t], &[(0, 1.0)]);
        }
        tokens.push(own);
    }
    let label = |name| corpus.labels.get(name).map(|label| label as usize);
    let truth: Option<Vec<usize>> = instance.labels().map(label).collect();
    let truth = truth.ok_or_else(|| Failure::new("a label that the training set lacks"))?;
    Ok((graph, truth, tokens))
}

/// The chain with edges between equal capitalised words that are no neighbours, which have the attributes of both and a
/// constant one; how many edges there are, and how many would have made the junction tree too wide.
fn with_skips(
    mut graph: GraphInstance,
    sentence: &Sentence,
    tokens: &[Attributes],
    constant: u32,
) -> Result<(GraphInstance, (usize, usize)), Failure> {
    let words: Vec<&str> = sentence.column(0).collect();
    let (mut made, mut left_out) = (0, 0);
    for (v, word) in words.iter().enumerate() {
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        for u in (0..v.saturating_sub(1)).filter(|&u| capital && words[u] == *word) {
            let mut both = [&tokens[u][..], &tokens[v][..], &[(constant, 1.0)]].concat();
            both.sort_unstable_by_key(|attribute| attribute.0);
            both.dedup_by_key(|attribute| attribute.0);
            let mut wider = graph.clone();
            wider.clique(2, &[u, v], &both);
            if wider.elimination()?.induced_width <= WIDTH {
                (graph, made) = (wider, made + 1);
            } else {
                left_out += 1;
            }
        }
    }
    Ok((graph, (made, left_out)))
}

/// Measures the cost of the general code for graphs that are chains.
fn speed(
    context: &Context,
    outcome: &mut Outcome,
    corpus: &Corpus,
    chains: &GraphDataset,
) -> Result<(), Failure> {
    let l2 = 1.0 / chains.len() as f64;
    let stop = Stop { absolute: 0.0, relative: 0.0, max_passes: 10.0, ..Stop::default() };
    let (seed, chain) = (context.seed, Problem::new(&corpus.data, l2, Features::default())?);
    let settings = SdcaSettings { stop, seed, ..SdcaSettings::default() };
    let fast = sdca::<f64, _>(&chain, &settings, None, &mut ())?.report.seconds;
    let graph = GraphProblem::new(chains, l2, MAX_MEMORY)?;
    let settings = SdcaSettings { stop, seed, ..SdcaSettings::default() };
    let general = graph_sdca(&graph, &settings, None, &mut ())?.report.seconds;
    let times = format!("{} s against {} s", short(general), short(fast));
    let claim =
        Source::OURS.claim("Chains: the general code against the fast path").on(Ground::Real);
    outcome.claim(claim.reported("seconds of 10 passes of dual ascent, three labels", times));
    Ok(())
}
