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

use fenchel::plot::Placement;
use fenchel_datasets::{TableOptions, table_file};
use fenchel_ggm::path::grid;
use fenchel_ggm::{GraphicalLasso, PenaltyWeights, Statistics, sample, synthetic};
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
    if let Some(warning) = path.ebic_warning(0.5)? {
        println!("{warning}");
    }
    let model = path.ebic_model(0.5)?;
    println!("\nat the least EBIC, strongest first:\n{model}");
    if let Some(file) = arguments.next() {
        std::fs::write(&file, model.network().placed(Placement::Circle).svg())?;
        println!("\ndrawn in {file}");
    }
    Ok(())
}
