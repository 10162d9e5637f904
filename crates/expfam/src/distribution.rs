//! Distributions: a family together with parameters.

use std::borrow::Borrow;

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::families::batch;
use crate::family::{Density, Family, Sample};

/// A member of an exponential family: the family and a checked natural parameter.
///
/// ```
/// use fenchel_expfam::Distribution;
/// use fenchel_expfam::families::Gamma;
///
/// let p = Gamma.with_shape_rate(2.0, 3.0)?;
/// assert!((p.mean()[1] - 2.0 / 3.0).abs() < 1e-15);
/// // The same member from its mean parameter (E log x, E x).
/// let q = Distribution::from_mean(Gamma, &p.mean())?;
/// assert!((q.shape() - 2.0).abs() < 1e-13 && p.kl(&q) < 1e-24);
/// # Ok::<(), fenchel_expfam::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<F>", bound(deserialize = "F: Family + Deserialize<'de>"))]
pub struct Distribution<F> {
    family: F,
    natural: Vec<f64>,
}

/// The contents of a file.
#[derive(Deserialize)]
struct Unchecked<F> {
    family: F,
    natural: Vec<f64>,
}

impl<F: Family> TryFrom<Unchecked<F>> for Distribution<F> {
    type Error = Error;

    fn try_from(read: Unchecked<F>) -> Result<Self, Error> {
        Distribution::from_natural(read.family, &read.natural)
    }
}

impl<F: Family> Distribution<F> {
    /// The member with natural parameter `eta`.
    ///
    /// # Errors
    /// The errors of [`Family::check_natural`].
    pub fn from_natural(family: F, eta: &[f64]) -> Result<Self, Error> {
        family.check_natural(eta)?;
        Ok(Distribution { family, natural: eta.to_vec() })
    }

    /// The member with mean parameter `mu = E T(x)`: also what maximum likelihood gives for data with that mean.
    ///
    /// # Errors
    /// The errors of [`Family::check_mean`]. [`Error::OutsideNaturalDomain`] for a mean so near the border that the natural parameter
    /// is not finite.
    pub fn from_mean(family: F, mu: &[f64]) -> Result<Self, Error> {
        family.check_mean(mu)?;
        let mut natural = vec![0.0; family.dimension()];
        family.natural(mu, &mut natural)?;
        family.check_natural(&natural)?;
        Ok(Distribution { family, natural })
    }

    /// The member behind centred coordinates.
    pub(crate) fn from_centred(family: F, centred: &[f64]) -> Result<Self, Error> {
        let mut natural = vec![0.0; family.dimension()];
        family.natural_from_centred(centred, &mut natural)?;
        family.check_natural(&natural)?;
        Ok(Distribution { family, natural })
    }

    /// The family.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The natural parameter `eta`.
    pub fn natural(&self) -> &[f64] {
        &self.natural
    }

    /// The mean parameter `mu = E T(x)`.
    pub fn mean(&self) -> Vec<f64> {
        let mut mu = vec![0.0; self.family.dimension()];
        self.family.mean(&self.natural, &mut mu);
        mu
    }

    /// `A(eta)`.
    pub fn log_partition(&self) -> f64 {
        self.family.log_partition(&self.natural)
    }

    /// `A*(mu)` at the mean of this member.
    pub fn conjugate(&self) -> f64 {
        self.family.conjugate_at(&self.natural)
    }

    /// The Fisher information in natural coordinates, the covariance of `T(x)`, row by row.
    pub fn fisher_information(&self) -> Vec<f64> {
        let k = self.family.dimension();
        let mut out = vec![0.0; k * k];
        self.family.fisher(&self.natural, &mut out);
        out
    }

    /// `KL(self || other)` in nats.
    ///
    /// The result is NaN if the members differ in their fixed quantities; [`try_kl`](Self::try_kl) returns an error
    /// instead.
    pub fn kl(&self, other: &Self) -> f64
    where
        F: PartialEq,
    {
        if self.family != other.family {
            return f64::NAN;
        }
        // Also where the parts of the divergence overflow.
        if self.natural == other.natural {
            return 0.0;
        }
        self.family.kl(&self.natural, &other.natural)
    }

    /// `KL(self || other)`, with a check that both are of one family.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the fixed quantities differ.
    pub fn try_kl(&self, other: &Self) -> Result<f64, Error>
    where
        F: PartialEq,
    {
        check_same(&self.family, &other.family, "the divergence of members")?;
        Ok(self.kl(other))
    }

    /// The symmetrised divergence `KL(p || q) + KL(q || p) = <eta_p - eta_q, mu_p - mu_q>`.
    /// NaN where [`kl`](Self::kl) is.
    pub fn symmetrised_kl(&self, other: &Self) -> f64
    where
        F: PartialEq,
    {
        self.kl(other) + other.kl(self)
    }
}

impl<F: Density> Distribution<F> {
    /// `log p(x)` in nats.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`].
    pub fn log_density(&self, x: &F::Point) -> Result<f64, Error> {
        self.family.check_point(x)?;
        Ok(self.family.log_density(&self.natural, x))
    }

    /// `log p(x_i)` of many observations.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`] with the first observation outside.
    pub fn log_densities(&self, x: &[F::Point]) -> Result<Vec<f64>, Error>
    where
        F::Point: Sized,
    {
        check_points(&self.family, x)?;
        let mut out = vec![0.0; x.len()];
        self.family.log_densities(&self.natural, x, &mut out);
        Ok(out)
    }

    /// The entropy in nats, of a density its differential entropy.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the base measure has no known mean.
    pub fn entropy(&self) -> Result<f64, Error> {
        self.family.entropy(&self.natural)
    }
}

impl<F: Sample> Distribution<F> {
    /// One draw.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> F::Owned {
        let mut rng = rng;
        self.family.draw(&self.natural, &mut rng)
    }

    /// `n` draws.
    ///
    /// # Panics
    /// For more draws than memory, as a vector of so many does.
    pub fn samples<R: Rng + ?Sized>(&self, n: usize, rng: &mut R) -> Vec<F::Owned> {
        (0..n).map(|_| self.sample(rng)).collect()
    }

    /// A Monte Carlo estimate of `KL(self || q)` for a `q` of any family on the same points: the mean of
    /// `log p(x) - log q(x)` over draws `x` of this member `p`, and its standard error.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`] for a draw that `q` gives probability 0: the divergence is infinite. [`Invalid::Parameter`] for
    /// fewer than 2 draws, which have no standard error.
    pub fn monte_carlo_kl<G: Density<Point = F::Point>, R: Rng + ?Sized>(
        &self,
        q: &Distribution<G>,
        draws: usize,
        rng: &mut R,
    ) -> Result<(f64, f64), Error> {
        if draws < 2 {
            let (name, value) = ("draws", draws as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 2" }.into());
        }
        let (mut mean, mut square) = (0.0, 0.0);
        for i in 0..draws {
            let x = self.sample(rng);
            let log_q = q.log_density(x.borrow()).map_err(|e| e.at(i))?;
            let ratio = self.family.log_density(&self.natural, x.borrow()) - log_q;
            let step = (ratio - mean) / (i + 1) as f64;
            square += step * (ratio - mean) * i as f64;
            mean += step;
        }
        let n = draws as f64;
        Ok((mean, (square / (n * (n - 1.0))).sqrt()))
    }
}

/// The error of two families that differ in what they hold fixed.
pub(crate) fn check_same<F: Family + PartialEq>(
    a: &F,
    b: &F,
    what: &'static str,
) -> Result<(), Error> {
    if a == b {
        return Ok(());
    }
    let hint = "the fixed quantities differ; use the same dimension, number of trials and known parameters";
    Err(Error::Unavailable { family: a.name(), what, hint })
}

pub(crate) fn check_points<F: Density>(family: &F, x: &[F::Point]) -> Result<(), Error>
where
    F::Point: Sized,
{
    // Whether all are inside has no branch a point; which one is not, is asked only then.
    let inside = batch::all(
        x,
        #[inline(always)]
        |x| family.check_point(x).is_ok(),
    );
    if inside {
        return Ok(());
    }
    x.iter().enumerate().try_for_each(|(i, x)| family.check_point(x).map_err(|e| e.at(i)))
}
