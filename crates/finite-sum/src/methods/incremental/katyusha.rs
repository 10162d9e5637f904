//! Loopless Katyusha.

use fenchel_linalg::{Design, multiply_transposed};
use fenchel_optim::Refusal;
use fenchel_optim::random::{Generator, Order, Visits, stream};
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Regulariser, Solution, Stop, run};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::state::IncrementalState;
use crate::gap::{Gap, origin};
use crate::{Error, Point, Problem};

/// Settings of [`katyusha`](fn@katyusha).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `order` | `Uniform` | visiting order |
/// | `seed` | 0 | of the visiting order and of the snapshots |
/// | `stop` | see [`Stop`] | when to end; a snapshot counts as one pass |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KatyushaSettings {
    /// Visiting order.
    pub order: Order,
    /// Seed of the visiting order and of the snapshots.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for KatyushaSettings {
    fn default() -> Self {
        KatyushaSettings { order: Order::Uniform, seed: 0, stop: Stop::default() }
    }
}

/// The three sequences, and the coin that is thrown for snapshots.
#[derive(Debug, Clone)]
struct Sequences {
    y: Point,
    z: Point,
    /// Snapshot.
    w: Point,
    /// The full gradient at the snapshot is still to be computed.
    stale: bool,
    coin: Generator,
}

/// Loopless Katyusha on one problem: what an observer of [`katyusha`](fn@katyusha) sees.
#[derive(Debug, Clone)]
pub struct Katyusha<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    /// `theta_1`
    theta: f64,
    /// `e / L`
    step: f64,
    x: Point,
    run: Sequences,
    visits: Visits,
    /// `phi_i'` at the snapshot, and the gradient there.
    table: Vec<f64>,
    full: Point,
    certified: Point,
    gap: Gap,
    best: Option<Point>,
    /// Whether it was restored, which the sequences do not belong to.
    restored: bool,
    /// Term gradients that may still be computed: a snapshot that they do not pay for is not taken.
    left: f64,
}

/// `theta_2`
const PULL: f64 = 0.5;

/// Katyusha without inner loops: SVRG with momentum, and a pull towards the snapshot that keeps it stable.
///
/// With `theta_1 = min(sqrt(2 n mu / (3 L)), 1/2)` and `e = theta_2 / ((1 + theta_2) theta_1)`,
///
/// ```text
/// x = theta_1 z + theta_2 w + (1 - theta_1 - theta_2) y
/// g = phi_j'(x) a_j - phi_j'(w) a_j + f'(w)
/// z+ = prox(z - (e/L) g, e/L) of (l2/2) ||.||^2 + h;   y = x + theta_1 (z+ - z);   w = y, old, with probability 1/n
/// ```
///
/// A run keeps to its limit of passes from the first snapshot on, which is one pass. Under a regulariser it ends by a proximal gradient step from `y`, which has the zeros that a combination of points has
/// not, and is certified no worse.
///
/// A baseline: its steps are dense, O(d) each, and on no problem that was tried it is the fastest method; for that see
/// [`catalyst`](crate::methods::catalyst). Original papers: Allen-Zhu, "Katyusha", JMLR 18 (2018); Kovalev, Horvath and
/// Richtarik, "Don't jump through hoops and remove those loops", ALT 2020.
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::methods::{KatyushaSettings, katyusha};
/// use fenchel_finite_sum::prelude::{AsDesign, Status};
/// use fenchel_finite_sum::Problem;
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
/// let solution = katyusha(&problem, &KatyushaSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// [`Error::Refused`] without strong convexity, for a loss that is not smooth or weighted draws;
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn katyusha<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &KatyushaSettings,
    start: Option<IncrementalState>,
    observer: &mut O,
) -> Result<Solution<IncrementalState>, Error>
where
    D: Design,
    L: Loss,
    R: Regulariser,
    O: Observer<Katyusha<'p, 'a, D, L, R>>,
{
    let method = "katyusha";
    let KatyushaSettings { order, seed, stop } = settings;
    stop.check()?;
    problem.check_smooth(method)?;
    let mu = problem.strong_convexity();
    if !(mu > 0.0) {
        return Err(Refusal::NeedsStrongConvexity { method }.into());
    }
    order.check_plain(method)?;
    let (n, d) = (problem.n(), problem.d());
    // The l2 term is in the proximal step: L is that of the losses.
    let smoothness = (problem.smoothness() - problem.l2()).max(f64::MIN_POSITIVE);
    let theta = (2.0 * n as f64 * mu / (3.0 * smoothness)).sqrt().min(0.5);
    let start = start.unwrap_or_else(|| origin(problem).into());
    let IncrementalState { mut point, place, .. } = start;
    problem.check_point(&point)?;
    let step = PULL / ((1.0 + PULL) * theta * smoothness);
    if problem.regulariser().value(&point.weights).is_infinite() {
        problem.regulariser().prox(&mut point.weights, step);
    }
    let mut visits = Visits::new(order, n, *seed)?;
    let _ = place.is_some_and(|place| visits.go_to(&place));
    let sequences = Sequences {
        y: point.clone(),
        z: point.clone(),
        w: point.clone(),
        stale: true,
        coin: stream(*seed, 1),
    };
    let mut method = Katyusha {
        problem,
        theta,
        step,
        x: point.clone(),
        run: sequences,
        visits,
        table: vec![0.0; n],
        full: Point::zero(d),
        certified: point,
        gap: Gap::new(problem),
        best: None,
        restored: false,
        left: 0.0,
    };
    // The last step is part of the limit.
    let last = if R::IDENTITY { 0.0 } else { 1.0 };
    let stop = Stop { max_passes: (stop.max_passes - last).max(0.0), ..*stop };
    method.left = stop.max_passes * n as f64;
    let mut report = run(&mut method, &stop, observer)?;
    if !R::IDENTITY && report.passes > 0.0 {
        report.certificate = method.finish(report.certificate);
        report.passes += 1.0;
    }
    let Katyusha { certified, visits, .. } = method;
    Ok(Solution { state: IncrementalState::after(certified, 0, &visits), report })
}

impl<D: Design, L: Loss, R: Regulariser> Katyusha<'_, '_, D, L, R> {
    /// The point of the last certificate.
    pub fn point(&self) -> &Point {
        &self.certified
    }

    /// A proximal gradient step from the point that is returned: the iterates combine points, so that a coordinate that belongs
    /// to 0 is only near it. With steps of at most `1 / L` of the mean the objective does not rise, and every lower bound holds
    /// for every point. One pass, and a certificate.
    fn finish(&mut self, before: Certificate) -> Certificate {
        let problem = self.problem;
        self.run.w.clone_from(&self.certified);
        self.look_back();
        let step = 1.0 / problem.mean_smoothness();
        let mut end = self.certified.clone();
        for (x, g) in end.weights.iter_mut().zip(&self.full.weights) {
            *x -= step * (g + problem.l2() * *x);
        }
        problem.regulariser().prox(&mut end.weights, step);
        let after = self.gap.at_best_intercept(problem, &mut end);
        let better = match (before, after) {
            (
                Certificate::Gap { objective, lower_bound },
                Certificate::Gap { objective: lower, lower_bound: other },
            ) if lower <= objective => Certificate::gap(lower, lower_bound.max(other)),
            (Certificate::Residual { .. }, Certificate::Residual { .. })
                if after.value() <= before.value() =>
            {
                after
            }
            _ => return before,
        };
        self.certified = end;
        better
    }

    /// Derivatives and the full gradient at the snapshot. One pass.
    fn look_back(&mut self) {
        let (problem, n) = (self.problem, self.problem.n() as f64);
        problem.margins(&self.run.w, &mut self.table);
        problem.differentiate(&mut self.table, 1.0);
        multiply_transposed(problem.design(), &self.table, &mut self.full.weights);
        self.full.weights.iter_mut().for_each(|g| *g /= n);
        self.full.intercept = self.table.iter().sum::<f64>() / n;
        self.run.stale = false;
    }

    /// One step; true if a new snapshot was taken.
    fn step_once(&mut self) {
        let problem = self.problem;
        let (design, l2) = (problem.design(), problem.l2());
        let Sequences { y, z, w, coin, stale, .. } = &mut self.run;
        let (theta, rest) = (self.theta, 1.0 - self.theta - PULL);
        for (c, x) in self.x.weights.iter_mut().enumerate() {
            *x = theta * z.weights[c] + PULL * w.weights[c] + rest * y.weights[c];
        }
        self.x.intercept = theta * z.intercept + PULL * w.intercept + rest * y.intercept;
        let affordable = self.left >= problem.n() as f64;
        if coin.random::<f64>() * (problem.n() as f64) < 1.0 && affordable {
            w.clone_from(y);
            *stale = true;
        }
        let j = self.visits.draw();
        let margin = design.row_dot(j, &self.x.weights) + self.x.intercept;
        let delta = problem.derivative(j, margin) - self.table[j];
        // y holds the old z for a moment.
        y.clone_from(z);
        for (z, g) in z.weights.iter_mut().zip(&self.full.weights) {
            *z -= self.step * g;
        }
        design.row_axpy(j, -self.step * delta, &mut z.weights);
        let shrink = 1.0 / (1.0 + self.step * l2);
        z.weights.iter_mut().for_each(|z| *z *= shrink);
        problem.regulariser().prox(&mut z.weights, self.step * shrink);
        if problem.intercept() {
            z.intercept -= self.step * (delta + self.full.intercept);
        }
        for (c, y) in y.weights.iter_mut().enumerate() {
            *y = self.x.weights[c] + theta * (z.weights[c] - *y);
        }
        y.intercept = self.x.intercept + theta * (z.intercept - y.intercept);
    }
}

impl<D: Design, L: Loss, R: Regulariser> Iterative for Katyusha<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.problem.n();
        let budget = ((passes * n as f64).round() as usize).max(1);
        let mut spent = 0;
        while spent < budget {
            let cost = if self.run.stale { n } else { 1 };
            self.left -= cost as f64;
            if self.run.stale {
                self.look_back()
            } else {
                self.step_once()
            }
            spent += cost;
        }
        spent as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        if !self.restored {
            self.certified.clone_from(&self.run.y);
        }
        self.gap.at_best_intercept(self.problem, &mut self.certified)
    }

    fn keep(&mut self) {
        self.best.get_or_insert_default().clone_from(&self.certified);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.certified = best;
            self.restored = true;
        }
    }
}
