//! The settings of [`sdca`](fn@super::sdca), and what follows from them: the sampler, and the steps of the theory.

use fenchel_linalg::Invalid;
use fenchel_optim::random::Order;
use fenchel_optim::{MAX_MEMORY, Stop, settings};

use super::sampling::{Sampler, needs_radii};
use super::{Init, SdcaStep};
use crate::Error;
use crate::terms::Terms;

settings! {
    /// Settings of [`sdca`](fn@super::sdca) and of [`graph_sdca`](fn@crate::graph::graph_sdca), where a sequence is a graph.
    ///
    /// Orders that use gaps store the gap of every sequence from its last visit. With probability `1 - non_uniformity` a sequence
    /// is drawn uniformly instead, so that no stored gap becomes too old. For the orders of [`Order`], `L_i` is the squared radius
    /// `R_i` of the features and `mu` is `l2`. In Le Priol et al. (2018) the order `Lipschitz` is called Importance, `LipschitzGap`
    /// is Gap x importance, and `LargestGap` is Max. `Mixed` and `Residual` are refused.
    pub struct SdcaSettings {
        /// Order of the sequences: see above.
        order: Order = Order::Gap,
        /// Fraction of adaptive draws, in `[0, 1]`; the others are uniform.
        non_uniformity: f64 = 0.8,
        /// Line search of a block.
        step: SdcaStep = SdcaStep::default(),
        /// Weight of `norm(w)_1`; CRFsuite's `c1 = n l1`.
        l1: f64 = 0.0,
        /// Marginals of a cold start.
        init: Init = Init::default(),
        /// Number of blocks that compute their directions at the same weights on all cores. They then take their steps one after
        /// the other. Results do not depend on the number of threads. The value 1 is the method of Le Priol et al. (2018).
        batch: usize = 1,
        /// Passes between two updates of all gaps, each of which costs a pass; `None` for no updates.
        refresh: Option<usize> = None,
        /// Bytes that the marginals may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visits.
        seed: u64 = 0,
        /// When to end.
        stop: Stop = Stop::default(),
    }
}

impl SdcaSettings {
    /// Checks the ranges, and the combinations that are not possible at a cold start.
    pub(crate) fn check(&self, cold: bool) -> Result<(), Error> {
        self.stop.check()?;
        self.step.check()?;
        Invalid::check_nonnegative("l1", self.l1)?;
        if self.batch == 0 {
            let expected = "at least 1";
            return Err(Invalid::Parameter { name: "batch", value: 0.0, expected }.into());
        }
        if self.refresh == Some(0) {
            let expected = "at least 1 pass, or None for no updates";
            return Err(Invalid::Parameter { name: "refresh", value: 0.0, expected }.into());
        }
        if self.init == Init::Empirical && cold && !self.step.starts_anywhere() {
            let (name, value) = ("init.smoothing", 0.0);
            let expected = "more than 0, or a step of the kind Fixed or Brent";
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        Ok(())
    }
}

/// The sampler of the blocks. All gaps are large at first. `curvature` is `l2`, or `l2 + kappa` with a proximal term.
pub(crate) fn sampler<P: Terms>(
    problem: &P,
    order: &Order,
    non_uniformity: f64,
    seed: u64,
    curvature: f64,
) -> Result<Sampler, Error> {
    let common = problem.common();
    let importance = match needs_radii(order) {
        true => (0..common.n).map(|i| common.condition(curvature, problem.radius(i))).collect(),
        false => Vec::new(),
    };
    // More than any block can have: P(0) is their mean at the true labels.
    let first = 10.0 * problem.uniform_objective();
    Sampler::new(order, common.n, non_uniformity, importance, first.max(100.0), seed)
}

/// The step sizes `1 / (1 + R_i / (l2 n))` of the theory, if the rule needs them.
pub(super) fn safe_steps<P: Terms>(problem: &P, step: SdcaStep, curvature: f64) -> Vec<f64> {
    if step != SdcaStep::Safe {
        return Vec::new();
    }
    let common = problem.common();
    let step = |i| 1.0 / common.condition(curvature, problem.radius_bound(i));
    (0..common.n).map(step).collect()
}
