//! Precision matrices that are graph Laplacians: `Theta_ij = -w_ij`, `Theta_ii = sum_j w_ij`, `w >= 0`.
//!
//! Every constant vector on a connected component is in the null space of the matrix, so it is singular. If one node
//! per component is removed, it is positive definite. So differences within a component, and conditional distributions
//! given one node per component, are proper (A. Defazio, PhD thesis 2014, theorem 9.2). There are two ways to learn the
//! weights from the variances `v_ij` of `x_i - x_j` along the edges:
//!
//! ```text
//! exact ML    max_w  log pdet Laplacian(w) - sum w_ij v_ij          at the optimum the effective resistances are v_ij
//! Bethe ML    the same with the Bethe approximation of log Z, by Gaussian belief propagation
//! ```
//!
//! Both problems are solved over `log w` by L-BFGS, so a weight can approach the bound `w = 0` but never reaches it.
//! Source: A. Defazio, PhD thesis 2014, sections 9.1.1, 9.3 and 9.8.

use fenchel_linalg::{Invalid, factor};
use fenchel_optim::lbfgs::{LbfgsSettings, Smooth, lbfgs};
use fenchel_optim::{Certificate, Clock, MAX_MEMORY, Report, Status, Wall};
use ndarray::{Array2, ArrayView2};

use crate::bethe::propagation::gaussian_belief_propagation;
use crate::error::{Error, check_memory};

/// The weights of a Laplacian, one per edge, and the report of the fit.
#[derive(Debug, Clone, PartialEq)]
pub struct LaplacianFit {
    /// `w`, positive.
    pub weights: Vec<f64>,
    /// The report of the fit; its certificate is the norm of the gradient in `log w`.
    pub report: Report,
}

/// The Laplacian with these weights. It is the precision matrix of an improper model, in which only differences have a
/// distribution.
///
/// # Errors
/// [`Invalid`] for lengths that do not fit, edges that are no pairs of nodes below `p`, and weights that are negative or not finite.
pub fn matrix(p: usize, edges: &[(u32, u32)], weights: &[f64]) -> Result<Array2<f64>, Error> {
    Invalid::check_length("weights", edges.len(), weights.len())?;
    check_edges(p, edges)?;
    let mut out = Array2::zeros((p, p));
    for (&(i, j), &w) in edges.iter().zip(weights) {
        Invalid::check_nonnegative("weight of an edge", w)?;
        let (i, j) = (i as usize, j as usize);
        out[[i, i]] += w;
        out[[j, j]] += w;
        out[[i, j]] -= w;
        out[[j, i]] -= w;
    }
    Ok(out)
}

/// The edges and weights `(i, j, w)`, with `i < j` and ascending, of a matrix that is a Laplacian. A Laplacian is
/// symmetric, has no positive entry off the diagonal, and its rows sum to 0 up to rounding.
///
/// # Errors
/// [`Invalid`] that names the first entry or row that is not so.
pub fn weights(precision: ArrayView2<f64>) -> Result<Vec<(u32, u32, f64)>, Error> {
    let what = "Laplacian";
    let p = Invalid::check_square(what, precision.dim())?;
    let refused = |reason: String| Err(Invalid::Layout { what, reason }.into());
    let mut found = Vec::new();
    for i in 0..p {
        let (mut sum, mut size) = (0.0, 0.0);
        for j in 0..p {
            let (value, mirror) = (precision[[i, j]], precision[[j, i]]);
            if !value.is_finite() {
                return Err(Invalid::NonFinite { what, row: i, column: j, value }.into());
            }
            if (value - mirror).abs() > 1e-10 * value.abs().max(mirror.abs()) {
                return refused(format!("entry ({i}, {j}) is {value} but ({j}, {i}) is {mirror}"));
            }
            if i != j && value > 0.0 {
                return refused(format!("entry ({i}, {j}) is {value}; expected none above 0"));
            }
            if j > i && value < 0.0 {
                found.push((i as u32, j as u32, -value));
            }
            sum += value;
            size += value.abs();
        }
        if sum.abs() > 1e-10 * size {
            return refused(format!("row {i} adds up to {sum}; expected 0"));
        }
    }
    Ok(found)
}

/// The report for weights in closed form.
fn known(wall: Wall) -> Report {
    Report {
        status: Status::Converged,
        certificate: Certificate::Residual { objective: None, norm: 0.0, error: 0.0, scale: None },
        passes: 0.0,
        oracle_calls: 0,
        seconds: wall.seconds(),
    }
}

fn check(p: usize, edges: &[(u32, u32)], spread: &[f64]) -> Result<(), Error> {
    Invalid::check_length("variances of differences", edges.len(), spread.len())?;
    for &v in spread {
        Invalid::check_positive("variance of a difference", v)?;
    }
    check_edges(p, edges)
}

fn check_edges(p: usize, edges: &[(u32, u32)]) -> Result<(), Error> {
    match edges.iter().find(|e| e.0 == e.1 || e.0.max(e.1) as usize >= p) {
        Some((i, j)) => {
            let reason = format!("({i}, {j}) in a graph of {p} nodes");
            Err(Invalid::Layout { what: "edges", reason }.into())
        }
        None => Ok(()),
    }
}

/// Exact maximum likelihood. Every evaluation costs a dense factorisation, O(p^3).
///
/// On a tree, `w_ij = 1 / v_ij`. At the optimum, `sum w v` is the number of nodes minus the number of components.
///
/// # Errors
/// [`Invalid`] for lengths that do not fit or variances that are not positive; [`Error::Refused`] beyond 4 GiB.
pub fn exact(
    p: usize,
    edges: &[(u32, u32)],
    spread: &[f64],
    settings: &LbfgsSettings,
) -> Result<LaplacianFit, Error> {
    let wall = Wall::start();
    check(p, edges, spread)?;
    check_memory("exact Laplacians", 3 * (p as u64).pow(2), MAX_MEMORY, "take fewer nodes")?;
    let graph = fenchel_graphical::Graph::new(p, edges.iter().copied())?;
    let mut component = vec![(0, 1.0); p];
    for (c, nodes) in graph.components().iter().enumerate() {
        nodes.iter().for_each(|&i| component[i as usize] = (c, nodes.len() as f64));
    }
    // In units in which spreads are about 1: the objective, which the stopping rule looks at, has logarithms of them.
    let unit = spread.iter().map(|v| v.ln() / spread.len() as f64).sum::<f64>().exp();
    let spread: Vec<f64> = spread.iter().map(|v| v / unit).collect();
    let start: Vec<f64> = spread.iter().map(|v| -v.ln()).collect();
    let function = Exact { p, edges, spread: &spread, component, inverse: vec![0.0; p * p] };
    if edges.is_empty() {
        return Ok(LaplacianFit { weights: Vec::new(), report: known(wall) });
    }
    let solution = lbfgs(function, settings, start, &mut ())?;
    let weights = solution.state.point.iter().map(|t| t.exp() / unit).collect();
    Ok(LaplacianFit { weights, report: solution.report })
}

struct Exact<'a> {
    p: usize,
    edges: &'a [(u32, u32)],
    spread: &'a [f64],
    component: Vec<(usize, f64)>,
    inverse: Vec<f64>,
}

impl Smooth for Exact<'_> {
    fn dimension(&self) -> usize {
        self.edges.len()
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let p = self.p;
        let mut matrix = vec![0.0; p * p];
        // A constant on every component makes the Laplacian positive definite and leaves resistances alone.
        let mean = x.iter().map(|t| t.exp()).sum::<f64>() / p as f64;
        for i in 0..p {
            for j in 0..p {
                if self.component[i].0 == self.component[j].0 {
                    matrix[i * p + j] = mean / self.component[i].1;
                }
            }
        }
        let mut linear = 0.0;
        for ((&(i, j), t), v) in self.edges.iter().zip(x).zip(self.spread) {
            let (i, j, w) = (i as usize, j as usize, t.exp());
            matrix[i * p + i] += w;
            matrix[j * p + j] += w;
            matrix[i * p + j] -= w;
            matrix[j * p + i] -= w;
            linear += w * v;
        }
        let Ok(factor) = factor::cholesky_in_place(matrix, p) else { return f64::INFINITY };
        factor::inverse_into(&factor, &mut self.inverse);
        let count = self.component.iter().map(|c| c.0).max().map_or(0, |c| c + 1) as f64;
        for (e, &(i, j)) in self.edges.iter().enumerate() {
            let (i, j) = (i as usize, j as usize);
            let inverse = &self.inverse;
            let resistance = inverse[i * p + i] + inverse[j * p + j] - 2.0 * inverse[i * p + j];
            gradient[e] = x[e].exp() * (self.spread[e] - resistance);
        }
        linear - (factor.log_det() - count * mean.ln())
    }
}

/// Maximum likelihood with the Bethe approximation of the partition function. Its stationary points are those of
/// [`diagonal_ascent`](crate::bethe::diagonal_ascent). `ridge` is added to the diagonal, as a fraction of it; it must
/// be positive so that the messages converge. Components that are trees get their exact weights `1 / v_ij`.
///
/// # Errors
/// As [`exact`].
pub fn bethe(
    p: usize,
    edges: &[(u32, u32)],
    spread: &[f64],
    ridge: f64,
    settings: &LbfgsSettings,
) -> Result<LaplacianFit, Error> {
    let wall = Wall::start();
    check(p, edges, spread)?;
    Invalid::check_positive("ridge", ridge)?;
    // On a tree the approximation is exact, and the weights are known.
    let tree = crate::bethe::tree_nodes(p, edges)?;
    let of_tree = |e: usize| tree[edges[e].0 as usize];
    let kept: Vec<usize> = (0..edges.len()).filter(|&e| !of_tree(e)).collect();
    let all_edges = edges;
    let mut weights: Vec<f64> = spread.iter().map(|v| 1.0 / v).collect();
    let edges: Vec<(u32, u32)> = kept.iter().map(|&e| all_edges[e]).collect();
    let spread: Vec<f64> = kept.iter().map(|&e| spread[e]).collect();
    let (edges, spread) = (edges.as_slice(), spread.as_slice());
    let function = Bethe { p, edges, spread, ridge };
    let mut degree = vec![0.0_f64; p];
    for &(i, j) in edges {
        degree[i as usize] += 1.0;
        degree[j as usize] += 1.0;
    }
    // The resistance of an edge is at most its own, and about 2/(mean degree) of it: start there.
    let start: Vec<f64> = edges
        .iter()
        .zip(spread)
        .map(|(&(i, j), v)| {
            let share = 1.0 / degree[i as usize] + 1.0 / degree[j as usize];
            (share.min(1.0) / v).ln()
        })
        .collect();
    if kept.is_empty() {
        return Ok(LaplacianFit { weights, report: known(wall) });
    }
    let solution = lbfgs(function, settings, start, &mut ())?;
    kept.iter().zip(&solution.state.point).for_each(|(&e, t)| weights[e] = t.exp());
    Ok(LaplacianFit { weights, report: solution.report })
}

struct Bethe<'a> {
    p: usize,
    edges: &'a [(u32, u32)],
    spread: &'a [f64],
    ridge: f64,
}

impl Smooth for Bethe<'_> {
    fn dimension(&self) -> usize {
        self.edges.len()
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let mut diagonal = vec![0.0; self.p];
        let mut edges = Vec::with_capacity(x.len());
        let mut linear = 0.0;
        for ((&(i, j), t), v) in self.edges.iter().zip(x).zip(self.spread) {
            let w = t.exp();
            diagonal[i as usize] += w;
            diagonal[j as usize] += w;
            edges.push((i, j, -w));
            linear += w * v;
        }
        diagonal.iter_mut().for_each(|d| *d = if *d > 0.0 { *d * (1.0 + self.ridge) } else { 1.0 });
        let b = vec![0.0; self.p];
        let Ok(beliefs) = gaussian_belief_propagation(&diagonal, &edges, &b, 1e-10, 2000) else {
            return f64::INFINITY;
        };
        let c = &beliefs.covariance;
        let entropy = crate::bethe::entropy_of(&beliefs.variance, self.edges, c);
        let mut energy: f64 = diagonal.iter().zip(&beliefs.variance).map(|(d, c)| d * c).sum();
        for (&(_, _, theta), c) in edges.iter().zip(c) {
            energy += 2.0 * theta * c;
        }
        for (e, &(i, j)) in self.edges.iter().enumerate() {
            let (ci, cj) = (beliefs.variance[i as usize], beliefs.variance[j as usize]);
            let model = (1.0 + self.ridge) * (ci + cj) - 2.0 * c[e];
            gradient[e] = x[e].exp() * (self.spread[e] - model);
        }
        linear + entropy - energy
    }
}
