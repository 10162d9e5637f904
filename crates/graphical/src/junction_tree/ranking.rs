//! The k most probable configurations, one after the other.
//!
//! In a tree that is calibrated for maxima, the difference of the score of a configuration to the best score is
//!
//! ```text
//! best - score(x) = sum over cliques C of  max over the rest of C of table_C( . , x_S) - table_C(x_C)     >= 0
//! ```
//!
//! Each term is the loss of one clique: the loss of its own variables given its separator `S`. Whatever the states of the
//! cliques nearer to the root, the remaining cliques can be chosen without loss. So an exact best-first search ranks the
//! configurations. It takes the candidate with the least loss, completes it without further loss, and adds new candidates in
//! which one later clique takes its next best row.
//!
//! Sources: Nilsson, "An efficient algorithm for finding the M most probable configurations in probabilistic expert systems",
//! Statistics and Computing 8 (1998); Lawler (1972) for the partition of the configurations.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::{MaxCalibrated, Node};

/// Configurations with their scores, best first: see [`MaxCalibrated::ranking`].
#[derive(Debug)]
pub struct Ranking<'a> {
    calibrated: &'a MaxCalibrated<'a>,
    waiting: BinaryHeap<Candidate>,
    /// Number of candidates made so far. Of two equal candidates the earlier one is taken first.
    made: u64,
}

/// A subset of the configurations, with the loss of the best one in it.
#[derive(Debug)]
struct Candidate {
    loss: f64,
    number: u64,
    /// The rows of an earlier configuration, which this one has in common up to `node`. It is empty for the first
    /// configuration.
    follows: Rc<[u32]>,
    node: usize,
    /// The row at `node`, and the loss there.
    row: u32,
    own: f64,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    /// The heap returns the largest element: the one with the least loss, and of equal ones the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.loss.total_cmp(&self.loss).then(other.number.cmp(&self.number))
    }
}

impl MaxCalibrated<'_> {
    /// An iterator over all configurations of positive probability with their scores, best first. Use `take(k)` for the k best.
    /// The first one is [`map`](Self::map).
    ///
    /// The scores are exact up to the rounding of the calibration, and never increase. The order of configurations with equal
    /// scores is fixed by the tree and has no meaning. If scores are equal up to rounding, either configuration may come first.
    ///
    /// Each configuration costs one column of the table of each clique. The memory is proportional to the number of
    /// configurations taken times the number of cliques.
    ///
    /// ```
    /// use fenchel_graphical::{Evidence, FactorGraph, JunctionTree, OrderingOptions, VarId};
    ///
    /// let mut model = FactorGraph::new(&[2, 2])?;
    /// model.add(&[VarId(0), VarId(1)], &[0.0, 3.0, 2.0, f64::NEG_INFINITY])?;
    /// let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
    /// let mut workspace = tree.workspace();
    /// let calibrated = tree.calibrate_max(&model, &Evidence::new(), &mut workspace)?;
    /// let ranked: Vec<_> = calibrated.ranking().collect();
    /// assert_eq!(ranked, [(3.0, vec![0, 1]), (2.0, vec![1, 0]), (0.0, vec![0, 0])]);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    pub fn ranking(&self) -> Ranking<'_> {
        let mut ranking = Ranking { calibrated: self, waiting: BinaryHeap::new(), made: 0 };
        let Some(first) = self.tree.nodes.first() else {
            // A model without variables has one configuration.
            if self.best_score() > f64::NEG_INFINITY {
                ranking.push(Candidate::first(0));
            }
            return ranking;
        };
        if let Some((row, _)) = self.next_row(first, (0, 1), None) {
            ranking.push(Candidate::first(row));
        }
        ranking
    }

    /// The next best row of a column after the given one, and its loss relative to the best row. Equal rows come in their
    /// order.
    fn next_row(
        &self,
        node: &Node,
        (column, columns): (usize, usize),
        after: Option<u32>,
    ) -> Option<(u32, f64)> {
        let table = &self.workspace.tables[node.table.clone()][column..];
        let rows = || table.iter().step_by(columns).copied().zip(0_u32..);
        let top = rows().map(|(value, _)| value).fold(f64::NEG_INFINITY, f64::max);
        let limit = after.map(|row| (table[row as usize * columns], row));
        let later = |&(value, row): &(f64, u32)| match limit {
            None => true,
            Some((bound, last)) => value < bound || (value == bound && row > last),
        };
        let mut best: Option<(f64, u32)> = None;
        for (value, row) in rows().filter(later) {
            if value > best.map_or(f64::NEG_INFINITY, |best| best.0) {
                best = Some((value, row));
            }
        }
        best.map(|(value, row)| (row, top - value))
    }
}

impl Candidate {
    fn first(row: u32) -> Self {
        Candidate { loss: 0.0, number: 0, follows: Rc::new([]), node: 0, row, own: 0.0 }
    }
}

impl Ranking<'_> {
    fn push(&mut self, mut candidate: Candidate) {
        candidate.number = self.made;
        self.made += 1;
        self.waiting.push(candidate);
    }
}

impl Iterator for Ranking<'_> {
    type Item = (f64, Vec<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let Candidate { loss, follows, node: start, row, own, .. } = self.waiting.pop()?;
        let calibrated = self.calibrated;
        let nodes = &calibrated.tree.nodes;
        let mut states = vec![0; calibrated.tree.cards.len()];
        let mut rows: Vec<u32> = Vec::with_capacity(nodes.len());
        // The parts that split off, each to follow this configuration up to its node.
        let mut split = Vec::new();
        for (k, node) in nodes.iter().enumerate() {
            let at = node.column(&states);
            let chosen = match k.cmp(&start) {
                Ordering::Less => follows[k],
                Ordering::Equal => row,
                // There is a best row: its column is that of a configuration of positive probability.
                Ordering::Greater => calibrated.next_row(node, at, None).map_or(0, |best| best.0),
            };
            if k >= start {
                let before = if k == start { own } else { 0.0 };
                if let Some((next, lost)) = calibrated.next_row(node, at, Some(chosen)) {
                    // Never below the loss of what it follows, whatever rounding does.
                    split.push((k, next, lost, loss + (lost - before).max(0.0)));
                }
            }
            node.set(chosen as usize, &mut states);
            rows.push(chosen);
        }
        let follows: Rc<[u32]> = rows.into();
        for (node, row, own, loss) in split {
            let follows = Rc::clone(&follows);
            self.push(Candidate { loss, number: 0, follows, node, row, own });
        }
        Some((calibrated.best_score() - loss, states))
    }
}
