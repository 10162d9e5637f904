//! Scale-free graphs, samples of their models, and the penalties that are compared on them.

use fenchel_ggm::glasso::GlassoSettings;
use fenchel_ggm::reweighted::liu_ihler;
use fenchel_ggm::scale_free::DegreePrior;
use fenchel_ggm::synthetic::diagonally_dominant;
use fenchel_ggm::{Error, GraphicalLasso, PenaltyWeights, Scale, ScaleFree, Statistics, sample};
use fenchel_optim::Stop;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2};

/// The statistics of `n` samples of a model of `p` variables with the same weight on every edge.
pub(super) fn sampled(
    (p, n): (usize, usize),
    edges: &[(u32, u32)],
    weight: f64,
    seed: u64,
) -> Result<Statistics, Error> {
    let theta = diagonally_dominant(p, edges, weight);
    Statistics::from_data(&sample(theta.view(), &Array1::zeros(p), n, &mut stream(seed, 1))?)
}

/// A penalty of the precision matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Penalty {
    L1,
    Reweighted { eps: f64 },
    Free(DegreePrior),
}

impl Penalty {
    /// The precision matrix at a level of the penalty. For a degree prior it is that of the edge `edge` of a node; the l1 norm is
    /// reweighted in `rounds` rounds.
    pub(super) fn precision(
        &self,
        statistics: &Statistics,
        level: f64,
        (rounds, edge): (usize, usize),
        stop: Stop,
    ) -> Result<Array2<f64>, Error> {
        Ok(match self {
            Penalty::L1 => {
                let l1 = PenaltyWeights::Uniform(level);
                GraphicalLasso { l1, stop, ..GraphicalLasso::default() }.fit(statistics)?.precision
            }
            Penalty::Reweighted { eps } => {
                let settings = GlassoSettings { stop, ..GlassoSettings::default() };
                let (scale, l1) = (Scale::Correlation, level * (1.0 + eps));
                liu_ihler(statistics, scale, l1, 0.0, *eps, rounds, &settings)?.model.precision
            }
            Penalty::Free(prior) => {
                let strength = level / prior.increments(statistics.variables())?[edge];
                let prior = prior.clone();
                let free = ScaleFree { prior, strength, stop, ..ScaleFree::default() };
                free.fit(statistics)?.precision
            }
        })
    }
}
