//! The quadratic model over a working set, and its minimisation.

use fenchel_linalg::{Cholesky, Columns, Design};
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::random::Generator;
use rand::seq::SliceRandom;

use super::cost::gram_cost;
use super::forcing::Tolerances;
use super::gram::{RIDGE, Variables};
use super::orthants::Orthants;
use super::sample;
use super::scaled::Scaled;

const SWEEPS: usize = 50;
/// Orthants that are tried before coordinate descent is.
const ROUNDS: usize = 6;
const GRAM_SWEEPS: usize = 1000;
/// A Gram matrix serves again while `sum |h - h_before|` is at most this fraction of `sum h_before`.
const STALE: f64 = 0.1;
/// And while every step with it takes the violation to at most this fraction.
const PACE: f64 = 0.1;

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
    /// What a descent may leave of the violation.
    pub(super) tolerances: Tolerances,
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
    /// What is left of the violation, as a fraction, where it is known.
    pub(super) left: f64,
}

/// The Hessian of the smooth part over a working set, and the intercept last: `A_W'HA_W/n + l2 I`.
#[derive(Debug, Clone)]
pub(super) struct Hessian {
    pub(super) set: Vec<usize>,
    /// Row by row.
    gram: Vec<f64>,
    factor: Option<Cholesky>,
    /// Whether a part of the rows stands for all.
    pub(super) sampled: bool,
    /// `phi''(t_i) / n` that it was built with.
    h: Vec<f64>,
    /// Of the model that it served last.
    pub(super) violation: f64,
}

impl Hessian {
    /// `phi''(t_i) / n` that it was built with.
    pub(super) fn seconds(&self) -> &Vec<f64> {
        &self.h
    }

    /// Whether this is still good enough for the coordinates of `set`, at other margins.
    pub(super) fn serves(&self, set: &[usize], h: &[f64], violation: f64) -> bool {
        let mut kept = self.set.iter();
        let covers = set.iter().all(|c| kept.any(|k| k == c));
        let pace = violation <= PACE * self.violation;
        let change: f64 = h.iter().zip(&self.h).map(|(h, before)| (h - before).abs()).sum();
        covers && pace && change <= STALE * self.h.iter().sum::<f64>()
    }
}

impl Minimum {
    /// No step, of so many coordinates.
    fn origin(coordinates: usize) -> Self {
        Minimum {
            d: vec![0.0; coordinates],
            intercept: 0.0,
            entries: 0.0,
            direction: None,
            left: 0.0,
        }
    }
}

/// How much coordinate `x` with derivative `g` violates optimality under `l1`.
pub(super) fn violation(x: f64, g: f64, l1: f64) -> f64 {
    if x == 0.0 { (g.abs() - l1).max(0.0) } else { (g + l1.copysign(x)).abs() }
}

impl Model<'_> {
    /// Minimises the model where `l1 = 0` and the set is all coordinates: one linear system.
    pub(super) fn solve(&self, hessian: &mut Hessian) -> Minimum {
        let m = self.order();
        hessian.violation = self.total_violation();
        let mut right: Vec<f64> = self.set.iter().map(|&c| -self.gradient[c]).collect();
        right.extend(self.intercept.map(|g| -g));
        let mut entries = (m * m) as f64;
        if hessian.factor.is_none() {
            // Collinear columns without l2 need a ridge.
            hessian.factor = Cholesky::with_ridge(&hessian.gram, m).ok();
            entries += (m * m) as f64 * m as f64 / 6.0;
        }
        // Not finite: no step, so that the search says it stalls.
        if hessian.factor.as_ref().is_none_or(|factor| factor.solve_in_place(&mut right).is_err()) {
            right.fill(0.0);
        }
        let intercept = if self.intercept.is_some() { right.pop().unwrap_or(0.0) } else { 0.0 };
        Minimum { d: right, intercept, entries, direction: None, left: 0.0 }
    }

    /// Minimises the model by coordinate descent on its Hessian.
    pub(super) fn descend_on(&self, hessian: &mut Hessian, rng: &mut Generator) -> Minimum {
        let outer = self.total_violation();
        hessian.violation = outer;
        let at = Minimum::origin(self.set.len());
        self.descend_on_gram(&hessian.gram, at, self.tolerances.gram * outer, rng)
    }

    /// Minimises the model by products with the columns of the set, which are `places` of `rows`: one [orthant](Orthants)
    /// after another, until the tolerance is met or the signs do not settle.
    pub(super) fn descend_by_products<E: Design>(&self, rows: &E, places: &[usize]) -> Minimum {
        self.cross(Orthants::new(self, rows, places), ROUNDS, 0.0)
    }

    /// The same from another point than the origin, in one orthant.
    fn polish<E: Design>(&self, rows: &E, places: &[usize], from: Minimum) -> Minimum {
        let mut orthants = Orthants::new(self, rows, places);
        let mut d = from.d;
        d.extend(self.intercept.map(|_| from.intercept));
        orthants.go_to(&d);
        self.cross(orthants, 1, from.entries)
    }

    fn cross<E: Design>(&self, mut orthants: Orthants<E>, rounds: usize, entries: f64) -> Minimum {
        let outer = self.total_violation();
        let left =
            orthants.minimise(self.tolerances.large * outer, rounds) / outer.max(f64::MIN_POSITIVE);
        let (mut d, direction, looked) = orthants.into_parts();
        let intercept = self.intercept.and_then(|_| d.pop()).unwrap_or(0.0);
        Minimum { d, intercept, entries: entries + looked, direction: Some(direction), left }
    }

    /// Whether the set is small enough for a Gram matrix, of `stored` entries of the design.
    pub(super) fn is_small(&self, stored: usize) -> bool {
        self.set.len() * self.set.len() <= 2 * stored.max(1)
    }

    /// Minimises the model by coordinate descent in a new random order every sweep, skipping the coordinates that stayed
    /// at 0 until the others are done; between the sweeps by products with `rows`, where they are given (see
    /// [`descend_by_products`](Self::descend_by_products)).
    pub(super) fn descend<D: Design, E: Design>(
        &self,
        design: &D,
        columns: &Columns,
        from: Option<Minimum>,
        rows: Option<(&E, &[usize])>,
        rng: &mut Generator,
        room: &mut Vec<f64>,
    ) -> Minimum {
        let stored: usize = self.set.iter().map(|&c| columns.stored(c)).sum();
        let gram_cost = gram_cost(self.h.len(), self.order(), stored as f64);
        let small = self.is_small(stored);
        let outer = self.total_violation();
        let tolerance = if small { self.tolerances.columns } else { self.tolerances.large };

        let scaled = Scaled::new(columns, self.set, self.h, std::mem::take(room));
        let curvature: Vec<f64> =
            (0..self.set.len()).map(|k| scaled.norm_squared(k) + self.l2).collect();
        let total_h: f64 = self.h.iter().sum::<f64>() + RIDGE;
        let mut at = from.unwrap_or_else(|| Minimum::origin(self.set.len()));
        at.entries += stored as f64;
        // r = H^(1/2) (A d + d_b)
        let mut r = match at.direction.take() {
            Some(direction) => scaled.residual(&direction),
            None => vec![0.0; self.h.len()],
        };
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
            at.left = left / outer;
            margin = largest;
            if at.left <= tolerance {
                if active.len() == all.len() {
                    break;
                }
                // What was left out may have come to matter.
                active.clone_from(&all);
                margin = f64::INFINITY;
            } else if let Some((rows, places)) = rows {
                at = self.polish(rows, places, at);
                r = scaled.residual(at.direction.take().as_deref().unwrap_or_default());
            }
            if small && at.entries >= gram_cost {
                let gram = self.variables().gram(design, &sample::all(self.h), stored as f64);
                at.entries += gram_cost;
                return self.descend_on_gram(&gram, at, self.tolerances.gram * outer, rng);
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
                    at.entries += 0.5 * m as f64;
                    for (q, m) in q.iter_mut().zip(&gram[k * m..(k + 1) * m]) {
                        *q += m * move_by;
                    }
                }
            }
            if left <= tolerance {
                break;
            }
        }
        if self.intercept.is_some() {
            at.intercept = d.pop().unwrap_or(0.0);
        }
        Minimum { d, ..at }
    }

    /// The Hessian, kept for steps to come: of all rows, or of about `sampled` that stand for them. `stored` entries of
    /// the design belong to the set.
    pub(super) fn hessian<D: Design>(
        &self,
        design: &D,
        stored: usize,
        sampled: Option<f64>,
        rng: &mut Generator,
    ) -> Hessian {
        let variables = self.variables();
        let rows = match sampled {
            None => sample::all(self.h),
            Some(count) => sample::draw(design, self.h, variables, count, rng),
        };
        let share = rows.len() as f64 / self.h.len() as f64;
        let gram = variables.gram(design, &rows, share * stored as f64);
        let (set, h) = (self.set.to_vec(), self.h.to_vec());
        let sampled = sampled.is_some();
        Hessian { set, gram, factor: None, sampled, h, violation: f64::INFINITY }
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
