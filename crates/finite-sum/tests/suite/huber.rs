//! Regression with outliers: the optimum of Newton's method on all variables at once, certificates, and edges.

use crate::common::distance;
use fenchel_finite_sum::Fit;
use fenchel_finite_sum::estimators::{HuberModel, HuberRegressor};
use fenchel_finite_sum::prelude::{Certificate, Status, Stop};
use fenchel_optim::model::Saved;
use ndarray::{Array1, Array2};

/// `s/2 + mean_i w_i h(r_i / s) s + (l2/2) ||x||^2` with `h(z) = z^2/2`, or its tangent beyond `epsilon`.
fn objective(
    (a, y, w): (&Array2<f64>, &[f64], &[f64]),
    (epsilon, l2): (f64, f64),
    (x, b, s): (&[f64], f64, f64),
) -> f64 {
    let total: f64 = w.iter().sum();
    let loss = |z: f64| match z.abs() {
        z if z <= epsilon => 0.5 * z * z,
        z => epsilon * (z - 0.5 * epsilon),
    };
    let residual = |i: usize| a.row(i).iter().zip(x).map(|(a, x)| a * x).sum::<f64>() + b - y[i];
    let risk: f64 = (0..y.len()).map(|i| w[i] * s * loss(residual(i) / s)).sum();
    0.5 * s + risk / total + 0.5 * l2 * x.iter().map(|x| x * x).sum::<f64>()
}

/// Targets of a line with noise, every seventh of which is far away.
fn with_outliers(n: usize, d: usize) -> (Array2<f64>, Array1<f64>) {
    let a = Array2::from_shape_fn((n, d), |(i, c)| ((3 * i + 7 * c + i * c) as f64).sin());
    let noise = Array1::from_shape_fn(n, |i| 0.5 * ((11 * i) as f64).cos());
    let mut y = a.dot(&Array1::from_shape_fn(d, |c| 1.0 - 0.8 * c as f64)) + noise + 2.0;
    y.iter_mut().step_by(7).for_each(|y| *y += 50.0);
    (a, y)
}

#[test]
fn no_point_nearby_is_better_and_the_gap_is_closed() {
    let (a, y) = with_outliers(80, 3);
    let targets = y.to_vec();
    let weights: Vec<f64> = (0..80).map(|i| f64::from(i % 3) + 0.5).collect();
    for (epsilon, l2) in [(1.35, 1e-3), (1.1, 0.1), (3.0, 1.0)] {
        let stop = Stop { relative: 1e-9, ..Stop::default() };
        let estimator = HuberRegressor { epsilon, l2, stop, ..HuberRegressor::default() };
        let own = Array1::from(weights.clone());
        let fit = Fit { weights: Some(own.view()), ..Fit::new() };
        let HuberModel { linear, scale } = estimator.fit_with(&a, &y, fit).unwrap();
        assert_eq!(linear.report.status, Status::Converged, "{}", linear.report);
        let Certificate::Gap { objective: found, lower_bound, .. } = linear.report.certificate
        else {
            panic!("{}", linear.report)
        };
        let parts = ((&a, &targets[..], &weights[..]), (epsilon, l2));
        let x = linear.weights.to_vec();
        let at = |x: &[f64], b: f64, s: f64| objective(parts.0, parts.1, (x, b, s));
        let ours = at(&x, linear.intercept, scale);
        assert!((ours - found).abs() < 1e-12 * ours && lower_bound <= ours * (1.0 + 1e-12));
        // The objective is convex: a point without better neighbours in any direction is a minimum. At a distance of h the
        // objective of a minimum is higher by O(h^2), and nowhere lower by more than the gap.
        let least = ours - 1e-9 * ours;
        for k in 0..5 {
            for step in [1e-3, -1e-3, 1e-5, -1e-5] {
                let (mut moved, mut b, mut s) = (x.clone(), linear.intercept, scale);
                match k {
                    3 => b += step,
                    4 => s += step * scale,
                    k => moved[k] += step,
                }
                assert!(at(&moved, b, s) >= least, "epsilon {epsilon}, coordinate {k}");
            }
        }
    }
}

#[test]
fn units_of_the_targets_and_rows_that_count_twice() {
    let (a, y) = with_outliers(60, 2);
    let stop = Stop { relative: 1e-10, ..Stop::default() };
    let estimator = HuberRegressor { l2: 0.01, stop, ..HuberRegressor::default() };
    let plain = estimator.fit(&a, &y).unwrap();
    // Targets times c: weights and scale times c, and l2 divided by it.
    let c = 1e-6;
    let small = HuberRegressor { l2: 0.01 / c, ..estimator.clone() };
    let small = small.fit(&a, &y.mapv(|y| c * y)).unwrap();
    assert!((small.scale / c - plain.scale).abs() < 1e-4 * plain.scale);
    let scaled: Vec<f64> = small.linear.weights.iter().map(|w| w / c).collect();
    assert!(distance(&scaled, &plain.linear.weights.to_vec()) < 1e-3);
    // Scales that are as small as the weights of rows of weight 0.
    let weights = Array1::from_iter((0..60).map(|i| if i % 7 == 0 { 0.0 } else { 1.0 }));
    let fit = Fit { weights: Some(weights.view()), ..Fit::new() };
    let without = estimator.fit_with(&a, &y, fit).unwrap();
    assert!(without.scale < plain.scale);
}

#[test]
fn without_a_penalty_the_gradient_is_small() {
    let (a, y) = with_outliers(60, 2);
    let stop = Stop { relative: 1e-8, ..Stop::default() };
    let estimator = HuberRegressor { l2: 0.0, stop, ..HuberRegressor::default() };
    let model = estimator.fit(&a, &y).unwrap();
    let report = model.linear.report;
    assert!(matches!(report.certificate, Certificate::Residual { .. }), "{report}");
    assert_eq!(report.status, Status::Converged, "{report}");
    let again = Fit { start: Some(&model), ..Fit::new() };
    let warm = estimator.fit_with(&a, &y, again).unwrap();
    assert!(warm.linear.report.passes <= report.passes);
    let mut file = Vec::new();
    model.save(&mut file).unwrap();
    let loaded = HuberModel::load(&file[..]).unwrap();
    assert_eq!((loaded.scale, &loaded.linear.weights), (model.scale, &model.linear.weights));
}

#[test]
fn bad_arguments_and_perfect_fits() {
    let (a, y) = with_outliers(20, 2);
    let said = |epsilon: f64| {
        HuberRegressor { epsilon, ..HuberRegressor::default() }.fit(&a, &y).unwrap_err().to_string()
    };
    assert!(said(0.9).contains("epsilon") && said(f64::NAN).contains("epsilon"));
    let short = HuberRegressor::default().fit(&a, &[1.0]).unwrap_err().to_string();
    assert!(short.contains("targets"), "{short}");
    for y in [vec![0.0; 20], vec![5.0; 20]] {
        let model = HuberRegressor::default().fit(&a, &y).unwrap();
        assert!(model.scale > 0.0 && model.scale < 1e-12);
        assert!((model.linear.intercept - y[0]).abs() < 1e-6, "{}", model.linear.report);
    }
}

/// Targets that are much larger than what the fit leaves of them: the dual value is a difference of numbers of their size.
#[test]
fn targets_far_from_zero() {
    let (a, y) = with_outliers(80, 3);
    let estimator = HuberRegressor { l2: 0.1, ..HuberRegressor::default() };
    let near = estimator.fit(&a, &y).unwrap();
    for offset in [1e3, 1e6, -1e9] {
        let far = estimator.fit(&a, &(&y + offset)).unwrap();
        assert_eq!(far.linear.report.status, Status::Converged, "{offset}: {}", far.linear.report);
        // The default tolerance, and the rounding of the targets.
        let units = 1e-3 + 16.0 * f64::EPSILON * f64::abs(offset);
        assert!((far.scale - near.scale).abs() < units * near.scale, "{offset}: {}", far.scale);
    }
}

/// 0 is always a dual point: where a line meets all targets the gap is the objective at most.
#[test]
fn a_perfect_fit_has_a_gap_below_its_objective() {
    let (a, _) = with_outliers(4, 6);
    let y = a.column(0).to_owned();
    for l2 in [1e-9, 1e-6, 1e-3] {
        let stop = Stop { max_passes: 300.0, ..Stop::at_relative(1e-3) };
        let model = HuberRegressor { l2, stop, ..HuberRegressor::default() }.fit(&a, &y).unwrap();
        let certificate = model.linear.report.certificate;
        assert!(certificate.value() <= certificate.objective().unwrap(), "{l2}: {certificate}");
    }
}

/// A loss is a square of the unit of the targets, as with the squared loss, which refuses the same.
#[test]
fn targets_whose_squares_overflow_are_refused() {
    let x = Array2::from_shape_fn((20, 1), |(i, _)| i as f64);
    let line = |unit: f64| -> Vec<f64> {
        (0..20).map(|i| unit * (f64::from(i) + f64::from(i * i % 7))).collect()
    };
    let fit = |unit| HuberRegressor { l2: 0.0, ..HuberRegressor::default() }.fit(&x, &line(unit));
    for unit in [1e200, f64::INFINITY] {
        let error = fit(unit).unwrap_err().to_string();
        assert!(error.contains("target of row") && error.contains("1e150"), "{error}");
    }
    let HuberModel { linear, .. } = fit(1e140).unwrap();
    assert!((linear.weights[0] / 1e140 - 1.0).abs() < 0.5, "{}", linear.weights[0]);
}
