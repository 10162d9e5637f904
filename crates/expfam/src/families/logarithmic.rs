//! The logarithmic family: numbers of individuals per species.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{log1mexp, log1pmx};
use fenchel_optim::scalar::increasing_root;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::counts::mean_over;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{
    Density, Family, Sample, check_shape, is_count, mean_in, natural_in, point_in,
};
use crate::samplers::open_uniform;
use crate::special::legendre;

/// `p(x) = q^x / (-x log(1 - q))` for `x` = 1, 2, ...: statistic `T(x) = x`, `log h = -log x`, natural parameter
/// `eta = log(q)`, log-partition function `A = log(-log(1 - e^eta))`, mean `mu = q / (-(1 - q) log(1 - q)) > 1`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logarithmic;

impl Logarithmic {
    /// The member with parameter `q`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < q < 1`.
    pub fn with_q(self, q: f64) -> Result<Distribution<Self>, Error> {
        if !(q > 0.0 && q < 1.0) {
            let expected = "a number inside (0, 1)";
            return Err(Invalid::Parameter { name: "q", value: q, expected }.into());
        }
        Distribution::from_natural(self, &[q.ln()])
    }
}

impl Distribution<Logarithmic> {
    /// `q`.
    pub fn q(&self) -> f64 {
        self.natural()[0].exp()
    }
}

/// Beyond this `eta` counts would exceed what a double holds.
const NEAREST: f64 = -1e-305;

/// Below this `eta` the first terms in `q = e^eta` are all that a double holds.
const FAR: f64 = -40.0;
/// No mean parameter leads below: `mu - 1` would be no number.
const SMALLEST: f64 = -744.0;

/// `-log(1 - q)`.
fn weight(eta: f64) -> f64 {
    -log1mexp(-eta)
}

/// `mu - 1 = (q L - (L - q)) / ((1 - q) L)`, where `L - q` is about `q^2 / 2`.
fn excess(eta: f64) -> f64 {
    if eta < FAR {
        return 0.5 * eta.exp();
    }
    let (q, l) = (eta.exp(), weight(eta));
    let above = if eta < -0.01 { -log1pmx(-q) } else { l - q };
    (q * l - above) / (-eta.exp_m1() * l)
}

/// `A - eta = log(L / q)`
fn log_ratio(eta: f64) -> f64 {
    if eta < FAR {
        0.5 * eta.exp()
    } else if eta < -1.0 {
        // L / q - 1 = (L - q) / q.
        let q = eta.exp();
        (-log1pmx(-q) / q).ln_1p()
    } else {
        weight(eta).ln() - eta
    }
}

/// The root of the variance `q (L - q) / ((1 - q) L)^2`.
fn deviation(eta: f64) -> f64 {
    if eta < FAR {
        return (0.5 * eta.exp()).sqrt();
    }
    let (q, l) = (eta.exp(), weight(eta));
    let above = if eta < -0.01 { -log1pmx(-q) } else { l - q };
    (q * above).sqrt() / l / -eta.exp_m1()
}

fn variance(eta: f64) -> f64 {
    deviation(eta).powi(2)
}

impl Family for Logarithmic {
    fn name(&self) -> &'static str {
        "logarithmic"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        natural_in(self, eta[0] <= NEAREST, 0, eta[0], "a number <= -1e-305")
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        mean_in(self, mu[0] > 1.0, 0, mu[0], "a number > 1")
    }

    /// `log L`; for small `q` it is near `eta`.
    fn log_partition(&self, eta: &[f64]) -> f64 {
        if eta[0] < -1.0 { eta[0] + log_ratio(eta[0]) } else { weight(eta[0]).ln() }
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu[0] = if eta[0] < FAR { 1.0 } else { 1.0 / ((-eta[0]).exp_m1() * weight(eta[0])) };
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        mean_in(self, mu[0] > 1.0 && mu[0].is_finite(), 0, mu[0], "a number > 1")?;
        let target = (mu[0] - 1.0).ln();
        // In y = log(-eta): log(mu - 1) falls with y.
        let f = |y: f64| {
            let eta = -y.exp();
            let excess = excess(eta);
            (target - excess.ln(), -eta * variance(eta) / excess)
        };
        let start = if target < 0.0 { (2f64.ln() - target).ln().min(0.5) } else { -target };
        eta[0] = -increasing_root(f, -720.0, (-SMALLEST).ln(), start, 1e-16).exp();
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        out[0] = variance(eta[0]);
    }

    /// `eta (mu - 1) - (A - eta)`, where the parts near `eta` cancel.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        eta[0] * excess(eta[0]) - log_ratio(eta[0])
    }

    /// Without the part `eta` of `A`, which is linear; the integral of the variance for short steps.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let (p, q, d) = (p[0], q[0], q[0] - p[0]);
        if d.abs() < 4.0 && d < -0.75 * p && d > 1.5 * p {
            return legendre(0.0, 1.0, |s| {
                // Squared last: the variance may overflow.
                let step = d * deviation(p + s * d);
                (1.0 - s) * step * step
            });
        }
        log_ratio(q) - log_ratio(p) - excess(p) * d
    }
}

impl Logarithmic {
    /// `E f(x)`
    fn mean_over(&self, eta: &[f64], f: impl Fn(f64) -> f64) -> Result<f64, Error> {
        let range = (1.0, 1.0, f64::MAX);
        mean_over(self.name(), range, |x| self.log_density(eta, &x), f)
    }
}

impl Density for Logarithmic {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, is_count(x) && x >= 1.0, x, "a whole number >= 1")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, x: &f64) -> f64 {
        -x.ln()
    }

    /// Without the part `eta` of `A` for one of the individuals: nearly all species have one where `q` is small.
    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        eta[0] * (x - 1.0) - log_ratio(eta[0]) - x.ln()
    }

    fn mean_log_base(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| -x.ln())
    }

    /// The mean of `-log p`: `A*` and the base measure would cancel.
    fn entropy(&self, eta: &[f64]) -> Result<f64, Error> {
        self.mean_over(eta, |x| -self.log_density(eta, &x))
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        c[0] = super::batch::mean(x);
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        super::batch::counts(x, out, |x| self.log_density(eta, &x));
    }
}

impl Sample for Logarithmic {
    type Owned = f64;

    /// A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables" (1981).
    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let (q, log_rest) = (eta[0].exp(), log1mexp(-eta[0]));
        let v: f64 = rng.random();
        if v >= q {
            return 1.0;
        }
        // h = 1 - (1 - q)^u.
        let h = -(open_uniform(rng) * log_rest).exp_m1();
        if v <= h * h && v > 0.0 {
            (1.0 + v.ln() / h.ln()).floor()
        } else if v > h {
            1.0
        } else {
            2.0
        }
    }
}
