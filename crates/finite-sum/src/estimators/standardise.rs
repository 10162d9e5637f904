//! Features of mean 0 and standard deviation 1.

use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::{Array1, Array2, ArrayViewMut1};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Means and standard deviations of features. It is used to fit on standardised features and to predict on raw ones.
///
/// A penalty treats all weights alike, so that features in metres and in millimetres must have the same scale first.
/// A constant feature is only centred.
///
/// ```
/// use fenchel_finite_sum::{Ridge, Standardiser};
/// use ndarray::array;
///
/// let x = array![[1000.0, 0.1], [3000.0, 0.2], [5000.0, 0.2], [7000.0, 0.4]];
/// let y = [1.0, 2.0, 3.5, 4.0];
/// let scale = Standardiser::fit(&x)?;
/// let model = Ridge::default().fit(&scale.transform(&x)?, &y)?;
/// let on_scaled = model.predict(&scale.transform(&x)?)?;
/// let on_raw = model.for_raw_features(&scale)?.predict(&x)?;
/// assert!((on_scaled - on_raw).iter().all(|e| e.abs() < 1e-12));
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// [`Error::Invalid`] if there are no rows, or if entries or deviations are not finite; [`Error::Refused`] for so many features that
    /// one number for each takes more than 4 GiB.
    pub fn fit<X: AsDesign + ?Sized>(x: &X) -> Result<Self, Error> {
        let design = x.as_design()?;
        let (n, d) = (design.rows(), design.columns());
        if n == 0 {
            return Err(Invalid::Empty { what: "design matrix (rows)" }.into());
        }
        let hint = "number the features without gaps, or hash them into fewer columns";
        let needed = (d as u64).saturating_mul(8);
        Refusal::check_memory("the mean of every feature", needed, MAX_MEMORY, hint)?;
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
            return Err(Invalid::Layout { what: "design matrix", reason }.into());
        }
        Ok(Standardiser { means, deviations })
    }

    /// Returns a dense copy in which every feature has mean 0 and deviation 1 on the data of
    /// [`fit`](Standardiser::fit).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a different number of features or entries that are not finite.
    pub fn transform<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
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

    /// Converts weights of scaled features to weights of raw features.
    pub(super) fn fold_into(
        &self,
        mut weights: ArrayViewMut1<'_, f64>,
        intercept: &mut f64,
    ) -> Result<(), Error> {
        self.check(weights.len())?;
        weights /= &self.deviations;
        *intercept -= weights.dot(&self.means);
        Ok(())
    }

    /// Checks a loaded scale for a model with this number of features.
    pub(super) fn check_file(&self, features: usize) -> Result<(), String> {
        self.check(features).map_err(|error| error.to_string())?;
        let usable = |c: usize| self.means[c].is_finite() && self.deviations[c].is_normal();
        match (0..features).find(|&c| !(usable(c) && self.deviations[c] > 0.0)) {
            None => Ok(()),
            Some(c) => Err(format!(
                "mean and deviation of feature {c} are {} and {}; expected finite numbers, the second above 0",
                self.means[c], self.deviations[c]
            )),
        }
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
