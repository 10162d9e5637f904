//! This program reads a Bayesian network from a BIF file and answers a question about one variable. Then it learns the tables of the
//! network again from a CSV file with names of states. All variables and states are given by name.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example ask_a_network [-- FILE.bif FILE.csv VARIABLE]
//! ```
//!
//! Without files it writes the network of chest clinics and 5,000 records of it to temporary files.

use std::error::Error;
use std::path::PathBuf;

use fenchel_graphical::{Prior, bif, networks};
use fenchel_optim::random::stream;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let folder = tempfile::tempdir()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (bif_file, csv_file, variable) = match &arguments[..] {
        [bif, csv, variable] => (PathBuf::from(bif), PathBuf::from(csv), variable.as_str()),
        _ => {
            let (bif_file, csv_file) =
                (folder.path().join("asia.bif"), folder.path().join("asia.csv"));
            let asia = networks::asia();
            bif::write_file(&asia, &bif_file)?;
            asia.write_csv_file(asia.sample_many(5_000, &mut stream(1, 0)).view(), &csv_file)?;
            (bif_file, csv_file, "lung")
        }
    };

    let net = bif::read_file(&bif_file)?;
    println!("{}", net.query(&[variable], &[])?);
    if arguments.is_empty() {
        let answer = net.query(&["lung"], &[("smoke", "yes"), ("dysp", "yes")])?;
        println!("{answer}");
        println!("lung = yes with {:.3}\n", answer.probability(&["yes"])?);
    }

    // The same graph, its tables from counts; columns and states are found by name.
    let learned = net.fit_csv_file(&csv_file, Prior::Dirichlet(1.0))?;
    println!("in the file:\n{}", net.cpt_text(variable)?);
    println!("from the records:\n{}", learned.cpt_text(variable)?);
    bif::write_file(&learned, folder.path().join("learned.bif"))?;
    Ok(())
}
