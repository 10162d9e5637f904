//! The dual step on the distribution of one term, and the state that SDCA and Catalyst share.

use fenchel_linalg::special::{log_sum_exp, softmax};
use fenchel_linalg::{Design, Invalid};
use fenchel_optim::Refusal;
use fenchel_optim::random::Visits;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Regulariser, Report, Separable, Solution, Status, Stop,
};

use super::gap::Gap;
use super::problem::{CURVATURE, MulticlassPoint, MulticlassProblem};
use super::product::{add_row, multiply_transposed_rows, row_scores};
use super::sdca::MulticlassSettings;
use super::state::{Bias, MulticlassState, expand, mean_dual, reduce};
use super::step::{SoftmaxStep, exact_step, interval_step};
use crate::Error;
use crate::methods::REFRESH;
use crate::methods::dual::{Momentum, bias_weight, check_strength};
use crate::methods::order::{Score, check_adaptive, dual_visits};

/// Stochastic dual coordinate ascent with one distribution per term, as an observer of [`sdca`](super::sdca()) or
/// [`catalyst`](super::catalyst()) receives it.
#[derive(Debug, Clone)]
pub struct MulticlassAscent<'p, 'a, D, R> {
    /// Where the run began.
    begin: MulticlassPoint,
    problem: &'p MulticlassProblem<'a, D, R>,
    state: MulticlassState,
    step: SoftmaxStep,
    kappa: f64,
    centre: Vec<f64>,
    momentum: Momentum,
    /// `v = kappa y - (1/n) A'u`, `u_i = c_i (p_i - e_y)`
    direction: Vec<f64>,
    /// `l2 + kappa`
    l2: f64,
    bias: Option<Bias>,
    /// `q_j = ||a_j||^2 / (mu n)`, plus the contribution of the intercepts.
    curvatures: Vec<f64>,
    visits: Visits,
    score: Option<Score>,
    steps: usize,
    cold: bool,
    scratch: Scratch,
    gap: Gap,
    /// The best state that was certified.
    best: Option<MulticlassState>,
    /// Whether the state was replaced by the best one, so that it does not match the other fields.
    restored: bool,
}

#[derive(Debug, Clone)]
struct Scratch {
    scores: Vec<f64>,
    removed: Vec<f64>,
    old: Vec<f64>,
    new: Vec<f64>,
}

/// `c_j = 1 + L_j / (n mu)`
fn conditions<D: Design, R: Regulariser>(
    problem: &MulticlassProblem<'_, D, R>,
    curvatures: &[f64],
) -> Vec<f64> {
    let of_term = |(j, q): (usize, &f64)| 1.0 + CURVATURE * problem.term_weight(j) * q;
    curvatures.iter().enumerate().map(of_term).collect()
}

impl<'p, 'a, D: Design, R: Separable> MulticlassAscent<'p, 'a, D, R> {
    pub(super) fn new(
        method: &'static str,
        problem: &'p MulticlassProblem<'a, D, R>,
        kappa: f64,
        settings: &MulticlassSettings,
        start: Option<MulticlassState>,
    ) -> Result<Self, Error> {
        let (n, d, r) = (problem.n(), problem.d(), problem.classes());
        let mu = problem.strong_convexity() + kappa;
        if !(mu > 0.0) {
            return Err(Refusal::NeedsStrongConvexity { method }.into());
        }
        check_adaptive(&settings.order, method)?;
        let cold = start.is_none();
        let mut state = start.unwrap_or_else(|| {
            MulticlassState::new(MulticlassPoint::zero(d, r), vec![0.0; n * (r - 1)])
        });
        problem.check_start(&state.point)?;
        Invalid::check_length("dual", n * (r - 1), state.dual.len())?;
        for (row, p) in state.dual.chunks_exact(r - 1).enumerate() {
            let sum: f64 = p.iter().sum();
            if !(sum <= 1.0 + 1e-12 && p.iter().all(|&p| p >= 0.0)) {
                let reason = format!(
                    "row {row} has a sum of {sum}; expected the probabilities of the wrong classes, >= 0, with a sum up to 1"
                );
                return Err(Invalid::Layout { what: "dual", reason }.into());
            }
        }
        let bias = problem.intercepts().then(|| Bias {
            values: state.point.intercepts.clone(),
            centres: state.point.intercepts.clone(),
            weight: bias_weight(mu, problem.mean_norm_squared(), CURVATURE, n),
        });
        let scratch = || vec![0.0; r];
        let of_bias = bias.as_ref().map_or(0.0, |bias| 1.0 / (bias.weight * n as f64));
        let curvatures =
            (0..n).map(|j| problem.norm_squared(j) / (mu * n as f64) + of_bias).collect::<Vec<_>>();
        check_strength(mu, curvatures.iter().copied())?;
        let weights = || conditions(problem, &curvatures);
        let mut visits = dual_visits(&settings.order, n, settings.seed, weights)?;
        let _ = state.place.take().is_some_and(|place| visits.go_to(&place));
        let mut ascent = MulticlassAscent {
            problem,
            centre: if kappa > 0.0 { state.point.weights.clone() } else { Vec::new() },
            begin: state.point.clone(),
            momentum: Momentum::new(problem.strong_convexity() / mu, state.point.weights.clone()),
            state,
            step: settings.step,
            kappa,
            direction: vec![0.0; d * r],
            l2: problem.l2() + kappa,
            bias,
            curvatures,
            visits,
            score: Score::of(&settings.order),
            steps: 0,
            cold,
            scratch: Scratch {
                scores: scratch(),
                removed: scratch(),
                old: scratch(),
                new: scratch(),
            },
            gap: Gap::new(problem),
            best: None,
            restored: false,
        };
        if let Some(bias) = &mut ascent.bias {
            // The given intercepts are where the run starts: put the centres where they make it so.
            let mean = mean_dual(problem, &ascent.state.dual);
            for (centre, mean) in bias.centres.iter_mut().zip(mean) {
                *centre += mean / bias.weight;
            }
        }
        ascent.refresh();
        Ok(ascent)
    }

    /// Ends a run: at the point where it began, if no lower one was found. Half a pass, but after a cold start that has converged.
    pub(super) fn end(mut self, report: Report, stop: &Stop) -> Solution<MulticlassState> {
        let mut report = report;
        let MulticlassAscent { problem, gap, begin, state, visits, .. } = &mut self;
        let cold = begin.weights.iter().all(|w| *w == 0.0);
        if !(cold && report.status == Status::Converged) {
            let objective = problem.settle(gap, begin);
            let lower = |found: f64| objective < found - 16.0 * f64::EPSILON * found.abs();
            if objective.is_finite() && report.certificate.objective().is_none_or(lower) {
                report.certificate = match report.certificate {
                    Certificate::Gap { lower_bound, .. } => {
                        Certificate::gap(objective, lower_bound)
                    }
                    _ => problem.certificate_at(gap, begin),
                };
                if stop.met_by(&report.certificate) {
                    report.status = Status::Converged;
                }
                state.point.clone_from(begin);
            }
        }
        let state = MulticlassState { place: Some(visits.place()), ..self.state };
        Solution { report: self.problem.judged(report, &state.point), state }
    }

    /// `c_j` of every term.
    pub(super) fn conditions(&self) -> Vec<f64> {
        conditions(self.problem, &self.curvatures)
    }

    /// The current point.
    pub fn point(&self) -> &MulticlassPoint {
        &self.state.point
    }

    /// The dual variables, `n x (r - 1)`: see [`MulticlassState`].
    pub fn dual(&self) -> &[f64] {
        &self.state.dual
    }

    /// Recomputes `direction` from the dual variables, to remove the rounding errors of many small updates. O(nnz r).
    fn refresh(&mut self) {
        let (problem, r) = (self.problem, self.problem.classes());
        let n = problem.n() as f64;
        let table = &mut self.gap.table;
        let terms = self.state.dual.chunks_exact(r - 1).zip(problem.labels());
        for (i, (u, (stored, &y))) in table.chunks_exact_mut(r).zip(terms).enumerate() {
            expand(stored, y, u);
            u[y] -= 1.0;
            let weight = problem.term_weight(i);
            u.iter_mut().for_each(|u| *u *= weight);
        }
        multiply_transposed_rows(problem.design(), r, table, &mut self.direction);
        self.direction.iter_mut().for_each(|v| *v /= -n);
        for (v, y) in self.direction.iter_mut().zip(&self.centre) {
            *v += self.kappa * y;
        }
        if let Some(bias) = &mut self.bias {
            bias.read(&mean_dual(problem, &self.state.dual));
        }
    }

    /// The scores of all terms at the point that belongs to the dual variables. Half a pass.
    pub(super) fn scores(&mut self) -> Vec<f64> {
        let Some(score) = self.score else { return Vec::new() };
        self.read_point();
        let (problem, r) = (self.problem, self.problem.classes());
        problem.scores(&self.state.point, &mut self.gap.table);
        let p = &mut self.scratch.old;
        let rows = self.gap.table.chunks_exact_mut(r).zip(self.state.dual.chunks_exact(r - 1));
        let score_of = |(j, (z, stored)): (usize, (&mut [f64], &[f64]))| {
            let weight = problem.term_weight(j);
            expand(stored, problem.labels()[j], p);
            let log_sum = log_sum_exp(z);
            let residue = || {
                let pairs = z.iter().zip(&*p);
                weight * pairs.map(|(z, p)| ((z - log_sum).exp() - p).powi(2)).sum::<f64>().sqrt()
            };
            let divergence =
                |(p, z): (&f64, &f64)| if *p > 0.0 { p * (p.ln() - z + log_sum) } else { 0.0 };
            let gap = || weight * p.iter().zip(&*z).map(divergence).sum::<f64>();
            score.from(residue, gap, CURVATURE * weight, self.curvatures[j])
        };
        rows.enumerate().map(score_of).collect()
    }

    /// Makes `steps` dual steps.
    fn make_steps(&mut self, steps: usize) {
        for _ in 0..steps {
            if self.score.is_some() && self.steps.is_multiple_of(self.problem.n()) {
                let scores = self.scores();
                // As many scores as terms, none negative.
                let _ = self.visits.set_scores(&scores);
            }
            self.step_on_next();
            self.steps += 1;
            if self.steps.is_multiple_of(self.problem.n()) {
                if self.steps == REFRESH * self.problem.n() {
                    self.steps = 0;
                    self.refresh();
                }
                if let Some(bias) = &mut self.bias {
                    bias.follow();
                }
            }
        }
    }

    #[inline]
    fn step_on_next(&mut self) {
        let j = self.visits.draw();
        let problem = self.problem;
        let weight = problem.term_weight(j);
        if weight == 0.0 {
            return;
        }
        let (design, regulariser, r) = (problem.design(), problem.regulariser(), problem.classes());
        let n = problem.n() as f64;
        let y = problem.labels()[j];
        let Scratch { scores, removed, old, new } = &mut self.scratch;
        scores.fill(0.0);
        if regulariser.is_zero() {
            row_scores(design, j, &self.direction, scores);
            scores.iter_mut().for_each(|z| *z /= self.l2);
        } else {
            let (v, l2) = (&self.direction[..], self.l2);
            design.row_entries(j, |c, a| {
                for (k, z) in scores.iter_mut().enumerate() {
                    *z += a * regulariser.conjugate_gradient(c * r + k, v[c * r + k], l2);
                }
            });
        }
        if let Some(bias) = &self.bias {
            scores.iter_mut().zip(&bias.values).for_each(|(z, b)| *z += b);
        }
        let q = weight * self.curvatures[j];
        let stored = &mut self.state.dual[j * (r - 1)..(j + 1) * (r - 1)];
        expand(stored, y, old);
        match self.step {
            SoftmaxStep::Exact => {
                for ((m, z), p) in removed.iter_mut().zip(&*scores).zip(&*old) {
                    *m = z + q * p;
                }
                removed[y] -= q;
                exact_step(removed, q, y, log_sum_exp(scores), new);
            }
            SoftmaxStep::Interval => {
                softmax(scores, new);
                interval_step(old, scores, q, new);
            }
            SoftmaxStep::Constant => {
                softmax(scores, new);
                let fraction = 1.0 / (1.0 + CURVATURE * q);
                new.iter_mut().zip(&*old).for_each(|(p, old)| *p = old + fraction * (*p - old));
            }
        }
        reduce(new, y, stored);
        // What is stored is the truth: the right class moves by what the others do.
        expand(stored, y, new);
        for (old, new) in old.iter_mut().zip(&*new) {
            *old = weight * (*old - new) / n;
        }
        add_row(design, j, old, &mut self.direction);
        if let Some(bias) = &mut self.bias {
            bias.values.iter_mut().zip(&*old).for_each(|(b, moved)| *b += moved / bias.weight);
        }
    }

    /// Computes the point that belongs to the dual variables. O(d r).
    fn read_point(&mut self) {
        let regulariser = self.problem.regulariser();
        let point = &mut self.state.point;
        for (c, (x, &v)) in point.weights.iter_mut().zip(&self.direction).enumerate() {
            *x = regulariser.conjugate_gradient(c, v, self.l2);
        }
        if let Some(bias) = &self.bias {
            point.intercepts.copy_from_slice(&bias.values);
        }
    }

    /// Moves the proximal centre without changing the dual variables. O(d r).
    fn move_centre(&mut self) {
        let mut next = self.centre.clone();
        self.momentum.extrapolate(&self.state.point.weights, &mut next);
        for ((v, y), new) in self.direction.iter_mut().zip(&self.centre).zip(&next) {
            *v += self.kappa * (new - y);
        }
        self.centre = next;
    }
}

impl<D: Design, R: Separable> Iterative for MulticlassAscent<'_, '_, D, R> {
    /// Makes whole passes if there is a proximal centre.
    fn advance(&mut self, passes: f64) -> f64 {
        self.cold = false;
        let n = self.problem.n();
        let cost = Score::cost(self.score);
        if self.kappa > 0.0 {
            let outer = (passes / cost).round().max(1.0);
            for _ in 0..outer as usize {
                self.make_steps(n);
                self.read_point();
                self.move_centre();
            }
            return outer * cost;
        }
        let steps = (passes / cost * n as f64).round().max(1.0);
        self.make_steps(steps as usize);
        self.read_point();
        steps * cost / n as f64
    }

    fn certify(&mut self) -> Certificate {
        let MulticlassAscent { problem, state, gap, .. } = self;
        let MulticlassState { point, dual, .. } = state;
        let r = problem.classes();
        let read = |i: usize, p: &mut [f64]| {
            expand(&dual[i * (r - 1)..(i + 1) * (r - 1)], problem.labels()[i], p);
        };
        problem.certificate_with(gap, point, read)
    }

    fn keep(&mut self) {
        let empty = || MulticlassState::new(MulticlassPoint::default(), Vec::new());
        let best = self.best.get_or_insert_with(empty);
        best.point.clone_from(&self.state.point);
        best.dual.clone_from(&self.state.dual);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.state = best;
            self.restored = true;
        }
    }

    /// No certificate is computed for a cold start, unless an observer needs one.
    fn certificate_cost(&self) -> CertificateCost {
        if self.cold { CertificateCost::Uninformative } else { CertificateCost::Passes }
    }
}
