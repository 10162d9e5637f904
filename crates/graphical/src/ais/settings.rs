//! Settings of annealed importance sampling.

use fenchel_optim::settings;
use serde::{Deserialize, Serialize};

/// How the values of `b` are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Ladder {
    /// So many equal steps.
    Uniform(usize),
    /// Every step is as long as possible while the conditional effective sample size stays at this share of the chains, in (0,
    /// 1). So steps are short where the distribution changes fast. A pilot run with its own random numbers chooses the steps,
    /// so that they are independent of the weights: chains that chose their own steps would underestimate the error. The pilot
    /// run has as many chains, at most 256, and costs as much per chain as the run itself.
    Adaptive(f64),
}

settings! {
    /// Settings of [`ais_binary`](super::ais_binary) and [`ais`](super::ais()).
    #[derive(Copy)]
    pub struct AisSettings {
        /// The values of `b` from independence (0) to the model (1).
        ladder: Ladder = Ladder::Uniform(500),
        /// Number of chains, each with an independent weight.
        chains: usize = 512,
        /// Sweeps of Gibbs sampling at every step.
        sweeps: usize = 1,
        /// Seed of all draws.
        seed: u64 = 0,
    }
}
