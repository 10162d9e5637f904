//! Fitted Gaussian graphical models and their queries.

use std::fmt;

use fenchel_graphical::Graph;
use fenchel_linalg::{AsDesign, Design, Invalid, NamedEdges, Names, factor};
use fenchel_optim::model::Saved;
use fenchel_optim::{MAX_MEMORY, Report};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::error::{Error, check_memory};

/// `N(mu, Theta^-1)` with a sparse `Theta`.
///
/// | question | method | cost |
/// |---|---|---|
/// | who depends on whom | [`graph`](GaussianModel::graph), [`edges`](GaussianModel::edges) | O(p^2) |
/// | how strongly | [`partial_correlations`](GaussianModel::partial_correlations) | O(p^2) |
/// | how likely are data | [`score`](GaussianModel::score), [`log_density`](GaussianModel::log_density) | O(p^3 + n p^2) |
/// | which rows are unusual | [`mahalanobis`](GaussianModel::mahalanobis) | O(n p^2) |
/// | what follows from some values | [`condition`](GaussianModel::condition) | O(u^3), u unknown |
/// | samples | [`sample`](GaussianModel::sample) | O(p^3 + n p^2) |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GaussianModel {
    /// The mean, one number per variable.
    pub mean: Array1<f64>,
    /// The names of the variables, if the data had them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// Precision `Theta`, with exact zeros.
    pub precision: Array2<f64>,
    /// Its inverse.
    pub covariance: Array2<f64>,
    /// The report of the fit.
    pub report: Report,
}

/// A normal distribution of some variables, as [`GaussianModel::condition`] gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// Which variables, ascending.
    pub variables: Vec<usize>,
    /// Their means.
    pub mean: Array1<f64>,
    /// Their covariances.
    pub covariance: Array2<f64>,
}

impl GaussianModel {
    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.mean.len()
    }

    /// The same model where variable `i` was divided by `units[i]` before the fit.
    pub(crate) fn in_units(mut self, units: &Array1<f64>) -> Self {
        self.precision.indexed_iter_mut().for_each(|((i, j), x)| *x /= units[i] * units[j]);
        self.covariance.indexed_iter_mut().for_each(|((i, j), x)| *x *= units[i] * units[j]);
        self
    }

    /// The graph of the entries that are not 0.
    pub fn graph(&self) -> Graph {
        support(self.precision.view())
    }

    /// `(i, j, partial correlation)` with `i < j`, the strongest first.
    pub fn edges(&self) -> Vec<(usize, usize, f64)> {
        let partial = self.partial_correlations();
        let mut edges: Vec<_> = self
            .graph()
            .edges()
            .map(|(i, j)| (i as usize, j as usize, partial[[i as usize, j as usize]]))
            .collect();
        edges.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
        edges
    }

    /// `-Theta_ij / sqrt(Theta_ii Theta_jj)`, with ones on the diagonal.
    pub fn partial_correlations(&self) -> Array2<f64> {
        partials(self.precision.view())
    }

    /// `log N(x; mu, Theta^-1)` of every row, in nats.
    ///
    /// # Errors
    /// [`Invalid`] for data of the wrong width.
    pub fn log_density<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        let distances = self.mahalanobis(x)?;
        let log_det = factor::cholesky(self.precision.view())?.log_det();
        let constant = log_det - self.variables() as f64 * std::f64::consts::TAU.ln();
        Ok(distances.mapv(|d| 0.5 * (constant - d)))
    }

    /// The mean of [`log_density`](GaussianModel::log_density), as scikit-learn's `score`.
    ///
    /// # Errors
    /// As `log_density`, and [`Invalid::Empty`] for no rows.
    pub fn score<X: AsDesign + ?Sized>(&self, x: &X) -> Result<f64, Error> {
        let densities = self.log_density(x)?;
        Ok(densities.mean().ok_or(Invalid::Empty { what: "data" })?)
    }

    /// `(x - mu)' Theta (x - mu)` of every row.
    ///
    /// # Errors
    /// [`Invalid`] for data of the wrong width or with columns of other names, and for a precision matrix that was replaced by one of another shape.
    pub fn mahalanobis<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<f64>, Error> {
        self.names.check_design(x.names())?;
        let x = x.as_design()?;
        let p = self.variables();
        Invalid::check_length("columns of the data", p, x.columns())?;
        self.check_precision()?;
        let mut row = vec![0.0; p];
        Ok((0..x.rows())
            .map(|i| {
                row.iter_mut().zip(&self.mean).for_each(|(r, m)| *r = -m);
                x.row_axpy(i, 1.0, &mut row);
                let row = ArrayView1::from(&row);
                self.precision.dot(&row).dot(&row)
            })
            .collect())
    }

    /// The fields are public.
    fn check_precision(&self) -> Result<(), Invalid> {
        let p = self.variables();
        Invalid::check_length("rows of the precision", p, self.precision.nrows())?;
        Invalid::check_length("columns of the precision", p, self.precision.ncols())
    }

    /// Draws `n` samples, one per row.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] if the precision was changed by hand.
    pub fn sample(&self, n: usize, rng: &mut (impl Rng + ?Sized)) -> Result<Array2<f64>, Error> {
        sample(self.precision.view(), &self.mean, n, rng)
    }

    /// The distribution of all other variables given the values of some.
    ///
    /// ```text
    /// mean_U = mu_U - Theta_UU^-1 Theta_UK (x_K - mu_K),   covariance Theta_UU^-1
    /// ```
    ///
    /// # Errors
    /// [`Invalid`] for a variable that does not exist or is given twice, a value that is not finite, or a precision matrix that was
    /// replaced by one of another shape.
    pub fn condition(&self, known: &[(usize, f64)]) -> Result<Gaussian, Error> {
        self.check_precision()?;
        let p = self.variables();
        let mut given = vec![None; p];
        for &(variable, value) in known {
            if variable >= p || given[variable].is_some() {
                let expected = "a variable, counted from 0, at most once";
                let value = variable as f64;
                return Err(Invalid::Parameter { name: "known variable", value, expected }.into());
            }
            Invalid::check_finite("known value", &[value])?;
            given[variable] = Some(value - self.mean[variable]);
        }
        let variables: Vec<usize> = (0..p).filter(|&i| given[i].is_none()).collect();
        let u = variables.len();
        if u == 0 {
            let covariance = Array2::zeros((0, 0));
            return Ok(Gaussian { variables, mean: Array1::zeros(0), covariance });
        }
        let within =
            Array2::from_shape_fn((u, u), |(a, b)| self.precision[[variables[a], variables[b]]]);
        let factor = factor::cholesky(within.view())?;
        let pull: Array1<f64> = variables
            .iter()
            .map(|&i| {
                let row = self.precision.row(i);
                -given.iter().zip(row).filter_map(|(d, t)| d.map(|d| d * t)).sum::<f64>()
            })
            .collect();
        let mut mean = factor.solve(pull.view())?;
        mean.iter_mut().zip(&variables).for_each(|(m, &i)| *m += self.mean[i]);
        Ok(Gaussian { variables, mean, covariance: factor::inverse(&factor) })
    }
}

/// The partial correlations of the edges by the names of their variables, the strongest first: at most a hundred lines.
impl fmt::Display for GaussianModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (edges, p) = (self.edges(), self.variables());
        writeln!(f, "{p} variables, {} edges with partial correlations", edges.len())?;
        NamedEdges { names: &self.names, edges }.fmt(f)
    }
}

/// The graph of the entries off the diagonal that are not 0.
///
/// # Errors
/// [`Invalid`] unless the matrix is square.
pub fn graph_of(precision: ArrayView2<f64>) -> Result<Graph, Error> {
    Invalid::check_square("precision", precision.dim())?;
    Ok(support(precision))
}

/// [`graph_of`] a square matrix.
pub(crate) fn support(precision: ArrayView2<f64>) -> Graph {
    let p = precision.nrows();
    let mut edges = Vec::new();
    for i in 0..p {
        for j in i + 1..p {
            if precision[[i, j]] != 0.0 {
                edges.push((i as u32, j as u32));
            }
        }
    }
    Graph::new(p, edges).expect("edges between nodes that exist")
}

/// `-Theta_ij / sqrt(Theta_ii Theta_jj)`, with ones on the diagonal.
///
/// # Errors
/// [`Invalid`] unless the matrix is square with a positive diagonal.
pub fn partial_correlations(precision: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
    Invalid::check_square("precision", precision.dim())?;
    for &value in precision.diag() {
        Invalid::check_positive("diagonal of the precision", value)?;
    }
    Ok(partials(precision))
}

/// [`partial_correlations`] of a matrix that has them.
pub(crate) fn partials(precision: ArrayView2<f64>) -> Array2<f64> {
    let root = precision.diag().mapv(f64::sqrt);
    Array2::from_shape_fn(precision.raw_dim(), |(i, j)| {
        if i == j { 1.0 } else { -precision[[i, j]] / root[i] / root[j] }
    })
}

/// Samples of `N(mean, precision^-1)`, one per row.
///
/// # Errors
/// [`Invalid::NotPositiveDefinite`]; [`Error::Refused`] for more draws than memory.
pub fn sample(
    precision: ArrayView2<f64>,
    mean: &Array1<f64>,
    n: usize,
    rng: &mut (impl Rng + ?Sized),
) -> Result<Array2<f64>, Error> {
    let p = Invalid::check_square("precision", precision.dim())?;
    Invalid::check_length("mean", p, mean.len())?;
    Invalid::check_finite("mean", &mean.to_vec())?;
    check_memory("the draws", (n as u64).saturating_mul(p as u64), MAX_MEMORY, "take fewer draws")?;
    let factor = factor::cholesky(precision)?;
    let mut out = Array2::zeros((n, p));
    let mut z = vec![0.0; p];
    for mut row in out.rows_mut() {
        z.iter_mut().for_each(|z| *z = StandardNormal.sample(rng));
        factor.solve_transposed(&mut z);
        row.iter_mut().zip(&z).zip(mean).for_each(|((x, z), m)| *x = z + m);
    }
    Ok(out)
}

impl Saved for GaussianModel {
    const KIND: &'static str = "gaussian graphical model";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let p = self.variables();
        self.names.check(p).map_err(|error| error.to_string())?;
        if self.precision.dim() != (p, p) || self.covariance.dim() != (p, p) {
            return Err(format!("precision and covariance must be {p} x {p}"));
        }
        if !self.mean.iter().all(|v| v.is_finite()) {
            return Err("the mean must be finite".into());
        }
        check_inverse(self.precision.view(), self.covariance.view())
    }
}

/// Checks that two matrices of the same order are positive definite and inverse to each other.
pub(crate) fn check_inverse(
    precision: ArrayView2<f64>,
    covariance: ArrayView2<f64>,
) -> Result<(), String> {
    factor::cholesky(precision).map_err(|e| e.to_string())?;
    factor::cholesky(covariance).map_err(|e| e.to_string())?;
    // In standard deviations, and relative to what rounding may be multiplied by.
    let scale = covariance.diag().mapv(f64::sqrt);
    let inflation = &precision.diag() * &covariance.diag();
    let product = precision.dot(&covariance);
    let wrong = product.indexed_iter().find(|((i, j), v)| {
        let expected = if i == j { 1.0 } else { 0.0 };
        !((*v * scale[*i] / scale[*j] - expected).abs() <= 1e-6 * inflation[*i])
    });
    match wrong {
        Some(((i, j), _)) => Err(format!(
            "the covariance must be the inverse of the precision; entry ({i}, {j}) of their product is not that of the identity"
        )),
        None => Ok(()),
    }
}
