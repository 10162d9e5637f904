//! Which proteins of a cell act on one another?
//!
//! This program estimates a network of interactions between 11 proteins from measurements of single cells. It chooses the penalty by
//! the extended Bayesian information criterion (EBIC), draws the network, and compares its strongest edges with those that biologists
//! agree on.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example sachs_network [-- DATA.csv] [--out DIR]
//! ```
//!
//! `DATA.csv` has one row per cell and one named column per protein (Sachs et al., Science 308, 2005). It may also be in the folder that
//! `FENCHEL_DATA` names, with the known edges beside it. Without it, the program uses samples of a chain.

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Kind, Network, Placement};
use fenchel_datasets::{TableOptions, table_file};
use fenchel_examples::Show;
use fenchel_ggm::path::grid;
use fenchel_ggm::{GraphicalLasso, PenaltyWeights, Statistics, sample, synthetic};
use fenchel_linalg::text::{aligned, fixed, number};
use fenchel_linalg::{Named, Names};
use fenchel_optim::random::stream;
use ndarray::Array1;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let (Named { x, names }, known) = match show.files_of("sachs") {
        Some(files) => {
            let x = table_file(&files[0], &TableOptions::default())?.design()?;
            show.real(format_args!(
                "{} proteins in {} cells (Sachs et al., 2005)",
                x.ncols(),
                x.nrows()
            ));
            let mut known = Vec::new();
            if let Some(file) = files.get(1) {
                let edges = table_file(file, &TableOptions::default())?;
                let ends = edges.texts("Cause")?.into_iter().zip(edges.texts("Effect")?);
                let node = |name: &str| x.names.find(name).ok_or(format!("no column {name:?}"));
                for (a, b) in ends {
                    let (a, b) = (node(&a)?, node(&b)?);
                    known.push((a.min(b), a.max(b)));
                }
            }
            (x, known)
        }
        None => {
            show.generated("500 samples of a chain of 11 variables");
            let chain = synthetic::chain(11);
            let truth = synthetic::diagonally_dominant(11, &chain, -0.4);
            let x = sample(truth.view(), &Array1::zeros(11), 500, &mut stream(1, 0))?;
            let known = chain.iter().map(|&(i, j)| (i as usize, j as usize)).collect();
            (Named { x, names: Names::NONE }, known)
        }
    };
    // Concentrations are positive and skewed: their logarithms are closer to normal.
    let x = if x.iter().all(|v| *v > 0.0) { x.mapv(f64::ln) } else { x };
    let x = Named { x, names };

    let statistics = Statistics::from_data(&x)?;
    let lasso = GraphicalLasso { l1: PenaltyWeights::Uniform(1.0), ..GraphicalLasso::default() };
    let path = lasso.fit_path(&statistics, &grid(0.9, 0.001, 30)?)?;
    let mut table = vec![["penalty", "edges", "EBIC", "gap"].map(String::from).to_vec()];
    for point in &path.points {
        let (edges, gap) = (point.edges().to_string(), point.report.certificate.value());
        let ebic = fixed(point.ebic(path.samples, 0.5), 1);
        table.push(vec![number(point.l1, 3), edges, ebic, number(gap, 2)]);
    }
    print!("{}", aligned(&table, 0));
    if let Some(warning) = path.ebic_warning(0.5)? {
        println!("{warning}");
    }
    let model = path.ebic_model(0.5)?;
    // Below a hundredth a partial correlation is none that matters.
    let edges: Vec<_> = model.edges().into_iter().filter(|e| e.2.abs() >= 0.01).collect();
    let head = ["at the least EBIC", "partial correlation", "known"];
    let mut table = vec![head.map(String::from).to_vec()];
    for &(i, j, r) in &edges {
        let pair = format!("{} - {}", model.names.of(i), model.names.of(j));
        let mark = if known.contains(&(i.min(j), i.max(j))) { "known" } else { "" };
        table.push(vec![pair, fixed(r, 2), mark.to_owned()]);
    }
    println!("\n{}", aligned(&table, 1));
    show.picture("choice", &path.svg(0.5)?)?;
    show.picture("network", &model.network().placed(Placement::Circle).svg())?;
    show.picture("matrix", &model.heat_map().svg())?;
    let pairs = edges.iter().map(|&(i, j, _)| (i, j));
    let names = (0..model.variables()).map(|i| model.names.of(i).into_owned());
    let beside = Network::new("Estimated edges beside the known ones", names)
        .edges(Kind::Line, pairs)
        .beside(known.iter().copied())
        .placed(Placement::Circle);
    show.picture("known", &beside.svg())?;
    let strongest = &edges[..known.len().min(edges.len())];
    let found =
        strongest.iter().filter(|&&(i, j, _)| known.contains(&(i.min(j), i.max(j)))).count();
    show.conclude(format_args!(
        "{} pairs have a partial correlation of at least 0.01; of the {} strongest, {found} are among the {} known edges.",
        edges.len(),
        strongest.len(),
        known.len()
    ));
    Ok(())
}
