//! The exact solution of one row of the proximal problem.

use fenchel_linalg::Invalid;

use crate::error::Error;
use crate::scale_free::penalty::falling;

/// The sorted order of a row's entries, kept between calls. It changes little between iterations, so correcting it
/// costs O(p) instead of a full sort.
#[derive(Debug, Clone, Default)]
pub struct RowOrder {
    order: Vec<u32>,
    sums: Vec<(f64, u32)>,
}

/// `argmin_x scale sum_k h'(k) |x|_(k) + ||x - w||^2 / 2` for falling increments `h'`; writes `x` to `out`.
///
/// The proximal operator of the sorted l1 norm (A. Defazio, PhD thesis 2014, algorithm 7.2). The algorithm sorts the
/// absolute values in decreasing order, subtracts `scale h'`, pools adjacent violators of the decreasing order, sets
/// negative values to 0, and restores the signs. The cost is O(p log p), or O(p) if the order is nearly that of the
/// last call.
///
/// # Errors
/// [`Invalid`] for fewer increments than entries, an output of the wrong length, entries that are not finite, and increments or a scale that are
/// negative or not finite, or increments that rise.
pub fn row_prox(
    w: &[f64],
    increments: &[f64],
    scale: f64,
    out: &mut [f64],
    order: &mut RowOrder,
) -> Result<(), Error> {
    Invalid::check_finite("row", w)?;
    Invalid::check_length("output", w.len(), out.len())?;
    Invalid::check_nonnegative("scale", scale)?;
    let Some(used) = increments.get(..w.len()) else {
        let (what, expected, found) = ("increments", w.len(), increments.len());
        return Err(Invalid::Length { what, expected, found }.into());
    };
    let mut last = f64::INFINITY;
    for &value in used {
        Invalid::check_nonnegative("increment", value)?;
        if value > last {
            let expected = "increments that do not rise";
            return Err(Invalid::Parameter { name: "increment", value, expected }.into());
        }
        last = value;
    }
    let largest = w.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
    if largest * w.len() as f64 <= f64::MAX {
        pooled(w, used, scale, out, order);
    } else {
        // Sums of the entries would overflow: the same problem in units of 2^64.
        let unit = 2.0_f64.powi(64);
        let less: Vec<f64> = w.iter().map(|w| w / unit).collect();
        pooled(&less, used, scale / unit, out, order);
        out.iter_mut().for_each(|x| *x *= unit);
    }
    Ok(())
}

/// [`row_prox`] without checks. If the lengths differ, the shortest is used.
fn pooled(w: &[f64], increments: &[f64], scale: f64, out: &mut [f64], order: &mut RowOrder) {
    let n = w.len().min(increments.len()).min(out.len());
    let RowOrder { order, sums } = order;
    if order.len() != n {
        order.clear();
        order.extend(0..n as u32);
    }
    sort(order, w);
    sums.clear();
    for (&k, h) in order.iter().zip(increments) {
        let mut block = (w[k as usize].abs() - scale * h, 1_u32);
        // While the block before is not larger in the mean.
        while let Some(&(sum, count)) = sums.last() {
            if sum * f64::from(block.1) > block.0 * f64::from(count) {
                break;
            }
            sums.pop();
            block = (sum + block.0, count + block.1);
        }
        // Whatever follows a block of mean 0 or less is pooled with it or below it: all zeros.
        sums.push(block);
    }
    let mut at = 0;
    for &(sum, count) in sums.iter() {
        let mean = (sum / f64::from(count)).max(0.0);
        for &k in &order[at..at + count as usize] {
            out[k as usize] = if mean > 0.0 { mean.copysign(w[k as usize]) } else { 0.0 };
        }
        at += count as usize;
    }
}

/// By falling size: insertions while they are few, then a sort.
fn sort(order: &mut [u32], w: &[f64]) {
    let size = |k: u32| w[k as usize].abs();
    let mut budget = 4 * order.len();
    for i in 1..order.len() {
        let moving = order[i];
        let value = size(moving);
        let mut j = i;
        while j > 0 && size(order[j - 1]) < value {
            order[j] = order[j - 1];
            j -= 1;
        }
        order[j] = moving;
        budget = budget.saturating_sub(i - j);
        if budget == 0 {
            order.sort_unstable_by(|&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
            return;
        }
    }
}

/// The norm of one row of a symmetric matrix. The penalty is the sum of this norm over the rows.
#[derive(Debug, Clone)]
pub(crate) enum RowNorm {
    /// `sum_k h'(k) |x|_(k)` off the diagonal, by the increments `h'`.
    Sorted(Vec<f64>),
    /// `||x||_2`, with the entry on the diagonal or without.
    Euclidean {
        /// Whether the diagonal is part of the row.
        diagonal: bool,
    },
}

impl RowNorm {
    /// Whether the entry on the diagonal is part of a row.
    pub(super) fn has_diagonal(&self) -> bool {
        matches!(self, RowNorm::Euclidean { diagonal: true })
    }

    /// `argmin_x scale norm(x) + ||x - w||^2 / 2`.
    pub(super) fn prox(&self, w: &[f64], scale: f64, out: &mut [f64], order: &mut RowOrder) {
        match self {
            RowNorm::Sorted(increments) => pooled(w, increments, scale, out, order),
            RowNorm::Euclidean { .. } => {
                let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
                let keep = if norm > scale { 1.0 - scale / norm } else { 0.0 };
                out.iter_mut().zip(w).for_each(|(x, w)| *x = keep * w);
            }
        }
    }

    /// The norm of the row, which is sorted if necessary.
    pub(super) fn value(&self, row: &mut [f64]) -> f64 {
        match self {
            RowNorm::Sorted(increments) => {
                falling(row);
                row.iter().zip(increments).map(|(x, h)| x.abs() * h).sum()
            }
            RowNorm::Euclidean { .. } => row.iter().map(|x| x * x).sum::<f64>().sqrt(),
        }
    }

    /// The dual norm of a row. It is at most 1 for subgradients of the norm.
    pub(super) fn dual(&self, row: &mut [f64]) -> f64 {
        match self {
            RowNorm::Sorted(increments) => {
                falling(row);
                let (mut sum, mut allowed, mut worst) = (0.0, 0.0, 0.0_f64);
                for (value, h) in row.iter().zip(increments) {
                    sum += value.abs();
                    allowed += h;
                    if sum > 0.0 {
                        worst = worst.max(sum / allowed);
                    }
                }
                worst
            }
            RowNorm::Euclidean { .. } => row.iter().map(|x| x * x).sum::<f64>().sqrt(),
        }
    }

    /// The sum over the rows of a `p x p` matrix.
    pub(super) fn total(&self, x: &[f64], p: usize) -> f64 {
        let mut row = Vec::with_capacity(p);
        let mut sum = 0.0;
        for i in 0..p {
            row.clear();
            row.extend((0..p).filter(|&j| j != i || self.has_diagonal()).map(|j| x[i * p + j]));
            sum += self.value(&mut row);
        }
        sum
    }
}
