//! The result of a path.

use std::fmt;
use std::ops::ControlFlow;

use fenchel_linalg::text::number;
use fenchel_linalg::{CsrMatrix, Invalid, Names};
use fenchel_optim::{Observer, Progress, Report};
use serde::{Deserialize, Serialize};

use crate::{Error, Point};

/// The solutions of a path, in the order of falling penalties. [`path_from`](crate::path::path_from) and
/// [`group_path_from`](crate::path::group_path_from) can continue it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Number of features, `d`.
    pub features: usize,
    /// The names of the features, if the design had them. A path of a [`Problem`](crate::Problem) has none until they are set.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// The share of the l1 norm in the penalty.
    pub l1_ratio: f64,
    /// One point per penalty.
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
    /// The report of this point's fit, with its certificate.
    pub report: Report,
    /// Share of the features that were removed at the end of the fit. They are proved to be 0, except under the
    /// strong rule, which is a heuristic.
    pub screened: f64,
}

impl PathPoint {
    pub(super) fn new(penalty: f64, point: &Point, report: Report, screened: f64) -> Self {
        let nonzero = point.weights.iter().copied().enumerate().filter(|(_, w)| *w != 0.0);
        let (support, weights) = nonzero.unzip();
        PathPoint { penalty, support, weights, intercept: point.intercept, report, screened }
    }

    /// The vector of all `features` weights. If you have the path, [`Path::point`] is simpler.
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
    /// A path without points.
    pub(super) fn new(features: usize, l1_ratio: f64) -> Path {
        Path { features, names: Names::NONE, l1_ratio, points: Vec::new() }
    }

    /// The same path with the names of a design.
    pub(super) fn named(mut self, names: &Names) -> Path {
        self.names = names.clone();
        self
    }

    /// Checks that this can be the beginning of a path with this number of features and this share of the l1 norm.
    pub(super) fn check(&self, features: usize, l1_ratio: f64) -> Result<(), Invalid> {
        Invalid::check_length("features of the path to go on from", features, self.features)?;
        if self.l1_ratio != l1_ratio {
            let (name, expected) = ("l1_ratio of the path to go on from", "that of the settings");
            return Err(Invalid::Parameter { name, value: self.l1_ratio, expected });
        }
        for point in &self.points {
            let what = "weights of the path to go on from";
            Invalid::check_positive("penalty of the path to go on from", point.penalty)?;
            Invalid::check_length(what, point.support.len(), point.weights.len())?;
            Invalid::check_finite(what, &point.weights)?;
            if !point.intercept.is_finite() {
                let (name, value) = ("intercept of the path to go on from", point.intercept);
                return Err(Invalid::Parameter { name, value, expected: "a finite number" });
            }
            if let Some(c) = point.support.iter().find(|&&c| c >= features) {
                let reason = format!("feature {c} has a weight; there are {features}");
                return Err(Invalid::Layout { what: "path to go on from", reason });
            }
        }
        Ok(())
    }

    /// The penalties of a falling grid that are still to be computed.
    pub(super) fn left<'g>(&self, grid: &'g [f64]) -> &'g [f64] {
        let last = self.points.last().map_or(f64::INFINITY, |point| point.penalty);
        &grid[grid.partition_point(|&penalty| penalty >= last)..]
    }

    /// Adds a point, and calls the observer. Returns whether to continue.
    pub(super) fn push<O: Observer<PathPoint>>(
        &mut self,
        point: PathPoint,
        observer: &mut O,
    ) -> ControlFlow<()> {
        let Report { certificate, .. } = point.report;
        self.points.push(point);
        let reports = || self.points.iter().map(|point| point.report);
        let progress = Progress {
            passes: reports().map(|report| report.passes).sum(),
            oracle_calls: reports().map(|report| report.oracle_calls).sum(),
            seconds: reports().map(|report| report.seconds).sum(),
            certificate,
        };
        match self.points.last() {
            Some(point) => observer.observe(&progress, point),
            None => ControlFlow::Continue(()),
        }
    }

    /// Point `k` with all its weights. It is `None` if there is no such point.
    pub fn point(&self, k: usize) -> Option<Point> {
        Some(self.points.get(k)?.dense(self.features))
    }

    /// The weights of all points, with one row per penalty and one column per feature.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the fields have been changed so that they are inconsistent.
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

/// A line for each point: the penalty, the number of features with a weight, and which of them came (`+`) or left (`-`).
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>11}  {:>8}  changes", "penalty", "features")?;
        let mut before: &[usize] = &[];
        for point in &self.points {
            write!(f, "\n{:>11}  {:8} ", number(point.penalty, 4), point.support.len())?;
            let come = point.support.iter().filter(|c| before.binary_search(c).is_err());
            let left = before.iter().filter(|c| point.support.binary_search(c).is_err());
            for (sign, c) in come.map(|c| ('+', c)).chain(left.map(|c| ('-', c))) {
                write!(f, " {sign}{}", self.names.of(*c))?;
            }
            before = &point.support;
        }
        Ok(())
    }
}
