//! This program fits three regressions to arrays: the lasso, the group lasso and a Poisson regression. Each model is saved together
//! with the scale of its features.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example own_arrays
//! ```

use std::error::Error;

use fenchel_finite_sum::prelude::Saved;
use fenchel_finite_sum::{
    GroupLasso, Lasso, LinearModel, PoissonModel, PoissonRegressor, Standardiser,
};
use ndarray::{Array1, Array2, array};

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    // Forty days of a shop: temperature, rain, and the day of the week as three columns.
    let x = Array2::from_shape_fn((40, 5), |(day, column)| match column {
        0 => 10.0 + ((7 * day) % 23) as f64,
        1 => ((5 * day) % 11) as f64 / 10.0,
        weekday => f64::from(u8::from(day % 3 == weekday - 2)),
    });
    let sales: Array1<f64> = x.rows().into_iter().map(|r| 20.0 + 3.0 * r[0] + 9.0 * r[2]).collect();
    let visitors: Array1<f64> =
        x.rows().into_iter().map(|r| (1.0 + 0.05 * r[0] - r[1]).exp().round()).collect();

    let scale = Standardiser::fit(&x)?;
    let x = scale.transform(&x)?;
    let lasso = Lasso { l1: 0.5, ..Lasso::default() }.fit(&x, &sales)?;
    println!("lasso: R2 {:.3}\n{lasso}\n{}", lasso.score(&x, &sales)?, lasso.report);

    // The days of the week count together or not at all.
    let groups = vec![vec![0], vec![1], vec![2, 3, 4]];
    let grouped = GroupLasso { groups, group: 0.5, ..GroupLasso::default() };
    let grouped = grouped.fit(&x, &sales)?;
    println!("\ngroup lasso: weights {:.2}", grouped.weights);

    let counts = PoissonRegressor { l2: 0.01, ..PoissonRegressor::default() };
    let counts = counts.fit(&x, &visitors)?;
    println!("\ncounts: D2 {:.3}", counts.score(&x, &visitors)?);

    // Files hold the scale and the model.
    let folder = tempfile::tempdir()?;
    let (sales_file, visitors_file) =
        (folder.path().join("sales.json"), folder.path().join("visitors.json"));
    (scale.clone(), grouped).save_file(&sales_file)?;
    (scale, counts).save_file(&visitors_file)?;
    let tomorrow = array![[25.0, 0.0, 1.0, 0.0, 0.0]];
    let (scale, model) = <(Standardiser, LinearModel)>::load_file(&sales_file)?;
    let sales = model.predict(&scale.transform(&tomorrow)?)?;
    let (scale, model) = <(Standardiser, PoissonModel)>::load_file(&visitors_file)?;
    let visitors = model.predict(&scale.transform(&tomorrow)?)?;
    println!("\ntomorrow: sales {:.1}, visitors {:.1}", sales[0], visitors[0]);
    Ok(())
}
