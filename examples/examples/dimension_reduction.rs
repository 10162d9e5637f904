//! This program finds the two linear combinations (indices) of ten features that a response depends on. It compares SIR and SADE.
//!
//! The features have a mixture of two normal densities. SIR needs elliptical features, so its error does not tend to 0 with more
//! samples. SADE uses the density of the features.
//!
//! The program draws two figures of a fit to 1,024 samples into the temporary folder: the response against the first index of SADE,
//! and the eigenvalues.
//!
//! Run: `cargo run --release -p fenchel-examples --example dimension_reduction`

use std::error::Error;

use fenchel_moments::{Components, GaussianMixture, Sade, Sir, synthetic, trace_error};

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let density = GaussianMixture::thesis(10)?;
    let components = Components::Fixed(2);
    println!("square trace error of the two directions (0: exact, 1: orthogonal)");
    println!("{:>8} {:>10} {:>10}", "samples", "SIR", "SADE");
    for n in [1_024, 4_096, 16_384, 65_536] {
        let problem = synthetic::rational(&density, n, 0.25, 1)?;
        let sir = Sir { components, ..Sir::default() }.fit(&problem.x, &problem.y)?;
        let sade = Sade { components, ..Sade::default() }.fit(&problem.x, &problem.y, &density)?;
        let truth = problem.directions.view();
        let sir = trace_error(sir.directions.view(), truth)?;
        let sade = trace_error(sade.directions.view(), truth)?;
        println!("{n:>8} {sir:>10.5} {sade:>10.5}");
    }

    let problem = synthetic::rational(&density, 1_024, 0.25, 1)?;
    let sade = Sade { components, ..Sade::default() }.fit(&problem.x, &problem.y, &density)?;
    println!("shares of the eigenvalues of SADE, two of which matter: {:.2}", sade.explained());
    Ok(())
}
