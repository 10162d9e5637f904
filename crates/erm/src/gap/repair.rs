//! What makes a dual point feasible, or worth more.

use fenchel_linalg::Design;

/// Where on `[0, 1]` a concave function is largest, by golden sections to three digits; 1 if it is best there.
pub(super) fn concave_maximiser(mut value: impl FnMut(f64) -> f64) -> f64 {
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (0.0, 1.0);
    let (mut left, mut right) = (1.0 - ratio, ratio);
    let (mut at_left, mut at_right) = (value(left), value(right));
    while high - low > 1e-3 {
        if at_left < at_right {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = value(right);
        } else {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = value(left);
        }
    }
    let middle = 0.5 * (low + high);
    if value(1.0) >= value(middle) { 1.0 } else { middle }
}

/// Scales the entries of the heavier sign down until the sum, one number a row of the design, is 0.
pub(super) fn balance<D: Design>(design: &D, dual: &mut [f64]) {
    let [positive, negative] = design.sum_rows(|rows| {
        let (mut positive, mut negative) = (0.0, 0.0);
        for &u in &dual[rows] {
            if u > 0.0 {
                positive += u;
            } else {
                negative -= u;
            }
        }
        [positive, negative]
    });
    let heavier: f64 = if positive > negative { 1.0 } else { -1.0 };
    let larger = f64::max(positive, negative);
    if larger > 0.0 {
        let scale = f64::min(positive, negative) / larger;
        for u in dual.iter_mut().filter(|u| **u * heavier > 0.0) {
            *u *= scale;
        }
    }
}
