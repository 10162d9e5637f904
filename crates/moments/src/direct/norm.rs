//! The k-support norm of singular values, and projections on the ball of its dual norm.
//!
//! The nuclear norm favours low rank but also shrinks the singular values that it keeps. If the rank `k` is known, the
//! *spectral k-support norm* is a tighter relaxation: its unit ball is the convex hull of the matrices of rank at most
//! `k` and Frobenius norm at most 1. For `k = 1` it is the nuclear norm, for `k = min(d, H)` the Frobenius norm.
//!
//! ```text
//! dual norm   ||U||_(k) = (sum of the k largest squared singular values)^{1/2}
//! ```
//!
//! Sources: D. Babichev, PhD thesis 2019, section 2.4.3, which proposes the norm; Argyriou, Foygel and Srebro, NIPS
//! 2012, for vectors; McDonald, Pontil and Stamos, NIPS 2014, for matrices. The algorithm for the projection is ours:
//! it solves two equations in two unknowns, each of them monotone.

use fenchel_linalg::factor::{clip_singular_values, svd};
use ndarray::Array2;

use crate::error::Error;

/// The spectral k-support norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KSupport(pub(super) usize);

impl KSupport {
    /// The norm of a matrix.
    pub(super) fn value(self, a: &Array2<f64>) -> Result<f64, Error> {
        let found = svd(a.view())?;
        Ok(self.of_values(&found.values.to_vec()))
    }

    /// The dual norm of a matrix.
    pub(super) fn dual(self, u: &Array2<f64>) -> Result<f64, Error> {
        let found = svd(u.view())?;
        Ok(self.largest(&found.values.to_vec()))
    }

    /// The nearest matrix whose dual norm is at most `radius`.
    pub(super) fn project(self, u: &Array2<f64>, radius: f64) -> Result<Array2<f64>, Error> {
        if self.0 == 1 {
            return Ok(clip_singular_values(u.view(), radius)?);
        }
        let found = svd(u.view())?;
        let values = found.values.to_vec();
        if self.largest(&values) <= radius {
            return Ok(u.clone());
        }
        let values = ndarray::Array1::from(self.project_values(&values, radius));
        Ok((&found.u * &values).dot(&found.v.t()))
    }

    /// Length of the `k` largest of descending numbers.
    fn largest(self, values: &[f64]) -> f64 {
        values.iter().take(self.0).map(|v| v * v).sum::<f64>().sqrt()
    }

    /// The norm of descending numbers: the `k - r - 1` largest enter with their squares, the others with their sum.
    fn of_values(self, values: &[f64]) -> f64 {
        let k = self.0.clamp(1, values.len().max(1));
        for r in 0..k {
            let head = k - r - 1;
            let tail: f64 = values.iter().skip(head).sum();
            let mean = tail / (r + 1) as f64;
            let above = head == 0 || values[head - 1] > mean;
            if above && mean >= values.get(head).copied().unwrap_or(0.0) {
                let squares: f64 = values[..head].iter().map(|v| v * v).sum();
                return (squares + tail * mean).sqrt();
            }
        }
        // Rounding may refuse every r; the last is the limit.
        let tail: f64 = values.iter().sum();
        tail / (k as f64).sqrt()
    }

    /// The projection of descending numbers of dual norm above `radius`.
    ///
    /// With a multiplier `mu`, the projection is `s_i = sigma_i / (1 + mu w_i)` with weights `w_i` in [0, 1] that sum
    /// to `k`. Large singular values have weight 1 and small ones weight 0; those between are set to a common level
    /// `theta`. The level `theta` follows from the sum of the weights, and `mu` from the norm.
    fn project_values(self, values: &[f64], radius: f64) -> Vec<f64> {
        let at = |mu: f64| -> Vec<f64> {
            let theta = self.level(values, mu);
            values.iter().map(|&v| (v / (1.0 + mu)).max(v.min(theta))).collect()
        };
        if radius <= 0.0 {
            return vec![0.0; values.len()];
        }
        let (mut low, mut high) = (0.0, 1.0);
        while self.largest(&at(high)) > radius && high < 1e300 {
            low = high;
            high *= 2.0;
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.largest(&at(middle)) > radius {
                low = middle;
            } else {
                high = middle;
            }
        }
        // `high` is feasible.
        at(high)
    }

    /// `theta` with `sum_i clamp((sigma_i / theta - 1) / mu, 0, 1) = k`; 0 if there are at most `k` positive numbers.
    fn level(self, values: &[f64], mu: f64) -> f64 {
        let k = self.0 as f64;
        let positive = values.iter().filter(|&&v| v > 0.0).count();
        if positive <= self.0 {
            return 0.0;
        }
        // Piecewise linear and rising in x = 1 / theta, with kinks where a number enters and leaves the middle.
        let sum =
            |x: f64| -> f64 { values.iter().map(|&v| ((v * x - 1.0) / mu).clamp(0.0, 1.0)).sum() };
        let mut kinks: Vec<f64> =
            values[..positive].iter().flat_map(|&v| [1.0 / v, (1.0 + mu) / v]).collect();
        kinks.sort_unstable_by(f64::total_cmp);
        let above = kinks.partition_point(|&x| sum(x) < k).clamp(1, kinks.len() - 1);
        let (a, b) = (kinks[above - 1], kinks[above]);
        let (fa, fb) = (sum(a), sum(b));
        let x = if fb > fa { a + (b - a) * ((k - fa) / (fb - fa)).clamp(0.0, 1.0) } else { b };
        1.0 / x
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        values
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_ends_are_the_nuclear_and_the_frobenius_norm() {
        let values = [3.0, 2.0, 1.0, 0.5];
        assert!((KSupport(1).of_values(&values) - 6.5).abs() < 1e-14);
        assert!((KSupport(4).of_values(&values) - 14.25_f64.sqrt()).abs() < 1e-14);
        // k = 2: r = 0 asks 3 > 3.5; r = 1 takes all: 6.5^2 / 2.
        assert!((KSupport(2).of_values(&values) - (6.5_f64.powi(2) / 2.0).sqrt()).abs() < 1e-14);
        // A large first number keeps its square.
        let values = [9.0, 1.0, 1.0];
        assert!((KSupport(2).of_values(&values) - 85.0_f64.sqrt()).abs() < 1e-14);
        assert_eq!(KSupport(3).of_values(&[0.0, 0.0]), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Nearest point: no other point of the ball makes an acute angle with what was taken off.
        #[test]
        fn projections_are_nearest_points(
            values in proptest::collection::vec(0.0..10.0_f64, 1..7),
            others in proptest::collection::vec(0.0..10.0_f64, 7),
            k in 1usize..5,
            radius in 0.01..5.0_f64,
        ) {
            let (values, norm) = (sorted(values), KSupport(k));
            prop_assume!(norm.largest(&values) > radius);
            let found = norm.project_values(&values, radius);
            let size = norm.largest(&found);
            prop_assert!(size <= radius * (1.0 + 1e-14) && size >= radius * (1.0 - 1e-9), "{size}");
            let taken: Vec<f64> = values.iter().zip(&found).map(|(a, b)| a - b).collect();
            let mut other = sorted(others[..values.len()].to_vec());
            let scale = radius / norm.largest(&other);
            other.iter_mut().for_each(|v| *v *= scale);
            let step: Vec<f64> = other.iter().zip(&found).map(|(a, b)| a - b).collect();
            prop_assert!(dot(&taken, &step) <= 1e-8, "{found:?}");
            // What is taken off is aligned with the point: the pairing of dual norms is an equality there.
            let pairing = dot(&taken, &found);
            let product = radius * norm.of_values(&sorted(taken.clone()));
            prop_assert!((pairing - product).abs() <= 1e-7 * (1.0 + product), "{pairing} {product}");
        }

        /// Norm and dual norm pair: `<a, b> <= ||a|| ||b||_(k)`.
        #[test]
        fn the_norms_are_dual(
            a in proptest::collection::vec(0.0..10.0_f64, 5),
            b in proptest::collection::vec(0.0..10.0_f64, 5),
            k in 1usize..6,
        ) {
            let (a, b, norm) = (sorted(a), sorted(b), KSupport(k));
            prop_assert!(dot(&a, &b) <= norm.of_values(&a) * norm.largest(&b) * (1.0 + 1e-12) + 1e-12);
        }
    }
}
