//! Means over nearest neighbours.

use fenchel_metrics::r2;
use ndarray::{ArrayView1, ArrayView2};

use crate::Error;

/// R2 of numbers relative to the largest, so that no square overflows or vanishes.
pub(crate) fn scaled_r2(values: &[f64], predicted: &[f64]) -> Result<f64, Error> {
    let largest = values.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let scaled = |v: &[f64]| v.iter().map(|v| v / largest).collect::<Vec<f64>>();
    Ok(r2(&scaled(values), &scaled(predicted))?)
}

/// The mean response of the `count` rows that are nearest to `point`; ties go to the earlier row.
pub(crate) fn nearest_mean(
    rows: ArrayView2<f64>,
    values: &[f64],
    point: ArrayView1<f64>,
    count: usize,
) -> f64 {
    let mut near: Vec<(f64, usize)> = rows
        .rows()
        .into_iter()
        .enumerate()
        .map(|(i, row)| (row.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f64>(), i))
        .collect();
    let count = count.min(near.len());
    if count == 0 {
        return 0.0;
    }
    near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    near[..count].iter().map(|&(_, i)| values[i]).sum::<f64>() / count as f64
}
