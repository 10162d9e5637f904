//! What does a network believe after somebody tells it three facts?
//!
//! This program asks a Bayesian network three things: the distribution of every variable given the findings, the most probable
//! explanation of the findings, and a picture of the junction tree that is used for the computations.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example bayesian_network
//! cargo run --release -p fenchel-examples --example bayesian_network -- FILE.bif VARIABLE=STATE ...
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_examples::Show;
use fenchel_graphical::graph::Labels;
use fenchel_graphical::{BayesNet, Evidence, Graph, JunctionTree, OrderingOptions, bif, networks};
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
    show.picture("junction_tree", &picture(&net, &tree))?;
    let dot = show.path("junction_tree.dot");
    let labels: Vec<String> = tree.cliques().map(|c| names(&net, &c).join("\n")).collect();
    let parents = tree.separators().enumerate().filter(|(c, (_, parent))| c != parent);
    let edges: Vec<(u32, u32)> = parents.map(|(c, (_, p))| (c as u32, p as u32)).collect();
    Graph::new(labels.len(), edges)?
        .write_dot(Labels { nodes: &labels, weights: &[] }, std::fs::File::create(&dot)?)?;
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

fn names<'a>(net: &'a BayesNet, scope: &[fenchel_graphical::VarId]) -> Vec<&'a str> {
    scope.iter().map(|&v| net.name_of(v)).collect()
}

/// Roots on the left, children to their right; leaves stand below one another, parents in the middle of
/// their children. Cliques are boxes, separators are written on the edges.
fn picture(net: &BayesNet, tree: &JunctionTree) -> String {
    const LINE: f64 = 15.0;
    let cliques: Vec<Vec<&str>> = tree.cliques().map(|c| names(net, &c)).collect();
    let separators: Vec<_> = tree.separators().collect();
    let n = cliques.len();
    let longest = net.variables().map(|v| net.name_of(v).chars().count()).max().unwrap_or(0);
    let width = 7.5 * longest as f64 + 16.0;
    let column = 2.0 * width + 20.0;

    // Parents come before children in the list, so one walk back places children first.
    let mut depth = vec![0.0; n];
    let mut children = vec![Vec::new(); n];
    let mut roots = Vec::new();
    for (c, &(_, parent)) in separators.iter().enumerate() {
        if parent == c {
            roots.push(c);
        } else {
            depth[c] = depth[parent] + 1.0;
            children[parent].push(c);
        }
    }
    let height = |c: usize| LINE * cliques[c].len() as f64 + 10.0;
    let mut order = Vec::new();
    let mut stack: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(c) = stack.pop() {
        order.push(c);
        stack.extend(children[c].iter().rev());
    }
    // A clique takes the rows of its leaves, or its own height if that is more.
    let mut need: Vec<f64> = (0..n).map(|c| height(c) + 14.0).collect();
    for &c in order.iter().rev() {
        need[c] = need[c].max(children[c].iter().map(|&child| need[child]).sum());
    }
    let mut top = vec![0.0; n];
    let mut bottom = 10.0;
    for &c in &order {
        let (_, parent) = separators[c];
        if parent == c {
            top[c] = bottom;
            bottom += need[c];
        }
        let mut next = top[c];
        for &child in &children[c] {
            top[child] = next;
            next += need[child];
        }
    }
    let x = |c: usize| 10.0 + depth[c] * column;
    let y = |c: usize| top[c] + need[c] / 2.0;

    let right = (0..n).map(|c| x(c) + width + 10.0).fold(0.0, f64::max);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{right}\" height=\"{bottom}\" \
         font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut write = |line: String| svg.push_str(&line);
    for (c, (shared, parent)) in separators.iter().enumerate().filter(|(c, (_, p))| c != p) {
        let (x1, y1, x2, y2) = (x(*parent) + width, y(*parent), x(c), y(c));
        write(format!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#888888\"/>\n"
        ));
        let names = names(net, shared);
        for (i, name) in names.iter().enumerate() {
            let (x, y) = (x1 + 0.6 * (x2 - x1), y1 + 0.6 * (y2 - y1));
            let y = y + LINE * (i as f64 - names.len() as f64 / 2.0 + 0.8);
            let halo = "stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\"";
            write(format!(
                "<text x=\"{x}\" y=\"{y}\" fill=\"#1f5fa8\" {halo}>{}</text>\n",
                escaped(name)
            ));
        }
    }
    for (c, members) in cliques.iter().enumerate() {
        let (x, y, h) = (x(c), y(c) - height(c) / 2.0, height(c));
        let style = "rx=\"6\" fill=\"#eef3fa\" stroke=\"#1f5fa8\"";
        write(format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{h}\" {style}/>\n"));
        for (i, name) in members.iter().enumerate() {
            let (x, y) = (x + width / 2.0, y + 5.0 + LINE * (i as f64 + 0.75));
            write(format!("<text x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(name)));
        }
    }
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
