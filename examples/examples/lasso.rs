//! This program fits the lasso to real data. It shows how the number of nonzero coefficients grows as the penalty decreases. Every fit
//! has a certificate.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example lasso
//! ```

use std::error::Error;

use fenchel_datasets::embedded;
use fenchel_finite_sum::Lasso;
use fenchel_metrics::r2;
use ndarray::Axis;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    // Alcohol content of 178 wines from twelve chemical measurements.
    let data = embedded::wine_alcohol();
    let mean = data.x.mean_axis(Axis(0)).ok_or("no rows")?;
    let x = (&data.x - &mean) / &data.x.std_axis(Axis(0), 0.0);

    // Above the largest correlation every weight is 0.
    let centred = &data.y - data.y.mean().ok_or("no rows")?;
    let largest =
        x.t().dot(&centred).iter().fold(0.0, |m: f64, g| m.max(g.abs())) / x.nrows() as f64;
    println!("    l1  features     R2  certified gap  passes");
    for fraction in [1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01] {
        let l1 = fraction * largest;
        let model = Lasso { l1, ..Lasso::default() }.fit(&x, data.y.view())?;
        let features = model.weights.iter().filter(|w| **w != 0.0).count();
        let fitted = model.predict(&x)?;
        println!(
            "{l1:6.4}  {features:8}  {:5.3}  {:13.1e}  {:6.1}",
            r2(&data.y.to_vec(), &fitted.to_vec())?,
            model.report.certificate.value(),
            model.report.passes,
        );
    }
    Ok(())
}
