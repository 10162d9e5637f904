//! How many measurements does a good prediction of the alcohol content need?
//!
//! This program fits the lasso. It shows how the number of nonzero coefficients grows as the penalty decreases. Every fit has a
//! certificate.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example lasso
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_datasets::embedded;
use fenchel_examples::Show;
use fenchel_finite_sum::Lasso;
use fenchel_linalg::text::{aligned, fixed, number, short};
use fenchel_metrics::r2;
use ndarray::Axis as Along;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.real("the alcohol content of 178 wines and twelve chemical measurements (UCI)");
    let data = embedded::wine_alcohol();
    let mean = data.x.mean_axis(Along(0)).ok_or("no rows")?;
    let x = (&data.x - &mean) / &data.x.std_axis(Along(0), 0.0);

    // Above the largest correlation every weight is 0.
    let centred = &data.y - data.y.mean().ok_or("no rows")?;
    let largest =
        x.t().dot(&centred).iter().fold(0.0, |m: f64, g| m.max(g.abs())) / x.nrows() as f64;
    let head = ["l1", "features", "R2", "certified gap", "passes"];
    let mut table = vec![head.map(String::from).to_vec()];
    let mut fits = Vec::new();
    for fraction in [1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01] {
        let l1 = fraction * largest;
        let model = Lasso { l1, ..Lasso::default() }.fit(&x, data.y.view())?;
        let features = model.weights.iter().filter(|w| **w != 0.0).count();
        let r2 = r2(&data.y.to_vec(), &model.predict(&x)?.to_vec())?;
        let gap = number(model.report.certificate.value(), 2);
        let passes = short(model.report.passes);
        table.push(vec![number(l1, 3), features.to_string(), fixed(r2, 3), gap, passes]);
        fits.push((features, r2));
    }
    print!("{}", aligned(&table, 0));
    let points = fits.iter().map(|(features, r2)| (*features as f64, *r2)).collect();
    let (all, most) = fits[fits.len() - 1];
    let enough = fits.iter().find(|(_, r2)| *r2 >= 0.9 * most).ok_or("no fits")?;
    let title = format!(
        "Alcohol of wines: {} measurements explain {:.0} % of the variance, {all} explain {:.0} %",
        enough.0,
        100.0 * enough.1,
        100.0 * most
    );
    let x = Axis::linear("measurements with a weight that is not 0");
    let figure = Figure::new(title, x, Axis::linear("R2, share of the variance explained"))
        .note("178 wines. Points: fits of the lasso with falling penalties.");
    show.picture("fits", &figure.with(Series::line_points("lasso", points)).svg())?;
    show.conclude(format_args!(
        "{} of the twelve measurements explain {:.0} % of the variance, nine tenths of what {all} explain ({:.0} %).",
        enough.0,
        100.0 * enough.1,
        100.0 * most
    ));
    Ok(())
}
