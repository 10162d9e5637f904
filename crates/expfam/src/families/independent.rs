//! Families of vectors whose entries are independent and belong to one univariate family.

use fenchel_linalg::Invalid;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::family::{Density, Evidence, Family, Sample, check_shape};

/// `count` independent numbers of one family, each with its own parameter: `Independent::new(Normal, d)` is the normal family with
/// diagonal covariance.
///
/// Parameters are concatenated entry by entry. `A` and the divergences are sums over the entries, and the Fisher
/// information is block diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked<F>", bound(deserialize = "F: Family + Deserialize<'de>"))]
pub struct Independent<F> {
    family: F,
    count: usize,
}

/// The contents of a file.
#[derive(Deserialize)]
struct Unchecked<F> {
    family: F,
    count: super::file::Count,
}

impl<F: Family> TryFrom<Unchecked<F>> for Independent<F> {
    type Error = Error;

    fn try_from(Unchecked { family, count }: Unchecked<F>) -> Result<Self, Error> {
        Independent::new(family, count.0 as usize)
    }
}

impl<F: Family> Independent<F> {
    /// `count >= 1` entries.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0, and for more entries than a vector can have.
    pub fn new(family: F, count: usize) -> Result<Self, Error> {
        Invalid::check_count("count", count)?;
        if family.dimension().checked_mul(count).is_none() {
            let (name, value, expected) = ("count", count as f64, "entries that a vector can have");
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        Ok(Independent { family, count })
    }

    fn entries<'a>(&self, parameter: &'a [f64]) -> std::slice::ChunksExact<'a, f64> {
        parameter.chunks_exact(self.family.dimension())
    }

    fn sum(&self, parameter: &[f64], f: impl Fn(&[f64]) -> f64) -> f64 {
        self.entries(parameter).map(f).sum()
    }

    fn each(&self, from: &[f64], to: &mut [f64], f: impl Fn(&[f64], &mut [f64])) {
        let to = to.chunks_exact_mut(self.family.dimension());
        self.entries(from).zip(to).for_each(|(a, b)| f(a, b));
    }
}

impl<F: Family> Family for Independent<F> {
    fn name(&self) -> &'static str {
        self.family.name()
    }

    fn dimension(&self) -> usize {
        self.count * self.family.dimension()
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        self.entries(eta).try_for_each(|e| self.family.check_natural(e))
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        self.entries(mu).try_for_each(|m| self.family.check_mean(m))
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        self.sum(eta, |e| self.family.log_partition(e))
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        self.each(eta, mu, |e, m| self.family.mean(e, m));
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let k = self.family.dimension();
        self.entries(mu)
            .zip(eta.chunks_exact_mut(k))
            .try_for_each(|(m, e)| self.family.natural(m, e))
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (k, width) = (self.family.dimension(), self.dimension());
        out.fill(0.0);
        let mut one = vec![0.0; k * k];
        for (b, eta) in self.entries(eta).enumerate() {
            self.family.fisher(eta, &mut one);
            for i in 0..k {
                let at = (b * k + i) * width + b * k;
                out[at..at + k].copy_from_slice(&one[i * k..(i + 1) * k]);
            }
        }
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        self.sum(eta, |e| self.family.conjugate_at(e))
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        self.entries(p).zip(self.entries(q)).map(|(p, q)| self.family.kl(p, q)).sum()
    }

    /// A sum of self-concordant functions has the largest of their constants.
    fn self_concordance(&self) -> Option<f64> {
        self.family.self_concordance()
    }

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        self.each(mu, c, |m, c| self.family.centred_from_mean(m, c));
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        self.each(c, mu, |c, m| self.family.mean_from_centred(c, m));
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        self.each(eta, c, |e, c| self.family.centred_from_natural(e, c));
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let k = self.family.dimension();
        self.entries(c)
            .zip(eta.chunks_exact_mut(k))
            .try_for_each(|(c, e)| self.family.natural_from_centred(c, e))
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        self.each(other, into, |other, into| self.family.blend(into, share, other));
    }
}

impl<F: Density<Point = f64>> Density for Independent<F> {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.count, x.len())?;
        x.iter().try_for_each(|x| self.family.check_point(x))
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        let out = out.chunks_exact_mut(self.family.dimension());
        x.iter().zip(out).for_each(|(x, out)| self.family.statistics(x, out));
    }

    fn log_base(&self, x: &[f64]) -> f64 {
        x.iter().map(|x| self.family.log_base(x)).sum()
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        self.entries(eta).map(|e| self.family.mean_log_base(e)).sum()
    }

    fn centred(&self, x: &[f64], c: &mut [f64]) {
        let c = c.chunks_exact_mut(self.family.dimension());
        x.iter().zip(c).for_each(|(x, c)| self.family.centred(x, c));
    }

    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        self.entries(eta).zip(x).map(|(e, x)| self.family.log_density(e, x)).sum()
    }

    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        self.entries(eta).map(|e| self.family.entropy(e)).sum()
    }
}

impl<F: Sample<Point = f64, Owned = f64>> Sample for Independent<F> {
    type Owned = Vec<f64>;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        self.entries(eta).map(|e| self.family.draw(e, rng)).collect()
    }
}

impl<F: Evidence> Evidence for Independent<F> {
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        self.sum(centred, |c| self.family.log_prior_normaliser(weight, c))
    }
}
