//! How many of thirty measurements of a tumour does a diagnosis need?
//!
//! This program chooses an l1 penalty by cross-validation, and measures the chosen model on rows that were set aside.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example cross_validation
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_datasets::embedded::{self, BREAST_CANCER_FEATURES};
use fenchel_examples::Show;
use fenchel_finite_sum::path::Grid;
use fenchel_finite_sum::{LogisticRegressionCv, Standardiser, estimators::Choose};
use fenchel_linalg::text::{fixed, number};
use fenchel_linalg::{Named, Names};
use fenchel_metrics::{accuracy, calibration_figure, log_loss, stratified_k_fold};
use ndarray::Axis;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.real("569 breast tumours, 30 measurements each (UCI, Wisconsin); a quarter is set aside");
    let data = embedded::breast_cancer();
    let labels: Vec<&str> =
        data.y.iter().map(|&y| if y > 0.0 { "benign" } else { "malignant" }).collect();
    let (train, test) = stratified_k_fold(&labels, 4, 1)?.swap_remove(0);
    let (x, new) = (data.x.select(Axis(0), &train), data.x.select(Axis(0), &test));
    let pick = |index: &[usize]| index.iter().map(|&i| labels[i]).collect::<Vec<_>>();
    let (y, truth) = (pick(&train), pick(&test));

    // Fit on features of one scale, predict on the raw ones.
    let scale = Standardiser::fit(&x)?;
    let cv = LogisticRegressionCv {
        l1_ratios: vec![1.0],
        grid: Some(Grid::Log { count: 12, smallest: 1e-3 }),
        choose: Choose::OneStandardError,
        ..LogisticRegressionCv::default()
    };
    let scaled = Named { x: scale.transform(&x)?, names: Names::new(BREAST_CANCER_FEATURES) };
    let fitted = cv.fit(&scaled, &y)?;
    println!("log loss on 5 folds\n{fitted}");
    let mut figure = fitted.figure();
    figure.title = format!("Malignant tumours. {}", figure.title);
    figure.y.label = "log loss of held-out tumours, smaller is better".into();
    show.picture("cross_validation", &figure.svg())?;
    let best = &fitted.scores[fitted.best];
    println!(
        "best: penalty {}; chosen: the largest within a standard error of it\n",
        number(best.penalty, 3)
    );

    let model = fitted.model.for_raw_features(&scale)?;
    println!("{model}\n\n{}", model.report);

    let signs: Vec<bool> = truth.iter().map(|&label| label == model.classes[1]).collect();
    let probability = model.predict_proba(&new)?.to_vec();
    let mut figure = calibration_figure(&signs, &probability)?;
    figure.title = format!("Calibration on {} tumours that were set aside", truth.len());
    figure.y.label = format!("share of {} tumours", model.classes[1]);
    show.picture("calibration", &figure.svg())?;
    show.conclude(format_args!(
        "{} of 30 measurements are enough to be right about {} % of the {} tumours that were set aside (log loss {}).",
        model.support().len(),
        fixed(100.0 * accuracy(&truth, &model.predict(&new)?.to_vec())?, 1),
        truth.len(),
        fixed(log_loss(&signs, &probability)?, 3)
    ));
    Ok(())
}
