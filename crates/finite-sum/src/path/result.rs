//! What a path returns.

use fenchel_linalg::{CsrMatrix, Invalid};
use fenchel_optim::Report;
use serde::{Deserialize, Serialize};

use crate::{Error, Point};

/// The solutions of a path, the penalty falling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Number of features, `d`.
    pub features: usize,
    /// The share of the l1 norm in the penalty.
    pub l1_ratio: f64,
    /// One a penalty.
    pub points: Vec<PathPoint>,
}

/// One solution of a path. Weights are stored sparsely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// The penalty.
    pub penalty: f64,
    /// The features with a weight other than 0, ascending.
    pub support: Vec<usize>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// The intercept.
    pub intercept: f64,
    /// The account of this point, with its certificate.
    pub report: Report,
    /// Share of the features that were proved to be 0 (or guessed, with the strong rule) before the end.
    pub screened: f64,
}

impl PathPoint {
    pub(super) fn new(penalty: f64, point: &Point, report: Report, screened: f64) -> Self {
        let nonzero = point.weights.iter().copied().enumerate().filter(|(_, w)| *w != 0.0);
        let (support, weights) = nonzero.unzip();
        PathPoint { penalty, support, weights, intercept: point.intercept, report, screened }
    }

    /// All `features` weights. [`Path::point`] knows how many.
    pub fn dense(&self, features: usize) -> Point {
        let mut point = Point::zero(features);
        for (&c, &w) in self.support.iter().zip(&self.weights) {
            point.weights[c] = w;
        }
        point.intercept = self.intercept;
        point
    }
}

impl Path {
    /// Point `k` with all its weights; `None` beyond the end.
    pub fn point(&self, k: usize) -> Option<Point> {
        Some(self.points.get(k)?.dense(self.features))
    }

    /// The weights of all points: one row a penalty, one column a feature.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the fields were changed so that they do not fit any more.
    pub fn coefficients(&self) -> Result<CsrMatrix<f64>, Error> {
        let mut offsets = vec![0];
        let (mut columns, mut values) = (vec![], vec![]);
        for point in &self.points {
            columns.extend(point.support.iter().map(|&c| c as u32));
            values.extend(&point.weights);
            offsets.push(values.len());
        }
        let shape = (self.points.len(), self.features);
        CsrMatrix::try_new(shape, offsets, columns, values).map_err(|(.., error)| {
            Invalid::Layout { what: "path", reason: error.to_string() }.into()
        })
    }
}
