//! The coordinate step and the state that all dual methods share.

use fenchel_linalg::{Design, Invalid, multiply_transposed};
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Certificate, Loss, Separable};
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// Passes between two computations of `v` from the dual variables.
const REFRESH: usize = 10;

/// How far a coordinate of the dual moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SdcaStep {
    /// To the maximum along the coordinate: exact without a regulariser, and exact for a quadratic lower
    /// bound of the dual with one. A handful of exponentials a step for the logistic loss.
    #[default]
    Exact,
    /// A fraction `mu n / (mu n + L_j)` of the way to the current derivative: one exponential a step,
    /// nearly as many passes. Smooth losses only.
    Constant,
}

/// The state of a dual method: the point and one dual variable a term. Ready for a warm start, which reads the
/// weights off the dual variables (and takes the intercept, and Catalyst its centre, from the point).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualState {
    /// The point.
    pub point: Point,
    /// The dual variables.
    pub dual: Vec<f64>,
}

/// Dual variables, their sum, a proximal centre, and the step.
///
/// An unpenalised intercept would force `sum_i s_i = 0`, which single coordinates cannot keep. It is
/// therefore a coordinate of its own with a proximal term `(weight/2) (b - centre)^2` whose centre
/// follows after every pass: the proximal point method in one variable.
#[derive(Debug, Clone)]
pub(super) struct Ascent<'p, 'a, D, L, R> {
    pub(super) problem: &'p Problem<'a, D, L, R>,
    pub(super) state: DualState,
    step: SdcaStep,
    /// Weight of the proximal centre, 0 for none.
    kappa: f64,
    centre: Vec<f64>,
    /// `v`
    direction: Vec<f64>,
    /// `l2 + kappa`
    l2: f64,
    /// Strong convexity of `(l2/2) ||x||^2 + h`.
    mu: f64,
    bias: Option<Bias>,
    visits: Visits,
    steps: usize,
    gap: Gap,
}

#[derive(Debug, Clone, Copy)]
struct Bias {
    value: f64,
    centre: f64,
    weight: f64,
}

impl<'p, 'a, D: Design, L: Loss, R: Separable> Ascent<'p, 'a, D, L, R> {
    pub(super) fn new(
        method: &'static str,
        problem: &'p Problem<'a, D, L, R>,
        kappa: f64,
        step: SdcaStep,
        order: &Order,
        seed: u64,
        start: Option<DualState>,
    ) -> Result<Self, Error> {
        let (n, d) = (problem.n(), problem.d());
        let mu = problem.strong_convexity() + kappa;
        if !(mu > 0.0) {
            return Err(Error::NeedsStrongConvexity { method });
        }
        if step == SdcaStep::Constant {
            problem.check_smooth(method)?;
        }
        let state =
            start.unwrap_or_else(|| DualState { point: Point::zero(d), dual: vec![0.0; n] });
        problem.check_point(&state.point)?;
        Invalid::check_length("dual", n, state.dual.len())?;
        Invalid::check_finite("dual", &state.dual)?;
        for (row, &s) in state.dual.iter().enumerate() {
            if problem.conjugate(row, s) == f64::INFINITY {
                let expected = "a dual variable in the domain of the conjugate for this target";
                return Err(Invalid::Label { row, value: s, expected }.into());
            }
        }
        let bias = problem.intercept().then(|| Bias {
            value: state.point.intercept,
            centre: state.point.intercept,
            weight: bias_weight(problem, mu),
        });
        let mut ascent = Ascent {
            problem,
            centre: if kappa > 0.0 { state.point.weights.clone() } else { Vec::new() },
            state,
            step,
            kappa,
            direction: vec![0.0; d],
            l2: problem.l2() + kappa,
            mu,
            bias,
            visits: Visits::new(order, n, seed)?,
            steps: 0,
            gap: Gap::new(problem),
        };
        if let Some(bias) = &mut ascent.bias {
            // The given intercept is where the run starts: put the centre where it makes it so.
            let mean = ascent.state.dual.iter().sum::<f64>() / n as f64;
            bias.centre = bias.value + mean / bias.weight;
        }
        ascent.refresh();
        Ok(ascent)
    }

    /// `direction` from the dual variables, without the rounding of many small updates. O(nnz).
    fn refresh(&mut self) {
        let n = self.problem.n() as f64;
        multiply_transposed(self.problem.design(), &self.state.dual, &mut self.direction);
        self.direction.iter_mut().for_each(|v| *v /= -n);
        for (v, y) in self.direction.iter_mut().zip(&self.centre) {
            *v += self.kappa * y;
        }
        if let Some(bias) = &mut self.bias {
            bias.value = bias.centre - self.state.dual.iter().sum::<f64>() / (n * bias.weight);
        }
    }

    /// Ascends on `steps` coordinates.
    pub(super) fn climb(&mut self, steps: usize) {
        for _ in 0..steps {
            self.climb_one();
            self.steps += 1;
            if self.steps.is_multiple_of(self.problem.n()) {
                if self.steps == REFRESH * self.problem.n() {
                    self.steps = 0;
                    self.refresh();
                }
                if let Some(bias) = &mut self.bias {
                    // Moving the centre moves the value by as much; the dual variables stay.
                    let shift = bias.value - bias.centre;
                    bias.centre += shift;
                    bias.value += shift;
                }
            }
        }
    }

    #[inline]
    fn climb_one(&mut self) {
        let j = self.visits.draw();
        let problem = self.problem;
        let (design, regulariser) = (problem.design(), problem.regulariser());
        let n = problem.n() as f64;
        let mut margin = if R::IDENTITY {
            design.row_dot(j, &self.direction) / self.l2
        } else {
            let (v, l2) = (&self.direction[..], self.l2);
            let mut sum = 0.0;
            design.row_entries(j, |c, a| sum += a * regulariser.conjugate_gradient(c, v[c], l2));
            sum
        };
        let mut q = problem.norm_squared(j) / (self.mu * n);
        if let Some(bias) = &self.bias {
            margin += bias.value;
            q += 1.0 / (bias.weight * n);
        }
        let s = self.state.dual[j];
        let new = match self.step {
            SdcaStep::Exact => problem.dual_step(j, margin + q * s, q, margin),
            SdcaStep::Constant => {
                s + (problem.derivative(j, margin) - s) / (1.0 + problem.term_curvature(j) * q)
            }
        };
        let move_by = (new - s) / n;
        design.row_axpy(j, -move_by, &mut self.direction);
        if let Some(bias) = &mut self.bias {
            bias.value -= move_by / bias.weight;
        }
        self.state.dual[j] = new;
    }

    /// Reads the point off the dual variables. O(d).
    pub(super) fn read_point(&mut self) {
        let regulariser = self.problem.regulariser();
        for (c, (x, &v)) in self.state.point.weights.iter_mut().zip(&self.direction).enumerate() {
            *x = regulariser.conjugate_gradient(c, v, self.l2);
        }
        if let Some(bias) = &self.bias {
            self.state.point.intercept = bias.value;
        }
    }

    /// Moves the proximal centre to `x + extrapolate (x - previous)`; the dual variables stay. O(d).
    pub(super) fn move_centre(&mut self, extrapolate: f64, previous: &[f64]) {
        let points = self.state.point.weights.iter().zip(previous);
        for ((v, y), (x, old)) in self.direction.iter_mut().zip(&mut self.centre).zip(points) {
            let new = x + extrapolate * (x - old);
            *v += self.kappa * (new - *y);
            *y = new;
        }
    }

    pub(super) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// The gap of the point against the dual variables themselves. Two half passes.
    pub(super) fn certify(&mut self) -> Certificate {
        self.read_point();
        self.gap.with_dual(self.problem, &mut self.state.point, &self.state.dual)
    }
}

/// Weight of the proximal term on the intercept: light enough to be followed in a pass or two, heavy
/// enough not to dominate the step sizes `q_j`, which it enters beside the norms of the rows.
fn bias_weight<D: Design, L: Loss, R: Separable>(problem: &Problem<'_, D, L, R>, mu: f64) -> f64 {
    let by_rows = 4.0 * mu / problem.mean_norm_squared().max(f64::MIN_POSITIVE);
    let by_terms = 4.0 * problem.loss().curvature() / problem.n() as f64;
    by_rows.min(by_terms).max(1e-12)
}
