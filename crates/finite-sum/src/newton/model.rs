//! The quadratic model over a working set, and its minimisation.

use fenchel_linalg::{Cholesky, Columns, Design};
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::random::Generator;
use rand::seq::SliceRandom;

/// Added to the diagonal, so that an empty or saturated column divides by something.
pub(super) const RIDGE: f64 = 1e-12;
/// The descent ends when the violation has fallen to this fraction of that at the outer point.
const LOOSE: f64 = 0.1;
/// The same on the Gram matrix, where a sweep costs next to nothing.
const TIGHT: f64 = 0.01;
const SWEEPS: usize = 50;
const GRAM_SWEEPS: usize = 1000;

/// `g.d + (1/2) d' (A'HA/n + l2 I) d + l1 (||x + d||_1 - ||x||_1)` over the coordinates of `set`, and the
/// intercept.
pub(super) struct Model<'m> {
    /// `phi''(t_i) / n`
    pub(super) h: &'m [f64],
    pub(super) x: &'m [f64],
    /// Of the smooth part, l2 included.
    pub(super) gradient: &'m [f64],
    /// Of the intercept, where there is one.
    pub(super) intercept: Option<f64>,
    pub(super) l1: f64,
    pub(super) l2: f64,
    pub(super) set: &'m [usize],
}

/// A minimiser, up to the tolerance, and what it cost.
pub(super) struct Minimum {
    /// One entry a coordinate of the set.
    pub(super) d: Vec<f64>,
    pub(super) intercept: f64,
    /// Entries of the design that were looked at, over 2: a column is read and written.
    pub(super) entries: f64,
}

/// How much coordinate `x` with derivative `g` violates optimality under `l1`.
pub(super) fn violation(x: f64, g: f64, l1: f64) -> f64 {
    if x == 0.0 { (g.abs() - l1).max(0.0) } else { (g + l1.copysign(x)).abs() }
}

impl Model<'_> {
    /// Minimises the model where `l1 = 0`: one linear system.
    pub(super) fn solve<D: Design>(&self, design: &D) -> Minimum {
        let (gram, entries) = self.gram(design);
        let m = self.order();
        let mut right: Vec<f64> = self.set.iter().map(|&c| -self.gradient[c]).collect();
        right.extend(self.intercept.map(|g| -g));
        let scale = (0..m).map(|k| gram[k * m + k]).fold(0.0, f64::max);
        // Collinear columns without l2: raise the ridge until the matrix is definite in floating point.
        let solved = (0..20).map(|k| if k == 0 { 0.0 } else { scale * 1e-16 * 10f64.powi(k) }).any(
            |ridge| {
                let mut shifted = gram.clone();
                (0..m).for_each(|k| shifted[k * m + k] += ridge);
                Cholesky::in_place(shifted, m).is_ok_and(|f| f.solve_in_place(&mut right).is_ok())
            },
        );
        if !solved {
            // Not finite: no step, so that the search says it stalls.
            right.fill(0.0);
        }
        let intercept = if self.intercept.is_some() { right.pop().unwrap_or(0.0) } else { 0.0 };
        Minimum { d: right, intercept, entries: entries + (m * m) as f64 * m as f64 / 6.0 }
    }

    /// Minimises the model by coordinate descent in a new random order every sweep.
    pub(super) fn descend<D: Design>(
        &self,
        design: &D,
        columns: &Columns,
        rng: &mut Generator,
    ) -> Minimum {
        let stored: usize = self.set.iter().map(|&c| columns.stored(c)).sum();
        let sweep_cost = stored as f64 + self.intercept.map_or(0.0, |_| self.h.len() as f64);
        let gram_cost = self.gram_cost(stored as f64);
        let small = self.set.len() * self.set.len() <= 2 * stored.max(1);
        let outer = self.total_violation();

        let curvature: Vec<f64> = self
            .set
            .iter()
            .map(|&c| {
                let mut sum = self.l2;
                columns.entries(c, |i, a| sum += self.h[i] * a * a);
                sum
            })
            .collect();
        let total_h: f64 = self.h.iter().sum::<f64>() + RIDGE;
        let mut at =
            Minimum { d: vec![0.0; self.set.len()], intercept: 0.0, entries: stored as f64 };
        // r = H (A d + d_b) / n
        let mut r = vec![0.0; self.h.len()];
        let mut order: Vec<usize> = (0..self.set.len()).collect();
        for _ in 0..SWEEPS {
            order.shuffle(rng);
            let mut left = 0.0;
            for &k in &order {
                let c = self.set[k];
                let g = self.gradient[c] + columns.dot(c, &r) + self.l2 * at.d[k];
                let w = self.x[c] + at.d[k];
                left += violation(w, g, self.l1);
                let move_by = coordinate_step(w, g, curvature[k], self.l1);
                if move_by != 0.0 {
                    at.d[k] += move_by;
                    columns.entries(c, |i, a| r[i] += self.h[i] * a * move_by);
                }
            }
            if let Some(g) = self.intercept {
                let g = g + r.iter().sum::<f64>();
                left += g.abs();
                let move_by = -g / total_h;
                at.intercept += move_by;
                r.iter_mut().zip(self.h).for_each(|(r, h)| *r += h * move_by);
            }
            at.entries += sweep_cost;
            if left <= LOOSE * outer {
                break;
            }
            if small && at.entries >= gram_cost {
                return self.descend_on_gram(design, at, TIGHT * outer, rng);
            }
        }
        at
    }

    /// Goes on with coordinate descent on the Gram matrix.
    fn descend_on_gram<D: Design>(
        &self,
        design: &D,
        mut at: Minimum,
        tolerance: f64,
        rng: &mut Generator,
    ) -> Minimum {
        let (gram, entries) = self.gram(design);
        at.entries += entries;
        let (m, w) = (self.order(), self.set.len());
        let mut d = std::mem::take(&mut at.d);
        d.extend(self.intercept.map(|_| at.intercept));
        // The gradient of the model at d.
        let mut q: Vec<f64> = (0..m)
            .map(|k| {
                let g =
                    self.set.get(k).map_or(self.intercept.unwrap_or(0.0), |&c| self.gradient[c]);
                g + gram[k * m..(k + 1) * m].iter().zip(&d).map(|(m, d)| m * d).sum::<f64>()
            })
            .collect();
        let mut order: Vec<usize> = (0..m).collect();
        for _ in 0..GRAM_SWEEPS {
            order.shuffle(rng);
            let mut left = 0.0;
            for &k in &order {
                let (x, l1) =
                    if k < w { (self.x[self.set[k]] + d[k], self.l1) } else { (d[k], 0.0) };
                left += if k < w { violation(x, q[k], l1) } else { q[k].abs() };
                let move_by = coordinate_step(x, q[k], gram[k * m + k], l1);
                if move_by != 0.0 {
                    d[k] += move_by;
                    for (q, m) in q.iter_mut().zip(&gram[k * m..(k + 1) * m]) {
                        *q += m * move_by;
                    }
                }
            }
            at.entries += 0.5 * (m * m) as f64;
            if left <= tolerance {
                break;
            }
        }
        if self.intercept.is_some() {
            at.intercept = d.pop().unwrap_or(0.0);
        }
        Minimum { d, ..at }
    }

    /// `A_W'HA_W/n + l2 I`, row by row, the intercept last; and its cost in entries.
    fn gram<D: Design>(&self, design: &D) -> (Vec<f64>, f64) {
        let (m, w) = (self.order(), self.set.len());
        let mut place = vec![usize::MAX; design.columns()];
        for (k, &c) in self.set.iter().enumerate() {
            place[c] = k;
        }
        let mut gram = vec![0.0; m * m];
        let mut row: Vec<(usize, f64)> = Vec::new();
        let mut stored = 0.0;
        for (i, &h) in self.h.iter().enumerate() {
            if h == 0.0 {
                continue;
            }
            row.clear();
            design.row_entries(i, |c, a| {
                if place[c] != usize::MAX {
                    row.push((place[c], a));
                }
            });
            row.extend(self.intercept.map(|_| (w, 1.0)));
            stored += row.len() as f64;
            for (e, &(k, a)) in row.iter().enumerate() {
                let scaled = h * a;
                let target = &mut gram[k * m..(k + 1) * m];
                for &(l, b) in &row[..=e] {
                    target[l] += scaled * b;
                }
            }
        }
        // Places in the set need not ascend: an entry may lie on either side of the diagonal.
        for k in 0..m {
            for l in 0..k {
                let sum = gram[k * m + l] + gram[l * m + k];
                gram[k * m + l] = sum;
                gram[l * m + k] = sum;
            }
            gram[k * m + k] += if k < w { self.l2 } else { RIDGE };
        }
        (gram, self.gram_cost(stored))
    }

    /// A multiplication and addition of the Gram matrix is half as dear as a sparse entry. For `stored` entries of
    /// the set in all, spread over the rows like a Poisson count.
    fn gram_cost(&self, stored: f64) -> f64 {
        let n = self.h.len() as f64;
        let mean = stored / n;
        n * (0.25 * (mean * mean + mean) + 0.5 * mean)
    }

    fn order(&self) -> usize {
        self.set.len() + usize::from(self.intercept.is_some())
    }

    fn total_violation(&self) -> f64 {
        let coordinates: f64 =
            self.set.iter().map(|&c| violation(self.x[c], self.gradient[c], self.l1)).sum();
        coordinates + self.intercept.map_or(0.0, f64::abs)
    }
}

/// The exact minimiser along a coordinate, minus where it stands.
fn coordinate_step(w: f64, g: f64, curvature: f64, l1: f64) -> f64 {
    soft_threshold(w - g / curvature, l1 / curvature) - w
}
