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
use std::ops::ControlFlow;
use std::path::PathBuf;

use fenchel_datasets::generate::{Spgen, spgen};
use fenchel_datasets::transform::normalise_rows;
use fenchel_datasets::{LibsvmOptions, libsvm_file, write_libsvm};
use fenchel_finite_sum::{Fit, LogisticModel, LogisticRegression};
use fenchel_metrics::{accuracy, roc_auc};
use fenchel_optim::Stop;
use fenchel_optim::model::Saved;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let folder = tempfile::tempdir()?;
    let path = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => {
            let path = folder.path().join("generated.svm");
            write_libsvm(
                BufWriter::new(File::create(&path)?),
                &spgen(&Spgen::default())?.classification(),
            )?;
            path
        }
    };
    let mut data = libsvm_file(&path, &LibsvmOptions::default())?;
    normalise_rows(&mut data.x);
    println!(
        "{}: {} rows, {} features, {} non-zeros",
        path.display(),
        data.x.rows(),
        data.x.cols(),
        data.x.nnz()
    );

    println!("\npasses      objective     certified gap  seconds");
    let fit = LogisticRegression { stop: Stop::at_relative(1e-6), ..LogisticRegression::default() };
    let model = fit.fit_with(
        &data.x,
        data.y.view(),
        Fit::new().watch(&mut |p| {
            let objective = p.certificate.objective().unwrap_or(f64::NAN);
            println!(
                "{:6}  {objective:13.9}  {:13.2e}  {:9.3}",
                p.passes,
                p.certificate.value(),
                p.seconds
            );
            ControlFlow::Continue(())
        }),
    )?;
    println!("{}", model.report);
    if let Some(choice) = &model.choice {
        println!("{choice}");
    }

    let file = folder.path().join("model.json");
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
    Ok(())
}
