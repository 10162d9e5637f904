//! This project's side of `cargo xtask peers moments`.
//!
//! `peer-moments METHOD FILE N D SLICES`: the file holds `N D` numbers of the features, row by row, then `N` responses, as
//! little-endian doubles. Prints loadings, eigenvalues and seconds as JSON. `peer-moments known N D` times SADE
//! with the exact score of the thesis' mixture; `peer-moments stream N D` streams batches through SIR; `peer-moments matching N D` learns a score
//! with a bump at every sample.

use std::error::Error;
use std::time::Instant;

use fenchel_moments::matching::{Basis, Centres};
use fenchel_moments::slicing::Slices;
use fenchel_moments::{
    Components, GaussianMixture, Phd, Sade, Save, ScoreMatching, Sir, SliceMoments, Slicing, Sphd,
    synthetic,
};
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize| -> Result<usize, Box<dyn Error>> {
        Ok(arguments.get(k).ok_or("an argument is missing")?.parse()?)
    };
    match arguments.first().map(String::as_str) {
        Some("known") => known(number(1)?, number(2)?),
        Some("stream") => streamed(number(1)?, number(2)?),
        Some("matching") => matched(number(1)?, number(2)?),
        Some(method) => compared(method, &arguments[1], number(2)?, number(3)?, number(4)?),
        None => Err("a method, `known`, `stream` or `matching`".into()),
    }
}

fn compared(
    method: &str,
    file: &str,
    n: usize,
    d: usize,
    slices: usize,
) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let numbers: Vec<f64> =
        bytes.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
    let x = Array2::from_shape_vec((n, d), numbers[..n * d].to_vec())?;
    let y = Array1::from(numbers[n * d..].to_vec());
    let (components, slicing) = (Components::Fixed(2), Slicing::DrCompatible(slices));
    let mut seconds = f64::INFINITY;
    let mut found = None;
    for _ in 0..3 {
        let start = Instant::now();
        let model = match method {
            "sir" => Sir { components, slicing }.fit(&x, &y)?,
            "save" => Save { components, slicing, ..Save::default() }.fit(&x, &y)?,
            "phd" => Phd { components, residual: false, ..Phd::default() }.fit(&x, &y)?,
            other => return Err(format!("unknown method `{other}`").into()),
        };
        seconds = seconds.min(start.elapsed().as_secs_f64());
        found = Some(model);
    }
    let model = found.ok_or("no round")?;
    let loadings: Vec<Vec<f64>> = model.loadings.rows().into_iter().map(|r| r.to_vec()).collect();
    let answer = serde_json::json!({
        "loadings": loadings,
        "eigenvalues": model.eigenvalues.to_vec(),
        "seconds": seconds,
    });
    println!("{answer}");
    Ok(())
}

fn known(n: usize, d: usize) -> Result<(), Box<dyn Error>> {
    let density = GaussianMixture::thesis(d)?;
    let problem = synthetic::rational(&density, n, 0.25, 1)?;
    let components = Components::Fixed(2);
    for _ in 0..3 {
        let start = Instant::now();
        Sade { components, ..Sade::default() }.fit(&problem.x, &problem.y, &density)?;
        println!("SADE n = {n}, d = {d}: {:.3} s", start.elapsed().as_secs_f64());
        let start = Instant::now();
        Sir { components, ..Sir::default() }.fit(&problem.x, &problem.y)?;
        println!("SIR n = {n}, d = {d}: {:.3} s", start.elapsed().as_secs_f64());
    }
    if n <= 200_000 {
        let start = Instant::now();
        Sphd { components, ..Sphd::default() }.fit(&problem.x, &problem.y, &density)?;
        println!("SPHD n = {n}, d = {d}: {:.3} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn streamed(n: usize, d: usize) -> Result<(), Box<dyn Error>> {
    let batch = 20_000;
    // One batch, moved a little each time: generating normal numbers would take longer than the sums.
    let problem = synthetic::rational(&synthetic::StandardFeatures(d), batch, 0.25, 1)?;
    let slices = Slices::new(&problem.y.to_vec(), Slicing::EqualCount(10), 2)?;
    let mut moments = SliceMoments::new(slices.edges().to_vec(), d)?;
    let start = Instant::now();
    let mut rng = stream(2, 0);
    for _ in 0..n / batch {
        let shift: f64 = rand::RngExt::random_range(&mut rng, -1e-3..1e-3);
        moments.partial_fit(&(&problem.x + shift), &problem.y)?;
    }
    let model = Sir { components: Components::Fixed(2), ..Sir::default() }.fit_moments(&moments)?;
    println!(
        "SIR of a stream, n = {}, d = {d}: {:.1} s",
        model.samples,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn matched(n: usize, d: usize) -> Result<(), Box<dyn Error>> {
    let problem = synthetic::rational(&GaussianMixture::thesis(d)?, n, 0.25, 1)?;
    let basis = Basis::Bumps(Centres::AllSamples);
    let start = Instant::now();
    ScoreMatching { basis, ..ScoreMatching::default() }.fit(&problem.x)?;
    println!("score matching, n = m = {n}, d = {d}: {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
