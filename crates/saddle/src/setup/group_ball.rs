//! The ball of the sum of row norms, for weights that are sparse by rows.
//!
//! ```text
//! phi(U) = R^2/(p c) sum_i (norm2(U_i)/R)^p,   p = 1 + 1/ln d,   c = 1/(e ln d)
//! ```
//!
//! Here `U_i` are the `d` rows. The potential `phi` is 1-strongly convex with respect to `sum_i norm2(U_i)` on the
//! ball of radius `R`. (For `d = 2` use `p = 2` and `c = 1/2`, and for `d = 1` use `c = 1`.) The radius of the setup
//! is `Omega = R^2/(p c) <= e R^2 ln d`. If the rows have one entry, this is the l1 ball with a power as potential,
//! instead of an entropy.

use super::{Setup, contain_ball};
use crate::spectral::length;

/// The ball `sum_i norm2(U_i) <= R` of `rows x columns` matrices. The potential is a power of the row norms.
///
/// A point is `(U, mass)` with `mass = sum_i norm2(U_i)`. The last entry of a gradient is the weight of the mass,
/// which represents a group penalty. A step costs O(1) per entry, and a one-dimensional search whose iterations cost
/// O(rows).
#[derive(Debug, Clone, PartialEq)]
pub struct GroupBall {
    rows: usize,
    columns: usize,
    bound: f64,
    power: f64,
    modulus: f64,
}

impl GroupBall {
    /// The ball of `rows x columns` matrices with a sum of row norms of at most `bound`.
    pub fn new(rows: usize, columns: usize, bound: f64) -> Self {
        let log = (rows as f64).ln();
        let (power, modulus) = match rows {
            0 | 1 => (2.0, 1.0),
            2 => (2.0, 0.5),
            _ => (1.0 + 1.0 / log, 1.0 / (std::f64::consts::E * log)),
        };
        GroupBall { rows, columns, bound, power, modulus }
    }

    fn norms<'a>(&self, matrix: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let entries = self.rows * self.columns;
        matrix[..entries].chunks(self.columns).map(|row| length(row.iter().copied()))
    }

    /// The length of the gradient of the potential at a row of this norm.
    fn slope(&self, norm: f64) -> f64 {
        if norm == 0.0 {
            0.0
        } else {
            self.bound * (norm / self.bound).powf(self.power - 1.0) / self.modulus
        }
    }

    /// The norm at which the gradient of the potential has this length.
    fn inverse_slope(&self, slope: f64) -> f64 {
        if slope <= 0.0 {
            return 0.0;
        }
        // 1/(power - 1) = ln d may be large: the power in logarithms.
        self.bound * ((self.modulus * slope / self.bound).ln() / (self.power - 1.0)).exp()
    }
}

impl Setup for GroupBall {
    fn dimension(&self) -> usize {
        self.rows * self.columns + 1
    }

    fn coordinates(&self) -> usize {
        self.dimension()
    }

    fn centre(&self, place: &mut [f64]) {
        place.fill(0.0);
    }

    fn point(&self, place: &[f64], point: &mut [f64]) {
        point.copy_from_slice(place);
    }

    fn contain(&self, point: &mut [f64]) {
        let (u, mass) = point.split_at_mut(self.rows * self.columns);
        let norm = contain_ball(u, self.bound, |u| self.norms(u).sum());
        mass[0] = mass[0].min(self.bound).max(norm);
    }

    fn place(&self, point: &[f64], place: &mut [f64]) {
        place.copy_from_slice(point);
        self.contain(place);
        place[self.rows * self.columns] = self.norms(place).sum();
    }

    fn step(&self, place: &mut [f64], gradient: &[f64], eta: f64) {
        let entries = self.rows * self.columns;
        let threshold = eta * gradient[entries];
        let mut lengths = Vec::with_capacity(self.rows);
        for (row, g) in place[..entries].chunks_mut(self.columns).zip(gradient.chunks(self.columns))
        {
            // row becomes q = grad phi - eta g.
            let norm = length(row.iter().copied());
            let scale = if norm > 0.0 { self.slope(norm) / norm } else { 0.0 };
            row.iter_mut().zip(g).for_each(|(u, g)| *u = scale * *u - eta * g);
            lengths.push(length(row.iter().copied()));
        }
        let total = |shift: f64| {
            lengths.iter().map(|q| self.inverse_slope(q - threshold - shift)).sum::<f64>()
        };
        let mut shift = 0.0;
        if total(0.0) > self.bound {
            let (mut low, mut high) = (0.0, lengths.iter().fold(0.0, |m: f64, q| m.max(*q)));
            high = (high - threshold).max(0.0);
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                if middle == low || middle == high {
                    break;
                }
                *(if total(middle) > self.bound { &mut low } else { &mut high }) = middle;
            }
            shift = high;
        }
        let mut mass = 0.0;
        for (row, q) in place[..entries].chunks_mut(self.columns).zip(&lengths) {
            let norm = self.inverse_slope(q - threshold - shift);
            let scale = if *q > 0.0 { norm / q } else { 0.0 };
            row.iter_mut().for_each(|u| *u *= scale);
            mass += norm;
        }
        place[entries] = mass;
    }

    fn divergence(&self, z: &[f64], w: &[f64]) -> f64 {
        let weight = self.bound.powi(2) / (self.power * self.modulus);
        let potential = |norm: f64| weight * (norm / self.bound).powf(self.power);
        let entries = self.rows * self.columns;
        let rows = z[..entries].chunks(self.columns).zip(w.chunks(self.columns));
        rows.zip(self.norms(z).zip(self.norms(w)))
            .map(|((z, w), (nz, nw))| {
                let scale = if nw > 0.0 { self.slope(nw) / nw } else { 0.0 };
                let linear: f64 = z.iter().zip(w).map(|(z, w)| scale * w * (z - w)).sum();
                potential(nz) - potential(nw) - linear
            })
            .sum::<f64>()
            .max(0.0)
    }

    fn radius(&self) -> f64 {
        self.bound.powi(2) / (self.power * self.modulus)
    }

    fn dual_norm(&self, gradient: &[f64]) -> f64 {
        self.norms(gradient).fold(0.0, f64::max)
    }
}
