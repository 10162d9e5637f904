//! This program estimates a network with hubs, once with a penalty that favours hubs and once with the l1 norm. It compares the numbers
//! of true edges that they find.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example scale_free
//! ```

use std::error::Error;

use fenchel_ggm::scale_free::DegreePrior;
use fenchel_ggm::synthetic::{diagonally_dominant, power_law};
use fenchel_ggm::{GaussianModel, GraphicalLasso, ScaleFree, Statistics, sample};
use fenchel_optim::random::stream;
use ndarray::Array1;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let p = 60;
    let truth = power_law(p, 2.0, &mut stream(3, 0))?;
    let theta = diagonally_dominant(p, &truth, -0.2);
    let x = sample(theta.view(), &Array1::zeros(p), 500, &mut stream(3, 1))?;
    let statistics = Statistics::from_data(&x)?;
    println!("{} true edges", truth.len());
    println!("{:12} {:>8} {:>6} {:>6} {:>8}", "penalty", "strength", "edges", "true", "largest");
    for strength in [0.12, 0.15, 0.18, 0.22] {
        let lasso = GraphicalLasso { l1: strength.into(), ..GraphicalLasso::default() };
        show("l1", strength, &lasso.fit(&statistics)?, &truth);
    }
    for strength in [0.2, 0.25, 0.3, 0.4] {
        let prior = DegreePrior::Sqrt { beta: 0.2 };
        let free = ScaleFree { prior, strength, ..ScaleFree::default() };
        show("scale-free", strength, &free.fit(&statistics)?, &truth);
    }
    Ok(())
}

fn show(name: &str, strength: f64, model: &GaussianModel, truth: &[(u32, u32)]) {
    let graph = model.graph();
    let hits = graph.edges().filter(|edge| truth.contains(edge)).count();
    let largest = (0..graph.nodes() as u32).map(|i| graph.neighbours(i).len()).max().unwrap_or(0);
    println!("{name:12} {strength:8} {:6} {hits:6} {largest:8}", graph.edge_count());
}
