//! Simulated problems with known directions, from D. Babichev, PhD thesis 2019, section 2.5.
//!
//! | function | `y` | directions | section |
//! |---|---|---|---|
//! | [`rational`] | `x1 / (1/2 + (x2 + 2)^2) + noise` | 2 | 2.5.2 |
//! | [`tanh_staircase`] | `sum_i [i tanh(8 x_i - 16) + (k + 1 - i) tanh(8 x_i + 16)] + noise` | k | 2.5.3 |
//! | [`classification`] | `1{x1^2 + 2 x2^2 > 4} + noise` | 2 | 2.5.4 |
//! | [`quadratic`] | `x1 (x1 + x2 - 3) + noise` | 2 | 2.5.5 |
//! | [`sine`] | `sin(x1 + x2) + noise` | 1 | 2.5.2, learned score |
//! | [`multi_index`] | any function of the indices | any | |

use fenchel_linalg::Invalid;
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::{Array1, Array2, ArrayView1};
use rand_distr::{Distribution, StandardNormal};

use crate::error::Error;
use crate::score::{GaussianMixture, ProductMixture};
use crate::subspace::orthonormal;

/// A density that can be sampled.
pub trait Sampler {
    /// The number of features.
    fn features(&self) -> usize;
    /// `n` independent samples.
    fn draw(&self, n: usize, rng: &mut Generator) -> Array2<f64>;
}

impl Sampler for GaussianMixture {
    fn features(&self) -> usize {
        crate::score::ScoreFunction::dim(self)
    }

    fn draw(&self, n: usize, rng: &mut Generator) -> Array2<f64> {
        self.sample(n, rng)
    }
}

impl Sampler for ProductMixture {
    fn features(&self) -> usize {
        crate::score::ScoreFunction::dim(self)
    }

    fn draw(&self, n: usize, rng: &mut Generator) -> Array2<f64> {
        self.sample(n, rng)
    }
}

/// Independent normal features of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandardFeatures(pub usize);

impl Sampler for StandardFeatures {
    fn features(&self) -> usize {
        self.0
    }

    fn draw(&self, n: usize, rng: &mut Generator) -> Array2<f64> {
        Array2::from_shape_simple_fn((n, self.0), || StandardNormal.sample(rng))
    }
}

/// Features, responses, and the true directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// `n x d`.
    pub x: Array2<f64>,
    /// `n`.
    pub y: Array1<f64>,
    /// `d x k`, orthonormal.
    pub directions: Array2<f64>,
}

/// `y = g(W' x) + noise * N(0, 1)` for orthonormal directions `W`.
///
/// # Errors
/// [`Invalid::Length`] unless the directions have as many rows as there are features; [`Invalid::RankDeficient`];
/// [`Error::Refused`] for more than 4 GiB of samples.
pub fn multi_index(
    density: &dyn Sampler,
    directions: Array2<f64>,
    g: impl Fn(ArrayView1<f64>) -> f64,
    n: usize,
    noise: f64,
    seed: u64,
) -> Result<Problem, Error> {
    Invalid::check_length("rows of the directions", density.features(), directions.nrows())?;
    Invalid::check_nonnegative("noise", noise)?;
    let bytes = (n as u64).saturating_mul(8 * density.features() as u64);
    Refusal::check_memory("the samples", bytes, MAX_MEMORY, "take fewer samples")?;
    let directions = orthonormal(directions.view())?;
    let mut rng = stream(seed, 0);
    let x = density.draw(n, &mut rng);
    let indices = x.dot(&directions);
    let noisy = |index: ArrayView1<f64>| {
        let e: f64 = StandardNormal.sample(&mut rng);
        g(index) + noise * e
    };
    let y = indices.rows().into_iter().map(noisy).collect();
    Ok(Problem { x, y, directions })
}

/// The first `k` coordinates.
fn first(density: &dyn Sampler, k: usize) -> Result<Array2<f64>, Error> {
    let d = density.features();
    if k == 0 || k > d {
        return Err(Invalid::Parameter {
            name: "number of directions",
            value: k as f64,
            expected: "at least 1, at most the number of features",
        }
        .into());
    }
    Ok(Array2::from_shape_fn((d, k), |(i, j)| f64::from(i == j)))
}

/// `x1 / (1/2 + (x2 + 2)^2) + noise * N(0, 1)`.
///
/// # Errors
/// [`Invalid::Parameter`] with fewer than two features or negative noise.
pub fn rational(density: &dyn Sampler, n: usize, noise: f64, seed: u64) -> Result<Problem, Error> {
    let g = |z: ArrayView1<f64>| z[0] / (0.5 + (z[1] + 2.0).powi(2));
    multi_index(density, first(density, 2)?, g, n, noise, seed)
}

/// `sum_i [i tanh(8 x_i - 16) + (k + 1 - i) tanh(8 x_i + 16)] + noise * N(0, 1)`.
///
/// # Errors
/// [`Invalid::Parameter`] with fewer than `k` features or negative noise.
pub fn tanh_staircase(
    density: &dyn Sampler,
    k: usize,
    n: usize,
    noise: f64,
    seed: u64,
) -> Result<Problem, Error> {
    let g = |z: ArrayView1<f64>| {
        let step = |(i, &z): (usize, &f64)| {
            (i + 1) as f64 * (8.0 * z - 16.0).tanh() + (k - i) as f64 * (8.0 * z + 16.0).tanh()
        };
        z.iter().enumerate().map(step).sum()
    };
    multi_index(density, first(density, k)?, g, n, noise, seed)
}

/// `1{x1^2 + 2 x2^2 > 4} + noise * N(0, 1)`.
///
/// # Errors
/// [`Invalid::Parameter`] with fewer than two features or negative noise.
pub fn classification(
    density: &dyn Sampler,
    n: usize,
    noise: f64,
    seed: u64,
) -> Result<Problem, Error> {
    let g = |z: ArrayView1<f64>| f64::from(z[0] * z[0] + 2.0 * z[1] * z[1] > 4.0);
    multi_index(density, first(density, 2)?, g, n, noise, seed)
}

/// `x1 (x1 + x2 - 3) + noise * N(0, 1)`.
///
/// # Errors
/// [`Invalid::Parameter`] with fewer than two features or negative noise.
pub fn quadratic(density: &dyn Sampler, n: usize, noise: f64, seed: u64) -> Result<Problem, Error> {
    let g = |z: ArrayView1<f64>| z[0] * (z[0] + z[1] - 3.0);
    multi_index(density, first(density, 2)?, g, n, noise, seed)
}

/// `sin(x1 + x2) + noise * N(0, 1)`.
///
/// # Errors
/// [`Invalid::Parameter`] with fewer than two features or negative noise.
pub fn sine(density: &dyn Sampler, n: usize, noise: f64, seed: u64) -> Result<Problem, Error> {
    let d = density.features();
    first(density, 2)?;
    let directions = Array2::from_shape_fn((d, 1), |(i, _)| f64::from(i < 2));
    let g = |z: ArrayView1<f64>| (2.0_f64.sqrt() * z[0]).sin();
    multi_index(density, directions, g, n, noise, seed)
}
