//! The product of simplexes: a probability vector in every row.
//!
//! | symbol | meaning | shape |
//! |---|---|---|
//! | `V` | the point | rows x columns |
//! | `w_j` | weight of the entropy that is part of the objective | rows |

use fenchel_linalg::lanes;

use super::{Divergence, Setup, contain_rows};
use crate::spectral::length;

/// The entropy `sum V ln V`, which is 1-strongly convex with respect to `sqrt(sum_j norm1(V_j)^2)`.
///
/// The objective may contain a multiple of the same entropy, as with the softmax loss. The step then still has a
/// closed form: `V+ ~ exp((ln V - eta g) / (1 + eta w))`, up to a factor per row. The coordinates are `ln V`. A step
/// costs O(1) per entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Simplexes {
    rows: usize,
    columns: usize,
    /// The weights of the entropy in the objective, one per row. It is empty if there is none.
    entropy: Vec<f64>,
    radius: f64,
}

impl Simplexes {
    /// The geometry of `rows` probability vectors with `columns` entries each.
    pub fn new(rows: usize, columns: usize) -> Self {
        let radius = rows as f64 * (columns as f64).ln();
        Simplexes { rows, columns, entropy: vec![], radius }
    }

    /// Adds `sum_j weight_j sum_l V_jl ln V_jl` to the objective.
    ///
    /// # Panics
    /// If there is not one weight per row.
    #[must_use]
    pub fn with_entropy(self, weights: Vec<f64>) -> Self {
        assert_eq!(weights.len(), self.rows);
        Simplexes { entropy: weights, ..self }
    }

    /// Sets another bound on the divergence from the centre; at least `rows ln(columns)`.
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
    // In two steps: after long steps `top` is large, and `top + ln(sum)` would have lost the digits of `ln(sum)`.
    let mut sum = 0.0;
    for k in 0..row.len() {
        row[k] -= top;
        sum += lanes::exp(row[k]);
    }
    let shift = sum.ln();
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

    fn contain(&self, point: &mut [f64]) {
        contain_rows(point, self.columns);
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
        length(gradient.chunks(self.columns).map(top))
    }
}

/// Half the squared Euclidean norm. A step projects every row, which costs O(log columns) per entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EuclideanSimplexes {
    rows: usize,
    columns: usize,
    radius: f64,
}

impl EuclideanSimplexes {
    /// The geometry of `rows` probability vectors with `columns` entries each.
    pub fn new(rows: usize, columns: usize) -> Self {
        let radius = 0.5 * rows as f64 * (1.0 - 1.0 / columns as f64);
        EuclideanSimplexes { rows, columns, radius }
    }

    /// Sets another bound on the divergence from the centre; at least `rows (1 - 1/columns) / 2`.
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

    fn contain(&self, point: &mut [f64]) {
        contain_rows(point, self.columns);
    }

    fn place(&self, point: &[f64], place: &mut [f64]) {
        place.copy_from_slice(point);
        project_rows(place, self.columns);
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
        length(gradient.iter().copied())
    }
}

/// Projects every row on the simplex. A row that is not finite becomes NaN, which the check for divergence detects.
pub(crate) fn project_rows(v: &mut [f64], columns: usize) {
    lanes::run(Project { v, columns });
}

struct Project<'a> {
    v: &'a mut [f64],
    columns: usize,
}

impl lanes::Kernel for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for row in self.v.chunks_exact_mut(self.columns) {
            project_row(row);
        }
    }
}

/// Projects on the simplex without sorting. A threshold is increased until no further entry is below it (Michelot, *A
/// finite algorithm for finding the projection of a point onto the canonical simplex*, 1986). This usually takes a
/// few loops over the row, and at most one loop per entry.
#[inline(always)]
pub(crate) fn project_row(row: &mut [f64]) {
    let mut tops = [f64::NEG_INFINITY; 8];
    let (blocks, rest) = row.as_chunks::<8>();
    for block in blocks {
        for l in 0..8 {
            tops[l] = if block[l] > tops[l] { block[l] } else { tops[l] };
        }
    }
    let top = rest.iter().chain(&tops).fold(f64::NEG_INFINITY, |m, v| if *v > m { *v } else { m });
    if !lanes::sum(row).is_finite() {
        row.fill(f64::NAN);
        return;
    }
    for l in 0..row.len() {
        row[l] -= top;
    }
    // The largest entry is 0 now, so the others count above -1 only.
    let mut threshold = -1.0;
    loop {
        let (sum, count) = above(row, threshold);
        let next = (sum - 1.0) / count;
        // With the same entries it stays; rounding must not let one in again.
        if !(next > threshold) {
            break;
        }
        threshold = next;
    }
    for l in 0..row.len() {
        let left = row[l] - threshold;
        row[l] = if left > 0.0 { left } else { 0.0 };
    }
}

/// Sum and number of the entries above a threshold.
#[inline(always)]
fn above(row: &[f64], threshold: f64) -> (f64, f64) {
    let (mut sums, mut counts) = ([0.0; 8], [0.0; 8]);
    let (blocks, rest) = row.as_chunks::<8>();
    for block in blocks {
        for l in 0..8 {
            let inside = block[l] > threshold;
            sums[l] += if inside { block[l] } else { 0.0 };
            counts[l] += if inside { 1.0 } else { 0.0 };
        }
    }
    for (l, v) in rest.iter().enumerate() {
        sums[l] += if *v > threshold { *v } else { 0.0 };
        counts[l] += if *v > threshold { 1.0 } else { 0.0 };
    }
    (lanes::sum(&sums), lanes::sum(&counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_linalg::project;
    use fenchel_optim::random::stream;
    use rand::RngExt;

    /// Compares with the projection that sorts, for rows of all lengths and scales, with ties and with entries at the
    /// threshold.
    #[test]
    fn rows_are_projected_as_by_sorting() {
        let mut random = stream(5, 0);
        for trial in 0..4000 {
            let columns = 1 + trial % 130;
            let scale = 10_f64.powi(trial as i32 % 9 - 4);
            let mut row: Vec<f64> = (0..columns)
                .map(|_| {
                    let v: f64 = scale * (random.random::<f64>() - 0.5);
                    if trial % 3 == 0 { (4.0 * v).round() / 4.0 } else { v }
                })
                .collect();
            let mut sorted = row.clone();
            project::simplex(&mut sorted, 1.0).unwrap();
            project_rows(&mut row, columns);
            let worst = row.iter().zip(&sorted).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(worst <= 1e-14, "{columns} columns: {worst}");
            // Once more changes nothing but rounding: every entry is at the threshold or at 0.
            let once = row.clone();
            project_rows(&mut row, columns);
            assert!(row.iter().zip(&once).all(|(a, b)| (a - b).abs() <= 1e-15 * columns as f64));
        }
        let mut huge = [f64::MAX, 1.0, f64::MAX, -f64::INFINITY];
        project_rows(&mut huge, 4);
        assert!(huge.iter().all(|v| v.is_nan()));
    }
}
