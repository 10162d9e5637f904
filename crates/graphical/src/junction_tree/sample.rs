//! Independent draws from a calibrated tree.

use rand::{Rng, RngExt};

use super::{Calibrated, JunctionTree, Node};

/// Cumulative conditional distributions of all cliques. They are computed once; a draw then takes one search per clique.
#[derive(Clone, Debug)]
pub struct Sampler<'a> {
    tree: &'a JunctionTree,
    /// Cumulative sums over the rest of every clique, for every cell of its separator.
    cumulative: Vec<f64>,
}

impl<'a> Calibrated<'a> {
    /// Draws a configuration from `P(x | evidence)`. It reads one column of the table of each clique.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
        let mut states = vec![0; self.tree.cards.len()];
        draw(self.tree, &mut states, |node, (column, columns)| {
            let table = &self.workspace.tables[node.table.clone()][column..];
            let probabilities = || table.iter().step_by(columns).map(|&x| self.probability(x));
            let mut rest = rng.random::<f64>() * probabilities().sum::<f64>();
            let mut last = 0;
            for (row, p) in probabilities().enumerate() {
                if p > 0.0 {
                    last = row;
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

    /// Prepares for many draws: tables of cumulative sums, as large as the cliques.
    pub fn sampler(&self) -> Sampler<'a> {
        let mut cumulative = Vec::with_capacity(self.workspace.tables.len());
        for node in &self.tree.nodes {
            let columns = node.parts().1.iter().map(|s| s.1).product();
            for column in 0..columns {
                let table = &self.workspace.tables[node.table.clone()][column..];
                let mut sum = 0.0;
                cumulative.extend(table.iter().step_by(columns).map(|&x| {
                    sum += self.probability(x);
                    sum
                }));
            }
        }
        Sampler { tree: self.tree, cumulative }
    }
}

impl Sampler<'_> {
    /// One draw.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
        let mut states = vec![0; self.tree.cards.len()];
        draw(self.tree, &mut states, |node, (column, columns)| {
            let rows = node.table.len() / columns;
            let sums = &self.cumulative[node.table.clone()][column * rows..][..rows];
            let total = sums[sums.len() - 1];
            let mark = rng.random::<f64>() * total;
            // The first cell whose sum exceeds the mark; rounding may leave none, then the last that adds something.
            let cell = sums.partition_point(|&s| s <= mark);
            if cell < sums.len() { cell } else { sums.partition_point(|&s| s < total) }
        });
        states
    }
}

/// Chooses the rows of all nodes from the roots downwards. `pick` receives a node, the column and the number of columns.
fn draw(
    tree: &JunctionTree,
    states: &mut [usize],
    mut pick: impl FnMut(&Node, (usize, usize)) -> usize,
) {
    for node in &tree.nodes {
        let row = pick(node, node.column(states));
        node.set(row, states);
    }
}
