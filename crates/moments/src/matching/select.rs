//! The choice of bandwidth and ridge by the risk of held-out samples.

use fenchel_linalg::Invalid;
use fenchel_metrics::k_fold;
use fenchel_optim::settings;
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::basis::{check_bandwidth, ridged};
use super::bumps::System;
use crate::error::Error;

settings! {
    /// A grid of bandwidths and ridges, and a number of folds. The risk can be computed without the density, and on
    /// held-out samples it ranks the settings by their true error.
    ///
    /// Cost: one assembly of the matrix `C` per bandwidth, and one Cholesky factorisation per fold, bandwidth and ridge.
    pub struct Selection {
        /// Parts of the samples.
        folds: usize = 3,
        /// Bandwidths, in square roots of the number of features.
        bandwidths: Vec<f64> = vec![0.5, 0.7, 1.0, 1.4, 2.0, 4.0],
        /// Ridges, in means of the diagonal of `C`.
        ridges: Vec<f64> = vec![1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0],
    }
}

/// The chosen bandwidth and ridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    /// The bandwidth, in the coordinates of the bumps.
    pub bandwidth: f64,
    /// The ridge, in means of the diagonal of `C`.
    pub ridge: f64,
    /// Held-out risks, with one row per bandwidth and one column per ridge.
    pub risks: Array2<f64>,
}

impl Selection {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.bandwidths.is_empty() || self.ridges.is_empty() {
            return Err(Invalid::Empty { what: "grid of bandwidths and ridges" }.into());
        }
        for &h in &self.bandwidths {
            check_bandwidth(h)?;
        }
        for &a in &self.ridges {
            Invalid::check_positive("ridge", a)?;
        }
        Ok(())
    }

    pub(crate) fn choose(
        &self,
        x: ArrayView2<f64>,
        centres: ArrayView2<f64>,
        offset: bool,
        seed: u64,
    ) -> Result<Selected, Error> {
        let (n, d) = x.dim();
        let folds = k_fold(n, self.folds, seed)?;
        let mut risks = Array2::zeros((self.bandwidths.len(), self.ridges.len()));
        for (row, h) in self.bandwidths.iter().enumerate() {
            let h = h * (d as f64).sqrt();
            let parts = folds
                .iter()
                .map(|(_, held)| System::new(x.select(Axis(0), held).view(), centres, h, offset))
                .collect::<Result<Vec<_>, _>>()?;
            let mut total = System {
                c: Array2::zeros(parts[0].c.dim()),
                b: ndarray::Array1::zeros(parts[0].b.len()),
                kernels: 0.0,
                rows: 0,
            };
            for part in &parts {
                total.c += &part.c;
                total.b += &part.b;
                total.kernels += part.kernels;
                total.rows += part.rows;
            }
            for part in parts {
                let train = total.without(&part).mean();
                let share = part.rows as f64 / n as f64;
                let held = part.mean();
                let diagonal = train.c.diag().sum() / centres.nrows() as f64;
                for (column, a) in self.ridges.iter().enumerate() {
                    if !(diagonal > 0.0) {
                        continue;
                    }
                    let (factor, _) = ridged(train.c.clone(), a * diagonal, diagonal)?;
                    let theta = factor.solve(train.b.view())?;
                    let risk = 0.5 * theta.dot(&held.c.dot(&theta)) - held.b.dot(&theta);
                    risks[[row, column]] += share * risk;
                }
            }
        }
        let mut best = (0, 0);
        for (at, &risk) in risks.indexed_iter() {
            if risk < risks[best] {
                best = at;
            }
        }
        Ok(Selected {
            bandwidth: self.bandwidths[best.0] * (d as f64).sqrt(),
            ridge: self.ridges[best.1],
            risks,
        })
    }
}
