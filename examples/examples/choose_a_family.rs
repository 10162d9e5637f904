//! This program fits families of distributions to waiting times that arrive one by one. It selects a family, shows the effect of a
//! prior for few data, and computes the uncertainty of the estimate.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example choose_a_family
//! ```

use std::error::Error;

use fenchel_expfam::families::{Exponential, Gamma, InverseGaussian, LogNormal};
use fenchel_expfam::risk::{asymptotic, gamma_mle, sample_size};
use fenchel_expfam::{Density, Distribution, Prior, Summary, mle};
use fenchel_optim::random::stream;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let truth = Gamma.with_shape_rate(2.5, 0.5)?;
    let waits = truth.samples(400, &mut stream(7, 0));
    let (seen, held_out) = waits.split_at(300);

    println!("{:18} {:>22}", "family", "held-out log density");
    show("exponential", &mle(Exponential, seen)?, held_out)?;
    show("gamma", &mle(Gamma, seen)?, held_out)?;
    show("log-normal", &mle(LogNormal, seen)?, held_out)?;
    show("inverse Gaussian", &mle(InverseGaussian, seen)?, held_out)?;

    // Exponential times with a prior worth two observations of mean 2: MLE and MAP as the data come.
    let prior = Prior::new(Exponential, 2.0, &[2.0])?;
    let mut data = Summary::new(Exponential);
    println!(
        "\n{:>4} {:>9} {:>9} {:>12} {:>22}",
        "n", "MLE rate", "MAP rate", "KL to truth", "log p(next wait = 1)"
    );
    let source = Exponential.with_rate(0.2)?;
    for (i, x) in source.samples(64, &mut stream(7, 1)).iter().enumerate() {
        data.observe(x)?;
        if (i + 1usize).is_power_of_two() {
            let posterior = prior.posterior(&data)?;
            let (ml, map) = (data.mle()?, posterior.map());
            println!(
                "{:4} {:9.4} {:9.4} {:12.5} {:22.4}",
                i + 1,
                ml.rate(),
                map.rate(),
                source.kl(map),
                posterior.log_predictive(&1.0)?
            );
        }
    }
    let n =
        sample_size(0.001, |n| gamma_mle(1.0, n)).ok_or("no number of observations is enough")?;
    println!(
        "\nexpected KL of the MLE below 0.001 nats from n = {n} on (d/(2n) says {})",
        asymptotic(1, 0.001)
    );
    Ok(())
}

fn show<F: Density<Point = f64>>(
    name: &str,
    fitted: &Distribution<F>,
    held_out: &[f64],
) -> Result<(), fenchel_expfam::Error> {
    let total: f64 = fitted.log_densities(held_out)?.iter().sum();
    println!("{name:18} {:22.3}", total / held_out.len() as f64);
    Ok(())
}
