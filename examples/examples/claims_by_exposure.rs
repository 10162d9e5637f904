//! How much more often do young drivers and drivers in cities have a claim?
//!
//! This program fits a Poisson regression to the numbers of claims of insurance policies. A policy that ran for two years has had
//! twice the time of one that ran for one, so that the logarithm of the years is an offset. The summary has the form of R's.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example claims_by_exposure
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_examples::Show;
use fenchel_expfam::families::Poisson;
use fenchel_expfam::glm::{Glm, PoissonLog, Targets};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_linalg::{Named, Names};
use fenchel_optim::random::stream;
use ndarray::{Array2, array};
use rand::RngExt;

/// The truth: claims a year, and what multiplies them.
const BASE: f64 = 0.135;
const YOUNG: f64 = 1.65;
const CITY: f64 = 1.35;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated(format_args!(
        "2,000 policies with {BASE} claims a year, {YOUNG} times as many of young drivers and {CITY} times as many in cities"
    ));
    let mut rng = stream(11, 0);
    let n = 2000;
    let x = Array2::from_shape_simple_fn((n, 2), || f64::from(u8::from(rng.random::<f64>() < 0.4)));
    let years: Vec<f64> = (0..n).map(|_| 0.2 + 2.0 * rng.random::<f64>()).collect();
    let mut claims = Vec::with_capacity(n);
    for (row, years) in x.outer_iter().zip(&years) {
        let rate = years * BASE * YOUNG.powf(row[0]) * CITY.powf(row[1]);
        claims.push(Poisson.with_rate(rate)?.sample(&mut rng));
    }

    let x = Named { x, names: Names::new(["young", "city"]) };
    let log_years: Vec<f64> = years.iter().map(|years| years.ln()).collect();
    let fitted = Glm::new(PoissonLog).fit(&x, Targets::new(&claims).offset(&log_years))?;
    let summary = fitted.summary();
    println!("{summary}\n\n{}\n", fitted.report);
    let mut figure = summary.figure();
    figure.title = "Claims of insured drivers: both the young and those in cities have more".into();
    figure.note = format!("Generated. {}", figure.note);
    show.picture("coefficients", &figure.svg())?;
    show.picture("qq", &fitted.qq_figure(&x, &claims, Some(&log_years))?.svg())?;

    let groups = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
    let names = ["older, country", "young, country", "older, city", "young, city"];
    let mut table = vec![vec!["group".to_owned(), "claims a year".to_owned()]];
    let rates = fitted.predict(&groups)?;
    table
        .extend(names.iter().zip(&rates).map(|(name, rate)| vec![(*name).into(), fixed(*rate, 4)]));
    print!("{}", aligned(&table, 1));

    let (low, high) = summary.intervals(0.95)?[1];
    show.conclude(format_args!(
        "young drivers have {:.2} times as many claims a year as older ones (95 %: {:.2} to {:.2}; the truth is {YOUNG}).",
        fitted.coefficients[0].exp(),
        low.exp(),
        high.exp()
    ));
    Ok(())
}
