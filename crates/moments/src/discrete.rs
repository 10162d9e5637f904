//! Columns that have no density.

use ndarray::Array2;

use crate::blocks::Blocks;
use crate::spectrum::Warning;

/// Columns with a handful of values: no density, no score.
pub(crate) fn discrete_columns(data: &dyn Blocks) -> Vec<Warning> {
    const FEW: usize = 5;
    let (n, d) = (data.count(), data.width());
    let mut seen: Vec<Vec<f64>> = vec![vec![]; d];
    let mut row = Array2::zeros((1, d));
    let sampled = n.min(512);
    for k in 0..sampled {
        data.read(k * n / sampled, row.view_mut());
        for (values, &v) in seen.iter_mut().zip(row.row(0)) {
            if values.len() <= FEW && !values.contains(&v) {
                values.push(v);
            }
        }
    }
    let few = |(column, values): (usize, Vec<f64>)| {
        (values.len() <= FEW && sampled > 4 * FEW)
            .then_some(Warning::Discrete { column, values: values.len() })
    };
    seen.into_iter().enumerate().filter_map(few).collect()
}
