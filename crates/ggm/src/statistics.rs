//! Sufficient statistics of a Gaussian sample: means and covariances.
//!
//! ```text
//! mu = (1/n) sum_i x_i,   C = (1/n) sum_i (x_i - mu)(x_i - mu)'
//! ```
//!
//! The scaled negative log-likelihood of a precision matrix is `<C, Theta> - log det Theta`. The average negative
//! log-density is half of it, plus `p log(2 pi) / 2`. `C` divides by `n`, as in A. Defazio, PhD thesis 2014, equations
//! 6.1 to 6.4. The cost is `n p^2 / 2` products, in two passes over the data.

use std::borrow::Cow;
use std::ops::Range;

use fenchel_linalg::spread::Shards;
use fenchel_linalg::text::short;
use fenchel_linalg::{AsDesign, Design, Gram, Invalid, Names, factor};
use fenchel_optim::MAX_MEMORY;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::error::{Error, check_memory};

/// The scale of a penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Scale {
    /// The covariance scale: the penalty depends on the units of the columns.
    Covariance,
    /// The correlation scale: columns are scaled to variance 1, and the model is mapped back to the units of the data.
    #[default]
    Correlation,
}

/// Mean, covariance and size of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// `C`, `p x p`, symmetric to the last bit.
    pub covariance: Array2<f64>,
    /// Means, one per variable.
    pub mean: Array1<f64>,
    /// The names of the variables, if the data had them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// The number of samples `n`. For weighted data, the number of rows with a positive weight.
    pub samples: usize,
}

impl Statistics {
    /// The statistics of a data matrix with one sample per row.
    ///
    /// # Errors
    /// [`Invalid`] for data that is empty or not finite, fewer than two rows, or covariances beyond the largest number;
    /// [`Error::Refused`] where they need more than 4 GiB.
    pub fn from_data<X: AsDesign + ?Sized>(x: &X) -> Result<Statistics, Error> {
        Statistics::from_data_within(x, MAX_MEMORY)
    }

    /// As [`from_data`](Statistics::from_data), with a limit on the bytes of memory; `None` for no limit. The check
    /// comes before any allocation.
    ///
    /// # Errors
    /// As `from_data`, with this limit.
    pub fn from_data_within<X: AsDesign + ?Sized>(
        x: &X,
        max_memory: Option<u64>,
    ) -> Result<Statistics, Error> {
        let (x, names) = (design(x)?, x.names());
        check_rows(&x, max_memory)?;
        Ok(Statistics { names: names.clone(), ..weighted(&x, None)? })
    }

    /// As [`from_data`](Statistics::from_data), with one weight `>= 0` per row. Only the ratios of the weights matter.
    ///
    /// # Errors
    /// As `from_data`, and for weights of the wrong length, negative, or all 0.
    pub fn from_weighted<'a, X: AsDesign + ?Sized>(
        x: &X,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Statistics, Error> {
        Statistics::weighted_within(x, weights.into(), MAX_MEMORY)
    }

    /// As [`from_data`](Statistics::from_data), of rows of which this process has those of its shards, and maybe none. All processes call
    /// it together and get the statistics of all rows, with the same bits for any number of processes; then each can fit any model of the
    /// crate to them. It takes three sums, of `p`, `p` and `p^2` numbers.
    ///
    /// ```
    /// use fenchel_ggm::Statistics;
    /// use fenchel_optim::spread::{Communicator, Shards, threads};
    ///
    /// // Two ranks: one has the first row, the other the rest.
    /// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]];
    /// let found = threads::run(2, |ranks| {
    ///     let rows = [0..1, 1..3][ranks.rank()].clone();
    ///     let shards = Shards::new(ranks, &[rows.len()])?;
    ///     Statistics::from_spread(&x.slice(ndarray::s![rows, ..]), &shards)
    /// });
    /// assert_eq!(found.unwrap()[1].mean, ndarray::array![3.0, 2.0]);
    /// ```
    ///
    /// # Errors
    /// As [`from_data`](Statistics::from_data); [`Invalid::Length`] for another number of rows than that of the shards, and
    /// [`Invalid::Layout`] for processes with different columns.
    pub fn from_spread<X: AsDesign + ?Sized>(
        x: &X,
        shards: &Shards<'_>,
    ) -> Result<Statistics, Error> {
        let (design, names) = (design(x)?.spread(shards)?, x.names());
        let own = names.iter().collect::<Vec<_>>();
        shards.communicator().check_alike("names of the columns", &format!("{own:?}"))?;
        check_rows(&design, MAX_MEMORY)?;
        Ok(Statistics { names: names.clone(), ..weighted(&design, None)? })
    }

    pub(crate) fn weighted_within<X: AsDesign + ?Sized>(
        x: &X,
        weights: ArrayView1<'_, f64>,
        max_memory: Option<u64>,
    ) -> Result<Statistics, Error> {
        let (x, names) = (design(x)?, x.names());
        check_rows(&x, max_memory)?;
        Invalid::check_weights("weights", x.rows(), weights.iter())?;
        let total: f64 = weights.sum();
        Invalid::check_positive("sum of weights", total)?;
        let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
        Ok(Statistics { names: names.clone(), ..weighted(&x, Some(&shares))? })
    }

    /// From a covariance matrix of `samples` samples with mean 0. The matrix is made symmetric.
    ///
    /// # Errors
    /// [`Invalid`] for a matrix that is not square, not finite, or asymmetric beyond rounding; a variance that is negative, or too small to
    /// be divided by; fewer than two samples. [`Error::NotPositiveSemidefinite`] if the matrix of correlations has an eigenvalue below
    /// `-1e-8`; that check costs a Cholesky factorisation.
    pub fn from_covariance(
        covariance: ArrayView2<f64>,
        samples: usize,
    ) -> Result<Statistics, Error> {
        let what = "covariance";
        let p = Invalid::check_square(what, covariance.dim())?;
        if samples < 2 {
            let (name, value) = ("samples", samples as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 2" }.into());
        }
        let mut largest = 0.0_f64;
        for ((row, column), &value) in covariance.indexed_iter() {
            if !value.is_finite() {
                return Err(Invalid::NonFinite { what, row, column, value }.into());
            }
            largest = largest.max(value.abs());
        }
        let refused = |reason: String| Err(Invalid::Layout { what, reason }.into());
        for i in 0..p {
            let value = covariance[[i, i]];
            if value < 0.0 {
                return refused(format!("variance {i} is {value}; expected a number >= 0"));
            }
            if value != 0.0 && value < f64::MIN_POSITIVE {
                let least = f64::MIN_POSITIVE;
                return refused(format!(
                    "variance {i} is {}; expected 0 or at least {}",
                    short(value),
                    short(least)
                ));
            }
        }
        // Both checks in correlations, so that a large variance hides nothing of the others.
        let scale = covariance.diag().mapv(|v| if v > 0.0 { v.sqrt() } else { largest.sqrt() });
        let scale = scale.mapv(|s| if s > 0.0 { s } else { 1.0 });
        let mut r = Array2::zeros((p, p));
        for i in 0..p {
            for j in 0..=i {
                let (a, b) = (covariance[[i, j]], covariance[[j, i]]);
                let (lower, upper) = (a / scale[i] / scale[j], b / scale[i] / scale[j]);
                if (lower - upper).abs() > factor::SYMMETRY {
                    return refused(format!("entry ({i}, {j}) is {a} but ({j}, {i}) is {b}"));
                }
                r[[i, j]] = 0.5 * (lower + upper);
                r[[j, i]] = r[[i, j]];
            }
        }
        let slack = 1e-8;
        r.diag_mut().mapv_inplace(|v| v + slack);
        if factor::cholesky(r.view()).is_err() {
            let value = factor::symmetric_eigen(r.view())?.values[0] - slack;
            if value < -slack {
                return Err(Error::NotPositiveSemidefinite { value });
            }
        }
        let half = |i: usize, j: usize| 0.5 * covariance[[i, j]] + 0.5 * covariance[[j, i]];
        let c = Array2::from_shape_fn((p, p), |(i, j)| half(i.max(j), i.min(j)));
        Ok(Statistics { covariance: c, mean: Array1::zeros(p), names: Names::NONE, samples })
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.mean.len()
    }

    /// Checks the fields, which a caller can set.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let what = "covariance";
        let p = Invalid::check_square(what, self.covariance.dim())?;
        Invalid::check_length("mean", p, self.mean.len())?;
        self.names.check(p)?;
        if let Some(((row, column), &value)) =
            self.covariance.indexed_iter().find(|(_, c)| !c.is_finite())
        {
            return Err(Invalid::NonFinite { what, row, column, value }.into());
        }
        // In correlations, as `from_covariance` does; in square tiles, because a whole column would load one cache line per entry.
        const SQUARE: usize = 64;
        let c = &self.covariance;
        for top in (0..p).step_by(SQUARE) {
            for left in (0..=top).step_by(SQUARE) {
                for i in top..(top + SQUARE).min(p) {
                    for j in left..(left + SQUARE).min(i) {
                        let (a, b) = (c[[i, j]], c[[j, i]]);
                        let size = c[[i, i]].abs().sqrt() * c[[j, j]].abs().sqrt();
                        if a != b && !((a - b).abs() <= factor::SYMMETRY * size) {
                            let reason = format!("entry ({i}, {j}) is {a} but ({j}, {i}) is {b}");
                            return Err(Invalid::Layout { what, reason }.into());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The variables whose variance is 0, or too small to hold all digits.
    pub(crate) fn constant(&self) -> Vec<usize> {
        let variances = self.covariance.diag();
        (0..variances.len()).filter(|&i| !(variances[i] >= f64::MIN_POSITIVE)).collect()
    }

    /// As [`on`](Statistics::on), for methods whose speed depends on the units. On the covariance scale, the matrix is
    /// divided by `unit`; see [`unit_of`].
    pub(crate) fn within(
        &self,
        scale: Scale,
        unit: f64,
    ) -> Result<(Array2<f64>, Array1<f64>), Error> {
        let (mut covariance, mut units) = self.on(scale)?;
        if unit != 1.0 {
            covariance.mapv_inplace(|c| c / unit);
            units.fill(unit.sqrt());
        }
        Ok((covariance, units))
    }

    /// Correlations with ones on the diagonal, and standard deviations. A variable of variance 0 has correlation 0
    /// with all others.
    pub fn correlation(&self) -> (Array2<f64>, Array1<f64>) {
        let scale = self.covariance.diag().mapv(f64::sqrt);
        (correlations(&self.covariance, &scale), scale)
    }

    /// The matrix on the scale of the penalty, and the units for the conversion back. On the covariance scale columns may be constant:
    /// a penalty on the diagonal allows that.
    pub(crate) fn scaled(
        &self,
        scale: Scale,
    ) -> Result<(Cow<'_, Array2<f64>>, Array1<f64>), Error> {
        self.check()?;
        match scale {
            Scale::Covariance => {
                Ok((Cow::Borrowed(&self.covariance), Array1::ones(self.variables())))
            }
            Scale::Correlation => {
                self.check_constant()?;
                let (correlation, units) = self.correlation();
                Ok((Cow::Owned(correlation), units))
            }
        }
    }

    /// As [`scaled`](Statistics::scaled), but no column may be constant.
    pub(crate) fn on(&self, scale: Scale) -> Result<(Array2<f64>, Array1<f64>), Error> {
        let (covariance, units) = self.scaled(scale)?;
        self.check_constant()?;
        Ok((covariance.into_owned(), units))
    }

    fn check_constant(&self) -> Result<(), Error> {
        let columns = self.constant();
        if columns.is_empty() { Ok(()) } else { Err(Error::ZeroVariance { columns }) }
    }
}

/// The power of 4 closest to the mean variance; 1 on the correlation scale. A division by it, or by its root, causes no
/// rounding. A penalty divided by it is the same penalty in the new units.
pub(crate) fn unit_of<'a>(scale: Scale, variances: impl Iterator<Item = &'a f64>) -> f64 {
    let (mut logs, mut count) = (0.0, 0.0);
    for v in variances.filter(|v| **v > 0.0 && v.is_finite()) {
        logs += v.log2();
        count += 1.0;
    }
    match scale {
        Scale::Covariance if count > 0.0 => 2.0_f64.powi(2 * (0.5 * logs / count).round() as i32),
        _ => 1.0,
    }
}

pub(crate) fn correlations(c: &Array2<f64>, scale: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn(c.raw_dim(), |(i, j)| {
        if i == j {
            return 1.0;
        }
        let (i, j) = (i.max(j), i.min(j));
        let product = scale[i] * scale[j];
        if product > 0.0 { (c[[i, j]] / product).clamp(-1.0, 1.0) } else { 0.0 }
    })
}

/// The data as a dense matrix, for functions that split the rows. The limit covers the copy and that of the rows of one part.
pub(crate) fn dense<X: AsDesign + ?Sized>(
    x: &X,
    max_memory: Option<u64>,
) -> Result<Array2<f64>, Error> {
    let x = design(x)?;
    let (n, p) = (x.rows(), x.columns());
    let numbers = (n as u64).saturating_mul(p as u64).saturating_mul(2);
    check_memory(
        "a dense copy of the data",
        numbers,
        max_memory,
        "take fewer rows, or raise max_memory",
    )?;
    let mut values = vec![0.0; n * p];
    for (i, row) in values.chunks_mut(p.max(1)).enumerate() {
        x.row_axpy(i, 1.0, row);
    }
    Ok(Array2::from_shape_vec((n, p), values).expect("n x p values"))
}

/// A view of the data. If a number is missing, the error names the functions that accept missing numbers.
fn design<X: AsDesign + ?Sized>(x: &X) -> Result<X::View<'_>, Error> {
    x.as_design().map_err(|error| match error {
        Invalid::NonFinite { row, column, value, .. } if value.is_nan() => {
            let what = "data (for missing entries see the module `missing`)";
            Invalid::NonFinite { what, row, column, value }.into()
        }
        other => other.into(),
    })
}

/// Refuses a covariance matrix of `p` variables, and the sums that it comes from, beyond a limit.
pub(crate) fn check_order(p: usize, max_memory: Option<u64>) -> Result<(), Error> {
    let numbers = (p as u64).saturating_mul(p as u64).saturating_mul(2);
    check_memory(
        "the covariance matrix",
        numbers,
        max_memory,
        "leave columns out, or raise the limit",
    )
}

fn check_rows(x: &impl Design, max_memory: Option<u64>) -> Result<(), Error> {
    if x.all_rows() == 0 || x.columns() == 0 {
        return Err(Invalid::Empty { what: "data" }.into());
    }
    if x.all_rows() < 2 {
        return Err(
            Invalid::Parameter { name: "samples", value: 1.0, expected: "at least 2" }.into()
        );
    }
    check_order(x.columns(), max_memory)
}

fn weighted<D: Design>(x: &D, shares: Option<&[f64]>) -> Result<Statistics, Error> {
    let (n, p) = (x.all_rows(), x.columns());
    let share = |i: usize| shares.map_or(1.0 / n as f64, |s| s[i]);
    let mut mean = vec![0.0; p];
    x.add_rows(&mut mean, |rows, mean| rows.for_each(|i| x.row_axpy(i, share(i), mean)));
    // A second pass removes the rounding of the first: exact zeros for columns that never vary.
    let mut rest = vec![0.0; p];
    x.add_rows(&mut rest, |rows, rest| {
        let mut row = vec![0.0; p];
        for i in rows {
            for (r, m) in row.iter_mut().zip(&mean) {
                *r = -m;
            }
            x.row_axpy(i, 1.0, &mut row);
            rest.iter_mut().zip(&row).for_each(|(s, r)| *s += share(i) * r);
        }
    });
    mean.iter_mut().zip(&rest).for_each(|(m, r)| *m += r);
    let products = |rows: Range<usize>| {
        Gram::in_parts(p, rows.len(), |part, gram| {
            for i in rows.start + part.start..rows.start + part.end {
                let root = shares.map_or(1.0, |s| s[i].sqrt());
                if root == 0.0 {
                    continue;
                }
                let out = &mut gram.next_row()[..p];
                for (r, m) in out.iter_mut().zip(&mean) {
                    *r = -m * root;
                }
                x.row_axpy(i, root, out);
            }
        })
    };
    let mut sums = match x.shards() {
        // Where all rows are here their products are the sum, without a copy.
        None => products(0..n),
        Some(_) => {
            let mut sums = vec![0.0; p * p];
            x.add_rows(&mut sums, |rows, sums| sums.copy_from_slice(&products(rows)));
            sums
        }
    };
    if shares.is_none() {
        sums.iter_mut().for_each(|v| *v /= n as f64);
    }
    let covariance = Array2::from_shape_vec((p, p), sums).expect("p x p sums");
    if let Some(((i, j), _)) = covariance.indexed_iter().find(|(_, c)| !c.is_finite()) {
        let reason = format!(
            "the covariance of columns {i} and {j} overflows; divide the columns by a number of their size"
        );
        return Err(Invalid::Layout { what: "data", reason }.into());
    }
    let samples = shares.map_or(n, |shares| shares.iter().filter(|s| **s > 0.0).count());
    Ok(Statistics { covariance, mean: mean.into(), names: Names::NONE, samples })
}
