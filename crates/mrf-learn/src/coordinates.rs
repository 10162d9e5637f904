//! Parameter coordinates: one packed vector, for states 0 and 1 or for spins.
//!
//! ```text
//! binary   x in {0,1}^p     statistics x_i (i = j) and x_i x_j (i < j)
//! spins    s = 2x - 1       statistics s_i         and s_i s_j
//! packed   (0,0) (0,1) ... (0,p-1) (1,1) ... (p-1,p-1)          m = p (p + 1) / 2
//! ```
//!
//! Both coordinate systems describe the same distributions. An l1 norm of the couplings is the same penalty in both, up
//! to a factor of 4. An l1 norm of the biases is not, because the bias of a binary variable contains part of its
//! couplings as a spin. Penalties always apply to the chosen coordinates.

use fenchel_graphical::BinaryPairwise;
use serde::{Deserialize, Serialize};

use crate::Error;

/// In which coordinates parameters are penalised and returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coordinates {
    /// `P(x) ~ exp(sum_i theta_ii x_i + sum_{i<j} theta_ij x_i x_j)` with `x` in {0,1}: the model of Geng et al. (UAI
    /// 2018).
    #[default]
    Binary,
    /// `P(s) ~ exp(sum_i h_i s_i + sum_{i<j} J_ij s_i s_j)` with `s` in {-1,+1}: the Ising model.
    Spins,
}

/// The place of `(i, j)`, `i <= j < p`, in a packed vector.
#[inline]
pub fn pair_index(i: usize, j: usize, p: usize) -> usize {
    i * (2 * p - i - 1) / 2 + j
}

/// `m = p (p + 1) / 2`, the length of a packed vector.
#[inline]
pub fn packed_length(p: usize) -> usize {
    p * (p + 1) / 2
}

/// The pairs `(i, j)`, `i <= j`, in the order of a packed vector.
pub fn pairs(p: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..p).flat_map(move |i| (i..p).map(move |j| (i, j)))
}

impl Coordinates {
    /// The largest minus the smallest value of a statistic: 1 or 2.
    pub fn range(self) -> f64 {
        match self {
            Coordinates::Binary => 1.0,
            Coordinates::Spins => 2.0,
        }
    }

    /// The model with these parameters, and the constant `c` in `A(theta) = log Z - c`.
    ///
    /// # Errors
    /// The errors of [`BinaryPairwise::new`] for parameters that are not finite.
    pub fn model(self, theta: &[f64], p: usize) -> Result<(BinaryPairwise, f64), Error> {
        let bias: Vec<f64> = (0..p).map(|i| theta[pair_index(i, i, p)]).collect();
        let mut edges = Vec::new();
        for i in 0..p {
            let row = pair_index(i, i, p);
            for j in i + 1..p {
                let value = theta[row + j - i];
                if value != 0.0 {
                    edges.push((i as u32, j as u32, value));
                }
            }
        }
        Ok(match self {
            Coordinates::Binary => (BinaryPairwise::new(&bias, &edges)?, 0.0),
            Coordinates::Spins => BinaryPairwise::from_spins(&bias, &edges)?,
        })
    }

    /// The parameters of a model.
    pub fn parameters(self, model: &BinaryPairwise) -> Vec<f64> {
        let p = model.variables();
        let mut theta = vec![0.0; packed_length(p)];
        let (bias, edges) = match self {
            Coordinates::Binary => (model.bias().to_vec(), model.edges().collect()),
            Coordinates::Spins => {
                let (fields, couplings, _) = model.to_spins();
                (fields, couplings)
            }
        };
        for (i, bias) in bias.into_iter().enumerate() {
            theta[pair_index(i, i, p)] = bias;
        }
        for (i, j, value) in edges {
            theta[pair_index(i as usize, j as usize, p)] = value;
        }
        theta
    }

    /// Converts means of the binary statistics into means of the statistics of these coordinates, in place.
    pub fn from_binary_means(self, means: &mut [f64], p: usize) {
        if self == Coordinates::Binary {
            return;
        }
        let singles: Vec<f64> = (0..p).map(|i| means[pair_index(i, i, p)]).collect();
        for i in 0..p {
            let row = pair_index(i, i, p);
            means[row] = 2.0 * singles[i] - 1.0;
            for j in i + 1..p {
                let both = means[row + j - i];
                means[row + j - i] = 4.0 * both - 2.0 * singles[i] - 2.0 * singles[j] + 1.0;
            }
        }
    }

    /// Converts means of the statistics of these coordinates into means of the binary statistics, in place.
    pub fn to_binary_means(self, means: &mut [f64], p: usize) {
        if self == Coordinates::Binary {
            return;
        }
        for i in 0..p {
            let at = pair_index(i, i, p);
            means[at] = 0.5 * (1.0 + means[at]);
        }
        let singles: Vec<f64> = (0..p).map(|i| means[pair_index(i, i, p)]).collect();
        for (c, (i, j)) in pairs(p).enumerate() {
            if i != j {
                means[c] = 0.25 * (means[c] - 1.0) + 0.5 * (singles[i] + singles[j]);
            }
        }
    }

    /// The variance of a statistic with this mean: it has two values, 0 and 1 or -1 and +1.
    #[inline]
    pub fn variance(self, mean: f64) -> f64 {
        match self {
            Coordinates::Binary => mean * (1.0 - mean),
            Coordinates::Spins => 1.0 - mean * mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_places_count_up() {
        for p in 1..8 {
            for (place, (i, j)) in pairs(p).enumerate() {
                assert_eq!(pair_index(i, j, p), place);
            }
            assert_eq!(pairs(p).count(), packed_length(p));
        }
    }

    #[test]
    fn parameters_come_back_in_both_coordinates() {
        let theta: Vec<f64> = (0..10).map(|k| (f64::from(k) * 0.7).sin()).collect();
        for coordinates in [Coordinates::Binary, Coordinates::Spins] {
            let (model, _) = coordinates.model(&theta, 4).unwrap();
            for (a, b) in coordinates.parameters(&model).iter().zip(&theta) {
                assert!((a - b).abs() < 1e-14);
            }
        }
    }
}
