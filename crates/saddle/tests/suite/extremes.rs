//! Data of any scale, tight tolerances, budgets, starts and labels that fit nothing.

use fenchel_datasets::embedded;
use fenchel_linalg::{AsDesign, CsrMatrix};
use fenchel_saddle::methods::{PdhgSettings, PdhgState};
use fenchel_saddle::multiclass::{HingeBilinear, Multiclass, Samples};
use fenchel_saddle::{
    Bilinear, ClassWeights, Fit, LinearProgram, LpOutcome, LpSettings, MatrixGame, MulticlassL1,
    MulticlassL1Model, MulticlassLoss, Radius, SaddleProblem, Status, Stop, exact_game,
    linear_program,
};
use ndarray::{Array2, Axis, array};

use crate::data;

fn objective<L>(model: &MulticlassL1Model<L>) -> f64 {
    model.report.certificate.objective().unwrap()
}

/// Features are brought to one scale first, whatever theirs is: squares that would vanish or overflow included.
#[test]
fn the_scale_of_features_does_not_matter() {
    let (x, y) = data::dense(60, 5, 3, 1);
    let stop = Stop { max_passes: 1e5, ..Stop::at_relative(1e-9) };
    let estimator = MulticlassL1 { stop, ..MulticlassL1::default() };
    let expected = objective(&estimator.fit(&x, &y).unwrap());
    for scale in [1e-300, 1e-200, 1e-9, 1e9, 1e200, 1e300] {
        let model = estimator.fit(&(&x * scale), &y).unwrap();
        assert_eq!(model.report.status, Status::Converged, "{scale:e} {}", model.report);
        assert!((objective(&model) - expected).abs() <= 1e-8, "{scale:e} {}", model.report);
    }
    let mut mixed = x.clone();
    mixed.column_mut(0).mapv_inplace(|v| v * 1e-200);
    mixed.column_mut(1).mapv_inplace(|v| v * 1e200);
    let model = estimator.fit(&mixed, &y).unwrap();
    assert!((objective(&model) - expected).abs() <= 1e-8, "{}", model.report);
}

/// A search ends with its budget, not with forty times of it.
#[test]
fn a_search_for_the_radius_keeps_the_budget() {
    let (x, y) = data::dense(80, 10, 4, 2);
    let stop = Stop { relative: 1e-12, absolute: 0.0, max_passes: 300.0, ..Stop::default() };
    for penalty in [0.0, 1e-4] {
        let estimator =
            MulticlassL1 { penalty, radius: Radius::Search, stop, ..MulticlassL1::default() };
        let model = estimator.fit(&x, &y).unwrap();
        // A look comes every 20 passes.
        assert!(model.report.passes <= 320.0, "{}", model.report);
    }
}

/// Power iteration would see the many features and miss the one that is longer.
#[test]
fn an_isolated_feature_is_not_missed_by_the_norm() {
    let n = 3000_usize;
    let values: Vec<f64> = (0..n).map(|j| if j == 1234 { 1.5 } else { 1.0 }).collect();
    let x = CsrMatrix::new((n, n), (0..=n).collect(), (0..n as u32).collect(), values);
    let y: Vec<usize> = (0..n).map(|j| j % 2).collect();
    let samples = Samples::new(&x.as_design().unwrap(), &y, 2, None).unwrap();
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 1.0, 0.0).unwrap();
    let norm = HingeBilinear::new(&problem).unwrap().norm() * n as f64;
    assert!((1.5..1.55).contains(&norm), "{norm}");
}

/// Of the strategies (0, 0) and (2, 2) bounds would cross, and the value of the game lie outside of both.
#[test]
fn a_start_outside_of_the_domain_proves_nothing() {
    let game = MatrixGame::new(array![[1.0, 2.0], [2.0, 1.0]].view()).unwrap();
    let start = PdhgState::at(vec![0.0; 2], vec![2.0; 2]);
    let stop = Stop::at_relative(1e-9);
    let settings = PdhgSettings { stop, ..PdhgSettings::default() };
    let state = exact_game(&game, &settings, Some(start), &mut ()).unwrap().state;
    assert!((game.objective(&state.x) - 1.5).abs() < 1e-8);
    assert!((game.lower_bound(&state.y) - 1.5).abs() < 1e-8);
    assert!((state.x.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn labels_and_weights_that_are_none() {
    let (x, y) = data::dense(30, 4, 3, 3);
    let labels: Vec<f64> = y.iter().map(|v| *v as f64).collect();
    let model = MulticlassL1::default().fit(&x, &labels).unwrap();
    assert_eq!(model.score(&x, &[f64::NAN; 30]).unwrap(), 0.0);
    assert_eq!(model.score(&x, &[9.0; 30]).unwrap(), 0.0);
    let names: Vec<String> = y.iter().map(|v| format!("class {v}")).collect();
    let with = |each: Vec<f64>| {
        let class_weights = ClassWeights::Each(each);
        let estimator = MulticlassL1 { class_weights, ..MulticlassL1::default() };
        estimator.fit(&x, &names).unwrap_err().to_string()
    };
    assert_eq!(
        with(vec![1.0, -2.0, 1.0]),
        "class_weights: -2 for label \"class 1\"; expected a finite number >= 0"
    );
    // Other labels on the same rows have the same objective, and are another model's.
    let other: Vec<f64> = labels.iter().map(|v| v + 1.0).collect();
    let error = model.pruned(0.1, &x, &other).unwrap_err().to_string();
    assert_eq!(error, "data: their labels are not those of the fit");
    // Scores that overflow would be NaN, and their class the first.
    let error = model.predict(&(Array2::<f64>::ones((2, 4)) * 1.7e308)).unwrap_err().to_string();
    assert!(error.contains("at row 0; the features times the weights overflow"), "{error}");
    let plain = MulticlassL1 { standardise: false, ..MulticlassL1::default() };
    let error = plain.fit(&(&x * 1e300), &y).unwrap_err().to_string();
    assert!(error.contains("the norm of column 0 overflows"), "{error}");
    let mut weights = vec![1.0; 30];
    weights[7] = -0.5;
    let error = MulticlassL1::default().fit_with(&x, &y, Fit::new().weights(&weights)).unwrap_err();
    assert_eq!(error.to_string(), "weights: entry 7 is -0.5; expected a finite number >= 0");
}

/// `min c'x` with `a'x = b`, `x >= 0`: `b` times the least of `c_j / a_j`. Programs of any scale are judged by their own.
#[test]
fn small_and_large_programs_are_solved_as_well() {
    let scales = [1e-12, 1e-6, 1.0, 1e6, 1e12];
    for of_cost in scales {
        for of_row in scales {
            for of_right in scales {
                let cost = [of_cost, 3.0 * of_cost];
                let row = array![[of_row, 2.0 * of_row]];
                let program = LinearProgram::new(&cost)
                    .and_then(|p| p.equal(row.view(), &[of_row * of_right]))
                    .unwrap();
                let outcome = linear_program(&program, &LpSettings::default()).unwrap().outcome;
                let what = format!("{of_cost:e} {of_row:e} {of_right:e} {outcome:?}");
                let LpOutcome::Optimal { x, objective, .. } = outcome else { panic!("{what}") };
                let value = of_cost * of_right;
                assert!((objective - value).abs() <= 1e-6 * value, "{what}");
                assert!((x[0] - of_right).abs() <= 1e-6 * of_right, "{what}");
                // Two equations that contradict each other, at the same scale.
                let rows = array![[of_row, 2.0 * of_row], [of_row, 2.0 * of_row]];
                let rights = [of_row * of_right, 2.0 * of_row * of_right];
                let program =
                    LinearProgram::new(&cost).and_then(|p| p.equal(rows.view(), &rights)).unwrap();
                let outcome = linear_program(&program, &LpSettings::default()).unwrap().outcome;
                assert!(matches!(outcome, LpOutcome::Infeasible { .. }), "{what} {outcome:?}");
                // A cost that falls for ever.
                let falling = LinearProgram::new(&[-of_cost, of_cost])
                    .and_then(|p| p.at_least(array![[0.0, of_row]].view(), &[of_row * of_right]))
                    .unwrap();
                let outcome = linear_program(&falling, &LpSettings::default()).unwrap().outcome;
                assert!(matches!(outcome, LpOutcome::Unbounded { .. }), "{what} {outcome:?}");
            }
        }
    }
}

/// A bound that is far away is still a bound: neither is 1e-9 a zero, nor the program without an end.
#[test]
fn small_entries_are_no_zeros() {
    let solve = |p: LinearProgram| linear_program(&p, &LpSettings::default()).unwrap().outcome;
    let up = LinearProgram::new(&[-1.0])
        .and_then(|p| p.at_least(array![[-1e-9]].view(), &[-1.0]))
        .unwrap();
    assert!(
        matches!(solve(up), LpOutcome::Optimal { objective, .. } if (objective + 1e9).abs() < 1.0)
    );
    let far =
        LinearProgram::new(&[1.0]).and_then(|p| p.at_least(array![[1e-9]].view(), &[1.0])).unwrap();
    assert!(
        matches!(solve(far), LpOutcome::Optimal { objective, .. } if (objective - 1e9).abs() < 1.0)
    );
}

/// The high-accuracy mode is a tolerance away. The optima are those of the linear programs by the simplex method of HiGHS, through scipy 1.17.
#[test]
fn the_hinge_is_fitted_to_many_digits() {
    let stop = Stop { absolute: 0.0, max_passes: 1e5, ..Stop::at_relative(1e-8) };
    let (iris, wine, digits) = (embedded::iris(), embedded::wine(), embedded::digits());
    let first = digits.x.slice_axis(Axis(0), (..120).into()).mapv(|v| v / 16.0);
    let plain = |penalty: f64| MulticlassL1 {
        penalty,
        standardise: false,
        intercept: false,
        stop,
        ..MulticlassL1::default()
    };
    let fits = [
        ("iris", plain(0.01).fit(&iris.x, &iris.y), 0.198_603_879_491_722),
        (
            "wine",
            MulticlassL1 { stop, ..MulticlassL1::default() }.fit(&wine.x, &wine.y),
            0.081_695_078_779_365,
        ),
        (
            "digits",
            plain(0.02).fit(&first, digits.y.slice_axis(Axis(0), (..120).into())),
            0.665_558_639_835_882,
        ),
    ];
    for (name, model, optimum) in fits {
        let model = model.unwrap();
        assert_eq!(model.report.status, Status::Converged, "{name} {}", model.report);
        assert!((objective(&model) - optimum).abs() <= 2e-8, "{name} {}", model.report);
    }
}

/// Next to no penalty: what comes back is the best of what was found, which separates the classes, with a gap that is true. The loss of iris
/// without any penalty is 0.0397 for the softmax by L-BFGS-B, and wine is separable, so that its hinge can be brought to 0.
#[test]
fn next_to_no_penalty_is_no_reason_for_no_weights() {
    let wine = embedded::wine();
    for penalty in [1e-6, 1e-9, 1e-12, 1e-30] {
        for (loss, most) in [(MulticlassLoss::Hinge, 0.1), (MulticlassLoss::Softmax, 0.5)] {
            let stop = Stop { max_passes: 3000.0, ..MulticlassL1::default().stop };
            let estimator = MulticlassL1 { loss, penalty, stop, ..MulticlassL1::default() };
            let model = estimator.fit(&wine.x, &wine.y).unwrap();
            let what = format!("{loss:?} {penalty:e} {:?} {}", model.solver, model.report);
            println!("{what} {} {:?}", model.nonzeros(), model.score(&wine.x, &wine.y));
            assert!(model.nonzeros() > 0, "{what}");
            assert!(objective(&model) <= most, "{what}");
            assert!(model.score(&wine.x, &wine.y).unwrap() > 0.95, "{what}");
            let certificate = model.report.certificate;
            // Lower bounds hold for the weights of a longer run.
            let stop = Stop { max_passes: 10_000.0, ..stop };
            let longer = MulticlassL1 { stop, ..estimator }.fit(&wine.x, &wine.y).unwrap();
            assert!(objective(&model) - certificate.value() <= objective(&longer), "{what}");
            let met = certificate.relative() <= 0.05 || certificate.value() <= 1e-12;
            assert_eq!(model.report.status == Status::Converged, met, "{what}");
        }
    }
}
