//! Draws from a fixed discrete distribution in constant time.

use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};

/// Vose's alias table. It takes O(k) to build; a draw takes one uniform number and one comparison.
///
/// Reference: M. D. Vose, "A linear algorithm for generating random numbers with a given
/// distribution", IEEE Transactions on Software Engineering 17 (1991).
#[derive(Debug, Clone)]
pub struct Alias {
    /// Cell `i` gives outcome `i` below the threshold and `alias[i]` above it.
    threshold: Vec<f64>,
    alias: Vec<u32>,
}

impl Alias {
    /// Builds the table for probabilities proportional to `weights`.
    ///
    /// # Errors
    /// [`Invalid::Empty`]; [`Invalid::Layout`] for a negative or non-finite weight; [`Invalid::Parameter`] for a sum that is 0 or
    /// not finite, or more than 2^32 - 1 weights.
    pub fn new(weights: &[f64]) -> Result<Self, Invalid> {
        if weights.is_empty() {
            return Err(Invalid::Empty { what: "weights" });
        }
        Invalid::check_weights("weights", weights.len(), weights.iter())?;
        let total: f64 = weights.iter().sum();
        Invalid::check_positive("sum of the weights", total)?;
        let Ok(count) = u32::try_from(weights.len()) else {
            return Err(Invalid::Parameter {
                name: "number of weights",
                value: weights.len() as f64,
                expected: "at most 2^32 - 1",
            });
        };
        // Dividing first keeps sums near the largest float from overflowing.
        let mut threshold: Vec<f64> =
            weights.iter().map(|w| w / total * weights.len() as f64).collect();
        let mut alias: Vec<u32> = (0..count).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&i| threshold[i as usize] < 1.0);
        while let (Some(&lower), Some(&upper)) = (small.last(), large.last()) {
            small.pop();
            let (l, u) = (lower as usize, upper as usize);
            alias[l] = upper;
            threshold[u] = (threshold[u] + threshold[l]) - 1.0;
            if threshold[u] < 1.0 {
                large.pop();
                small.push(upper);
            }
        }
        // What is left is 1 up to rounding; a cell of weight 0 can only be left by rounding.
        for i in small.into_iter().chain(large) {
            if weights[i as usize] > 0.0 {
                threshold[i as usize] = 1.0;
            }
        }
        Ok(Alias { threshold, alias })
    }

    /// Draws an index with its probability.
    #[inline]
    pub fn draw(&self, rng: &mut (impl Rng + ?Sized)) -> usize {
        let cell = rng.random_range(0..self.threshold.len());
        let toss: f64 = rng.random();
        if toss < self.threshold[cell] { cell } else { self.alias[cell] as usize }
    }

    /// The exact probability of each outcome under the table.
    pub fn probabilities(&self) -> Vec<f64> {
        let k = self.threshold.len() as f64;
        let mut p = vec![0.0; self.threshold.len()];
        for (cell, (&t, &other)) in self.threshold.iter().zip(&self.alias).enumerate() {
            p[cell] += t / k;
            p[other as usize] += (1.0 - t) / k;
        }
        p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_table_realises_the_weights(
            weights in proptest::collection::vec(prop_oneof![Just(0.0), 1e-6..1e6f64], 1..60)
        ) {
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 0.0);
            let table = Alias::new(&weights).unwrap();
            for (p, w) in table.probabilities().iter().zip(&weights) {
                // k cells, each rounded a few times.
                prop_assert!((p - w / total).abs() < 1e-13, "{p} {}", w / total);
            }
        }
    }
}
