//! What all mirror methods share: iterates in the coordinates of the setups, the joint step of both blocks, the average,
//! and the certificates.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, StepSize};

use crate::Error;
use crate::problem::{Resume, SaddleProblem, SaddleState, Sums};
use crate::setup::Setup;

/// A block of an iterate: the point, and the coordinates in which its setup stores it.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) coordinates: Vec<f64>,
    pub(crate) point: Vec<f64>,
}

impl Block {
    fn new(setup: &dyn Setup, coordinates: Vec<f64>) -> Self {
        let mut point = vec![0.0; setup.dimension()];
        setup.point(&coordinates, &mut point);
        Block { coordinates, point }
    }
}

/// An iterate `w = (x, y)`.
#[derive(Clone)]
pub(crate) struct Iterate {
    pub(crate) x: Block,
    pub(crate) y: Block,
}

/// The field `(grad_x f, -grad_y f)` at an iterate.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
}

/// A pair of points for an oracle, with the coordinates in which the setups store them.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The minimising block.
    pub x: &'a [f64],
    /// The maximising block.
    pub y: &'a [f64],
    /// Coordinates of the minimising block.
    pub x_coordinates: &'a [f64],
    /// Coordinates of the maximising block.
    pub y_coordinates: &'a [f64],
}

/// Unbiased estimates of the field of a problem.
pub trait Oracle {
    /// Writes an estimate of the field at a pair. Every call uses new random numbers.
    fn draw(&mut self, at: &At, gx: &mut [f64], gy: &mut [f64]);

    /// `s`, with `s^2 = Omega_x var(gx) + Omega_y var(gy)` in the dual norms: the noise of the estimates.
    fn noise(&self) -> f64;

    /// The cost of an estimate, in passes over the data.
    fn passes(&self) -> f64;
}

/// The joint geometry of both blocks: `D(z, w) = D_x / rate_x + D_y / rate_y`.
pub(crate) struct Joint<'a> {
    pub(crate) problem: &'a dyn SaddleProblem,
    rates: (f64, f64),
}

impl Joint<'_> {
    /// `to = argmin_w <field, w> + D(w, from) / gamma`.
    pub(crate) fn step(&self, from: &Iterate, field: &Field, gamma: f64, to: &mut Iterate) {
        self.step_x(&from.x, &field.x, gamma, &mut to.x);
        self.step_y(&from.y, &field.y, gamma, &mut to.y);
    }

    pub(crate) fn step_x(&self, from: &Block, gradient: &[f64], gamma: f64, to: &mut Block) {
        step(self.problem.x_setup(), from, gradient, gamma * self.rates.0, to);
    }

    pub(crate) fn step_y(&self, from: &Block, gradient: &[f64], gamma: f64, to: &mut Block) {
        step(self.problem.y_setup(), from, gradient, gamma * self.rates.1, to);
    }

    pub(crate) fn divergence(&self, z: (&Block, &Block), w: (&Block, &Block)) -> f64 {
        let part = |setup: &dyn Setup, z: &Block, w: &Block, rate: f64| {
            let divergence = setup.divergence(&z.coordinates, &w.coordinates);
            if rate > 0.0 { divergence / rate } else { 0.0 }
        };
        part(self.problem.x_setup(), z.0, w.0, self.rates.0)
            + part(self.problem.y_setup(), z.1, w.1, self.rates.1)
    }

    /// Writes the field at an iterate, or an estimate of it. Returns its cost in passes.
    pub(crate) fn field(
        &self,
        oracle: &mut Option<&mut dyn Oracle>,
        at: &Iterate,
        field: &mut Field,
    ) -> f64 {
        let (x, y) = (&at.x.point[..], &at.y.point[..]);
        match oracle {
            None => {
                self.problem.field(x, y, &mut field.x, &mut field.y);
                1.0
            }
            Some(oracle) => {
                let (x_coordinates, y_coordinates) = (&at.x.coordinates[..], &at.y.coordinates[..]);
                let at = At { x, y, x_coordinates, y_coordinates };
                oracle.draw(&at, &mut field.x, &mut field.y);
                oracle.passes()
            }
        }
    }
}

fn step(setup: &dyn Setup, from: &Block, gradient: &[f64], eta: f64, to: &mut Block) {
    to.coordinates.copy_from_slice(&from.coordinates);
    setup.step(&mut to.coordinates, gradient, eta);
    setup.point(&to.coordinates, &mut to.point);
}

/// `<new - old, from - to>`: the change of a field along a move.
pub(crate) fn along(new: &[f64], old: &[f64], from: &Block, to: &Block) -> f64 {
    let moves = from.point.iter().zip(&to.point);
    new.iter().zip(old).zip(moves).map(|((new, old), (from, to))| (new - old) * (from - to)).sum()
}

/// The rule of the step `gamma`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Constant(f64),
    /// `gamma / sqrt(t)` in step `t`.
    Decaying(f64),
    /// The step with which the next line search begins.
    Searched(f64),
}

impl Step {
    /// `theory` is also where a line search begins.
    pub(crate) fn new(step: StepSize, theory: f64) -> Result<Self, Error> {
        let search = step == StepSize::Backtracking;
        let gamma = if search { theory } else { step.resolve(theory)? };
        if !(gamma < f64::INFINITY) {
            let expected = "a finite number > 0; are the data that small?";
            return Err(Invalid::Parameter { name: "step", value: gamma, expected }.into());
        }
        Ok(if search { Step::Searched(gamma) } else { Step::Constant(gamma) })
    }

    /// The step of a theorem for `horizon` steps. Without one it decays, unless it is given as a number.
    pub(crate) fn for_horizon(
        step: StepSize,
        theory: f64,
        horizon: Option<u64>,
    ) -> Result<Self, Error> {
        let gamma = step.resolve(theory)?;
        let constant = matches!(step, StepSize::Constant(_)) || horizon.is_some();
        Ok(if constant { Step::Constant(gamma) } else { Step::Decaying(gamma) })
    }

    pub(crate) fn at(self, t: u64) -> f64 {
        match self {
            Step::Constant(gamma) | Step::Searched(gamma) => gamma,
            Step::Decaying(gamma) => gamma / (t as f64).sqrt(),
        }
    }

    /// The weight of a point in the average: the step, where steps differ.
    pub(crate) fn weight(self, gamma: f64) -> f64 {
        if matches!(self, Step::Constant(_)) { 1.0 } else { gamma }
    }
}

/// Points of both blocks.
type Points = (Vec<f64>, Vec<f64>);

/// The state of a mirror method: its iterate, and the average that it returns.
pub(crate) struct Mirror<'a> {
    pub(crate) joint: Joint<'a>,
    pub(crate) now: Iterate,
    sums: Sums,
    /// The step that the line search of an earlier run has reached.
    reached: Option<f64>,
    average: Points,
    /// The certified `y` with the best lower bound, and the bound.
    bound: Option<(f64, Vec<f64>)>,
    best: Option<(Points, Iterate, Sums)>,
}

impl<'a> Mirror<'a> {
    pub(crate) fn new(
        problem: &'a dyn SaddleProblem,
        start: Option<SaddleState>,
    ) -> Result<Self, Error> {
        let (sx, sy) = (problem.x_setup(), problem.y_setup());
        let (dx, dy) = (sx.dimension(), sy.dimension());
        let (mut x, mut y) = (vec![0.0; sx.coordinates()], vec![0.0; sy.coordinates()]);
        let mut sums = Sums { x: vec![0.0; dx], y: vec![0.0; dy], weight: 0.0, steps: 0 };
        let mut reached = None;
        match start {
            None => {
                sx.centre(&mut x);
                sy.centre(&mut y);
            }
            Some(state) => {
                Invalid::check_length("start.x", dx, state.x.len())?;
                Invalid::check_length("start.y", dy, state.y.len())?;
                Invalid::check_finite("start.x", &state.x)?;
                Invalid::check_finite("start.y", &state.y)?;
                let fits = |r: &Resume| {
                    (r.x.len(), r.y.len()) == (x.len(), y.len())
                        && (r.sums.x.len(), r.sums.y.len()) == (dx, dy)
                };
                match state.resume.filter(fits) {
                    Some(resume) => {
                        (x, y, sums, reached) = (resume.x, resume.y, resume.sums, resume.step);
                    }
                    None => {
                        sx.place(&state.x, &mut x);
                        sy.place(&state.y, &mut y);
                    }
                }
            }
        }
        let now = Iterate { x: Block::new(sx, x), y: Block::new(sy, y) };
        Ok(Mirror {
            joint: Joint { problem, rates: (2.0 * sx.radius(), 2.0 * sy.radius()) },
            average: (now.x.point.clone(), now.y.point.clone()),
            now,
            sums,
            reached,
            bound: None,
            best: None,
        })
    }

    /// Multiplies the lengths of the steps of both blocks, which are `2 Omega gamma` for the balanced potential.
    pub(crate) fn scale_rates(&mut self, x: f64, y: f64) {
        self.joint.rates = (self.joint.rates.0 * x, self.joint.rates.1 * y);
    }

    /// Replaces the balanced potential by another one.
    pub(crate) fn set_rates(&mut self, x: f64, y: f64) {
        self.joint.rates = (x, y);
    }

    /// A line search goes on with the step that an earlier run has reached.
    pub(crate) fn continued(&self, step: Step) -> Step {
        match (step, self.reached) {
            (Step::Searched(_), Some(reached)) => Step::Searched(reached),
            _ => step,
        }
    }

    /// An empty field.
    pub(crate) fn no_field(&self) -> Field {
        Field { x: vec![0.0; self.now.x.point.len()], y: vec![0.0; self.now.y.point.len()] }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.sums.steps
    }

    /// Adds a point to the average, and counts a step.
    pub(crate) fn accumulate(&mut self, weight: f64, at: Option<&Iterate>) {
        let (at, sums) = (at.unwrap_or(&self.now), &mut self.sums);
        sums.x.iter_mut().zip(&at.x.point).for_each(|(s, x)| *s += weight * x);
        sums.y.iter_mut().zip(&at.y.point).for_each(|(s, y)| *s += weight * y);
        sums.weight += weight;
        sums.steps += 1;
    }

    /// The averages so far, or the current point before the first step.
    pub(crate) fn averages(&mut self) -> (&[f64], &[f64]) {
        let (sums, (x, y)) = (&self.sums, &mut self.average);
        if sums.weight > 0.0 {
            x.iter_mut().zip(&sums.x).for_each(|(a, s)| *a = s / sums.weight);
            y.iter_mut().zip(&sums.y).for_each(|(a, s)| *a = s / sums.weight);
        } else {
            x.copy_from_slice(&self.now.x.point);
            y.copy_from_slice(&self.now.y.point);
        }
        self.joint.problem.x_setup().contain(x);
        self.joint.problem.y_setup().contain(y);
        (x, y)
    }

    pub(crate) fn certify(&mut self) -> Certificate {
        self.averages();
        let certificate = self.joint.problem.certificate(&self.average.0, &self.average.1);
        if let Certificate::Gap { lower_bound, .. } = certificate
            && self.bound.as_ref().is_none_or(|(best, _)| lower_bound > *best)
        {
            self.bound = Some((lower_bound, self.average.1.clone()));
        }
        certificate
    }

    pub(crate) fn keep(&mut self) {
        self.best = Some((self.average.clone(), self.now.clone(), self.sums.clone()));
    }

    pub(crate) fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            (self.average, self.now, self.sums) = best;
        }
    }

    /// The final state, with the step that a continued run would use. Its `y` is the one whose lower bound is part of the
    /// reported gap.
    pub(crate) fn state(mut self, step: Step) -> SaddleState {
        self.averages();
        let y = self.bound.map_or(self.average.1, |(_, y)| y);
        let step = if let Step::Searched(gamma) = step { Some(gamma) } else { None };
        let Iterate { x: at_x, y: at_y } = self.now;
        let (at_x, at_y) = (at_x.coordinates, at_y.coordinates);
        let resume = Some(Resume { x: at_x, y: at_y, sums: self.sums, step });
        SaddleState { x: self.average.0, y, resume }
    }
}

/// Makes iterations, each of which returns its cost in passes, until so many passes are done.
pub(crate) fn repeat(passes: f64, mut iterate: impl FnMut() -> f64) -> f64 {
    let mut done = 0.0;
    loop {
        done += iterate();
        if done >= passes - 1e-9 {
            return done;
        }
    }
}
