//! The problems of PDHG, and their steps: in the general implementation or in the problem's own.

use fenchel_optim::Certificate;

/// A bilinear problem `min_x max_y y'Kx + <c, x> + <b, y> + g(x) - h(y)` with proximal maps in closed form.
pub trait Bilinear {
    /// Lengths of `x` and `y`.
    fn dimensions(&self) -> (usize, usize);

    /// `K'y + c`.
    fn grad_x(&self, y: &[f64], out: &mut [f64]);

    /// `-(K x + b)`.
    fn grad_y(&self, x: &[f64], out: &mut [f64]);

    /// `argmin g(x) + norm(x - z)^2 / (2 tau)`, in place.
    fn prox_x(&self, z: &mut [f64], tau: f64);

    /// `argmin h(y) + norm(y - z)^2 / (2 sigma)`, in place.
    fn prox_y(&self, z: &mut [f64], sigma: f64);

    /// An upper bound on the spectral norm of `K`, as sharp as possible.
    fn norm(&self) -> f64;

    /// The certificate of a pair.
    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate;

    /// Returns a nearby pair that may be much better, for instance the solution of the equations of the active
    /// constraints. PDHG accepts it only if its certificate is better.
    fn polished(&self, _x: &[f64], _y: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        None
    }

    /// The problem's own implementation of a step, which may use that rows of `x` are 0. It must make the same
    /// iterates, up to rounding errors.
    fn steps(&self) -> Option<Box<dyn Steps + '_>> {
        None
    }

    /// The ratio of the sizes of `y` and `x`, if the data suggest one: steps of these sizes suit data of any unit.
    /// It must be a positive finite number.
    fn balance(&self) -> f64 {
        1.0
    }

    /// A feasible start.
    fn start(&self) -> (Vec<f64>, Vec<f64>) {
        let (dx, dy) = self.dimensions();
        let (mut x, mut y) = (vec![0.0; dx], vec![0.0; dy]);
        self.prox_x(&mut x, 1.0);
        self.prox_y(&mut y, 1.0);
        (x, y)
    }
}

/// The implementation of the steps of [`pdhg`](fn@crate::methods::pdhg).
pub trait Steps {
    /// Makes one step of each block.
    fn step(&mut self, pair: Pair<'_>, tau: f64, sigma: f64);

    /// Is called if the pair is no longer the result of the last step.
    fn jumped(&mut self) {}

    /// The number of multiply-adds of all steps so far, for comparisons of methods. It is `None` if they are not
    /// counted.
    fn operations(&self) -> Option<u64> {
        None
    }
}

/// The vectors that a step changes.
#[derive(Debug)]
pub struct Pair<'a> {
    /// The minimising block.
    pub x: &'a mut [f64],
    /// The maximising block.
    pub y: &'a mut [f64],
    /// The sum of `x` since the last restart. A step adds the new `x` to it.
    pub sum_x: &'a mut [f64],
    /// The sum of `y` since the last restart.
    pub sum_y: &'a mut [f64],
}

/// The general implementation: two products and two proximal maps.
pub(crate) struct Plain<'a> {
    problem: &'a dyn Bilinear,
    gx: Vec<f64>,
    gy: Vec<f64>,
    extra: Vec<f64>,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(problem: &'a dyn Bilinear) -> Self {
        let (dx, dy) = problem.dimensions();
        Plain { problem, gx: vec![0.0; dx], gy: vec![0.0; dy], extra: vec![0.0; dx] }
    }
}

impl Steps for Plain<'_> {
    fn step(&mut self, pair: Pair<'_>, tau: f64, sigma: f64) {
        let Pair { x, y, sum_x, sum_y } = pair;
        self.problem.grad_x(y, &mut self.gx);
        self.extra.copy_from_slice(x);
        x.iter_mut().zip(&self.gx).for_each(|(x, g)| *x -= tau * g);
        self.problem.prox_x(x, tau);
        self.extra.iter_mut().zip(&*x).for_each(|(old, new)| *old = 2.0 * new - *old);
        self.problem.grad_y(&self.extra, &mut self.gy);
        y.iter_mut().zip(&self.gy).for_each(|(y, g)| *y -= sigma * g);
        self.problem.prox_y(y, sigma);
        sum_x.iter_mut().zip(x).for_each(|(s, x)| *s += *x);
        sum_y.iter_mut().zip(y).for_each(|(s, y)| *s += *y);
    }
}
