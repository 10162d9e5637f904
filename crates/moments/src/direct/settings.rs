//! The settings of the direct method.

use fenchel_optim::{Stop, settings};
use serde::{Deserialize, Serialize};

use crate::components::Components;
use crate::matching::ScoreMatching;
use crate::slicing::Slicing;

/// The weight of the nuclear norm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Lambda {
    /// A given number.
    Fixed(f64),
    /// Cross-validation over the path `lambda_top 10^{-j/5}`, `j` = 1 to `steps`. It picks the `lambda` whose
    /// directions let nearest neighbours predict held-out responses best.
    CrossValidated {
        /// Points of the path.
        steps: usize,
        /// Parts of the samples.
        folds: usize,
    },
    /// The smallest `lambda` of the path for which `A` has this many positive singular values. It is too large if the
    /// bandwidth is good (experiment `mo-e7`).
    Rank(usize),
}

/// How the reduced problem is solved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirectSolver {
    /// Iteratively reweighted least squares, the algorithm of D. Babichev, PhD thesis 2019, section 2.4.3.
    Irls,
    /// Accelerated projected gradient steps on the dual (FISTA), with restarts.
    #[default]
    DualFista,
}

settings! {
    /// The direct method; see the [module](super).
    pub struct DirectSade {
        /// How many directions.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// The basis of the score: bumps.
        score: ScoreMatching = ScoreMatching::default(),
        /// The weight of the nuclear norm.
        lambda: Lambda = Lambda::CrossValidated { steps: 12, folds: 5 },
        /// `k` of the spectral k-support norm; 1 is the nuclear norm.
        support: usize = 1,
        /// How the reduced problem is solved.
        solver: DirectSolver = DirectSolver::DualFista,
        /// Slice means are taken around the overall mean of the learned score.
        centre: bool = true,
        /// SADE (unbiased) on the scores of the final `theta`, instead of the singular vectors of `A`.
        refit: bool = false,
        /// When the method stops, by its duality gap.
        stop: Stop = Stop::at_relative(1e-6),
    }
}
