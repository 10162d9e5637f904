//! This module has seven methods that rank the pairs of variables. A pair with a higher rank is more likely to be an
//! edge.

use fenchel_ggm::neighbourhood::{SupportRule, neighbourhood_scores};
use fenchel_ggm::path::grid;
use fenchel_ggm::shortcut::shortcut;
use fenchel_ggm::threshold::{conditional_covariance, correlation_scores};
use fenchel_ggm::{GraphicalLasso, PenaltyWeights, Statistics};
use ndarray::Array2;

use crate::{Context, Failure};

pub(super) const METHODS: [&str; 7] = [
    "SHORTCUT",
    "CCT 1",
    "CCT 2",
    "correlation",
    "L1",
    "neighbourhoods, union",
    "neighbourhoods, intersection",
];

/// Pairs of variables, those of the largest scores first.
pub(super) fn ranked(scores: &Array2<f64>) -> Vec<(f64, u32, u32)> {
    let p = scores.nrows();
    let pairs = (0..p).flat_map(|i| (i + 1..p).map(move |j| (i, j)));
    let mut ranked: Vec<_> = pairs.map(|(i, j)| (scores[[i, j]], i as u32, j as u32)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked
}

/// Computes one score per pair of variables. The score is 0 if nothing indicates an edge, and with a frozen method.
pub(super) fn scores(
    context: &Context,
    method: &str,
    statistics: &Statistics,
) -> Result<Array2<f64>, Failure> {
    let (c, _) = statistics.correlation();
    if context.is_frozen(method) {
        return Ok(Array2::zeros(c.raw_dim()));
    }
    let penalties = grid(1.0, 0.01, 60)?;
    Ok(match method {
        "SHORTCUT" => shortcut(c.view())?,
        "CCT 1" => conditional_covariance(statistics, 1, false)?,
        "CCT 2" => conditional_covariance(statistics, 2, false)?,
        "correlation" => correlation_scores(statistics),
        "L1" => {
            let lasso =
                GraphicalLasso { l1: PenaltyWeights::Uniform(1.0), ..GraphicalLasso::default() };
            let path = lasso.fit_path(statistics, &grid(0.9, 0.02, 40)?)?;
            let mut scores = Array2::zeros(c.raw_dim());
            // The penalty at which an edge enters, then its size.
            for point in &path.points {
                for &(i, j, x) in &point.precision.edges {
                    let at = [i as usize, j as usize];
                    if scores[at] == 0.0 {
                        scores[at] = point.l1 + 1e-6 * x.abs().min(1.0);
                        scores[[at[1], at[0]]] = scores[at];
                    }
                }
            }
            scores
        }
        "neighbourhoods, union" => {
            neighbourhood_scores(statistics, &penalties, SupportRule::Union)?
        }
        _ => neighbourhood_scores(statistics, &penalties, SupportRule::Intersection)?,
    })
}
