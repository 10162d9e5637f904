//! How much do neighbours in a tree tell about a label?
//!
//! This program trains a conditional random field on random trees. It prints a bound on the distance of the objective from its optimum,
//! and compares the errors of the model with those of a model without edges.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example labelled_trees
//! ```
//!
//! A node has the label of its parent with probability 3/4. Its observation shows its label with probability 2/3.

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_crf::{CliqueTemplate, GraphCrf, GraphDataset, GraphInstance};
use fenchel_examples::Show;
use fenchel_optim::random::stream;
use rand::{Rng, RngExt};

const LABELS: usize = 3;
const SIZE: usize = 12;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated(format_args!(
        "800 trees of {SIZE} nodes with {LABELS} labels, half of them to train"
    ));
    let mut shares = Vec::new();
    for (name, with_edges) in [("nodes and edges", true), ("nodes alone", false)] {
        let (train, test) = (data(400, with_edges, 0)?, data(400, with_edges, 1)?);
        let model = GraphCrf::default().fit(&train)?;
        println!("{name}: {}", model.report.ok_or("trained here")?);
        let mut right = 0;
        for (tree, truth) in test.iter() {
            let likely = |p: &Vec<f64>, y: usize| p.iter().all(|other| *other <= p[y]);
            right += model.marginals(tree)?.iter().zip(truth).filter(|m| likely(m.0, *m.1)).count();
        }
        let share = (100 * right) as f64 / (400 * SIZE) as f64;
        println!("  {share:.1} % of all labels are right");
        shares.push(share);
    }
    let x = Axis::of_names("", ["nodes and edges", "nodes alone"]);
    let title = format!(
        "Edges between labels: {:.0} % of the labels are right with them, {:.0} % without",
        shares[0], shares[1]
    );
    let y = Axis::linear("right labels, per cent").limits(0.0, 100.0);
    let figure = Figure::new(title, x, y).note(format!(
        "Conditional random fields with features of nodes and edges, or of nodes alone: learned from 400 generated trees of {SIZE} nodes, and scored on 400 others."
    ));
    let bars = Series::bars("", shares.iter().copied());
    show.picture("right", &figure.with(bars).svg())?;
    show.conclude(format_args!(
        "with the edges {:.1} % of the labels are right, without them {:.1} %.",
        shares[0], shares[1]
    ));
    Ok(())
}

/// Trees with a template of nodes, one attribute a shown label, and one of edges from a parent to a child.
fn data(count: usize, with_edges: bool, seed: u64) -> Result<GraphDataset, Box<dyn Error>> {
    let mut rng = stream(seed, 0);
    let edge = CliqueTemplate::new(&[LABELS, LABELS], 1);
    let mut data = GraphDataset::new(vec![CliqueTemplate::new(&[LABELS], LABELS), edge])?;
    for _ in 0..count {
        let mut tree = GraphInstance::new(&[LABELS; SIZE]);
        let mut labels = vec![rng.random_range(0..LABELS)];
        for child in 1..SIZE {
            let parent = rng.random_range(0..child);
            labels.push(noisy(labels[parent], 0.75, &mut rng));
            if with_edges {
                tree.clique(1, &[parent, child], &[(0, 1.0)]);
            }
        }
        for (v, &label) in labels.iter().enumerate() {
            tree.clique(0, &[v], &[(noisy(label, 2.0 / 3.0, &mut rng) as u32, 1.0)]);
        }
        data.push(tree, &labels)?;
    }
    Ok(data)
}

fn noisy(label: usize, kept: f64, rng: &mut impl Rng) -> usize {
    if rng.random_bool(kept) { label } else { (label + rng.random_range(1..LABELS)) % LABELS }
}
