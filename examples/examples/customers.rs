//! Which customers are likely to leave?
//!
//! This program goes from a CSV file to a saved model. The table has texts, dates and missing cells.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example customers [-- CUSTOMERS.csv]
//! ```
//!
//! `CUSTOMERS.csv` has the columns `plan`, `region`, `since`, `age`, `spent` and `left` (`yes` or `no`). Without a file, the program
//! draws a thousand customers.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fenchel::datasets::{Encoder, FittedEncoder, TableOptions, table, table_file};
use fenchel::linear::{LogisticModel, LogisticRegressionCv};
use fenchel::metrics::{roc_auc, roc_figure, train_test_split};
use fenchel::prelude::*;
use fenchel_examples::Show;
use rand::RngExt;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let data: PathBuf = match show.arguments()[..] {
        [file] => {
            show.real(file);
            file.into()
        }
        _ => {
            let drawn = show.path("customers.csv");
            std::fs::write(&drawn, draw(1000)?)?;
            show.generated("a thousand customers, of whom those on the basic plan, in the north and of short standing leave more often");
            drawn
        }
    };
    let conclusion = who_leaves(show, &data)?;
    show.conclude(conclusion);
    Ok(())
}

fn who_leaves(show: &Show, data: &Path) -> Result<String, Box<dyn Error>> {
    let file = show.path("model.json");
    let customers = table_file(data, &TableOptions::default())?;
    let (train, test) = train_test_split(customers.rows(), 0.25, 1)?;
    let (train, test) = (customers.select(&train)?, customers.select(&test)?);

    // Levels, means and deviations are those of the training rows.
    let encoder = Encoder { except: vec!["left".into()], ..Default::default() }.fit(&train)?;
    let lasso = LogisticRegressionCv { l1_ratios: vec![1.0], ..Default::default() };
    let model = lasso.fit(&encoder.transform(&train)?, &train.texts("left")?)?.model;
    println!("{encoder}\n\n{model}\n\n{}", model.report);

    let truth: Vec<bool> = test.texts("left")?.iter().map(|left| left == "yes").collect();
    let probability = model.predict_proba(&encoder.transform(&test)?)?;
    let auc = roc_auc(&truth, &probability)?;
    let figure = roc_figure(&truth, &probability.to_vec())?;
    show.picture("roc", &figure.svg())?;
    println!("\nAUC on {} other customers: {auc:.3}", test.rows());

    // One file for both, and a row as it comes.
    (encoder, model).save_file(&file)?;
    let (encoder, model) = <(FittedEncoder, LogisticModel<String>)>::load_file(&file)?;
    let new = "plan,region,since,age,spent\nbasic,north,2026-08-01,,19.90\n";
    let new = table(new.as_bytes(), &encoder.options())?;
    let probability = model.predict_proba(&encoder.transform(&new)?)?[0];
    println!("a new customer leaves with probability {probability:.3}");

    let weights: Vec<(&str, f64)> =
        model.names.iter().map(String::as_str).zip(model.weights.iter().copied()).collect();
    let strongest = weights.iter().fold(&weights[0], |best, w| if w.1 > best.1 { w } else { best });
    Ok(format!(
        "{:?} raises the odds of leaving most; of two customers, one who leaves and one who stays, the model tells which in {:.0} % of the cases.",
        strongest.0,
        100.0 * auc
    ))
}

/// Customers of whom those on the basic plan, in the north, and of short standing leave more often. Their ages say nothing.
fn draw(rows: usize) -> Result<String, std::fmt::Error> {
    let mut rng = fenchel::optim::random::stream(1, 0);
    let mut text = String::from("plan,region,since,age,spent,left\n");
    for _ in 0..rows {
        let plan = ["basic", "family", "pro"][rng.random_range(0..3)];
        let region = ["east", "north", "south", "west"][rng.random_range(0..4)];
        let (year, month) = (rng.random_range(2020..2026), rng.random_range(1..13));
        let (age, spent) = (rng.random_range(18..80), rng.random_range(5.0..80.0_f64));
        let short = f64::from(year - 2023);
        let odds = f64::from(plan == "basic") + f64::from(region == "north") + 0.5 * short - 1.0;
        let left = rng.random::<f64>() < 1.0 / (1.0 + (-odds - 0.02 * (40.0 - spent)).exp());
        // One cell in ten is missing.
        let mut cell = |text: String| if rng.random::<f64>() < 0.1 { String::new() } else { text };
        let (region, age) = (cell(region.to_owned()), cell(age.to_string()));
        let left = if left { "yes" } else { "no" };
        writeln!(text, "{plan},{region},{year}-{month:02}-15,{age},{spent:.2},{left}")?;
    }
    Ok(text)
}
