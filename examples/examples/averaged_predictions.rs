//! Can the average of predictions be better than every linear model?
//!
//! The mean of the predictions of several linear models is not the prediction of a linear model. So its loss may be smaller
//! than that of the best linear model. The loss of averaged parameters cannot be, apart from chance: the best model of the rows
//! of the fit is not quite the best one of others. This program makes one pass of stochastic gradient descent with a constant
//! step size, for several step sizes, and averages both. It does so on data that no linear model fits, where averaged
//! predictions win, and on census records, where they do not.
//!
//! ```text
//! [FENCHEL_DATA=DIR] cargo run --release -p fenchel-examples --example averaged_predictions
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_datasets::Dataset;
use fenchel_examples::Show;
use fenchel_finite_sum::LogisticRegression;
use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_linalg::{AsDesign, Design};
use fenchel_metrics::log_loss;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2};
use rand::RngExt;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated(
        "20,000 points on a line; the log-odds of their class are a saturating curve, not a line",
    );
    let (train, test) = (curved(20_000, 0), curved(20_000, 1));
    let [linear, parameters, predictions] = compare(show, "curve", &train, &test)?;
    let beats = |loss: f64| if loss < linear { "beat" } else { "do not beat" };
    let mut conclusion = format!(
        "on the curve averaged predictions ({predictions:.4}) {} the best linear model ({linear:.4}), and averaged parameters ({parameters:.4}) {} it",
        beats(predictions),
        beats(parameters)
    );
    let both = match show.real_data() {
        Some(folder) => folder.adult()?.zip(folder.adult_test()?),
        None => None,
    };
    if let Some((train, test)) = both {
        println!();
        show.real("census income (adult), 32,561 records to fit and 16,281 to test");
        let [linear, parameters, predictions] = compare(show, "census", &train, &test)?;
        conclusion += &format!(
            "; on the census the three are alike: {predictions:.4}, {linear:.4} and {parameters:.4}"
        );
    }
    show.conclude(conclusion + ".");
    Ok(())
}

/// Prints the held-out loss of each average; returns that of the best linear model, and the least of the two averages.
fn compare<X: AsDesign>(
    show: &Show,
    name: &str,
    train: &Dataset<X>,
    test: &Dataset<X>,
) -> Result<[f64; 3], Box<dyn Error>> {
    let signs = test.y.mapv(|y| y > 0.0).to_vec();
    let loss = |p: Array1<f64>| log_loss(&signs, &p.to_vec());
    let best = LogisticRegression { l2: Some(1e-6), ..LogisticRegression::default() };
    let best = best.fit(&train.x, train.y.view())?;
    let linear = loss(best.predict_proba(&test.x)?)?;

    let design = train.x.as_design()?;
    let rows = design.rows();
    let square = (0..rows).map(|i| design.row_norm_squared(i)).sum::<f64>() / rows as f64;
    let shares: Vec<f64> = train.y.iter().map(|y| 0.5 * (y + 1.0)).collect();
    let mut table =
        vec![["step size", "last", "parameters", "predictions"].map(String::from).to_vec()];
    let mut least = [f64::INFINITY; 2];
    let mut curves = [Vec::new(), Vec::new()];
    for multiple in [0.1, 0.5, 1.0, 2.0, 4.0, 8.0] {
        let settings =
            AveragedSettings { step: Some(4.0 * multiple / square), ..Default::default() };
        let mut method = AveragedSgd::new(Bernoulli, settings);
        method.partial_fit(&train.x, &shares)?;
        let mut row = vec![format!("{multiple} x 4/R^2")];
        for predictor in [Predictor::Last, Predictor::Parameters, Predictor::Exact] {
            let value = loss(method.predict(&test.x, predictor)?.means)?;
            match predictor {
                Predictor::Parameters => {
                    least[0] = least[0].min(value);
                    curves[0].push((multiple, value));
                }
                Predictor::Exact => {
                    least[1] = least[1].min(value);
                    curves[1].push((multiple, value));
                }
                _ => {}
            }
            row.push(fixed(value, 4));
        }
        table.push(row);
    }
    println!("held-out log loss of the best linear model {linear:.4}; after one pass of descent:");
    print!("{}", aligned(&table, 1));
    // Large steps spoil averaged parameters: their curve leaves the figure.
    let y = Axis::linear("held-out log loss").limits(0.97 * linear.min(least[1]), 1.1 * linear);
    let x = Axis::log("step size, in units of 4 / R^2");
    let [parameters, predictions] = curves;
    let (label, data) = match name {
        "curve" => (
            "A curve",
            "Generated: the log odds of the classes are a saturating curve, which no linear model fits",
        ),
        _ => ("Census", "Census income (adult)"),
    };
    let title = format!(
        "{label}: averaged predictions reach a log loss of {}, the best linear model {}",
        fixed(least[1], 3),
        fixed(linear, 3)
    );
    let figure = Figure::new(title, x, y)
        .note(format!("{data}. One pass of stochastic gradient descent for each constant step; what is averaged is told by the names. R^2: the mean squared length of a row. The best linear model is the best on the rows that all learn from."))
        .with(Series::line_points("averaged parameters", parameters))
        .with(Series::line_points("averaged predictions", predictions))
        .with(Series::line("best linear model", vec![(0.1, linear), (8.0, linear)]).dashed());
    show.picture(name, &figure.svg())?;
    Ok([linear, least[0], least[1]])
}

/// A feature in [-1, 1] and a constant. The class is +1 with log-odds of 2 tanh(10 x).
fn curved(rows: usize, part: u64) -> Dataset<Array2<f64>> {
    let mut rng = stream(3, part);
    let (mut x, mut y) = (Array2::ones((rows, 2)), Array1::zeros(rows));
    for i in 0..rows {
        let at: f64 = rng.random_range(-1.0..1.0);
        x[[i, 0]] = at;
        let odds = 2.0 * (10.0 * at).tanh();
        y[i] = if rng.random::<f64>() < 1.0 / (1.0 + (-odds).exp()) { 1.0 } else { -1.0 };
    }
    Dataset { x, y }
}
