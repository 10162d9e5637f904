//! What a constant or a unit must not change, and points that must lie in their domain.

use fenchel_linalg::AsDesign;
use fenchel_linalg::CsrMatrix;
use fenchel_optim::{Cadence, Refusal, Status, Stop};
use fenchel_saddle::methods::{
    MirrorDescentSettings, MirrorPdhgSettings, MirrorProxSettings, PdhgSettings, mirror_pdhg,
    mirror_prox, pdhg,
};
use fenchel_saddle::multiclass::{HingeBilinear, Multiclass, Samples};
use fenchel_saddle::{
    Error, MatrixGame, MulticlassL1, MulticlassL1Model, MulticlassLoss, Primal, Radius,
    SaddleProblem, SaddleStep, Solver, StepSize, exact_game, matrix_game, norms, sampled_game,
};
use ndarray::{Array2, ArrayView2, array};

use crate::data;

fn objective<L>(model: &MulticlassL1Model<L>) -> f64 {
    model.report.certificate.objective().unwrap()
}

/// Strategies of every solver of games, by name.
fn solved(game: &MatrixGame) -> Vec<(&'static str, Vec<f64>, Vec<f64>, fenchel_optim::Report)> {
    let stop = Stop { max_passes: 20_000.0, ..Stop::default() };
    let prox = |step| {
        let settings = MirrorProxSettings { step, stop };
        matrix_game(game, &settings, None, &mut ()).unwrap()
    };
    let sampled = MirrorDescentSettings {
        stop: Stop { max_passes: 300.0, ..stop },
        ..MirrorDescentSettings::default()
    };
    let exact =
        exact_game(game, &PdhgSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    let mut all = vec![("exact_game", exact.state.x, exact.state.y, exact.report)];
    for (name, solution) in [
        ("matrix_game", prox(StepSize::Theory)),
        ("line search", prox(StepSize::Backtracking)),
        ("sampled_game", sampled_game(game, 3, &sampled, &mut ()).unwrap()),
    ] {
        all.push((name, solution.state.x, solution.state.y, solution.report));
    }
    all
}

/// The gap of a pair of strategies in the payments less their first entry, where nothing cancels.
fn gap_of(payments: ArrayView2<f64>, x: &[f64], y: &[f64]) -> f64 {
    let (m, p) = payments.dim();
    let less = |i: usize, j: usize| payments[[i, j]] - payments[[0, 0]];
    let (sx, sy): (f64, f64) = (x.iter().sum(), y.iter().sum());
    let earns = (0..p).map(|j| (0..m).map(|i| x[i] / sx * less(i, j)).sum::<f64>());
    let pays = (0..m).map(|i| (0..p).map(|j| y[j] / sy * less(i, j)).sum::<f64>());
    earns.fold(f64::NEG_INFINITY, f64::max) - pays.fold(f64::INFINITY, f64::min)
}

/// `[[2, 0], [0, 1]]` plus a constant has the value 2/3 plus the constant. The true gap of the returned strategies meets
/// the tolerance, and is the reported one up to the rounding of numbers as large as the constant.
#[test]
fn a_constant_in_all_payments_changes_no_strategy() {
    for offset in [0.0, -3.0, 1e6, 1e7, -1e8, 1e9, 1e12, 1e15] {
        let payments = array![[2.0, 0.0], [0.0, 1.0]] + offset;
        let game = MatrixGame::new(payments.view()).unwrap();
        for (name, x, y, report) in solved(&game) {
            let what = format!("{name} {offset:e}: {report}");
            let ulp = f64::EPSILON * offset.abs();
            for strategy in [&x, &y] {
                assert!((strategy.iter().sum::<f64>() - 1.0).abs() <= 4.0 * f64::EPSILON, "{what}");
            }
            let gap = gap_of(payments.view(), &x, &y);
            assert!((report.certificate.value() - gap).abs() <= 2.0 * ulp + 1e-12, "{gap} {what}");
            if name != "sampled_game" {
                assert_eq!(report.status, Status::Converged, "{what}");
            }
            if report.status == Status::Converged {
                assert!(gap <= 2e-4 + 1e-12, "{gap} {what}");
                assert!((x[0] - 1.0 / 3.0).abs() < 1e-3, "{what}");
            }
            let (high, low) = (game.objective(&x), game.lower_bound(&y));
            let value = 2.0 / 3.0;
            assert!(high - offset >= value - 2.0 * ulp - 1e-12, "{what}");
            assert!(low - offset <= value + 2.0 * ulp + 1e-12, "{what}");
        }
    }
}

/// Payments of 1 plus a little noise: the spread is what counts. The exact solution of the noise alone is the reference.
#[test]
fn payments_that_are_nearly_equal_have_true_bounds() {
    for seed in 0..20 {
        let (noise, _) = data::dense(5, 5, 2, seed);
        let payments = noise.mapv(|v| 1.0 + 1e-7 * v);
        // What the noise has become by rounding; exact.
        let left = payments.mapv(|v| v - 1.0);
        let bare = MatrixGame::new(left.view()).unwrap();
        let tight = PdhgSettings { stop: Stop::at_relative(1e-12), ..Default::default() };
        let exact = exact_game(&bare, &tight, None, &mut ()).unwrap().report.certificate;
        let value = 1.0 + exact.objective().unwrap();
        let game = MatrixGame::new(payments.view()).unwrap();
        let rounding = 2.0 * f64::EPSILON + exact.value();
        for (name, x, y, report) in solved(&game) {
            let (high, low) = (game.objective(&x), game.lower_bound(&y));
            assert!(high >= value - rounding && low <= value + rounding, "{name} {seed} {report}");
            if report.status == Status::Converged {
                let gap = gap_of(payments.view(), &x, &y);
                assert!(gap <= 1e-4 * game.spread() + rounding, "{name} {seed} {gap:e} {report}");
            }
        }
    }
}

/// The ball of radius 2 binds: the optimum is `ln(1 + e^-2)` at weights +-1. No point outside of the ball is certified,
/// and no bound lies above the optimum.
#[test]
fn no_certificate_is_of_a_point_outside_the_ball() {
    let (x, y) = (array![[1.0], [-1.0]], [0, 1]);
    let optimum = (-2.0_f64).exp().ln_1p();
    let samples = Samples::new(&x.as_design().unwrap(), &y, 2, None).unwrap();
    for relative in [1e-6, 1e-10, 1e-14] {
        let stop = Stop { relative, absolute: 0.0, max_passes: 3000.0, ..Stop::default() };
        for solver in [Solver::Auto, Solver::MirrorPdhg, Solver::MirrorProx] {
            let estimator = MulticlassL1 {
                loss: MulticlassLoss::Softmax,
                penalty: 0.0,
                radius: Radius::At(2.0),
                intercept: false,
                standardise: false,
                solver,
                stop,
                ..MulticlassL1::default()
            };
            for norm in [Primal::Entries, Primal::Rows] {
                let model = MulticlassL1 { norm, ..estimator.clone() }.fit(&x, &y).unwrap();
                let what = format!("{solver:?} {norm:?} {relative:e} {}", model.report);
                assert!(model.scaled_norm <= 2.0, "{what} {:e}", model.scaled_norm - 2.0);
                if norm == Primal::Entries {
                    let high = objective(&model);
                    let low = high - model.report.certificate.value();
                    assert!(high >= optimum * (1.0 - 1e-15), "{what}");
                    assert!(low <= optimum * (1.0 + 1e-14), "{what} {:e}", low - optimum);
                }
            }
        }
        let problem = Multiclass::new(&samples, MulticlassLoss::Softmax, 2.0, 0.0).unwrap();
        let settings = MirrorProxSettings { step: StepSize::Backtracking, stop };
        let prox = mirror_prox(&problem, &settings, None, &mut ()).unwrap();
        let settings = MirrorPdhgSettings { stop, ..MirrorPdhgSettings::default() };
        let mirror = mirror_pdhg(&problem, &settings, None, &mut ()).unwrap();
        for solution in [prox, mirror] {
            let norm = solution.state.x[..2].iter().map(|u| u.abs()).sum::<f64>();
            assert!(norm <= 2.0, "{norm}");
            assert!(problem.objective(&solution.state.x) >= optimum * (1.0 - 1e-15));
        }
    }
}

/// Weights that are cut away take the tolerance with them.
#[test]
fn a_pruned_model_is_judged_again() {
    let (x, y) = (array![[1.0], [-1.0], [2.0], [-2.0]], [0, 1, 0, 1]);
    let model = MulticlassL1::default().fit(&x, &y).unwrap();
    assert_eq!(model.report.status, Status::Converged);
    let none = model.pruned(1e9, &x, &y).unwrap();
    assert_eq!((none.nonzeros(), objective(&none)), (0, 1.0));
    assert!(none.report.certificate.value() > 0.9, "{}", none.report);
    assert_eq!(none.report.status, Status::Stopped);
    let same = model.pruned(0.0, &x, &y).unwrap();
    assert_eq!(same.report.status, Status::Converged);
}

/// `x` times `c` with the radius over `c` is the same problem for every method: bit for bit if `c` is a power of 2, and
/// within the tolerance of 1 % if rounding differs, since line searches compare numbers that are nearly equal.
#[test]
fn units_of_features_change_no_fit() {
    let (x, y) = (array![[1.0], [-1.0], [2.0], [-2.0]], [0, 1, 0, 1]);
    let powers = [-450.0_f64, -30.0, -1.0, 17.0, 450.0].map(f64::exp2);
    let scales = [1e-150, 1e-10, 1e5, 1e150];
    let solvers =
        [Solver::Auto, Solver::Pdhg, Solver::MirrorPdhg, Solver::MirrorProx, Solver::Sublinear];
    for solver in solvers {
        for intercept in [false, true] {
            let fit = |c: f64| {
                let stop = Stop { max_passes: 2000.0, ..Stop::at_relative(0.01) };
                let step = SaddleStep::Size(StepSize::Scaled(10.0));
                MulticlassL1 {
                    penalty: 0.05 * c,
                    radius: Radius::At(3.0 / c),
                    standardise: false,
                    intercept,
                    solver,
                    step,
                    stop,
                    ..MulticlassL1::default()
                }
                .fit(&(&x * c), &y)
                .unwrap()
            };
            let one = fit(1.0);
            for c in powers {
                let model = fit(c);
                assert_eq!(model.report.certificate, one.report.certificate, "{solver:?} {c:e}");
                let scaled = model.weights.iter().map(|(i, l, w)| (*i, *l, w * c));
                assert_eq!(scaled.collect::<Vec<_>>(), one.weights, "{solver:?} {c:e}");
                assert_eq!(model.intercepts, one.intercepts);
            }
            for c in scales {
                let model = fit(c);
                let what = format!("{solver:?} {intercept} {c:e} {} {}", model.report, one.report);
                assert_eq!(model.report.status, one.report.status, "{what}");
                let gap = one.report.certificate.value().max(model.report.certificate.value());
                assert!((objective(&model) - objective(&one)).abs() <= gap + 1e-12, "{what}");
            }
            for (c, message) in [(1e160, "overflows"), (1e-200, "vanishes")] {
                let plain = MulticlassL1 { standardise: false, intercept, ..Default::default() };
                let error = plain.fit(&(&x * c), &y).unwrap_err().to_string();
                assert!(error.contains(message), "{error}");
            }
        }
    }
}

/// PDHG on the bare problem: c = 1 takes 20 passes, and 1e-10 ended at the pass limit with an objective of 0.9997.
#[test]
fn pdhg_takes_its_balance_from_the_data() {
    let y = [0, 1, 0, 1];
    for c in [1e-100, 1e-10, 1e-5, 1.0, 1e5, 1e50] {
        let x = array![[1.0], [-1.0], [2.0], [-2.0]] * c;
        let samples = Samples::new(&x.as_design().unwrap(), &y, 2, None).unwrap();
        let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 3.0 / c, 0.0).unwrap();
        let bilinear = HingeBilinear::new(&problem).unwrap();
        let stop = Stop { max_passes: 100.0, ..Stop::at_relative(1e-6) };
        let settings = PdhgSettings { stop, ..PdhgSettings::default() };
        let report = pdhg(&bilinear, &settings, None, &mut ()).unwrap().report;
        assert_eq!(report.status, Status::Converged, "{c:e} {report}");
    }
}

/// Squares of 1e-200 vanish, and those of 1e200 overflow; norms do not.
#[test]
fn norms_do_not_depend_on_squares() {
    for c in [1e-300_f64, 1e-200, 1.0, 1e160, 1e300] {
        let x = array![[3.0 * c, 0.0], [4.0 * c, 1.0]];
        let samples = Samples::new(&x.as_design().unwrap(), &[0, 1], 2, None).unwrap();
        assert!((samples.largest_column() / (5.0 * c).max(1.0) - 1.0).abs() < 1e-15, "{c:e}");
        for (p, right) in [(1.0, 7.0), (2.0, 5.0), (3.0, 91.0_f64.cbrt()), (f64::INFINITY, 4.0)] {
            let norm = norms::norm([3.0 * c, -4.0 * c].into_iter(), p);
            assert!((norm / (right * c) - 1.0).abs() < 1e-14, "{p} {norm:e}");
        }
    }
    assert_eq!(norms::norm([0.0, 0.0].into_iter(), 2.0), 0.0);
}

fn sparse(x: &Array2<f64>) -> CsrMatrix<f64> {
    let (mut offsets, mut places, mut values) = (vec![0], vec![], vec![]);
    for row in x.rows() {
        for (c, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            places.push(c as u32);
            values.push(*v);
        }
        offsets.push(places.len());
    }
    CsrMatrix::new(x.dim(), offsets, places, values)
}

/// Kelvins and years: a constant that is added to a column changes the intercepts, and neither the objective nor a
/// score. Rounding of `x + offset` moves an entry by `offset * 2^-53`.
#[test]
fn a_constant_in_a_column_changes_no_fit() {
    let (_, x, y) = data::sparse(60, 6, 3, 5);
    let stop = Stop { max_passes: 1e4, ..Stop::at_relative(1e-7) };
    for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
        for standardise in [true, false] {
            let relative = if loss == MulticlassLoss::Hinge { 1e-7 } else { 1e-3 };
            let stop = Stop { relative, ..stop };
            let estimator =
                MulticlassL1 { loss, standardise, penalty: 0.02, stop, ..MulticlassL1::default() };
            let plain = estimator.fit(&x, &y).unwrap();
            let scores = plain.decision_function(&x).unwrap();
            // Zeros that are not stored are centred implicitly.
            let one = estimator.fit(&sparse(&x), &y).unwrap();
            assert!((objective(&one) - objective(&plain)).abs() <= 2.0 * relative, "{loss:?}");
            for offset in [100.0, -1e4, 1e6] {
                let moved = &x + offset;
                for model in [estimator.fit(&moved, &y), estimator.fit(&sparse(&moved), &y)] {
                    let model = model.unwrap();
                    let what = format!("{loss:?} {standardise} {offset}: {}", model.report);
                    assert_eq!(model.report.status, plain.report.status, "{what}");
                    assert!(
                        (objective(&model) - objective(&plain)).abs() <= 2.0 * relative,
                        "{what}"
                    );
                    let value = model.report.certificate.value();
                    assert!(value <= 2.0 * relative * objective(&model), "{what}");
                    let others = model.decision_function(&moved).unwrap();
                    let far = (&others - &scores).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                    // Solutions of the hinge need not be unique; these are.
                    assert!(far <= if relative < 1e-5 { 1e-5 } else { 0.05 }, "{far} {what}");
                    // The data of the fit are recognised.
                    model.pruned(1e-3, &moved, &y).unwrap();
                }
            }
        }
    }
}

/// The sublinear method reads a centred copy of sparse data and is judged on the data as stored: the same draws, gaps and
/// weights as on dense data, up to the rounding of sums.
#[test]
fn the_sublinear_method_finds_the_same_on_sparse_and_dense_data() {
    let (_, x, y) = data::sparse(60, 6, 3, 5);
    for step in [SaddleStep::Pilot, SaddleStep::Size(StepSize::Scaled(300.0))] {
        let check = Cadence::Every(10.0);
        let stop = Stop { max_passes: 300.0, check, ..Stop::at_relative(1e-6) };
        let solver = Solver::Sublinear;
        let estimator = MulticlassL1 { penalty: 0.02, solver, step, stop, ..Default::default() };
        let (dense, stored) =
            (estimator.fit(&x, &y).unwrap(), estimator.fit(&sparse(&x), &y).unwrap());
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        let what = format!("{} {}", dense.report, stored.report);
        assert!(dense.report.passes == stored.report.passes && objective(&dense) < 0.9, "{what}");
        assert!(near(objective(&stored), objective(&dense)), "{what}");
        let gap = |model: &MulticlassL1Model<usize>| model.report.certificate.value();
        assert!(near(gap(&stored), gap(&dense)), "{what}");
        let (a, b) = (stored.decision_function(&x).unwrap(), dense.decision_function(&x).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| near(*a, *b)), "{what}");
    }
}

/// 200 x 6 draws plus 100, two classes: the majority has .555, and the model without the offset .765.
#[test]
fn an_offset_costs_no_accuracy() {
    let (x, y) = data::dense(200, 6, 2, 9);
    for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
        let estimator = MulticlassL1 { loss, penalty: 0.02, ..MulticlassL1::default() };
        let without = estimator.fit(&x, &y).unwrap().score(&x, &y).unwrap();
        let moved = &x + 100.0;
        let with = estimator.fit(&moved, &y).unwrap().score(&moved, &y).unwrap();
        assert!(with >= without - 0.02 && without > 0.7, "{loss:?} {with} {without}");
    }
}

/// A constant column says nothing beside an intercept, whatever the constant.
#[test]
fn constant_columns_have_no_weights() {
    let (x, y) = data::dense(40, 3, 3, 2);
    for constant in [0.1, 1e20, -3e-7, 1e300] {
        let mut with = Array2::from_elem((40, 4), constant);
        (0..3).for_each(|c| with.column_mut(c).assign(&x.column(c)));
        let model = MulticlassL1::default().fit(&with, &y).unwrap();
        assert!(model.weights.iter().all(|(i, ..)| *i < 3), "{constant:e}");
        let without = MulticlassL1::default().fit(&x, &y).unwrap();
        assert!((objective(&model) - objective(&without)).abs() < 1e-9, "{constant:e}");
    }
}

/// A few stored numbers with an index near 2^32 ask for lists of 34 GB. They are refused before.
#[test]
fn columns_without_end_are_refused() {
    let last = u32::MAX - 1;
    let x = CsrMatrix::new(
        (2, last as usize + 1),
        vec![0, 2, 3],
        vec![0, last, 0],
        vec![1.0, 1.0, -1.0],
    );
    let design = x.as_design().unwrap();
    let refused = |error: Error| {
        assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { .. })), "{error}");
    };
    refused(MulticlassL1::default().fit(&x, &[0, 1]).unwrap_err());
    refused(MulticlassL1::default().path(&x, &[0, 1], &[1.0]).unwrap_err());
    refused(Samples::new(&design, &[0, 1], 2, None).unwrap_err());
}
