//! Means over nearest neighbours.

use fenchel_metrics::r2;
use ndarray::{ArrayView1, ArrayView2};

use crate::error::Error;

/// R2 of numbers relative to the largest, so that no square overflows or vanishes.
pub(crate) fn scaled_r2(values: &[f64], predicted: &[f64]) -> Result<f64, Error> {
    let largest = values.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let scaled = |v: &[f64]| v.iter().map(|v| v / largest).collect::<Vec<f64>>();
    Ok(r2(&scaled(values), &scaled(predicted))?)
}

/// `|a_i - p|^2 - |a_0 - p|^2` of every row `a_i`, for the row `a_0` that is nearest to `p`. Far from all rows the squares
/// agree in all their digits; the difference is computed as `(a_i - a_0)(a_i + a_0 - 2 p)`, which does not cancel.
pub(crate) fn beyond_nearest(rows: ArrayView2<f64>, point: ArrayView1<f64>) -> Vec<f64> {
    let distance = |row: ArrayView1<f64>| -> f64 {
        row.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let mut nearest = (f64::INFINITY, 0);
    for (i, row) in rows.rows().into_iter().enumerate() {
        let found = distance(row);
        if found < nearest.0 {
            nearest = (found, i);
        }
    }
    let Some(base) = rows.rows().into_iter().nth(nearest.1) else { return vec![] };
    let beyond = |row: ArrayView1<f64>| -> f64 {
        let terms = row.iter().zip(base).zip(point);
        terms.map(|((a, b), p)| (a - b) * ((a - p) + (b - p))).sum()
    };
    rows.rows().into_iter().map(beyond).collect()
}

/// The mean response of the `count` rows that are nearest to `point`; ties go to the earlier row.
pub(crate) fn nearest_mean(
    rows: ArrayView2<f64>,
    values: &[f64],
    point: ArrayView1<f64>,
    count: usize,
) -> f64 {
    let mut near: Vec<(f64, usize)> =
        beyond_nearest(rows, point).into_iter().enumerate().map(|(i, d)| (d, i)).collect();
    let count = count.min(near.len());
    if count == 0 {
        return 0.0;
    }
    near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    near[..count].iter().map(|&(_, i)| values[i]).sum::<f64>() / count as f64
}
