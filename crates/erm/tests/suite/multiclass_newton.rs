//! The second-order methods of multinomial logistic regression: independent optima, closed forms, bad conditioning.

use crate::common::multiclass::{codes, objective, reference};
use crate::common::{data, distance};
use fenchel_erm::Error;
use fenchel_erm::methods::{Globalisation, NewtonCgSettings, NewtonSettings, Preconditioner};
use fenchel_erm::multiclass::{MulticlassPoint, MulticlassProblem};
use fenchel_erm::multiclass::{newton, newton_cg};
use fenchel_erm::prelude::Refusal;
use fenchel_erm::prelude::{Certificate, Report, Status, Stop};
use fenchel_erm::prox::Zero;
use fenchel_linalg::{Csr, Dense, Design};
use fenchel_optim::random::stream;
use ndarray::{Array2, array};
use rand::RngExt;

fn tight() -> Stop {
    Stop { relative: 1e-12, absolute: 1e-14, ..Stop::default() }
}

fn second_order<D: Design>(
    problem: &MulticlassProblem<'_, D, Zero>,
) -> Vec<(String, MulticlassPoint, Report)> {
    let settings = NewtonSettings { stop: tight(), ..Default::default() };
    let s = newton(problem, &settings, None, &mut ()).unwrap();
    let mut all = vec![("newton".to_string(), s.state, s.report)];
    for globalisation in [Globalisation::LineSearch, Globalisation::TrustRegion] {
        for preconditioner in [Preconditioner::None, Preconditioner::Diagonal] {
            let stop = tight();
            let settings =
                NewtonCgSettings { globalisation, preconditioner, stop, ..Default::default() };
            let s = newton_cg(problem, &settings, None, &mut ()).unwrap();
            all.push((format!("{globalisation:?} {preconditioner:?}"), s.state, s.report));
        }
    }
    all
}

#[test]
fn both_find_the_optimum_of_an_independent_solver() {
    for (l2, intercepts, seed) in [(0.05, false, 1), (0.01, true, 2)] {
        let data = data(45, 5, 0.6, seed);
        let y = codes(&data.reals, seed);
        let (w, b) = reference(&data.dense, &y, 3, &Zero, l2, intercepts);
        let best = objective(&data.dense, &y, 3, &Zero, l2, &w, &b);
        fn check<D: Design>(
            problem: MulticlassProblem<'_, D, Zero>,
            intercepts: bool,
            (w, best): (&[f64], f64),
        ) {
            let problem = if intercepts { problem.with_intercepts().unwrap() } else { problem };
            for (name, point, report) in second_order(&problem) {
                assert_eq!(report.status, Status::Converged, "{name}: {report}");
                let found = report.certificate.objective().unwrap();
                assert!((found - best).abs() <= 1e-11, "{name}: {found} {best}");
                assert!(distance(&point.weights, w) <= 1e-5, "{name}");
                assert!((problem.objective(&point).unwrap() - found).abs() <= 1e-14, "{name}");
            }
        }
        let sparse = Csr::new(data.sparse.view()).unwrap();
        let problem = MulticlassProblem::new(sparse, &y, 3, Zero, l2).unwrap();
        check(problem, intercepts, (&w, best));
        let dense = Dense::new(data.dense.view()).unwrap();
        check(MulticlassProblem::new(dense, &y, 3, Zero, l2).unwrap(), intercepts, (&w, best));
    }
}

/// Columns from 1e-3 to 1e3: a first-order method would need 1e12 passes.
#[test]
fn badly_scaled_features_cost_a_few_steps() {
    let mut rng = stream(4, 0);
    let plain = Array2::from_shape_fn((200, 4), |_| rng.random_range(-1.0..1.0f64));
    let y: Vec<usize> = (plain.rows().into_iter())
        .map(|a| usize::from(a[0] + rng.random_range(-0.5..0.5) > 0.0) + usize::from(a[1] > 0.2))
        .collect();
    let scales = array![1e-3, 1.0, 30.0, 1e3];
    let scaled = &plain * &scales;
    let solve = |x: &Array2<f64>| {
        let problem =
            MulticlassProblem::new(Dense::new(x.view()).unwrap(), &y, 3, Zero, 0.0).unwrap();
        let problem = problem.with_intercepts().unwrap();
        let stop = Stop { absolute: 1e-11, relative: 0.0, ..Stop::default() };
        let settings = NewtonSettings { stop, ..Default::default() };
        newton(&problem, &settings, None, &mut ()).unwrap()
    };
    let (expected, found) = (solve(&plain), solve(&scaled));
    // Newton's method is invariant, but for the units of the gradient that ends it.
    for report in [&expected.report, &found.report] {
        assert_eq!(report.status, Status::Converged, "{report}");
        assert!(report.oracle_calls <= 10, "{report}");
    }
    assert!(matches!(found.report.certificate, Certificate::Residual { .. }));
    // Without penalty only the differences of the classes are determined.
    let features = expected.state.weights.chunks(3).zip(found.state.weights.chunks(3));
    for ((a, b), scale) in features.zip(&scales) {
        for k in 1..3 {
            let (a, b) = (a[k] - a[0], scale * (b[k] - b[0]));
            assert!((a - b).abs() <= 1e-7 * (1.0 + a.abs()), "{a} {b}");
        }
    }
}

/// A table of counts: features that say which of two groups a row is in make the optimum the class shares of the group.
#[test]
fn group_indicators_give_the_shares_of_the_groups() {
    let counts = [[5usize, 3, 2], [1, 2, 7]];
    let (mut rows, mut y) = (vec![], vec![]);
    for (group, counts) in counts.iter().enumerate() {
        for (class, &count) in counts.iter().enumerate() {
            for _ in 0..count {
                rows.extend([f64::from(u8::from(group == 0)), f64::from(u8::from(group == 1))]);
                y.push(class);
            }
        }
    }
    let x = Array2::from_shape_vec((20, 2), rows).unwrap();
    let problem = MulticlassProblem::new(Dense::new(x.view()).unwrap(), &y, 3, Zero, 0.0).unwrap();
    let entropy = |counts: &[usize; 3]| -> f64 {
        counts.iter().map(|&c| -(c as f64) * (c as f64 / 10.0).ln()).sum()
    };
    let best = counts.iter().map(entropy).sum::<f64>() / 20.0;
    for (name, point, report) in second_order(&problem) {
        let found = report.certificate.objective().unwrap();
        assert!((found - best).abs() <= 1e-13, "{name}: {found} {best}");
        for (group, counts) in counts.iter().enumerate() {
            let w = &point.weights[3 * group..3 * group + 3];
            for k in 1..3 {
                let expected = (counts[k] as f64 / counts[0] as f64).ln();
                assert!((w[k] - w[0] - expected).abs() <= 1e-6, "{name}: {w:?}");
            }
        }
    }
}

#[test]
fn a_hessian_that_is_not_allowed_is_refused_before_it_is_made() {
    let data = data(10, 5, 1.0, 9);
    let y = vec![0, 1, 2, 0, 1, 2, 0, 1, 2, 0];
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = MulticlassProblem::new(design, &y, 3, Zero, 0.1).unwrap();
    let settings = NewtonSettings { max_memory: Some(100), ..Default::default() };
    let error = newton(&problem, &settings, None, &mut ()).unwrap_err();
    let Error::Refused(Refusal::MemoryLimit { needed, limit, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!((needed, limit), (16 * 15 * 15, 100));
    let short = Some(MulticlassPoint::zero(4, 3));
    assert!(newton(&problem, &NewtonSettings::default(), short.clone(), &mut ()).is_err());
    assert!(newton_cg(&problem, &NewtonCgSettings::default(), short, &mut ()).is_err());
    let forcing = NewtonCgSettings { forcing: 1.0, ..Default::default() };
    assert!(newton_cg(&problem, &forcing, None, &mut ()).is_err());
}
