//! This program asks a Bayesian network three things: the distribution of every variable given the findings, the most probable
//! explanation of the findings, and two pictures: the network before and after the findings, and the junction tree of the computations.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example bayesian_network
//! cargo run --release -p fenchel-examples --example bayesian_network -- FILE.bif VARIABLE=STATE ...
//! ```

use std::error::Error;

use fenchel_graphical::{Evidence, JunctionTree, OrderingOptions, bif, networks};

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (net, findings) = match arguments.split_first() {
        Some((path, findings)) => (bif::read(fenchel_datasets::open(path)?)?, findings.to_vec()),
        // Somebody smokes, was in Asia and is short of breath.
        None => (networks::asia(), ["asia=yes", "smoke=yes", "dysp=yes"].map(String::from).into()),
    };
    let findings: Vec<(&str, &str)> = findings
        .iter()
        .map(|f| f.split_once('=').ok_or("VARIABLE=STATE"))
        .collect::<Result<_, _>>()?;
    let evidence = net.evidence(&findings)?;

    let before = net.posteriors(&Evidence::new())?;
    let after = net.posteriors(&evidence)?;
    let log_evidence = net.log_evidence(&evidence)?;
    let best = net.most_probable(&evidence)?;
    println!("P(evidence) = {:.6}", log_evidence.exp());
    println!("P(best explanation | evidence) = {:.6}\n", (best.log_joint - log_evidence).exp());
    println!("{:24} {:16} {:>8} {:>9}  best", "variable", "state", "before", "evidence");
    for v in net.variables() {
        for (s, state) in net.states_of(v).iter().enumerate() {
            let name = if s == 0 { net.name_of(v) } else { "" };
            let seen = if evidence.state(v) == Some(s) { " seen" } else { "" };
            let mark = if best.states[v.index()] == s { "*" } else { "" };
            let (p, q) = (before[v.index()][s], after[v.index()][s]);
            println!("{name:24} {state:16} {p:8.4} {q:9.4}  {mark}{seen}");
        }
    }

    let tree = JunctionTree::compile(&net.factor_graph()?, &OrderingOptions::default())?;
    let names: Vec<&str> = net.variables().map(|v| net.name_of(v)).collect();
    let tree = tree.network(&names)?;
    let folder = std::env::temp_dir();
    println!();
    for (file, text) in [
        ("network.svg", net.network_given(&evidence)?.svg()),
        ("junction_tree.svg", tree.svg()),
        ("junction_tree.dot", tree.dot()),
    ] {
        let path = folder.join(file);
        std::fs::write(&path, text)?;
        println!("{}", path.display());
    }
    Ok(())
}
