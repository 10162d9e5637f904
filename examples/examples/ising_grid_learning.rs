//! This program learns an Ising grid from samples with three methods, and counts the edges that each method finds.
//!
//! `cargo run --release -p fenchel-examples --example ising_grid_learning [network.svg]` also draws the network of the first.

use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_mrf_learn::{
    Coordinates, Data, InteractionScreening, MissingPolicy, NodewiseLogistic, Penalty, Spg,
    metrics, synthetic,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    fenchel_examples::end_on_closed_pipe();
    // A 6 x 6 grid of spins, neighbours coupled by 0.3; 4,000 samples by Gibbs sampling.
    let truth = synthetic::ising_grid(6, 0.3)?;
    let (start, scan) = (BinaryStart::Random, Order::Cyclic);
    let mut chains = BinaryGibbs::new(&truth, 4000, start, scan, 1)?;
    chains.sweep(500);
    let data = Data::binary(chains.samples().view(), MissingPolicy::Error)?;
    println!("{} variables, {} rows, {} true edges", 36, data.rows(), truth.edge_count());

    let spg = Spg {
        penalty: Penalty::edges(0.06),
        coordinates: Coordinates::Spins,
        noise_threshold: true,
        chains: 10_000,
        ..Spg::default()
    };
    let sampled = spg.fit(&data)?;
    let last = sampled.trace.last().expect("a record an iteration");
    println!("likelihood: {}, {} sweeps in the last step", sampled.report, last.sweeps);
    let nodewise = NodewiseLogistic { l1: 0.04, ..NodewiseLogistic::default() }.fit(&data)?;
    let screening =
        InteractionScreening { l1: 0.04, ..InteractionScreening::default() }.fit(&data)?;

    println!("\n{:<22} {:>6} {:>8} {:>8} {:>8}", "method", "edges", "AUC", "missing", "extra");
    for (name, model) in
        [("likelihood, TAY", &sampled), ("node-wise logistic", &nodewise), ("logRISE", &screening)]
    {
        let scores = model.scores();
        let auc = metrics::edge_auc(&truth, &scores)?.unwrap_or(f64::NAN);
        let labels = metrics::edge_labels(&truth);
        let missing = labels.iter().zip(&scores).filter(|(edge, s)| **edge && **s == 0.0).count();
        let extra = labels.iter().zip(&scores).filter(|(edge, s)| !**edge && **s != 0.0).count();
        println!("{name:<22} {:>6} {auc:>8.4} {missing:>8} {extra:>8}", model.edges().len());
    }
    // True edges are found where the grid is seen: the layout knows nothing of it.
    if let Some(path) = std::env::args().nth(1) {
        let names = (0..36).map(|v| format!("{},{}", v / 6, v % 6));
        std::fs::write(&path, sampled.network().named(names).svg())?;
        println!("\ndrawn to {path}");
    }
    Ok(())
}
