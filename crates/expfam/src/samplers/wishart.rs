//! Draws of random matrices by Bartlett's decomposition. A draw fills a triangle with chi-squared and normal variables;
//! it takes `d(d+1)/2` scalar draws and no outer products.
//!
//! Reference: M. S. Bartlett, "On the theory of statistical regression" (1933).

use fenchel_linalg::Invalid;
use ndarray::{Array2, ArrayView2};
use rand::Rng;

use super::scalar::{gamma_variable, standard_normal};
use crate::families::factor;

/// The Wishart distribution: the law of a sum of `degrees` outer products of `N(0, scale)` vectors, extended to all
/// real `degrees > d - 1`.
///
/// ```
/// use fenchel_expfam::samplers::Wishart;
/// use fenchel_optim::random::stream;
/// use ndarray::Array2;
///
/// let law = Wishart::new(Array2::eye(3).view(), 8.0)?;
/// let factor = law.sample_factor(&mut stream(1, 0));
/// assert!(factor.diag().iter().all(|&d| d > 0.0) && factor[[0, 2]] == 0.0);
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug, Clone)]
pub struct Wishart {
    factor: Array2<f64>,
    degrees: f64,
}

impl Wishart {
    /// The distribution with the given scale matrix and degrees of freedom; the mean is `degrees * scale`.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::Parameter`] unless `degrees > d - 1`.
    pub fn new(scale: ArrayView2<f64>, degrees: f64) -> Result<Self, Invalid> {
        let factor = factor::factor("scale", &scale.to_owned())?.lower();
        check_degrees(degrees, factor.nrows())?;
        Ok(Wishart { factor, degrees })
    }

    /// The Cholesky factor `L`, lower triangular with a positive diagonal, of a draw `L L'`.
    pub fn sample_factor<R: Rng + ?Sized>(&self, rng: &mut R) -> Array2<f64> {
        let d = self.factor.nrows();
        let mut bartlett = Array2::zeros((d, d));
        for i in 0..d {
            for j in 0..i {
                bartlett[[i, j]] = standard_normal(rng);
            }
            bartlett[[i, i]] = chi(self.degrees - i as f64, rng);
        }
        let mut out = self.factor.dot(&bartlett);
        // A product of triangles: what is above the diagonal is a sum of zeros already.
        for i in 0..d {
            for j in i + 1..d {
                out[[i, j]] = 0.0;
            }
        }
        out
    }

    /// One draw.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Array2<f64> {
        let factor = self.sample_factor(rng);
        factor.dot(&factor.t())
    }
}

/// The inverse Wishart distribution: the inverse of a Wishart matrix of scale `scale^-1`.
#[derive(Debug, Clone)]
pub struct InverseWishart {
    factor: Array2<f64>,
    degrees: f64,
}

impl InverseWishart {
    /// The distribution with the given scale matrix and degrees of freedom; the mean is `scale / (degrees - d - 1)` for
    /// `degrees > d + 1`.
    ///
    /// # Errors
    /// As [`Wishart::new`].
    pub fn new(scale: ArrayView2<f64>, degrees: f64) -> Result<Self, Invalid> {
        let factor = factor::factor("scale", &scale.to_owned())?.lower();
        check_degrees(degrees, factor.nrows())?;
        Ok(InverseWishart { factor, degrees })
    }

    /// The Cholesky factor `F` of a draw `F F'`.
    ///
    /// A standard Wishart matrix can also be written as `U U'` with an upper triangle `U`, whose diagonal has the
    /// degrees of freedom in reverse order. Then `F = L U^-T` is lower triangular. No matrix is inverted.
    pub fn sample_factor<R: Rng + ?Sized>(&self, rng: &mut R) -> Array2<f64> {
        let d = self.factor.nrows();
        let mut upper: Array2<f64> = Array2::zeros((d, d));
        for i in 0..d {
            upper[[i, i]] = chi(self.degrees - (d - 1 - i) as f64, rng);
            for j in i + 1..d {
                upper[[i, j]] = standard_normal(rng);
            }
        }
        // F U' = L row by row, from the last column to the first: U' is lower triangular.
        let mut out: Array2<f64> = Array2::zeros((d, d));
        for i in 0..d {
            for j in (0..=i).rev() {
                let known: f64 = (j + 1..=i).map(|k| out[[i, k]] * upper[[j, k]]).sum();
                // (U')_{kj} = U_{jk}
                out[[i, j]] = (self.factor[[i, j]] - known) / upper[[j, j]];
            }
        }
        out
    }

    /// One draw.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Array2<f64> {
        let factor = self.sample_factor(rng);
        factor.dot(&factor.t())
    }
}

/// The root of a chi-squared variable.
fn chi<R: Rng + ?Sized>(degrees: f64, rng: &mut R) -> f64 {
    // A shape near 0 may underflow; the factor must stay invertible.
    (2.0 * gamma_variable(0.5 * degrees, rng)).sqrt().max(f64::MIN_POSITIVE)
}

pub(crate) fn check_degrees(degrees: f64, d: usize) -> Result<(), Invalid> {
    if degrees > d as f64 - 1.0 && degrees.is_finite() {
        return Ok(());
    }
    let expected = "a finite number > d - 1";
    Err(Invalid::Parameter { name: "degrees of freedom", value: degrees, expected })
}
