//! Radii: the largest distance of the features of other labellings from the true features.
//!
//! The squared radius `R_i = max_y norm(F(x_i, y_i) - F(x_i, y))^2` measures the curvature of the dual objective in block `i`.
//! The maximisation over block `i` has the condition number `1 + R_i / (l2 n)`. SDCA uses this condition number in two places.
//! Importance sampling draws block `i` with a probability proportional to it. The fixed step size with a convergence guarantee
//! is its inverse, `1 / (1 + R_i / (l2 n))`. The functions of this module estimate `R_i` or bound it from above.

use fenchel_graphical::chain::stride;

use crate::dataset::{Dataset, Sequence};

/// The estimate of `R_i` by Le Priol et al.: the value for labelling every token with a label that the sequence does not have.
/// If it has all labels, the rarest is taken.
///
/// The estimate is exact for non-negative attributes if some label is absent. Otherwise it may be too small, so that it is not
/// a bound.
///
/// Source: Le Priol, Piche and Lacoste-Julien (2018), appendix C.
///
/// # Panics
/// If there is no sequence `i`.
pub fn radius_heuristic(data: &Dataset, i: usize) -> f64 {
    let sequence = data.sequence(i);
    let mut counts = vec![0usize; data.labels()];
    sequence.labels().iter().for_each(|&label| counts[label as usize] += 1);
    let rarest = (0..counts.len()).min_by_key(|&k| counts[k]).unwrap_or(0) as u32;
    let truth = sequence.labels();
    let other = vec![rarest; truth.len()];
    distance(data.labels(), &sequence, truth, &other)
}

/// An upper bound of `R_i` for any attributes. For non-negative attributes it is at most four times too large.
///
/// Let `B^2 = norm(sum_t |x_t|)^2 + (T - 1)^2 >= norm(F(x, y))^2`, biases included. The bound is `norm(F(x_i, y_i))^2 + B^2`
/// for non-negative attributes, and `(norm(F(x_i, y_i)) + B)^2` otherwise.
///
/// # Panics
/// If there is no sequence `i`.
pub fn radius_upper(data: &Dataset, i: usize) -> f64 {
    let sequence = data.sequence(i);
    let length = sequence.len();
    let mut totals = vec![0.0; sequence.distinct().len()];
    let mut signed = false;
    for t in 0..length {
        let (places, values) = sequence.entries(t);
        for (e, &place) in places.iter().enumerate() {
            let value = values.get(e).copied().unwrap_or(1.0);
            signed |= value < 0.0;
            totals[place as usize] += value.abs();
        }
    }
    let biases = (length * length + 2) as f64;
    let transitions = ((length - 1) * (length - 1)) as f64;
    let bound = totals.iter().map(|x| x * x).sum::<f64>() + biases + transitions;
    let truth = norm_squared(data.labels(), &sequence, sequence.labels());
    if signed { (truth.sqrt() + bound.sqrt()).powi(2) } else { truth + bound }
}

/// `norm(F(x, y))^2`
fn norm_squared(labels: usize, sequence: &Sequence<'_>, y: &[u32]) -> f64 {
    let sums = features(labels, sequence, y, 1.0, None);
    sums.iter().map(|s| s * s).sum()
}

/// `norm(F(x, y) - F(x, z))^2`
fn distance(labels: usize, sequence: &Sequence<'_>, y: &[u32], z: &[u32]) -> f64 {
    let sums = features(labels, sequence, y, 1.0, None);
    let sums = features(labels, sequence, z, -1.0, Some(sums));
    sums.iter().map(|s| s * s).sum()
}

/// Adds `scale F(x, y)` to `sums`, over the rows that the sequence uses and the transitions.
fn features(
    labels: usize,
    sequence: &Sequence<'_>,
    y: &[u32],
    scale: f64,
    sums: Option<Vec<f64>>,
) -> Vec<f64> {
    let rows = sequence.distinct().len();
    let width = stride(labels);
    let mut sums = sums.unwrap_or_else(|| vec![0.0; (rows + 3 + labels) * width]);
    for (t, &label) in y.iter().enumerate() {
        let mut add = |row: usize, value: f64| sums[row * width + label as usize] += scale * value;
        let (places, values) = sequence.entries(t);
        for (e, &place) in places.iter().enumerate() {
            add(place as usize, values.get(e).copied().unwrap_or(1.0));
        }
        add(rows, 1.0);
        if t == 0 {
            add(rows + 1, 1.0);
        }
        if t + 1 == y.len() {
            add(rows + 2, 1.0);
        }
    }
    for pair in y.windows(2) {
        sums[(rows + 3 + pair[0] as usize) * width + pair[1] as usize] += scale;
    }
    sums
}
