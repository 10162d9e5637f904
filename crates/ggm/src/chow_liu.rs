//! The maximum likelihood tree.

use fenchel_graphical::graph::maximum_spanning_forest;
use fenchel_optim::{Certificate, Clock, Report, Status, Wall};
use ndarray::Array2;

use crate::bethe;
use crate::error::Error;
use crate::glasso::GlassoState;
use crate::model::GaussianModel;
use crate::statistics::{Scale, Statistics};
use crate::threshold::mutual_information;

/// The Gaussian tree model with the highest likelihood (the Chow-Liu tree). It is the spanning tree with the largest
/// sum of mutual informations; its precision matrix reproduces the variances and the covariances along the edges.
///
/// Pairs with correlation 0 are not joined. The model is exact: the objective `<C, Theta> - log det Theta` in its
/// certificate is the optimum over all trees. The cost is O(p^2 log p).
///
/// Source: Chow and Liu, IEEE Trans. Information Theory 14, 1968; A. Defazio, PhD thesis 2014, section 6.3.3.
///
/// # Errors
/// [`Error::ZeroVariance`]; [`Error::Unbounded`] for pairs whose correlation is perfect up to rounding.
///
/// Only the correlations of pairs count, because a tree has no cycles. So a matrix that is singular although no pair is, is refused by a
/// graphical lasso without penalty, and accepted here. Pairs are judged alike in both.
pub fn chow_liu(statistics: &Statistics) -> Result<GaussianModel, Error> {
    let (wall, p) = (Wall::start(), statistics.variables());
    let (correlation, units) = statistics.on(Scale::Correlation)?;
    let information = mutual_information(statistics);
    let mut pairs = Vec::new();
    for i in 0..p {
        for j in i + 1..p {
            let weight = information[[i, j]];
            if weight == f64::INFINITY {
                let reason = "two variables are perfectly correlated; leave one of them out";
                return Err(Error::Unbounded { what: "the tree", reason });
            }
            if weight > 0.0 {
                pairs.push((i as u32, j as u32, weight));
            }
        }
    }
    let forest = maximum_spanning_forest(p, &pairs)?;
    let edges: Vec<(u32, u32)> = forest.iter().map(|&e| (pairs[e].0, pairs[e].1)).collect();
    let precision: Array2<f64> = bethe::closed_form(correlation.view(), &edges)?;
    let state = GlassoState::from_precision(precision.view())?;
    let objective =
        (&correlation * &precision).sum() - state.log_det() + 2.0 * units.mapv(f64::ln).sum();
    let report = Report {
        status: Status::Converged,
        certificate: Certificate::gap(objective, objective),
        passes: 1.0,
        oracle_calls: 1,
        seconds: wall.seconds(),
    };
    let (mean, names) = (statistics.mean.clone(), statistics.names.clone());
    let covariance = state.covariance();
    Ok(GaussianModel { mean, names, precision, covariance, report }.in_units(&units))
}
