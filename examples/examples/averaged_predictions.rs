//! This program compares averaged predictions with averaged parameters. It makes one pass of stochastic gradient descent with a
//! constant step size over census records, for several step sizes.
//!
//! The mean of the predictions of several linear models is not the prediction of a linear model. So its loss may be smaller than that
//! of the best linear model. The loss of the averaged parameters cannot be.
//!
//! `FENCHEL_DATA=DIR cargo run --release -p fenchel-examples --example averaged_predictions`

use fenchel_datasets::Folder;
use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor};
use fenchel_linalg::{AsDesign, Design};
use ndarray::Array1;

/// The mean log-loss of probabilities, in nats.
fn log_loss(p: &Array1<f64>, y: &[f64]) -> f64 {
    let one = |(p, y): (&f64, &f64)| -(if *y > 0.5 { p.ln() } else { (1.0 - p).ln() });
    p.iter().zip(y).map(one).sum::<f64>() / y.len() as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    fenchel_examples::end_on_closed_pipe();
    let folder = std::env::var_os("FENCHEL_DATA").map(Folder::new);
    let both = match &folder {
        Some(folder) => folder.adult()?.zip(folder.adult_test()?),
        None => None,
    };
    let Some((train, test)) = both else {
        println!("set FENCHEL_DATA to a folder with libsvm/adult.trn.bz2 and libsvm/adult.tst.bz2");
        return Ok(());
    };
    let shares = |y: &Array1<f64>| -> Vec<f64> { y.iter().map(|y| 0.5 * (y + 1.0)).collect() };
    let (y, y_test) = (shares(&train.y), shares(&test.y));
    let design = train.x.as_design()?;
    let rows = design.rows();
    let square = (0..rows).map(|i| design.row_norm_squared(i)).sum::<f64>() / rows as f64;
    println!("{rows} records, mean square {square:.1}; held-out log-loss after one pass");
    println!(
        "{:>12} {:>10} {:>12} {:>12} {:>12}",
        "step", "last", "parameters", "predictions", "gaussian"
    );
    for multiple in [0.1, 0.5, 1.0, 2.0] {
        let step = multiple * 4.0 / square;
        let settings = AveragedSettings { step: Some(step), ..AveragedSettings::default() };
        let mut method = AveragedSgd::new(Bernoulli, settings);
        method.partial_fit(&train.x, &y)?;
        let loss = |predictor| -> Result<f64, fenchel_finite_sum::Error> {
            Ok(log_loss(&method.predict(&test.x, predictor)?.means, &y_test))
        };
        println!(
            "{:>4} x 4/R^2 {:>11.4} {:>12.4} {:>12.4} {:>12.4}",
            multiple,
            loss(Predictor::Last)?,
            loss(Predictor::Parameters)?,
            loss(Predictor::Exact)?,
            loss(Predictor::Gaussian)?
        );
    }
    Ok(())
}
