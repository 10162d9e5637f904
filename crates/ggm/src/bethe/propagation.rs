//! Gaussian belief propagation: approximate means and variances by message passing, with the messages
//!
//! ```text
//! P_ij = -Theta_ij^2 / (Theta_ii + sum_(k != j) P_ki),   h_ij = -Theta_ij (b_i + sum_(k != j) h_ki) / (Theta_ii + sum_(k != j) P_ki)
//! ```
//!
//! When the messages have converged, the means are exact. The messages converge for walk-summable models, which include
//! the diagonally dominant ones. Variances are exact on trees; on graphs with cycles they are too small if all partial
//! correlations are positive. An iteration costs O(E).
//!
//! Source: Weiss and Freeman, Neural Computation 13, 2001; A. Defazio, PhD thesis 2014, sections 9.3 and 9.7.

use fenchel_linalg::Invalid;

use crate::error::Error;

/// The result of belief propagation.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianBeliefs {
    /// `Theta^-1 b`.
    pub mean: Vec<f64>,
    /// Approximate marginal variances.
    pub variance: Vec<f64>,
    /// Approximate covariances, one per edge.
    pub covariance: Vec<f64>,
    /// Iterations done.
    pub iterations: usize,
    /// Largest relative change of a message in the last iteration.
    pub change: f64,
}

/// Synchronous belief propagation on a precision matrix, given by its diagonal and its edges `(i, j, Theta_ij)`, with
/// the potential `b`. It ends when no message changes by more than `tolerance`, relative to its size, or after
/// `max_iterations`. In the latter case [`change`](GaussianBeliefs::change) is still above the tolerance (infinite if
/// there was no iteration).
///
/// # Errors
/// [`Invalid`] for lengths and nodes that do not fit and a tolerance that is negative or not finite; [`Error::NotWalkSummable`] for a message without positive precision.
pub fn gaussian_belief_propagation(
    diagonal: &[f64],
    edges: &[(u32, u32, f64)],
    b: &[f64],
    tolerance: f64,
    max_iterations: usize,
) -> Result<GaussianBeliefs, Error> {
    let p = diagonal.len();
    Invalid::check_nonnegative("tolerance", tolerance)?;
    Invalid::check_length("b", p, b.len())?;
    Invalid::check_finite("diagonal", diagonal)?;
    Invalid::check_finite("b", b)?;
    for &(i, j, value) in edges {
        if i == j || i.max(j) as usize >= p || !value.is_finite() {
            let reason = format!("({i}, {j}, {value}) in a model of {p} variables");
            return Err(Invalid::Layout { what: "edges", reason }.into());
        }
    }
    // Message 2 e goes from the first end to the second, 2 e + 1 back.
    let mut precision = vec![0.0; 2 * edges.len()];
    let mut potential = vec![0.0; 2 * edges.len()];
    let (mut total_p, mut total_h) = (vec![0.0; p], vec![0.0; p]);
    let mut change = f64::INFINITY;
    let mut iterations = 0;
    while iterations < max_iterations && change > tolerance {
        iterations += 1;
        total_p.copy_from_slice(diagonal);
        total_h.copy_from_slice(b);
        for (e, &(i, j, _)) in edges.iter().enumerate() {
            total_p[j as usize] += precision[2 * e];
            total_h[j as usize] += potential[2 * e];
            total_p[i as usize] += precision[2 * e + 1];
            total_h[i as usize] += potential[2 * e + 1];
        }
        change = 0.0;
        for (e, &(i, j, theta)) in edges.iter().enumerate() {
            let (old, back) = (
                [precision[2 * e], potential[2 * e]],
                [precision[2 * e + 1], potential[2 * e + 1]],
            );
            for (at, from, reverse) in [(2 * e, i as usize, back), (2 * e + 1, j as usize, old)] {
                let cavity = total_p[from] - reverse[0];
                if !(cavity > 0.0) {
                    return Err(Error::NotWalkSummable { node: from });
                }
                let (new_p, new_h) =
                    (-theta * theta / cavity, -theta * (total_h[from] - reverse[1]) / cavity);
                let moved = (new_p - precision[at]).abs() / diagonal[from].abs();
                let pushed = (new_h - potential[at]).abs() / (1.0 + new_h.abs());
                change = f64::max(change, moved.max(pushed));
                precision[at] = new_p;
                potential[at] = new_h;
            }
        }
    }
    total_p.copy_from_slice(diagonal);
    total_h.copy_from_slice(b);
    for (e, &(i, j, _)) in edges.iter().enumerate() {
        total_p[j as usize] += precision[2 * e];
        total_h[j as usize] += potential[2 * e];
        total_p[i as usize] += precision[2 * e + 1];
        total_h[i as usize] += potential[2 * e + 1];
    }
    if let Some(node) = total_p.iter().position(|&t| !(t > 0.0)) {
        return Err(Error::NotWalkSummable { node });
    }
    let covariance = edges
        .iter()
        .enumerate()
        .map(|(e, &(i, j, theta))| {
            let a = total_p[i as usize] - precision[2 * e + 1];
            let c = total_p[j as usize] - precision[2 * e];
            -theta / (a * c - theta * theta)
        })
        .collect();
    Ok(GaussianBeliefs {
        mean: total_h.iter().zip(&total_p).map(|(h, p)| h / p).collect(),
        variance: total_p.iter().map(|p| 1.0 / p).collect(),
        covariance,
        iterations,
        change,
    })
}
