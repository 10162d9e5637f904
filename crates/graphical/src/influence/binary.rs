//! Influence matrices of binary pairwise models.

use fenchel_linalg::special::sigmoid;

use super::Influence;
use crate::BinaryPairwise;

impl Influence {
    /// The bound of Geng et al. (2018), equation 11, on the Dobrushin matrix, in a form without cancellation. O(edges).
    ///
    /// If `X_j = 0`, the logit of `X_i` lies between `lo = theta_ii - sum_{k != j} max(-theta_ik, 0)` and `hi = theta_ii +
    /// sum_{k != j} max(theta_ik, 0)`. With the logistic function `sigma` the bound is
    ///
    /// ```text
    /// U_ij = max over eta in [lo, hi] of |sigma(eta + theta_ij) - sigma(eta)|,   reached at clamp(-theta_ij / 2, lo, hi)
    /// ```
    ///
    /// which is `tanh(|theta_ij| / 4)` unless the maximiser is at `lo` or `hi`.
    pub fn bound(model: &BinaryPairwise) -> Self {
        Influence::from_rows((0..model.variables()).map(|i| bounds_on(model, i)))
    }

    /// The exact entries of the Dobrushin matrix for variables with at most `degree` neighbours, by enumeration of `2^(degree -
    /// 1)` configurations. For the other variables the entries are those of [`bound`](Self::bound). No entry is above the
    /// bound. A row costs `O(degree 2^degree)`. A good choice of `degree` is 12; values above 24 count as 24.
    pub fn exact(model: &BinaryPairwise, degree: usize) -> Self {
        let degree = degree.min(24);
        Influence::from_rows((0..model.variables()).map(|i| {
            if model.degree(i) <= degree { influences_on(model, i) } else { bounds_on(model, i) }
        }))
    }
}

fn bounds_on(model: &BinaryPairwise, i: usize) -> Vec<(u32, f64)> {
    let positive: f64 = model.edges_of(i).map(|(_, coupling)| coupling.max(0.0)).sum();
    let negative: f64 = model.edges_of(i).map(|(_, coupling)| (-coupling).max(0.0)).sum();
    let bias = model.bias()[i];
    let entry = |(j, coupling): (u32, f64)| {
        let low = bias - negative + (-coupling).max(0.0);
        let high = bias + positive - coupling.max(0.0);
        // Rounding may turn a range of one point around.
        (j, difference((-0.5 * coupling).max(low).min(high.max(low)), coupling))
    };
    model.edges_of(i).map(entry).collect()
}

fn influences_on(model: &BinaryPairwise, i: usize) -> Vec<(u32, f64)> {
    let mut logits = Vec::new();
    let mut row = Vec::with_capacity(model.degree(i));
    for (j, coupling) in model.edges_of(i) {
        logits.clear();
        logits.push(model.bias()[i]);
        for (_, other) in model.edges_of(i).filter(|&(k, _)| k != j) {
            for at in 0..logits.len() {
                logits.push(logits[at] + other);
            }
        }
        // The difference is symmetric around -coupling / 2 and falls on both sides.
        let off = |logit: f64| (logit + 0.5 * coupling).abs();
        let nearest = logits.iter().copied().min_by(|a, b| off(*a).total_cmp(&off(*b)));
        row.push((j, nearest.map_or(0.0, |logit| difference(logit, coupling))));
    }
    row
}

/// `|sigma(eta + coupling) - sigma(eta)|` to full relative accuracy.
fn difference(eta: f64, coupling: f64) -> f64 {
    let (low, high) = (eta.min(eta + coupling), eta.max(eta + coupling));
    sigmoid(high) * sigmoid(-low) * -(-coupling.abs()).exp_m1()
}
