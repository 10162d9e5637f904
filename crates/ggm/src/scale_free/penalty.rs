//! Degree priors and the penalty that follows from them.

use fenchel_linalg::Invalid;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A function `h` of the degree, given by its increments `h'(k) = h(k + 1) - h(k)`, which are non-negative and
/// non-increasing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DegreePrior {
    /// `h'(k) = log((k + 1 + eps) / (k + eps)) + beta`.
    Log {
        /// How fast the cost decreases with the degree, `> 0`.
        eps: f64,
        /// The cost that every edge has, `>= 0`.
        beta: f64,
    },
    /// `h'(k) = sqrt(k + 2) - sqrt(k + 1) + beta`.
    Sqrt {
        /// The cost that every edge has, `>= 0`. Without it, all weak entries of a row would become nonzero at once.
        beta: f64,
    },
    /// `h'(k) = a^k (1 - a)`.
    Geometric {
        /// In `(0, 1)`.
        a: f64,
    },
    /// `h'(k) = 1`: the graphical lasso.
    Linear,
    /// Increments one after the other; at least `p - 1` of them.
    Custom(Vec<f64>),
}

impl Default for DegreePrior {
    fn default() -> Self {
        DegreePrior::Sqrt { beta: 0.2 }
    }
}

impl DegreePrior {
    /// `h'(0), ..., h'(p - 2)`.
    ///
    /// # Errors
    /// [`Invalid`] for parameters out of range, and increments that are negative, rise, or are too few.
    pub fn increments(&self, p: usize) -> Result<Vec<f64>, Error> {
        let count = p.saturating_sub(1);
        let k = (0..count).map(|k| k as f64);
        let increments: Vec<f64> = match self {
            DegreePrior::Log { eps, beta } => {
                Invalid::check_positive("eps", *eps)?;
                Invalid::check_nonnegative("beta", *beta)?;
                k.map(|k| (1.0 / (k + eps)).ln_1p() + beta).collect()
            }
            DegreePrior::Sqrt { beta } => {
                Invalid::check_nonnegative("beta", *beta)?;
                k.map(|k| 1.0 / ((k + 2.0).sqrt() + (k + 1.0).sqrt()) + beta).collect()
            }
            DegreePrior::Geometric { a } => {
                if !(*a > 0.0 && *a < 1.0) {
                    let expected = "in (0, 1)";
                    return Err(Invalid::Parameter { name: "a", value: *a, expected }.into());
                }
                k.map(|k| a.powf(k) * (1.0 - a)).collect()
            }
            DegreePrior::Linear => vec![1.0; count],
            DegreePrior::Custom(increments) => {
                if increments.len() < count {
                    let (expected, found) = (count, increments.len());
                    return Err(Invalid::Length { what: "increments", expected, found }.into());
                }
                increments[..count].to_vec()
            }
        };
        for &value in &increments {
            Invalid::check_nonnegative("increment", value)?;
        }
        match increments.windows(2).find(|pair| pair[1] > pair[0]) {
            Some(pair) => {
                let expected = "increments that do not rise";
                Err(Invalid::Parameter { name: "increment", value: pair[1], expected }.into())
            }
            None => Ok(increments),
        }
    }
}

/// `sum_i sum_k h'(k) |X_i,(k)|`, where the off-diagonal entries of every row are sorted by decreasing absolute value.
/// The cost is O(p^2 log p).
///
/// # Errors
/// [`Invalid`] for a matrix that is not square, or a number of increments other than `p - 1`.
pub fn omega(x: ArrayView2<f64>, increments: &[f64]) -> Result<f64, Error> {
    let p = Invalid::check_square("matrix", x.dim())?;
    Invalid::check_length("increments", p - 1, increments.len())?;
    let mut sum = 0.0;
    let mut row = Vec::with_capacity(p);
    for i in 0..p {
        row.clear();
        row.extend((0..p).filter(|&j| j != i).map(|j| x[[i, j]].abs()));
        falling(&mut row);
        sum += row.iter().zip(increments).map(|(x, h)| x * h).sum::<f64>();
    }
    Ok(sum)
}

/// Sorts by falling size.
pub(super) fn falling(row: &mut [f64]) {
    row.sort_unstable_by(|a, b| b.abs().total_cmp(&a.abs()));
}

/// `F(E) - F(empty) = sum_v (h(degree of v) - h(0))`.
///
/// # Errors
/// [`Invalid`] for an edge that is no pair of nodes below `p`, and for a node with more edges than there are increments.
pub fn prior(p: usize, edges: &[(u32, u32)], increments: &[f64]) -> Result<f64, Error> {
    let mut degree = vec![0; p];
    for &(i, j) in edges {
        if i == j || i.max(j) as usize >= p {
            let reason = format!("({i}, {j}) in a graph of {p} nodes");
            return Err(Invalid::Layout { what: "edges", reason }.into());
        }
        degree[i as usize] += 1;
        degree[j as usize] += 1;
    }
    let most = degree.iter().copied().max().unwrap_or(0);
    if most > increments.len() {
        let (what, expected, found) = ("increments", most, increments.len());
        return Err(Invalid::Length { what, expected, found }.into());
    }
    Ok(degree.iter().map(|&d| increments[..d].iter().sum::<f64>()).sum())
}
