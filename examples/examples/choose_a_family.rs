//! Which family of distributions describes waiting times, and what does a prior change while data are few?
//!
//! This program fits four families to waiting times by maximum likelihood, and compares them on times that were set aside. Then it
//! shows the effect of a prior as the data come one by one, and computes how many are enough.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example choose_a_family
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_examples::Show;
use fenchel_expfam::families::{Exponential, Gamma, InverseGaussian, LogNormal};
use fenchel_expfam::risk::{asymptotic, gamma_mle, sample_size};
use fenchel_expfam::{Density, Distribution, Prior, Summary, mle};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_optim::random::stream;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated("400 waiting times of a gamma distribution; then 64 of an exponential one");
    let truth = Gamma.with_shape_rate(2.5, 0.5)?;
    let waits = truth.samples(400, &mut stream(7, 0));
    let (seen, held_out) = waits.split_at(300);

    let scores = [
        ("exponential", score(&mle(Exponential, seen)?, held_out)?),
        ("gamma", score(&mle(Gamma, seen)?, held_out)?),
        ("log-normal", score(&mle(LogNormal, seen)?, held_out)?),
        ("inverse Gaussian", score(&mle(InverseGaussian, seen)?, held_out)?),
    ];
    let mut table = vec![vec!["family".to_owned(), "held-out log density".to_owned()]];
    table.extend(scores.iter().map(|(name, score)| vec![(*name).to_owned(), fixed(*score, 3)]));
    println!("{}", aligned(&table, 1));
    let best = scores.iter().fold(scores[0], |best, s| if s.1 > best.1 { *s } else { best });

    // Exponential times with a prior worth two observations of mean 2: MLE and MAP as the data come.
    let prior = Prior::new(Exponential, 2.0, &[2.0])?;
    let mut data = Summary::new(Exponential);
    let head = ["times", "MLE rate", "MAP rate", "KL to truth", "log p(next = 1)"];
    let mut table = vec![head.map(String::from).to_vec()];
    let source = Exponential.with_rate(0.2)?;
    let mut curves = [Vec::new(), Vec::new()];
    for (i, x) in source.samples(64, &mut stream(7, 1)).iter().enumerate() {
        data.observe(x)?;
        if (i + 1usize).is_power_of_two() {
            let posterior = prior.posterior(&data)?;
            let (ml, map) = (data.mle()?, posterior.map());
            curves[0].push((i as f64 + 1.0, source.kl(&ml)));
            curves[1].push((i as f64 + 1.0, source.kl(map)));
            table.push(vec![
                (i + 1).to_string(),
                fixed(ml.rate(), 4),
                fixed(map.rate(), 4),
                fixed(source.kl(map), 5),
                fixed(posterior.log_predictive(&1.0)?, 4),
            ]);
        }
    }
    print!("{}", aligned(&table, 0));
    let (x, y) = (Axis::log("number of times seen"), Axis::log("divergence from the truth (nats)"));
    let [ml, map] = curves;
    let figure = Figure::new(
        "The estimates of a rate come nearer to the truth as times are seen",
        x,
        y,
    )
    .note("One generated sample of exponential times. MLE: maximum likelihood; MAP: with a prior.")
    .with(Series::line_points("MLE", ml))
    .with(Series::line_points("MAP", map));
    show.picture("rate", &figure.svg())?;
    let n =
        sample_size(0.001, |n| gamma_mle(1.0, n)).ok_or("no number of observations is enough")?;
    show.conclude(format_args!(
        "the {} family describes the times best; after {n} times the expected divergence of the rate's estimate is below 0.001 nats ({} by the rule d/(2n)).",
        best.0,
        asymptotic(1, 0.001)
    ));
    Ok(())
}

/// The mean log density of times that were set aside.
fn score<F: Density<Point = f64>>(
    fitted: &Distribution<F>,
    held_out: &[f64],
) -> Result<f64, fenchel_expfam::Error> {
    let total: f64 = fitted.log_densities(held_out)?.iter().sum();
    Ok(total / held_out.len() as f64)
}
