//! The quadratic model over a working set, and its minimisation.

use fenchel_linalg::{Cholesky, Columns, Design};
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::random::Generator;
use rand::seq::SliceRandom;

use super::face::{Face, add};
use super::scaled::Scaled;
use crate::methods::hessian::{self, RIDGE, Variables, gram_cost};

/// Sweeps over the columns of a model, at most: what is left then is left to the next model.
const SWEEPS: usize = 50;
/// The same of a Gram matrix, where a sweep costs next to nothing.
const GRAM_SWEEPS: usize = 1000;
/// Descent over columns ends at this fraction of the violation: a digit a model, since the next has other second derivatives.
const COLUMNS: f64 = 0.1;
/// Descent on a Gram matrix ends at this fraction.
const GRAM: f64 = 1e-3;

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
    /// `A d + d_b`, where it is known.
    pub(super) direction: Option<Vec<f64>>,
}

impl Minimum {
    /// No step, of so many coordinates.
    fn origin(coordinates: usize) -> Self {
        Minimum { d: vec![0.0; coordinates], intercept: 0.0, entries: 0.0, direction: None }
    }
}

/// How much coordinate `x` with derivative `g` violates optimality under `l1`.
pub(super) fn violation(x: f64, g: f64, l1: f64) -> f64 {
    if x == 0.0 { (g.abs() - l1).max(0.0) } else { (g + l1.copysign(x)).abs() }
}

impl Model<'_> {
    /// Minimises the model where `l1 = 0` and the set is all coordinates: one linear system.
    pub(super) fn solve(&self, gram: &[f64]) -> Minimum {
        let m = self.order();
        let mut right: Vec<f64> = self.set.iter().map(|&c| -self.gradient[c]).collect();
        right.extend(self.intercept.map(|g| -g));
        let entries = (m * m) as f64 * (1.0 + m as f64 / 6.0);
        // Collinear columns without l2 need a ridge.
        let factor = Cholesky::with_ridge(gram, m);
        // Not finite: no step, so that the search says it stalls.
        if !factor.is_ok_and(|factor| factor.solve_in_place(&mut right).is_ok()) {
            right.fill(0.0);
        }
        let intercept = if self.intercept.is_some() { right.pop().unwrap_or(0.0) } else { 0.0 };
        Minimum { d: right, intercept, entries, direction: None }
    }

    /// Minimises the model by coordinate descent on its Gram matrix.
    pub(super) fn descend_on(&self, gram: &[f64], rng: &mut Generator) -> Minimum {
        let at = Minimum::origin(self.set.len());
        self.descend_on_gram(gram, at, GRAM * self.total_violation(), rng)
    }

    /// Whether the set is small enough for a Gram matrix, of `stored` entries of the design.
    pub(super) fn is_small(&self, stored: usize) -> bool {
        self.set.len() * self.set.len() <= 2 * stored.max(1)
    }

    /// Minimises the model by coordinate descent in a new random order every sweep, skipping the coordinates that stayed
    /// at 0 until the others are done; on the Gram matrix as soon as that would have cost no more.
    pub(super) fn descend<D: Design>(
        &self,
        design: &D,
        columns: &Columns,
        rng: &mut Generator,
        room: &mut Vec<f64>,
    ) -> Minimum {
        let stored: usize = self.set.iter().map(|&c| columns.stored(c)).sum();
        let gram_cost = gram_cost(self.h.len(), self.order(), stored as f64);
        let small = self.is_small(stored);
        let outer = self.total_violation();
        let scaled = Scaled::new(columns, self.set, self.h, std::mem::take(room));
        let curvature: Vec<f64> =
            (0..self.set.len()).map(|k| scaled.norm_squared(k) + self.l2).collect();
        let total_h: f64 = self.h.iter().sum::<f64>() + RIDGE;
        let mut at = Minimum::origin(self.set.len());
        at.entries = stored as f64;
        // r = H^(1/2) (A d + d_b)
        let mut r = vec![0.0; self.h.len()];
        let roots = &scaled.roots;
        let all: Vec<usize> = (0..self.set.len()).collect();
        let mut active = all.clone();
        // How far inside its subdifferential a coordinate at 0 must be to be skipped.
        let mut margin = f64::INFINITY;
        for _ in 0..SWEEPS {
            active.shuffle(rng);
            let (mut left, mut largest, mut looked) = (0.0, 0.0f64, 0);
            active.retain(|&k| {
                let g = self.gradient[self.set[k]] + scaled.dot(k, &r) + self.l2 * at.d[k];
                let w = self.x[self.set[k]] + at.d[k];
                looked += scaled.stored(k);
                if w == 0.0 && g.abs() <= self.l1 - margin {
                    return false;
                }
                let violates = violation(w, g, self.l1);
                left += violates;
                largest = largest.max(violates);
                let move_by = coordinate_step(w, g, curvature[k], self.l1);
                if move_by != 0.0 {
                    at.d[k] += move_by;
                    scaled.axpy(k, move_by, &mut r);
                }
                true
            });
            if let Some(g) = self.intercept {
                let g = g + r.iter().zip(roots).map(|(r, root)| r * root).sum::<f64>();
                left += g.abs();
                largest = largest.max(g.abs());
                let move_by = -g / total_h;
                at.intercept += move_by;
                r.iter_mut().zip(roots).for_each(|(r, root)| *r += root * move_by);
                looked += self.h.len();
            }
            at.entries += looked as f64;
            margin = largest;
            if left <= COLUMNS * outer {
                if active.len() == all.len() {
                    break;
                }
                // What was left out may have come to matter.
                active.clone_from(&all);
                margin = f64::INFINITY;
            }
            if small && at.entries >= gram_cost {
                let gram = self.variables().gram(design, &hessian::all(self.h), stored as f64);
                at.entries += gram_cost;
                return self.descend_on_gram(&gram, at, GRAM * outer, rng);
            }
        }
        at.direction = scaled.direction(&r);
        *room = scaled.into_room();
        at
    }

    /// Goes on with coordinate descent on the Gram matrix.
    fn descend_on_gram(
        &self,
        gram: &[f64],
        mut at: Minimum,
        tolerance: f64,
        rng: &mut Generator,
    ) -> Minimum {
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
        let mut face = Face::default();
        for _ in 0..GRAM_SWEEPS {
            order.shuffle(rng);
            let (mut left, before) = (0.0, at.entries);
            for &k in &order {
                let (x, l1) =
                    if k < w { (self.x[self.set[k]] + d[k], self.l1) } else { (d[k], 0.0) };
                left += if k < w { violation(x, q[k], l1) } else { q[k].abs() };
                let move_by = coordinate_step(x, q[k], gram[k * m + k], l1);
                if move_by != 0.0 {
                    d[k] += move_by;
                    at.entries += 0.5 * m as f64;
                    add(move_by, &gram[k * m..(k + 1) * m], &mut q);
                }
            }
            if left <= tolerance {
                break;
            }
            at.entries += face.jump(self, gram, at.entries - before, &mut d, &mut q);
        }
        if self.intercept.is_some() {
            at.intercept = d.pop().unwrap_or(0.0);
        }
        Minimum { d, ..at }
    }

    /// The Hessian of the model, the intercept last, row by row. `stored` entries of the design belong to the set.
    pub(super) fn gram<D: Design>(&self, design: &D, stored: usize) -> Vec<f64> {
        self.variables().gram(design, &hessian::all(self.h), stored as f64)
    }

    fn variables(&self) -> Variables<'_> {
        Variables { set: self.set, intercept: self.intercept.is_some(), l2: self.l2 }
    }

    pub(super) fn order(&self) -> usize {
        self.variables().order()
    }

    pub(super) fn total_violation(&self) -> f64 {
        let coordinates: f64 =
            self.set.iter().map(|&c| violation(self.x[c], self.gradient[c], self.l1)).sum();
        coordinates + self.intercept.map_or(0.0, f64::abs)
    }
}

/// The exact minimiser along a coordinate, minus where it stands.
fn coordinate_step(w: f64, g: f64, curvature: f64, l1: f64) -> f64 {
    soft_threshold(w - g / curvature, l1 / curvature) - w
}
