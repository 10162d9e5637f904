//! Predictions from the averages of constant-step SGD.

use fenchel_linalg::{AsDesign, Design, Invalid};
use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::{AveragedSgd, MeanFunction};
use crate::Error;

/// The way predictions are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Predictor {
    /// `a'(phi.theta)` at the last iterate.
    Last,
    /// `a'(phi.mean)` at the mean iterate.
    Parameters,
    /// The mean of `a'(phi.theta_i)` over the stored iterates `theta_i`.
    Exact,
    /// `E a'(N(phi.mean, phi'C phi))` with the covariance `C` of the iterates.
    Gaussian,
    /// `a'(m) + a'''(m) phi'C phi / 2` at `m = phi.mean`, clamped to the mean domain.
    Taylor,
}

/// Predicted means.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The predicted means, one per row.
    pub means: Array1<f64>,
    /// The number of predictions that were outside the mean domain and were clamped ([`Predictor::Taylor`] only).
    pub clamped: usize,
}

impl<M: MeanFunction> AveragedSgd<M> {
    /// `phi'C phi` of row `i`.
    fn spread<D: Design>(&self, design: &D, i: usize) -> f64 {
        let d = self.theta.len();
        let mut row = vec![0.0; d];
        design.row_axpy(i, 1.0, &mut row);
        let mut sum = 0.0;
        for a in 0..d {
            if row[a] != 0.0 {
                let below: f64 = (0..a).map(|b| self.scatter[a * d + b] * row[b]).sum();
                sum += row[a] * (2.0 * below + self.scatter[a * d + a] * row[a]);
            }
        }
        (sum / self.sampled as f64).max(0.0)
    }

    /// Predicted means, one per row.
    ///
    /// # Errors
    /// [`Invalid::Empty`] before the first rows; [`Invalid::Length`] for another number of columns;
    /// [`Invalid::Parameter`] if the predictor needs a covariance and none was computed; [`Invalid::NonFinite`] for a
    /// mean that overflows, for instance after a divergence.
    pub fn predict<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        predictor: Predictor,
    ) -> Result<Predictions, Error> {
        let design = x.as_design()?;
        if self.theta.is_empty() {
            return Err(Invalid::Empty { what: "training data" }.into());
        }
        Invalid::check_length("columns of the design", self.theta.len(), design.columns())?;
        if self.scatter.is_empty() && matches!(predictor, Predictor::Gaussian | Predictor::Taylor) {
            let (name, value) = ("covariance_every", 0.0);
            return Err(Invalid::Parameter { name, value, expected: "at least 1" }.into());
        }
        if predictor == Predictor::Last {
            Invalid::check_finite("last iterate", &self.theta)?;
        }
        let (low, high) = self.family.range();
        let mut clamped = 0;
        let means: Array1<f64> = (0..design.rows())
            .map(|i| {
                let middle = || design.row_dot(i, &self.mean);
                match predictor {
                    Predictor::Last => self.family.mean(design.row_dot(i, &self.theta)),
                    Predictor::Parameters => self.family.mean(middle()),
                    Predictor::Exact => {
                        let each =
                            self.snapshots.iter().map(|s| self.family.mean(design.row_dot(i, s)));
                        each.sum::<f64>() / self.snapshots.len() as f64
                    }
                    Predictor::Gaussian => self.family.smoothed(middle(), self.spread(&design, i)),
                    Predictor::Taylor => {
                        let m = middle();
                        let p = self.family.mean(m)
                            + 0.5 * self.family.third(m) * self.spread(&design, i);
                        clamped += usize::from(!(p >= low && p <= high));
                        p.clamp(low, high)
                    }
                }
            })
            .collect();
        if let Some((row, &value)) = means.iter().enumerate().find(|(_, m)| !m.is_finite()) {
            return Err(Invalid::NonFinite { what: "prediction", row, column: 0, value }.into());
        }
        Ok(Predictions { means, clamped })
    }
}
