//! Weights by classes: the form in which methods return them.

use crate::multiclass::sublinear::certificate::sparse_loss;
use crate::multiclass::{Multiclass, MulticlassLoss, Primal};

/// Weights by classes. Classes that are absent have weights 0.
pub(super) type Columns = Vec<(usize, Vec<f64>)>;

/// Where a fit begins.
pub(super) struct Start {
    pub(super) columns: Columns,
    /// Whether the weights are those of PDHG, and its dual variables.
    pub(super) exact: bool,
    pub(super) duals: Option<Vec<f64>>,
}

/// Converts a matrix by rows to its columns that are not all 0.
pub(super) fn by_classes(u: &[f64], k: usize) -> Columns {
    let d = u.len() / k;
    let mut columns: Vec<Vec<f64>> = vec![vec![]; k];
    for (i, row) in u.chunks_exact(k).enumerate() {
        for (column, v) in columns.iter_mut().zip(row).filter(|(_, v)| **v != 0.0) {
            if column.is_empty() {
                column.resize(d, 0.0);
            }
            column[i] = *v;
        }
    }
    columns.into_iter().enumerate().filter(|(_, column)| !column.is_empty()).collect()
}

/// Converts columns to a `d x k` matrix by rows.
pub(super) fn by_rows(columns: &Columns, d: usize, k: usize) -> Vec<f64> {
    let mut u = vec![0.0; d * k];
    for (class, column) in columns {
        column.iter().enumerate().for_each(|(i, v)| u[i * k + class] = *v);
    }
    u
}

/// The objective `P` of weights by classes.
pub(super) fn objective(problem: &Multiclass, columns: &Columns) -> f64 {
    let s = problem.samples();
    if problem.loss() == MulticlassLoss::Hinge && problem.geometry().primal == Primal::Entries {
        let norm: f64 = columns.iter().flat_map(|(_, c)| c).map(|u| u.abs()).sum();
        return sparse_loss(problem, columns) + problem.penalty() * norm;
    }
    problem.primal(&by_rows(columns, s.features(), s.classes()))
}

/// A radius that contains all weights with at most this objective. The penalty alone of larger weights exceeds it.
pub(super) fn within(radius: f64, penalty: f64, objective: f64) -> f64 {
    if penalty > 0.0 { radius.min(objective / penalty) } else { radius }
}
