//! Draws of normal vectors, alone and together with their covariance.

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::Rng;

use super::scalar::standard_normal;
use super::wishart::{InverseWishart, Wishart};
use crate::families::factor;

/// The normal distribution on vectors, prepared for drawing. A draw costs O(d^2), and no inverse is formed.
///
/// ```
/// use fenchel_expfam::samplers::NormalVector;
/// use fenchel_optim::random::stream;
/// use ndarray::array;
///
/// let covariance = array![[2.0, 1.0], [1.0, 2.0]];
/// let law = NormalVector::new(array![0.0, 1.0].view(), covariance.view())?;
/// assert_eq!(law.sample(&mut stream(1, 0)).len(), 2);
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone)]
pub struct NormalVector {
    mean: Array1<f64>,
    factor: Factor,
}

#[derive(Debug, Clone)]
enum Factor {
    /// Covariance `L L'`.
    Covariance(Array2<f64>),
    /// Precision `L L'`.
    Precision(Array2<f64>),
}

impl NormalVector {
    /// The distribution with the given mean and covariance.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn new(mean: ArrayView1<f64>, covariance: ArrayView2<f64>) -> Result<Self, Invalid> {
        let factor = factor::factor("covariance", &covariance.to_owned())?.lower();
        NormalVector::from_covariance_factor(mean, factor)
    }

    /// The distribution given by the natural parameters `eta = precision * mean` and `precision`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_natural(eta: ArrayView1<f64>, precision: ArrayView2<f64>) -> Result<Self, Invalid> {
        let factor = factor::factor("precision", &precision.to_owned())?;
        Invalid::check_length("natural parameter", factor.order(), eta.len())?;
        Invalid::check_finite("natural parameter", &eta.to_vec())?;
        let solved = factor.solve(eta.iter().map(|&e| (e, 0)));
        let mean = solved.iter().flat_map(|m| factor.plain(m)).collect();
        Ok(NormalVector { mean, factor: Factor::Precision(factor.lower()) })
    }

    /// The distribution with the given mean and the lower triangular `L` of the covariance `L L'`.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless `L` is square; [`Invalid::Length`]; [`Invalid::NonFinite`].
    pub fn from_covariance_factor(
        mean: ArrayView1<f64>,
        factor: Array2<f64>,
    ) -> Result<Self, Invalid> {
        check(mean, &factor)?;
        Ok(NormalVector { mean: mean.to_owned(), factor: Factor::Covariance(factor) })
    }

    /// The distribution with the given mean and the lower triangular `L` of the precision `L L'`.
    ///
    /// # Errors
    /// As [`from_covariance_factor`](Self::from_covariance_factor); [`Invalid::Singular`] for a zero on the diagonal.
    pub fn from_precision_factor(
        mean: ArrayView1<f64>,
        factor: Array2<f64>,
    ) -> Result<Self, Invalid> {
        check(mean, &factor)?;
        if let Some(pivot) = factor.diag().iter().position(|&d| d == 0.0) {
            return Err(Invalid::Singular { what: "Cholesky factor", pivot });
        }
        Ok(NormalVector { mean: mean.to_owned(), factor: Factor::Precision(factor) })
    }

    /// The distribution given by the Cholesky parameters `zeta = L' mean` and `L` of the precision `L L'`.
    ///
    /// # Errors
    /// As [`from_precision_factor`](Self::from_precision_factor).
    pub fn from_cholesky(zeta: ArrayView1<f64>, factor: Array2<f64>) -> Result<Self, Invalid> {
        let mut law = NormalVector::from_precision_factor(zeta, factor)?;
        if let Factor::Precision(lower) = &law.factor {
            back_substitute(lower, &mut law.mean);
        }
        Ok(law)
    }

    /// The mean.
    pub fn mean(&self) -> ArrayView1<'_, f64> {
        self.mean.view()
    }

    /// One draw.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Array1<f64> {
        let mut x = vec![0.0; self.mean.len()];
        self.sample_into(&mut x, rng);
        Array1::from(x)
    }

    /// Writes one draw.
    ///
    /// # Panics
    /// If `out` has another length than the mean.
    pub fn sample_into<R: Rng + ?Sized>(&self, out: &mut [f64], rng: &mut R) {
        assert_eq!(out.len(), self.mean.len(), "one entry a dimension");
        let mut x: Array1<f64> = self.mean.iter().map(|_| standard_normal(rng)).collect();
        match &self.factor {
            Factor::Covariance(lower) => {
                for i in (0..x.len()).rev() {
                    x[i] = (0..=i).map(|j| lower[[i, j]] * x[j]).sum();
                }
            }
            Factor::Precision(lower) => back_substitute(lower, &mut x),
        }
        out.iter_mut().zip(&x).zip(&self.mean).for_each(|((out, x), m)| *out = m + x);
    }

    /// `n` draws, one per row.
    ///
    /// # Panics
    /// For more draws than memory, as an array of so many rows does.
    pub fn samples<R: Rng + ?Sized>(&self, n: usize, rng: &mut R) -> Array2<f64> {
        let mut x = Array2::zeros((n, self.mean.len()));
        for mut row in x.rows_mut() {
            self.sample_into(row.as_slice_mut().expect("one after another"), rng);
        }
        x
    }
}

fn check(mean: ArrayView1<f64>, factor: &Array2<f64>) -> Result<(), Invalid> {
    let n = Invalid::check_square("Cholesky factor", factor.dim())?;
    Invalid::check_length("mean", n, mean.len())?;
    Invalid::check_finite("mean", &mean.to_vec())?;
    match factor.indexed_iter().find(|(_, v)| !v.is_finite()) {
        None => Ok(()),
        Some(((row, column), &value)) => {
            Err(Invalid::NonFinite { what: "Cholesky factor", row, column, value })
        }
    }
}

/// `x <- L^-T x`.
fn back_substitute(lower: &Array2<f64>, x: &mut Array1<f64>) {
    for i in (0..x.len()).rev() {
        let known: f64 = (i + 1..x.len()).map(|j| lower[[j, i]] * x[j]).sum();
        x[i] = (x[i] - known) / lower[[i, i]];
    }
}

/// A drawn mean and covariance: `V ~ InverseWishart(scale, degrees)`, `m | V ~ N(mean, V / weight)`.
#[derive(Debug, Clone)]
pub struct NormalInverseWishart {
    mean: Array1<f64>,
    weight: f64,
    covariance: InverseWishart,
}

impl NormalInverseWishart {
    /// `weight` is the number of observations that the mean stands for.
    ///
    /// # Errors
    /// The errors of [`InverseWishart::new`]; [`Invalid::Length`]; [`Invalid::Parameter`] unless `weight > 0`.
    pub fn new(
        mean: ArrayView1<f64>,
        weight: f64,
        scale: ArrayView2<f64>,
        degrees: f64,
    ) -> Result<Self, Invalid> {
        Invalid::check_positive("weight", weight)?;
        let covariance = InverseWishart::new(scale, degrees)?;
        Invalid::check_length("mean", scale.nrows(), mean.len())?;
        Invalid::check_finite("mean", &mean.to_vec())?;
        Ok(NormalInverseWishart { mean: mean.to_owned(), weight, covariance })
    }

    /// A mean and the Cholesky factor `L` of a covariance `L L'`.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> (Array1<f64>, Array2<f64>) {
        let factor = self.covariance.sample_factor(rng);
        let z: Array1<f64> = self.mean.iter().map(|_| standard_normal(rng)).collect();
        (&self.mean + &(factor.dot(&z) / self.weight.sqrt()), factor)
    }
}

/// A drawn mean and precision: `P ~ Wishart(scale, degrees)`, `m | P ~ N(mean, (weight P)^-1)`.
#[derive(Debug, Clone)]
pub struct NormalWishart {
    mean: Array1<f64>,
    weight: f64,
    precision: Wishart,
}

impl NormalWishart {
    /// `weight` is the number of observations that the mean stands for.
    ///
    /// # Errors
    /// The errors of [`Wishart::new`]; [`Invalid::Length`]; [`Invalid::Parameter`] unless `weight > 0`.
    pub fn new(
        mean: ArrayView1<f64>,
        weight: f64,
        scale: ArrayView2<f64>,
        degrees: f64,
    ) -> Result<Self, Invalid> {
        Invalid::check_positive("weight", weight)?;
        let precision = Wishart::new(scale, degrees)?;
        Invalid::check_length("mean", scale.nrows(), mean.len())?;
        Invalid::check_finite("mean", &mean.to_vec())?;
        Ok(NormalWishart { mean: mean.to_owned(), weight, precision })
    }

    /// A mean and the Cholesky factor `L` of a precision `L L'`.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> (Array1<f64>, Array2<f64>) {
        let factor = self.precision.sample_factor(rng);
        let mut z: Array1<f64> = self.mean.iter().map(|_| standard_normal(rng)).collect();
        back_substitute(&factor, &mut z);
        (&self.mean + &(z / self.weight.sqrt()), factor)
    }
}
