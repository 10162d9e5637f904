//! How likely is lung cancer for a smoker who is short of breath?
//!
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
use std::process::ExitCode;

use fenchel_examples::Show;
use fenchel_graphical::{BayesNet, Prior, bif, networks};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_optim::random::stream;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let asia = networks::asia();
    let (bif_file, csv_file, variable) = match show.arguments()[..] {
        [bif, csv, variable] => (PathBuf::from(bif), PathBuf::from(csv), variable),
        [] => {
            let (bif_file, csv_file) = (show.path("asia.bif"), show.path("asia.csv"));
            bif::write_file(&asia, &bif_file)?;
            asia.write_csv_file(asia.sample_many(5_000, &mut stream(1, 0))?.view(), &csv_file)?;
            show.generated(
                "5,000 records of the network of chest clinics (Lauritzen and Spiegelhalter, 1988)",
            );
            (bif_file, csv_file, "lung")
        }
        _ => return Err("expected FILE.bif FILE.csv VARIABLE, or nothing".into()),
    };

    let net = bif::read_file(&bif_file)?;
    println!("{}", net.query(&[variable], &[])?);

    // The same graph, its tables from counts; columns and states are found by name.
    let learned = net.fit_csv_file(&csv_file, Prior::Dirichlet(1.0))?;
    println!("P({variable}) by the file and by the records:\n{}", both(&net, &learned, variable)?);
    bif::write_file(&learned, show.path("learned.bif"))?;

    if show.arguments().is_empty() {
        let seen = [("smoke", "yes"), ("dysp", "yes")];
        let answer = net.query(&["lung"], &seen)?;
        println!("{answer}");
        let everybody = 100.0 * net.query(&["lung"], &[])?.probability(&["yes"])?;
        let smokers = 100.0 * answer.probability(&["yes"])?;
        let mut network = net.network_given(&seen)?;
        network.title = format!(
            "{smokers:.0} % of smokers who are short of breath have lung cancer, {everybody:.1} % of all people"
        );
        network.note =
            "The network asia of chest clinics. Bars: the probabilities of states.".into();
        show.picture("network", &network.svg())?;
        show.conclude(format_args!(
            "of all people {everybody:.1} % have lung cancer; of smokers who are short of breath {smokers:.1} %, or {:.1} % by the tables that were learned from records.",
            100.0 * learned.query(&["lung"], &seen)?.probability(&["yes"])?
        ));
    } else {
        show.conclude(format_args!(
            "the tables of the records are in {}.",
            show.path("learned.bif").display()
        ));
    }
    Ok(())
}

/// The marginals of a variable in two networks, a line for each state.
fn both(net: &BayesNet, learned: &BayesNet, variable: &str) -> Result<String, Box<dyn Error>> {
    let (one, two) = (net.query(&[variable], &[])?, learned.query(&[variable], &[])?);
    let mut rows = vec![vec![variable.to_owned(), "file".into(), "records".into()]];
    for state in net.states_of(net.variable(variable)?) {
        let cells = [one.probability(&[state])?, two.probability(&[state])?].map(|p| fixed(p, 4));
        rows.push(std::iter::once(state.clone()).chain(cells).collect());
    }
    Ok(aligned(&rows, 1))
}
