//! The penalty of one entry over all groups.

use serde::{Deserialize, Serialize};

use crate::penalty::soft;

/// The penalty that makes the matrices of the groups similar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Coupling {
    /// Before soft-thresholding by `l1`, an edge is present in all groups or in none.
    #[default]
    Group,
    /// Values are similar across groups, and equal unless the data contradict it.
    Fused,
}

/// The penalty of one entry over all groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Penalty {
    pub(super) l1: f64,
    pub(super) similarity: f64,
    pub(super) coupling: Coupling,
}

impl Penalty {
    pub(super) fn value(&self, t: &[f64]) -> f64 {
        let shared = match self.coupling {
            Coupling::Group => t.iter().map(|t| t * t).sum::<f64>().sqrt(),
            Coupling::Fused => (0..t.len())
                .flat_map(|k| (0..k).map(move |l| (k, l)))
                .map(|(k, l)| (t[k] - t[l]).abs())
                .sum(),
        };
        self.l1 * t.iter().map(|t| t.abs()).sum::<f64>() + self.similarity * shared
    }

    /// `argmin_x step penalty(x) + ||x - t||^2 / 2`, in place.
    ///
    /// The proximal operator. For `Group` it is soft-thresholding followed by the proximal operator of the norm; for
    /// `Fused` it is the fusion followed by soft-thresholding. In these orders the composition is exact. The fusion
    /// shifts the sorted values by rank and applies isotonic regression.
    pub(super) fn prox(&self, t: &mut [f64], step: f64) {
        let (l1, similarity) = (step * self.l1, step * self.similarity);
        match self.coupling {
            Coupling::Group => {
                t.iter_mut().for_each(|t| *t = soft(*t, l1));
                let norm = t.iter().map(|t| t * t).sum::<f64>().sqrt();
                let keep = if norm > similarity { 1.0 - similarity / norm } else { 0.0 };
                t.iter_mut().for_each(|t| *t *= keep);
            }
            Coupling::Fused => {
                let count = t.len();
                let mut order: Vec<usize> = (0..count).collect();
                order.sort_by(|&a, &b| t[a].total_cmp(&t[b]));
                // Blocks of equal values, rising: mean and size.
                let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(count);
                for (rank, &k) in order.iter().enumerate() {
                    let shift = (2 * rank + 1) as f64 - count as f64;
                    let mut block = (t[k] - similarity * shift, 1);
                    while let Some(&(mean, size)) = blocks.last() {
                        if mean < block.0 {
                            break;
                        }
                        blocks.pop();
                        let sum = mean * size as f64 + block.0 * block.1 as f64;
                        block = (sum / (size + block.1) as f64, size + block.1);
                    }
                    blocks.push(block);
                }
                let values =
                    blocks.iter().flat_map(|&(mean, size)| std::iter::repeat_n(mean, size));
                for (&k, value) in order.iter().zip(values) {
                    t[k] = soft(value, l1);
                }
            }
        }
    }
}
