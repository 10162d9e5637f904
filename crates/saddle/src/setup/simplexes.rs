//! A probability vector in every row.
//!
//! | symbol | meaning | shape |
//! |---|---|---|
//! | `V` | the point | rows x columns |
//! | `w_j` | weight of the entropy that is part of the objective | rows |

use fenchel_linalg::lanes;
use fenchel_linalg::project;

use super::{Divergence, Setup};

/// Entropy `sum V ln V`, 1-strongly convex in `sqrt(sum_j norm1(V_j)^2)`.
///
/// The objective may hold a multiple of the same entropy (as the softmax loss does); it joins the step in closed form:
/// `V+ ~ exp((ln V - eta g) / (1 + eta w))`. Coordinates are `ln V`. O(1) an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Simplexes {
    rows: usize,
    columns: usize,
    /// Weight of the entropy in the objective, one a row; empty for none.
    entropy: Vec<f64>,
    radius: f64,
}

impl Simplexes {
    /// One probability vector of `columns` entries in each of the rows.
    pub fn new(rows: usize, columns: usize) -> Self {
        let radius = rows as f64 * (columns as f64).ln();
        Simplexes { rows, columns, entropy: vec![], radius }
    }

    /// The objective contains `sum_j weight_j sum_l V_jl ln V_jl`.
    ///
    /// # Panics
    /// Unless there is one weight a row.
    #[must_use]
    pub fn with_entropy(self, weights: Vec<f64>) -> Self {
        assert_eq!(weights.len(), self.rows);
        Simplexes { entropy: weights, ..self }
    }

    /// Another bound on the divergence from the centre; at least `rows ln(columns)`.
    #[must_use]
    pub fn with_radius(self, radius: f64) -> Self {
        Simplexes { radius, ..self }
    }
}

/// Replaces logarithms of weights by those of probabilities.
#[inline(always)]
fn normalise(row: &mut [f64]) {
    let mut top = f64::NEG_INFINITY;
    for k in 0..row.len() {
        top = if row[k] > top { row[k] } else { top };
    }
    let mut sum = 0.0;
    for k in 0..row.len() {
        sum += lanes::exp(row[k] - top);
    }
    let shift = top + sum.ln();
    for k in 0..row.len() {
        row[k] -= shift;
    }
}

struct Step<'a> {
    setup: &'a Simplexes,
    place: &'a mut [f64],
    gradient: &'a [f64],
    eta: f64,
}

impl lanes::Kernel for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let k = self.setup.columns;
        for j in 0..self.setup.rows {
            let (row, g) = (&mut self.place[j * k..][..k], &self.gradient[j * k..][..k]);
            let w = if self.setup.entropy.is_empty() { 0.0 } else { self.setup.entropy[j] };
            let scale = 1.0 / (1.0 + self.eta * w);
            for l in 0..k {
                row[l] = (row[l] - self.eta * g[l]) * scale;
            }
            normalise(row);
        }
    }
}

struct Exp<'a>(&'a [f64], &'a mut [f64]);

impl lanes::Kernel for Exp<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let out = &mut self.1[..self.0.len()];
        for k in 0..out.len() {
            out[k] = lanes::exp(self.0[k]);
        }
    }
}

impl Setup for Simplexes {
    fn dimension(&self) -> usize {
        self.rows * self.columns
    }

    fn coordinates(&self) -> usize {
        self.dimension()
    }

    fn centre(&self, place: &mut [f64]) {
        place.fill(-(self.columns as f64).ln());
    }

    fn point(&self, place: &[f64], point: &mut [f64]) {
        lanes::run(Exp(place, point));
    }

    fn place(&self, point: &[f64], place: &mut [f64]) {
        for (row, out) in point.chunks(self.columns).zip(place.chunks_mut(self.columns)) {
            // A vanished entry could never return.
            row.iter().zip(out.iter_mut()).for_each(|(v, p)| *p = v.max(1e-300).ln());
            normalise(out);
        }
    }

    fn step(&self, place: &mut [f64], gradient: &[f64], eta: f64) {
        lanes::run(Step { setup: self, place, gradient, eta });
    }

    fn divergence(&self, z: &[f64], w: &[f64]) -> f64 {
        lanes::run(Divergence { z, w, sign: 1.0, shifts: (0.0, 0.0) })
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    /// The Euclidean norm of the rows' largest entries.
    fn dual_norm(&self, gradient: &[f64]) -> f64 {
        let top = |row: &[f64]| row.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        gradient.chunks(self.columns).map(|row| top(row).powi(2)).sum::<f64>().sqrt()
    }
}

/// Half the squared Euclidean norm, by projection of every row. O(log columns) an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EuclideanSimplexes {
    rows: usize,
    columns: usize,
    radius: f64,
}

impl EuclideanSimplexes {
    /// One probability vector of `columns` entries in each of the rows.
    pub fn new(rows: usize, columns: usize) -> Self {
        let radius = 0.5 * rows as f64 * (1.0 - 1.0 / columns as f64);
        EuclideanSimplexes { rows, columns, radius }
    }

    /// Another bound on the divergence from the centre; at least `rows (1 - 1/columns) / 2`.
    #[must_use]
    pub fn with_radius(self, radius: f64) -> Self {
        EuclideanSimplexes { radius, ..self }
    }
}

impl Setup for EuclideanSimplexes {
    fn dimension(&self) -> usize {
        self.rows * self.columns
    }

    fn coordinates(&self) -> usize {
        self.dimension()
    }

    fn centre(&self, place: &mut [f64]) {
        place.fill(1.0 / self.columns as f64);
    }

    fn point(&self, place: &[f64], point: &mut [f64]) {
        point.copy_from_slice(place);
    }

    fn place(&self, point: &[f64], place: &mut [f64]) {
        place.copy_from_slice(point);
    }

    fn step(&self, place: &mut [f64], gradient: &[f64], eta: f64) {
        place.iter_mut().zip(gradient).for_each(|(v, g)| *v -= eta * g);
        project_rows(place, self.columns);
    }

    fn divergence(&self, z: &[f64], w: &[f64]) -> f64 {
        0.5 * z.iter().zip(w).map(|(z, w)| (z - w).powi(2)).sum::<f64>()
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    fn dual_norm(&self, gradient: &[f64]) -> f64 {
        gradient.iter().map(|g| g * g).sum::<f64>().sqrt()
    }
}

/// Projects every row on the simplex.
pub(crate) fn project_rows(v: &mut [f64], columns: usize) {
    for row in v.chunks_mut(columns) {
        if project::simplex(row, 1.0).is_err() {
            // Only a step that overflowed comes here; the divergence guard sees the NaN.
            row.fill(f64::NAN);
        }
    }
}
