//! Conjugate priors: pseudo-observations.
//!
//! ```text
//! p(eta) = exp(n0 (<mu0, eta> - A(eta)) - log Z(n0, mu0)),      n0 > 0,  mu0 in the open mean domain
//! ```
//!
//! The prior acts like `n0` pseudo-observations of mean `mu0`. Together with `n` observations of mean `m` it gives a
//! posterior of the same form, with weight `n0 + n` and mean `(n0 mu0 + n m) / (n0 + n)`. The MAP estimate is the mode
//! of the posterior density in `eta`: it is the member with that mean. The mode of the density in other coordinates
//! differs. So the MAP estimate here is also the posterior *mean* of `mu`. For a coin with the prior `Beta(a, b)` and
//! `s` heads in `n` throws, it is `(a + s) / (a + b + n)`, not `(a + s - 1) / (a + b + n - 2)`.
//!
//! References: R. Le Priol, PhD thesis 2021, section 2.3.1 and section 5.2, equations (5.10) and (5.11); P. Diaconis,
//! D. Ylvisaker, "Conjugate priors for exponential families" (1979).

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, check_points};
use crate::error::Error;
use crate::family::{Density, Evidence, Family};
use crate::summary::Summary;

/// A conjugate prior or posterior: `weight` observations of mean `mu0`.
///
/// ```
/// use fenchel_expfam::{Prior, Summary};
/// use fenchel_expfam::families::Bernoulli;
///
/// // Beta(1, 1) on the probability: two pseudo-observations, one of them heads.
/// let prior = Prior::new(Bernoulli, 2.0, &[0.5])?;
/// let data = [1.0, 1.0, 1.0];
/// let posterior = prior.posterior(&Summary::of(Bernoulli, &data)?)?;
/// assert!((posterior.map().p() - 4.0 / 5.0).abs() < 1e-15);
/// // The evidence of three heads is B(4, 1) / B(1, 1) = 1/4.
/// assert!((prior.log_marginal_likelihood(&data)? - 0.25f64.ln()).abs() < 1e-14);
/// # Ok::<(), fenchel_expfam::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<F>", bound(deserialize = "F: Family + Clone + Deserialize<'de>"))]
pub struct Prior<F> {
    summary: Summary<F>,
    map: Distribution<F>,
}

/// The contents of a file.
#[derive(Deserialize)]
#[serde(bound(deserialize = "F: Family + Deserialize<'de>"))]
struct Unchecked<F> {
    summary: Summary<F>,
    map: Distribution<F>,
}

impl<F: Family + Clone> TryFrom<Unchecked<F>> for Prior<F> {
    type Error = Error;

    /// The mode has to be that of the summary, up to rounding.
    fn try_from(Unchecked { summary, map }: Unchecked<F>) -> Result<Self, Error> {
        Invalid::check_positive("weight of the prior", summary.weight())?;
        let (family, centred) = (summary.family().clone(), summary.centred());
        let map = Distribution::from_natural(family.clone(), map.natural())?;
        let found = Distribution::from_centred(family, centred)?;
        let apart = map.family().kl(found.natural(), map.natural());
        if apart > 1e-8 {
            let expected = "a mode whose divergence from that of the summary is 0";
            return Err(Invalid::Parameter { name: "map", value: apart, expected }.into());
        }
        Ok(Prior { summary, map })
    }
}

impl<F: Family + Clone> Prior<F> {
    /// `weight` pseudo-observations of mean `mu0`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `weight > 0`; the errors of [`Family::check_mean`].
    pub fn new(family: F, weight: f64, mu0: &[f64]) -> Result<Self, Error> {
        Invalid::check_positive("weight of the prior", weight)?;
        family.check_mean(mu0)?;
        let mut centred = vec![0.0; mu0.len()];
        family.centred_from_mean(mu0, &mut centred);
        Self::from_summary(Summary::from_parts(family, weight, centred))
    }

    /// The prior of `weight` pseudo-observations with the mean of the member `at`. It is more accurate than
    /// [`new`](Self::new) where the computation of means cancels.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `weight > 0`. The errors of [`Family::natural_from_centred`] for a mean that rounds to the border.
    pub fn around(weight: f64, at: &Distribution<F>) -> Result<Self, Error> {
        Invalid::check_positive("weight of the prior", weight)?;
        let family = at.family().clone();
        let mut centred = vec![0.0; family.dimension()];
        family.centred_from_natural(at.natural(), &mut centred);
        Distribution::from_centred(family.clone(), &centred)?;
        Ok(Prior { summary: Summary::from_parts(family, weight, centred), map: at.clone() })
    }

    /// The prior with the weight and the mean of a summary of earlier data.
    ///
    /// # Errors
    /// The errors of [`Summary::mle`]: data on the border make no prior.
    pub fn from_summary(summary: Summary<F>) -> Result<Self, Error> {
        let map = summary.mle()?;
        Ok(Prior { summary, map })
    }

    /// The family of the likelihood.
    pub fn family(&self) -> &F {
        self.summary.family()
    }

    /// The weight: `n0` for a prior, `n0 + n` after `n` observations.
    pub fn weight(&self) -> f64 {
        self.summary.weight()
    }

    /// `mu0`: the mean of the mean parameter under this prior.
    pub fn mean(&self) -> Vec<f64> {
        let mut mu = vec![0.0; self.family().dimension()];
        self.family().mean_from_centred(self.summary.centred(), &mut mu);
        mu
    }

    pub(crate) fn centred(&self) -> &[f64] {
        self.summary.centred()
    }

    /// The mode of the density of `eta`, the member with mean `mu0`.
    pub fn map(&self) -> &Distribution<F> {
        &self.map
    }

    /// The posterior after data.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for a summary with other fixed quantities; [`Error::OutsideNaturalDomain`] if numbers overflow.
    pub fn posterior(&self, data: &Summary<F>) -> Result<Self, Error>
    where
        F: PartialEq,
    {
        let mut summary = self.summary.clone();
        summary.merge(data)?;
        Self::from_summary(summary)
    }

    /// `log p(eta)` up to the constant `log Z`: `n0 (<mu0, eta> - A(eta))`.
    ///
    /// # Errors
    /// The errors of [`Family::check_natural`].
    pub fn log_unnormalised(&self, eta: &[f64]) -> Result<f64, Error> {
        let family = self.family();
        family.check_natural(eta)?;
        // <mu0, eta> - A(eta) = A*(mu0) - B_A(eta; eta0), and the divergence does not cancel.
        Ok(self.weight() * (self.map.conjugate() - family.kl(self.map.natural(), eta)))
    }
}

impl<F: Evidence + Clone> Prior<F> {
    /// `log Z(n0, mu0)`, the log of the integral of the unnormalised density over the natural domain.
    pub fn log_normaliser(&self) -> f64 {
        self.family().log_prior_normaliser(self.weight(), self.centred())
    }

    /// `log p(eta)`, a density with respect to `d eta`.
    ///
    /// # Errors
    /// The errors of [`Family::check_natural`]; [`Error::Unavailable`] where numbers overflow.
    pub fn log_density(&self, eta: &[f64]) -> Result<f64, Error> {
        self.number("the density of a prior", self.log_unnormalised(eta)? - self.log_normaliser())
    }

    /// A difference of infinite numbers is no number.
    fn number(&self, what: &'static str, value: f64) -> Result<f64, Error> {
        let hint =
            "numbers overflow; choose a unit in which they are nearer to 1, or another weight";
        let family = self.family().name();
        if value.is_nan() { Err(Error::Unavailable { family, what, hint }) } else { Ok(value) }
    }

    /// The log of `Z(posterior) / Z(prior)`, which is the marginal likelihood without the base measure of the data.
    /// Estimates need only this ratio, not the divergence between two priors.
    fn log_ratio(&self, data: &Summary<F>) -> Result<f64, Error> {
        let mut all = self.summary.clone();
        all.add(data.centred(), data.weight());
        let after = self.family().log_prior_normaliser(all.weight(), all.centred());
        self.number("the marginal likelihood", after - self.log_normaliser())
    }
}

impl<F: Evidence + Density + Clone> Prior<F> {
    /// `log p(x_1, ..., x_n)`, with the parameter integrated out.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Error::Unavailable`] where numbers overflow.
    pub fn log_marginal_likelihood(&self, x: &[F::Point]) -> Result<f64, Error>
    where
        F::Point: Sized,
    {
        check_points(self.family(), x)?;
        let base: f64 = x.iter().map(|x| self.family().log_base(x)).sum();
        let ratio = self.log_ratio(&Summary::of(self.family().clone(), x)?)?;
        self.number("the marginal likelihood", ratio + base)
    }

    /// The same for observations by reference.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Error::Unavailable`] where numbers overflow.
    pub fn log_marginal_likelihood_of_each<'x>(
        &self,
        x: impl IntoIterator<Item = &'x F::Point>,
    ) -> Result<f64, Error>
    where
        F::Point: 'x,
    {
        let mut data = Summary::new(self.family().clone());
        let mut base = 0.0;
        for (i, x) in x.into_iter().enumerate() {
            data.observe(x).map_err(|e| e.at(i))?;
            base += self.family().log_base(x);
        }
        self.number("the marginal likelihood", self.log_ratio(&data)? + base)
    }

    /// `log p(x | all data so far)`: the log of the posterior predictive density of the next observation. Depending on
    /// the family, this law is beta-binomial, Lomax, Student's t and so on.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Error::Unavailable`] where numbers overflow.
    pub fn log_predictive(&self, x: &F::Point) -> Result<f64, Error> {
        self.log_marginal_likelihood_of_each([x])
    }
}
