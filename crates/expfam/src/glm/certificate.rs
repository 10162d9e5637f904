//! A bound on the suboptimality from the gradient and the Hessian at a point.
//!
//! ```text
//! F(x) - F*  <=  (c + (1 - c) log(1 - c)) / k^2,    c = k v < 1,    v^2 = g' H^-1 g,    k = M max_i norm(x_i) in H^-1
//! ```
//!
//! Here `g` and `H` are gradient and Hessian of the objective `F` at `x`, and `|a'''| <= M a''` for the loss of every
//! row. Then along a move `u` the Hessian decreases at most by the factor `e^{-M |x_i.u|}`, and `|x_i.u|` is at most
//! `k/M` times the length of `u` in the norm of `H`. Hence `F(x + u) >= F(x) - v s + (e^{-ks} - 1 + ks) / k^2` for
//! every `u` of length `s`. Minimising the right side over `s` gives the bound, which is slightly more than `v^2 / 2`.
//! The condition `c < 1` also proves that a minimiser exists. `M` is 1 for [`Logistic`](super::Logistic) and
//! [`PoissonLog`](super::PoissonLog), and 0 for [`Identity`](super::Identity). Source: F. Bach, *Self-concordant analysis
//! for logistic regression* (2010), with the norms of the rows in `H^-1` instead of Euclidean norms, so the bound does
//! not depend on the units of the columns.
//!
//! The norms of the rows are not computed but bounded: with the diagonal `D` of `H`,
//! `x' H^-1 x <= (x' D^-1 x) tr(D H^-1)`. This takes one pass over the data.

use fenchel_linalg::{Cholesky, Design};
use fenchel_optim::Certificate;

use super::ScalarFamily;
use super::objective::Objective;

/// The bound at a point with this objective, gradient `g` and Newton step `H^-1 g`, given its Hessian with its factor. `None`
/// if the theory gives no finite bound.
pub(super) fn proved<D: Design, F: ScalarFamily>(
    objective: &Objective<'_, D, F>,
    (value, gradient, step): (f64, &[f64], &[f64]),
    (hessian, factor): (&[f64], &Cholesky),
) -> Option<Certificate> {
    let constant = objective.family.third_over_second()?;
    let k = gradient.len();
    let squared: f64 = step.iter().zip(gradient).map(|(s, g)| s * g).sum();

    let mut trace = 0.0;
    for j in 0..k {
        let mut unit = vec![0.0; k];
        unit[j] = hessian[j * k + j];
        factor.solve_in_place(&mut unit).ok()?;
        trace += unit[j];
    }
    let longest = constant * (trace * longest_row(objective, hessian, k)).sqrt();
    let gap = bound(squared.max(0.0).sqrt(), longest)?;
    // A difference of doubles, each with a rounding error of a few units in the last place.
    let rounding = if gap > 0.0 { 4.0 * f64::EPSILON * (value.abs() + gap) } else { 0.0 };
    let lower_bound = value - gap - rounding;
    Some(Certificate::gap(value, lower_bound)).filter(|c| matches!(c, Certificate::Gap { .. }))
}

/// The largest `x_i' D^-1 x_i`.
fn longest_row<D: Design, F: ScalarFamily>(
    objective: &Objective<'_, D, F>,
    hessian: &[f64],
    k: usize,
) -> f64 {
    let inverse: Vec<f64> = (0..k).map(|j| 1.0 / hessian[j * k + j]).collect();
    let intercept = if objective.intercept { inverse[k - 1] } else { 0.0 };
    let mut longest = 0.0_f64;
    for i in (0..objective.y.len()).filter(|&i| objective.shares[i] > 0.0) {
        let mut square = intercept;
        objective.design.row_entries(i, |j, v| square += v * v * inverse[j]);
        longest = longest.max(square);
    }
    objective.design.largest(longest)
}

/// `(c + (1 - c) log(1 - c)) / k^2` with `c = k v`: `v^2 / 2` where `k` is 0, `None` from `c = 1` on.
fn bound(decrement: f64, k: f64) -> Option<f64> {
    let c = k * decrement;
    if !(c < 1.0) {
        return None;
    }
    // The difference cancels for small c: there the series 1/2 + c/6 + c^2/12 + ..., its rest by a geometric one.
    let ratio = if c < 1e-3 {
        0.5 + c / 6.0 + c * c / 12.0 / (1.0 - c)
    } else {
        (c + (1.0 - c) * (-c).ln_1p()) / (c * c)
    };
    Some(ratio * decrement * decrement)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the series `sum_j c^(j-2) / (j (j-1))`, summed to its end, on both sides of the switch; and where nothing is proved.
    #[test]
    fn bounds_are_the_series() {
        for c in [1e-9_f64, 1e-4, 9.99e-4, 1.001e-3, 0.02, 0.3, 0.7] {
            let series: f64 = (2..200).map(|j| c.powi(j - 2) / f64::from(j * (j - 1))).rev().sum();
            let found = bound(c / 3.0, 3.0).unwrap() / (c / 3.0).powi(2);
            assert!((found / series - 1.0).abs() < 1e-9, "{c}: {found} {series}");
        }
        assert_eq!(bound(0.5, 0.0), Some(0.125));
        assert_eq!((bound(0.5, 2.0), bound(f64::NAN, 2.0)), (None, None));
    }
}
