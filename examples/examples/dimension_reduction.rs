//! Do more samples help a method whose assumption is wrong?
//!
//! This program finds the two linear combinations (indices) of ten features that a response depends on. It compares SIR and SADE.
//! The features have a mixture of two normal densities. SIR needs elliptical features, so its error does not tend to 0 with more
//! samples. SADE uses the density of the features.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example dimension_reduction
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_examples::Show;
use fenchel_linalg::text::{aligned, fixed};
use fenchel_moments::{Components, GaussianMixture, Sade, Sir, synthetic, trace_error};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated("ten features with a mixture of two normal densities; a response that depends on two indices");
    let density = GaussianMixture::thesis(10)?;
    let components = Components::Fixed(2);
    println!("square trace error of the two directions (0: exact, 1: orthogonal)");
    let mut table = vec![["samples", "SIR", "SADE"].map(String::from).to_vec()];
    let mut errors = Vec::new();
    for n in [1_024, 4_096, 16_384, 65_536] {
        let problem = synthetic::rational(&density, n, 0.25, 1)?;
        let sir = Sir { components, ..Sir::default() }.fit(&problem.x, &problem.y)?;
        let sade = Sade { components, ..Sade::default() }.fit(&problem.x, &problem.y, &density)?;
        let truth = problem.directions.view();
        let sir = trace_error(sir.directions.view(), truth)?;
        let sade = trace_error(sade.directions.view(), truth)?;
        table.push(vec![n.to_string(), fixed(sir, 5), fixed(sade, 5)]);
        errors.push((sir, sade));
    }
    print!("{}", aligned(&table, 0));
    let curve = |name: &str, of: fn(&(f64, f64)) -> f64| {
        let errors = errors.iter().zip([1_024.0, 4_096.0, 16_384.0, 65_536.0]);
        Series::line_points(name, errors.map(|(error, n)| (n, of(error))).collect())
    };
    let (x, y) = (Axis::log("samples"), Axis::log("square trace error"));
    let (first, last) = (errors[0], errors[errors.len() - 1]);
    let title = format!(
        "Errors of two directions: 64 times the samples divide that of SIR by {:.1}, that of SADE by {:.0}",
        first.0 / last.0,
        first.1 / last.1
    );
    let figure = Figure::new(title, x, y).note(
        "One draw of ten generated features for each number of samples. 0: exact; 1: orthogonal.",
    );
    let figure = figure.with(curve("SIR", |e| e.0)).with(curve("SADE", |e| e.1));
    show.picture("errors", &figure.svg())?;

    let problem = synthetic::rational(&density, 1_024, 0.25, 1)?;
    let sade = Sade { components, ..Sade::default() }.fit(&problem.x, &problem.y, &density)?;
    let shares: Vec<String> = sade.explained().iter().map(|share| fixed(*share, 2)).collect();
    show.picture("directions", &sade.svg())?;
    let mut scree = sade.scree();
    scree.note = format!(
        "SADE (sliced average derivative estimation) of a generated response that depends on two indices. {}",
        scree.note
    );
    show.picture("eigenvalues", &scree.svg())?;
    println!("\nshares of the eigenvalues of SADE, two of which matter: {}", shares.join(" "));
    show.conclude(format_args!(
        "with 64 times as many samples the error of SIR falls by a factor of {:.1}, that of SADE by {:.0}.",
        first.0 / last.0,
        first.1 / last.1
    ));
    Ok(())
}
