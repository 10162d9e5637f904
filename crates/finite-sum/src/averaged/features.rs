//! Random features of shift-invariant kernels.

use std::f64::consts::{PI, TAU};

use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::Array2;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Draws `m` random features `phi(x)` with `E phi(s).phi(t) = k(s, t)`. They are the cosines and sines of `m / 2`
/// random frequencies,
///
/// ```text
/// phi(x) = sqrt(2/m) (cos w_1.x, sin w_1.x, cos w_2.x, ...)
/// ```
///
/// The standard deviation of the error of a kernel value is at most `1 / sqrt(m)`, and `phi(x).phi(x)` is exactly 1.
/// Nystrom features (`fenchel_linalg::factor::Nystrom`, in its feature `factor`) depend on the data and are more
/// accurate for the same number of columns. Random features need no data and no kernel matrix, so that they can be
/// used for a stream from its first row. Cost: O(m d) per row.
///
/// Reference: A. Rahimi, B. Recht, "Random features for large-scale kernel machines" (2007).
///
/// ```
/// use fenchel_finite_sum::averaged::{AveragedSettings, AveragedSgd, Bernoulli, Predictor, RandomFeatures};
/// use ndarray::array;
///
/// // The exclusive or, which no linear model learns.
/// let x = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
/// let map = RandomFeatures::gaussian(2, 200, 0.5, 7)?;
/// let phi = map.features(&x)?;
/// let mut method = AveragedSgd::new(Bernoulli, AveragedSettings::default());
/// for _ in 0..200 {
///     method.partial_fit(&phi, &[0.0, 1.0, 1.0, 0.0])?;
/// }
/// let p = method.predict(&phi, Predictor::Exact)?.means;
/// assert!(p[0] < 0.2 && p[1] > 0.8 && p[2] > 0.8 && p[3] < 0.2);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RandomFeatures {
    columns: usize,
    /// The frequency vectors, one after the other.
    frequencies: Vec<f64>,
}

impl RandomFeatures {
    /// Features for the kernel `exp(-|s - t|_1 / sigma)`. The coordinates of the frequencies have a Cauchy
    /// distribution with scale `1 / sigma`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] if there are no columns, if `m` is odd or below 2, or if `sigma` is not positive or so
    /// small that frequencies overflow; [`Refusal::MemoryLimit`] if the frequencies need more than 4 GiB.
    pub fn laplacian(columns: usize, m: usize, sigma: f64, seed: u64) -> Result<Self, Error> {
        RandomFeatures::new(columns, m, sigma, seed, |rng| (PI * (rng.random::<f64>() - 0.5)).tan())
    }

    /// Features for the kernel `exp(-|s - t|^2 / (2 sigma^2))`. The frequencies are normal with standard deviation `1
    /// / sigma`.
    ///
    /// # Errors
    /// The errors of [`laplacian`](Self::laplacian).
    pub fn gaussian(columns: usize, m: usize, sigma: f64, seed: u64) -> Result<Self, Error> {
        RandomFeatures::new(columns, m, sigma, seed, |rng| {
            let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
            (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
        })
    }

    fn new(
        columns: usize,
        m: usize,
        sigma: f64,
        seed: u64,
        draw: impl Fn(&mut Generator) -> f64,
    ) -> Result<Self, Error> {
        Invalid::check_count("columns", columns)?;
        Invalid::check_positive("sigma", sigma)?;
        if m < 2 || !m.is_multiple_of(2) {
            let (name, value, expected) = ("features", m as f64, "an even number, at least 2");
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        let bytes = (columns as u64).saturating_mul(m as u64 / 2).saturating_mul(8);
        let hint = "take fewer features";
        Refusal::check_memory("the frequencies", bytes, MAX_MEMORY, hint)?;
        let mut rng = stream(seed, 0);
        let frequencies: Vec<f64> = (0..m / 2 * columns).map(|_| draw(&mut rng) / sigma).collect();
        if !frequencies.iter().all(|w| w.is_finite()) {
            let expected = "a width at which frequencies, numbers over sigma, do not overflow";
            return Err(Invalid::Parameter { name: "sigma", value: sigma, expected }.into());
        }
        Ok(RandomFeatures { columns, frequencies })
    }

    /// The number of features, `m`.
    pub fn count(&self) -> usize {
        2 * self.frequencies.len() / self.columns
    }

    /// The features of every row, `n x m`.
    ///
    /// # Errors
    /// [`Invalid::Length`] for another number of columns; [`Invalid::NonFinite`] if rows, or their products with
    /// frequencies, are not finite.
    pub fn features<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let design = x.as_design()?;
        Invalid::check_length("columns of the design", self.columns, design.columns())?;
        let scale = (2.0 / self.count() as f64).sqrt();
        let mut out = Array2::zeros((design.rows(), self.count()));
        for (i, mut row) in out.outer_iter_mut().enumerate() {
            for (k, w) in self.frequencies.chunks_exact(self.columns).enumerate() {
                let angle = design.row_dot(i, w);
                if !angle.is_finite() {
                    let (what, row, column) = ("row times frequency", i, k);
                    return Err(Invalid::NonFinite { what, row, column, value: angle }.into());
                }
                let (sin, cos) = angle.sin_cos();
                row[2 * k] = scale * cos;
                row[2 * k + 1] = scale * sin;
            }
        }
        Ok(out)
    }
}
