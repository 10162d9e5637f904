//! This program chooses a penalty by cross-validation, and measures the chosen model on held-out rows.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example cross_validation
//! ```

use std::error::Error;

use fenchel_datasets::embedded;
use fenchel_finite_sum::path::Grid;
use fenchel_finite_sum::{LogisticRegressionCv, Standardiser, estimators::Choose};
use fenchel_metrics::{accuracy, log_loss, stratified_k_fold};
use ndarray::Axis;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    // 569 tumours, 30 measurements each. A quarter is set aside.
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
    let fitted = cv.fit(&scale.transform(&x)?, &y)?;
    println!("log loss on 5 folds\n{fitted}");
    let best = &fitted.scores[fitted.best];
    println!(
        "best: penalty {:.2e}; chosen: the largest within a standard error of it",
        best.penalty
    );

    let model = fitted.model.for_raw_features(&scale)?;
    println!("{}", model.report);
    println!("{} of 30 features are used: {:?}", model.support().len(), model.support());

    let signs: Vec<bool> = truth.iter().map(|&label| label == model.classes[1]).collect();
    println!(
        "on the {} rows set aside: accuracy {:.4}, log loss {:.4}",
        truth.len(),
        accuracy(&truth, &model.predict(&new)?.to_vec())?,
        log_loss(&signs, &model.predict_proba(&new)?.to_vec())?,
    );
    Ok(())
}
