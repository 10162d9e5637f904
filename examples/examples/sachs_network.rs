//! Which proteins of a cell act on one another?
//!
//! This program estimates a network of interactions between 11 proteins from measurements of single cells, draws it, and compares its
//! edges with those that biologists agree on.
//!
//! The penalty is chosen by stability (StARS): at it and above, subsamples of the cells agree on the graph. The usual criterion, EBIC, asks
//! whether an edge is zero. With thousands of cells from several experiments hardly any is, and the network of nearly all pairs says
//! nothing.
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
use fenchel_ggm::select::{StarsSettings, stars};
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

    let stars = stars(&x.x, &StarsSettings::default())?;
    let lasso = GraphicalLasso { l1: PenaltyWeights::Uniform(1.0), ..GraphicalLasso::default() };
    let path = lasso.fit_path(&Statistics::from_data(&x)?, &stars.penalties)?;
    let mut table =
        vec![["penalty", "edges", "instability", "EBIC", "gap"].map(String::from).to_vec()];
    for (point, instability) in path.points.iter().zip(&stars.instability) {
        let (edges, gap) = (point.edges().to_string(), point.report.certificate.value());
        let ebic = fixed(point.ebic(path.samples, 0.5), 1);
        table.push(vec![number(point.l1, 3), edges, fixed(*instability, 3), ebic, number(gap, 2)]);
    }
    print!("{}", aligned(&table, 0));
    let by_ebic = path.ebic(0.5)?.edges();
    let chosen = path.points.iter().find(|point| point.l1 == stars.l1);
    let model = chosen.ok_or("no penalty of the path was chosen")?.model(&path)?;
    let edges = model.edges();
    let head = ["stable", "partial correlation", "known"];
    let mut table = vec![head.map(String::from).to_vec()];
    for &(i, j, r) in &edges {
        let pair = format!("{} - {}", model.names.of(i), model.names.of(j));
        let mark = if known.contains(&(i.min(j), i.max(j))) { "known" } else { "" };
        table.push(vec![pair, fixed(r, 2), mark.to_owned()]);
    }
    print!("\n{}", aligned(&table, 1));
    show.picture("network", &model.network().placed(Placement::Circle).svg())?;
    show.picture("choice", &stars.svg())?;
    let mut map = model.heat_map();
    if let Some((i, j, _)) = edges.iter().max_by(|a, b| a.2.abs().total_cmp(&b.2.abs())) {
        let (a, b) = (model.names.of(*i), model.names.of(*j));
        map.title = format!("{a} and {b} depend on each other most, given the other variables");
    }
    let (variables, rows) = (model.variables(), path.samples);
    map.note = format!(
        "Partial correlations of {variables} variables in {rows} rows. Those that belong together are neighbours."
    );
    show.picture("matrix", &map.svg())?;
    let pairs = edges.iter().map(|&(i, j, _)| (i, j));
    let names = (0..model.variables()).map(|i| model.names.of(i).into_owned());
    let beside = Network::new("Estimated edges beside the known ones", names)
        .edges(Kind::Line, pairs)
        .beside(known.iter().copied())
        .placed(Placement::Circle);
    show.picture("known", &beside.svg())?;
    let found = edges.iter().filter(|&&(i, j, _)| known.contains(&(i.min(j), i.max(j)))).count();
    let pairs = model.variables() * (model.variables() - 1) / 2;
    let chance = edges.len() as f64 * known.len() as f64 / pairs as f64;
    show.conclude(format_args!(
        "subsamples agree on {} of {pairs} pairs (EBIC keeps {by_ebic}); {found} of them are among the {} known edges, where chance would find {}.",
        edges.len(),
        known.len(),
        number(chance, 2)
    ));
    Ok(())
}
