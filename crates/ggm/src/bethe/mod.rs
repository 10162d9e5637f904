//! Bethe approximations of Gaussian models: a closed form, and entropy maximisation by diagonal ascent. The objective
//! is
//!
//! ```text
//! H(C) = sum_(i,j) log(C_ii C_jj - C_ij^2) + sum_i (1 - deg i) log C_ii
//! ```
//!
//! Up to constants, `H(C)` is twice the Bethe entropy of a graph. `C` holds the covariances on the diagonal and on the
//! edges, and `deg i` is the degree of node `i`. On a tree, `H(C) = log det C`. The gradient of `H` is a precision
//! matrix in closed form. Source: A. Defazio, PhD thesis 2014, sections 9.2.2 to 9.2.4.

pub mod laplacian;
pub mod propagation;

use fenchel_linalg::Invalid;
use fenchel_optim::settings;
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::singular::unexplained;

/// The precision matrix that the Bethe entropy assigns to covariances on the diagonal and the edges (A. Defazio, PhD
/// thesis 2014, equation 9.3):
///
/// ```text
/// Theta_ij = -C_ij / (C_ii C_jj - C_ij^2)
/// Theta_ii = 1 / C_ii + sum_j [C_jj / (C_ii C_jj - C_ij^2) - 1 / C_ii]
/// ```
///
/// On a tree this is the exact maximum likelihood estimate. On a graph with cycles it need not be positive definite.
/// The cost is O(p^2) for writing the matrix, and O(E) for the computation.
///
/// # Errors
/// [`Invalid`] for edges beyond the matrix or given twice; [`Error::Unbounded`] for an edge whose covariances are singular up to
/// rounding.
pub fn closed_form(
    covariance: ArrayView2<f64>,
    edges: &[(u32, u32)],
) -> Result<Array2<f64>, Error> {
    let p = Invalid::check_square("covariance", covariance.dim())?;
    check_edges(p, edges)?;
    let diagonal: Vec<f64> = covariance.diag().to_vec();
    let mut precision = Array2::zeros((p, p));
    for i in 0..p {
        Invalid::check_positive("variance", diagonal[i])?;
        precision[[i, i]] = 1.0 / diagonal[i];
    }
    for &(i, j) in edges {
        let (i, j) = (i as usize, j as usize);
        // In correlations, so that no product leaves the range of the numbers.
        let (a, b) = (diagonal[i].sqrt(), diagonal[j].sqrt());
        let r = covariance[[i, j]] / a / b;
        let Some(det) = unexplained(r, p) else {
            let reason = "the covariances of an edge are singular";
            return Err(Error::Unbounded { what: "the Bethe entropy", reason });
        };
        precision[[i, j]] -= r / det / a / b;
        precision[[j, i]] = precision[[i, j]];
        precision[[i, i]] += r * r / det / diagonal[i];
        precision[[j, j]] += r * r / det / diagonal[j];
    }
    Ok(precision)
}

/// How the covariance of an edge is updated from the variances at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum UpdateRule {
    /// `Sigma_ij + (C_ii - Sigma_ii + C_jj - Sigma_jj) / 2`: keeps the variance of `x_i - x_j`.
    #[default]
    Corrected,
    /// The update without the factor 1/2, as in algorithm 9.1 of A. Defazio, PhD thesis 2014.
    AsPrinted,
}

/// How variances are updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum DiagonalStep {
    /// `C_ii *= exp((a / sqrt k) g_i C_ii)`, with the exponent clipped to `(-1/2, 1/2)`. It does not depend on units.
    #[default]
    Multiplicative,
    /// `C_ii += (a / sqrt k) g_i`, as in algorithm 9.1 of A. Defazio, PhD thesis 2014.
    Additive,
}

settings! {
    /// Settings of [`diagonal_ascent`].
    #[derive(Copy)]
    pub struct AscentSettings {
        /// The number of iterations; stopping early regularises.
        iterations: usize = 30,
        /// First step size.
        step: f64 = 0.3,
        /// How variances are updated.
        kind: DiagonalStep = DiagonalStep::Multiplicative,
        /// How covariances are updated.
        rule: UpdateRule = UpdateRule::Corrected,
        /// The relative gradient at which the ascent ends.
        tolerance: f64 = 1e-8,
    }
}

/// The result of [`diagonal_ascent`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ascent {
    /// Weights `w_ij = -Theta_ij >= 0`, one per edge.
    pub weights: Vec<f64>,
    /// Variances `C_ii`.
    pub variances: Vec<f64>,
    /// Iterations done.
    pub iterations: usize,
    /// `max_i |g_i C_ii|` at the end; 0 at a stationary point.
    pub gradient: f64,
}

/// Maximises the Bethe entropy subject to `C_ii + C_jj - 2 C_ij = Sigma_ii + Sigma_jj - 2 Sigma_ij` and `C_ij >= 0` on
/// every edge (A. Defazio, PhD thesis 2014, algorithm 9.1). This is the dual of fitting a graph Laplacian, and the
/// returned weights are those of the Laplacian.
///
/// `variances` are the `Sigma_ii`; `covariances` are the `Sigma_ij`, one per edge. An iteration costs O(E). At a
/// stationary point the rows of the precision matrix sum to 0, as those of a Laplacian do. On a tree the variances grow
/// without bound, and the weights tend to `1 / (Sigma_ii + Sigma_jj - 2 Sigma_ij)`. Components that are trees are
/// assigned this limit directly.
///
/// # Errors
/// [`Invalid`] for lengths that do not fit, edges beyond the nodes or given twice, variances that are not positive, and a step with
/// which the variances leave the range of the numbers.
pub fn diagonal_ascent(
    variances: &[f64],
    edges: &[(u32, u32)],
    covariances: &[f64],
    settings: &AscentSettings,
) -> Result<Ascent, Error> {
    check_pairs(variances, edges, covariances)?;
    Invalid::check_positive("step", settings.step)?;
    if settings.kind == DiagonalStep::Multiplicative {
        // Free of units: in those of the largest variance no product leaves the range of the numbers.
        let unit = variances.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let over = |values: &[f64]| values.iter().map(|v| v / unit).collect::<Vec<_>>();
        let mut found = ascend(&over(variances), edges, &over(covariances), settings)?;
        found.weights.iter_mut().for_each(|w| *w /= unit);
        found.variances.iter_mut().for_each(|v| *v *= unit);
        return Ok(found);
    }
    ascend(variances, edges, covariances, settings)
}

fn ascend(
    variances: &[f64],
    edges: &[(u32, u32)],
    covariances: &[f64],
    settings: &AscentSettings,
) -> Result<Ascent, Error> {
    let p = variances.len();
    let tree = tree_nodes(p, edges)?;
    let mut c = variances.to_vec();
    let mut pair: Vec<f64> = covariances.iter().map(|v| v.max(0.0)).collect();
    let mut weights = vec![0.0; edges.len()];
    let mut gradient = vec![0.0; p];
    let mut largest;
    let half = if settings.rule == UpdateRule::Corrected { 0.5 } else { 1.0 };
    let mut iterations = 0;
    loop {
        rows(&c, edges, &pair, &mut weights, &mut gradient);
        let size = (0..p).filter(|&i| !tree[i]).map(|i| (gradient[i] * c[i]).abs());
        largest = size.fold(0.0, f64::max);
        if iterations >= settings.iterations || largest <= settings.tolerance {
            break;
        }
        iterations += 1;
        let step = settings.step / (iterations as f64).sqrt();
        for i in 0..p {
            if tree[i] {
                continue;
            }
            match settings.kind {
                DiagonalStep::Multiplicative => {
                    c[i] *= (step * gradient[i] * c[i]).clamp(-0.5, 0.5).exp();
                }
                DiagonalStep::Additive => c[i] = (c[i] + step * gradient[i]).max(1e-8),
            }
        }
        for (e, &(i, j)) in edges.iter().enumerate() {
            let (i, j) = (i as usize, j as usize);
            let moved = c[i] - variances[i] + c[j] - variances[j];
            pair[e] = (covariances[e] + half * moved).max(0.0);
        }
    }
    for (e, &(i, j)) in edges.iter().enumerate() {
        let (i, j) = (i as usize, j as usize);
        if tree[i] {
            let spread = variances[i] + variances[j] - 2.0 * covariances[e];
            weights[e] = 1.0 / spread.max(1e-12 * (variances[i] + variances[j]));
        }
    }
    if !weights.iter().chain(&c).all(|v| v.is_finite()) || largest.is_nan() {
        let (name, value) = ("step", settings.step);
        let expected = "a smaller number: the variances left the range of the numbers";
        return Err(Invalid::Parameter { name, value, expected }.into());
    }
    Ok(Ascent { weights, variances: c, iterations, gradient: largest })
}

/// `H(C)`; `-inf` if the covariances of an edge are singular.
///
/// # Errors
/// [`Invalid`] for lengths that do not fit, edges beyond the nodes or given twice, variances that are not positive.
pub fn entropy(variances: &[f64], edges: &[(u32, u32)], covariances: &[f64]) -> Result<f64, Error> {
    check_pairs(variances, edges, covariances)?;
    Ok(entropy_of(variances, edges, covariances))
}

/// The same for arguments that are known to be valid.
pub(crate) fn entropy_of(variances: &[f64], edges: &[(u32, u32)], covariances: &[f64]) -> f64 {
    let mut sum: f64 = variances.iter().map(|v| v.ln()).sum();
    for (&(i, j), c) in edges.iter().zip(covariances) {
        let (a, b) = (variances[i as usize], variances[j as usize]);
        let r = c / a.sqrt() / b.sqrt();
        let Some(det) = unexplained(r, variances.len()) else { return f64::NEG_INFINITY };
        sum += det.ln();
    }
    sum
}

/// Weights `-Theta_ij` and row sums of the Bethe precision.
fn rows(c: &[f64], edges: &[(u32, u32)], pair: &[f64], weights: &mut [f64], sums: &mut [f64]) {
    sums.iter_mut().zip(c).for_each(|(s, c)| *s = 1.0 / c);
    for (e, &(i, j)) in edges.iter().enumerate() {
        let (i, j) = (i as usize, j as usize);
        let det = c[i] * c[j] - pair[e] * pair[e];
        if det <= 1e-12 * c[i] * c[j] {
            weights[e] = 0.0;
            continue;
        }
        weights[e] = pair[e] / det;
        sums[i] += c[j] / det - 1.0 / c[i] - weights[e];
        sums[j] += c[i] / det - 1.0 / c[j] - weights[e];
    }
}

pub(crate) fn check_pairs(
    variances: &[f64],
    edges: &[(u32, u32)],
    covariances: &[f64],
) -> Result<(), Error> {
    Invalid::check_length("covariances", edges.len(), covariances.len())?;
    Invalid::check_finite("covariances", covariances)?;
    for &v in variances {
        Invalid::check_positive("variance", v)?;
    }
    check_edges(variances.len(), edges)
}

/// Refuses edges that repeat, in either direction, loops, and nodes beyond `p`.
fn check_edges(p: usize, edges: &[(u32, u32)]) -> Result<(), Error> {
    let refused = |reason: String| Err(Invalid::Layout { what: "edges", reason }.into());
    if let Some((i, j)) = edges.iter().find(|e| e.0 == e.1 || e.0.max(e.1) as usize >= p) {
        return refused(format!("({i}, {j}) in a graph of {p} nodes"));
    }
    let mut pairs: Vec<_> = edges.iter().map(|&(i, j)| (i.min(j), i.max(j))).collect();
    pairs.sort_unstable();
    match pairs.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => refused(format!("({}, {}) is given twice", two[0].0, two[0].1)),
        None => Ok(()),
    }
}

/// Nodes of components without cycles.
pub(crate) fn tree_nodes(p: usize, edges: &[(u32, u32)]) -> Result<Vec<bool>, Error> {
    let graph = fenchel_graphical::Graph::new(p, edges.iter().copied())?;
    let mut tree = vec![false; p];
    for component in graph.components() {
        let ends: usize = component.iter().map(|&i| graph.neighbours(i).len()).sum();
        if ends == 2 * (component.len() - 1) {
            component.iter().for_each(|&i| tree[i as usize] = true);
        }
    }
    Ok(tree)
}
