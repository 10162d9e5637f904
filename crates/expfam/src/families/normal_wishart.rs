//! The normal-Wishart family of a mean vector and a precision matrix: the conjugate law of normal vectors.

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::factor::{self, Factor, Solved, Wide, scaled, split};
use super::file::checked_file;
use super::gamma;
use super::half::{self, pack, pack_outer, unpack};
use super::normal::HALF_LOG_TAU;
use super::wishart::{self, Member, Wishart};
use crate::distribution::Distribution;
use crate::divergence::{difference_of_quotients, phi};
use crate::error::Error;
use crate::family::{
    Density, Family, Sample, check_shape, digits_kept, mean_in, natural_in, point_in,
};
use crate::samplers;
use crate::special::trigamma_multivariate_above;

/// Points `(m, P)` of a mean and a precision matrix, `P ~ Wishart(V, n)`, `m | P ~ N(m0, (k P)^-1)`.
///
/// Statistic `T = (log det P, P, P m, m'P m)`, natural parameter
/// `eta = ((n - d) / 2, -(V^-1 + k m0 m0') / 2, k m0, -k / 2)`, log-partition function
/// `A = A_Wishart - (d / 2) log k`, mean `mu = (E log det P, n V, n V m0, d / k + m0' n V m0)`. A matrix is stored as
/// its lower triangle, row by row, with `sqrt(2)` off the diagonal. In one dimension the family is
/// [`NormalGamma`](crate::families::NormalGamma) with `n = 2 a`, `V = 1 / (2 b)`. `m0`, `k`, `V^-1`, `V` and the mean have finite
/// numbers, and `eta` begins with at most 1e305.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct NormalWishart {
    d: usize,
}

checked_file!(NormalWishart { d: super::file::Count } NormalWishart::new(d.0 as usize));

const SPREAD: &str = "E m'P m - (E P m)'(E P)^-1 (E P m) > 0";

impl NormalWishart {
    /// The family on vectors of length `d >= 1`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for 0.
    pub fn new(d: usize) -> Result<Self, Error> {
        half::check_order(d)?;
        Ok(NormalWishart { d })
    }

    /// The member with the given location `m0`, weight `k`, scale `V` and degrees `n` of the precision.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::NotPositiveDefinite`] with the pivot; [`Invalid::Parameter`] unless the weight is positive;
    /// [`Error::OutsideNaturalDomain`] unless `degrees > d - 1`. [`Error::Unavailable`] where `k (sum_i |m0_i| sqrt(V_ii))^2` is above
    /// 1e10: the natural parameter is then too coarse for the scale. Subtracting vectors near `m0` from all data helps.
    pub fn with_location_scale_degrees(
        self,
        location: ArrayView1<f64>,
        weight: f64,
        scale: ArrayView2<f64>,
        degrees: f64,
    ) -> Result<Distribution<Self>, Error> {
        let d = self.d;
        Invalid::check_length("location", d, location.len())?;
        Invalid::check_length("scale", d, scale.nrows())?;
        Invalid::check_positive("weight", weight)?;
        Invalid::check_finite("degrees", &[degrees])?;
        let location = location.to_vec();
        Invalid::check_finite("location", &location)?;
        let inverse = factor::factor("scale", &scale.to_owned())?.inverse();
        let mut eta = vec![0.0; self.dimension()];
        eta[0] = 0.5 * (degrees - d as f64);
        // Rounding moves V^-1 by k |m_i| |m_j| at (i, j), relative to V^-1 by this at most.
        let far: f64 = location.iter().zip(scale.diag()).map(|(m, v)| m.abs() * v.sqrt()).sum();
        digits_kept(&self, weight * far * far)?;
        self.write(&mut eta, &inverse, &location, weight);
        Distribution::from_natural(self, &eta)
    }

    /// Where location and weight stand in `eta` and `mu`.
    fn places(&self) -> (usize, usize) {
        (1 + half::length(self.d), 1 + half::length(self.d) + self.d)
    }

    /// All but the first number of `eta`.
    fn write(&self, eta: &mut [f64], inverse_scale: &Array2<f64>, m: &[f64], k: f64) {
        let (at, last) = self.places();
        pack_outer(m, -0.5 * k, &mut eta[1..at]);
        let mut own = vec![0.0; at - 1];
        pack(inverse_scale, -0.5, &mut own);
        eta[1..at].iter_mut().zip(&own).for_each(|(e, own)| *e += own);
        eta[at..last].iter_mut().zip(m).for_each(|(e, m)| *e = k * m);
        eta[last] = -0.5 * k;
    }

    /// Location, weight, and `-V^-1 / 2` of the precision's Wishart law.
    fn parts(&self, eta: &[f64]) -> (Vec<f64>, f64, Vec<f64>) {
        let (at, last) = self.places();
        let k = -2.0 * eta[last];
        let m: Vec<f64> = eta[at..last].iter().map(|e| e / k).collect();
        let mut own = vec![0.0; at - 1];
        pack_outer(&m, 0.5 * k, &mut own);
        own.iter_mut().zip(&eta[1..at]).for_each(|(own, e)| *own += e);
        (m, k, own)
    }

    /// The law of the precision.
    fn member<'a>(&self, eta: &[f64], own: &'a [f64]) -> Member<'a> {
        Member { d: self.d, matrix: own, above: eta[0] + 0.5 }
    }

    fn wishart(&self) -> Wishart {
        Wishart::new(self.d).expect("the order was checked")
    }

    /// The factor of `V^-1`, and `V m0` as a solution.
    fn solved(&self, m: &[f64], law: Member) -> Option<(Factor, Solved)> {
        let factor = law.factor().ok()?;
        let along = factor.solve(m.iter().map(|&m| (m, 0)))?;
        Some((factor, along))
    }
}

impl Distribution<NormalWishart> {
    /// `m0`.
    pub fn location(&self) -> Vec<f64> {
        self.family().parts(self.natural()).0
    }

    /// `k`.
    pub fn weight(&self) -> f64 {
        self.family().parts(self.natural()).1
    }

    /// The law of the precision matrix, with the scale `V` and the degrees `n`.
    pub fn precision(&self) -> Distribution<Wishart> {
        let mut own = self.family().parts(self.natural()).2;
        own.push(self.natural()[0] - 0.5);
        Distribution::from_natural(self.family().wishart(), &own)
            .expect("a part of a checked parameter")
    }
}

impl Family for NormalWishart {
    fn name(&self) -> &'static str {
        "normal-Wishart"
    }

    fn dimension(&self) -> usize {
        half::length(self.d) + self.d + 2
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        check_shape(self, "natural parameter", eta)?;
        let last = eta.len() - 1;
        natural_in(self, eta[0] > -0.5, 0, eta[0], "a number > -1/2 (degrees > d - 1)")?;
        natural_in(self, eta[last] < 0.0, last, eta[last], "a number < 0")?;
        natural_in(self, eta[0] <= gamma::LARGEST, 0, eta[0], "at most 1e305")?;
        let (m, k, own) = self.parts(eta);
        Invalid::check_finite("location", &m)?;
        natural_in(self, k.is_finite(), last, eta[last], "a finite weight")?;
        self.member(eta, &own).check(wishart::NAMES)?;
        let mut mu = vec![0.0; eta.len()];
        self.mean(eta, &mut mu);
        Invalid::check_finite("mean parameter", &mu)?;
        Ok(())
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        let mut eta = vec![0.0; self.dimension()];
        check_shape(self, "mean parameter", mu)?;
        self.natural(mu, &mut eta)
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        let (_, k, own) = self.parts(eta);
        self.member(eta, &own).log_partition() - 0.5 * self.d as f64 * k.ln()
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        let (at, last) = self.places();
        let (m, k, own) = self.parts(eta);
        let law = self.member(eta, &own);
        let Some((factor, along)) = self.solved(&m, law) else {
            mu.fill(f64::NAN);
            return;
        };
        mu[0] = law.mean(&mut mu[1..at]);
        let ((n, n_e), (square, square_e)) = (law.degrees(), along.square());
        let moments = mu[at..last].iter_mut().zip(factor.plain(&along));
        moments.for_each(|(mu, a)| *mu = 2.0 * law.half_degrees() * a);
        mu[last] = self.d as f64 / k + scaled(n * square, n_e + square_e);
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        let (at, last) = self.places();
        let factor = Factor::unpacked("mean", &mu[1..], self.d, 1.0)?;
        let Some(solved) = factor.solve(mu[at..last].iter().map(|&mu| (mu, 0))) else {
            return Ok(Invalid::check_finite("mean parameter", mu)?);
        };
        let (m, (square, exponent)) =
            (factor.plain(&solved).collect::<Vec<f64>>(), solved.square());
        let spread = mu[last] - scaled(square, exponent);
        mean_in(self, spread > 0.0, last, spread, SPREAD)?;
        let mut of_precision = mu[1..=at].to_vec();
        of_precision[at - 1] = mu[0];
        let mut own = vec![0.0; at];
        self.wishart().natural(&of_precision, &mut own)?;
        eta[0] = own[at - 1] + 0.5;
        self.write(eta, &unpack(&own, self.d, -2.0), &m, self.d as f64 / spread);
        Ok(())
    }

    /// The covariance of the means given `P`, which are `(log det P, P, P m0, d/k + m0'P m0)`, and the mean of the covariance given
    /// `P`. With `a = V m0` and `s = m0'V m0`.
    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        let (d, width, (at, last)) = (self.d, self.dimension(), self.places());
        let (m, k, own) = self.parts(eta);
        let law = self.member(eta, &own);
        let Some((factor, along)) = self.solved(&m, law) else {
            out.fill(f64::NAN);
            return;
        };
        let (v, units) = (factor.scaled_inverse(), factor.units());
        let (a, e, (square, square_e)) = (&along.solution, along.exponent, along.square());
        let (n, n_e) = law.degrees();
        // s + 1/k over 2^top.
        let top = square_e.max(split(k.recip()).1);
        let (s, own) = (scaled(square, square_e - top), scaled(k.recip(), -top));
        let mut set = |row: usize, column: usize, (x, exponent): Wide| {
            out[row * width + column] = scaled(x, exponent);
            out[column * width + row] = out[row * width + column];
        };
        let weight = |i: usize, j: usize| if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
        set(0, 0, (trigamma_multivariate_above(d, law.above), 0));
        set(0, last, (2.0 * square, square_e));
        let mut row = 1;
        for i in 0..d {
            for j in 0..=i {
                let (w, of_pair) = (weight(i, j), -units[i] - units[j]);
                set(0, row, (2.0 * w * v[[i, j]], of_pair));
                set(row, last, (2.0 * w * n * a[i] * a[j], n_e + 2 * e + of_pair));
                for l in 0..d {
                    let cov = n * w * (v[[i, l]] * a[j] + v[[j, l]] * a[i]);
                    set(row, at + l, (cov, n_e + e + of_pair - units[l]));
                }
                let cov = n * (v[[i, j]] * (s + own) + scaled(a[i] * a[j], 2 * e - top));
                set(at + i, at + j, (cov, n_e + top + of_pair));
                row += 1;
            }
            set(0, at + i, (2.0 * a[i], e - units[i]));
            set(at + i, last, (2.0 * n * a[i] * (s + own), n_e + top + e - units[i]));
        }
        let of_location = scaled(2.0 * n * square * (s + 2.0 * own), n_e + square_e + top);
        set(last, last, (of_location + 2.0 * d as f64 / k / k, 0));
        law.fisher_of_precision(&factor, (out, width, 1));
    }

    /// That of the Wishart law, and of the location given `P`.
    fn conjugate_at(&self, eta: &[f64]) -> f64 {
        let (_, k, own) = self.parts(eta);
        let law = self.member(eta, &own);
        law.conjugate() + 0.5 * (law.mean_log_det() + self.d as f64 * (k.ln() - 1.0))
    }

    /// The divergence of the Wishart laws, plus `(d phi(k'/k) + k' (m0 - m0')' n V (m0 - m0')) / 2` of the location given `P`.
    fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
        let (at, last) = self.places();
        let (_, _, own) = self.parts(p);
        let from = self.member(p, &own);
        let Ok(factor) = from.factor() else { return f64::NAN };
        // The change of -V^-1/2 = eta_P - c c' / (4 e) from the differences of the parameters, in halves that do not overflow.
        let half = |i: usize| 0.5 * q[i] - 0.5 * p[i];
        let (e, to_e) = (p[last], q[last]);
        let mut half_change: Vec<f64> = (1..at).map(half).collect();
        let mut row = 0;
        for i in at..last {
            for j in at..=i {
                let weight = if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
                let outer = if half(last).abs() < -0.25 * e {
                    half(i) * (q[j] / to_e) + p[i] / to_e * (half(j) - p[j] / e * half(last))
                } else {
                    0.5 * q[i] * (q[j] / to_e) - 0.5 * p[i] * (p[j] / e)
                };
                half_change[row] -= 0.25 * weight * outer;
                row += 1;
            }
        }
        let shift = (at..last).map(|i| (difference_of_quotients(0.25, (p[i], e), (q[i], to_e)), 1));
        let (square, exponent) = factor.inverse_square(shift);
        let (n, n_exponent) = from.degrees();
        let (to, to_exponent) = split(-to_e);
        let location = scaled(to * n * square, to_exponent + n_exponent + exponent);
        let (_, _, other) = self.parts(q);
        from.kl(&half_change, self.member(q, &other), q[0] - p[0])
            + 0.5 * self.d as f64 * phi(e, to_e)
            + location
    }
}

impl Density for NormalWishart {
    type Point = (Array1<f64>, Array2<f64>);

    fn check_point(&self, (m, p): &Self::Point) -> Result<(), Error> {
        Invalid::check_length("observation", self.d, m.len())?;
        let value = m.iter().find(|m| !m.is_finite());
        point_in(self, value.is_none(), value.copied().unwrap_or(0.0), "finite numbers")?;
        wishart::check_matrix(self.d, p)
    }

    fn statistics(&self, (m, p): &Self::Point, out: &mut [f64]) {
        let (at, last) = self.places();
        let along = p.dot(m);
        out[0] = Factor::new("observation", p.view()).map_or(f64::NAN, |f| f.log_det());
        pack(p, 1.0, &mut out[1..at]);
        out[at..last].iter_mut().zip(&along).for_each(|(out, a)| *out = *a);
        out[last] = along.dot(m);
    }

    fn log_base(&self, _: &Self::Point) -> f64 {
        -(self.d as f64) * HALF_LOG_TAU
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(-(self.d as f64) * HALF_LOG_TAU)
    }

    /// That of the Wishart law, and of the location given `P`.
    fn log_density(&self, eta: &[f64], (m, p): &Self::Point) -> f64 {
        let (location, k, own) = self.parts(eta);
        let Ok(factor) = Factor::new("observation", p.view()) else { return f64::NAN };
        let rest = m.iter().zip(&location).map(|(m, location)| (0.5 * m - 0.5 * location, 1));
        let (log_k, (k, k_exponent)) = (k.ln(), split(k));
        let (square, exponent) = factor.square(rest);
        let log_det = self.d as f64 * log_k + factor.log_det();
        self.member(eta, &own).log_density(p, &factor)
            + 0.5 * (log_det - scaled(k * square, exponent + k_exponent))
            - self.d as f64 * HALF_LOG_TAU
    }
}

impl Sample for NormalWishart {
    type Owned = (Array1<f64>, Array2<f64>);

    fn draw(&self, eta: &[f64], mut rng: &mut dyn Rng) -> Self::Owned {
        let (m, k, own) = self.parts(eta);
        let law = self.member(eta, &own);
        let location = ArrayView1::from(&m);
        let sampler = law.factor().and_then(|factor| {
            let least = (self.d as f64 - 1.0) * (1.0 + f64::EPSILON);
            let (scale, degrees) = (factor.inverse(), (2.0 * law.half_degrees()).max(least));
            samplers::NormalWishart::new(location, k, scale.view(), degrees)
        });
        match sampler {
            Ok(sampler) => {
                let (m, lower) = sampler.sample(&mut rng);
                (m, lower.dot(&lower.t()))
            }
            Err(_) => {
                let nan = Array2::from_elem((self.d, self.d), f64::NAN);
                (nan.row(0).to_owned(), nan)
            }
        }
    }
}
