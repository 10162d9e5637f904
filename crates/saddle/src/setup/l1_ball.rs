//! The l1 ball, with the entropy of positive and negative parts as potential.
//!
//! A point of the ball `sum |u_i| <= R` is a difference `p - q` of non-negative vectors with
//! `sum p + sum q <= R`, the *solid simplex*. Its potential is
//!
//! ```text
//! phi(p, q) = R sum (z ln(z/R) - z),   z in (p, q)
//! ```
//!
//! The potential is 1-strongly convex with respect to the l1 norm. The centre is `R/(2m)` in every entry, where `m`
//! is the dimension, and `D(z, centre) <= R^2 ln(2m)`. (D. Babichev, PhD thesis 2019, calls this bound the range of
//! `phi`, which is `R^2 (1 + ln 2m)`. Only the divergence from the centre matters.)
//!
//! A step multiplies `p_i` and `q_i` by inverse factors, and all entries by a common factor. So `p_i q_i` is the same
//! for all `i`, and the point is described by `m` exponents `g_i` and one scale `s`: `p_i = s e^{g_i}`, `q_i = s
//! e^{-g_i}`. This takes half of the memory, and nothing underflows.

use fenchel_linalg::lanes;

use super::{Divergence, Setup, contain_ball};

/// The l1 ball of radius `R` in `m` dimensions.
///
/// A point is `(u, mass)` of dimension `m + 1`, with `u = p - q` and `mass = sum p + sum q >= norm1(u)`. The last
/// entry of a gradient is the weight of the mass, which represents an l1 penalty.
#[derive(Debug, Clone, PartialEq)]
pub struct L1Ball {
    dimension: usize,
    bound: f64,
}

impl L1Ball {
    /// The ball `sum |u_i| <= bound` in `dimension` dimensions.
    pub fn new(dimension: usize, bound: f64) -> Self {
        L1Ball { dimension, bound }
    }

    /// `ln sum (p + q)`.
    fn log_mass(&self, place: &[f64]) -> f64 {
        let (g, scale) = (&place[..self.dimension], place[self.dimension]);
        lanes::run(LogMass(g)) + scale
    }
}

/// `ln sum (e^g + e^-g)`.
struct LogMass<'a>(&'a [f64]);

impl lanes::Kernel for LogMass<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let g = self.0;
        let mut top = [0.0_f64; 8];
        let (blocks, rest) = g.as_chunks::<8>();
        for block in blocks {
            for l in 0..8 {
                let size = block[l].abs();
                top[l] = if size > top[l] { size } else { top[l] };
            }
        }
        let top = rest.iter().map(|g| g.abs()).chain(top).fold(0.0, f64::max);
        let mut sums = [0.0; 8];
        for block in blocks {
            for l in 0..8 {
                sums[l] += lanes::exp(block[l] - top) + lanes::exp(-block[l] - top);
            }
        }
        for (l, g) in rest.iter().enumerate() {
            sums[l] += lanes::exp(g - top) + lanes::exp(-g - top);
        }
        top + lanes::sum(&sums).ln()
    }
}

/// Writes `p - q`, and returns `sum (p + q)`.
struct Point<'a>(&'a [f64], f64, &'a mut [f64]);

impl lanes::Kernel for Point<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Point(g, scale, out) = self;
        let mut sums = [0.0; 8];
        let ((blocks, rest), (outs, last)) =
            (g.as_chunks::<8>(), out[..g.len()].as_chunks_mut::<8>());
        for (block, out) in blocks.iter().zip(outs) {
            for l in 0..8 {
                let (p, q) = (lanes::exp(scale + block[l]), lanes::exp(scale - block[l]));
                out[l] = p - q;
                sums[l] += p + q;
            }
        }
        for (l, (g, out)) in rest.iter().zip(last).enumerate() {
            let (p, q) = (lanes::exp(scale + g), lanes::exp(scale - g));
            *out = p - q;
            sums[l] += p + q;
        }
        lanes::sum(&sums)
    }
}

impl Setup for L1Ball {
    fn dimension(&self) -> usize {
        self.dimension + 1
    }

    fn coordinates(&self) -> usize {
        self.dimension + 1
    }

    fn centre(&self, place: &mut [f64]) {
        place.fill(0.0);
        place[self.dimension] = (self.bound / (2.0 * self.dimension as f64)).ln();
    }

    fn point(&self, place: &[f64], point: &mut [f64]) {
        let (m, scale) = (self.dimension, place[self.dimension]);
        let mass = lanes::run(Point(&place[..m], scale, &mut point[..m]));
        // Long steps make `scale` large, and its rounding error is a factor of all entries. A point that is on the
        // sphere up to that error is put on it.
        let known = 4.0 * f64::EPSILON * (1.0 + scale.abs());
        let factor = if mass > self.bound * (1.0 - known) { self.bound / mass } else { 1.0 };
        if factor != 1.0 {
            point[..m].iter_mut().for_each(|u| *u *= factor);
        }
        point[m] = mass * factor;
    }

    fn contain(&self, point: &mut [f64]) {
        let (u, mass) = point.split_at_mut(self.dimension);
        let norm = contain_ball(u, self.bound, |u| u.iter().map(|u| u.abs()).sum());
        mass[0] = mass[0].min(self.bound).max(norm);
    }

    /// The pair `(p, q)` with this difference `p - q` and this mass. The mass may be slightly larger, since entries
    /// must be positive.
    fn place(&self, point: &[f64], place: &mut [f64]) {
        let m = self.dimension;
        // p - q = u and p q = s^2 give g = asinh(u / 2s). The mass rises with s.
        let least: f64 = point[..m].iter().map(|u| u.abs()).sum();
        let target = point[m].max(least + 1e-3 * (self.bound - least)).max(1e-12 * self.bound);
        let mass = |s: f64| point[..m].iter().map(|u| (u * u + 4.0 * s * s).sqrt()).sum::<f64>();
        let (mut low, mut high) = (0.0, target / (2.0 * m as f64));
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *(if mass(middle) < target { &mut low } else { &mut high }) = middle;
        }
        // A mass at its least would ask for s = 0.
        let s = high.max(1e-9 * self.bound / m as f64);
        for i in 0..m {
            place[i] = (point[i] / (2.0 * s)).asinh();
        }
        place[m] = s.ln();
        let over = self.log_mass(place) - self.bound.ln();
        place[m] -= over.max(0.0);
    }

    fn step(&self, place: &mut [f64], gradient: &[f64], eta: f64) {
        let (m, rate) = (self.dimension, eta / self.bound);
        for i in 0..m {
            place[i] -= rate * gradient[i];
        }
        place[m] -= rate * gradient[m];
        let over = self.log_mass(place) - self.bound.ln();
        if !(over <= 0.0) {
            place[m] -= over;
        }
    }

    fn divergence(&self, z: &[f64], w: &[f64]) -> f64 {
        let m = self.dimension;
        let part = |sign: f64| {
            lanes::run(Divergence { z: &z[..m], w: &w[..m], sign, shifts: (z[m], w[m]) })
        };
        self.bound * (part(1.0) + part(-1.0))
    }

    fn radius(&self) -> f64 {
        // At least 1 in place of ln 2m for a single coordinate: D(0, centre) = R^2.
        self.bound.powi(2) * (2.0 * self.dimension as f64).ln().max(1.0)
    }

    /// The largest absolute entry. The weight of the mass is the same for all entries and does not matter.
    fn dual_norm(&self, gradient: &[f64]) -> f64 {
        gradient[..self.dimension].iter().fold(0.0, |m, g| m.max(g.abs()))
    }
}
