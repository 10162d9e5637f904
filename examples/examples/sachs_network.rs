//! This program estimates a network of interactions between 11 proteins of a cell from measurements. It chooses the penalty by the
//! extended Bayesian information criterion (EBIC), and draws the network.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example sachs_network -- DATA.csv PICTURE.svg
//! ```
//!
//! `DATA.csv` has one row per cell and one named column per protein (Sachs et al., Science 308, 2005). Without this file, the program
//! uses samples of a chain.

use std::error::Error;
use std::fmt::Write;

use fenchel_datasets::{TableOptions, table_file};
use fenchel_ggm::path::grid;
use fenchel_ggm::{GaussianModel, GraphicalLasso, PenaltyWeights, Statistics, sample, synthetic};
use fenchel_linalg::{Named, Names};
use fenchel_optim::random::stream;
use ndarray::Array1;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let mut arguments = std::env::args().skip(1);
    let Named { x, names } = match arguments.next() {
        Some(path) => table_file(&path, &TableOptions::default())?.design()?,
        None => {
            let truth = synthetic::diagonally_dominant(11, &synthetic::chain(11), -0.4);
            let x = sample(truth.view(), &Array1::zeros(11), 500, &mut stream(1, 0))?;
            Named { x, names: Names::NONE }
        }
    };
    // Concentrations are positive and skewed: their logarithms are closer to normal.
    let x = if x.iter().all(|v| *v > 0.0) { x.mapv(f64::ln) } else { x };
    let x = Named { x, names };

    let statistics = Statistics::from_data(&x)?;
    let lasso = GraphicalLasso { l1: PenaltyWeights::Uniform(1.0), ..GraphicalLasso::default() };
    let path = lasso.fit_path(&statistics, &grid(0.9, 0.02, 30)?)?;
    println!("{:>9} {:>6} {:>12} {:>9}", "penalty", "edges", "EBIC", "gap");
    for point in &path.points {
        let gap = point.report.certificate.value();
        let ebic = point.ebic(path.samples, 0.5);
        println!("{:9.4} {:6} {ebic:12.1} {gap:9.1e}", point.l1, point.edges());
    }
    let model = path.ebic_model(0.5)?;
    println!("\nat the least EBIC, strongest first:\n{model}");
    if let Some(file) = arguments.next() {
        std::fs::write(&file, picture(&model)?)?;
        println!("\ndrawn in {file}");
    }
    Ok(())
}

/// Proteins on a circle; the width of a line is the size of the partial correlation, red is negative.
fn picture(model: &GaussianModel) -> Result<String, std::fmt::Error> {
    let place = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / model.variables() as f64;
        (300.0 + 220.0 * angle.cos(), 300.0 + 220.0 * angle.sin())
    };
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 600 600\" font-family=\"sans-serif\" font-size=\"15\">\n",
    );
    for (i, j, partial) in model.edges() {
        let ((x1, y1), (x2, y2)) = (place(i), place(j));
        let colour = if partial > 0.0 { "#1f5fa8" } else { "#b3261e" };
        let width = 12.0 * partial.abs();
        writeln!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width:.1}\"/>"
        )?;
    }
    for i in 0..model.variables() {
        let (x, y) = place(i);
        writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"26\" fill=\"#fff\" stroke=\"#444\"/>"
        )?;
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y + 5.0,
            model.names.of(i)
        )?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}
