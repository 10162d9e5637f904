//! This program trains a conditional random field on random trees. It prints a bound on the distance of the objective from its optimum,
//! and compares the errors of the model with those of a model without edges.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example labelled_trees
//! ```
//!
//! A node has the label of its parent with probability 3/4. Its observation shows its label with probability 2/3.

use std::error::Error;

use fenchel_crf::{CliqueTemplate, GraphCrf, GraphDataset, GraphInstance};
use fenchel_optim::random::stream;
use rand::{Rng, RngExt};

const LABELS: usize = 3;
const SIZE: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    for (name, with_edges) in [("nodes and edges", true), ("nodes alone", false)] {
        let (train, test) = (data(400, with_edges, 0)?, data(400, with_edges, 1)?);
        let model = GraphCrf::default().fit(&train)?;
        println!("{name}: {}", model.report.ok_or("trained here")?);
        let mut right = 0;
        for (tree, truth) in test.iter() {
            let likely = |p: &Vec<f64>, y: usize| p.iter().all(|other| *other <= p[y]);
            right += model.marginals(tree)?.iter().zip(truth).filter(|m| likely(m.0, *m.1)).count();
        }
        println!("  {:.1} % of all labels are right", (100 * right) as f64 / (400 * SIZE) as f64);
    }
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
