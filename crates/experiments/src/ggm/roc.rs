//! This module repeats figures 8.3 and 8.4 of A. Defazio, PhD thesis 2014: true and false edges on walk-summable
//! models of Barabasi-Albert and Erdos-Renyi graphs.

use fenchel_ggm::synthetic::{Edges, barabasi_albert, erdos_renyi, walk_summable};
use fenchel_ggm::{Statistics, sample};
use fenchel_optim::random::{Generator, stream};
use ndarray::{Array1, Array2};

use super::selection::{METHODS, ranked, scores};
use super::thesis;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Series, Source, Table};

pub(super) const PREFERENTIAL: Experiment = Experiment {
    id: "gg-36",
    title: "Figure 8.3: edges found by thresholds, L1 and neighbourhoods",
    question: "Which rule finds the edges of a normal model best: thresholds of correlations or of conditional covariances, L1, or neighbourhoods?",
    learnt: "With few false edges thresholds of conditional covariances (SHORTCUT, CCT) find more true edges than L1; with many L1 finds more. Neighbourhoods, which the thesis finds bad, find as many as the best.",
    run: |context, outcome| experiment(context, outcome, &BARABASI_ALBERT),
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const RANDOM: Experiment = Experiment {
    id: "gg-36b",
    title: "Figure 8.4: edges found on graphs without hubs (Erdos-Renyi)",
    question: "On random graphs without hubs, do SHORTCUT and CCT find more true edges than L1 when few false edges are allowed, as they do on graphs with hubs (gg-36)?",
    learnt: "They do. SHORTCUT and CCT with one and with two variables find about the same share of the true edges. With few false edges they find more than L1, with many about as many.",
    run: |context, outcome| experiment(context, outcome, &ERDOS_RENYI),
    ..Experiment::of(super::DOCUMENT)
};

const NODES: usize = 60;

/// Where the graphs come from.
struct Truth {
    name: &'static str,
    figure: &'static str,
    /// Whether the document calls SHORTCUT and CCT similar on these graphs.
    similar: bool,
    draw: fn(&mut Generator) -> Result<Edges, fenchel_ggm::Error>,
}

const BARABASI_ALBERT: Truth = Truth {
    name: "one graph a seed: Barabasi-Albert (BA), 60 nodes, m = 2 (116 edges); samples: of a normal law with mean 0 and a walk-summable precision matrix on the graph",
    figure: "True edges found before a number of false ones, graphs with hubs (figure 8.3)",
    similar: false,
    draw: |random| barabasi_albert(NODES, 2, random),
};

const ERDOS_RENYI: Truth = Truth {
    name: "one graph a seed: Erdos-Renyi (ER), 60 nodes, 120 edges expected; samples: of a normal law with mean 0 and a walk-summable precision matrix on the graph",
    figure: "True edges found before a number of false ones, graphs without hubs (figure 8.4)",
    similar: true,
    draw: |random| erdos_renyi(NODES, 120.0 / (NODES * (NODES - 1) / 2) as f64, random),
};

const TWO: Source =
    thesis("8.3.1", "the CCT eta = 2 method performs very similarly to the eta = 1 case");

const BETTER: Source = thesis(
    "8.3.1",
    "SHORTCUT performs similarly [to CCT eta = 1] on the easier ER model, and slightly better on the BA model.",
);

const BAD: Source = thesis(
    "8.3.1",
    "neighbourhood selection performs particularly badly on these synthetic problems. We were not able to determine a good reason for this.",
);

const FALSE: [usize; 6] = [2, 5, 10, 20, 40, 80];

/// Share of true edges among those that come before so many false ones.
fn true_positives(scores: &Array2<f64>, truth: &[(u32, u32)]) -> Vec<f64> {
    let real = |(score, i, j)| (score, truth.binary_search(&(i, j)).is_ok());
    let pairs: Vec<(f64, bool)> = ranked(scores).into_iter().map(real).collect();
    FALSE
        .iter()
        .map(|&limit| {
            let (mut hits, mut wrong) = (0, 0);
            for &(score, real) in &pairs {
                if wrong >= limit || score <= 0.0 {
                    break;
                }
                if real { hits += 1 } else { wrong += 1 }
            }
            f64::from(hits) / truth.len() as f64
        })
        .collect()
}

fn experiment(context: &Context, outcome: &mut Outcome, truth: &Truth) -> Result<(), Failure> {
    let graphs = 30;
    outcome.setting("graphs", graphs).setting("truth", truth.name).setting("samples", 500);
    let mut runs = vec![Vec::new(); METHODS.len()];
    for graph in 0..graphs {
        let seed = context.seed + 1000 + graph;
        let edges = (truth.draw)(&mut stream(seed, 0))?;
        let theta = walk_summable(NODES, &edges, &mut stream(seed, 1));
        let x = sample(theta.view(), &Array1::zeros(NODES), 500, &mut stream(seed, 2))?;
        let statistics = Statistics::from_data(&x)?;
        for (m, method) in METHODS.iter().enumerate() {
            context.progress((graph as f64 + m as f64 / 7.0) / graphs as f64, method)?;
            runs[m].push(true_positives(&scores(context, method, &statistics)?, &edges));
        }
    }
    let mut figure = Figure::new(
        truth.figure,
        Axis::log("false edges"),
        Axis::linear("share of true edges found"),
    )
    .note(format!("Lines: means over {graphs} graphs; vertical lines: one standard error of the mean."))
    .caption("`CCT k`: conditional covariance thresholding, given at most k other variables (eta = k in the thesis); the curve of SHORTCUT lies under that of CCT 1.");
    let mut table = Table::new(
        "Share of true edges found before 2 to 80 false ones",
        ["method", "2", "5", "10", "20", "40", "80"],
    );
    let mut means = Vec::new();
    for (method, runs) in METHODS.iter().zip(&runs) {
        let curve = Series::means(*method, &FALSE.map(|count| count as f64), runs);
        let row: Vec<f64> = curve.points.iter().map(|point| point.1).collect();
        figure = figure.with(curve);
        table.push([(*method).into()].into_iter().chain(row.iter().map(|&v| v.into())));
        means.push(row);
    }
    outcome.figure(figure).table(table);
    let at = |method: &str, k: usize| {
        let m = METHODS.iter().position(|m| *m == method).unwrap_or(0);
        means[m][k]
    };
    let spread = |method: &str| {
        let apart = (0..FALSE.len()).map(|k| (at(method, k) - at("CCT 1", k)).abs());
        apart.fold(0.0, f64::max)
    };
    let mean =
        |method: &str| (0..FALSE.len()).map(|k| at(method, k)).sum::<f64>() / FALSE.len() as f64;
    let means = format!("SHORTCUT {:.4}, CCT {:.4}", mean("SHORTCUT"), mean("CCT 1"));
    outcome.claim(if truth.similar {
        let apart = spread("SHORTCUT");
        BETTER
            .claim("SHORTCUT and CCT with one variable find about the same share of the true edges")
            .reported("largest difference of their shares, over 2 to 80 false edges; \"similarly\" has no number", apart)
    } else {
        BETTER
            .claim("SHORTCUT finds more true edges than CCT with one variable")
            .rests_on(["SHORTCUT", "CCT 1"])
            .document("larger share of the true edges, in the mean over 2 to 80 false ones")
            .known_failure(
                // A method that finds nothing is not compared.
                (means, mean("SHORTCUT") > mean("CCT 1") && mean("CCT 1") > 0.0),
                Reason::checked(
                    "both give a pair i, j the same score, except that SHORTCUT gives 0 where for some third variable k the product r_ik r_kj of correlations goes beyond r_ij. The largest difference between their shares of true edges",
                    spread("SHORTCUT"),
                    spread("SHORTCUT") <= 0.02,
                ),
            )
    });
    outcome.claim(
        TWO.claim(
            "CCT with two variables finds about the same share of the true edges as CCT with one",
        )
        .reported("largest difference of their shares, over 2 to 80 false edges; \"similarly\" has no number", spread("CCT 2")),
    );
    // The sentence is about both kinds of graph: it is judged once, on those that are harder.
    if !truth.similar {
        let rules = ["neighbourhoods, union", "neighbourhoods, intersection"];
        let others = METHODS.iter().filter(|m| !rules.contains(m)).map(|m| mean(m));
        let least = others.fold(f64::INFINITY, f64::min);
        outcome.claim(
        BAD.claim("neighbourhood selection finds the fewest true edges of all methods, by both its rules")
            .rests_on(rules)
            .document("smaller share of the true edges than every other method, in the mean over 2 to 80 false ones")
            .known_failure(
                (
                    format!("union {:.3}, intersection {:.3}; others at least {least:.3}", mean(rules[0]), mean(rules[1])),
                    rules.iter().all(|rule| mean(rule) < least),
                ),
                Reason::checked(
                    "here a pair is ranked by the largest penalty at which it enters. With this ranking the union finds about the same share as SHORTCUT. The mean share of the union minus that of SHORTCUT",
                    mean(rules[0]) - mean("SHORTCUT"),
                    mean(rules[0]) - mean("SHORTCUT") > -0.02,
                ),
            ),
    );
    }
    let sparse = [at("SHORTCUT", 1), at("CCT 1", 1), at("L1", 1), at("correlation", 1)];
    outcome.claim(
        thesis("8.3.1", "the L_1 regularised maximum likelihood method is out-performed by the thresholding methods for sparse reconstructions")
            .claim("when few false edges are allowed SHORTCUT and CCT with one variable find more true edges than L1, and L1 finds more than thresholds of correlations")
            .rests_on(["SHORTCUT", "CCT 1", "L1"])
            .document("shares of the true edges before 5 false ones, means over the graphs, in this order: SHORTCUT, CCT; L1; correlations. The place of correlations is the project's reading of \"correlation matrix thresholding performs poorly\"")
            .holds((
                format!("SHORTCUT {:.3}, CCT {:.3}; L1 {:.3}; correlations {:.3}", sparse[0], sparse[1], sparse[2], sparse[3]),
                sparse[0].min(sparse[1]) > sparse[2] && sparse[2] > sparse[3],
            )),
    );
    let lead = [1, 5].map(|k| at("L1", k) - at("SHORTCUT", k));
    outcome.claim(
        thesis("8.3.1", "the L_1 regularised maximum likelihood method [...] is able to capture a larger proportion of correct edges as the number of allowed false positives increases")
            .claim("L1 catches up with SHORTCUT as more false edges are allowed")
            .rests_on(["L1"])
            .document("its share of the true edges less that of SHORTCUT is larger before 80 false edges than before 5")
            .holds((format!("{:+.3} at 5, {:+.3} at 80", lead[0], lead[1]), lead[1] > lead[0])),
    );
    Ok(())
}
