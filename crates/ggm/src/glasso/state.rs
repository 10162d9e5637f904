//! The final state of the graphical lasso: precision and covariance, stored per component.

use fenchel_linalg::{Invalid, factor};
use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A precision matrix by components, with its inverse: the final state of a run, and a possible start of another one.
#[derive(Debug, Clone)]
pub struct GlassoState {
    pub(super) order: usize,
    pub(super) components: Vec<Component>,
}

/// A dense block of a block-diagonal matrix.
#[derive(Debug, Clone)]
pub(super) struct Component {
    pub(super) nodes: Vec<u32>,
    pub(super) precision: Vec<f64>,
    pub(super) covariance: Vec<f64>,
    pub(super) log_det: f64,
}

impl GlassoState {
    /// A warm start from a positive definite precision matrix.
    ///
    /// # Errors
    /// [`Invalid`] for a matrix that is not symmetric positive definite.
    pub fn from_precision(precision: ArrayView2<f64>) -> Result<GlassoState, Error> {
        Self::checked("precision", precision)
    }

    fn checked(what: &'static str, precision: ArrayView2<f64>) -> Result<GlassoState, Error> {
        let p = Invalid::check_square(what, precision.dim())?;
        let factor = factor::cholesky(precision).map_err(|error| match error {
            Invalid::NonFinite { row, column, value, .. } => {
                Invalid::NonFinite { what, row, column, value }
            }
            Invalid::NotPositiveDefinite { pivot, value, .. } => {
                Invalid::NotPositiveDefinite { what, pivot, value }
            }
            Invalid::Layout { reason, .. } => Invalid::Layout { what, reason },
            other => other,
        })?;
        let entries: Vec<f64> = precision.iter().copied().collect();
        let covariance = factor::inverse(&factor).into_raw_vec_and_offset().0;
        let nodes = (0..p as u32).collect();
        let log_det = factor.log_det();
        let component = Component { nodes, precision: entries, covariance, log_det };
        Ok(GlassoState { order: p, components: vec![component] })
    }

    /// The same from the precision matrix of an earlier model in the units of the data. Variable `i` is divided by
    /// `units[i]`.
    pub(crate) fn in_units(
        precision: ArrayView2<f64>,
        units: &Array1<f64>,
    ) -> Result<GlassoState, Error> {
        let what = "precision of the start";
        let p = Invalid::check_square(what, precision.dim())?;
        Invalid::check_length("variables of the start", units.len(), p)?;
        let scaled =
            Array2::from_shape_fn((p, p), |(i, j)| precision[[i, j]] * units[i] * units[j]);
        Self::checked(what, scaled.view())
    }

    /// Number of variables.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The nodes of the components that were solved separately.
    pub fn components(&self) -> impl Iterator<Item = &[u32]> {
        self.components.iter().map(|component| component.nodes.as_slice())
    }

    /// `log det Theta`.
    pub fn log_det(&self) -> f64 {
        self.components.iter().map(|component| component.log_det).sum()
    }

    /// The precision matrix `Theta`.
    pub fn precision(&self) -> Array2<f64> {
        self.dense(|component| &component.precision)
    }

    /// Its inverse.
    pub fn covariance(&self) -> Array2<f64> {
        self.dense(|component| &component.covariance)
    }

    fn dense(&self, of: impl Fn(&Component) -> &[f64]) -> Array2<f64> {
        let mut out = Array2::zeros((self.order, self.order));
        for component in &self.components {
            let k = component.nodes.len();
            for (row, &i) in of(component).chunks_exact(k).zip(&component.nodes) {
                for (value, &j) in row.iter().zip(&component.nodes) {
                    out[[i as usize, j as usize]] = *value;
                }
            }
        }
        out
    }

    /// The precision matrix without its zeros.
    pub fn sparse(&self) -> Precision {
        let mut diagonal = vec![0.0; self.order];
        let mut edges = Vec::new();
        for component in &self.components {
            let k = component.nodes.len();
            for (a, &i) in component.nodes.iter().enumerate() {
                diagonal[i as usize] = component.precision[a * k + a];
                for (b, &j) in component.nodes.iter().enumerate().skip(a + 1) {
                    let value = component.precision[a * k + b];
                    if value != 0.0 {
                        edges.push((i, j, value));
                    }
                }
            }
        }
        edges.sort_unstable_by_key(|&(i, j, _)| (i, j));
        Precision { diagonal, edges }
    }
}

/// A sparse symmetric matrix: diagonal and edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// The diagonal.
    pub diagonal: Vec<f64>,
    /// `(i, j, value)` with `i < j`, ascending; no zeros.
    pub edges: Vec<(u32, u32, f64)>,
}

impl Precision {
    /// All entries.
    pub fn dense(&self) -> Array2<f64> {
        let p = self.diagonal.len();
        let mut out = Array2::zeros((p, p));
        for (i, &value) in self.diagonal.iter().enumerate() {
            out[[i, i]] = value;
        }
        for &(i, j, value) in &self.edges {
            out[[i as usize, j as usize]] = value;
            out[[j as usize, i as usize]] = value;
        }
        out
    }

    /// The entries of a dense symmetric matrix that are not 0.
    pub fn from_dense(matrix: ArrayView2<f64>) -> Precision {
        let diagonal = matrix.diag().to_vec();
        let mut edges = Vec::new();
        for i in 0..diagonal.len() {
            for j in i + 1..diagonal.len() {
                if matrix[[i, j]] != 0.0 {
                    edges.push((i as u32, j as u32, matrix[[i, j]]));
                }
            }
        }
        Precision { diagonal, edges }
    }
}
