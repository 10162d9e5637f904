//! The quadratic model over a working set, and its minimisation.

use fenchel_linalg::{Cholesky, Columns, Design};

use fenchel_optim::random::Generator;
use rand::seq::SliceRandom;

use crate::methods::coordinate::{
    Coordinates, Curvature, Quadratic, Selected, Sweeps, Violations, Visiting, violation,
};
use crate::methods::hessian::{self, Variables, gram_cost};

/// The most sweeps over the columns of a model. What is left then is left to the next model. By judgement.
const SWEEPS: usize = 50;
/// The most sweeps over a Gram matrix, where a sweep costs little beside the matrix itself. By judgement.
const GRAM_SWEEPS: usize = 1000;
/// Descent over columns ends when the violation of optimality has fallen by this factor. More would be wasted, because the next
/// model has other second derivatives.
const COLUMNS: f64 = 0.1;
/// The same factor for descent on a Gram matrix, whose sweeps are cheap. By judgement.
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

/// The step to the minimiser of a model, up to the tolerance, and what it cost.
pub(super) struct Step {
    /// One entry a coordinate of the set.
    pub(super) d: Vec<f64>,
    pub(super) intercept: f64,
    /// `A d + d_b`: empty until it is asked for.
    pub(super) direction: Vec<f64>,
    /// Whether the model was minimised over columns.
    pub(super) by_columns: bool,
    /// Half the entries of the design that were read: a visit reads a column and updates the rows.
    pub(super) entries: f64,
}

impl Step {
    pub(super) fn new(d: Vec<f64>, intercept: f64, entries: f64) -> Self {
        Step { d, intercept, direction: Vec::new(), by_columns: false, entries }
    }
}

impl Model<'_> {
    /// What the linear part and the l1 norm change along a step: negative on the way to the minimiser.
    pub(super) fn slope(&self, step: &Step) -> f64 {
        let mut slope = self.intercept.map_or(0.0, |g| g * step.intercept);
        for (&c, &d) in self.set.iter().zip(&step.d) {
            let (x, g) = (self.x[c], self.gradient[c]);
            // The slope first where the sign stays: close to the optimum its two parts are opposite.
            slope += if x * (x + d) > 0.0 {
                (g + self.l1.copysign(x)) * d
            } else {
                g * d + self.l1 * ((x + d).abs() - x.abs())
            };
        }
        slope
    }

    /// `d'(A'HA/n + l2 I) d` of a step whose direction is known.
    pub(super) fn curvature(&self, step: &Step) -> f64 {
        let of_rows: f64 = self.h.iter().zip(&step.direction).map(|(h, a)| h * a * a).sum();
        of_rows + self.l2 * step.d.iter().map(|d| d * d).sum::<f64>()
    }

    /// Minimises the model where `l1 = 0` and the set is all coordinates: one linear system.
    pub(super) fn solve(&self, gram: &[f64]) -> Step {
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
        Step::new(right, intercept, entries)
    }

    /// Minimises the model by coordinate descent on its Gram matrix.
    pub(super) fn descend_on(&self, gram: &[f64], rng: &mut Generator) -> Step {
        self.descend_on_gram(gram, self.start(), 0.0, rng)
    }

    /// Minimises the model by coordinate descent over columns, from the derivatives `slopes` of the rows; on the Gram matrix as soon
    /// as that would have cost no more.
    pub(super) fn descend<D: Design>(
        &self,
        design: &D,
        columns: &Columns,
        slopes: &mut [f64],
        rng: &mut Generator,
    ) -> Step {
        let stored: usize = self.set.iter().map(|&c| columns.stored(c)).sum();
        let gram_cost = gram_cost(self.h.len(), self.order(), stored as f64);
        let small = self.set.len() * self.set.len() <= 2 * stored.max(1);
        let tolerance = COLUMNS * self.total_violation();
        let selected = Selected { columns, set: self.set, l2: self.l2 };
        let curvatures = selected.curvatures(self.intercept.is_some(), slopes.len(), |i| self.h[i]);
        let (h, curvatures) = (Curvature::Each(self.h), &curvatures[..]);
        let mut f = Quadratic { selected, h, slopes, curvatures };
        let mut x = self.start();
        let mut sweeps = self.sweeps(rng);
        for _ in 0..SWEEPS {
            let met = |seen: &Violations, _: &[f64]| seen.sum <= tolerance;
            if sweeps.advance(&mut f, &mut x, &mut Visiting::Cyclic, met) {
                break;
            }
            if small && sweeps.entries >= gram_cost {
                let gram = self.gram(design, stored);
                let step = self.descend_on_gram(&gram, x, sweeps.entries + gram_cost, rng);
                return Step { by_columns: true, ..step };
            }
        }
        Step { by_columns: true, ..self.step_to(x, sweeps.entries) }
    }

    /// Continues coordinate descent on the Gram matrix, from `x`.
    fn descend_on_gram(
        &self,
        gram: &[f64],
        mut x: Vec<f64>,
        spent: f64,
        rng: &mut Generator,
    ) -> Step {
        let moves: Vec<f64> = x.iter().zip(self.start()).map(|(x, start)| x - start).collect();
        let slopes = self.set.iter().map(|&c| self.gradient[c]).chain(self.intercept);
        let mut f = OnGram { gram, slopes: slopes.collect() };
        f.jump(&x, &moves);
        let tolerance = GRAM * self.total_violation();
        let mut sweeps = self.sweeps(rng);
        for _ in 0..GRAM_SWEEPS {
            let met = |seen: &Violations, _: &[f64]| seen.sum <= tolerance;
            if sweeps.advance(&mut f, &mut x, &mut Visiting::Cyclic, met) {
                break;
            }
        }
        self.step_to(x, spent + sweeps.entries)
    }

    /// In one random order for all sweeps: extrapolation needs the same map in every sweep, and columns are often sorted by their
    /// frequency, which is a bad order.
    fn sweeps(&self, rng: &mut Generator) -> Sweeps {
        let mut order: Vec<usize> = (0..self.order()).collect();
        order.shuffle(rng);
        Sweeps::new(order, self.set.len(), self.l1, true)
    }

    /// The weights of the set, and 0 for the intercept.
    fn start(&self) -> Vec<f64> {
        self.set.iter().map(|&c| self.x[c]).chain(self.intercept.map(|_| 0.0)).collect()
    }

    fn step_to(&self, mut x: Vec<f64>, entries: f64) -> Step {
        let intercept = if self.intercept.is_some() { x.pop().unwrap_or(0.0) } else { 0.0 };
        x.iter_mut().zip(self.set).for_each(|(x, &c)| *x -= self.x[c]);
        Step::new(x, intercept, entries)
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

/// A model with its Gram matrix: a step along a coordinate adds a row of it to the slopes.
struct OnGram<'g> {
    gram: &'g [f64],
    slopes: Vec<f64>,
}

impl OnGram<'_> {
    fn row(&self, k: usize) -> &[f64] {
        let m = self.slopes.len();
        &self.gram[k * m..(k + 1) * m]
    }
}

impl Coordinates for OnGram<'_> {
    #[inline(always)]
    fn slope(&self, k: usize, _: f64) -> f64 {
        self.slopes[k]
    }

    #[inline(always)]
    fn curvature(&self, k: usize) -> f64 {
        self.row(k)[k]
    }

    #[inline(always)]
    fn shift(&mut self, k: usize, by: f64) {
        let m = self.slopes.len();
        let row = &self.gram[k * m..(k + 1) * m];
        self.slopes.iter_mut().zip(row).for_each(|(q, m)| *q += m * by);
    }

    /// Most visits move nothing.
    fn entries(&self, _: usize) -> f64 {
        0.25 * self.slopes.len() as f64
    }

    fn jump(&mut self, _: &[f64], moves: &[f64]) -> f64 {
        let before = self.slopes.clone();
        for (k, &by) in moves.iter().enumerate().filter(|(_, by)| **by != 0.0) {
            self.shift(k, by);
        }
        moves.iter().zip(before).zip(&self.slopes).map(|((by, a), b)| 0.5 * by * (a + b)).sum()
    }
}
