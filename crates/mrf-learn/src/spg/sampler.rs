//! The interface between SPG and a family of models.

use std::sync::Arc;

use fenchel_graphical::ais::AisSettings;
use fenchel_graphical::{BinaryPairwise, Influence};
use ndarray::Array2;

use super::settings::{ChainStart, Spg};
use crate::bounds::{self, BoundKind};
use crate::error::Error;

/// Where chains begin, and the streams that they draw from: every time new ones.
#[derive(Debug, Clone)]
pub(crate) struct Begin<T> {
    /// Rows of the data, where chains begin there.
    rows: Option<Arc<Array2<T>>>,
    start: ChainStart,
    seed: u64,
    /// How often chains were begun.
    begun: u64,
}

/// The states at which the chains of an iteration start.
pub(crate) enum Origin<T> {
    /// The current states: the chains continue.
    There,
    /// Random states.
    Random,
    /// Rows of states, again and again.
    Rows(Arc<Array2<T>>),
}

impl<T> Begin<T> {
    pub(crate) fn new(settings: &Spg, rows: impl FnOnce() -> Array2<T>) -> Self {
        let rows = (settings.start == ChainStart::Data).then(|| Arc::new(rows()));
        Begin { rows, start: settings.start, seed: settings.seed, begun: 0 }
    }

    /// The rows of the first start, if any.
    pub(crate) fn rows(&self) -> Option<Arc<Array2<T>>> {
        self.rows.clone()
    }

    /// The start of an iteration.
    pub(crate) fn of_iteration(&self) -> Origin<T> {
        match (self.start, &self.rows) {
            (ChainStart::Restart, _) => Origin::Random,
            (ChainStart::Data, Some(rows)) => Origin::Rows(rows.clone()),
            (ChainStart::Persistent | ChainStart::Data, _) => Origin::There,
        }
    }

    /// A seed that was not used before.
    pub(crate) fn fresh_seed(&mut self) -> u64 {
        self.begun += 1;
        self.seed ^ self.begun.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Chains of a model whose parameters change: the sampled side of a gradient.
pub trait Sampler: Clone {
    /// Number of parameters, `m`.
    fn dimension(&self) -> usize;

    /// Number of variables, `p`.
    fn variables(&self) -> usize;

    /// Number of chains, `q`.
    fn chains(&self) -> usize;

    /// Changes the parameters; the states stay.
    ///
    /// # Errors
    /// For parameters that are not finite.
    fn set(&mut self, theta: &[f64]) -> Result<(), Error>;

    /// Starts the chains of iteration `round`, or leaves them where they are.
    ///
    /// # Errors
    /// For more chains than fit into memory.
    fn begin(&mut self, round: u64) -> Result<(), Error>;

    /// Doubles the number of chains. The new chains start at the states of the old ones, and all chains draw from
    /// random streams that were not used before.
    ///
    /// # Errors
    /// For more chains than fit into memory.
    fn double(&mut self, round: u64) -> Result<(), Error>;

    /// One systematic sweep of all chains.
    fn sweep(&mut self);

    /// Means of the statistics over the chains.
    fn means(&self, out: &mut [f64]);

    /// Means over the first and over the second half of the chains.
    fn half_means(&self, first: &mut [f64], second: &mut [f64]);

    /// Unbiased sample variances of the statistics, given their means. Unless overridden, statistics are 0 or 1.
    fn variances(&self, means: &[f64], out: &mut [f64]) {
        let q = self.chains() as f64;
        for (v, &mean) in out.iter_mut().zip(means) {
            *v = q / (q - 1.0) * (mean * (1.0 - mean)).max(0.0);
        }
    }

    /// The influence bound of the current model.
    fn influence(&self) -> Influence;

    /// The bound of the bias of the gradient from `d = B^t 1`.
    fn bias(&self, kind: BoundKind, d: &[f64]) -> f64;

    /// The bound of the error that `q` chains add, with probability `1 - doubt`. Unless overridden, statistics are 0 or 1.
    fn sampling_error(&self, variances: &[f64], doubt: f64) -> f64 {
        bounds::sampling_error(variances, self.chains(), doubt, 1.0)
    }

    /// The largest eigenvalue of the sample covariance of the statistics.
    fn curvature(&self) -> f64;

    /// The largest possible `|mean over chains - target|` of every statistic. Unless overridden, statistics are 0 or 1.
    fn reach(&self, target: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(target).for_each(|(out, target)| *out = target.max(1.0 - target));
    }

    /// `A(theta)` by annealed importance sampling, and its standard error.
    ///
    /// # Errors
    /// For settings out of range, and more chains than fit into memory.
    fn log_partition(&self, settings: &AisSettings) -> Result<(f64, f64), Error>;

    /// Couplings that are not 0.
    fn edges(&self, theta: &[f64]) -> usize;

    /// The binary model, from which missing cells are drawn; `None` where there is none.
    fn binary(&self) -> Option<&BinaryPairwise> {
        None
    }
}

/// Chains that the largest eigenvalue of a covariance is estimated from.
pub(super) const SUBSAMPLE: usize = 500;
/// Power iterations for it.
const POWER: usize = 15;

/// The largest eigenvalue of `E psi psi' - mean mean'` by power iterations without forming the matrix. `apply` adds
/// `E psi (psi.v)` to its second argument.
pub(super) fn largest_eigenvalue(
    mut v: Vec<f64>,
    mean: &[f64],
    apply: impl Fn(&[f64], &mut [f64]),
) -> f64 {
    let mut largest = 0.0;
    for _ in 0..POWER {
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm == 0.0 {
            break;
        }
        v.iter_mut().for_each(|v| *v /= norm);
        let mut next = vec![0.0; v.len()];
        apply(&v, &mut next);
        let along: f64 = mean.iter().zip(&v).map(|(s, v)| s * v).sum();
        next.iter_mut().zip(mean).for_each(|(next, s)| *next -= s * along);
        largest = next.iter().map(|v| v * v).sum::<f64>().sqrt();
        v = next;
    }
    largest
}
