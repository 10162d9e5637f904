//! Fitted reductions.

use std::fmt;

use fenchel_linalg::{AsDesign, Invalid, NamedRows, Names};
use fenchel_optim::Report;
use fenchel_optim::model::Saved;
use ndarray::{Array1, Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, finite, fold};
use crate::components::Components;
use crate::error::Error;
use crate::spectrum::Warning;

/// The fitted directions: the linear combinations of the features on which the response depends.
///
/// `y` depends on `x` through the `k` numbers `directions' (x - mean)`, if the model of the method holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reduction {
    /// `d x k`, orthonormal columns; the first `j` span what the first `j` loadings do.
    pub directions: Array2<f64>,
    /// `d x k`: the method's own directions, of length 1, not orthogonal in general.
    pub loadings: Array2<f64>,
    /// All eigenvalues, most important first.
    pub eigenvalues: Array1<f64>,
    /// The rule that chose the number of directions.
    pub rule: Components,
    /// Mean of the features.
    pub mean: Array1<f64>,
    /// The names of the features, if the design had them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// The method.
    pub method: String,
    /// The number of samples.
    pub samples: usize,
    /// The number of samples of each slice; empty for methods without slices.
    pub slices: Vec<usize>,
    /// Warnings about the fit.
    pub warnings: Vec<Warning>,
    /// The report of the fit, including the choice of the number of directions. The certificate is the Frobenius norm
    /// of `M V - V diag(eigenvalues)`; for [`Mave`](crate::Mave) it is the distance between the spans of its last two
    /// rounds. Passes are counted as rows read, divided by the number of rows, plus rounds on a copy in memory.
    pub report: Report,
}

/// The loadings: a line for each feature, and a column for each direction with the share of its eigenvalue.
impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = self.explained();
        let heading = |k: usize| format!("{} ({:.1}%)", k + 1, 100.0 * shares[k]);
        let headings: Vec<String> = (0..self.components()).map(heading).collect();
        let values = self.loadings.view();
        writeln!(
            f,
            "{}: {} directions of {} features",
            self.method,
            headings.len(),
            self.features()
        )?;
        NamedRows { headings, first: None, names: &self.names, values }.fmt(f)
    }
}

impl Saved for Reduction {
    const KIND: &'static str = "moments-reduction";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let (d, k) = self.directions.dim();
        if k == 0 || self.loadings.dim() != (d, k) {
            return Err(format!("{:?} directions, {:?} loadings", (d, k), self.loadings.dim()));
        }
        if self.mean.len() != d || self.eigenvalues.len() < k {
            return Err(format!(
                "{} means, {} eigenvalues",
                self.mean.len(),
                self.eigenvalues.len()
            ));
        }
        self.names.check(d).map_err(|error| error.to_string())?;
        let finite = self.directions.iter().chain(&self.loadings).chain(&self.mean);
        if !finite.chain(&self.eigenvalues).all(|v| v.is_finite()) {
            return Err("not all numbers are finite".into());
        }
        // Sums of squares of numbers up to 1e308 may be infinite, which is no identity either.
        let inner = self.directions.t().dot(&self.directions);
        if !inner.indexed_iter().all(|((i, j), v)| (v - f64::from(i == j)).abs() <= 1e-8) {
            return Err("the directions are not orthonormal".into());
        }
        let length = |c: ArrayView1<f64>| (c.dot(&c) - 1.0).abs() <= 1e-8;
        if !self.loadings.columns().into_iter().all(length) {
            return Err("a loading has another length than 1".into());
        }
        Ok(())
    }
}

impl Reduction {
    /// The same model with the names of its design.
    pub(crate) fn named(mut self, names: &Names) -> Self {
        self.names.clone_from(names);
        self
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.directions.nrows()
    }

    /// The number of directions.
    pub fn components(&self) -> usize {
        self.directions.ncols()
    }

    /// The indices `directions' (x - mean)` of every row: `n x k`.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a wrong number of features; [`Invalid::Layout`] for features of other names; [`Invalid::NonFinite`], also for a row so large that its index
    /// is not a number.
    pub fn transform<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        self.names.check_design(x.names())?;
        self.transform_blocks(&x.as_design()?)
    }

    pub(crate) fn transform_blocks(&self, data: &dyn Blocks) -> Result<Array2<f64>, Error> {
        Invalid::check_length("columns of the design matrix", self.features(), data.width())?;
        let parts = fold(data, Vec::new, |part: &mut Vec<f64>, _, rows| {
            part.extend((&rows - &self.mean).dot(&self.directions).iter());
            Ok(())
        })?;
        let indices: Vec<f64> = parts.into_iter().flatten().collect();
        let shape = (data.count(), self.components());
        let indices = Array2::from_shape_vec(shape, indices).expect("k numbers a row");
        Ok(finite(indices, "indices of the rows")?)
    }

    /// The projector on the span, `d x d`.
    pub fn projector(&self) -> Array2<f64> {
        self.directions.dot(&self.directions.t())
    }

    /// The share of each eigenvalue, in absolute value.
    pub fn explained(&self) -> Array1<f64> {
        // By the largest first: the sum of two numbers near 1e308 is infinite.
        let largest = self.eigenvalues.iter().fold(f64::MIN_POSITIVE, |m, l| m.max(l.abs()));
        let total: f64 = self.eigenvalues.iter().map(|l| l.abs() / largest).sum();
        self.eigenvalues.mapv(|l| if total > 0.0 { l.abs() / largest / total } else { 0.0 })
    }
}
