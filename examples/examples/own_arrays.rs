//! How do I fit a model to my own arrays, keep it, and use it tomorrow?
//!
//! This program fits three regressions to arrays: the lasso, the group lasso and a Poisson regression. Each model is saved together
//! with the scale of its features.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example own_arrays
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_examples::Show;
use fenchel_finite_sum::prelude::Saved;
use fenchel_finite_sum::{
    GroupLasso, Lasso, LinearModel, PoissonModel, PoissonRegressor, Standardiser,
};
use fenchel_linalg::{Named, Names};
use ndarray::{Array1, Array2, array};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated(
        "forty days of a shop: temperature, rain, and which of three kinds of day it is",
    );
    let names = Names::new(["temperature", "rain", "working day", "saturday", "sunday"]);
    let x = Array2::from_shape_fn((40, 5), |(day, column)| match column {
        0 => 10.0 + ((7 * day) % 23) as f64,
        1 => ((5 * day) % 11) as f64 / 10.0,
        kind => f64::from(u8::from(day % 3 == kind - 2)),
    });
    let sales: Array1<f64> = x.rows().into_iter().map(|r| 20.0 + 3.0 * r[0] + 9.0 * r[2]).collect();
    let visitors: Array1<f64> =
        x.rows().into_iter().map(|r| (1.0 + 0.05 * r[0] - r[1]).exp().round()).collect();

    let scale = Standardiser::fit(&x)?;
    let x = Named { x: scale.transform(&x)?, names: names.clone() };
    let lasso = Lasso { l1: 0.5, ..Lasso::default() }.fit(&x, &sales)?;
    println!("sales, R2 {:.3}\n{lasso}\n{}", lasso.score(&x, &sales)?, lasso.report);

    // The kinds of day count together or not at all.
    let groups = vec![vec![0], vec![1], vec![2, 3, 4]];
    let grouped = GroupLasso { groups, group: 0.5, ..GroupLasso::default() };
    let grouped = grouped.fit(&x, &sales)?;
    println!("\nsales, the kinds of day as one group\n{grouped}");

    let counts = PoissonRegressor { l2: 0.01, ..PoissonRegressor::default() };
    let counts = counts.fit(&x, &visitors)?;
    println!("\nvisitors, D2 {:.3}\n{counts}", counts.score(&x, &visitors)?);

    let weights =
        |name: &str, weights: &Array1<f64>| Series::row_bars(name, weights.iter().copied());
    let axis = Axis::of_names("", names.iter().map(String::as_str));
    let x = Axis::linear("weight of the standardised column");
    let figure = Figure::new("What the sales depend on, by lasso and by group lasso", x, axis)
        .note("40 generated days: sales = 20 + 3 temperature + 9 on working days. The kinds of day are a group.")
        .with(weights("lasso", &lasso.weights))
        .with(weights("group lasso", &grouped.weights));
    show.picture("weights", &figure.svg())?;

    // Files hold the scale and the model.
    let (sales_file, visitors_file) = (show.path("sales.json"), show.path("visitors.json"));
    (scale.clone(), grouped).save_file(&sales_file)?;
    (scale, counts).save_file(&visitors_file)?;
    let tomorrow = array![[25.0, 0.0, 1.0, 0.0, 0.0]];
    let (scale, model) = <(Standardiser, LinearModel)>::load_file(&sales_file)?;
    let sales = model.predict(&scale.transform(&tomorrow)?)?[0];
    let (scale, model) = <(Standardiser, PoissonModel)>::load_file(&visitors_file)?;
    let visitors = model.predict(&scale.transform(&tomorrow)?)?[0];
    show.conclude(format_args!(
        "the loaded models expect sales of {sales:.1} and {visitors:.1} visitors on a dry working day of 25 degrees; the rule that made the data gives 104 and {:.1}.",
        (1.0f64 + 0.05 * 25.0).exp()
    ));
    Ok(())
}
