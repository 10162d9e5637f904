//! Draws from a discrete distribution whose weights change.

use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};

use super::tree::{Join, Tree};

/// A binary tree of partial sums: setting a weight and drawing an index cost O(log k) each.
#[derive(Debug, Clone)]
pub struct SumTree(Tree<Sum>);

#[derive(Debug, Clone)]
struct Sum;

impl Join for Sum {
    const NONE: f64 = 0.0;

    fn join(left: f64, right: f64) -> f64 {
        left + right
    }
}

impl SumTree {
    /// Builds the tree. O(k).
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Layout`] for a negative or non-finite weight; [`Invalid::Parameter`] for a sum that is
    /// not finite.
    pub fn new(weights: &[f64]) -> Result<Self, Invalid> {
        let tree = Tree::new(weights)?;
        Invalid::check_nonnegative("sum of the weights", tree.root())?;
        Ok(SumTree(tree))
    }

    /// Replaces all weights. O(k). If the new weights are refused, the tree is unchanged.
    ///
    /// # Errors
    /// [`Invalid::Length`] for another number of weights, else as [`new`](SumTree::new).
    pub fn set_all(&mut self, weights: &[f64]) -> Result<(), Invalid> {
        Invalid::check_length("weights", self.len(), weights.len())?;
        *self = SumTree::new(weights)?;
        Ok(())
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

    /// Sum of all weights.
    pub fn total(&self) -> f64 {
        self.0.root()
    }

    /// Changes one weight. The partial sums above it are computed anew, so that no rounding error accumulates.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a negative or non-finite weight, or a sum that would not be finite;
    /// the tree is then as before.
    ///
    /// # Panics
    /// If there is no weight `i`.
    pub fn set(&mut self, i: usize, weight: f64) -> Result<(), Invalid> {
        let before = self.get(i);
        self.0.set(i, weight)?;
        let result = Invalid::check_nonnegative("sum of the weights", self.total());
        if result.is_err() {
            self.0.set(i, before)?;
        }
        result
    }

    /// The index `i` whose interval of the cumulated weights contains `mass`, for `0 <= mass < total`. An index of weight 0 is
    /// returned only if all weights are 0.
    pub fn find(&self, mut mass: f64) -> usize {
        self.0.walk(|left, right| {
            // Rounding can push the mass past the right end; an empty right half takes nothing.
            let turns = mass >= left && right != 0.0;
            if turns {
                mass -= left;
            }
            turns
        })
    }

    /// Draws an index with probability proportional to its weight, or uniformly if all weights are 0.
    pub fn draw(&self, rng: &mut (impl Rng + ?Sized)) -> usize {
        if self.total() > 0.0 {
            let toss: f64 = rng.random();
            self.find(toss * self.total())
        } else {
            rng.random_range(0..self.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn find_agrees_with_the_cumulated_sum(
            weights in proptest::collection::vec(0u32..5, 1..40),
            changes in proptest::collection::vec((0usize..40, 0u32..5), 0..20),
        ) {
            // Integer weights: every sum is exact, so that the reference is too.
            let mut weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let mut tree = SumTree::new(&weights).unwrap();
            for (i, w) in changes {
                let i = i % weights.len();
                weights[i] = f64::from(w);
                tree.set(i, f64::from(w)).unwrap();
            }
            let total: f64 = weights.iter().sum();
            prop_assert_eq!(tree.total(), total);
            for unit in 0..total as usize {
                let mass = unit as f64 + 0.5;
                let mut sum = 0.0;
                let expected = weights.iter().position(|w| { sum += w; mass < sum }).unwrap();
                prop_assert_eq!(tree.find(mass), expected);
            }
        }
    }

    #[test]
    fn all_weights_are_replaced_or_none() {
        let mut tree = SumTree::new(&[1.0, 2.0, 3.0]).unwrap();
        tree.set_all(&[4.0, 0.0, 5.0]).unwrap();
        assert_eq!((tree.total(), tree.find(3.5), tree.find(4.5)), (9.0, 0, 2));
        assert!(tree.set_all(&[1.0, 1.0]).is_err());
        assert!(tree.set_all(&[1.0, -1.0, 1.0]).is_err());
        assert_eq!(tree.total(), 9.0);
    }

    #[test]
    fn bad_weights_are_refused() {
        assert!(SumTree::new(&[]).is_err());
        assert!(SumTree::new(&[1.0, f64::NAN]).is_err());
        assert!(SumTree::new(&[1.0]).unwrap().set(0, -1.0).is_err());
    }
}
