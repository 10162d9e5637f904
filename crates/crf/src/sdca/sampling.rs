//! Which block is next.

use fenchel_linalg::Invalid;
use fenchel_optim::random::{Generator, MaxTree, Order, SumTree, Visits, stream};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Which sequence is visited next.
///
/// The adaptive schemes keep the gap of every block from its last visit. With probability `1 - non_uniformity` a sequence is
/// drawn uniformly all the same, so that no gap gets too old.
///
/// | scheme | probability of block `i` |
/// |---|---|
/// | `Uniform` | `1/n`, independent draws |
/// | `Cyclic`, `Permuted`, `Scripted` | as in [`Order`] |
/// | `Importance` | `1 + R_i / (l2 n)` with the radius `R_i` of its features |
/// | `Gap` | its last gap `g_i` |
/// | `GapImportance` | `g_i (1 + R_i / (l2 n))` |
/// | `Max` | the largest `g_i`, the first of equal ones |
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Sampling {
    /// Independent uniform draws.
    Uniform,
    /// In order, again and again.
    Cyclic,
    /// A new random order every pass.
    Permuted,
    /// This order, again and again: replays a trajectory.
    Scripted(Vec<usize>),
    /// By the radius of the features.
    Importance,
    /// By the last gap: the fastest on sparse text.
    #[default]
    Gap,
    /// By the last gap and the radius.
    GapImportance,
    /// The largest last gap.
    Max,
}

impl Sampling {
    /// Whether the radii of the blocks are needed.
    pub(super) fn needs_radii(&self) -> bool {
        matches!(self, Sampling::Importance | Sampling::GapImportance)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Sampler {
    scheme: Scheme,
    generator: Generator,
    non_uniformity: f64,
    /// `1 + R_i / (l2 n)`, empty if not needed.
    importance: Vec<f64>,
    gaps: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Scheme {
    Ordered(Visits),
    /// By weights that are drawn, gaps entering or not.
    Drawn {
        visits: Visits,
    },
    Summed(SumTree),
    Largest(MaxTree),
}

impl Sampler {
    /// `first` is the gap that every block is thought to have before its first visit.
    pub(super) fn new(
        sampling: &Sampling,
        n: usize,
        non_uniformity: f64,
        importance: Vec<f64>,
        first: f64,
        seed: u64,
    ) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&non_uniformity) {
            let (name, expected) = ("non_uniformity", "a number in [0, 1]");
            return Err(Invalid::Parameter { name, value: non_uniformity, expected }.into());
        }
        let gaps = vec![first; n];
        let ordered = |order: &Order| Visits::new(order, n, seed);
        let scheme = match sampling {
            Sampling::Uniform => Scheme::Ordered(ordered(&Order::Uniform)?),
            Sampling::Cyclic => Scheme::Ordered(ordered(&Order::Cyclic)?),
            Sampling::Permuted => Scheme::Ordered(ordered(&Order::Permuted)?),
            Sampling::Scripted(script) => {
                Scheme::Ordered(ordered(&Order::Scripted(script.clone()))?)
            }
            Sampling::Importance => {
                Scheme::Drawn { visits: ordered(&Order::Weighted(importance.clone()))? }
            }
            Sampling::Gap => Scheme::Summed(SumTree::new(&gaps)?),
            Sampling::GapImportance => {
                let weights: Vec<f64> = importance.iter().map(|c| first * c).collect();
                Scheme::Summed(SumTree::new(&weights)?)
            }
            Sampling::Max => Scheme::Largest(MaxTree::new(&gaps)?),
        };
        let importance = if *sampling == Sampling::GapImportance { importance } else { Vec::new() };
        Ok(Sampler { scheme, generator: stream(seed, 1), non_uniformity, importance, gaps })
    }

    pub(super) fn draw(&mut self) -> usize {
        if let Scheme::Ordered(visits) = &mut self.scheme {
            return visits.draw();
        }
        let toss: f64 = self.generator.random();
        if toss >= self.non_uniformity {
            return self.generator.random_range(0..self.gaps.len());
        }
        match &mut self.scheme {
            Scheme::Ordered(visits) | Scheme::Drawn { visits } => visits.draw(),
            Scheme::Summed(tree) => tree.draw(&mut self.generator),
            Scheme::Largest(tree) => tree.largest(),
        }
    }

    /// Draws block `i` by its gap no more until the next [`record`](Self::record).
    pub(super) fn hold(&mut self, i: usize) {
        let _ = match &mut self.scheme {
            Scheme::Summed(tree) => tree.set(i, 0.0),
            Scheme::Largest(tree) => tree.set(i, 0.0),
            Scheme::Ordered(_) | Scheme::Drawn { .. } => Ok(()),
        };
    }

    /// Takes the gap that block `i` was found to have.
    pub(super) fn record(&mut self, i: usize, gap: f64) {
        let gap = gap.clamp(0.0, 1e100);
        self.gaps[i] = gap;
        // Gaps are finite and not negative, which is all that the trees ask for.
        let _ = match &mut self.scheme {
            Scheme::Summed(tree) => tree.set(i, gap * self.importance.get(i).unwrap_or(&1.0)),
            Scheme::Largest(tree) => tree.set(i, gap),
            Scheme::Ordered(_) | Scheme::Drawn { .. } => Ok(()),
        };
    }

    /// The last known gaps.
    pub(super) fn gaps(&self) -> &[f64] {
        &self.gaps
    }
}
