//! Two normal vectors, `X ~ N(mu, Sigma)` and `Y | X ~ N(A X + a, Sigma_{Y|X})`, in three parametrisations.
//!
//! | parametrisation | marginal | conditional | negative log-likelihood |
//! |---|---|---|---|
//! | [`MeanPair`] | `mu, Sigma` | `A, a, Sigma_{Y given X}` | not convex |
//! | [`NaturalPair`] | `Lambda = Sigma^-1, eta = Lambda mu` | `Lambda, B = Lambda A, b = Lambda a` | convex |
//! | [`CholeskyPair`] | `Lambda = L L', zeta = L' mu` | `L, M = L^-1 B, m = L^-1 b` | convex: least squares and a barrier on the diagonal |
//!
//! Cholesky parameters are the default: divergences, changes of direction and draws then need only triangular solves,
//! and no matrix is inverted.
//!
//! # Changing direction
//! The precision matrix of the joint vector, in the order (Y, X), has the triangular factor
//! `[[L_{Y|X}, 0], [-M', L_X]]`. With its rows in the order (X, Y) the factor is no longer triangular. Reflections from
//! the right make it triangular again, and its blocks are then the parameters of the other direction. The textbook
//! formula `Lambda_Y = Lambda_{Y|X} - C' Lambda_{X|Y}^-1 C` is a difference that loses all digits if Y is nearly a
//! function of X.
//!
//! Source: R. Le Priol, PhD thesis 2021, section 4.6, appendices 4.D.2 and 4.E. The Schur complement that the thesis
//! calls M/D there is that of the other block; its value is right.

mod convert;
mod triangular;

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log1pmx;
use ndarray::{Array1, Array2};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::categorical::Direction;
use triangular::{solve_lower, solve_lower_transposed};

pub use convert::{MeanPair, NaturalPair};
pub(crate) use convert::{check_entries, deviations, factor_above_rounding};

/// A pair in Cholesky parameters. The first vector has the marginal.
///
/// ```
/// use fenchel_causal::normal::MeanPair;
/// use ndarray::array;
///
/// // X ~ N(1, 4), Y | X ~ N(X / 2, 1).
/// let pair = MeanPair {
///     mean: array![1.0],
///     covariance: array![[4.0]],
///     slope: array![[0.5]],
///     intercept: array![0.0],
///     covariance_given: array![[1.0]],
/// }
/// .to_cholesky()?;
/// let reversed = pair.reverse().to_mean()?; // Y ~ N(1/2, 2), X | Y ~ N(Y + 1/2, 2)
/// assert!((reversed.covariance[(0, 0)] - 2.0).abs() < 1e-14);
/// assert!((reversed.slope[(0, 0)] - 1.0).abs() < 1e-14);
/// assert!(pair.kl(&pair.reverse())? < 1e-14);
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct CholeskyPair {
    zeta: Array1<f64>,
    factor: Array2<f64>,
    slope: Array2<f64>,
    intercept: Array1<f64>,
    factor_given: Array2<f64>,
    direction: Direction,
}

#[derive(Deserialize)]
struct Parts {
    zeta: Array1<f64>,
    factor: Array2<f64>,
    slope: Array2<f64>,
    intercept: Array1<f64>,
    factor_given: Array2<f64>,
    direction: Direction,
}

impl TryFrom<Parts> for CholeskyPair {
    type Error = Error;
    fn try_from(p: Parts) -> Result<CholeskyPair, Error> {
        let pair = CholeskyPair::new(p.zeta, p.factor, p.slope, p.intercept, p.factor_given)?;
        Ok(pair.with_direction(p.direction))
    }
}

/// A change of the causal mechanisms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum NormalIntervention {
    /// A new law of X.
    Cause {
        /// `L' mu`.
        zeta: Array1<f64>,
        /// `L`.
        factor: Array2<f64>,
    },
    /// A new law of Y, which no longer depends on X.
    Effect {
        /// `L' mu`.
        zeta: Array1<f64>,
        /// `L`.
        factor: Array2<f64>,
    },
}

/// Returns an error unless the matrix is a triangular factor.
fn check_factor(what: &'static str, l: &Array2<f64>, n: usize) -> Result<(), Invalid> {
    Invalid::check_square(what, l.dim())?;
    Invalid::check_length(what, n, l.nrows())?;
    for ((row, column), &value) in l.indexed_iter() {
        if !value.is_finite() {
            return Err(Invalid::NonFinite { what, row, column, value });
        }
        if column > row && value != 0.0 {
            let reason = format!("{value} above the diagonal at row {row}, column {column}");
            return Err(Invalid::Layout { what, reason });
        }
        if row == column && !(value > 0.0) {
            return Err(Invalid::NotPositiveDefinite { what, pivot: row, value });
        }
    }
    Ok(())
}

impl CholeskyPair {
    /// Builds the pair from `zeta, L` of the first vector and `M, m, L` of the second given the first. The direction is causal.
    ///
    /// # Errors
    /// [`Error::Invalid`] for wrong shapes, entries that are not finite, a factor that is not lower triangular with a positive diagonal.
    pub fn new(
        zeta: Array1<f64>,
        factor: Array2<f64>,
        slope: Array2<f64>,
        intercept: Array1<f64>,
        factor_given: Array2<f64>,
    ) -> Result<CholeskyPair, Error> {
        let (a, b) = (zeta.len(), intercept.len());
        check_factor("the factor of the marginal", &factor, a)?;
        check_factor("the factor of the conditional", &factor_given, b)?;
        Invalid::check_length("rows of the slope", b, slope.nrows())?;
        Invalid::check_length("columns of the slope", a, slope.ncols())?;
        Invalid::check_finite("zeta", &zeta.to_vec())?;
        Invalid::check_finite("the intercept", &intercept.to_vec())?;
        Invalid::check_finite("the slope", &slope.iter().copied().collect::<Vec<_>>())?;
        Ok(CholeskyPair {
            zeta,
            factor,
            slope,
            intercept,
            factor_given,
            direction: Direction::Causal,
        })
    }

    /// `zeta = L' mu` of the first vector.
    pub fn zeta(&self) -> &Array1<f64> {
        &self.zeta
    }

    /// `L` of the first vector.
    pub fn factor(&self) -> &Array2<f64> {
        &self.factor
    }

    /// `M` of the second vector given the first.
    pub fn slope(&self) -> &Array2<f64> {
        &self.slope
    }

    /// `m` of the second vector given the first.
    pub fn intercept(&self) -> &Array1<f64> {
        &self.intercept
    }

    /// `L` of the second vector given the first.
    pub fn factor_given(&self) -> &Array2<f64> {
        &self.factor_given
    }

    /// Which vector has the marginal.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The dimensions of the first and of the second vector.
    pub fn shape(&self) -> (usize, usize) {
        (self.zeta.len(), self.intercept.len())
    }

    /// The joint factor in the order (second, first), and its `zeta`: in the numbers of the pair.
    pub fn joint(&self) -> (Array1<f64>, Array2<f64>) {
        let (a, b) = self.shape();
        let l = Array2::from_shape_fn((a + b, a + b), |(i, j)| match (i < b, j < b) {
            (true, true) => self.factor_given[(i, j)],
            (true, false) => 0.0,
            (false, true) => -self.slope[(j, i - b)],
            (false, false) => self.factor[(i - b, j - b)],
        });
        let zeta = self.intercept.iter().chain(&self.zeta).copied().collect();
        (zeta, l)
    }

    /// The other factorisation of the same joint, by reflections: O((K_x + K_y)^3), backward stable.
    #[must_use]
    pub fn reverse(&self) -> CholeskyPair {
        let (a, b) = self.shape();
        let n = a + b;
        let (zeta, l) = self.joint();
        // Rows of the first vector, then of the second, then zeta, which takes the same reflections.
        let mut p = Array2::from_shape_fn((n + 1, n), |(i, j)| match i {
            i if i < a => l[(i + b, j)],
            i if i < n => l[(i - a, j)],
            _ => zeta[j],
        });
        triangularise(&mut p);
        CholeskyPair {
            zeta: (a..n).map(|j| p[(n, j)]).collect(),
            factor: Array2::from_shape_fn((b, b), |(i, j)| p[(a + i, a + j)]),
            slope: Array2::from_shape_fn((a, b), |(i, j)| -p[(a + j, i)]),
            intercept: (0..a).map(|j| p[(n, j)]).collect(),
            factor_given: Array2::from_shape_fn((a, a), |(i, j)| p[(i, j)]),
            direction: self.direction.reversed(),
        }
    }

    /// The causal factorisation.
    fn causal(&self) -> CholeskyPair {
        match self.direction {
            Direction::Causal => self.clone(),
            Direction::Anticausal => self.reverse(),
        }
    }

    /// `KL(self || other)` in nats between joint laws; the directions may differ. O((K_x + K_y)^3).
    ///
    /// With `V = L_0^-1 L_1`: `2 KL = |V' zeta_0 - zeta_1|^2 + |V|^2 - k - 2 sum_i log V_ii`. The diagonal terms are
    /// summed without cancellation, so the result is never negative.
    ///
    /// # Errors
    /// [`Error::Invalid`] for different dimensions, and for pairs so far apart that the numbers overflow.
    pub fn kl(&self, other: &CholeskyPair) -> Result<f64, Error> {
        let other = if self.direction == other.direction { other.clone() } else { other.reverse() };
        self.check_shape(&other)?;
        let ((zeta0, l0), (zeta1, l1)) = (self.joint(), other.joint());
        let mut v = l1.clone();
        solve_lower(&l0, &mut v);
        let shift = v.t().dot(&zeta0) - &zeta1;
        let mut twice = shift.mapv(|e| e * e).sum();
        for ((i, j), e) in v.indexed_iter() {
            if i == j {
                let d = (l1[(i, i)] - l0[(i, i)]) / l0[(i, i)];
                twice += d * d - 2.0 * log1pmx(d);
            } else if j < i {
                twice += e * e;
            }
        }
        if !twice.is_finite() {
            let reason = "their divergence is beyond the range of numbers".into();
            return Err(Invalid::Layout { what: "the pairs", reason }.into());
        }
        Ok(twice / 2.0)
    }

    fn check_shape(&self, other: &CholeskyPair) -> Result<(), Error> {
        Invalid::check_length("dimension of X", self.shape().0, other.shape().0)?;
        Ok(Invalid::check_length("dimension of Y", self.shape().1, other.shape().1)?)
    }

    /// The squared Euclidean distance of the Cholesky parameters.
    ///
    /// # Errors
    /// [`Error::Invalid`] for different dimensions or different directions.
    pub fn distance_sq(&self, other: &CholeskyPair) -> Result<f64, Error> {
        if self.direction != other.direction {
            let reason =
                format!("{:?} against {:?}: reverse one of them", self.direction, other.direction);
            return Err(Invalid::Layout { what: "the directions", reason }.into());
        }
        self.check_shape(other)?;
        let ((z0, l0), (z1, l1)) = (self.joint(), other.joint());
        Ok((z0 - z1).mapv(|e| e * e).sum() + (l0 - l1).mapv(|e| e * e).sum())
    }

    /// The pair after an intervention, in the causal direction.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an anticausal pair, or parameters that do not fit.
    pub fn intervene(&self, intervention: &NormalIntervention) -> Result<CholeskyPair, Error> {
        if self.direction != Direction::Causal {
            let reason = "interventions act on causal mechanisms: reverse the pair first".into();
            return Err(Invalid::Layout { what: "the direction", reason }.into());
        }
        let (a, b) = self.shape();
        match intervention.clone() {
            NormalIntervention::Cause { zeta, factor } => {
                Invalid::check_length("zeta of the cause", a, zeta.len())?;
                CholeskyPair::new(
                    zeta,
                    factor,
                    self.slope.clone(),
                    self.intercept.clone(),
                    self.factor_given.clone(),
                )
            }
            NormalIntervention::Effect { zeta, factor } => {
                Invalid::check_length("zeta of the effect", b, zeta.len())?;
                let (z, l) = (self.zeta.clone(), self.factor.clone());
                CholeskyPair::new(z, l, Array2::zeros((b, a)), zeta, factor)
            }
        }
    }

    /// Draws `(x, y)`, one per row, with `x` first whatever the direction. Each draw `x = L^-T (zeta + noise)` costs
    /// O(K^2).
    ///
    /// # Panics
    /// For more draws than memory, as an array of so many rows does.
    pub fn sample(&self, draws: usize, rng: &mut (impl Rng + ?Sized)) -> Array2<f64> {
        let causal = self.causal();
        let (a, b) = causal.shape();
        let mut out = Array2::zeros((draws, a + b));
        for mut row in out.rows_mut() {
            let mut normal = || rng.sample::<f64, _>(StandardNormal);
            let mut x = causal.zeta.mapv(|z| z + normal());
            solve_lower_transposed(&causal.factor, &mut x);
            let mut y = causal.slope.dot(&x) + &causal.intercept;
            y.mapv_inplace(|z| z + normal());
            solve_lower_transposed(&causal.factor_given, &mut y);
            row.iter_mut().zip(x.iter().chain(&y)).for_each(|(to, v)| *to = *v);
        }
        out
    }

    /// The same numbers, read as a factorisation in another direction.
    #[must_use]
    pub fn with_direction(self, direction: Direction) -> CholeskyPair {
        CholeskyPair { direction, ..self }
    }
}

/// Makes the first n rows of an (n+1) x n matrix lower triangular with a positive diagonal, by reflections of the columns.
fn triangularise(p: &mut Array2<f64>) {
    let n = p.ncols();
    let rows = p.nrows();
    for i in 0..n {
        let norm = (i..n).fold(0.0_f64, |h, j| h.hypot(p[(i, j)]));
        if norm == 0.0 {
            continue;
        }
        // The reflection maps row i to (alpha, 0, ..., 0), of the sign that does not cancel.
        let alpha = if p[(i, i)] > 0.0 { -norm } else { norm };
        let mut u: Vec<f64> = (i..n).map(|j| p[(i, j)]).collect();
        u[0] -= alpha;
        let square: f64 = u.iter().map(|e| e * e).sum();
        if square > 0.0 {
            for r in i..rows {
                let dot: f64 = (i..n).map(|j| p[(r, j)] * u[j - i]).sum();
                let scale = 2.0 * dot / square;
                (i..n).for_each(|j| p[(r, j)] -= scale * u[j - i]);
            }
        }
        (i + 1..n).for_each(|j| p[(i, j)] = 0.0);
        if p[(i, i)] < 0.0 {
            (i..rows).for_each(|r| p[(r, i)] = -p[(r, i)]);
        }
    }
}
