//! Along a path: warm starts, and features that need not be looked at.
//!
//! Let `u` be a feasible dual point and `gap` its duality gap. `D` is `1/(n gamma)`-strongly concave, hence the
//! optimum `u*` lies within `sqrt(2 n gamma gap)` of `u`, and feature `c` is 0 at the optimum if
//!
//! ```text
//! |A_c'u| / n + ||A_c|| sqrt(2 gamma gap / n) < l1
//! ```
//!
//! (the gap-safe sphere of Ndiaye, Fercoq, Gramfort and Salmon, JMLR 18, 2017). With an intercept the entries of
//! both `u` and `u*` sum to 0, and the column may be centred first, which shortens it. With weights, `gamma` is
//! that of the heaviest term.
//!
//! The strong rule (Tibshirani et al., JRSS B 74, 2012) drops the features with `|v_c| < 2 l1 - l1_before` at the
//! solution for `l1_before`. It is a guess, so that a look at all features must confirm the solution.

use fenchel_optim::Refusal;
use std::sync::Arc;

use fenchel_linalg::{Columns, Design, Invalid};
use fenchel_optim::prox::L1;
use fenchel_optim::{Certificate, Loss, Regulariser, Report, Status, run};
use serde::{Deserialize, Serialize};

use super::method::{Newton, NewtonSettings};
use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// Looks at all features before one more round is given up as stalled.
const ROUNDS: usize = 8;

/// Which features a path need not look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Screening {
    /// None: every feature is looked at in every step.
    Off,
    /// Those that the gap-safe sphere proves to be 0 at the optimum.
    #[default]
    Sphere,
    /// Those, and the ones that the strong rule guesses to be 0, until the end, where all are checked.
    Strong,
}

/// What one problem of a path hands to the next.
#[derive(Debug, Clone)]
pub(crate) struct Warm {
    pub(crate) point: Point,
    /// Margins, dual point and correlations of all features, at the point.
    pub(crate) gap: Gap,
    pub(super) columns: Arc<Columns>,
}

/// The features that may be in the support: by default all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    /// Ascending; `None` is every feature.
    alive: Option<Vec<usize>>,
    /// Whether the gap of the start is that of all features: the first look is free.
    fresh: bool,
    sphere: Option<Arc<Sphere>>,
    /// Stored entries of the candidates over all.
    share: f64,
}

/// What the test needs to know of the columns.
#[derive(Debug)]
pub(crate) struct Sphere {
    /// `||A_c||`, or `||A_c - mean||` with an intercept.
    norms: Vec<f64>,
    /// `gamma max c_i`
    curvature: f64,
}

impl Warm {
    /// The origin, with the best intercept. Copies the design by columns.
    pub(crate) fn origin<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let method = "path";
        problem.check_twice_differentiable(method)?;
        problem.check_smooth(method)?;
        let needed = Columns::bytes(problem.design());
        let hint = "a path works on a copy of the data by columns; fit single penalties instead";
        Refusal::check_memory(method, needed, max_memory, hint)?;
        let columns = Arc::new(Columns::new(problem.design())?);
        let mut point = Point::zero(problem.d());
        let mut gap = Gap::new(problem);
        gap.at_best_intercept(problem, &mut point);
        Ok(Warm { point, gap, columns })
    }

    /// `max |v_c|`: at this l1 weight and above the origin is optimal, if this is the start.
    pub(crate) fn largest_correlation(&self) -> f64 {
        self.gap.correlation.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()))
    }

    /// Solves the problem from here. `before` is the l1 weight this is the solution for. Also returns the
    /// share of the features that were not looked at in the end.
    pub(crate) fn solve<D: Design, L: Loss>(
        mut self,
        problem: &Problem<'_, D, L, L1>,
        settings: &NewtonSettings,
        sphere: Option<&Arc<Sphere>>,
        before: Option<f64>,
    ) -> Result<(Self, Report, f64), Error> {
        let mut stop = settings.stop;
        let l1 = problem.regulariser().strength;
        let guess = before.map_or(0.0, |before| 2.0 * l1 - before);
        let mut alive: Vec<usize> = (0..problem.d())
            .filter(|&c| self.point.weights[c] != 0.0 || self.gap.correlation[c].abs() >= guess)
            .collect();
        let (mut passes, mut seconds, mut steps) = (0.0, 0.0, 0);
        let mut rounds = 0;
        loop {
            let candidates = Candidates::new(alive, rounds == 0, sphere.cloned(), &self.columns);
            stop.max_passes = (settings.stop.max_passes - passes).max(0.0);
            let columns = Arc::clone(&self.columns);
            let mut method = Newton::resume(problem, self, candidates, settings);
            let mut report = run(&mut method, &stop, &mut ())?;
            let (point, gap, candidates) = method.pause();
            self = Warm { point, gap, columns };
            passes += report.passes + 1.0;
            seconds += report.seconds;
            steps += report.oracle_calls;
            rounds += 1;
            // The certificate is the returned point's own, and looks at every feature.
            self.read_margins();
            self.gap.settle_intercept(problem, &mut self.point);
            report.certificate = self.look(problem);
            let met = settings.stop.met_by(&report.certificate);
            if met || report.status != Status::Converged || rounds == ROUNDS {
                report.status = match report.status {
                    _ if met => Status::Converged,
                    Status::Converged => Status::Stalled,
                    other => other,
                };
                let report = Report { passes, seconds, oracle_calls: steps, ..report };
                return Ok((self, report, candidates.dropped(problem.d())));
            }
            // A guess was wrong, or the dual point of the candidates was a little better than that of all.
            stop.relative *= 0.3;
            stop.absolute *= 0.3;
            alive = (0..problem.d()).collect();
        }
    }

    /// At another point. Half a pass.
    pub(crate) fn at<D: Design, L: Loss>(
        self,
        problem: &Problem<'_, D, L, L1>,
        point: Point,
    ) -> Self {
        let mut warm = Warm { point, ..self };
        warm.look(problem);
        warm
    }

    /// Margins, dual point and correlations by the point and nothing else: what follows is the same wherever it came from.
    fn look<D: Design, L: Loss>(&mut self, problem: &Problem<'_, D, L, L1>) -> Certificate {
        self.read_margins();
        self.gap.margins_certificate(problem, &self.point.weights)
    }

    /// `A x + b`, by the columns of the support.
    fn read_margins(&mut self) {
        self.gap.margins.fill(self.point.intercept);
        for (c, &x) in self.point.weights.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            self.columns.axpy(c, x, &mut self.gap.margins);
        }
    }

    /// What the sphere test needs.
    pub(crate) fn sphere<D: Design, L: Loss, R: Regulariser>(
        &self,
        problem: &Problem<'_, D, L, R>,
    ) -> Arc<Sphere> {
        let n = problem.n() as f64;
        let norm = |c: usize| {
            let (mut sum, mut squares) = (0.0, 0.0);
            self.columns.entries(c, |_, a| sum += a);
            let mean = if problem.intercept() { sum / n } else { 0.0 };
            self.columns.entries(c, |_, a| squares += (a - mean) * (a - mean));
            let zeros = n - self.columns.stored(c) as f64;
            (squares + zeros * mean * mean).sqrt()
        };
        let heaviest = (0..problem.n()).map(|i| problem.term_weight(i)).fold(0.0, f64::max);
        let curvature = problem.loss().curvature() * heaviest;
        Arc::new(Sphere { norms: (0..problem.d()).map(norm).collect(), curvature })
    }
}

impl Candidates {
    /// `fresh`: the gap of the start has just looked at all features.
    fn new(alive: Vec<usize>, fresh: bool, sphere: Option<Arc<Sphere>>, columns: &Columns) -> Self {
        let share = share(&alive, columns);
        Candidates { alive: Some(alive), fresh, sphere, share }
    }

    /// Certificate of the point among the candidates, after dropping those that it proves to be 0.
    pub(super) fn certify<D: Design, L: Loss, R: Regulariser>(
        &mut self,
        problem: &Problem<'_, D, L, R>,
        point: &mut Point,
        gap: &mut Gap,
        columns: Option<&Columns>,
        l1: f64,
    ) -> Certificate {
        let (Some(alive), Some(columns)) = (&mut self.alive, columns) else {
            return gap.at_margins(problem, point);
        };
        let mut certificate = if std::mem::take(&mut self.fresh) {
            let certificate = gap.again(problem, &point.weights);
            forget_others(&mut gap.correlation, alive);
            certificate
        } else {
            gap.at_margins_over(problem, point, columns, alive)
        };
        let Some(sphere) = &self.sphere else { return certificate };
        let before = alive.len();
        // A dropped feature that was not 0 moves the point, and a new look is due.
        while sphere.screen(alive, problem.n(), &certificate, point, gap, columns, l1) {
            certificate = gap.at_margins_over(problem, point, columns, alive);
        }
        if alive.len() < before {
            self.share = share(alive, columns);
        }
        certificate
    }

    /// What a look at the candidates costs, in passes.
    pub(super) fn share(&self) -> f64 {
        if self.alive.is_some() { self.share } else { 1.0 }
    }

    /// The share of `d` features that are no candidates.
    fn dropped(&self, d: usize) -> f64 {
        self.alive.as_ref().map_or(0.0, |alive| 1.0 - alive.len() as f64 / d as f64)
    }
}

/// Stored entries of some columns over those of all.
fn share(alive: &[usize], columns: &Columns) -> f64 {
    let stored: usize = alive.iter().map(|&c| columns.stored(c)).sum();
    let all: usize = (0..columns.columns()).map(|c| columns.stored(c)).sum();
    stored as f64 / all.max(1) as f64
}

/// Zero correlation keeps a feature out of the working set.
fn forget_others(correlation: &mut [f64], alive: &[usize]) {
    let mut next = alive.iter().copied().peekable();
    for (c, v) in correlation.iter_mut().enumerate() {
        if next.next_if_eq(&c).is_none() {
            *v = 0.0;
        }
    }
}

impl Sphere {
    /// Drops what is proved to be 0. True if the point moved.
    #[expect(clippy::too_many_arguments, reason = "the parts of a method, borrowed apart")]
    fn screen(
        &self,
        alive: &mut Vec<usize>,
        n: usize,
        certificate: &Certificate,
        point: &mut Point,
        gap: &mut Gap,
        columns: &Columns,
        l1: f64,
    ) -> bool {
        let radius = self.radius(n, certificate);
        if !radius.is_finite() {
            return false;
        }
        let mut moved = false;
        alive.retain(|&c| {
            let v = &mut gap.correlation[c];
            if gap.scale * v.abs() + self.norms[c] * radius >= l1 {
                return true;
            }
            *v = 0.0;
            let x = std::mem::take(&mut point.weights[c]);
            if x != 0.0 {
                columns.axpy(c, -x, &mut gap.margins);
                moved = true;
            }
            false
        });
        moved
    }

    /// `||u - u*|| / n`, at most.
    fn radius(&self, n: usize, certificate: &Certificate) -> f64 {
        sphere_radius(self.curvature, n, certificate)
    }
}

/// `||u - u*|| / n`, at most, for terms of at most this curvature.
///
/// A computed gap of exactly 0 would leave no radius, and an active feature whose correlation is
/// `l1 (1 - 1e-16)` would go: the rounding of both ends of the gap counts as gap.
pub(crate) fn sphere_radius(curvature: f64, n: usize, certificate: &Certificate) -> f64 {
    let Certificate::Gap { objective, lower_bound } = *certificate else {
        return f64::INFINITY;
    };
    let rounding = 8.0 * f64::EPSILON * (objective.abs() + lower_bound.abs());
    (2.0 * curvature * (certificate.value() + rounding) / n as f64).sqrt()
}

/// What a caller of [`path`](crate::path()) can get wrong about the l1 weights.
pub(crate) fn check_grid(grid: &[f64]) -> Result<(), Invalid> {
    if grid.is_empty() {
        return Err(Invalid::Empty { what: "grid of penalties" });
    }
    grid.iter().try_for_each(|&penalty| Invalid::check_positive("penalty of the grid", penalty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Logistic, Squared};
    use crate::newton::newton;
    use fenchel_linalg::Dense;
    use fenchel_optim::Stop;
    use fenchel_optim::random::stream;
    use ndarray::Array2;
    use rand::RngExt;

    /// At points from rough to exact: the dual optimum lies in the ball, and nothing that is active is dropped.
    fn check<L: Loss + Copy>(loss: L, real: bool) {
        let (mut points, mut dropped, mut tightest) = (0, 0, 0.0f64);
        for seed in 0..12 {
            let mut rng = stream(seed, 0);
            let (n, d) = (rng.random_range(8..40), rng.random_range(3..30));
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..2.0));
            let mut target = |i: usize| {
                let t = x[[i, 0]] - x[[i, d / 2]] + rng.random_range(-0.5..0.5);
                if real { t } else { f64::signum(t) }
            };
            let y: Vec<f64> = (0..n).map(&mut target).collect();
            let weights: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..3.0)).collect();
            for (l2, intercept, weighted) in
                [(0.0, false, false), (0.0, true, false), (0.02, true, true), (0.0, false, true)]
            {
                let design = Dense::new(x.view()).unwrap();
                let zero = L1 { strength: 0.0 };
                let mut problem = Problem::new(design, &y, loss, zero, l2).unwrap();
                if intercept {
                    problem = problem.with_intercept();
                }
                if weighted {
                    problem = problem.with_weights(&weights).unwrap();
                }
                let origin = Warm::origin(&problem, None).unwrap();
                let l1 = rng.random_range(0.05..0.9) * origin.largest_correlation();
                let problem = problem.penalised(L1 { strength: l1 }, l2).unwrap();
                let stop = Stop { absolute: 0.0, relative: 1e-15, ..Stop::default() };
                let settings = NewtonSettings { stop, ..NewtonSettings::default() };
                let best = newton(&problem, &settings, None, &mut ()).unwrap();
                assert!(best.report.certificate.relative() < 1e-12, "{}", best.report);
                let best = best.state;
                let mut exact = Gap::new(&problem);
                exact.at(&problem, &best);
                let sphere = origin.sphere(&problem);
                for nearness in [0.0, 0.5, 0.9, 0.99, 0.9999, 1.0 - 1e-7, 1.0] {
                    let mut point = best.clone();
                    for w in &mut point.weights {
                        *w += (1.0 - nearness) * rng.random_range(-1.0..1.0);
                    }
                    let mut gap = Gap::new(&problem);
                    problem.margins(&point, &mut gap.margins);
                    let certificate = gap.at_margins(&problem, &mut point);
                    let distance = (gap.dual.iter().zip(&exact.dual))
                        .map(|(u, best)| (gap.scale * u - exact.scale * best).powi(2));
                    let distance = distance.sum::<f64>().sqrt() / n as f64;
                    let radius = sphere.radius(n, &certificate);
                    assert!(distance <= radius, "{distance} {radius}");
                    tightest = tightest.max(distance / radius);
                    let mut alive: Vec<usize> = (0..d).collect();
                    let columns = &origin.columns;
                    sphere.screen(&mut alive, n, &certificate, &mut point, &mut gap, columns, l1);
                    for c in (0..d).filter(|c| !alive.contains(c)) {
                        assert!(best.weights[c].abs() < 1e-7, "feature {c}: {}", best.weights[c]);
                        dropped += 1;
                    }
                    points += 1;
                }
            }
        }
        // The test is not empty, and the ball is not loose.
        assert!(points == 12 * 4 * 7 && dropped > points, "{dropped}");
        assert!(tightest > 0.3, "{tightest}");
    }

    #[test]
    fn the_dual_optimum_lies_in_the_ball_and_no_active_feature_is_dropped() {
        check(Squared, true);
        check(Logistic, false);
    }

    #[test]
    fn a_gap_of_zero_keeps_a_radius() {
        let sphere = Sphere { norms: vec![1.0], curvature: 1.0 };
        let certificate = Certificate::Gap { objective: 1.0, lower_bound: 1.0 };
        assert!(sphere.radius(1, &certificate) > 1e-8);
    }
}
