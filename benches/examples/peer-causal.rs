//! This project's side of `cargo xtask peers causal`.
//!
//! ```text
//! peer-causal serve
//! ```
//!
//! A line on standard input is a request, a line on standard output its answer as JSON:
//!
//! | request | answers |
//! |---|---|
//! | `graphs N EVERY` | each EVERYth graph with N nodes, as edges, with the joint law of a random model, and for each pair of a treatment and an outcome our verdict, our formula's error and the truth; seconds of all calls of `identify` |
//! | `adapt K RUNS SAMPLES STEP` | scores of references and transfers, samples, our curves in both directions; seconds on one thread |
//! | `sweep K RUNS` | seconds of the whole sweep on all cores: three models, seven steps, 400 samples |

use std::error::Error as StdError;
use std::io::{BufRead, Write};
use std::time::Instant;

use fenchel_causal::categorical::CategoricalPair;
use fenchel_causal::prior::{CategoricalPrior, Target};
use fenchel_causal::{Admg, Error, LatentModel, NodeSet, Query, identify};
use fenchel_experiments::causal::methods::adapt::{
    Average, CategoricalTask, SweepSettings, Task, sweep,
};
use fenchel_optim::random::stream;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn StdError>> {
    if std::env::args().nth(1).as_deref() != Some("serve") {
        return Err("usage: peer-causal serve".into());
    }
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let reply = match words.as_slice() {
            ["graphs", n, every] => graphs(n.parse()?, every.parse()?)?,
            ["adapt", k, runs, samples, step] => {
                adapt(k.parse()?, runs.parse()?, samples.parse()?, step.parse()?)?
            }
            ["sweep", k, runs] => whole_sweep(k.parse()?, runs.parse()?)?,
            _ => return Err(format!("{line} is not a request").into()),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

/// Graphs along the order `0..n`: all of them, up to names. Their numbers, directed edges the upper bits, in strides.
fn graphs(n: u32, every: usize) -> Result<Value, Error> {
    let names: Vec<String> = (0..n).map(|v| format!("V{v}")).collect();
    let pairs: Vec<(u32, u32)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    let chosen = |bits: usize| -> Vec<(u32, u32)> {
        let bit = |(k, e): (usize, &(u32, u32))| (bits >> k & 1 == 1).then_some(*e);
        pairs.iter().enumerate().filter_map(bit).collect()
    };
    let queries: Vec<(u32, u32)> =
        (0..n).flat_map(|x| (0..n).filter(move |&y| y != x).map(move |y| (x, y))).collect();
    let (mut seconds, mut all) = (0.0, Vec::new());
    for number in (0..1_usize << (2 * pairs.len())).step_by(every.max(1)) {
        let directed = chosen(number >> pairs.len());
        let bidirected = chosen(number & ((1 << pairs.len()) - 1));
        let graph = Admg::new(&names, &directed, &bidirected)?;
        let model =
            LatentModel::random(&graph, &vec![2; n as usize], &mut stream(7, number as u64))?;
        let observed = model.observed()?;
        let mut rows = Vec::new();
        for &(x, y) in &queries {
            let query = Query::new(NodeSet::one(y), NodeSet::one(x));
            let start = Instant::now();
            let found = std::hint::black_box(identify(&graph, query));
            seconds += start.elapsed().as_secs_f64();
            let truth = model.effect(query)?;
            let at = |i: usize, j: usize| truth.at(&[(x, i), (y, j)]);
            let truths = [at(0, 0)?, at(0, 1)?, at(1, 0)?, at(1, 1)?];
            let error = match found {
                Ok(formula) => Some(formula.evaluate(&observed)?.distance(&truth)),
                Err(Error::NotIdentifiable(_)) => None,
                Err(other) => return Err(other),
            };
            rows.push(json!({ "x": x, "y": y, "error": error, "truth": truths }));
        }
        all.push(json!({
            "directed": directed,
            "bidirected": bidirected,
            "joint": observed.values(),
            "queries": rows,
        }));
    }
    Ok(json!({ "seconds": seconds, "graphs": all }))
}

fn pairs(k: usize, runs: u64) -> Result<Vec<(CategoricalPair, CategoricalPair)>, Error> {
    let prior = CategoricalPrior::dense(k);
    let one = |run| {
        let mut rng = stream(11, run);
        let reference = prior.sample(&mut rng)?;
        let change = prior.sample_intervention(&reference, Target::Cause, &mut rng)?;
        let transfer = reference.intervene(&change)?;
        Ok((reference, transfer))
    };
    (0..runs).map(one).collect()
}

fn adapt(k: usize, runs: u64, samples: usize, step: f64) -> Result<Value, Error> {
    let scores = |p: &CategoricalPair| {
        let rows: Vec<f64> = p.conditional().iter().copied().collect();
        json!({ "marginal": p.marginal().to_vec(), "conditional": rows })
    };
    let (mut seconds, mut all) = (0.0, Vec::new());
    for (run, (reference, transfer)) in (0..).zip(pairs(k, runs)?) {
        let task = CategoricalTask::new(&reference, &transfer)?;
        let draws = task.draw(samples, &mut stream(12, run));
        let start = Instant::now();
        let curve = |model| task.run(model, step, Average::Uniform, 10, &draws);
        let curves = [curve(0)?, curve(1)?];
        seconds += start.elapsed().as_secs_f64();
        all.push(json!({
            "causal": scores(&reference),
            "anticausal": scores(&reference.reverse()),
            "transfer": transfer.log_joint().iter().copied().collect::<Vec<f64>>(),
            "samples": draws,
            "curves": curves,
        }));
    }
    Ok(json!({ "seconds": seconds, "runs": all }))
}

fn whole_sweep(k: usize, runs: u64) -> Result<Value, Error> {
    let tasks = pairs(k, runs)?
        .iter()
        .map(|(reference, transfer)| CategoricalTask::new(reference, transfer))
        .collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    let result = sweep(&tasks, &SweepSettings::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let place = result.times.iter().position(|&time| time == 100);
    let at: Vec<_> =
        result.models.iter().map(|model| place.map(|place| model.mean[place])).collect();
    Ok(json!({ "seconds": seconds, "mean_at_100": at }))
}
