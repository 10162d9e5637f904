//! How much weight do people gain because they quit smoking?
//!
//! This program estimates the effect in kilograms. It uses standardisation, inverse probability weighting, and a combination of both on
//! the survey of Hernan and Robins (Causal Inference: What If, 2020, chapters 12 and 13). It also prints the difference of the means,
//! without adjustment.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example quitting_smoking [-- NHEFS.csv]
//! ```
//!
//! Without the file, which may also be in the folder that `FENCHEL_DATA` names, people are drawn from a model in which quitting adds three kilograms and older people quit more often.

use std::collections::HashMap;
use std::error::Error;
use std::process::ExitCode;

use fenchel_causal::effect::{EffectEstimator, EffectMethod};
use fenchel_causal::effects_figure;
use fenchel_examples::{Show, of_file};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::RngExt;

struct People {
    x: Array2<f64>,
    treated: Vec<bool>,
    gain: Vec<f64>,
    /// Columns of x whose effect may differ between the arms.
    interactions: Vec<usize>,
    /// The names of the columns of x.
    columns: Vec<String>,
}

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let people = match show.files_of("nhefs") {
        Some(files) => {
            show.real("NHEFS, people asked in 1971 and 1982 (Hernan and Robins)");
            survey(&std::fs::read_to_string(&files[0]).map_err(of_file(&files[0]))?)?
        }
        None => {
            show.generated(
                "1,500 people, of whom the older quit more often; quitting adds three kilograms",
            );
            drawn()
        }
    };
    let People { x, treated, gain, interactions, columns } = people;
    let mean = |on: bool| {
        let arm: Vec<f64> =
            (0..gain.len()).filter(|&i| treated[i] == on).map(|i| gain[i]).collect();
        arm.iter().sum::<f64>() / arm.len() as f64
    };
    println!("{} people, {} columns to adjust for", x.nrows(), x.ncols());
    let unadjusted = mean(true) - mean(false);
    let head = ["", "effect in kg", "95 % from", "to"];
    let mut table = vec![head.map(String::from).to_vec()];
    table.push(vec!["difference of means".to_owned(), fixed(unadjusted, 2)]);
    let mut effects = vec![("difference of means", unadjusted, None)];
    let (mut notes, mut last) = (String::new(), (0.0, (0.0, 0.0)));
    for (name, method) in [
        ("standardisation", EffectMethod::Standardisation),
        ("weighting", EffectMethod::Weighting),
        ("doubly robust", EffectMethod::DoublyRobust),
    ] {
        let interactions = interactions.clone();
        let estimator = EffectEstimator { method, interactions, ..EffectEstimator::default() };
        let model = estimator.fit(x.view(), &treated, &gain)?;
        let (low, high) = model.interval.ok_or("no interval")?;
        let cells = [model.effect, low, high].map(|kg| fixed(kg, 2));
        table.push(std::iter::once(name.to_owned()).chain(cells).collect());
        last = (model.effect, (low, high));
        effects.push((name, model.effect, Some((low, high))));
        if method == EffectMethod::DoublyRobust {
            show.picture("balance", &model.love_plot(&columns)?.svg())?;
            show.picture("overlap", &model.overlap_figure(&treated)?.svg())?;
            let o = &model.overlap;
            notes = format!(
                "propensity {:.2} to {:.2} among quitters, {:.2} to {:.2} among others\n\
                 largest difference of a column between the arms: {:.2} of its deviation, {:.2} after weighting",
                o.treated.0,
                o.treated.1,
                o.control.0,
                o.control.1,
                o.imbalance,
                o.imbalance_weighted
            );
        }
    }
    println!("\n{}\n{notes}", aligned(&table, 1));
    let mut figure = effects_figure("kilograms gained by quitting, 95 % interval", effects);
    let (effect, (low, high)) = last;
    figure.title = format!(
        "Quitting smoking adds {effect:.1} kg of weight; the means alone say {unadjusted:.1} kg"
    );
    // Squares and levels belong to the name before them.
    let adjusted = names(&columns);
    figure.note = format!(
        "{} people. All but the first are adjusted for {}. {}",
        x.nrows(),
        adjusted.join(", "),
        figure.note
    );
    show.picture("effects", &figure.svg())?;
    show.conclude(format_args!(
        "quitting adds {effect:.1} kg ({low:.1} to {high:.1}); the means alone say {unadjusted:.1} kg, because quitters differ from others before."
    ));
    Ok(())
}

/// The measurements that columns are made of: `age` for `age` and `age squared`, `education` for `education 2` to `education 5`.
fn names(columns: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = columns
        .iter()
        .map(|c| {
            c.strip_suffix(" squared").unwrap_or(c).trim_end_matches(|c: char| c.is_ascii_digit())
        })
        .map(str::trim_end)
        .collect();
    names.dedup();
    names
}

/// The columns of the book: squares of the measured quantities, levels of the others.
fn survey(text: &str) -> Result<People, Box<dyn Error>> {
    let mut lines = text.lines();
    let header = lines.next().ok_or("an empty file")?;
    let place: HashMap<&str, usize> =
        header.split(',').enumerate().map(|(k, name)| (name, k)).collect();
    let (mut x, mut treated, mut gain) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let get = |name: &str| -> Result<f64, String> {
            let cell = place.get(name).and_then(|&k| cells.get(k));
            cell.and_then(|c| c.trim().parse().ok()).ok_or(format!("no number in column {name}"))
        };
        // People whose weight in 1982 is unknown are left out, as in the book.
        let Ok(kilograms) = get("wt82_71") else { continue };
        x.extend([get("sex")?, get("race")?]);
        for name in ["age", "smokeintensity", "smokeyrs", "wt71"] {
            let value = get(name)?;
            x.extend([value, value * value]);
        }
        for (name, levels) in [("education", 2..=5), ("exercise", 1..=2), ("active", 1..=2)] {
            let value = get(name)?;
            x.extend(levels.map(|level| f64::from(u8::from(value == f64::from(level)))));
        }
        treated.push(get("qsmk")? == 1.0);
        gain.push(kilograms);
    }
    let width = x.len() / gain.len().max(1);
    let x = Array2::from_shape_vec((gain.len(), width), x)?;
    let mut columns = vec!["sex".to_owned(), "race".to_owned()];
    for name in ["age", "cigarettes", "years of smoking", "weight"] {
        columns.extend([name.to_owned(), format!("{name} squared")]);
    }
    for (name, levels) in [("education", 2..=5), ("exercise", 1..=2), ("activity", 1..=2)] {
        columns.extend(levels.map(|level| format!("{name} {level}")));
    }
    // Cigarettes a day are the fifth column.
    Ok(People { x, treated, gain, interactions: vec![4], columns })
}

fn drawn() -> People {
    let mut rng = stream(1, 0);
    let (mut ages, mut treated, mut gain) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..1500 {
        let age: f64 = rng.random_range(25.0..75.0);
        let quits = rng.random::<f64>() < 0.1 + 0.006 * (age - 25.0);
        let noise: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        ages.push(age);
        treated.push(quits);
        gain.push(3.0 * f64::from(u8::from(quits)) - 0.1 * (age - 50.0) + 4.0 * noise);
    }
    let x = Array2::from_shape_fn((ages.len(), 1), |(i, _)| ages[i]);
    People { x, treated, gain, interactions: Vec::new(), columns: vec!["age".into()] }
}
