//! Eigenvalues and directions of a moment matrix, before a number of directions is chosen.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::symmetric_eigen;
use fenchel_linalg::text::number;
use fenchel_optim::Status;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::blocks::leading;
use crate::error::{Error, named};

/// Which eigenvalues come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EigenOrder {
    /// The largest absolute values: right for every indefinite matrix.
    #[default]
    Absolute,
    /// The largest eigenvalues by their sign. Use it for matrices that estimate a positive semidefinite one, and to
    /// reproduce the figure in D. Babichev, PhD thesis 2019, section 2.5.5, in which PHD+ fails.
    Algebraic,
}

/// The result of a method: all eigenvalues in its order, and one direction per eigenvalue.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Eigenvalues, most important first.
    pub values: Array1<f64>,
    /// Directions as columns, in the coordinates of the data, of length 1. The entry of largest
    /// absolute value of each is positive.
    pub vectors: Array2<f64>,
    /// The Frobenius norm of `M V - V diag(values)` in the coordinates of the eigenproblem. The directions of
    /// [`Mave`](crate::Mave) solve no eigenproblem; for them it is the distance between the spans of the last two
    /// rounds.
    pub residual: f64,
    /// How the method ended: [`Status::Converged`], unless it is iterative and a limit stopped it.
    pub status: Status,
    /// Passes over a copy of the data in memory, in addition to the rows read: the rounds of an iterative method.
    pub passes: f64,
    /// The mean of the features, from methods that have it as a by-product. Otherwise it costs one pass over the data.
    pub mean: Option<Array1<f64>>,
    /// The number of samples.
    pub samples: usize,
    /// The number of samples of each slice; empty for methods without slices.
    pub slices: Vec<usize>,
    /// The largest number of directions the method can find.
    pub most: usize,
    /// Variance of the response that a test divides by, for methods that have one.
    pub noise: Option<f64>,
    /// Warnings about the fit.
    pub warnings: Vec<Warning>,
}

/// A warning about a fit that succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Warning {
    /// A column has so few values that it has no density; scores do not exist there.
    Discrete {
        /// The column.
        column: usize,
        /// The number of its distinct values.
        values: usize,
    },
    /// The mean derivative is not distinguishable from 0, so that ADE sees no direction.
    WeakDerivative {
        /// Length of the mean derivative relative to its standard error.
        ratio: f64,
    },
    /// A score violates `E[(x - mu) S1'] = I`.
    PoorScore {
        /// Frobenius norm of the difference, relative to that of the identity.
        deviation: f64,
    },
    /// The mean of a score is not 0: its density lies elsewhere than the features.
    ScoreOffset {
        /// The largest absolute entry of the mean, in standard deviations of the score.
        offset: f64,
    },
    /// One row makes up more than half of the variance of the response, so that the mean that the method takes over the
    /// responses is about this row. Leave it out if it is an error, or transform the response.
    Dominated {
        /// The row.
        row: usize,
        /// Its part of the variance of the response.
        share: f64,
    },
    /// The last direction kept and the first left out have nearly the same eigenvalue.
    NoGap {
        /// Directions kept.
        kept: usize,
        /// The first eigenvalue left out relative to the last kept.
        ratio: f64,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::Discrete { column, values } => {
                write!(
                    f,
                    "column {column} has {values} distinct values: it has no density, and no score"
                )
            }
            Warning::WeakDerivative { ratio } => write!(
                f,
                "the mean derivative is {} standard errors long: it averages to about zero; use SADE or SPHD",
                number(*ratio, 2)
            ),
            Warning::PoorScore { deviation } => write!(
                f,
                "the score violates E[(x - mu) S1'] = I by {:.0} %: change the bandwidth or the ridge",
                100.0 * deviation
            ),
            Warning::ScoreOffset { offset } => write!(
                f,
                "the mean of the score, 0 for the density of the features, is {} of its standard deviations: another density",
                number(*offset, 2)
            ),
            Warning::Dominated { row, share } => write!(
                f,
                "row {row} makes up {:.0} % of the variance of the response: the directions are about this row",
                100.0 * share
            ),
            Warning::NoGap { kept, ratio } => write!(
                f,
                "eigenvalue {} is {} times eigenvalue {kept}: the span is poorly determined",
                kept + 1,
                number(*ratio, 2)
            ),
        }
    }
}

impl Spectrum {
    /// Eigenvalues of a symmetric matrix; `map` takes its vectors to the coordinates of the data (`None`: they are).
    pub(crate) fn of(
        matrix: &Array2<f64>,
        order: EigenOrder,
        map: Option<ArrayView2<f64>>,
    ) -> Result<Self, Error> {
        let matrix = (matrix + &matrix.t()) * 0.5;
        let found = symmetric_eigen(matrix.view()).map_err(named("moment matrix of the method"))?;
        let d = matrix.nrows();
        let key = |j: usize| match order {
            EigenOrder::Absolute => found.values[j].abs(),
            EigenOrder::Algebraic => found.values[j],
        };
        let mut rank: Vec<usize> = (0..d).collect();
        rank.sort_by(|&i, &j| key(j).total_cmp(&key(i)).then(j.cmp(&i)));
        let values: Array1<f64> = rank.iter().map(|&j| found.values[j]).collect();
        let inner = found.vectors.select(Axis(1), &rank);
        let residual = &matrix.dot(&inner) - &(&inner * &values);
        let residual = residual.iter().map(|v| v * v).sum::<f64>().sqrt();
        let vectors = match map {
            Some(map) => map.dot(&inner),
            None => inner,
        };
        Ok(Spectrum {
            values,
            vectors: normalised(vectors),
            residual,
            status: Status::Converged,
            passes: 0.0,
            mean: None,
            samples: 0,
            slices: vec![],
            most: d,
            noise: None,
            warnings: vec![],
        })
    }

    /// Multiplies the eigenvalues by the unit of a response in which they are linear.
    pub(crate) fn in_unit(&mut self, unit: f64) {
        self.values *= unit;
        self.residual *= unit;
    }

    /// The first `k` directions.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] if there are fewer.
    pub(crate) fn leading(&self, k: usize) -> Result<ArrayView2<'_, f64>, Invalid> {
        if k > self.vectors.ncols() {
            let expected = "at most the number of directions of the method";
            let name = "number of directions";
            return Err(Invalid::Parameter { name, value: k as f64, expected });
        }
        Ok(leading(&self.vectors, k))
    }

    /// Refuses a number of directions that exceeds the directions of the spectrum, or is zero.
    pub(crate) fn check_count(&self, method: &'static str, k: usize) -> Result<(), Error> {
        let d = self.vectors.nrows();
        if k == 0 || k > d {
            return Err(Invalid::Parameter {
                name: "number of directions",
                value: k as f64,
                expected: "at least 1, at most the number of features",
            }
            .into());
        }
        if k > self.most {
            let hint = "use more slices, or SADE or SAVE";
            return Err(Error::TooManyComponents { method, asked: k, most: self.most, hint });
        }
        Ok(())
    }
}

/// Columns of length 1 whose largest entry is positive.
pub(crate) fn normalised(mut vectors: Array2<f64>) -> Array2<f64> {
    for mut column in vectors.columns_mut() {
        let mut largest = 0.0_f64;
        for &v in &column {
            // Rounding must not decide between entries of the same size.
            if v.abs() > largest.abs() * (1.0 + 1e-9) {
                largest = v;
            }
        }
        if largest != 0.0 {
            // By the largest first: squares of entries near 1e160 or 1e-160 leave the range of numbers.
            column.mapv_inplace(|v| v / largest);
            let norm = column.dot(&column).sqrt();
            column.mapv_inplace(|v| v / norm);
        }
    }
    vectors
}
