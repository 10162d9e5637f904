//! Stability selection: keeps the edges that are found in many random halves of the data.
//!
//! In each of `pairs` rounds, the rows are split at random into two halves, and a network is learned from each half.
//! Let `q` be the average number of edges per half, and `P` the number of pairs of variables. The selected edges are
//! those found in a share of at least `t > 1/2` of the halves. The expected number of false ones among them is at most
//! `q^2 / ((2 t - 1) P)` (Meinshausen and Buehlmann 2010, who assume exchangeability; the use of complementary halves
//! is due to Shah and Samworth 2013).

use fenchel_linalg::{Invalid, parallel};
use fenchel_optim::random::stream;
use fenchel_optim::{Fit, MAX_MEMORY, Refusal, settings};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::learner::Learner;
use crate::data::Data;
use crate::error::Error;

settings! {
    /// Settings of stability selection.
    #[derive(Copy)]
    pub struct StabilitySelection {
        /// Rounds, two halves each.
        pairs: usize = 50,
        /// Share of the halves an edge must be found in, above 1/2.
        threshold: f64 = 0.75,
        /// Strength of the penalty in every half.
        strength: f64 = 0.1,
        /// Seed of the halves.
        seed: u64 = 0,
    }
}

/// The result of stability selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StableEdges {
    /// Edges and the share of the halves they were found in, most stable first.
    pub edges: Vec<(u32, u32, f64)>,
    /// The share for every pair `i < j`, row by row.
    pub frequencies: Vec<f64>,
    /// The mean number of edges of a half, `q`.
    pub edges_per_half: f64,
    /// The bound of the expected number of false edges.
    pub false_edges: f64,
}

impl StabilitySelection {
    /// Runs the selection.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a threshold outside (1/2, 1], no round, or fewer than 4 rows; [`Error::Refused`] for more
    /// rounds than memory; the errors of the method.
    pub fn select(&self, data: &Data, learner: &impl Learner) -> Result<StableEdges, Error> {
        if !(self.threshold > 0.5 && self.threshold <= 1.0) {
            let expected = "a share in (1/2, 1]";
            let (name, value) = ("threshold", self.threshold);
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        Invalid::check_count("pairs", self.pairs)?;
        Invalid::check_nonnegative("strength", self.strength)?;
        let bytes = (self.pairs as u64).saturating_mul(2 * size_of::<Vec<(u32, u32)>>() as u64);
        Refusal::check_memory("the edges of all halves", bytes, MAX_MEMORY, "take fewer pairs")?;
        let (n, p) = (data.rows(), data.variables());
        if n < 4 {
            let (name, value) = ("rows", n as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 4" }.into());
        }
        let found = parallel::try_map(0..2 * self.pairs, |at| -> Result<Vec<_>, Error> {
            let mut order: Vec<usize> = (0..n).collect();
            order.shuffle(&mut stream(self.seed, at as u64 / 2));
            let half = n / 2;
            let rows = if at % 2 == 0 { &order[..half] } else { &order[half..2 * half] };
            let model =
                learner.learn(&data.select(rows)?, self.strength, learner.stop(), Fit::new())?;
            let edges = model.edges().into_iter().map(|(i, j, _)| (i, j));
            Ok(edges.collect())
        })?;
        let mut frequencies = vec![0.0; p * p.saturating_sub(1) / 2];
        let index_of = |i: usize, j: usize| i * (2 * p - i - 1) / 2 + j - i - 1;
        let share = 1.0 / found.len() as f64;
        for &(i, j) in found.iter().flatten() {
            frequencies[index_of(i as usize, j as usize)] += share;
        }
        let edges_per_half = found.iter().map(Vec::len).sum::<usize>() as f64 * share;
        let mut edges = Vec::new();
        for i in 0..p {
            for j in i + 1..p {
                let frequency = frequencies[index_of(i, j)];
                if frequency >= self.threshold - 1e-12 {
                    edges.push((i as u32, j as u32, frequency));
                }
            }
        }
        edges.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        let pairs = frequencies.len().max(1) as f64;
        let false_edges = edges_per_half.powi(2) / ((2.0 * self.threshold - 1.0) * pairs);
        Ok(StableEdges { edges, frequencies, edges_per_half, false_edges })
    }
}
