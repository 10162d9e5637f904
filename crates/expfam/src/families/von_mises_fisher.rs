//! The von Mises-Fisher family: directions in space.

use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::direction::{self, Length};
use super::file::checked_file;
use crate::distribution::Distribution;
use crate::divergence::dot;
use crate::error::Error;
use crate::family::{Density, Family, Sample, mean_in, point_in};
use crate::samplers::{gamma_variable, open_uniform, standard_normal};

/// `p(x) ~ exp(k m'x)` for unit vectors `x` in `R^d`, `d >= 2`, with respect to the *uniform probability* on the
/// sphere: statistic `T(x) = x`, natural parameter `eta = k m`, log-partition function `A = log 0F1(; d/2; k^2/4)`,
/// mean `mu = (I_{d/2} / I_{d/2-1})(k) m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct VonMisesFisher {
    d: usize,
}

checked_file!(VonMisesFisher { d: super::file::Count } VonMisesFisher::new(d.0 as usize));

impl VonMisesFisher {
    /// The family on the sphere in `R^d`, `d >= 2`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for less.
    pub fn new(d: usize) -> Result<Self, Error> {
        if d < 2 {
            let (value, expected) = (d as f64, "at least 2");
            return Err(Invalid::Parameter { name: "d", value, expected }.into());
        }
        Ok(VonMisesFisher { d })
    }

    /// The member with the given direction, of any length but 0, and concentration.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::Parameter`] for a negative concentration or a direction 0.
    pub fn with_direction_concentration(
        self,
        direction: &[f64],
        concentration: f64,
    ) -> Result<Distribution<Self>, Error> {
        Invalid::check_nonnegative("concentration", concentration)?;
        let length = direction::length(direction);
        Invalid::check_positive("length of the direction", length)?;
        let eta: Vec<f64> = direction.iter().map(|x| concentration * (x / length)).collect();
        Distribution::from_natural(self, &eta)
    }
}

impl Distribution<VonMisesFisher> {
    /// `k`.
    pub fn concentration(&self) -> f64 {
        direction::length(self.natural())
    }
}

impl Family for VonMisesFisher {
    fn name(&self) -> &'static str {
        "von Mises-Fisher"
    }

    fn dimension(&self) -> usize {
        self.d
    }

    direction::methods!();

    fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
        c.copy_from_slice(mu);
        write(c, Length::of_mean(mu));
    }

    fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
        let (code, length) = read(c);
        mu.iter_mut().zip(c).for_each(|(mu, c)| *mu = length.r * (c / code));
    }

    fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
        c.copy_from_slice(eta);
        write(c, Length::of_concentration(self.d, direction::length(eta)));
    }

    fn natural_from_centred(&self, c: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let (code, length) = read(c);
        mean_in(self, length.missing > 0.0, 0, length.r, "a vector shorter than 1")?;
        let k = length.concentration(self.d);
        eta.iter_mut().zip(c).for_each(|(eta, c)| *eta = k * (c / code));
        Ok(())
    }

    fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
        let ((code, here), (code_there, there)) = (read(into), read(other));
        let unit = |c: &[f64], code: f64| -> Vec<f64> { c.iter().map(|c| c / code).collect() };
        let (from, to) = (unit(into, code), unit(other, code_there));
        let (a, b) = ((1.0 - share) * here.r, share * there.r);
        into.iter_mut().zip(from.iter().zip(&to)).for_each(|(c, (f, t))| *c = a * f + b * t);
        let r = direction::length(into);
        let chord = |unit: &[f64]| -> f64 {
            into.iter().zip(unit).map(|(c, u)| (c / r - u) * (c / r - u)).sum()
        };
        let parts = if r > 0.5 {
            [(1.0 - share, here, chord(&from)), (share, there, chord(&to))]
        } else {
            // Not needed there, and no number at 0.
            [(0.0, here, 0.0); 2]
        };
        write(into, Length::blended(r, parts));
    }
}

/// The length of centred coordinates: the mean direction times the code of the mean's length.
fn read(c: &[f64]) -> (f64, Length) {
    let code = direction::length(c);
    (code, Length::decode(code))
}

/// Gives a vector along the mean direction the length that says `R`; the first axis stands for a vector 0.
fn write(c: &mut [f64], length: Length) {
    let (own, code) = (direction::length(c), length.code());
    if own == 0.0 {
        c[0] = code;
    } else {
        c.iter_mut().for_each(|c| *c = code * (*c / own));
    }
}

impl Density for VonMisesFisher {
    type Point = [f64];

    fn check_point(&self, x: &[f64]) -> Result<(), Error> {
        Invalid::check_length("observation", self.d, x.len())?;
        let length = direction::length(x);
        point_in(self, (length - 1.0).abs() <= 1e-8, length, "a vector of length 1")
    }

    fn statistics(&self, x: &[f64], out: &mut [f64]) {
        out.copy_from_slice(x);
    }

    fn centred(&self, x: &[f64], c: &mut [f64]) {
        c.copy_from_slice(x);
        write(c, Length::ONE);
    }

    fn log_base(&self, _: &[f64]) -> f64 {
        0.0
    }

    fn log_density(&self, eta: &[f64], x: &[f64]) -> f64 {
        direction::log_density(eta, x)
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }
}

impl Sample for VonMisesFisher {
    type Owned = Vec<f64>;

    /// The component along the mean direction is drawn by the algorithm of A. T. A. Wood, "Simulation of the von
    /// Mises-Fisher distribution" (1994), or in three dimensions by inversion. The remaining direction is uniform.
    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Vec<f64> {
        let (d, k) = (self.d as f64, direction::length(eta));
        let mut x: Vec<f64> = eta.iter().map(|_| standard_normal(rng)).collect();
        if k < 1e-12 {
            let length = direction::length(&x);
            x.iter_mut().for_each(|x| *x /= length);
            return x;
        }
        // 1 - w is what has digits for large k.
        let missing = if self.d == 3 {
            let u = open_uniform(rng);
            // log(u + (1 - u) e^(-2 k)), with its digits at both ends.
            let log = if k < 1.0 {
                ((1.0 - u) * (-2.0 * k).exp_m1()).ln_1p()
            } else {
                (u + (1.0 - u) * (-2.0 * k).exp()).ln()
            };
            (-log / k).clamp(0.0, 2.0)
        } else {
            let b = (d - 1.0) / (2.0 * k + (4.0 * k * k + (d - 1.0) * (d - 1.0)).sqrt());
            let x0 = (1.0 - b) / (1.0 + b);
            let c = k * x0 + (d - 1.0) * (4.0 * b / (1.0 + b) / (1.0 + b)).ln();
            loop {
                let (p, q) = (
                    gamma_variable(0.5 * (d - 1.0), &mut rng),
                    gamma_variable(0.5 * (d - 1.0), &mut rng),
                );
                let z = p / (p + q);
                // w = (1 - (1 + b) z) / (1 - (1 - b) z)
                let missing = 2.0 * b * z / (1.0 - (1.0 - b) * z);
                let w = 1.0 - missing;
                // 1 - x0^2 = 4 b / (1 + b)^2; 1 - x0 w = (1 - x0) + x0 missing.
                let rest = (1.0 - x0) + x0 * missing;
                if k * w + (d - 1.0) * rest.ln() - c >= rng.random::<f64>().max(1e-300).ln() {
                    break missing;
                }
            }
        };
        let m: Vec<f64> = eta.iter().map(|e| e / k).collect();
        let along = dot(&x, &m);
        x.iter_mut().zip(&m).for_each(|(x, m)| *x -= along * m);
        let length = direction::length(&x);
        let across = (missing * (2.0 - missing)).max(0.0).sqrt() / length;
        x.iter_mut().zip(&m).for_each(|(x, m)| *x = (1.0 - missing) * m + across * *x);
        x
    }
}
