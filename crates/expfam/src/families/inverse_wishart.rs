//! The inverse Wishart family: random covariance matrices.

use fenchel_linalg::Invalid;
use ndarray::{Array2, ArrayView2};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::factor::{self, Base, Factor};
use super::file::checked_file;
use super::gamma;
use super::half::{self, pack, unpack};
use super::wishart::{Member, Wishart, check_matrix, statistics};
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, check_shape, natural_in};
use crate::samplers;

/// The inverses `X = W^-1` of Wishart matrices, by scale `Psi` and degrees `n > d - 1`: statistic
/// `T(X) = (X^-1, log det X)`, natural parameter `eta = (-Psi / 2, -(n + d + 1) / 2)`, log-partition function
/// `A = log Gamma_d(n/2) + (n d / 2) log 2 - (n/2) log det Psi`. `Psi`, `Psi^-1` and `E X^-1 = n Psi^-1` have finite numbers, and
/// `eta` ends with at least -1e305.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct InverseWishart {
    d: usize,
}

checked_file!(InverseWishart { d: super::file::Count } InverseWishart::new(d.0 as usize));

impl InverseWishart {
    /// The family of order `d >= 1`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0.
    pub fn new(d: usize) -> Result<Self, Error> {
        half::check_order(d)?;
        Ok(InverseWishart { d })
    }

    /// The member with the given scale and degrees of freedom; the mean is `scale / (degrees - d - 1)`.
    ///
    /// # Errors
    /// [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::Layout`] unless symmetric; [`Error::OutsideNaturalDomain`] unless `degrees > d - 1`.
    pub fn with_scale_degrees(
        self,
        scale: ArrayView2<f64>,
        degrees: f64,
    ) -> Result<Distribution<Self>, Error> {
        Invalid::check_length("scale", self.d, scale.nrows())?;
        factor::check_symmetric("scale", scale)?;
        let mut eta = vec![0.0; self.dimension()];
        pack(&scale.to_owned(), -0.5, &mut eta);
        eta[half::length(self.d)] = -0.5 * (degrees + self.d as f64 + 1.0);
        Distribution::from_natural(self, &eta)
    }

    fn inverse(&self) -> Wishart {
        Wishart::new(self.d).expect("the order was checked")
    }

    /// The law of `X^-1`.
    fn member<'a>(&self, eta: &'a [f64]) -> Member<'a> {
        let last = half::length(self.d);
        Member { d: self.d, matrix: &eta[..last], above: -eta[last] - self.d as f64 }
    }
}

impl Distribution<InverseWishart> {
    /// Degrees of freedom.
    pub fn degrees(&self) -> f64 {
        -2.0 * self.natural()[half::length(self.family().d)] - self.family().d as f64 - 1.0
    }

    /// The scale matrix `Psi`.
    pub fn scale(&self) -> Array2<f64> {
        unpack(self.natural(), self.family().d, -2.0)
    }
}

impl Family for InverseWishart {
    fn name(&self) -> &'static str {
        "inverse Wishart"
    }

    fn dimension(&self) -> usize {
        half::length(self.d) + 1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        let (last, law) = (half::length(self.d), self.member(eta));
        natural_in(self, law.above > 0.0, last, eta[last], "a number < -d (degrees > d - 1)")?;
        natural_in(self, eta[last] >= -gamma::LARGEST, last, eta[last], "at least -1e305")?;
        law.check(["scale", "inverse scale", "mean n Psi^-1 of the inverse"])?;
        Ok(())
    }

    fn check_resolved(&self, eta: &[f64]) -> Result<(), Error> {
        crate::family::resolved(self, self.member(eta).above)
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let mut mu = mu.to_vec();
        mu[half::length(self.d)] *= -1.0;
        self.inverse().check_mean(&mu)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        self.member(eta).log_partition()
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let last = half::length(self.d);
        mu[last] = -self.member(eta).mean(&mut mu[..last]);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let last = half::length(self.d);
        let mut mu = mu.to_vec();
        mu[last] *= -1.0;
        self.inverse().natural(&mu, eta)?;
        eta[last] = -eta[last] - (self.d as f64 + 1.0);
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        self.member(eta).fisher(out);
        let (width, last) = (self.dimension(), half::length(self.d));
        for i in 0..last {
            out[i * width + last] *= -1.0;
            out[last * width + i] *= -1.0;
        }
    }

    /// That of the inverse and the Jacobian's share: `-(d + 1) E log det X`.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let inverse = self.member(eta);
        inverse.conjugate() + (self.d as f64 + 1.0) * inverse.mean_log_det()
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let last = half::length(self.d);
        let half_change: Vec<f64> =
            q[..last].iter().zip(p).map(|(q, p)| 0.5 * q - 0.5 * p).collect();
        self.member(p).kl(&half_change, self.member(q), p[last] - q[last])
    }
}

impl Density for InverseWishart {
    type Point = Array2<f64>;

    fn check_point(&self, x: &Array2<f64>) -> Result<(), Error> {
        check_matrix(self.d, x)
    }

    fn statistics(&self, x: &Array2<f64>, out: &mut [f64]) {
        match Factor::new("observation", x.view()) {
            Ok(factor) => statistics(&factor.inverse(), factor.log_det(), out),
            Err(_) => out.fill(f64::NAN),
        }
    }

    fn log_base(&self, _: &Array2<f64>) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }

    fn log_density(&self, eta: &[f64], x: &Array2<f64>) -> f64 {
        let Ok(factor) = Factor::new("observation", x.view()) else { return f64::NAN };
        let law = self.member(eta);
        let Ok(scale) = law.factor() else { return f64::NAN };
        // The eigenvalues of X^-1 relative to its mean n Psi^-1 are those of Psi / n relative to X.
        let over = 0.5 / law.half_degrees();
        let mean = unpack(law.matrix, self.d, -2.0) * over;
        let (from, to) = (Base::of(&factor), Base::times(&scale, over));
        let half_change = 0.5 * &mean - 0.5 * x;
        let (half_phi, log_det) =
            (factor::half_phi(&from, (&to, mean), half_change), factor.log_det());
        law.log_density_at(half_phi, -log_det) - (self.d as f64 + 1.0) * log_det
    }
}

impl Sample for InverseWishart {
    type Owned = Array2<f64>;

    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Array2<f64> {
        let degrees = -2.0 * eta[half::length(self.d)] - self.d as f64 - 1.0;
        match samplers::InverseWishart::new(unpack(eta, self.d, -2.0).view(), degrees) {
            Ok(law) => law.sample(&mut rng),
            Err(_) => Array2::from_elem((self.d, self.d), f64::NAN),
        }
    }
}
