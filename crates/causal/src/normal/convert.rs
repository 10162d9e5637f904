//! Mean and natural parameters, and their conversion to and from Cholesky parameters.

use fenchel_linalg::{Cholesky, Invalid};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::CholeskyPair;
use super::triangular::{factor_of_inverse, solve_lower, solve_lower_transposed};
use crate::Error;

/// `X ~ N(mean, covariance)`, `Y | X ~ N(slope X + intercept, covariance_given)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeanPair {
    /// The mean of the first vector.
    pub mean: Array1<f64>,
    /// Its covariance.
    pub covariance: Array2<f64>,
    /// `A`.
    pub slope: Array2<f64>,
    /// `a`.
    pub intercept: Array1<f64>,
    /// The covariance of the second vector given the first.
    pub covariance_given: Array2<f64>,
}

/// Natural parameters: precisions, and precisions times means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NaturalPair {
    /// `eta = Lambda mu` of the first vector.
    pub eta: Array1<f64>,
    /// `Lambda`.
    pub precision: Array2<f64>,
    /// `B = Lambda_{Y|X} A`.
    pub slope: Array2<f64>,
    /// `b = Lambda_{Y|X} a`.
    pub intercept: Array1<f64>,
    /// `Lambda_{Y|X}`.
    pub precision_given: Array2<f64>,
}

/// Checks that every entry is finite.
pub(crate) fn check_entries(what: &'static str, x: ArrayView2<'_, f64>) -> Result<(), Invalid> {
    match x.indexed_iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some(((row, column), &value)) => Err(Invalid::NonFinite { what, row, column, value }),
    }
}

/// Deviations from the mean of every column, and the sizes of their squares: the variance, or what rounding makes of a column that is
/// far from 0.
pub(crate) fn deviations(x: ArrayView2<'_, f64>) -> Option<(Array1<f64>, Array2<f64>, Vec<f64>)> {
    let mut mean = x.mean_axis(Axis(0))?;
    let mut centred = &x - &mean;
    // The rounding of the mean, which counts where a column is far from 0.
    let rest = centred.mean_axis(Axis(0))?;
    centred -= &rest;
    mean += &rest;
    let sizes = x.columns().into_iter().zip(centred.columns()).map(|(x, d)| {
        let largest = x.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        (d.dot(&d) / x.len() as f64).max(f64::EPSILON / 4.0 * largest * largest)
    });
    let sizes = sizes.collect();
    Some((mean, centred, sizes))
}

/// The Cholesky factor of a covariance, unless it is singular up to the rounding of its entries, which are sums of products of these
/// sizes.
pub(crate) fn factor_above_rounding(
    what: &'static str,
    covariance: ArrayView2<'_, f64>,
    sizes: &[f64],
) -> Result<Cholesky, Error> {
    let factor = Cholesky::new(covariance)?;
    let columns = covariance.nrows();
    let rounding = 64.0 * f64::EPSILON * columns as f64;
    let lower = factor.lower();
    match (0..columns).find(|&i| !(lower[(i, i)] * lower[(i, i)] > rounding * sizes[i])) {
        Some(rank) => Err(Invalid::RankDeficient { what, rank, columns, column: None }.into()),
        None => Ok(factor),
    }
}

impl MeanPair {
    /// The maximum likelihood estimate from samples in rows, with a ridge added to both covariances.
    ///
    /// # Errors
    /// [`Error::Invalid`] for different numbers of rows, entries that are not finite, and covariances that are singular: give more samples
    /// than dimensions, or a ridge.
    pub fn fit(
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        ridge: f64,
    ) -> Result<MeanPair, Error> {
        Invalid::check_length("rows of y", x.nrows(), y.nrows())?;
        Invalid::check_nonnegative("ridge", ridge)?;
        check_entries("x", x)?;
        check_entries("y", y)?;
        let (Some((mx, cx, sx)), Some((my, cy, sy))) = (deviations(x), deviations(y)) else {
            return Err(Invalid::Empty { what: "the samples" }.into());
        };
        let n = x.nrows() as f64;
        let ridged = |sizes: Vec<f64>| sizes.iter().map(|s| s + ridge).collect::<Vec<_>>();
        let add = |m: Array2<f64>| -> Array2<f64> { &m + Array2::<f64>::eye(m.nrows()) * ridge };
        let covariance = add(cx.t().dot(&cx) / n);
        let cross = cx.t().dot(&cy) / n;
        let factor = factor_above_rounding("x", covariance.view(), &ridged(sx))?;
        let slope = factor.solve_matrix(cross.view())?.reversed_axes();
        let rest = &cy - &cx.dot(&slope.t());
        let covariance_given = add(rest.t().dot(&rest) / n);
        factor_above_rounding("y given x", covariance_given.view(), &ridged(sy))?;
        let intercept = &my - &slope.dot(&mx);
        Ok(MeanPair {
            mean: mx,
            covariance,
            slope: slope.as_standard_layout().into_owned(),
            intercept,
            covariance_given,
        })
    }

    /// The same law in Cholesky parameters; the direction is causal.
    ///
    /// # Errors
    /// [`Error::Invalid`] for wrong shapes, and for covariances that are not positive definite.
    pub fn to_cholesky(&self) -> Result<CholeskyPair, Error> {
        let factor = factor_of_inverse("the covariance", self.covariance.view())?;
        let given = factor_of_inverse("the conditional covariance", self.covariance_given.view())?;
        Invalid::check_length("the mean", factor.nrows(), self.mean.len())?;
        Invalid::check_length("the intercept", given.nrows(), self.intercept.len())?;
        Invalid::check_length("rows of the slope", given.nrows(), self.slope.nrows())?;
        let zeta = factor.t().dot(&self.mean);
        let (slope, intercept) = (given.t().dot(&self.slope), given.t().dot(&self.intercept));
        CholeskyPair::new(zeta, factor, slope, intercept, given)
    }
}

impl NaturalPair {
    /// The same law in Cholesky parameters; the direction is causal.
    ///
    /// # Errors
    /// [`Error::Invalid`] for wrong shapes, and for precisions that are not positive definite.
    pub fn to_cholesky(&self) -> Result<CholeskyPair, Error> {
        let factor = Cholesky::new(self.precision.view())?.lower().to_owned();
        let given = Cholesky::new(self.precision_given.view())?.lower().to_owned();
        Invalid::check_length("eta", factor.nrows(), self.eta.len())?;
        Invalid::check_length("the intercept", given.nrows(), self.intercept.len())?;
        Invalid::check_length("rows of the slope", given.nrows(), self.slope.nrows())?;
        let column = |l: &Array2<f64>, v: &Array1<f64>| {
            let mut b = v.clone().insert_axis(Axis(1));
            solve_lower(l, &mut b);
            b.remove_axis(Axis(1))
        };
        let mut slope = self.slope.clone();
        solve_lower(&given, &mut slope);
        let (zeta, intercept) = (column(&factor, &self.eta), column(&given, &self.intercept));
        CholeskyPair::new(zeta, factor, slope, intercept, given)
    }

    /// The squared Euclidean distance of the natural parameters; off-diagonal entries count twice, as in the Frobenius norm.
    ///
    /// # Errors
    /// [`Error::Invalid`] for different dimensions.
    pub fn distance_sq(&self, other: &NaturalPair) -> Result<f64, Error> {
        Invalid::check_length("dimension of X", self.eta.len(), other.eta.len())?;
        Invalid::check_length("dimension of Y", self.intercept.len(), other.intercept.len())?;
        let matrices =
            |p: &NaturalPair| [p.precision.dim(), p.slope.dim(), p.precision_given.dim()];
        for (a, b) in matrices(self).into_iter().zip(matrices(other)) {
            Invalid::check_length("rows of a matrix", a.0, b.0)?;
            Invalid::check_length("columns of a matrix", a.1, b.1)?;
        }
        let matrix = |a: &Array2<f64>, b: &Array2<f64>| (a - b).mapv(|e| e * e).sum();
        let vector = |a: &Array1<f64>, b: &Array1<f64>| (a - b).mapv(|e| e * e).sum();
        Ok(vector(&self.eta, &other.eta)
            + matrix(&self.precision, &other.precision)
            + matrix(&self.slope, &other.slope)
            + vector(&self.intercept, &other.intercept)
            + matrix(&self.precision_given, &other.precision_given))
    }
}

impl CholeskyPair {
    /// The same law in natural parameters, which do not tell the direction. O(K^3).
    pub fn to_natural(&self) -> NaturalPair {
        let product = |l: &Array2<f64>| l.dot(&l.t());
        NaturalPair {
            eta: self.factor.dot(&self.zeta),
            precision: product(&self.factor),
            slope: self.factor_given.dot(&self.slope),
            intercept: self.factor_given.dot(&self.intercept),
            precision_given: product(&self.factor_given),
        }
    }

    /// The same law in mean parameters, which do not tell the direction. O(K^3).
    ///
    /// # Errors
    /// None for a pair that was built by this crate.
    pub fn to_mean(&self) -> Result<MeanPair, Error> {
        let inverse = |l: &Array2<f64>| {
            let mut i = Array2::eye(l.nrows());
            solve_lower(l, &mut i);
            i.t().dot(&i)
        };
        let back = |l: &Array2<f64>, v: &Array1<f64>| {
            let mut x = v.clone();
            solve_lower_transposed(l, &mut x);
            x
        };
        let mut slope = Array2::zeros(self.slope.dim());
        for (from, mut to) in self.slope.columns().into_iter().zip(slope.columns_mut()) {
            to.assign(&back(&self.factor_given, &from.to_owned()));
        }
        Ok(MeanPair {
            mean: back(&self.factor, &self.zeta),
            covariance: inverse(&self.factor),
            slope,
            intercept: back(&self.factor_given, &self.intercept),
            covariance_given: inverse(&self.factor_given),
        })
    }
}
