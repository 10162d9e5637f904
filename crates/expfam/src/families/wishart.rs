//! The Wishart family: random precision matrices.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log1pmx;
use fenchel_optim::scalar::increasing_root;
use ndarray::{Array2, ArrayView2};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::factor::{self, Base, Factor, Wide, scaled, split};
use super::file::checked_file;
use super::gamma;
use super::half::{self, pack, unpack};
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_shape, mean_in, natural_in};
use crate::samplers;
use crate::special::{
    digamma, digamma_multivariate_above, gamma_entropy, ln_gamma_scaled, log_minus_digamma,
    shape_divergence, stirling_error, trigamma_multivariate_above, x_log_x_divergence_drop,
};

/// The Wishart family on symmetric positive definite matrices of order `d`, by scale `V` and degrees of freedom `n > d - 1`.
///
/// Statistic `T(W) = (W, log det W)`, natural parameter `eta = (-V^-1 / 2, (n - d - 1) / 2)`, log-partition function
/// `A = log Gamma_d(n/2) + (n d / 2) log 2 + (n/2) log det V`, mean `mu = (n V, psi_d(n/2) + d log 2 + log det V)`.
/// Matrices are lower triangles row by row with `sqrt(2)` off the diagonal. Inverse scale, scale and mean have finite numbers, and
/// `eta` ends with at most 1e305.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Wishart {
    d: usize,
}

checked_file!(Wishart { d: super::file::Count } Wishart::new(d.0 as usize));

const EXPECTED: &str = "log det E W - E log det W > 0";

impl Wishart {
    /// The family of order `d >= 1`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0.
    pub fn new(d: usize) -> Result<Self, Error> {
        half::check_order(d)?;
        Ok(Wishart { d })
    }

    /// The member with the given scale and degrees of freedom; the mean is `degrees * scale`.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::Parameter`] unless `degrees > d - 1`.
    pub fn with_scale_degrees(
        self,
        scale: ArrayView2<f64>,
        degrees: f64,
    ) -> Result<Distribution<Self>, Error> {
        Invalid::check_length("scale", self.d, scale.nrows())?;
        let factor = factor::factor("scale", &scale.to_owned())?;
        let mut eta = vec![0.0; self.dimension()];
        pack(&factor.inverse(), -0.5, &mut eta);
        eta[half::length(self.d)] = 0.5 * (degrees - self.d as f64 - 1.0);
        Distribution::from_natural(self, &eta)
    }

    fn member<'a>(&self, eta: &'a [f64]) -> Member<'a> {
        let last = half::length(self.d);
        Member { d: self.d, matrix: &eta[..last], above: eta[last] + 1.0 }
    }
}

/// A Wishart law given by `-V^-1 / 2` as a vector and by `(n - d + 1) / 2`. The latter keeps more digits than `n` near
/// the border of the domain.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) d: usize,
    pub(crate) matrix: &'a [f64],
    pub(crate) above: f64,
}

/// What [`Member::check`] calls its matrices.
pub(crate) const NAMES: [&str; 3] = ["inverse scale", "scale", "mean n V"];

impl Member<'_> {
    /// Of `V^-1`.
    pub(crate) fn factor(&self) -> Result<Factor, Invalid> {
        Factor::unpacked("inverse scale", self.matrix, self.d, -2.0)
    }

    pub(crate) fn half_degrees(&self) -> f64 {
        self.above + 0.5 * (self.d as f64 - 1.0)
    }

    /// `n`.
    pub(crate) fn degrees(&self) -> Wide {
        split(2.0 * self.half_degrees())
    }

    /// Checks that `V^-1` is positive definite, and that `V` and `n V` have finite numbers. The names are those of the three.
    pub(crate) fn check(
        &self,
        [inverse, scale, mean_of]: [&'static str; 3],
    ) -> Result<Factor, Invalid> {
        let factor = Factor::unpacked(inverse, self.matrix, self.d, -2.0)?;
        let scale = factor.check_inverse(scale)?;
        let mean = scale * (2.0 * self.half_degrees());
        match mean.indexed_iter().find(|(_, v)| !v.is_finite()) {
            None => Ok(factor),
            Some(((row, column), &value)) => {
                Err(Invalid::NonFinite { what: mean_of, row, column, value })
            }
        }
    }

    pub(crate) fn log_partition(&self) -> f64 {
        let Ok(factor) = self.factor() else { return f64::NAN };
        // Each gamma function with its share of the logarithm of the determinant, since both may overflow.
        let (d, rate) = (self.d as f64, factor.log_det() / self.d as f64 - std::f64::consts::LN_2);
        let gammas = |i: usize| ln_gamma_scaled(self.above + 0.5 * i as f64, rate);
        (0..self.d).map(gammas).sum::<f64>()
            + 0.25 * d * (d - 1.0) * (std::f64::consts::PI.ln() - rate)
    }

    /// `n V` as a vector, and `E log det W`.
    pub(crate) fn mean(&self, mu: &mut [f64]) -> f64 {
        let Ok(factor) = self.factor() else {
            mu.fill(f64::NAN);
            return f64::NAN;
        };
        pack(&factor.inverse(), 2.0 * self.half_degrees(), mu);
        digamma_multivariate_above(self.d, self.above) + self.d as f64 * std::f64::consts::LN_2
            - factor.log_det()
    }

    /// `E log det W`.
    pub(crate) fn mean_log_det(&self) -> f64 {
        let Ok(factor) = self.factor() else { return f64::NAN };
        let scale = self.d as f64 * std::f64::consts::LN_2 - factor.log_det();
        digamma_multivariate_above(self.d, self.above) + scale
    }

    /// `A*` at the mean: the negative entropy. In `-n d / 2 + (x_0 - 1) sum psi(x_i) - sum log Gamma(x_i)` with
    /// `x_i = (n - d + 1 + i) / 2` the large terms are taken out by the entropies of gamma laws.
    pub(crate) fn conjugate(&self) -> f64 {
        let Ok(factor) = self.factor() else { return f64::NAN };
        let d = self.d as f64;
        let parts: f64 = (0..self.d)
            .map(|i| {
                let (behind, rest) = (0.5 * i as f64, 0.5 * (self.d - 1 - i) as f64);
                let x = self.above + behind;
                let psi = if i == 0 { 0.0 } else { behind * digamma(x) };
                -gamma_entropy(x) - rest - psi
            })
            .sum();
        let scale = d * std::f64::consts::LN_2 - factor.log_det();
        parts - 0.25 * d * (d - 1.0) * std::f64::consts::PI.ln() - 0.5 * (d + 1.0) * scale
    }

    /// `log p(W)` of a matrix with its factor.
    pub(crate) fn log_density(&self, w: &Array2<f64>, of_w: &Factor) -> f64 {
        let Ok(factor) = self.factor() else { return f64::NAN };
        let n = 2.0 * self.half_degrees();
        let half_change = 0.5 * w - 0.5 * (factor.inverse() * n);
        let (from, to) = (Base::inverse(&factor, n), Base::of(of_w));
        self.log_density_at(factor::half_phi(&from, (&to, w.clone()), half_change), of_w.log_det())
    }

    /// `log p(W)` in the saddle-point form: `-(n / 2) sum_i (l_i - 1 - log l_i)` with the eigenvalues `l_i` of `W` relative to its
    /// mean `n V`, of which half the sum is given, and by Stirling's formula what does not grow with `n`.
    pub(crate) fn log_density_at(&self, half_phi: f64, log_det: f64) -> f64 {
        let (h, d) = (self.half_degrees(), self.d as f64);
        let parts: f64 = (0..self.d)
            .map(|i| {
                let (x, rest) = (self.above + 0.5 * i as f64, 0.5 * (self.d - 1 - i) as f64);
                // log(x / h)
                let ratio = if x < 0.5 * h { (x / h).ln() } else { (-rest / h).ln_1p() };
                (rest + 0.5) * h.ln() - (x - 0.5) * ratio - rest - HALF_LOG_TAU - stirling_error(x)
            })
            .sum();
        parts
            - 2.0 * h * half_phi
            - 0.25 * d * (d - 1.0) * std::f64::consts::PI.ln()
            - 0.5 * (d + 1.0) * log_det
    }

    /// The information of `W`, into a block as by [`half::block`].
    pub(crate) fn fisher_of_precision(&self, factor: &Factor, block: (&mut [f64], usize, usize)) {
        let (v, units) = (factor.scaled_inverse(), factor.units());
        let (n, exponent) = self.degrees();
        half::block(self.d, block, |i, j, k, l| {
            let in_units = n * (v[[i, k]] * v[[j, l]] + v[[i, l]] * v[[j, k]]);
            scaled(in_units, exponent - units[i] - units[j] - units[k] - units[l])
        });
    }

    /// The information of `(W, log det W)`.
    pub(crate) fn fisher(&self, out: &mut [f64]) {
        let last = self.matrix.len();
        let width = last + 1;
        let Ok(factor) = self.factor() else {
            out.fill(f64::NAN);
            return;
        };
        self.fisher_of_precision(&factor, (out, width, 0));
        let mut cross = vec![0.0; last];
        pack(&factor.inverse(), 2.0, &mut cross);
        for (i, c) in cross.into_iter().enumerate() {
            out[i * width + last] = c;
            out[last * width + i] = c;
        }
        out[last * width + last] = trigamma_multivariate_above(self.d, self.above);
    }

    /// `KL` to the member at `(matrix + 2 half_change, to)`, with `to = above + step`. It is a sum of two positive parts:
    /// `(n'/2) sum phi(n lambda_i / n')` with the eigenvalues `lambda_i` of `V'^-1` relative to `V^-1`, and the
    /// divergence due to the degrees of freedom.
    pub(crate) fn kl(&self, half_change: &[f64], target: Member, step: f64) -> f64 {
        let to = target.above;
        let (Ok(from), Ok(factor)) = (self.factor(), target.factor()) else { return f64::NAN };
        let [q, half_change] =
            [target.matrix, half_change].map(|vector| unpack(vector, self.d, -2.0));
        let relative =
            factor::relative_eigenvalues(&Base::of(&from), (&Base::of(&factor), q), half_change);
        let n = self.half_degrees();
        let after = to + 0.5 * (self.d as f64 - 1.0);
        let scale: f64 = relative
            .iter()
            .map(|&(e, log)| {
                // With many more degrees than the target has, n e - step would cancel.
                let u = if e < -0.5 { n * log.exp() / after - 1.0 } else { (n * e - step) / after };
                if u.abs() < 0.5 { -log1pmx(u) } else { u - log + (after.ln() - n.ln()) }
            })
            .sum();
        let degrees: f64 = (0..self.d)
            .map(|i| {
                // Of the gamma functions at x and x', and how they lag behind n / 2.
                let behind = 0.5 * i as f64;
                let (x, x_after) = (self.above + behind, to + behind);
                let rest = 0.5 * (self.d - 1 - i) as f64;
                shape_divergence(x, x_after, step) + x_log_x_divergence_drop(x, x_after, step, rest)
            })
            .sum();
        after * scale + degrees
    }
}

impl Distribution<Wishart> {
    /// Degrees of freedom.
    pub fn degrees(&self) -> f64 {
        2.0 * self.natural()[half::length(self.family().d)] + self.family().d as f64 + 1.0
    }

    /// The scale matrix `V`.
    pub fn scale(&self) -> Array2<f64> {
        unpack(&self.mean(), self.family().d, 1.0 / self.degrees())
    }
}

impl Family for Wishart {
    fn name(&self) -> &'static str {
        "Wishart"
    }

    fn dimension(&self) -> usize {
        half::length(self.d) + 1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        let last = half::length(self.d);
        natural_in(self, eta[last] > -1.0, last, eta[last], "a number > -1 (degrees > d - 1)")?;
        natural_in(self, eta[last] <= gamma::LARGEST, last, eta[last], "at most 1e305")?;
        self.member(eta).check(NAMES)?;
        Ok(())
    }

    fn check_resolved(&self, eta: &[f64]) -> Result<(), Error> {
        crate::family::resolved(self, self.member(eta).above)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let last = half::length(self.d);
        let gap = Factor::unpacked("mean", mu, self.d, 1.0)?.log_det() - mu[last];
        mean_in(self, gap > 0.0, last, gap, EXPECTED)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        self.member(eta).log_partition()
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let last = half::length(self.d);
        mu[last] = self.member(eta).mean(&mut mu[..last]);
    }

    /// The degrees of freedom solve `sum_i log(n/2) - psi((n - i)/2) = log det E W - E log det W`, an equation in one
    /// unknown.
    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let (d, last) = (self.d as f64, half::length(self.d));
        let factor = Factor::unpacked("mean", mu, self.d, 1.0)?;
        let gap = factor.log_det() - mu[last];
        mean_in(self, gap > 0.0, last, gap, EXPECTED)?;
        // In y = log(n - d + 1).
        let f = |y: f64| {
            let above = y.exp();
            let n = above + d - 1.0;
            let mut value = 0.0;
            for i in 0..self.d {
                // x = (n - d + 1 + i) / 2, and log(n / 2) - log(x).
                let (i, rest) = (i as f64, (self.d - 1 - i) as f64);
                value += log_minus_digamma(0.5 * (above + i)) + (rest / (above + i)).ln_1p();
            }
            let slope = d / n - 0.5 * trigamma_multivariate_above(self.d, 0.5 * above);
            (gap.ln() - value.ln(), -above * slope / value)
        };
        let start = (0.5 * d * (d + 1.0) / gap).max(1e-300).ln();
        let above = increasing_root(f, -600.0, 600.0, start, 1e-16).exp();
        pack(&factor.inverse(), -0.5 * (above + d - 1.0), eta);
        eta[last] = 0.5 * above - 1.0;
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        self.member(eta).fisher(out);
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.member(eta).conjugate()
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let last = half::length(self.d);
        let half_change: Vec<f64> =
            q[..last].iter().zip(p).map(|(q, p)| 0.5 * q - 0.5 * p).collect();
        self.member(p).kl(&half_change, self.member(q), q[last] - p[last])
    }
}

/// `T` of a matrix whose factor is known; the sign is that of the log-determinant.
pub(crate) fn statistics(matrix: &Array2<f64>, log_det: f64, out: &mut [f64]) {
    pack(matrix, 1.0, out);
    let last = out.len() - 1;
    out[last] = log_det;
}

/// The matrix must be symmetric positive definite of order `d`.
pub(crate) fn check_matrix(d: usize, x: &Array2<f64>) -> Result<(), Error> {
    Invalid::check_length("observation", d, x.nrows())?;
    factor::factor("observation", x)?;
    Ok(())
}

impl Density for Wishart {
    type Point = Array2<f64>;

    fn check_point(&self, x: &Array2<f64>) -> Result<(), Error> {
        check_matrix(self.d, x)
    }

    fn statistics(&self, x: &Array2<f64>, out: &mut [f64]) {
        let log_det = Factor::new("observation", x.view()).map_or(f64::NAN, |f| f.log_det());
        statistics(x, log_det, out);
    }

    fn log_base(&self, _: &Array2<f64>) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn log_density(&self, eta: &[f64], x: &Array2<f64>) -> f64 {
        let Ok(factor) = Factor::new("observation", x.view()) else { return f64::NAN };
        self.member(eta).log_density(x, &factor)
    }
}

impl Sample for Wishart {
    type Owned = Array2<f64>;

    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Array2<f64> {
        let nan = || Array2::from_elem((self.d, self.d), f64::NAN);
        let member = self.member(eta);
        let Ok(factor) = member.factor() else { return nan() };
        match samplers::Wishart::new(factor.inverse().view(), 2.0 * member.half_degrees()) {
            Ok(law) => law.sample(&mut rng),
            Err(_) => nan(),
        }
    }
}
