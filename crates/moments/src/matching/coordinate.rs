//! The score of a single feature.

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use super::basis::check_bandwidth;
use crate::file::checked_file;

/// The score of one feature: slopes of bumps at centres, a line, a constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub(crate) struct Coordinate {
    pub(super) centres: Vec<f64>,
    pub(super) bandwidth: f64,
    pub(super) theta: Vec<f64>,
}

checked_file!(Coordinate {
    centres: Vec<f64>,
    bandwidth: f64,
    theta: Vec<f64>
});

impl Coordinate {
    /// What a file must hold.
    fn check(&self) -> Result<(), Invalid> {
        check_bandwidth(self.bandwidth)?;
        Invalid::check_finite("centres of a feature", &self.centres)?;
        Invalid::check_finite("coefficients of a feature", &self.theta)?;
        let expected = self.centres.len() + 2;
        Invalid::check_length("coefficients of a feature", expected, self.theta.len())
    }

    /// Values and slopes of the basis.
    pub(super) fn basis(
        centres: &[f64],
        bandwidth: f64,
        x: f64,
        values: &mut [f64],
        slopes: &mut [f64],
    ) {
        let h2 = bandwidth * bandwidth;
        for (j, &z) in centres.iter().enumerate() {
            let u = x - z;
            let k = (-0.5 * u * u / h2).exp();
            values[j] = -u / h2 * k;
            slopes[j] = k * (u * u / h2 - 1.0) / h2;
        }
        let m = centres.len();
        (values[m], slopes[m]) = (x, 1.0);
        (values[m + 1], slopes[m + 1]) = (1.0, 0.0);
    }

    /// The score and its slope.
    pub(crate) fn at(&self, x: f64) -> (f64, f64) {
        let m = self.centres.len();
        let h2 = self.bandwidth * self.bandwidth;
        let (mut value, mut slope) = (self.theta[m] * x + self.theta[m + 1], self.theta[m]);
        for (&z, &theta) in self.centres.iter().zip(&self.theta) {
            let u = x - z;
            let k = theta * (-0.5 * u * u / h2).exp();
            value -= u / h2 * k;
            slope += k * (u * u / h2 - 1.0) / h2;
        }
        (value, slope)
    }
}
