//! Random graphs from a degree prior, `P(E) ~ exp(-F(E))`, by Metropolis steps that add or remove an edge.

use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};

use super::penalty::DegreePrior;
use crate::error::Error;
use crate::synthetic::Edges;

/// A Markov chain over the graphs on `p` nodes.
#[derive(Debug, Clone)]
pub struct ErgSampler {
    p: usize,
    /// `strength h'`.
    increments: Vec<f64>,
    joined: Vec<bool>,
    degree: Vec<usize>,
}

impl ErgSampler {
    /// A chain that starts at the empty graph.
    ///
    /// # Errors
    /// The errors of [`DegreePrior::increments`]; [`Invalid`] for a strength that is negative or not finite.
    pub fn new(p: usize, prior: &DegreePrior, strength: f64) -> Result<ErgSampler, Error> {
        Invalid::check_nonnegative("strength", strength)?;
        let increments = prior.increments(p)?.iter().map(|h| strength * h).collect();
        Ok(ErgSampler { p, increments, joined: vec![false; p * p], degree: vec![0; p] })
    }

    /// Proposes `count` flips of uniformly chosen pairs.
    pub fn flip(&mut self, count: usize, rng: &mut (impl Rng + ?Sized)) {
        if self.p < 2 {
            return;
        }
        for _ in 0..count {
            let i = rng.random_range(0..self.p);
            let mut j = rng.random_range(0..self.p - 1);
            j += usize::from(j >= i);
            let (i, j) = (i.min(j), i.max(j));
            let at = i * self.p + j;
            let price = if self.joined[at] {
                -self.increments[self.degree[i] - 1] - self.increments[self.degree[j] - 1]
            } else {
                self.increments[self.degree[i]] + self.increments[self.degree[j]]
            };
            if price <= 0.0 || rng.random::<f64>() < (-price).exp() {
                self.joined[at] = !self.joined[at];
                for v in [i, j] {
                    if self.joined[at] {
                        self.degree[v] += 1;
                    } else {
                        self.degree[v] -= 1;
                    }
                }
            }
        }
    }

    /// Degrees of the present graph.
    pub fn degrees(&self) -> &[usize] {
        &self.degree
    }

    /// Edges of the present graph.
    pub fn edges(&self) -> Edges {
        let pairs = (0..self.p).flat_map(|i| (i + 1..self.p).map(move |j| (i, j)));
        pairs
            .filter(|&(i, j)| self.joined[i * self.p + j])
            .map(|(i, j)| (i as u32, j as u32))
            .collect()
    }
}
