//! Along a path: features that need not be looked at.
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

use std::sync::Arc;

use fenchel_linalg::{Columns, Design};
use fenchel_optim::{Certificate, Loss, Regulariser};
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
use crate::{Point, Problem};

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
pub struct Sphere {
    /// `||A_c||`, or `||A_c - mean||` with an intercept.
    norms: Vec<f64>,
    /// `gamma max c_i`
    curvature: f64,
}

impl Candidates {
    /// `fresh`: the gap of the start has just looked at all features.
    pub(super) fn new(
        alive: Vec<usize>,
        fresh: bool,
        sphere: Option<Arc<Sphere>>,
        columns: &Columns,
    ) -> Self {
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
    pub(super) fn dropped(&self, d: usize) -> f64 {
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
    /// For a design by columns.
    pub(super) fn new<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        columns: &Columns,
    ) -> Self {
        let n = problem.n() as f64;
        let norm = |c: usize| {
            let (mut sum, mut squares) = (0.0, 0.0);
            columns.entries(c, |_, a| sum += a);
            let mean = if problem.intercept() { sum / n } else { 0.0 };
            columns.entries(c, |_, a| squares += (a - mean) * (a - mean));
            let zeros = n - columns.stored(c) as f64;
            (squares + zeros * mean * mean).sqrt()
        };
        let heaviest = (0..problem.n()).map(|i| problem.term_weight(i)).fold(0.0, f64::max);
        let curvature = problem.loss().curvature() * heaviest;
        Sphere { norms: (0..problem.d()).map(norm).collect(), curvature }
    }

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
pub fn sphere_radius(curvature: f64, n: usize, certificate: &Certificate) -> f64 {
    let Certificate::Gap { objective, lower_bound, rounding } = *certificate else {
        return f64::INFINITY;
    };
    let rounding = rounding.max(8.0 * f64::EPSILON * (objective.abs() + lower_bound.abs()));
    (2.0 * curvature * (certificate.value() + rounding) / n as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Logistic, Squared};
    use crate::methods::newton::{NewtonSettings, Warm, newton};
    use crate::prox::L1;
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
                let columns = &Columns::new(&design).unwrap();
                let l1 = rng.random_range(0.05..0.9) * origin.largest_correlation();
                let problem = problem.penalised(L1 { strength: l1 }, l2).unwrap();
                let stop = Stop { absolute: 0.0, relative: 1e-15, ..Stop::default() };
                let settings = NewtonSettings { stop, ..NewtonSettings::default() };
                let best = newton(&problem, &settings, None, &mut ()).unwrap();
                assert!(best.report.certificate.relative() < 1e-12, "{}", best.report);
                let best = best.state;
                let mut exact = Gap::new(&problem);
                exact.at(&problem, &best);
                let sphere = Sphere::new(&problem, columns);
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
        let certificate = Certificate::gap(1.0, 1.0);
        assert!(sphere.radius(1, &certificate) > 1e-8);
    }
}
