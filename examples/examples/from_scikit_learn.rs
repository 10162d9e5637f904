//! How do I do here what I know from scikit-learn?
//!
//! This program goes through it: split data, weight rows, fit, read the result, predict, choose a penalty, save and load.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example from_scikit_learn [-- FILE]
//! ```
//!
//! Without a LIBSVM file of two classes it uses the breast cancer data that are part of this project.

use std::error::Error;
use std::process::ExitCode;

use fenchel_datasets::embedded::{self, BREAST_CANCER_FEATURES};
use fenchel_datasets::{Dataset, LibsvmOptions, libsvm_file};
use fenchel_examples::Show;
use fenchel_finite_sum::path::{Grid, PathSettings, logistic_path};
use fenchel_finite_sum::prelude::{AsDesign, Rows, Saved};
use fenchel_finite_sum::{
    ClassWeights, LogisticModel, LogisticRegression, LogisticRegressionCv,
    estimators::{Scoring, penalty_of_c},
};
use fenchel_linalg::text::number;
use fenchel_linalg::{Named, Names};
use fenchel_metrics::train_test_split;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    match show.arguments().first() {
        Some(path) => {
            show.real(path);
            tour(show, &libsvm_file(path, &LibsvmOptions::default())?)
        }
        None => {
            show.real("569 breast tumours, 30 measurements each (UCI, Wisconsin)");
            let Dataset { x, y } = embedded::breast_cancer();
            // Features of one scale: `StandardScaler().fit_transform(x)`.
            let x = fenchel_finite_sum::Standardiser::fit(&x)?.transform(&x)?;
            let x = Named { x, names: Names::new(BREAST_CANCER_FEATURES) };
            tour(show, &Dataset { x, y })
        }
    }
}

fn tour<X: AsDesign + Sync>(show: &Show, data: &Dataset<X>) -> Result<(), Box<dyn Error>> {
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
    println!("classes {:?}", model.classes);
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
    let mut figure = fitted.figure();
    figure.title = format!("Malignant tumours. {}", figure.title);
    figure.note = format!(
        "l1 logistic regression; the score is the share of errors on 5 folds. {}",
        figure.note
    );
    show.picture("cross_validation", &figure.svg())?;
    println!(
        "{} features are used; accuracy {:.4}",
        fitted.model.support().len(),
        fitted.model.score(&new, &truth)?
    );

    // lasso_path, for classes
    let grid = Grid::Log { count: 5, smallest: 1e-2 };
    let path = logistic_path(&x, &y, &PathSettings { grid, ..PathSettings::default() })?;
    show.picture("path", &path.svg())?;
    for point in &path.points {
        println!("penalty {}: {} features", number(point.penalty, 3), point.support.len());
    }

    // joblib.dump(model, path), joblib.load(path)
    let file = show.path("model.json");
    fitted.model.save_file(&file)?;
    let loaded = LogisticModel::<f64>::load_file(&file)?;
    let same = loaded.predict(&new)? == fitted.model.predict(&new)?;
    show.conclude(format_args!(
        "{} of {} features predict with an accuracy of {:.3}, and a model that was saved and loaded {}.",
        fitted.model.support().len(),
        fitted.model.weights.len(),
        fitted.model.score(&new, &truth)?,
        if same { "predicts the same" } else { "predicts otherwise" }
    ));
    Ok(())
}
