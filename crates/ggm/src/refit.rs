//! Maximum likelihood on a known graph.

use fenchel_graphical::Graph;
use fenchel_linalg::Invalid;
use ndarray::Array2;

use crate::error::Error;
use crate::glasso::{GlassoSettings, graphical_lasso};
use crate::model::GaussianModel;
use crate::penalty::PenaltyWeights;
use crate::problem::Problem;
use crate::statistics::Statistics;

/// Dempster's covariance selection: the maximum likelihood precision matrix with zeros outside a graph.
///
/// ```text
/// min <C, Theta> - log det Theta   with Theta_ij = 0 where i and j are not joined
/// ```
///
/// At the optimum, the covariances of the model equal those of the sample on the edges and on the diagonal. The problem
/// is solved as a [graphical lasso](graphical_lasso) with the weights 0 and infinity. `ridge` is added to the
/// variances, as a fraction of each.
///
/// Source: Dempster, Biometrics 28, 1972; A. Defazio, PhD thesis 2014, section 8.3.2.
///
/// # Errors
/// [`Error::Unbounded`] if the likelihood has no maximum (too few samples for the cliques; set `ridge`); [`Invalid`] for a graph of
/// another size or a negative ridge.
pub fn refit(
    statistics: &Statistics,
    graph: &Graph,
    ridge: f64,
    settings: &GlassoSettings,
) -> Result<GaussianModel, Error> {
    let p = statistics.variables();
    Invalid::check_length("nodes of the graph", p, graph.nodes())?;
    Invalid::check_nonnegative("ridge", ridge)?;
    let mut covariance = statistics.covariance.clone();
    covariance.diag_mut().mapv_inplace(|v| v * (1.0 + ridge));
    let mut weights = Array2::from_elem((p, p), f64::INFINITY);
    weights.diag_mut().fill(0.0);
    for (i, j) in graph.edges() {
        weights[[i as usize, j as usize]] = 0.0;
        weights[[j as usize, i as usize]] = 0.0;
    }
    let weights = PenaltyWeights::Each(weights);
    let problem = Problem::new(covariance.view(), &weights)?;
    let solution = graphical_lasso(&problem, settings, None, &mut ())?;
    if solution.report.certificate.value() == f64::INFINITY {
        let reason = "too few samples for the cliques of the graph; set a ridge";
        return Err(Error::Unbounded { what: "the likelihood on this graph", reason });
    }
    Ok(GaussianModel {
        mean: statistics.mean.clone(),
        names: statistics.names.clone(),
        precision: solution.state.precision(),
        covariance: solution.state.covariance(),
        report: solution.report,
    })
}
