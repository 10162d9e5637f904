//! Can the bonds of a grid be found from samples of its spins?
//!
//! This program learns an Ising grid from samples with three methods, and counts the edges that each method finds. The picture shows
//! the network of the first: its layout knows nothing of the grid.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example ising_grid_learning [-- --out DIR]
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_examples::Show;
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_mrf_learn::{
    Coordinates, Data, InteractionScreening, MissingPolicy, NodewiseLogistic, Penalty, Spg,
    metrics, synthetic,
};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated("4,000 samples of a 6 x 6 grid of spins, neighbours coupled by 0.3");
    let truth = synthetic::ising_grid(6, 0.3)?;
    let (start, scan) = (BinaryStart::Random, Order::Cyclic);
    let mut chains = BinaryGibbs::new(&truth, 4000, start, scan, 1)?;
    chains.sweep(500);
    let data = Data::binary(chains.samples().view(), MissingPolicy::Error)?;

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

    let head = ["method", "edges", "AUC", "missing", "extra"];
    let mut table = vec![head.map(String::from).to_vec()];
    let mut wrong = Vec::new();
    for (name, model) in
        [("likelihood, TAY", &sampled), ("node-wise logistic", &nodewise), ("logRISE", &screening)]
    {
        let scores = model.scores();
        let auc = metrics::edge_auc(&truth, &scores)?.unwrap_or(f64::NAN);
        let labels = metrics::edge_labels(&truth);
        let missing = labels.iter().zip(&scores).filter(|(edge, s)| **edge && **s == 0.0).count();
        let extra = labels.iter().zip(&scores).filter(|(edge, s)| !**edge && **s != 0.0).count();
        let counts = [missing, extra].map(|count| count.to_string());
        let cells = [name.to_owned(), model.edges().len().to_string(), fixed(auc, 4)];
        table.push(cells.into_iter().chain(counts).collect());
        wrong.push(missing + extra);
    }
    print!("\n{}", aligned(&table, 1));
    let names = (0..36).map(|v| format!("{},{}", v / 6, v % 6));
    show.picture("network", &sampled.network().named(names).svg())?;
    show.conclude(format_args!(
        "of 630 pairs, {} of them true edges, the likelihood has {} wrong, node-wise regression {} and screening {}.",
        truth.edge_count(), wrong[0], wrong[1], wrong[2]
    ));
    Ok(())
}
