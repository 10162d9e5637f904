//! This project's side of `cargo xtask peers mrf-learn`, and measurements that have no peer.
//!
//! ```text
//! peer-mrf-learn nodewise FILE ROWS VARIABLES L1,L1,...        node-wise logistic regression, every penalty from a cold start
//! peer-mrf-learn spg FILE ROWS VARIABLES LAMBDA CHAINS STEP ITERATIONS SCHEDULE
//! peer-mrf-learn potts DATA FAMILY                             Potts pseudo-likelihood of a protein family
//! peer-mrf-learn own                                           the enumeration gradient with 20 variables; TAY beside 30 and 60 sweeps
//! ```
//!
//! `FILE` has `ROWS x VARIABLES` bytes 0 and 1. `SCHEDULE` is `tay` or a number of sweeps. A line of JSON a measurement.

use std::error::Error;
use std::time::Instant;

use fenchel_datasets::Folder;
use fenchel_mrf_learn::potts::contacts::{Structure, precision};
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel_mrf_learn::{
    Backend, Coordinates, Data, Enumeration, ExactMle, Layout, MissingPolicy, NetworkModel,
    NodewiseLogistic, Penalty, Schedule, Spg, Tay, synthetic,
};
use fenchel_optim::{Cadence, Regulariser, StepSize, Stop};
use ndarray::Array2;
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["nodewise", file, rows, variables, l1] => nodewise(&read(file, rows, variables)?, l1),
        ["spg", file, rows, variables, lambda, chains, step, iterations, schedule] => {
            let schedule = match *schedule {
                "tay" => Schedule::default(),
                sweeps => Schedule::Fixed(sweeps.parse()?),
            };
            let data = read(file, rows, variables)?;
            let (iterations, step) = (iterations.parse()?, step.parse()?);
            let fixed = settings(lambda.parse()?, chains.parse()?, iterations, schedule);
            let spg = Spg { step: StepSize::Constant(step), ..fixed };
            let (model, seconds) = timed(&spg, &data)?;
            println!(
                "{}",
                json!({ "seconds": seconds, "sweeps": sweeps(&model), "theta": model.theta })
            );
            Ok(())
        }
        ["potts", data, family] => potts(data, family),
        ["own"] => own(),
        _ => Err("usage: peer-mrf-learn nodewise|spg FILE ... | potts DATA FAMILY | own".into()),
    }
}

fn read(file: &str, rows: &str, variables: &str) -> Result<Data, Box<dyn Error>> {
    let x = Array2::from_shape_vec((rows.parse()?, variables.parse()?), std::fs::read(file)?)?;
    Ok(Data::binary(x.view(), MissingPolicy::Error)?)
}

/// No certificate in between, and no early end: all sides do the same iterations.
fn settings(lambda: f64, chains: usize, iterations: usize, schedule: Schedule) -> Spg {
    let max_passes = iterations as f64;
    let stop = Stop { max_passes, check: Cadence::Every(max_passes), ..Spg::default().stop };
    let penalty = Penalty::l1(lambda);
    Spg { penalty, chains, schedule, stop, noise_floor: None, ..Spg::default() }
}

fn timed(spg: &Spg, data: &Data) -> Result<(NetworkModel, f64), Box<dyn Error>> {
    let clock = Instant::now();
    let model = spg.fit(data)?;
    Ok((model, clock.elapsed().as_secs_f64()))
}

fn sweeps(model: &NetworkModel) -> usize {
    model.trace.iter().map(|record| record.sweeps).sum()
}

fn nodewise(data: &Data, penalties: &str) -> Outcome {
    for lambda in penalties.split(',') {
        let lambda: f64 = lambda.parse()?;
        let clock = Instant::now();
        let model = NodewiseLogistic { l1: lambda, ..NodewiseLogistic::default() }.fit(data)?;
        let seconds = clock.elapsed().as_secs_f64();
        println!(
            "{}",
            json!({ "lambda": lambda, "seconds": seconds, "gap": model.report.certificate.relative(),
                    "scores": model.scores() })
        );
    }
    Ok(())
}

/// The objective is that of the sum over sequences, as the C program prints it.
fn potts(root: &str, family: &str) -> Outcome {
    let Some((sequences, table)) = Folder::new(root).contacts(family)? else {
        return Err(format!("no family {family}").into());
    };
    let alignment = Alignment::new(sequences.letters.view(), Alphabet::protein(), Gaps::State)?
        .identity_weights(0.8)?;
    let model = PottsPseudoLikelihood::default().fit(&alignment)?;
    let report = model.report.ok_or("no report")?;
    let effective = alignment.effective();
    let structure = Structure::new(table.distances.view(), &table.residues);
    let columns = alignment.columns();
    println!(
        "{}",
        json!({ "objective": effective * report.certificate.objective().unwrap_or(f64::NAN),
                "relative_gap": report.certificate.relative(), "passes": report.passes,
                "l2_fields": 10.0, "l2_couplings": 0.2 * (columns - 1) as f64,
                "precision": precision(model.contact_scores().view(), &structure, columns)? })
    );
    Ok(())
}

fn own() -> Outcome {
    let truth = synthetic::random_network(20, 0.3, (1.0, 2.0), 0)?;
    let layout = Layout::two_states(20, Coordinates::Binary)?;
    let (theta, mut means) = (layout.parameters(&truth)?, vec![0.0; layout.len()]);
    let mut table = Enumeration::new(&layout, None)?;
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let clock = Instant::now();
        table.means(&theta, &mut means)?;
        best = best.min(clock.elapsed().as_secs_f64());
    }
    println!("{}", json!({ "enumeration, p = 20, best of 10": best }));
    // Section 8.1 of the specification: time at equal objective gap. A schedule has reached a gap when its run of so many iterations has.
    for (p, rows, chains, lambda, fixed) in
        [(10, 1000, 2000, 0.025, 30), (20, 2000, 5000, 0.017, 60)]
    {
        for seed in 0..3 {
            let truth = synthetic::random_network(p, 0.3, (1.0, 2.0), seed)?;
            let data = synthetic::exact_draws(&truth, rows, seed)?;
            let penalty = Penalty::l1(lambda);
            let exact = ExactMle { penalty: penalty.clone(), ..ExactMle::default() };
            let mut exact = exact;
            exact.stop.absolute = 1e-5;
            let optimum = exact.fit(&data)?.report.certificate.objective().unwrap_or(f64::NAN);
            let strengths = penalty.strengths(&Layout::two_states(p, Coordinates::Binary)?)?;
            let tay = Schedule::Tay(Tay { most: fixed, ..Tay::default() });
            let mut line = json!({ "p": p, "seed": seed });
            for (name, schedule) in [("tay", tay), ("fixed", Schedule::Fixed(fixed))] {
                let spg = Spg {
                    step: StepSize::Constant(0.4),
                    seed,
                    ..settings(lambda, chains, 150, schedule)
                };
                let (model, seconds) = timed(&spg, &data)?;
                let gap = strengths.value(&model.theta) - model.log_likelihood(&data)? - optimum;
                line[name] = json!({ "seconds": seconds, "sweeps": sweeps(&model), "gap": gap });
            }
            println!("{line}");
        }
    }
    Ok(())
}
