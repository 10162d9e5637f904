//! The common part of all mirror methods: the coordinates and points of both blocks, the average, and the loop of
//! methods with a line search.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, StepSize};

use crate::Error;
use crate::problem::{SaddleProblem, SaddleState, Trail};

/// The iterate `(x, y)` of a mirror method, and its weighted average.
pub(crate) struct Walk<'a> {
    pub(crate) problem: &'a dyn SaddleProblem,
    pub(crate) trail: Trail,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) gx: Vec<f64>,
    pub(crate) gy: Vec<f64>,
    /// The factors that convert `gamma` to the step `eta` of each block. They are `2 Omega` for the balanced
    /// potential.
    pub(crate) rates: (f64, f64),
    average: (Vec<f64>, Vec<f64>),
    /// The certified `y` with the best lower bound, and the bound.
    bound: Option<(f64, Vec<f64>)>,
    best: Option<(Vec<f64>, Vec<f64>, Trail)>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let (sx, sy) = (problem.x_setup(), problem.y_setup());
        let (dx, dy) = (sx.dimension(), sy.dimension());
        let (mut place_x, mut place_y) = (vec![0.0; sx.coordinates()], vec![0.0; sy.coordinates()]);
        let mut fresh = |x: Option<&[f64]>, y: Option<&[f64]>| {
            match x {
                Some(x) => sx.place(x, &mut place_x),
                None => sx.centre(&mut place_x),
            }
            match y {
                Some(y) => sy.place(y, &mut place_y),
                None => sy.centre(&mut place_y),
            }
            let (place_x, place_y) = (place_x.clone(), place_y.clone());
            let (sum_x, sum_y) = (vec![0.0; dx], vec![0.0; dy]);
            Trail { place_x, place_y, sum_x, sum_y, weight: 0.0, steps: 0, step: None }
        };
        let trail = match start {
            None => fresh(None, None),
            Some(SaddleState { x, y, trail }) => {
                Invalid::check_length("start.x", dx, x.len())?;
                Invalid::check_length("start.y", dy, y.len())?;
                Invalid::check_finite("start.x", &x)?;
                Invalid::check_finite("start.y", &y)?;
                let fits = |t: &Trail| {
                    let places = (t.place_x.len(), t.place_y.len());
                    places == (sx.coordinates(), sy.coordinates())
                        && (t.sum_x.len(), t.sum_y.len()) == (dx, dy)
                };
                trail.filter(fits).unwrap_or_else(|| fresh(Some(&x), Some(&y)))
            }
        };
        let (mut x, mut y) = (vec![0.0; dx], vec![0.0; dy]);
        sx.point(&trail.place_x, &mut x);
        sy.point(&trail.place_y, &mut y);
        Ok(Walk {
            problem,
            trail,
            gx: vec![0.0; dx],
            gy: vec![0.0; dy],
            rates: (2.0 * sx.radius(), 2.0 * sy.radius()),
            average: (x.clone(), y.clone()),
            bound: None,
            best: None,
            x,
            y,
        })
    }

    /// Replaces the balanced potential by another one.
    pub(crate) fn with_rates(self, rates: (f64, f64)) -> Self {
        Walk { rates, ..self }
    }

    pub(crate) fn field(&mut self) {
        self.problem.field(&self.x, &self.y, &mut self.gx, &mut self.gy);
    }

    /// Adds the current point to the average.
    pub(crate) fn accumulate(&mut self, weight: f64) {
        let t = &mut self.trail;
        t.sum_x.iter_mut().zip(&self.x).for_each(|(s, x)| *s += weight * x);
        t.sum_y.iter_mut().zip(&self.y).for_each(|(s, y)| *s += weight * y);
        t.weight += weight;
    }

    /// Makes a step against the gradients, and updates the points.
    pub(crate) fn step(&mut self, gamma: f64) {
        let (sx, sy) = (self.problem.x_setup(), self.problem.y_setup());
        sx.step(&mut self.trail.place_x, &self.gx, gamma * self.rates.0);
        sy.step(&mut self.trail.place_y, &self.gy, gamma * self.rates.1);
        self.points();
    }

    pub(crate) fn points(&mut self) {
        self.problem.x_setup().point(&self.trail.place_x, &mut self.x);
        self.problem.y_setup().point(&self.trail.place_y, &mut self.y);
    }

    /// The divergence of two pairs of coordinates in the joint potential.
    pub(crate) fn divergence(&self, z: (&[f64], &[f64]), w: (&[f64], &[f64])) -> f64 {
        let (sx, sy) = (self.problem.x_setup(), self.problem.y_setup());
        let part = |d: f64, rate: f64| if rate > 0.0 { d / rate } else { 0.0 };
        part(sx.divergence(z.0, w.0), self.rates.0) + part(sy.divergence(z.1, w.1), self.rates.1)
    }

    /// The averages so far, or the current point before the first step.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        let (t, (ax, ay)) = (&self.trail, &mut self.average);
        if t.weight > 0.0 {
            ax.iter_mut().zip(&t.sum_x).for_each(|(a, s)| *a = s / t.weight);
            ay.iter_mut().zip(&t.sum_y).for_each(|(a, s)| *a = s / t.weight);
        } else {
            ax.copy_from_slice(&self.x);
            ay.copy_from_slice(&self.y);
        }
        self.problem.x_setup().contain(ax);
        self.problem.y_setup().contain(ay);
        (ax, ay)
    }

    pub(crate) fn certify(&mut self) -> Certificate {
        self.averages();
        let certificate = self.problem.certificate(&self.average.0, &self.average.1);
        if let Certificate::Gap { lower_bound, .. } = certificate
            && self.bound.as_ref().is_none_or(|(best, _)| lower_bound > *best)
        {
            self.bound = Some((lower_bound, self.average.1.clone()));
        }
        certificate
    }

    pub(crate) fn keep(&mut self) {
        let (x, y) = self.average.clone();
        self.best = Some((x, y, self.trail.clone()));
    }

    pub(crate) fn restore(&mut self) {
        if let Some((x, y, trail)) = self.best.take() {
            (self.average, self.trail) = ((x, y), trail);
            self.points();
        }
    }

    /// The final state. Its `y` is the one whose lower bound is part of the reported gap.
    pub(crate) fn state(mut self) -> SaddleState {
        self.averages();
        let y = self.bound.map_or(self.average.1, |(_, y)| y);
        SaddleState { x: self.average.0, y, trail: Some(self.trail) }
    }
}

/// An iterate with one step size for both blocks, which is given or found by a line search. Mirror prox and mirror
/// PDHG use it.
pub(crate) struct Stepped<'a> {
    pub(crate) walk: Walk<'a>,
    pub(crate) gamma: f64,
    pub(crate) search: bool,
    products: u64,
}

impl<'a> Stepped<'a> {
    /// The step of the theory is `1/(2a)`. A line search begins with the same step.
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        step: StepSize,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let theory = 0.5 / problem.scale();
        let search = step == StepSize::Backtracking;
        let gamma = if search { theory } else { step.resolve(theory)? };
        if !(gamma < f64::INFINITY) {
            let expected = "a finite number > 0; are the data that small?";
            return Err(Invalid::Parameter { name: "step", value: gamma, expected }.into());
        }
        let walk = Walk::new(problem, start)?;
        let gamma = walk.trail.step.filter(|_| search).unwrap_or(gamma);
        Ok(Stepped { walk, gamma, search, products: 0 })
    }

    /// Makes iterations until the given number of passes is done. An iteration returns the number of products that it
    /// computed. Two products are one field and one pass.
    pub(crate) fn advance(
        &mut self,
        passes: f64,
        mut iterate: impl FnMut(&mut Self) -> u64,
    ) -> f64 {
        let before = self.products;
        loop {
            let products = iterate(self);
            self.products += products;
            let done = 0.5 * (self.products - before) as f64;
            if done >= passes - 1e-9 {
                return done;
            }
        }
    }

    /// Adds the current point to the average. Points of longer steps have larger weights.
    pub(crate) fn accumulate(&mut self, gamma: f64) {
        self.walk.accumulate(if self.search { gamma } else { 1.0 });
        self.walk.trail.steps += 1;
    }

    /// Products so far.
    pub(crate) fn products(&self) -> u64 {
        self.products
    }

    /// The final state, with the step that a continued run would use.
    pub(crate) fn state(mut self) -> SaddleState {
        self.walk.trail.step = self.search.then_some(self.gamma);
        self.walk.state()
    }
}

/// `<new - old, x - next>`: the change of a field along a move.
pub(crate) fn along((new, old): (&[f64], &[f64]), (x, next): (&[f64], &[f64])) -> f64 {
    let pairs = new.iter().zip(old).zip(x.iter().zip(next));
    pairs.map(|((new, old), (x, next))| (new - old) * (x - next)).sum()
}
