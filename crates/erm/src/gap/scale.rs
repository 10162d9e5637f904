//! The scale of a gradient, for problems whose certificate is its norm.
//!
//! ```text
//! rho(g) = ||D^(-1/2) g|| / max(||D^(-1/2) g0||, rms(u0) / sqrt(n)),     D_c = (1/n) sum_i c_i a_ic^2 + l2 / gamma
//! ```
//!
//! `g0` is the gradient at the origin with the best intercepts, and `u0` are the derivatives of the terms there. The second number
//! is what random signs would leave of a sum over `n` rows: the scale is no rounding error where the gradient at the origin is 0. Neither the
//! unit of a feature nor that of the targets changes `rho`, and no feature is hidden behind a larger one. The start has no influence.
//! With an intercept, the gradient in the weight of a column that lies far from 0 is that of the centred column, `g_c - mean_c g_b`
//! with the gradient `g_b` in the intercept, and `D_c` is its variance: no feature is hidden behind its own mean, nor is an error of a
//! weight behind one of the intercept that makes up for it.

use fenchel_linalg::{Design, far_columns, multiply_squares_transposed, multiply_transposed};
use fenchel_optim::Regulariser;

use crate::multiclass::multiply_transposed_rows;

/// What gradients are measured by. It costs two half passes once, and `d` numbers.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    /// `D^(-1/2)`
    units: Vec<f64>,
    /// Columns that lie far from 0, and their means.
    far: Vec<(usize, f64)>,
    origin: f64,
}

impl Scale {
    /// Of a problem with these weights of the rows, `l2 / gamma`, and derivatives `u` of the terms at the origin, `n x r`.
    pub(crate) fn new<D: Design>(
        design: &D,
        weights: &[f64],
        l2: f64,
        u: &[f64],
        intercept: bool,
    ) -> Self {
        let (n, d) = (design.all_rows() as f64, design.columns());
        let spread = design.shards().is_some();
        let r = if spread { 1 } else { u.len() / weights.len() };
        let mut units = vec![0.0; d];
        multiply_squares_transposed(design, weights, &mut units);
        let far = match intercept {
            true => far_columns(design, Some(weights)),
            false => Vec::new(),
        };
        for far in far.iter().filter(|far| far.variance > 0.0) {
            units[far.column] = n * far.variance;
        }
        let far = far.iter().map(|far| (far.column, far.mean)).collect();
        let l2 = if l2.is_finite() { l2 } else { 0.0 };
        // Squares that underflow: such a feature must not pass for one that is always 0.
        let mut tiny = Vec::new();
        if l2 == 0.0 && units.contains(&0.0) {
            tiny = vec![0.0; d];
            for i in (0..weights.len()).filter(|&i| weights[i] > 0.0) {
                design.row_entries(i, |c, a| tiny[c] = f64::max(tiny[c], a.abs()));
            }
            design.largest_of(&mut tiny);
            tiny.iter_mut().zip(&units).for_each(|(tiny, s)| *tiny *= f64::from(*s == 0.0));
        }
        // A feature that is always 0 has no unit.
        let unit = |squares: f64| if squares > 0.0 { squares.sqrt().recip() } else { 1.0 };
        units.iter_mut().for_each(|squares| *squares = unit(*squares / n + l2));
        for (unit, size) in units.iter_mut().zip(tiny).filter(|(_, size)| *size > 0.0) {
            *unit = size.recip().min(f64::MAX);
        }
        let mut gradient = vec![0.0; d * r];
        match spread {
            true => multiply_transposed(design, u, &mut gradient),
            false => multiply_transposed_rows(design, r, u, &mut gradient),
        }
        gradient.iter_mut().for_each(|g| *g /= n);
        let noise = norm_of_rows(design, u) / n;
        let mut slopes = vec![0.0; if intercept { r } else { 0 }];
        if let (true, [slope]) = (spread, &mut slopes[..]) {
            [*slope] = design.sum_rows(|rows| [u[rows].iter().map(|u| u / n).sum()]);
        } else {
            for row in u.chunks_exact(r) {
                slopes.iter_mut().zip(row).for_each(|(slope, u)| *slope += u / n);
            }
        }
        let mut scale = Scale { units, far, origin: 1.0 };
        scale.origin = scale.size(&gradient, &slopes).max(noise);
        scale
    }

    /// The same, with no less than this number below the fraction line.
    pub(crate) fn at_least(self, origin: f64) -> Self {
        Scale { origin: self.origin.max(origin), ..self }
    }

    /// `||D^(-1/2) g||` of a gradient in the weights, `d x r`, beside that in the intercepts.
    fn size(&self, gradient: &[f64], intercepts: &[f64]) -> f64 {
        let r = gradient.len() / self.units.len();
        let mut scaled = gradient.to_vec();
        for &(c, mean) in &self.far {
            let of_column = scaled[c * r..].iter_mut().zip(intercepts);
            of_column.for_each(|(g, slope)| *g -= mean * slope);
        }
        scaled.iter_mut().enumerate().for_each(|(k, g)| *g *= self.units[k / r]);
        norm(scaled.into_iter())
    }

    /// The norm that counts as 1: of a gradient in the weights and in the intercepts, its norm over its `rho`.
    pub(crate) fn of_one(&self, weights: &[f64], intercepts: &[f64]) -> f64 {
        let size = self.size(weights, intercepts);
        let intercepts = norm(intercepts.iter().copied());
        let size = size.hypot(intercepts);
        let plain = norm(weights.iter().copied()).hypot(intercepts);
        if size > 0.0 { plain / size * self.origin } else { self.origin }
    }
}

/// The gradient mapping `(x - prox(x - s g, s)) / s`: the gradient itself, without a regulariser.
pub(crate) fn gradient_mapping<R: Regulariser>(
    h: &R,
    x: &[f64],
    mut gradient: Vec<f64>,
    step: f64,
) -> Vec<f64> {
    if !h.is_zero() {
        gradient.iter_mut().zip(x).for_each(|(g, x)| *g = x - step * *g);
        h.prox(&mut gradient, step);
        gradient.iter_mut().zip(x).for_each(|(moved, x)| *moved = (x - *moved) / step);
    }
    gradient
}

/// The [`norm`] of numbers: of spread rows one an own row, else one or more a row.
pub(super) fn norm_of_rows<D: Design>(design: &D, u: &[f64]) -> f64 {
    if design.shards().is_none() {
        return norm(u.iter().copied());
    }
    let largest = u.iter().fold(0.0, |largest: f64, u| largest.max(u.abs()));
    let largest = design.largest(largest);
    let plain = largest == 0.0 || !largest.is_finite();
    let size = |u: &f64| if plain { u.abs() } else { (u / largest).powi(2) };
    let [sum] = design.sum_rows(|rows| [u[rows].iter().map(size).sum::<f64>()]);
    if plain { sum } else { largest * sum.sqrt() }
}

/// The Euclidean norm, of numbers whose squares may overflow too; NaN of a NaN, which is no gradient of 0.
pub(crate) fn norm(v: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = v.clone().fold(0.0, |largest: f64, v| largest.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return v.map(f64::abs).sum();
    }
    largest * v.map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}
