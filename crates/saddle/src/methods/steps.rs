//! A step of PDHG, in the general implementation or in the problem's own.

use crate::methods::pdhg::Bilinear;

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
