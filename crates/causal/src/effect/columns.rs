//! The columns of x: standardised, and whether they tell the treatment.

use ndarray::{Array2, ArrayView1, ArrayView2};

/// Columns of mean 0 and variance 1 over all people, and how far the rounding of their entries moves them (the largest of all columns).
/// Columns that are constant up to rounding become 0. The fitted values do not change, but the regressions are better conditioned.
pub(super) fn standardised(x: ArrayView2<'_, f64>, weights: &[f64]) -> (Array2<f64>, f64) {
    let total: f64 = weights.iter().sum();
    let mut out = x.to_owned();
    let mut noise = f64::EPSILON;
    for mut column in out.columns_mut() {
        // Squares of the largest and of the smallest numbers would not be numbers. A power of two costs no digit.
        let largest = column.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        if largest > 0.0 {
            column /= largest.log2().floor().exp2();
        }
        // The second mean is the rounding of the first, which counts where a column is far from 0.
        for _ in 0..2 {
            let mean = column.iter().zip(weights).map(|(v, w)| v * w).sum::<f64>() / total;
            column -= mean;
        }
        let square = column.iter().zip(weights).map(|(v, w)| v * v * w).sum::<f64>() / total;
        // The largest entry was between 1 and 2.
        let deviation = square.sqrt();
        if deviation > 4.0 * f64::EPSILON {
            column /= deviation;
            noise = noise.max(2.0 * f64::EPSILON / deviation);
        } else {
            column.fill(0.0);
        }
    }
    (out, noise)
}

/// Whether the target is a linear combination of the columns and a constant on all rows with weight: what is left of it has the size
/// of rounding. Columns are made orthogonal one by one, twice for their digits: O(n d^2).
pub(super) fn spans(
    columns: ArrayView2<'_, f64>,
    target: ArrayView1<'_, f64>,
    weights: &[f64],
    noise: f64,
) -> bool {
    let tolerance = 64.0 * noise * (1.0 + columns.ncols() as f64);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let one = ndarray::Array1::ones(target.len());
    let all = std::iter::once(one.view()).chain(columns.columns()).chain([target]);
    let mut left = 0.0;
    for column in all {
        let mut v: Vec<f64> = column.iter().zip(weights).map(|(v, w)| v * w.sqrt()).collect();
        let norm = |v: &[f64]| v.iter().map(|e| e * e).sum::<f64>().sqrt();
        let before = norm(&v);
        for _ in 0..2 {
            for b in &basis {
                let dot: f64 = b.iter().zip(&v).map(|(a, b)| a * b).sum();
                v.iter_mut().zip(b).for_each(|(v, b)| *v -= dot * b);
            }
        }
        let after = norm(&v);
        left = if before > 0.0 { after / before } else { 0.0 };
        if left > tolerance {
            v.iter_mut().for_each(|e| *e /= after);
            basis.push(v);
        }
    }
    left <= tolerance
}
