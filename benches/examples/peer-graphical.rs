//! This project's side of `cargo xtask peers graphical`.
//!
//! ```text
//! peer-graphical serve --file NETWORK.bif.gz     reads a network, then answers requests
//! ```
//!
//! A line on standard input is a word, a line on standard output its answer as JSON:
//!
//! | word | does | answers |
//! |---|---|---|
//! | `network` | nothing | cardinalities, scopes (child last) and tables, so that both sides have the same numbers |
//! | `posteriors` | factors, triangulation, calibration, every marginal | seconds, cells, width |
//! | `again N` | on the compiled tree: N variables in turn in their most probable state, every marginal each time | mean seconds of one |
//! | `marginals` | nothing that is timed | every marginal |
//! | `sample N` | draws N records of the network, of which it keeps all | the records |
//! | `climb` | hill climbing by BIC on the records | seconds, and what `judge` says of the graph |
//! | `pc` | PC with chi-squared tests on the records | seconds, and what `judge` says of the class |
//! | `judge G` | nothing that is timed | of a graph with arcs and edges: its SHD to the true class and, without edges, its BIC score |
//!
//! `G` is JSON: `[[[from, to], ...], [[a, b], ...]]`, first the arcs, then the undirected edges. A graph without such edges is
//! judged by its equivalence class.

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use fenchel_graphical::structure::{HillClimbing, IndependenceTest, Pc, shd};
use fenchel_graphical::{
    BayesNet, Cpdag, Dag, Evidence, JunctionTree, OrderingOptions, StructureScore, VarId, bif,
};
use fenchel_optim::random::stream;
use ndarray::Array2;
use serde_json::{Value, json};

const USAGE: &str = "usage: peer-graphical serve --file NETWORK.bif[.gz]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, flag, file] = arguments.as_slice() else { return Err(USAGE.into()) };
    if command != "serve" || flag != "--file" {
        return Err(USAGE.into());
    }
    let net = bif::read(fenchel_datasets::open(file)?)?;
    let mut compiled = None::<Compiled>;
    let mut records = Array2::zeros((0, net.len()));
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, "0"));
        let reply = match word {
            "sample" | "climb" | "pc" | "judge" => learn(&net, &mut records, word, rest)?,
            _ => answer(&net, &mut compiled, word, rest)?,
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

struct Compiled {
    tree: JunctionTree,
    marginals: Vec<Vec<f64>>,
}

fn answer(
    net: &BayesNet,
    compiled: &mut Option<Compiled>,
    word: &str,
    number: &str,
) -> Result<Value, Box<dyn Error>> {
    match word {
        "network" => {
            let scope = |v: VarId| -> Vec<u32> {
                net.parents_of(v).iter().map(|p| p.0).chain([v.0]).collect()
            };
            let tables: Vec<Value> =
                net.variables().map(|v| json!([scope(v), net.cpt_of(v)])).collect();
            Ok(json!({ "cards": net.cards(), "tables": tables }))
        }
        "posteriors" => {
            let start = Instant::now();
            let model = net.factor_graph()?;
            let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
            let mut workspace = tree.workspace();
            let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace)?;
            let marginals = std::hint::black_box(answers.marginals());
            let seconds = start.elapsed().as_secs_f64();
            let reply = json!({ "seconds": seconds, "cells": tree.cells(), "width": tree.width() });
            *compiled = Some(Compiled { tree, marginals });
            Ok(reply)
        }
        "again" => {
            let model = net.factor_graph()?;
            let Compiled { tree, marginals } =
                compiled.as_ref().ok_or("`posteriors` comes first")?;
            let times = number.parse::<usize>()?.clamp(1, net.len());
            // Evenly over the variables.
            let observe = |k: usize| {
                let v = VarId((k * net.len() / times) as u32);
                let marginal = marginals[v.index()].iter().enumerate();
                let state =
                    marginal.max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(state, _)| state);
                Evidence::new().observe(v, state)
            };
            let evidence: Vec<Evidence> = (0..times).map(observe).collect();
            let mut posteriors = tree.posteriors(&model)?;
            posteriors.given(&Evidence::new())?;
            let start = Instant::now();
            for one in &evidence {
                std::hint::black_box(posteriors.given(one)?.marginals());
            }
            Ok(json!({ "seconds": start.elapsed().as_secs_f64() / times as f64 }))
        }
        "marginals" => {
            let model = net.factor_graph()?;
            let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
            let mut workspace = tree.workspace();
            let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace)?;
            Ok(json!({ "marginals": answers.marginals() }))
        }
        _ => Err(format!("{word} is not a request").into()),
    }
}

/// Structure learning.
fn learn(
    net: &BayesNet,
    records: &mut Array2<usize>,
    word: &str,
    rest: &str,
) -> Result<Value, Box<dyn Error>> {
    let start = Instant::now();
    match word {
        "sample" => {
            *records = net.sample_many(rest.parse()?, &mut stream(0, 0))?;
            let rows: Vec<Vec<usize>> = records.rows().into_iter().map(|r| r.to_vec()).collect();
            Ok(json!({ "records": rows }))
        }
        "climb" => {
            let found = HillClimbing::default().fit(records.view(), net.cards())?;
            let seconds = start.elapsed().as_secs_f64();
            judge(net, records, seconds, found.dag.arcs().collect(), Vec::new())
        }
        "pc" => {
            let pc = Pc { test: IndependenceTest::ChiSquared, ..Pc::default() };
            let Cpdag { directed, undirected, .. } = pc.fit(records.view(), net.cards())?.class;
            judge(net, records, start.elapsed().as_secs_f64(), directed, undirected)
        }
        _ => {
            let [arcs, edges]: [Vec<(u32, u32)>; 2] = serde_json::from_str(rest)?;
            judge(net, records, 0.0, arcs, edges)
        }
    }
}

fn judge(
    net: &BayesNet,
    records: &Array2<usize>,
    seconds: f64,
    mut directed: Vec<(u32, u32)>,
    undirected: Vec<(u32, u32)>,
) -> Result<Value, Box<dyn Error>> {
    let truth = net.dag();
    directed.sort_unstable();
    let mut undirected: Vec<(u32, u32)> =
        undirected.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
    undirected.sort_unstable();
    let bic = |dag: &Dag| StructureScore::Bic.graph(records.view(), net.cards(), dag);
    let (class, score) = match Dag::new(net.len(), directed.iter().copied()) {
        Ok(dag) if undirected.is_empty() => (dag.cpdag(), Some(bic(&dag)?)),
        _ => (Cpdag { nodes: net.len(), directed, undirected }, None),
    };
    let distance = shd(&truth.cpdag(), &class)?;
    let of_truth = bic(truth)?;
    Ok(json!({ "seconds": seconds, "shd": distance, "score": score, "true score": of_truth }))
}
