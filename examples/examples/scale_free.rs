//! Does it help to know that a network has hubs?
//!
//! This program estimates a network with hubs, once with a penalty that favours hubs and once with the l1 norm, each at several
//! strengths. It compares the numbers of true edges that they find, and the sizes of the largest hub.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example scale_free
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_examples::Show;
use fenchel_ggm::scale_free::DegreePrior;
use fenchel_ggm::synthetic::{diagonally_dominant, power_law};
use fenchel_ggm::{GaussianModel, GraphicalLasso, ScaleFree, Statistics, sample};
use fenchel_linalg::text::aligned;
use fenchel_optim::random::stream;
use ndarray::Array1;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let p = 60;
    let truth = power_law(p, 2.0, &mut stream(3, 0))?;
    let theta = diagonally_dominant(p, &truth, -0.2);
    let x = sample(theta.view(), &Array1::zeros(p), 500, &mut stream(3, 1))?;
    let statistics = Statistics::from_data(&x)?;
    show.generated(format_args!(
        "500 samples of a network of {p} nodes with hubs and {} edges",
        truth.len()
    ));
    let head = ["penalty", "strength", "edges", "true ones", "largest degree"];
    let mut table = vec![head.map(String::from).to_vec()];
    let mut fits = Vec::new();
    for strength in [0.1, 0.11, 0.12, 0.13, 0.15, 0.18] {
        let lasso = GraphicalLasso { l1: strength.into(), ..GraphicalLasso::default() };
        fits.push(("l1", strength, lasso.fit(&statistics)?));
    }
    for strength in [0.23, 0.24, 0.25, 0.27, 0.3, 0.35] {
        let prior = DegreePrior::Sqrt { beta: 0.2 };
        let free = ScaleFree { prior, strength, ..ScaleFree::default() };
        fits.push(("scale-free", strength, free.fit(&statistics)?));
    }
    // The best fit of each penalty: the fewest edges that are missing or wrong.
    let mut best = [(usize::MAX, 0); 2];
    let mut curves = [Vec::new(), Vec::new()];
    for (name, strength, model) in &fits {
        let (edges, hits, largest) = counts(model, &truth);
        table.push(vec![
            (*name).to_owned(),
            strength.to_string(),
            edges.to_string(),
            hits.to_string(),
            largest.to_string(),
        ]);
        let wrong = truth.len() - hits + edges - hits;
        let which = usize::from(*name != "l1");
        curves[which].push((edges as f64, hits as f64));
        best[which] = best[which].min((wrong, largest));
    }
    print!("{}", aligned(&table, 1));
    let (x, y) = (Axis::linear("edges found"), Axis::linear("true ones among them"));
    let title = format!(
        "Edges of a network with hubs: the scale-free penalty is wrong about {} pairs, the l1 norm about {}",
        best[1].0, best[0].0
    );
    let mut figure = Figure::new(title, x, y).note(format!(
        "A generated network of {p} variables and {} edges. Points: fits with rising penalties.",
        truth.len()
    ));
    for (name, points) in ["l1", "scale-free"].into_iter().zip(curves) {
        figure = figure.with(Series::line_points(name, points));
    }
    show.picture("edges", &figure.svg())?;
    let neighbours = |v: u32| truth.iter().filter(|edge| edge.0 == v || edge.1 == v).count();
    let [(l1, l1_hub), (free, free_hub)] = best;
    show.conclude(format_args!(
        "{}: at its best strength the penalty that favours hubs is wrong about {free} pairs, the l1 norm about {l1}; the largest hub has {} neighbours, and {free_hub} and {l1_hub} in the two estimates.",
        if free < l1 { "it helps" } else { "it does not help here" },
        (0..p as u32).map(neighbours).max().unwrap_or(0)
    ));
    Ok(())
}

/// Edges, true edges, and the largest number of neighbours.
fn counts(model: &GaussianModel, truth: &[(u32, u32)]) -> (usize, usize, usize) {
    let graph = model.graph();
    let hits = graph.edges().filter(|edge| truth.contains(edge)).count();
    let largest = (0..graph.nodes() as u32).map(|i| graph.neighbours(i).len()).max().unwrap_or(0);
    (graph.edge_count(), hits, largest)
}
