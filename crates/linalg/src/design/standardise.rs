//! Features of mean 0 and standard deviation 1.

use ndarray::{Array1, Array2, ArrayViewMut1};

use super::{AsDesign, Design};
use crate::Invalid;

/// As many numbers as 4 GiB hold.
const MOST_FEATURES: usize = 1 << 29;

/// Means and standard deviations of features. It is used to fit on standardised features and to predict on raw ones.
///
/// A penalty treats all weights alike, so that features in metres and in millimetres must have the same scale first.
/// A constant feature is only centred.
///
/// ```
/// use fenchel_linalg::Standardiser;
/// use ndarray::array;
///
/// let scale = Standardiser::fit(&array![[1.0, 5.0], [3.0, 5.0]])?;
/// assert_eq!(scale.transform(&array![[5.0, 6.0]])?, array![[3.0, 1.0]]);
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Standardiser {
    /// Mean of every feature.
    pub means: Array1<f64>,
    /// The standard deviation of every feature (with divisor `n`). It is 1 for constant features.
    pub deviations: Array1<f64>,
}

impl Standardiser {
    /// Computes means and deviations of the features of an `n x d` design, dense or sparse. Cost O(nnz).
    ///
    /// # Errors
    /// [`Invalid`] if there are no rows, if entries or deviations are not finite, or for so many features that one number for
    /// each takes more than 4 GiB.
    pub fn fit<X: AsDesign + ?Sized>(x: &X) -> Result<Self, Invalid> {
        let design = x.as_design()?;
        let (n, d) = (design.rows(), design.columns());
        if n == 0 {
            return Err(Invalid::Empty { what: "design matrix (rows)" });
        }
        if d > MOST_FEATURES {
            let reason = format!(
                "{d} columns, whose means take more than 4 GiB; number the features without gaps, or hash them into fewer columns"
            );
            return Err(Invalid::Layout { what: "design matrix", reason });
        }
        let (mut means, mut stored) = (Array1::<f64>::zeros(d), vec![0usize; d]);
        for i in 0..n {
            design.row_entries(i, |c, a| {
                means[c] += a / n as f64;
                stored[c] += 1;
            });
        }
        // In passes of their own: the squares of large means would swallow small deviations, and those of large or tiny
        // deviations are no numbers.
        let zeros = |c: usize| (n - stored[c]) as f64;
        let mut largest: Vec<f64> =
            (0..d).map(|c| if zeros(c) > 0.0 { means[c].abs() } else { 0.0 }).collect();
        for i in 0..n {
            design.row_entries(i, |c, a| largest[c] = largest[c].max((a - means[c]).abs()));
        }
        let scale = |c: usize| power_of_two(largest[c].max(f64::MIN_POSITIVE));
        let of_zeros = |c: usize| match zeros(c) {
            0.0 => 0.0,
            zeros => zeros * (means[c] / scale(c)).powi(2),
        };
        let mut squares: Vec<f64> = (0..d).map(of_zeros).collect();
        for i in 0..n {
            design.row_entries(i, |c, a| squares[c] += ((a - means[c]) / scale(c)).powi(2));
        }
        let deviation = |c: usize| {
            let deviation = scale(c) * (squares[c] / n as f64).sqrt();
            // What rounding of the mean leaves of a constant is no deviation.
            let constant = deviation <= 4.0 * f64::EPSILON * means[c].abs();
            if constant { 1.0 } else { deviation }
        };
        let deviations: Array1<f64> = (0..d).map(deviation).collect();
        if let Some(c) = deviations.iter().position(|deviation| !deviation.is_finite()) {
            let reason = format!("the deviation of column {c} is beyond the range of numbers");
            return Err(Invalid::Layout { what: "design matrix", reason });
        }
        Ok(Standardiser { means, deviations })
    }

    /// Returns a dense copy in which every feature has mean 0 and deviation 1 on the data of
    /// [`fit`](Standardiser::fit).
    ///
    /// # Errors
    /// [`Invalid`] for a different number of features or entries that are not finite.
    pub fn transform<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Invalid> {
        let design = x.as_design()?;
        self.check(design.columns())?;
        let centre = -&self.means / &self.deviations;
        let mut scaled = Array2::zeros((design.rows(), design.columns()));
        for (i, mut row) in scaled.rows_mut().into_iter().enumerate() {
            row.assign(&centre);
            design.row_entries(i, |c, a| row[c] = (a - self.means[c]) / self.deviations[c]);
        }
        Ok(scaled)
    }

    /// Converts weights and the intercept of a model on scaled features to those of the same model on raw features.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a different number of features.
    pub fn unscale(
        &self,
        mut weights: ArrayViewMut1<'_, f64>,
        intercept: &mut f64,
    ) -> Result<(), Invalid> {
        self.check(weights.len())?;
        weights /= &self.deviations;
        *intercept -= weights.dot(&self.means);
        Ok(())
    }

    fn check(&self, features: usize) -> Result<(), Invalid> {
        Invalid::check_length("standard deviations", self.means.len(), self.deviations.len())?;
        Invalid::check_length("features", self.means.len(), features)
    }
}

/// The largest power of two that is not above a positive, normal number. A division by it is exact.
fn power_of_two(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(x.to_bits() & EXPONENT)
}
