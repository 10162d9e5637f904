//! Mean, covariance, and the linear map that makes the covariance the identity.

use fenchel_linalg::factor::symmetric_eigen;
use fenchel_linalg::{Gram, Invalid};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::blocks::{Blocks, add_grams, check_memory, each_row, fold, rough_mean};
use crate::error::{Error, named};
use crate::file::checked_file;

/// `z = W (x - mean)` with `W Sigma W' = I`.
///
/// `W = R^{-1/2} D^{-1}` for the correlation matrix `R` and the standard deviations `D`. So columns in different units
/// do not lose digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub(crate) struct Whitening {
    /// Mean of the features.
    pub mean: Array1<f64>,
    /// Covariance of the features, divisor `n`.
    pub covariance: Array2<f64>,
    /// `W`, `d x d`.
    pub map: Array2<f64>,
    /// Smallest eigenvalue of the correlation matrix over the largest.
    pub conditioning: f64,
}

checked_file!(Whitening {
    mean: Array1<f64>,
    covariance: Array2<f64>,
    map: Array2<f64>,
    conditioning: f64
});

/// Correlation matrices worse than this are taken for singular.
const SINGULAR: f64 = 1e-12;

/// Columns whose standard deviation is at most this fraction of their mean are taken for constant.
pub(crate) const CONSTANT: f64 = 1e-14;

/// The matrices of `d x d` numbers that any method with a covariance has at the same time: the sum of a block, the total,
/// and its factor.
pub(crate) const SQUARES: u64 = 3;

impl Whitening {
    /// What a file must hold.
    fn check(&self) -> Result<(), Invalid> {
        let d = self.mean.len();
        if d == 0 {
            return Err(Invalid::Empty { what: "mean of the whitening" });
        }
        for (what, matrix) in [("covariance", &self.covariance), ("map", &self.map)] {
            let found = Invalid::check_square(what, matrix.dim())?;
            Invalid::check_length(what, d, found)?;
            Invalid::check_finite(what, &matrix.iter().copied().collect::<Vec<_>>())?;
        }
        Invalid::check_finite("mean of the whitening", &self.mean.to_vec())?;
        Invalid::check_finite("conditioning", &[self.conditioning])?;
        if let Some(c) = (0..d).find(|&c| self.map.column(c).iter().all(|v| *v == 0.0)) {
            let reason = format!("column {c} is 0");
            return Err(Invalid::Layout { what: "map of the whitening", reason });
        }
        Ok(())
    }

    /// Computes mean, covariance and whitening in one pass over the data.
    pub(crate) fn of(data: &dyn Blocks, max_memory: Option<u64>) -> Result<Self, Error> {
        Ok(Whitening::along(data, max_memory, || (), |(), _, _| {})?.0)
    }

    /// Computes the whitening, together with any other sum that the same pass can accumulate through
    /// `step(part, i, x_i - near)`. Returns the whitening, the accumulated parts, and `near`, a point near the mean.
    pub(crate) fn along<T: Send>(
        data: &dyn Blocks,
        max_memory: Option<u64>,
        make: impl Fn() -> T + Sync + Send,
        step: impl Fn(&mut T, usize, &[f64]) + Sync + Send,
    ) -> Result<(Self, Vec<T>, Array1<f64>), Error> {
        check_memory("the covariance of the features", data, (0, SQUARES), max_memory)?;
        let (n, d) = (data.count() as f64, data.width());
        let near = rough_mean(data);
        let from = near.to_vec();
        let parts = fold(
            data,
            || (vec![0.0; d], Gram::new(d), make()),
            |(sum, gram, other), first, rows| {
                each_row(rows, |i, values| {
                    let row = &mut gram.next_row()[..d];
                    for ((row, value), from) in row.iter_mut().zip(values).zip(&from) {
                        *row = value - from;
                    }
                    sum.iter_mut().zip(&*row).for_each(|(s, r)| *s += r);
                    step(other, first + i, row);
                });
                Ok(())
            },
        )?;
        let mut sum = Array1::zeros(d);
        let (mut grams, mut others) = (vec![], vec![]);
        for (part, gram, other) in parts {
            sum += &Array1::from(part);
            grams.push(gram);
            others.push(other);
        }
        let offset = sum / n;
        let covariance = centred(add_grams(grams, d), &offset, n);
        let what = "covariance of the features";
        let reach = || reach(data, &near);
        let whitening =
            Whitening::from_moments(&near + &offset, covariance, what, data.count(), reach)?;
        Ok((whitening, others, near))
    }

    /// From a mean and a covariance of so many samples. `reach` is how far every column goes from its mean, to within a
    /// small factor; it is asked for only if a variance is not a normal number.
    pub(crate) fn from_moments(
        mean: Array1<f64>,
        covariance: Array2<f64>,
        what: &'static str,
        samples: usize,
        reach: impl FnOnce() -> Result<Array1<f64>, Error>,
    ) -> Result<Self, Error> {
        let features = mean.len();
        if !covariance.diag().iter().all(|v| v.is_normal()) {
            let reach = reach()?;
            for (column, (&size, mean)) in reach.iter().zip(&mean).enumerate() {
                let varies = !(size <= CONSTANT * mean.abs());
                if varies && !covariance[[column, column]].is_normal() {
                    return Err(Error::Size { what, column, size });
                }
            }
        }
        let (map, conditioning) = match inverse_root(covariance.view(), mean.view(), what) {
            Err(Error::Singular { .. }) if samples <= features => {
                return Err(Error::FewSamples { what, samples, features });
            }
            found => found?,
        };
        Ok(Whitening { mean, covariance, map, conditioning })
    }

    /// `W (x - mean)` of every row.
    pub(crate) fn apply(&self, x: ArrayView2<f64>) -> Array2<f64> {
        (&x - &self.mean).dot(&self.map.t())
    }

    /// `W'`: takes directions for `z` to directions for `x`.
    pub(crate) fn back(&self) -> ArrayView2<'_, f64> {
        self.map.t()
    }
}

/// `W` with `W S W' = I`, and the condition number. `mean` is needed to distinguish constant columns from columns with
/// small entries.
fn inverse_root(
    covariance: ArrayView2<f64>,
    mean: ArrayView1<f64>,
    what: &'static str,
) -> Result<(Array2<f64>, f64), Error> {
    let d = covariance.nrows();
    let constant: Vec<usize> =
        (0..d).filter(|&c| !(covariance[[c, c]].sqrt() > CONSTANT * mean[c].abs())).collect();
    if !constant.is_empty() {
        return Err(Error::Constant { what, columns: constant });
    }
    let scale: Array1<f64> = (0..d).map(|c| 1.0 / covariance[[c, c]].sqrt()).collect();
    let correlation =
        Array2::from_shape_fn((d, d), |(i, j)| covariance[[i, j]] * scale[i] * scale[j]);
    let eigen = symmetric_eigen(correlation.view()).map_err(named(what))?;
    let conditioning = eigen.values[0] / eigen.values[d - 1];
    if !(conditioning > SINGULAR) {
        let null = eigen.vectors.column(0);
        let columns = (0..d).filter(|&c| null[c].abs() > 1e-3).collect();
        return Err(Error::Singular { what, smallest: conditioning, columns });
    }
    let root = eigen.map(|l| 1.0 / l.sqrt());
    Ok((root * &scale, conditioning))
}

/// `outer / n - offset offset'`.
pub(crate) fn centred(outer: Array2<f64>, offset: &Array1<f64>, n: f64) -> Array2<f64> {
    let d = offset.len();
    let mut covariance = outer / n;
    for i in 0..d {
        for j in 0..d {
            covariance[[i, j]] -= offset[i] * offset[j];
        }
    }
    covariance
}

/// The largest `|x - near|` of every column.
pub(crate) fn reach(data: &dyn Blocks, near: &Array1<f64>) -> Result<Array1<f64>, Error> {
    // The sum of numbers near 1e308 is infinite; then 0 is near enough.
    let near = near.mapv(|v| if v.is_finite() { v } else { 0.0 });
    let d = data.width();
    let parts = fold(
        data,
        || Array1::<f64>::zeros(d),
        |most, _, rows| {
            for row in rows.rows() {
                let pairs = most.iter_mut().zip(row).zip(&near);
                pairs.for_each(|((most, v), near)| *most = most.max((v - near).abs()));
            }
            Ok(())
        },
    )?;
    let larger = |a: Array1<f64>, b: Array1<f64>| {
        ndarray::Zip::from(&a).and(&b).map_collect(|a, b| a.max(*b))
    };
    Ok(parts.into_iter().fold(Array1::zeros(d), larger))
}

/// The column means, in one pass over the data.
pub(crate) fn mean_of(data: &dyn Blocks) -> Result<Array1<f64>, Error> {
    let shift = rough_mean(data);
    let d = data.width();
    let parts = fold(
        data,
        || Array1::<f64>::zeros(d),
        |sum, _, rows| {
            *sum += &(&rows - &shift).sum_axis(Axis(0));
            Ok(())
        },
    )?;
    let total = parts.into_iter().fold(Array1::<f64>::zeros(d), |sum, part| sum + part);
    Ok(shift + total / data.count() as f64)
}
