//! Fitted reductions, and the trait of the methods that compute them.

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::model::Saved;
use fenchel_optim::{Certificate, Clock, Report, Wall};
use ndarray::{Array1, Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, Counted, checked, finite, fold};
use crate::components::Components;
use crate::subspace::orthonormal;
use crate::whitening::mean_of;
use crate::{Error, Response, Spectrum, Warning};

/// A method that estimates directions, as the eigenvectors of a moment matrix.
///
/// A method that estimates directions. The choice of the number of directions, the bootstrap, permutation tests and the
/// index regressor work with any implementation of this trait. A new method only has to implement
/// [`spectrum`](Reducer::spectrum).
pub trait Reducer: Sync {
    /// The name in messages and models.
    fn name(&self) -> &'static str;

    /// How many directions to keep.
    fn components(&self) -> Components;

    /// All eigenvalues and directions.
    ///
    /// # Errors
    /// The errors of the method.
    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error>;

    /// Warnings in addition to those of the spectrum. They are computed once per fit, not for resamples.
    ///
    /// # Errors
    /// The errors of the method.
    fn warnings(&self, data: &dyn Blocks) -> Result<Vec<Warning>, Error> {
        let _ = data;
        Ok(vec![])
    }

    /// The statistic and the degrees of freedom of a chi-squared test for "there are at most `k` directions". `None` if
    /// the method has no such test.
    fn tail_test(&self, spectrum: &Spectrum, k: usize) -> Option<(f64, f64)> {
        let _ = (spectrum, k);
        None
    }
}

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
    /// Mean of the features.
    pub mean: Array1<f64>,
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
    /// [`Invalid::Length`] for a wrong number of features; [`Invalid::NonFinite`], also for a row so large that its index
    /// is not a number.
    pub fn transform<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
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

/// Fits a method: its spectrum, the number of directions, the model.
///
/// # Errors
/// The errors of the method; [`Error::TooManyComponents`].
pub fn fit_blocks(
    method: &dyn Reducer,
    data: &dyn Blocks,
    response: &Response,
) -> Result<Reduction, Error> {
    let wall = Wall::start();
    let data = Counted::new(data);
    let mut spectrum = method.spectrum(&data, response)?;
    spectrum.warnings.extend(method.warnings(&data)?);
    let k = method.components().choose(method, &spectrum, &data, response)?;
    let mean = match spectrum.mean.take() {
        Some(mean) => mean,
        None => mean_of(&data)?,
    };
    let spent = Spent { passes: data.passes() + spectrum.passes, seconds: wall.seconds() };
    finish(method.name(), spectrum, k, mean, spent)
}

/// The report of a fit.
pub(crate) struct Spent {
    pub(crate) passes: f64,
    pub(crate) seconds: f64,
}

/// The model of a spectrum and a number of directions.
pub(crate) fn finish(
    name: &'static str,
    spectrum: Spectrum,
    k: usize,
    mean: Array1<f64>,
    spent: Spent,
) -> Result<Reduction, Error> {
    spectrum.check_count(name, k)?;
    Invalid::check_finite("eigenvalues", &spectrum.values.to_vec())?;
    if spectrum.values.iter().all(|&l| l == 0.0) {
        return Err(Error::NoDirection { method: name });
    }
    let loadings = spectrum.leading(k)?.to_owned();
    let directions = orthonormal(loadings.view()).map_err(|error| match error {
        Error::Invalid(Invalid::RankDeficient { rank, columns, .. }) => {
            let reason = format!(
                "of {columns} only {rank} are told apart; scale the features to the same size, or ask for fewer"
            );
            Error::Invalid(Invalid::Layout { what: "directions", reason })
        }
        other => other,
    })?;
    let mut warnings = spectrum.warnings;
    if let (Some(kept), Some(next)) = (spectrum.values.get(k - 1), spectrum.values.get(k)) {
        let ratio = next.abs() / kept.abs();
        if ratio > 0.95 {
            warnings.push(Warning::NoGap { kept: k, ratio });
        }
    }
    let objective: f64 = spectrum.values.iter().take(k).sum();
    Ok(Reduction {
        directions,
        loadings,
        eigenvalues: spectrum.values,
        mean,
        method: name.to_owned(),
        samples: spectrum.samples,
        slices: spectrum.slices,
        warnings,
        report: Report {
            status: spectrum.status,
            certificate: Certificate::residual(objective, spectrum.residual, 0.0),
            passes: spent.passes,
            oracle_calls: 0,
            seconds: spent.seconds,
        },
    })
}

/// Columns with a handful of values: no density, no score.
pub(crate) fn discrete_columns(data: &dyn Blocks) -> Vec<Warning> {
    const FEW: usize = 5;
    let (n, d) = (data.count(), data.width());
    let mut seen: Vec<Vec<f64>> = vec![vec![]; d];
    let mut row = Array2::zeros((1, d));
    let looks = n.min(512);
    for k in 0..looks {
        data.read(k * n / looks, row.view_mut());
        for (values, &v) in seen.iter_mut().zip(row.row(0)) {
            if values.len() <= FEW && !values.contains(&v) {
                values.push(v);
            }
        }
    }
    let few = |(column, values): (usize, Vec<f64>)| {
        (values.len() <= FEW && looks > 4 * FEW)
            .then_some(Warning::Discrete { column, values: values.len() })
    };
    seen.into_iter().enumerate().filter_map(few).collect()
}

/// `fit`, `fit_classes` and `fit_transform` of an estimator that needs nothing but the data.
macro_rules! fit_methods {
    ($estimator:ty) => {
        impl $estimator {
            /// Fits the directions to numbers `y`.
            ///
            /// # Errors
            /// [`Error::Invalid`](crate::Error::Invalid) for data of the wrong shape or that are not finite, and the errors of the
            /// method.
            pub fn fit<'a, X: fenchel_linalg::AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ndarray::ArrayView1<'a, f64>>,
            ) -> Result<crate::Reduction, crate::Error> {
                let data = crate::blocks::checked(x)?;
                let response =
                    crate::Response::numbers(y.into(), crate::blocks::Blocks::count(&data))?;
                crate::model::fit_blocks(self, &data, &response)
            }

            /// Fits the directions to classes, one slice each.
            ///
            /// # Errors
            /// As [`fit`](Self::fit).
            pub fn fit_classes<
                X: fenchel_linalg::AsDesign + ?Sized,
                L: fenchel_linalg::labels::Label,
            >(
                &self,
                x: &X,
                y: &[L],
            ) -> Result<crate::Reduction, crate::Error> {
                let data = crate::blocks::checked(x)?;
                let response = crate::Response::classes(y, crate::blocks::Blocks::count(&data))?;
                crate::model::fit_blocks(self, &data, &response)
            }

            /// [`fit`](Self::fit), and the indices of the same data.
            ///
            /// # Errors
            /// As [`fit`](Self::fit).
            pub fn fit_transform<'a, X: fenchel_linalg::AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ndarray::ArrayView1<'a, f64>>,
            ) -> Result<(crate::Reduction, ndarray::Array2<f64>), crate::Error> {
                let model = self.fit(x, y)?;
                let indices = model.transform(x)?;
                Ok((model, indices))
            }
        }
    };
}
pub(crate) use fit_methods;

/// Fits any method to numbers; the estimators call it `fit`.
///
/// # Errors
/// The errors of [`Response::numbers`] and of the method.
pub fn fit_numbers<'a, X: AsDesign + ?Sized>(
    method: &dyn Reducer,
    x: &X,
    y: impl Into<ndarray::ArrayView1<'a, f64>>,
) -> Result<Reduction, Error> {
    let data = checked(x)?;
    let response = Response::numbers(y.into(), data.count())?;
    fit_blocks(method, &data, &response)
}
