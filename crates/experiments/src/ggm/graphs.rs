//! This module repeats figure 7.1 of A. Defazio, PhD thesis 2014: true and false edges on scale-free graphs. Some of
//! the penalties depend on the degrees of nodes; one does not.

use fenchel_ggm::path::grid;
use fenchel_ggm::scale_free::DegreePrior;
use fenchel_ggm::synthetic::{Edges, barabasi_albert, power_law};
use fenchel_ggm::{Error, Statistics};
use fenchel_linalg::text::short;
use fenchel_optim::Stop;
use fenchel_optim::random::stream;

use super::scale_free::{Penalty, sampled};
use super::thesis;
use crate::numbers::{mean, mean_and_error};
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Series, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gg-27",
    title: "Figure 7.1: true and false edges of scale-free graphs",
    question: "Does a prior on the degrees of nodes find more true edges of a scale-free graph (few nodes have many edges) than L1?",
    learnt: "About as many, where the estimate has as many edges as the truth or more; whether at least as many, as the thesis says, a full run with thirty graphs of a kind decides. The thesis also finds more than with reweighted L1, the method of Liu and Ihler (2011). This is not found here, where the parameters of all methods are chosen in the same way.",
    quick: "six graphs of a kind in the place of thirty; two parameters of a method to choose from, on one graph, in the place of five, on six",
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const SUPERIOR: Source = thesis(
    "7.5.1",
    "our method [the degree prior] with the square-root weighting presents results superior to those from Liu and Ihler (2011) [reweighted L1] for these datasets",
);
const LOG: Source = thesis(
    "7.5.1",
    "the log based weights give very similar but not identical results to the reweighting scheme which also uses a log term",
);
const SPARSER: Source = thesis(
    "7.5.1",
    "The only case where it [the square-root weighting] gives inferior reconstructions is when it is forced to give a sparser reconstruction than the original graph.",
);

const P: usize = 60;
const FALSE: [f64; 7] = [2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0];
const METHODS: [&str; 4] = ["L1", "reweighted L1", "square root", "logarithm"];
// Places in `METHODS`.
const L1: usize = 0;
const REWEIGHTED: usize = 1;
const ROOT: usize = 2;
const LOGARITHM: usize = 3;

/// A setting of a penalty, for people.
fn text(penalty: &Penalty) -> String {
    match penalty {
        Penalty::L1 => "no parameter to choose".into(),
        Penalty::Reweighted { eps } => format!("eps = {eps}"),
        Penalty::Free(DegreePrior::Sqrt { beta }) => format!("beta = {beta}"),
        Penalty::Free(DegreePrior::Log { eps, beta }) => format!("eps = {eps}, beta = {beta}"),
        Penalty::Free(prior) => format!("{prior:?}"),
    }
}

/// The same number of settings for every method that has any.
fn settings(context: &Context) -> [Vec<Penalty>; 4] {
    let count = context.pick(2, 5);
    let eps = [1.0, 0.5, 2.0, 0.3, 4.0];
    let beta = [0.2, 0.1, 0.4, 0.05, 0.8];
    let both = [(1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (0.5, 0.5), (1.0, 2.0)];
    let root = |&beta: &f64| Penalty::Free(DegreePrior::Sqrt { beta });
    let log = |&(eps, beta): &(f64, f64)| Penalty::Free(DegreePrior::Log { eps, beta });
    [
        vec![Penalty::L1],
        eps[..count].iter().map(|&eps| Penalty::Reweighted { eps }).collect(),
        beta[..count].iter().map(root).collect(),
        both[..count].iter().map(log).collect(),
    ]
}

/// The share of true edges that are found, for each number of false edges. Values between the models of a path are interpolated.
fn shares(
    context: &Context,
    setting: &Penalty,
    statistics: &Statistics,
    truth: &Edges,
) -> Result<Vec<f64>, Failure> {
    let mut curve = vec![(0.0, 0.0)];
    let stop = Stop { absolute: 1e-4, relative: 0.0, ..Stop::default() };
    for level in grid(0.45, 0.09, context.pick(14, 24))? {
        context.check()?;
        // The level is that of the eleventh edge of a node.
        let found = setting.precision(statistics, level, (6, 10), stop)?;
        let (mut hits, mut wrong) = (0.0, 0.0);
        for ((i, j), &x) in found.indexed_iter() {
            if i < j && x != 0.0 {
                let real = truth.binary_search(&(i as u32, j as u32)).is_ok();
                *if real { &mut hits } else { &mut wrong } += 1.0;
            }
        }
        curve.push((wrong, hits / truth.len() as f64));
        if wrong >= FALSE[FALSE.len() - 1] {
            break;
        }
    }
    curve.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let at = |limit: f64| match curve.iter().position(|point| point.0 >= limit) {
        Some(k) if k > 0 => {
            let (from, to) = (curve[k - 1], curve[k]);
            from.1 + (to.1 - from.1) * (limit - from.0) / (to.0 - from.0)
        }
        _ => curve[curve.len() - 1].1,
    };
    Ok(FALSE.iter().map(|&limit| at(limit)).collect())
}

type Draw = fn(u64) -> Result<Edges, Error>;

const FAMILIES: [(&str, Draw); 3] = [
    ("Barabasi-Albert, m = 1", |seed| barabasi_albert(P, 1, &mut stream(seed, 0))),
    ("Barabasi-Albert, m = 2", |seed| barabasi_albert(P, 2, &mut stream(seed, 0))),
    ("degrees with exponent 2", |seed| power_law(P, 2.0, &mut stream(seed, 0))),
];

/// A graph, and the statistics of 500 samples of its model.
fn instance(draw: Draw, seed: u64) -> Result<(Edges, Statistics), Failure> {
    let edges = draw(seed)?;
    let statistics = sampled((P, 500), &edges, -0.2, seed)?;
    Ok((edges, statistics))
}

/// The shares of true edges, indexed by method, graph and number of false edges.
struct Family {
    shares: Vec<Vec<Vec<f64>>>,
    /// Mean number of true edges.
    edges: f64,
}

impl Family {
    fn mean(&self, method: usize, k: usize) -> f64 {
        mean(self.shares[method].iter().map(|graph| graph[k]))
    }

    /// Mean and standard error over the graphs of a difference, itself a mean over numbers of false edges.
    fn difference(&self, a: usize, b: usize, places: &[usize]) -> (f64, f64) {
        let less = |(a, b): (&Vec<f64>, &Vec<f64>)| mean(places.iter().map(|&k| a[k] - b[k]));
        let all: Vec<f64> = self.shares[a].iter().zip(&self.shares[b]).map(less).collect();
        mean_and_error(&all)
    }
}

fn scored(context: &Context, which: usize, outcome: &mut Outcome) -> Result<Family, Failure> {
    let (name, draw) = FAMILIES[which];
    let (tuned, graphs) = context.pick((1, 6), (6, 30));
    let seed = context.seed + 100_000 * (1 + which as u64);
    let mut chosen = Vec::new();
    for (m, candidates) in settings(context).into_iter().enumerate() {
        context.progress((which as f64 + 0.1 * m as f64) / 3.0, METHODS[m])?;
        let mut best = (f64::NEG_INFINITY, candidates[0].clone());
        for setting in candidates.iter().filter(|_| candidates.len() > 1) {
            let mut sum = 0.0;
            for graph in 0..tuned {
                let (edges, statistics) = instance(draw, seed + 50_000 + graph)?;
                // From 10 to 80 false edges.
                sum += shares(context, setting, &statistics, &edges)?[2..6].iter().sum::<f64>();
            }
            if sum > best.0 {
                best = (sum, setting.clone());
            }
        }
        outcome.setting(format!("{name}: {}", METHODS[m]), text(&best.1));
        chosen.push(best.1);
    }
    let mut family = Family { shares: vec![Vec::new(); METHODS.len()], edges: 0.0 };
    for graph in 0..graphs {
        let (edges, statistics) = instance(draw, seed + graph)?;
        family.edges += edges.len() as f64 / graphs as f64;
        for (m, setting) in chosen.iter().enumerate() {
            let done = 0.4 + 0.6 * graph as f64 / graphs as f64;
            context.progress((which as f64 + done) / 3.0, METHODS[m])?;
            let found = if context.is_frozen(METHODS[m]) {
                vec![0.0; FALSE.len()]
            } else {
                shares(context, setting, &statistics, &edges)?
            };
            family.shares[m].push(found);
        }
    }
    Ok(family)
}

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    outcome
        .setting("graphs of a kind, one a seed", context.pick(6, 30))
        .setting("graphs to tune on", context.pick(1, 6))
        .setting("parameters of a method to choose from", context.pick(2, 5))
        .setting("nodes", P)
        .setting("samples", "500, normal, with a diagonally dominant precision matrix");
    outcome.note(
        "`square root` and `logarithm` are degree priors: the price of a node grows with its degree like that function, so that each further edge costs less; \
         beta and eps are their parameters. The parameters of each method are chosen on other graphs, from the same number of candidates. The thesis names neither the \
         candidates nor the number m of edges that a new node of its Barabasi-Albert graphs has: m = 1 and m = 2 are run.",
    );
    let mut families = Vec::new();
    for (which, (name, _)) in FAMILIES.iter().enumerate() {
        let family = scored(context, which, outcome)?;
        let mut figure = Figure::new(
            format!("True edges against false ones: {name} (figure 7.1)"),
            Axis::log("false edges"),
            Axis::linear("share of true edges found"),
        )
        .caption(format!("The graphs have {} true edges in the mean.", short(family.edges)));
        let graphs = family.shares.first().map_or(0, Vec::len);
        figure = figure.note(format!(
            "Lines: means over {graphs} graphs; vertical lines: one standard error of the mean."
        ));
        let columns = ["method", "2", "5", "10", "20", "40", "80", "160"];
        let mut table =
            Table::new(format!("Share of true edges before false ones, {name}"), columns);
        for (m, method) in METHODS.iter().enumerate() {
            let curve = Series::means(*method, &FALSE, &family.shares[m]);
            let row = curve.points.iter().map(|point| point.1.into());
            table.push(std::iter::once((*method).into()).chain(row));
            figure = figure.with(curve);
        }
        outcome.figure(figure).table(table);
        families.push(family);
    }
    judge(context, outcome, &families);
    Ok(())
}

/// A mean with its standard error, for people.
fn signed((mean, error): &(f64, f64)) -> String {
    format!("{mean:+.3} ({error:.3})")
}

/// The differences of two methods on every kind of graph, for people.
fn told(families: &[Family], a: usize, b: usize, places: impl Fn(&Family) -> Vec<usize>) -> String {
    let one = |(family, (name, _)): (&Family, &(&str, Draw))| {
        let at = |k: usize| format!("{} at {}", signed(&family.difference(a, b, &[k])), FALSE[k]);
        format!("{name}: {}", places(family).into_iter().map(at).collect::<Vec<_>>().join(", "))
    };
    families.iter().zip(&FAMILIES).map(one).collect::<Vec<_>>().join("; ")
}

fn judge(context: &Context, outcome: &mut Outcome, families: &[Family]) {
    // From 10 to 80 false edges.
    let places = [2, 3, 4, 5];
    let ahead = |a: usize, b: usize| {
        families.iter().map(|family| family.difference(a, b, &places)).collect::<Vec<_>>()
    };
    let list = |all: &[(f64, f64)]| all.iter().map(signed).collect::<Vec<_>>().join(", ");
    let differences = ahead(ROOT, REWEIGHTED);
    // A method that finds nothing is not compared.
    let finds = families.iter().all(|family| family.mean(REWEIGHTED, places[3]) > 0.0);
    outcome.claim(
        SUPERIOR
            .claim("the square root finds more true edges than reweighted L1 on every kind of graph, in the mean over 10 to 80 false edges")
            .rests_on([METHODS[ROOT], METHODS[REWEIGHTED]])
            .document("share of true edges of the square root less that of reweighted L1: its mean is above 0 on all three kinds of graph (shown at 10, 20, 40 and 80 false edges, standard errors in brackets)")
            .known_failure(
                (told(families, ROOT, REWEIGHTED, |_| places.to_vec()), finds && differences.iter().all(|d| d.0 > 0.0)),
                Reason::checked(
                    "the thesis does not say how it chose the parameter of Liu and Ihler. Here it is chosen like that of the square root, on other graphs from as many candidates. The square root is then on no kind of graph ahead by two standard errors, in the mean over 10 to 80 false edges. Its mean differences on the three kinds, in the order of the tables (standard errors in brackets), are",
                    list(&differences),
                    differences.iter().all(|d| d.0 <= 2.0 * d.1),
                ),
            ),
    );
    // Where the estimate of the l1 norm has as many edges as the truth.
    let dense = |family: &Family| {
        let all = |k: &usize| family.mean(L1, *k) * family.edges + FALSE[*k] >= family.edges;
        (0..FALSE.len()).filter(all).collect::<Vec<_>>()
    };
    let behind = |family: &Family| {
        dense(family).into_iter().any(|k| family.difference(ROOT, L1, &[k]).0 < 0.0)
    };
    outcome.claim(context.at_full(
        SPARSER
            .claim("the square root finds at least as many true edges as L1 where the estimate has as many edges as the truth")
            .rests_on([METHODS[ROOT], METHODS[L1]])
            .document("mean share of the square root less that of L1 at least 0 (shown at so many false edges, standard errors in brackets), wherever true and false edges of L1 are together at least as many as those of the truth")
            .holds((told(families, ROOT, L1, dense), !families.iter().any(behind))),
        "this run has six graphs of a kind, the document thirty, and the difference is smaller than what six graphs and parameters chosen on one graph can tell. On the six",
    ));
    let before = families[1].difference(ROOT, L1, &[0]);
    outcome.claim(
        SPARSER
            .claim(format!(
                "{}: before two false edges the square root finds fewer true ones than L1",
                FAMILIES[1].0
            ))
            .rests_on([METHODS[L1], METHODS[ROOT]])
            .document("share of the square root less that of L1 below 0 in the mean (shown, standard error in brackets); the square root finds half of the true edges before 160 false ones")
            .holds((signed(&before), before.0 < 0.0 && families[1].mean(ROOT, 6) >= 0.5)),
    );
    outcome.claim(
        LOG.claim("the logarithm and reweighted L1 find similar shares of the true edges").reported(
            "share of the logarithm less that of reweighted L1, mean over 10 to 80 false edges, on the three kinds of graph, in the order of the tables (standard errors in brackets); \"very similar\" has no number",
            list(&ahead(LOGARITHM, REWEIGHTED)),
        ),
    );
}
