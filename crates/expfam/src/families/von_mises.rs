//! The von Mises family: angles.

use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::direction;
use super::normal::HALF_LOG_TAU;
use crate::family::{check_shape, mean_in, point_in};
use crate::samplers::{open_uniform, standard_normal};
use crate::special::ln_bessel_normaliser;
use crate::{Density, Distribution, Error, Family, Sample};

/// `p(x) = exp(k cos(x - m)) / (2 pi I_0(k))` for an angle `x`, by direction `m` and concentration `k`: statistic
/// `T(x) = (cos x, sin x)`, natural parameter `eta = k (cos m, sin m)`, log-partition function `A = log I_0(k)`, mean
/// `mu = R(k) (cos m, sin m)` with `R = I_1 / I_0`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VonMises;

impl VonMises {
    /// The member with the given direction and concentration; the uniform law at concentration 0.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`]; [`Invalid::Parameter`] for a negative concentration.
    pub fn with_direction_concentration(
        self,
        direction: f64,
        concentration: f64,
    ) -> Result<Distribution<Self>, Error> {
        Invalid::check_nonnegative("concentration", concentration)?;
        Invalid::check_finite("direction", &[direction])?;
        let (sin, cos) = direction.sin_cos();
        Distribution::from_natural(self, &[concentration * cos, concentration * sin])
    }
}

impl Distribution<VonMises> {
    /// The mean direction, in `(-pi, pi]`.
    pub fn direction(&self) -> f64 {
        self.natural()[1].atan2(self.natural()[0])
    }

    /// `k`.
    pub fn concentration(&self) -> f64 {
        direction::length(self.natural())
    }
}

impl Family for VonMises {
    fn name(&self) -> &'static str {
        "von Mises"
    }

    fn dimension(&self) -> usize {
        2
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)
    }

    fn check_resolved(&self, eta: &[f64]) -> Result<(), Error> {
        crate::family::resolved(self, direction::length(eta))
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        check_shape(self, "mean parameter", mu)?;
        let length = direction::length(mu);
        mean_in(self, length < 1.0, 0, length, "a vector shorter than 1")
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        ln_bessel_normaliser(2, direction::length(eta))
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        direction::mean(eta, mu);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let length = direction::length(mu);
        mean_in(self, length < 1.0, 0, length, "a vector shorter than 1")?;
        direction::natural(mu, eta);
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        direction::fisher(eta, out);
    }

    fn variance_along(&self, eta: &[f64], d: &[f64]) -> f64 {
        direction::variance_along(eta, d)
    }

    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        direction::conjugate_at(eta)
    }

    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        direction::kl(p, q)
    }
}

impl Density for VonMises {
    type Point = f64;

    fn check_point(&self, &x: &f64) -> Result<(), Error> {
        point_in(self, x.is_finite(), x, "a finite angle in radians")
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        (out[1], out[0]) = x.sin_cos();
    }

    fn log_base(&self, _: &f64) -> f64 {
        -2.0 * HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-2.0 * HALF_LOG_TAU)
    }

    fn log_density(&self, eta: &[f64], x: &f64) -> f64 {
        let (sin, cos) = x.sin_cos();
        direction::log_density(eta, &[cos, sin]) - 2.0 * HALF_LOG_TAU
    }

    fn log_densities(&self, eta: &[f64], x: &[f64], out: &mut [f64]) {
        let (c, s) = (eta[0], eta[1]);
        // The rounding of cosines counts `k` times.
        let concentrated = direction::length(eta) > 100.0;
        if concentrated || x.iter().any(|x| x.abs() > super::batch::NEAR) {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = self.log_density(eta, x));
            return;
        }
        let constant = -self.log_partition(eta) - 2.0 * HALF_LOG_TAU;
        super::batch::each(
            x,
            out,
            #[inline(always)]
            |x| {
                let (cos, sin) = super::batch::cos_sin(x);
                c * cos + s * sin + constant
            },
        );
    }

    fn centred_mean(&self, x: &[f64], c: &mut [f64]) {
        let far = x.iter().any(|x| x.abs() > super::batch::NEAR);
        if far {
            c[0] = super::batch::sum(x, f64::cos) / x.len() as f64;
            c[1] = super::batch::sum(x, f64::sin) / x.len() as f64;
            return;
        }
        c[0] = super::batch::mean_of(
            x,
            #[inline(always)]
            |x| super::batch::cos_sin(x).0,
        );
        c[1] = super::batch::mean_of(
            x,
            #[inline(always)]
            |x| super::batch::cos_sin(x).1,
        );
    }
}

impl Sample for VonMises {
    type Owned = f64;

    /// The algorithm of D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution" (1979). Tiny
    /// concentrations use a uniform draw, huge ones a normal draw.
    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        use std::f64::consts::{PI, TAU};
        let (m, k) = (eta[1].atan2(eta[0]), direction::length(eta));
        let wrap = |x: f64| {
            if x > PI {
                x - TAU
            } else if x <= -PI {
                x + TAU
            } else {
                x
            }
        };
        if k < 1e-8 {
            return PI - TAU * rng.random::<f64>();
        }
        if k > 1e5 {
            return wrap(m + standard_normal(rng) / k.sqrt());
        }
        let tau = 1.0 + (1.0 + 4.0 * k * k).sqrt();
        let rho = (tau - (2.0 * tau).sqrt()) / (2.0 * k);
        let r = (1.0 + rho * rho) / (2.0 * rho);
        loop {
            let z = (PI * rng.random::<f64>()).cos();
            let f = (1.0 + r * z) / (r + z);
            let c = k * (r - f);
            let u = open_uniform(rng);
            if c * (2.0 - c) > u || (c / u).ln() + 1.0 >= c {
                let turn = f.clamp(-1.0, 1.0).acos();
                return wrap(m + if rng.next_u32() & 1 == 0 { turn } else { -turn });
            }
        }
    }
}
