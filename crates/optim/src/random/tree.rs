//! A binary tree over weights that change.

use std::fmt::Debug;
use std::marker::PhantomData;

use fenchel_linalg::Invalid;

/// How the value of a node follows from its two children.
pub(super) trait Join: Debug + Clone {
    /// The value of a leaf without a weight.
    const NONE: f64;

    fn join(left: f64, right: f64) -> f64;
}

/// A tree with weights at the leaves and joined values in all other nodes. Setting a weight costs O(log k).
#[derive(Debug, Clone)]
pub(super) struct Tree<J> {
    /// Node 1 is the root, node `i` has children `2i` and `2i + 1`; the leaves start at `leaves`.
    nodes: Vec<f64>,
    leaves: usize,
    len: usize,
    join: PhantomData<J>,
}

impl<J: Join> Tree<J> {
    /// Builds a tree of at least one weight, each finite and `>= 0`. O(k).
    pub(super) fn new(weights: &[f64]) -> Result<Self, Invalid> {
        if weights.is_empty() {
            return Err(Invalid::Empty { what: "weights" });
        }
        Invalid::check_weights("weights", weights.len(), weights.iter())?;
        let leaves = weights.len().next_power_of_two();
        let mut nodes = vec![J::NONE; 2 * leaves];
        nodes[leaves..leaves + weights.len()].copy_from_slice(weights);
        for i in (1..leaves).rev() {
            nodes[i] = J::join(nodes[2 * i], nodes[2 * i + 1]);
        }
        Ok(Tree { nodes, leaves, len: weights.len(), join: PhantomData })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, i: usize) -> f64 {
        self.nodes[self.leaves + i]
    }

    pub(super) fn root(&self) -> f64 {
        self.nodes[1]
    }

    /// Changes one weight, which must be finite and `>= 0`. The nodes above it are computed anew, so that no rounding error
    /// accumulates.
    ///
    /// # Panics
    /// If there is no weight `i`.
    pub(super) fn set(&mut self, i: usize, weight: f64) -> Result<(), Invalid> {
        assert!(i < self.len, "index {i} of {} weights", self.len);
        Invalid::check_nonnegative("weight", weight)?;
        let mut node = self.leaves + i;
        self.nodes[node] = weight;
        while node > 1 {
            node /= 2;
            self.nodes[node] = J::join(self.nodes[2 * node], self.nodes[2 * node + 1]);
        }
        Ok(())
    }

    /// Walks from the root to a leaf. At each node `right` receives the values of both children, and decides whether to turn
    /// right.
    #[inline]
    pub(super) fn walk(&self, mut right: impl FnMut(f64, f64) -> bool) -> usize {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if right(self.nodes[node], self.nodes[node + 1]) {
                node += 1;
            }
        }
        node - self.leaves
    }
}
