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

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use fenchel_graphical::{BayesNet, Evidence, JunctionTree, OrderingOptions, VarId, bif};
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
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let reply = answer(&net, &mut compiled, &line?)?;
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
    request: &str,
) -> Result<Value, Box<dyn Error>> {
    let (word, number) = request.split_once(' ').unwrap_or((request, "0"));
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
