//! Samples of the rows for Hessians.
//!
//! The Hessian `sum_i h_i a_i a_i'` is a sum over rows. A random sample of the rows, each divided by its probability `p_i`, has the same
//! expectation. A small sample suffices if the probabilities grow with the leverage `h_i a_i' H^-1 a_i`, the share of a row in the
//! Hessian. With the diagonal of `H` in place of `H` they are
//!
//! ```text
//! p_i = min(1, k s_i / sum s),   s_i = l_i / sqrt(nnz(a_i)),   l_i = h_i sum_c a_ic^2 / H_cc
//! ```
//!
//! where `l_i` is the leverage if columns are orthogonal. If they are not, it overestimates the leverage of long rows, which also cost
//! more; hence the root. On web pages it halves the cost of Hessians of equally many rows, and makes them better. A row that is the
//! only one with a feature is drawn with a probability close to 1. For `k = c m` rows of order `m` and leverages all alike the
//! eigenvalues of `H^-1 H_S` lie within about `(1 -+ c^(-1/2))^2`. Reference: Xu, Yang, Roosta-Khorasani, Re and Mahoney,
//! "Sub-sampled Newton methods with non-uniform sampling", NIPS 2016.

use fenchel_linalg::{Design, multiply_squares, multiply_squares_transposed};
use fenchel_optim::random::Generator;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::gram::{Variables, Weighted};

/// All rows with some curvature.
pub(crate) fn all(h: &[f64]) -> Weighted {
    h.iter().copied().enumerate().filter(|(_, h)| *h > 0.0).collect()
}

/// A sample that serves several Hessians.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Multiplied by `1 / p_i`.
    pub(crate) rows: Weighted,
    count: f64,
    rng: Generator,
    /// Whether they have not served yet.
    fresh: bool,
}

impl Sample {
    /// About `count` rows by their leverage for second derivatives `h`. One pass.
    pub(crate) fn draw<D: Design>(
        design: &D,
        h: &[f64],
        variables: Variables<'_>,
        count: f64,
        mut rng: Generator,
    ) -> Self {
        let rows = draw_rows(design, h, variables, count, &mut rng);
        Sample { rows, count, rng, fresh: true }
    }

    /// The rows times `h_i` for a Hessian of second derivatives `h`, drawn anew unless it is the first, and what the draw
    /// cost in passes.
    pub(crate) fn weighted<D: Design>(
        &mut self,
        design: &D,
        h: &[f64],
        variables: Variables<'_>,
    ) -> (Weighted, f64) {
        let again = !std::mem::replace(&mut self.fresh, false);
        if again {
            self.rows = draw_rows(design, h, variables, self.count, &mut self.rng);
        }
        let weighted = self.rows.iter().map(|&(i, weight)| (i, weight * h[i])).collect();
        (weighted, if again { 1.0 } else { 0.0 })
    }
}

/// About `count` rows, less where many are drawn for sure, and `1 / p_i`. A pass.
fn draw_rows<D: Design>(
    design: &D,
    h: &[f64],
    variables: Variables<'_>,
    count: f64,
    rng: &mut Generator,
) -> Weighted {
    let sizes = sizes(design, h, variables);
    systematic(&sizes, count, rng.random()).map(|(i, p)| (i, 1.0 / p)).collect()
}

/// `l_i / sqrt(nnz(a_i))`. A pass.
fn sizes<D: Design>(design: &D, h: &[f64], variables: Variables<'_>) -> Vec<f64> {
    let Variables { set, intercept, l2 } = variables;
    let mut diagonal = vec![0.0; design.columns()];
    multiply_squares_transposed(design, h, &mut diagonal);
    let mut inverse = vec![0.0; design.columns()];
    for &c in set {
        inverse[c] = inverse_of(diagonal[c] + l2);
    }
    let constant = if intercept { inverse_of(h.iter().sum()) } else { 0.0 };
    let mut leverages = vec![0.0; h.len()];
    multiply_squares(design, &inverse, &mut leverages);
    for (i, (leverage, h)) in leverages.iter_mut().zip(h).enumerate() {
        let length = design.row_stored(i).max(1) as f64;
        *leverage = (*leverage + constant) * h / length.sqrt();
    }
    leverages
}

/// 0 for a column without curvature, which gives no row any leverage.
fn inverse_of(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}

/// Draws `i` with probability `p_i = min(1, count s_i / sum s)`: one number `offset`, uniform on [0, 1), and every `i`
/// where the running sum of the probabilities passes it, or it plus an integer. Sorted data is sampled evenly.
fn systematic(
    sizes: &[f64],
    count: f64,
    offset: f64,
) -> impl Iterator<Item = (usize, f64)> + use<'_> {
    let scale = count / sizes.iter().sum::<f64>();
    let (mut sum, mut next) = (0.0, offset);
    sizes.iter().enumerate().filter_map(move |(i, &size)| {
        let probability = f64::min(scale * size, 1.0);
        sum += probability;
        (sum > next).then(|| {
            next += 1.0;
            (i, probability)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_linalg::Dense;
    use fenchel_optim::random::stream;
    use ndarray::Array2;

    #[test]
    fn every_row_is_drawn_as_often_as_its_probability_says() {
        let sizes = [0.5, 3.0, 0.0, 1.0, 0.25, 9.0, 0.25];
        let offsets = 10_000;
        let mut drawn = [0.0; 7];
        for k in 0..offsets {
            for (i, probability) in systematic(&sizes, 3.5, (k as f64 + 0.5) / offsets as f64) {
                assert_eq!(probability, f64::min(3.5 * sizes[i] / 14.0, 1.0));
                drawn[i] += 1.0 / offsets as f64;
            }
        }
        for (i, &size) in sizes.iter().enumerate() {
            assert!((drawn[i] - f64::min(0.25 * size, 1.0)).abs() < 2e-4, "{i}: {}", drawn[i]);
        }
    }

    /// Row 17 alone holds column 2.
    #[test]
    fn a_feature_of_one_row_is_never_lost() {
        let x = Array2::from_shape_fn((1000, 3), |(i, c)| match c {
            2 => f64::from(u8::from(i == 17)),
            _ => ((i * (c + 3)) as f64).sin(),
        });
        let h = vec![0.25; 1000];
        for seed in 0..20 {
            let design = Dense::new(x.view()).unwrap();
            let rng = &mut stream(seed, 0);
            let variables = Variables { set: &[0, 1, 2], intercept: false, l2: 1e-6 };
            let rows = draw_rows(&design, &h, variables, 30.0, rng);
            assert!(rows.contains(&(17, 1.0)), "{seed}");
            assert!((20..=32).contains(&rows.len()), "{}", rows.len());
        }
    }
}
