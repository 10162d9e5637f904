//! The largest of weights that change.

use fenchel_linalg::Invalid;

/// A binary tree of partial maxima: setting a weight and finding the largest cost O(log k) each.
#[derive(Debug, Clone)]
pub struct MaxTree {
    /// Node 1 is the root, node `i` has children `2i` and `2i + 1`; the leaves start at `leaves`.
    nodes: Vec<f64>,
    leaves: usize,
    len: usize,
}

impl MaxTree {
    /// Builds the tree. O(k).
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Parameter`] for a weight that is negative or not finite.
    pub fn new(weights: &[f64]) -> Result<Self, Invalid> {
        if weights.is_empty() {
            return Err(Invalid::Empty { what: "weights" });
        }
        for &weight in weights {
            Invalid::check_nonnegative("weight", weight)?;
        }
        let leaves = weights.len().next_power_of_two();
        let mut nodes = vec![f64::NEG_INFINITY; 2 * leaves];
        nodes[leaves..leaves + weights.len()].copy_from_slice(weights);
        for i in (1..leaves).rev() {
            nodes[i] = nodes[2 * i].max(nodes[2 * i + 1]);
        }
        Ok(MaxTree { nodes, leaves, len: weights.len() })
    }

    /// Number of weights.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always false: a tree has at least one weight.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The weight of index `i`.
    pub fn get(&self, i: usize) -> f64 {
        self.nodes[self.leaves + i]
    }

    /// The lowest index of a largest weight.
    pub fn largest(&self) -> usize {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.nodes[node + 1] > self.nodes[node] {
                node += 1;
            }
        }
        node - self.leaves
    }

    /// Changes one weight.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a weight that is negative or not finite; the tree is then as before.
    ///
    /// # Panics
    /// If there is no weight `i`.
    pub fn set(&mut self, i: usize, weight: f64) -> Result<(), Invalid> {
        assert!(i < self.len, "index {i} of {} weights", self.len);
        Invalid::check_nonnegative("weight", weight)?;
        let mut node = self.leaves + i;
        self.nodes[node] = weight;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_is_found_after_any_changes(
            weights in proptest::collection::vec(0u32..5, 1..40),
            changes in proptest::collection::vec((0usize..40, 0u32..5), 0..20),
        ) {
            let mut weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let mut tree = MaxTree::new(&weights).unwrap();
            for (i, w) in changes {
                let i = i % weights.len();
                weights[i] = f64::from(w);
                tree.set(i, weights[i]).unwrap();
                let top = weights.iter().copied().fold(0.0, f64::max);
                prop_assert_eq!(tree.largest(), weights.iter().position(|&w| w == top).unwrap());
            }
        }
    }

    #[test]
    fn bad_weights_are_refused() {
        assert!(MaxTree::new(&[]).is_err());
        assert!(MaxTree::new(&[1.0, f64::NAN]).is_err());
        assert!(MaxTree::new(&[1.0]).unwrap().set(0, -1.0).is_err());
    }
}
