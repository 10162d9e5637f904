//! How is a rare class found among many rows of another?
//!
//! This program fits a logistic regression with an l1 penalty to a LIBSVM file with a rare class. The rare class has a larger weight.
//! The penalty is chosen by the area under the ROC curve in five-fold cross-validation.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example rare_class [-- FILE]
//! ```
//!
//! Without a file of two classes it writes generated sparse data to a temporary file.

use std::error::Error;
use std::process::ExitCode;

use fenchel_datasets::generate::{Spgen, spgen};
use fenchel_datasets::{LibsvmOptions, libsvm_file, write_libsvm};
use fenchel_examples::Show;
use fenchel_finite_sum::path::Grid;
use fenchel_finite_sum::prelude::{Rows, Saved};
use fenchel_finite_sum::{ClassWeights, LogisticModel, LogisticRegressionCv, estimators::Scoring};
use fenchel_metrics::{
    binary_scores, precision_recall_figure, roc_auc, roc_figure, train_test_split,
};
use ndarray::Axis;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let path = match show.real_file_of("w8a") {
        Some(file) => file,
        None => {
            show.generated("2,000 sparse rows of two classes");
            let path = show.path("generated.svm");
            let data = spgen(&Spgen { rows: 2_000, ..Spgen::default() })?.classification();
            write_libsvm(std::fs::File::create(&path)?, &data)?;
            path
        }
    };
    let data = libsvm_file(&path, &LibsvmOptions::default())?;
    let (train, test) = train_test_split(data.y.len(), 0.25, 1)?;
    let (x, new) = (Rows::new(&data.x, &train), Rows::new(&data.x, &test));
    let (y, truth) = (data.y.select(Axis(0), &train), data.y.select(Axis(0), &test));

    let cv = LogisticRegressionCv {
        l1_ratios: vec![1.0],
        grid: Some(Grid::Log { count: 13, smallest: 1e-3 }),
        // Or by name: `ClassWeights::of([(1.0, 5.0)])`.
        class_weights: ClassWeights::Balanced,
        scoring: Scoring::Auc,
        ..LogisticRegressionCv::default()
    };
    let fitted = cv.fit(&x, &y)?;
    println!("1 - AUC on 5 folds\n{fitted}");
    let mut figure = fitted.figure();
    figure.note = format!(
        "l1 logistic regression on {} rows of {}; the score is 1 - AUC on 5 folds. {}",
        y.len(),
        path.file_stem().map_or("the file".into(), |name| name.to_string_lossy()),
        figure.note
    );
    show.picture("cross_validation", &figure.svg())?;
    let file = show.path("model.json");
    fitted.model.save_file(&file)?;

    let model = LogisticModel::<f64>::load_file(&file)?;
    println!("{} of {} features are used", model.support().len(), model.weights.len());
    let positive = truth.mapv(|y| y == model.classes[1]);
    let auc = roc_auc(&positive, &model.predict_proba(&new)?)?;
    println!("AUC on the rows set aside: {auc:.4}");
    let (labels, scores) = (positive.to_vec(), model.predict_proba(&new)?.to_vec());
    show.picture("roc", &roc_figure(&labels, &scores)?.svg())?;
    show.picture("precision_recall", &precision_recall_figure(&labels, &scores)?.svg())?;
    let found = binary_scores(&positive, &model.predict(&new)?.mapv(|y| y == model.classes[1]))?;
    println!("precision {:.3}, recall {:.3}", found.precision, found.recall);
    let share = positive.iter().filter(|p| **p).count() as f64 / positive.len() as f64;
    show.conclude(format_args!(
        "{:.1} % of the rows are of the class; the model finds {:.0} % of them, and of those that it names {:.0} % are right (AUC {auc:.3}).",
        100.0 * share,
        100.0 * found.recall,
        100.0 * found.precision
    ));
    Ok(())
}
