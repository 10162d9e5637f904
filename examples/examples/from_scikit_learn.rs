//! This program is an introduction for users of scikit-learn: split data, weight rows, fit, read the result, predict, choose a penalty,
//! save and load.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example from_scikit_learn [-- FILE]
//! ```
//!
//! Without a LIBSVM file of two classes it uses the breast cancer data that are part of this project.

use std::error::Error;

use fenchel_datasets::{Dataset, LibsvmOptions, embedded, libsvm_file};
use fenchel_finite_sum::path::{Grid, PathSettings, logistic_path};
use fenchel_finite_sum::prelude::{AsDesign, Rows, Saved};
use fenchel_finite_sum::{
    ClassWeights, LogisticModel, LogisticRegression, LogisticRegressionCv,
    estimators::{Scoring, penalty_of_c},
};
use fenchel_metrics::train_test_split;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    match std::env::args_os().nth(1) {
        Some(path) => tour(&libsvm_file(path, &LibsvmOptions::default())?),
        None => {
            let Dataset { x, y } = embedded::breast_cancer();
            // Features of one scale: `StandardScaler().fit_transform(x)`.
            let x = fenchel_finite_sum::Standardiser::fit(&x)?.transform(&x)?;
            tour(&Dataset { x, y })
        }
    }
}

fn tour<X: AsDesign + Sync>(data: &Dataset<X>) -> Result<(), Box<dyn Error>> {
    // train_test_split(x, y, test_size=0.25)
    let (train, test) = train_test_split(data.y.len(), 0.25, 1)?;
    let pick = |rows: &[usize]| rows.iter().map(|&i| data.y[i]).collect::<Vec<f64>>();
    let (x, new) = (Rows::new(&data.x, &train), Rows::new(&data.x, &test));
    let (y, truth) = (pick(&train), pick(&test));

    // LogisticRegression(C=10, class_weight="balanced").fit(x, y)
    let fit = LogisticRegression {
        l2: Some(penalty_of_c(10.0, train.len())),
        class_weights: ClassWeights::Balanced,
        ..LogisticRegression::default()
    };
    let model = fit.fit(&x, &y)?;
    // model.coef_, model.intercept_, model.classes_, model.n_iter_
    let largest = model.weights.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    println!("largest weight {largest:.3}, intercept {:.3}", model.intercept);
    println!("classes {:?}, passes {:.1}", model.classes, model.report.passes);
    // No counterpart: how far the fit can be from optimal at most.
    println!("{}", model.report);

    // model.score(new, truth), model.predict_proba(new)[:, 1]
    println!("accuracy on the {} rows set aside: {:.4}", test.len(), model.score(&new, &truth)?);
    println!("first probability of {}: {:.3}", model.classes[1], model.predict_proba(&new)?[0]);

    // LogisticRegressionCV(Cs=8, penalty="l1", scoring="accuracy").fit(x, y)
    let cv = LogisticRegressionCv {
        l1_ratios: vec![1.0],
        grid: Some(Grid::Log { count: 8, smallest: 1e-2 }),
        scoring: Scoring::Errors,
        ..LogisticRegressionCv::default()
    };
    let fitted = cv.fit(&x, &y)?;
    println!("\nshare of errors on 5 folds\n{fitted}");
    println!(
        "{} features are used; accuracy {:.4}",
        fitted.model.support().len(),
        fitted.model.score(&new, &truth)?
    );

    // lasso_path, for classes
    let grid = Grid::Log { count: 5, smallest: 1e-2 };
    let path = logistic_path(&x, &y, &PathSettings { grid, ..PathSettings::default() })?;
    for point in &path.points {
        println!("penalty {:.2e}: {} features", point.penalty, point.support.len());
    }

    // joblib.dump(model, path), joblib.load(path)
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("model.json");
    fitted.model.save_file(&file)?;
    let loaded = LogisticModel::<f64>::load_file(&file)?;
    assert_eq!(loaded.predict(&new)?, fitted.model.predict(&new)?);
    println!("\nsaved, loaded, and the predictions are the same");
    Ok(())
}
