//! The von Mises family: angles.

use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::direction::{self, Length};
use super::normal::HALF_LOG_TAU;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family, Sample, mean_in, point_in};
use crate::samplers::{open_uniform, standard_normal};

/// `p(x) = exp(k cos(x - m)) / (2 pi I_0(k))` for an angle `x`, by direction `m` and concentration `k`: statistic
/// `T(x) = (cos x, sin x)`, natural parameter `eta = k (cos m, sin m)`, log-partition function `A = log I_0(k)`, mean
/// `mu = R(k) (cos m, sin m)` with `R = I_1 / I_0`. Centred coordinates are the direction, and `1 - R` or `1 / R` in one number.
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

    direction::methods!();

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c[0] = mu[1].atan2(mu[0]);
        c[1] = Length::of_mean(mu).code();
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        let ((sin, cos), r) = (c[0].sin_cos(), Length::decode(c[1]).r);
        mu.copy_from_slice(&[r * cos, r * sin]);
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        c[0] = eta[1].atan2(eta[0]);
        c[1] = Length::of_concentration(2, direction::length(eta)).code();
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let ((sin, cos), length) = (c[0].sin_cos(), Length::decode(c[1]));
        mean_in(self, length.missing > 0.0, 0, length.r, "a vector shorter than 1")?;
        let k = length.concentration(2);
        eta.copy_from_slice(&[k * cos, k * sin]);
        Ok(())
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let (here, there) = (Length::decode(into[1]), Length::decode(other[1]));
        let (weight, (sin, cos)) = (share * there.r, (other[0] - into[0]).sin_cos());
        let (along, across) = ((1.0 - share) * here.r + weight * cos, weight * sin);
        let mean = into[0] + across.atan2(along);
        let square = |angle: f64| 4.0 * (0.5 * (angle - mean)).sin().powi(2);
        let parts = [(1.0 - share, here, square(into[0])), (share, there, square(other[0]))];
        let length = Length::blended(along.hypot(across), parts);
        into.copy_from_slice(&[mean, length.code()]);
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

    fn centred(&self, x: &f64, c: &mut [f64]) {
        c.copy_from_slice(&[*x, Length::ONE.code()]);
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
        let n = x.len() as f64;
        let (mut cos, mut sin);
        if x.iter().any(|x| x.abs() > super::batch::NEAR) {
            cos = super::batch::sum(x, f64::cos) / n;
            sin = super::batch::sum(x, f64::sin) / n;
        } else {
            cos = super::batch::mean_of(
                x,
                #[inline(always)]
                |x| super::batch::cos_sin(x).0,
            );
            sin = super::batch::mean_of(
                x,
                #[inline(always)]
                |x| super::batch::cos_sin(x).1,
            );
        }
        let mut length = Length::of_mean(&[cos, sin]);
        let mut mean = sin.atan2(cos);
        if length.missing < 1e-3 {
            // Few digits of 1 - R are left: again, from the angles to the mean, which is moved by a whole number of turns.
            mean += std::f64::consts::TAU * ((x[0] - mean) / std::f64::consts::TAU).round();
            let chord = super::batch::sum(x, |x| 2.0 * (0.5 * (x - mean)).sin().powi(2)) / n;
            (cos, sin) = (1.0 - chord, super::batch::sum(x, |x| (x - mean).sin()) / n);
            length.r = cos.hypot(sin);
            length.missing = (2.0 * chord - chord * chord - sin * sin) / (1.0 + length.r);
            mean += sin.atan2(cos);
        }
        c.copy_from_slice(&[mean, length.code()]);
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
        if k < 1e-100 {
            return PI - TAU * rng.random::<f64>();
        }
        if k > 1e5 {
            return wrap(m + standard_normal(rng) / k.sqrt());
        }
        // rho = (tau - sqrt(2 tau)) / (2 k) with tau = 2 + w, without the difference.
        let w = 4.0 * k * k / (1.0 + (1.0 + 4.0 * k * k).sqrt());
        let tau = 2.0 + w;
        let rho = w / (2.0 * k) * tau / (tau + (2.0 * tau).sqrt());
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
