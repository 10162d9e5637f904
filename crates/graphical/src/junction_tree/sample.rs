//! Independent draws from a calibrated tree.

use rand::{Rng, RngExt};

use super::{Calibrated, JunctionTree, Node};

/// Cumulative rows of all cliques: made once, a draw then takes a search in each.
#[derive(Clone, Debug)]
pub struct Sampler<'a> {
    tree: &'a JunctionTree,
    /// In every row of every clique, the running sums.
    cumulative: Vec<f64>,
}

impl<'a> Calibrated<'a> {
    /// One draw from `P(x | evidence)`. Cost: the rows read, one of each clique.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
        let mut states = vec![0; self.tree.cards.len()];
        draw(self.tree, &mut states, |row, k| {
            let table = &self.workspace.tables[self.tree.nodes[k].table.clone()][row];
            let total: f64 = table.iter().map(|&x| self.probability(x)).sum();
            let mut rest = rng.random::<f64>() * total;
            let mut last = 0;
            for (cell, &x) in table.iter().enumerate() {
                let p = self.probability(x);
                if p > 0.0 {
                    last = cell;
                    if rest < p {
                        break;
                    }
                    rest -= p;
                }
            }
            last
        });
        states
    }

    /// Tables of running sums for many draws: as large as the cliques.
    pub fn sampler(&self) -> Sampler<'a> {
        let mut cumulative: Vec<f64> =
            self.workspace.tables.iter().map(|&x| self.probability(x)).collect();
        for node in &self.tree.nodes {
            let width = row_width(node);
            for row in cumulative[node.table.clone()].chunks_exact_mut(width) {
                let mut sum = 0.0;
                for cell in row {
                    sum += *cell;
                    *cell = sum;
                }
            }
        }
        Sampler { tree: self.tree, cumulative }
    }
}

impl Sampler<'_> {
    /// One draw.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
        let mut states = vec![0; self.tree.cards.len()];
        draw(self.tree, &mut states, |row, k| {
            let sums = &self.cumulative[self.tree.nodes[k].table.clone()][row];
            let total = sums[sums.len() - 1];
            let mark = rng.random::<f64>() * total;
            // The first cell whose sum exceeds the mark; rounding may leave none, then the last that adds something.
            let cell = sums.partition_point(|&s| s <= mark);
            if cell < sums.len() { cell } else { sums.partition_point(|&s| s < total) }
        });
        states
    }
}

/// From the roots down: `pick` chooses a cell of the row of a node.
fn draw(
    tree: &JunctionTree,
    states: &mut [usize],
    mut pick: impl FnMut(std::ops::Range<usize>, usize) -> usize,
) {
    for (k, node) in tree.nodes.iter().enumerate() {
        let (shared, own) = node.scope.split_at(node.shared);
        let row = shared.iter().fold(0, |at, (v, card)| at * card + states[v.index()]);
        let width = row_width(node);
        let mut cell = pick(row * width..(row + 1) * width, k);
        for &(v, card) in own.iter().rev() {
            states[v.index()] = cell % card;
            cell /= card;
        }
    }
}

fn row_width(node: &Node) -> usize {
    node.scope[node.shared..].iter().map(|s| s.1).product()
}
