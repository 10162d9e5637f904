//! The common part of L-BFGS and OWL-QN.

use fenchel_linalg::vectors::in_runs;

use super::memory::{Memory, norm};
use super::smooth::{LbfgsState, Smooth};

/// Steps without a lower value or a smaller gradient after which the method stalls. As long as values differ by more than
/// rounding, every step lowers them.
const IDLE: u32 = 30;

/// The current point and the stored pairs.
pub(super) struct Descent<S> {
    pub(super) function: S,
    pub(super) memory: Memory,
    /// The initial matrix of the recursion, up to a multiple.
    pub(super) diagonal: Option<Vec<f64>>,
    pub(super) x: Vec<f64>,
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) trial: Vec<f64>,
    pub(super) trial_gradient: Vec<f64>,
    pub(super) direction: Vec<f64>,
    pub(super) evaluations: u64,
    /// Number of evaluations that `advance` has reported.
    reported: u64,
    /// Passes other than evaluations that are not reported yet.
    beside: f64,
    /// The lowest value and the smallest gradient so far, and the number of steps since one of them improved.
    lowest: f64,
    smallest: f64,
    idle: u32,
    pub(super) stalled: bool,
}

/// A method that moves a [`Descent`].
pub(super) trait Downhill {
    type Function: Smooth;

    fn descent(&mut self) -> &mut Descent<Self::Function>;

    /// Finds a direction and makes a line search. Returns true if the trial point is lower; its value is then in `value`.
    fn try_step(&mut self) -> bool;

    /// Moves to the trial point. Returns the gradient that must vanish at a solution.
    fn accept(&mut self) -> &[f64];
}

/// Advances by about the given number of evaluations, and by at least one step.
pub(super) fn advance<M: Downhill>(method: &mut M, passes: f64) -> f64 {
    // The evaluation at the start is part of the first budget, and every call moves once at least.
    while !method.descent().stalled {
        if method.try_step() {
            let size = norm(method.accept());
            method.descent().judge(size);
        } else {
            let descent = method.descent();
            if descent.memory.is_empty() {
                descent.stalled = true;
            } else {
                // The model may be to blame: try once more along the gradient.
                descent.memory.clear();
                continue;
            }
        }
        let descent = method.descent();
        if (descent.evaluations - descent.reported) as f64 >= passes {
            break;
        }
    }
    method.descent().account()
}

impl<S: Smooth> Descent<S> {
    /// A start. `penalty` is added to the value of the function there.
    pub(super) fn new(mut function: S, memory: usize, start: LbfgsState, penalty: f64) -> Self {
        let LbfgsState { point: x, memory: kept } = start;
        let d = x.len();
        let mut gradient = vec![0.0; d];
        let value = function.value_gradient(&x, &mut gradient) + penalty;
        let diagonal = function.inverse_diagonal();
        let memory = if kept.fits(memory, d) { kept } else { Memory::new(memory) };
        Descent {
            beside: if diagonal.is_some() { 0.5 } else { 0.0 },
            diagonal,
            function,
            memory,
            x,
            value,
            gradient,
            trial: vec![0.0; d],
            trial_gradient: vec![0.0; d],
            direction: vec![0.0; d],
            evaluations: 1,
            reported: 0,
            lowest: value,
            smallest: f64::INFINITY,
            idle: 0,
            stalled: false,
        }
    }

    /// The passes since the last call.
    fn account(&mut self) -> f64 {
        let done = self.evaluations - self.reported;
        self.reported = self.evaluations;
        done as f64 + std::mem::take(&mut self.beside)
    }

    /// The state to return.
    pub(super) fn into_state(self) -> LbfgsState {
        LbfgsState { point: self.x, memory: self.memory }
    }

    /// Evaluates the function at the trial point.
    pub(super) fn try_point(&mut self) -> (f64, &[f64]) {
        self.evaluations += 1;
        let value = self.function.value_gradient(&self.trial, &mut self.trial_gradient);
        (value, &self.trial_gradient)
    }

    /// The length of the first step. Before the first pair, when the scale is unknown, the point moves by 1; if the value cannot show
    /// that, as far as the slope leads from the value to 0.
    pub(super) fn first_step(&self, slope: f64) -> f64 {
        if !self.memory.is_empty() {
            return 1.0;
        }
        let unit = 1.0 / norm(&self.direction).max(1e-300);
        let visible = -slope * unit > f64::EPSILON * self.value.abs();
        if visible { unit } else { (self.value / slope).abs() }
    }

    /// Moves to the accepted trial point and stores the pair.
    pub(super) fn accept(&mut self) {
        self.memory.push(&self.x, &self.trial, &self.gradient, &self.trial_gradient);
        std::mem::swap(&mut self.x, &mut self.trial);
        std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
    }

    /// Marks the run as stalled if neither the value nor the gradient, of norm `size`, improves any more.
    fn judge(&mut self, size: f64) {
        let improved = self.value < self.lowest || size < self.smallest;
        self.lowest = self.lowest.min(self.value);
        self.smallest = self.smallest.min(size);
        self.idle = if improved { 0 } else { self.idle + 1 };
        self.stalled = self.idle >= IDLE;
    }
}

/// Writes `r = -H g` with the stored pairs.
pub(super) fn quasi_newton(memory: &Memory, diagonal: Option<&[f64]>, g: &[f64], r: &mut [f64]) {
    in_runs(r, |range, r| r.iter_mut().zip(&g[range]).for_each(|(r, g)| *r = -g));
    match diagonal {
        Some(diagonal) => memory.apply_scaled(r, diagonal),
        None => memory.apply(r, None),
    }
}
