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
    let certificate = Certificate::Gap { objective: 1.0, lower_bound: 1.0 };
    assert!(sphere.radius(1, &certificate) > 1e-8);
}
