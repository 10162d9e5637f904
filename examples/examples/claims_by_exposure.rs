//! This program fits a Poisson regression with exposures to the numbers of insurance claims by age group and district. It prints the
//! summary of the fit in the form of R.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example claims_by_exposure
//! ```

use std::error::Error;

use fenchel_expfam::families::Poisson;
use fenchel_expfam::glm::{Glm, PoissonLog, Targets};
use fenchel_optim::random::stream;
use ndarray::{Array2, array};
use rand::RngExt;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    // 2000 policies with a made-up truth: log rate = -2 + 0.5 young + 0.3 urban.
    let mut rng = stream(11, 0);
    let n = 2000;
    let x = Array2::from_shape_simple_fn((n, 2), || f64::from(u8::from(rng.random::<f64>() < 0.4)));
    let years: Vec<f64> = (0..n).map(|_| 0.2 + 2.0 * rng.random::<f64>()).collect();
    let mut claims = Vec::with_capacity(n);
    for (row, t) in x.outer_iter().zip(&years) {
        let rate = t * (-2.0 + 0.5 * row[0] + 0.3 * row[1]).exp();
        claims.push(Poisson.with_rate(rate)?.sample(&mut rng));
    }
    let log_years: Vec<f64> = years.iter().map(|t| t.ln()).collect();
    let fitted = Glm::new(PoissonLog).fit(&x, Targets::new(&claims).offset(&log_years))?;
    println!("{}\n", fitted.summary());
    println!("{}\n", fitted.report);
    let groups = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
    println!("claims a year by group: {:.4}", fitted.predict(&groups)?);
    Ok(())
}
