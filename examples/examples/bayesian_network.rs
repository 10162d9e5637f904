//! What does a network believe after somebody tells it three facts?
//!
//! This program asks a Bayesian network three things: the distribution of every variable given the findings, the most probable
//! explanation of the findings, and two pictures: the network before and after the findings, and the junction tree of the computations.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example bayesian_network
//! cargo run --release -p fenchel-examples --example bayesian_network -- FILE.bif VARIABLE=STATE ...
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_examples::Show;
use fenchel_graphical::{Evidence, JunctionTree, OrderingOptions, bif, networks};
use fenchel_linalg::text::{aligned, fixed, number};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let arguments = show.arguments();
    let (net, findings) = match arguments.split_first() {
        Some((path, findings)) => {
            show.real(format_args!("the network of {path}"));
            (bif::read(fenchel_datasets::open(path)?)?, findings.to_vec())
        }
        // Somebody smokes, was in Asia and is short of breath.
        None => {
            show.real("the network of chest clinics (Lauritzen and Spiegelhalter, 1988)");
            (networks::asia(), vec!["asia=yes", "smoke=yes", "dysp=yes"])
        }
    };
    let findings: Vec<(&str, &str)> = findings
        .iter()
        .map(|f| f.split_once('=').ok_or_else(|| format!("{f:?}: expected VARIABLE=STATE")))
        .collect::<Result<_, _>>()?;
    let evidence = net.evidence(&findings)?;

    let before = net.posteriors(&Evidence::new())?;
    let after = net.posteriors(&evidence)?;
    let log_evidence = net.log_evidence(&evidence)?;
    let best = net.most_probable(&evidence)?;
    let explains = (best.log_joint - log_evidence).exp();
    println!("P(findings) = {}", number(log_evidence.exp(), 4));
    println!("P(best explanation | findings) = {}\n", number(explains, 4));
    let head = ["variable", "state", "before", "after", "", ""];
    let mut table = vec![head.map(String::from).to_vec()];
    // The variable that learnt most: the state whose probability rose most.
    let (mut risen, mut most) = (String::new(), 0.0);
    for v in net.variables() {
        for (s, state) in net.states_of(v).iter().enumerate() {
            let name = if s == 0 { net.name_of(v) } else { "" };
            let seen = if evidence.state(v) == Some(s) { "seen" } else { "" };
            let best = if best.states[v.index()] == s { "best" } else { "" };
            let (p, q) = (before[v.index()][s], after[v.index()][s]);
            if evidence.state(v).is_none() && q - p > most {
                let name = net.name_of(v);
                risen = format!("{name} = {state} rises from {p:.3} to {q:.3}");
                most = q - p;
            }
            let words = [name, state, &fixed(p, 4), &fixed(q, 4), best, seen];
            table.push(words.map(String::from).to_vec());
        }
    }
    print!("{}", aligned(&table, 2));

    let tree = JunctionTree::compile(&net.factor_graph()?, &OrderingOptions::default())?;
    println!();
    let names: Vec<&str> = net.variables().map(|v| net.name_of(v)).collect();
    let tree = tree.network(&names)?;
    show.picture("network", &net.network_given(&evidence)?.svg())?;
    show.picture("junction_tree", &tree.svg())?;
    std::fs::write(show.path("junction_tree.dot"), tree.dot())?;
    let facts = match findings.len() {
        0 => "without findings nothing changes".to_owned(),
        _ if risen.is_empty() => "the findings change nothing".to_owned(),
        count => {
            format!("of all that was not among the {count} findings, they change most that {risen}")
        }
    };
    show.conclude(format_args!(
        "{facts}; the best explanation has the probability {}.",
        number(explains, 2)
    ));
    Ok(())
}
