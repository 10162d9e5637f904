//! How far is a fit from the best possible one, while it runs and at its end?
//!
//! This program fits a logistic regression to a LIBSVM file. It prints the certificate, saves and loads the model, and predicts.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example logistic_regression [-- FILE]
//! ```
//!
//! Without a file it writes generated sparse data to a temporary file and reads this file.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::process::ExitCode;

use fenchel_datasets::generate::{Spgen, spgen};
use fenchel_datasets::transform::normalise_rows;
use fenchel_datasets::{LibsvmOptions, libsvm_file, write_libsvm};
use fenchel_examples::{Show, certificates};
use fenchel_finite_sum::{Fit, LogisticModel, LogisticRegression};
use fenchel_linalg::text::{number, short};
use fenchel_metrics::{accuracy, roc_auc};
use fenchel_optim::model::Saved;
use fenchel_optim::{Stop, Trace};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let path = match show.real_file_of("w8a") {
        Some(file) => file,
        None => {
            show.generated("sparse rows of two classes");
            let path = show.path("generated.svm");
            write_libsvm(
                BufWriter::new(File::create(&path)?),
                &spgen(&Spgen::default())?.classification(),
            )?;
            path
        }
    };
    let mut data = libsvm_file(&path, &LibsvmOptions::default())?;
    normalise_rows(&mut data.x);
    println!("{} rows, {} features, {} non-zeros", data.x.rows(), data.x.cols(), data.x.nnz());

    println!("\npasses      objective  certified gap  seconds");
    let mut trace = Trace::new();
    let fit = LogisticRegression { stop: Stop::at_relative(1e-6), ..LogisticRegression::default() };
    let model = fit.fit_with(
        &data.x,
        data.y.view(),
        Fit::new().watch(&mut certificates(|p| {
            trace.rows.push(*p);
            let objective = p.certificate.objective().unwrap_or(f64::NAN);
            println!(
                "{:>6}  {:>13}  {:>13}  {:7.3}",
                short(p.passes),
                number(objective, 10),
                number(p.certificate.value(), 3),
                p.seconds
            );
        })),
    )?;
    println!("{}", model.report);
    show.picture("trace", &trace.svg())?;
    if let Some(choice) = &model.choice {
        println!("method: {choice}");
    }

    let file = show.path("model.json");
    model.save(BufWriter::new(File::create(&file)?))?;
    let loaded = LogisticModel::<f64>::load(BufReader::new(File::open(&file)?))?;

    let predicted = loaded.predict(&data.x)?.to_vec();
    let probability = loaded.predict_proba(&data.x)?.to_vec();
    let truth = data.y.to_vec();
    let signs: Vec<f64> =
        truth.iter().map(|&y| if y == loaded.classes[1] { 1.0 } else { -1.0 }).collect();
    println!(
        "\nafter saving and loading: accuracy {:.4}, AUC {:.4} on the training rows",
        accuracy(&truth, &predicted)?,
        roc_auc(&signs, &probability)?
    );
    show.conclude(format_args!(
        "no weights have an objective smaller by more than {} of it; the fit took {} passes over the data.",
        number(model.report.certificate.relative(), 2),
        short(model.report.passes)
    ));
    Ok(())
}
