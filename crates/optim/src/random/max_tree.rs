//! The maximum of weights that change.

use fenchel_linalg::Invalid;

use super::tree::{Join, Tree};

/// A binary tree of partial maxima: setting a weight and finding the largest cost O(log k) each.
#[derive(Debug, Clone)]
pub struct MaxTree(Tree<Max>);

#[derive(Debug, Clone)]
struct Max;

impl Join for Max {
    const NONE: f64 = f64::NEG_INFINITY;

    fn join(left: f64, right: f64) -> f64 {
        left.max(right)
    }
}

impl MaxTree {
    /// Builds the tree. O(k).
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Layout`] for a weight that is negative or not finite.
    pub fn new(weights: &[f64]) -> Result<Self, Invalid> {
        Ok(MaxTree(Tree::new(weights)?))
    }

    /// Number of weights.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Always false: a tree has at least one weight.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// The weight of index `i`.
    pub fn get(&self, i: usize) -> f64 {
        self.0.get(i)
    }

    /// The lowest index with the largest weight.
    pub fn largest(&self) -> usize {
        self.0.walk(|left, right| right > left)
    }

    /// Changes one weight.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a weight that is negative or not finite; the tree is then as before.
    ///
    /// # Panics
    /// If there is no weight `i`.
    pub fn set(&mut self, i: usize, weight: f64) -> Result<(), Invalid> {
        self.0.set(i, weight)
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
