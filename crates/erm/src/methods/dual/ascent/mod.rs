//! The coordinate step and the state that all dual methods share.

mod batch;
mod checks;
mod keep;
mod pace;

use fenchel_linalg::{Design, multiply_transposed};
use fenchel_optim::Refusal;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Certificate, Loss, Regulariser, Separable};

use super::batches::{Batches, of_minibatches};
use super::state::DualState;
use super::tail::Tail;
use crate::gap::Gap;
use crate::methods::REFRESH;
use crate::methods::order::{Score, check_dual as check_order, dual_visits};
use crate::origin::origin;
use crate::{Error, Point, Problem};

use checks::check_dual;
pub(crate) use checks::{bias_weight, check_strength};
pub(super) use keep::copied;
pub use pace::SdcaStep;
pub(super) use pace::{Move, Pace};

/// The intercept as a coordinate with a proximal term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bias {
    value: f64,
    centre: f64,
    weight: f64,
}

/// `mu n + L_j`
pub(super) fn importance_weights<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
) -> Vec<f64> {
    let floor = problem.strong_convexity() * problem.n() as f64;
    (0..problem.n()).map(|j| floor + problem.term_smoothness(j)).collect()
}

/// The state of dual coordinate ascent: dual variables, their sum, a proximal centre, and the kind of step.
///
/// With an unpenalised intercept, the dual variables must satisfy `sum_i s_i = 0`, which single coordinate steps
/// cannot preserve. Therefore the intercept `b` has a proximal term `(weight/2) (b - centre)^2`, whose centre is
/// updated after every pass. This is the proximal point method in one variable.
#[derive(Debug, Clone)]
pub(super) struct Ascent<'p, 'a, D, L, R> {
    pub(super) problem: &'p Problem<'a, D, L, R>,
    pub(super) state: DualState,
    step: Move,
    /// Weight of the proximal centre, 0 for none.
    kappa: f64,
    centre: Vec<f64>,
    /// `v`
    direction: Vec<f64>,
    /// `l2 + kappa`
    l2: f64,
    /// `mu`: the strong convexity with the proximal centre.
    strength: f64,
    /// `1 / (l2 + kappa)` and `1 / n`
    per_l2: f64,
    per_n: f64,
    /// One number per term: `q_j = ||a_j||^2 / (mu n)`, or the fraction `1 / (1 + gamma q_j)` of a constant step.
    curvatures: Vec<f64>,
    bias: Option<Bias>,
    /// The minibatches, if a step changes more than one row.
    batches: Option<Batches>,
    /// The number of single rows or of batches.
    terms: usize,
    visits: Visits,
    /// The score of the adaptive visiting orders, if the order is one of them.
    score: Option<Score>,
    steps: usize,
    /// Averages of the dual variables, for a loss that is not differentiable.
    tail: Option<Tail>,
    gap: Gap,
    /// Where the run began; for a loss without a curvature bound, the best point that was certified.
    begin: Point,
    /// The objective there for such a loss, infinite for others. Its points may overflow on the way of a monotone ascent: as long as
    /// they lie above the best one, certificates are of that one.
    ceiling: f64,
    /// The best state that was certified.
    pub(super) best: Option<DualState>,
    /// Whether the state was replaced by the best one, so that it does not match the other fields.
    pub(super) restored: bool,
}

impl<'p, 'a, D: Design, L: Loss, R: Separable> Ascent<'p, 'a, D, L, R> {
    pub(super) fn new(
        method: &'static str,
        problem: &'p Problem<'a, D, L, R>,
        kappa: f64,
        pace: impl Into<Pace>,
        order: &Order,
        seed: u64,
        start: Option<DualState>,
    ) -> Result<Self, Error> {
        problem.check_dual(method)?;
        let Pace { step, batch } = pace.into();
        let (n, d) = (problem.n(), problem.d());
        let mu = problem.strong_convexity() + kappa;
        if !(mu > 0.0) {
            return Err(Refusal::NeedsStrongConvexity { method }.into());
        }
        if matches!(step, Move::PerTerm | Move::Fraction(_)) {
            problem.check_smooth(method)?;
        }
        check_order(order, method, problem)?;
        let batches = Batches::new(method, problem, batch, order)?;
        if let Some(start) = &start {
            problem.check_start(&start.point)?;
            check_dual(problem, &start.dual)?;
        }
        let mut state = start.unwrap_or_else(|| {
            let smooth = problem.loss().curvature().is_finite();
            let point = if smooth { origin(problem) } else { Point::zero(d) };
            DualState::new(point, vec![0.0; n])
        });
        if !problem.intercept() {
            state.point.intercept = 0.0;
        }
        let bias = problem.intercept().then(|| Bias {
            value: state.point.intercept,
            centre: state.point.intercept,
            weight: bias_weight(mu, problem.mean_norm_squared(), problem.loss().curvature(), n),
        });
        let of_bias = bias.map_or(0.0, |bias| 1.0 / (bias.weight * n as f64));
        let curvature = |j: usize| problem.norm_squared(j) / (mu * n as f64) + of_bias;
        check_strength(mu, (0..n).map(curvature))?;
        let curvatures = (0..n).map(|j| match step {
            Move::PerTerm => 1.0 / (1.0 + problem.term_curvature(j) * curvature(j)),
            _ => curvature(j),
        });
        let curvatures = curvatures.collect();
        let terms = batches.as_ref().map_or(n, Batches::count);
        let visits = dual_visits(order, terms, seed, || importance_weights(problem));
        let mut visits = if batches.is_some() { visits.map_err(of_minibatches)? } else { visits? };
        // What another order or seed has left begins anew.
        let _ = state.place.take().is_some_and(|place| visits.go_to(&place));
        let mut ascent = Ascent {
            problem,
            centre: if kappa > 0.0 { state.point.weights.clone() } else { Vec::new() },
            begin: state.point.clone(),
            ceiling: f64::INFINITY,
            state,
            step,
            kappa,
            direction: vec![0.0; d],
            l2: problem.l2() + kappa,
            strength: mu,
            per_l2: 1.0 / (problem.l2() + kappa),
            per_n: 1.0 / n as f64,
            curvatures,
            bias,
            batches,
            terms,
            visits,
            score: Score::of(order),
            steps: 0,
            tail: None,
            gap: Gap::new(problem),
            best: None,
            restored: false,
        };
        if let Some(bias) = &mut ascent.bias {
            // The given intercept is where the run starts: put the centre where it makes it so.
            let mean = ascent.state.dual.iter().sum::<f64>() / n as f64;
            bias.centre = bias.value + mean / bias.weight;
        }
        ascent.refresh();
        if problem.loss().twice_differentiable() && !problem.loss().curvature().is_finite() {
            let Ascent { begin, gap, ceiling, .. } = &mut ascent;
            gap.primal(problem, begin);
            *ceiling = problem.objective_at(&gap.margins, &begin.weights);
        }
        Ok(ascent)
    }

    /// Starts to keep averages of the dual variables.
    pub(super) fn keep_averages(&mut self) {
        self.tail = Some(Tail::new(self.problem.n()));
    }

    pub(super) fn tail(&self) -> Option<&Tail> {
        self.tail.as_ref()
    }

    /// Recomputes `direction` from the dual variables, to remove the rounding errors of many small updates. O(nnz).
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

    /// The scores of all terms at the point that belongs to the dual variables. Half a pass.
    pub(super) fn scores(&mut self) -> Vec<f64> {
        let Some(score) = self.score else { return Vec::new() };
        self.read_point();
        let problem = self.problem;
        problem.margins(&self.state.point, &mut self.gap.margins);
        let terms = self.gap.margins.iter().zip(&self.state.dual).zip(&self.curvatures);
        let score_of = |(j, ((&t, &s), &stored)): (usize, ((&f64, &f64), &f64))| {
            let curvature = problem.term_curvature(j);
            let q = match self.step {
                Move::PerTerm => (1.0 / stored - 1.0) / curvature,
                _ => stored,
            };
            let residue = || (problem.derivative(j, t) - s).abs();
            let gap = || problem.value(j, t) + problem.conjugate(j, s) - s * t;
            score.from(residue, gap, curvature, q)
        };
        terms.enumerate().map(score_of).collect()
    }

    /// The number of steps that together cost a pass.
    pub(super) fn steps_a_pass(&self) -> f64 {
        self.terms as f64 / Score::cost(self.score)
    }

    /// Makes this number of steps.
    pub(super) fn make_steps(&mut self, steps: usize) {
        let n = self.terms;
        let mut left = steps;
        while left > 0 {
            let in_pass = self.steps % n;
            if in_pass == 0 && self.score.is_some() {
                let scores = self.scores();
                // As many scores as terms, none negative.
                let _ = self.visits.set_scores(&scores);
            }
            let run = left.min(n - in_pass);
            for _ in 0..run {
                let j = self.visits.draw();
                if self.batches.is_some() {
                    self.step_on_batch(j);
                } else {
                    self.step_on(j);
                }
            }
            (self.steps, left) = (self.steps + run, left - run);
            if self.steps.is_multiple_of(n) {
                self.end_pass();
            }
        }
    }

    /// Moves the centre of the intercept. Every [`REFRESH`] passes, it also removes the rounding errors of many small
    /// updates.
    fn end_pass(&mut self) {
        if self.steps == REFRESH * self.terms {
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

    /// The margin of row `j` at the point that belongs to the dual variables.
    #[inline(always)]
    fn margin(&self, j: usize) -> f64 {
        let (design, regulariser) = (self.problem.design(), self.problem.regulariser());
        let mut margin = if regulariser.is_zero() {
            design.row_dot(j, &self.direction) * self.per_l2
        } else {
            let (v, l2) = (&self.direction[..], self.l2);
            let mut sum = 0.0;
            design.row_entries(j, |c, a| sum += a * regulariser.conjugate_gradient(c, v[c], l2));
            sum
        };
        if let Some(bias) = &self.bias {
            margin += bias.value;
        }
        margin
    }

    /// A step on term `j`.
    #[inline]
    fn step_on(&mut self, j: usize) {
        let problem = self.problem;
        let margin = self.margin(j);
        let s = self.state.dual[j];
        let q = self.curvatures[j];
        let new = match self.step {
            Move::Exact => problem.dual_step(j, margin + q * s, q, margin),
            Move::Interval => problem.interval_step(j, margin + q * s, q, margin),
            Move::PerTerm => s + q * (problem.derivative(j, margin) - s),
            Move::Fraction(c) => s + c * (problem.derivative(j, margin) - s),
        };
        self.set(j, new);
    }

    /// Sets the dual variable of row `j`, with all that depends on it.
    #[inline(always)]
    fn set(&mut self, j: usize, new: f64) {
        let s = self.state.dual[j];
        let move_by = (new - s) * self.per_n;
        self.problem.design().row_axpy(j, -move_by, &mut self.direction);
        if let Some(bias) = &mut self.bias {
            bias.value -= move_by / bias.weight;
        }
        self.state.dual[j] = new;
        if let Some(tail) = &mut self.tail {
            tail.record(j, s);
            tail.mark(&self.state.dual);
        }
    }

    /// Computes the point that belongs to the dual variables. O(d).
    pub(super) fn read_point(&mut self) {
        let regulariser = self.problem.regulariser();
        for (c, (x, &v)) in self.state.point.weights.iter_mut().zip(&self.direction).enumerate() {
            *x = regulariser.conjugate_gradient(c, v, self.l2);
        }
        if let Some(bias) = &self.bias {
            self.state.point.intercept = bias.value;
        }
    }

    /// Moves the proximal centre without changing the dual variables. O(d).
    pub(super) fn move_centre(&mut self, to: &[f64]) {
        for ((v, y), new) in self.direction.iter_mut().zip(&mut self.centre).zip(to) {
            *v += self.kappa * (new - *y);
            *y = *new;
        }
    }

    pub(super) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// `F` at the point that was computed last. Half a pass.
    pub(super) fn objective(&mut self) -> f64 {
        self.problem.margins(&self.state.point, &mut self.gap.margins);
        self.problem.objective_at(&self.gap.margins, &self.state.point.weights)
    }

    /// Computes the point that belongs to given dual variables, and the gap of this pair. A pass and a half.
    pub(super) fn certify_dual(&mut self, dual: &[f64], point: &mut Point) -> Certificate {
        let (problem, n) = (self.problem, self.problem.n() as f64);
        multiply_transposed(problem.design(), dual, &mut point.weights);
        for (c, x) in point.weights.iter_mut().enumerate() {
            *x = problem.regulariser().conjugate_gradient(c, -*x / n, self.l2);
        }
        point.intercept = self.state.point.intercept;
        self.gap.with_dual(problem, point, dual, self.ceiling)
    }

    /// The gap between the current point and the current dual variables. Two half passes.
    pub(super) fn certify(&mut self) -> Certificate {
        if !self.restored {
            self.read_point();
        }
        let DualState { point, dual, .. } = &mut self.state;
        let certificate = self.gap.with_dual(self.problem, point, dual, self.ceiling);
        let lower = certificate.objective().filter(|found| *found < self.ceiling);
        if let Some(found) = lower.filter(|_| self.ceiling.is_finite()) {
            self.ceiling = found;
            self.begin.clone_from(&self.state.point);
        }
        certificate
    }
}
