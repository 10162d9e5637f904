//! The estimator: certificates that hold, sparsity, weights, labels, files, bad input.

use fenchel_datasets::embedded;
use fenchel_optim::model::Saved;
use fenchel_optim::{Cadence, Status, StepSize, Stop};
use fenchel_saddle::methods::{PdhgSettings, pdhg};
use fenchel_saddle::multiclass::{HingeBilinear, Multiclass, Samples};
use fenchel_saddle::{
    ClassWeights, Fit, MulticlassL1, MulticlassL1Model, MulticlassLoss, Primal, Radius, SaddleStep,
    Solver,
};
use ndarray::{Array2, array};
use std::ops::ControlFlow;

use crate::data;

fn tight() -> Stop {
    Stop { absolute: 1e-9, relative: 0.0, max_passes: 40_000.0, ..Stop::default() }
}

/// The optimum by another way: PDHG on the bare problem to 1e-9.
fn optimum(samples: &Samples, radius: f64, penalty: f64) -> f64 {
    let problem = Multiclass::new(samples, MulticlassLoss::Hinge, radius, penalty).unwrap();
    let bilinear = HingeBilinear::new(&problem).unwrap();
    let settings = PdhgSettings { stop: tight(), ..Default::default() };
    let solution = pdhg(&bilinear, &settings, None, &mut ()).unwrap();
    assert!(solution.report.certificate.value() <= 1e-8, "{}", solution.report);
    solution.report.certificate.objective().unwrap()
}

/// Restarts reach nine digits where averages alone do not.
#[test]
fn restarts_make_pdhg_linear() {
    let samples = data::samples(40, 8, 5, 1);
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 5.0, 0.01).unwrap();
    let bilinear = HingeBilinear::new(&problem).unwrap();
    let run = |restarts| {
        let stop = Stop { max_passes: 6000.0, check: Cadence::Every(20.0), ..tight() };
        let settings = PdhgSettings { restarts, stop, ..Default::default() };
        pdhg(&bilinear, &settings, None, &mut ()).unwrap().report
    };
    let (with, without) = (run(true), run(false));
    assert_eq!(with.status, Status::Converged, "{with}");
    assert!(
        without.status != Status::Converged || without.passes > with.passes,
        "{without} {with}"
    );
}

/// No solver claims more than is true: the reported gap covers the distance from the optimum, for every solver and step.
#[test]
fn certificates_cover_the_truth() {
    let (x, y) = data::dense(60, 10, 4, 2);
    let samples = data::samples(60, 10, 4, 2);
    for (penalty, radius) in [(0.02, 6.0), (0.0, 2.0), (0.1, 50.0)] {
        let best = optimum(&samples, radius, penalty);
        let solvers = [
            (Solver::Pdhg, SaddleStep::Pilot),
            (Solver::MirrorProx, SaddleStep::Pilot),
            (Solver::MirrorPdhg, SaddleStep::Pilot),
            (Solver::Sublinear, SaddleStep::Pilot),
            (Solver::Sublinear, SaddleStep::Size(StepSize::Scaled(1000.0))),
            (Solver::Sublinear, SaddleStep::Size(StepSize::Constant(50.0))),
        ];
        for (solver, step) in solvers {
            let stop = Stop { relative: 0.05, max_passes: 3000.0, ..Stop::default() };
            let estimator = MulticlassL1 {
                penalty,
                radius: Radius::At(radius),
                solver,
                step,
                intercept: false,
                standardise: false,
                stop,
                ..MulticlassL1::default()
            };
            let model = estimator.fit(&x, &y).unwrap();
            let certificate = model.report.certificate;
            let objective = certificate.objective().unwrap();
            // The objective is that of the weights that are returned.
            let mut u = vec![0.0; 40];
            model.weights.iter().for_each(|(i, l, w)| u[*i as usize * 4 + *l as usize] = *w);
            let problem =
                Multiclass::new(&samples, MulticlassLoss::Hinge, radius, penalty).unwrap();
            assert!((problem.primal(&u) - objective).abs() < 1e-12);
            assert!(problem.norm(&u) <= radius * (1.0 + 1e-9));
            assert!(objective - best <= certificate.value() + 1e-8, "{solver:?} {step:?}");
            assert!(objective - certificate.value() <= best + 1e-8);
            assert!(objective <= 1.0, "never worse than no weights");
            if model.report.status == Status::Converged {
                assert!(certificate.relative() <= 0.05);
            }
            if solver != Solver::Sublinear || step == SaddleStep::Pilot {
                assert!(certificate.value() < 0.3, "{solver:?} {}", model.report);
            }
        }
    }
}

#[test]
fn no_weights_at_all_where_the_penalty_is_strong() {
    let (x, y) = data::dense(40, 5, 3, 3);
    for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
        for solver in [Solver::Auto, Solver::MirrorProx] {
            let class_weights = ClassWeights::Balanced;
            let model = MulticlassL1 {
                loss,
                solver,
                class_weights,
                penalty: 5.0,
                intercept: false,
                ..Default::default()
            }
            .fit(&x, &y)
            .unwrap();
            assert_eq!(model.nonzeros(), 0);
            assert_eq!(model.report.status, Status::Converged, "{}", model.report);
        }
    }
    // Data that are all 0.
    for solver in [Solver::Pdhg, Solver::Sublinear, Solver::MirrorProx] {
        let model = MulticlassL1 { solver, intercept: false, ..Default::default() };
        let model = model.fit(&Array2::<f64>::zeros((6, 2)), &vec![0, 1, 2, 0, 1, 2]).unwrap();
        assert_eq!((model.nonzeros(), model.report.certificate.objective()), (0, Some(1.0)));
        assert!(model.report.certificate.value() < 0.7);
    }
}

#[test]
fn real_data_are_classified() {
    let iris = embedded::iris();
    for loss in [MulticlassLoss::Hinge, MulticlassLoss::Softmax] {
        for norm in [Primal::Entries, Primal::Rows] {
            let model =
                MulticlassL1 { loss, norm, ..Default::default() }.fit(&iris.x, &iris.y).unwrap();
            assert_eq!(
                model.report.status,
                Status::Converged,
                "{loss:?} {norm:?} {}",
                model.report
            );
            assert!(model.score(&iris.x, &iris.y).unwrap() > 0.93, "{loss:?} {norm:?}");
        }
    }
    let wine = embedded::wine();
    let names: Vec<String> = wine.y.iter().map(|y| format!("cultivar {y}")).collect();
    let model = MulticlassL1::default().fit(&wine.x, &names).unwrap();
    assert!(model.score(&wine.x, &names).unwrap() > 0.97);
    assert!(model.nonzeros() < 13 * 3);
    let file = serde_json::to_string(&model).unwrap();
    let again: MulticlassL1Model<String> = serde_json::from_str(&file).unwrap();
    assert_eq!(again, model);
    let mut buffer = vec![];
    model.save(&mut buffer).unwrap();
    assert_eq!(MulticlassL1Model::<String>::load(&buffer[..]).unwrap(), model);
    let text = String::from_utf8(buffer).unwrap();
    let spoilt = text.replacen("\"features\":13", "\"features\":1", 1);
    assert!(MulticlassL1Model::<String>::load(spoilt.as_bytes()).is_err());
    // Pruning: fewer weights, a certificate of its own.
    let pruned = model.pruned(0.02, &wine.x, &names).unwrap();
    assert!(pruned.nonzeros() <= model.nonzeros());
    assert!(pruned.report.certificate.value() >= 0.0);
    let other = model.pruned(0.02, &(&wine.x + 1.0), &names).unwrap_err().to_string();
    assert!(other.contains("data of the fit"), "{other}");
}

/// A sparse design, and a weight of 2 for a row that stands there twice, change nothing.
#[test]
fn storage_and_weights_agree() {
    let (csr, dense, y) = data::sparse(30, 6, 3, 4);
    let estimator = MulticlassL1 { stop: tight(), penalty: 0.05, ..Default::default() };
    let value = |m: MulticlassL1Model<usize>| m.report.certificate.objective().unwrap();
    let of_dense = value(estimator.fit(&dense, &y).unwrap());
    assert!((value(estimator.fit(&csr, &y).unwrap()) - of_dense).abs() < 2e-9);
    let plain = MulticlassL1 { standardise: false, ..estimator.clone() };
    let twice = ndarray::concatenate(ndarray::Axis(0), &[dense.view(), dense.view()]).unwrap();
    let labels: Vec<usize> = y.iter().chain(&y).copied().collect();
    let weights: Vec<f64> = (0..30).map(|j| f64::from(j % 3)).collect();
    let halves: Vec<f64> = weights.iter().chain(&weights).map(|w| 0.5 * w).collect();
    let one = value(plain.fit_with(&dense, &y, Fit::new().weights(&weights)).unwrap());
    let two = value(plain.fit_with(&twice, &labels, Fit::new().weights(&halves)).unwrap());
    assert!((one - two).abs() < 3e-9, "{one} {two}");
    // Balanced classes are weights too.
    let mut counts = [0.0; 3];
    y.iter().for_each(|c| counts[*c] += 1.0);
    let by_hand: Vec<f64> = y.iter().map(|c| 7.0 / counts[*c]).collect();
    let balanced = MulticlassL1 { class_weights: ClassWeights::Balanced, ..plain.clone() };
    let one = value(balanced.fit(&dense, &y).unwrap());
    assert!(
        (one - value(plain.fit_with(&dense, &y, Fit::new().weights(&by_hand)).unwrap())).abs()
            < 3e-9
    );
}

/// With a slack ball the radius does not matter; the search finds one. The path presses less and less.
#[test]
fn radii_are_searched_and_walked() {
    let (x, y) = data::dense(50, 6, 3, 5);
    let estimator = MulticlassL1 {
        penalty: 0.03,
        stop: Stop { relative: 1e-3, max_passes: 20_000.0, ..Stop::default() },
        ..Default::default()
    };
    let by_penalty = estimator.fit(&x, &y).unwrap();
    let searched =
        MulticlassL1 { radius: Radius::Search, ..estimator.clone() }.fit(&x, &y).unwrap();
    let value = |m: &MulticlassL1Model<usize>| m.report.certificate.objective().unwrap();
    assert!(searched.radius < by_penalty.radius);
    assert!((value(&searched) - value(&by_penalty)).abs() < 0.02 * value(&by_penalty));
    let path = MulticlassL1 { penalty: 0.0, ..estimator }.path(&x, &y, &[0.5, 2.0, 8.0]).unwrap();
    assert!(path.windows(2).all(|p| value(&p[1]) < value(&p[0])));
    assert!(path.iter().zip([0.5, 2.0, 8.0]).all(|(m, r)| m.scaled_norm <= r * (1.0 + 1e-9)));
    // Without a penalty the bound is what holds the weights back; `P(0)/penalty` holds nothing back.
    assert!(path[0].binds && path[1].binds && !by_penalty.binds);
}

/// A search says whether the bound still binds where it ended. One feature whose sign is the class: the loss of `(u, -u)` is
/// `max(0, 1 - 2u)`, so 1 is the norm from which on it is 0. With a budget for the first radius alone the bound binds.
#[test]
fn a_search_says_whether_the_bound_binds() {
    let x = Array2::from_shape_fn((20, 1), |(j, _)| if j % 2 == 0 { 1.0 } else { -1.0 });
    let y: Vec<usize> = (0..20).map(|j| j % 2).collect();
    let fit = |radius: Radius, penalty: f64| {
        let stop = Stop { relative: 1e-6, absolute: 1e-9, max_passes: 20_000.0, ..Stop::default() };
        let solver = Solver::Pdhg;
        let estimator =
            MulticlassL1 { penalty, radius, stop, solver, intercept: false, ..Default::default() };
        estimator.fit(&x, &y).unwrap()
    };
    let short = fit(Radius::At(0.25), 0.0);
    assert!(short.binds && (short.scaled_norm - 0.25).abs() < 1e-6, "{}", short.scaled_norm);
    let loose = fit(Radius::At(50.0), 0.01);
    assert!(!loose.binds && (loose.scaled_norm - 1.0).abs() < 1e-3, "{}", loose.scaled_norm);
    // The first radius is 1, where the loss becomes 0; twice of it gains nothing.
    let searched = fit(Radius::Search, 0.01);
    assert_eq!(searched.binds, searched.scaled_norm >= 0.95 * searched.radius);
    let file = serde_json::to_string(&searched).unwrap();
    assert_eq!(serde_json::from_str::<MulticlassL1Model<usize>>(&file).unwrap(), searched);
    // A file from before the field.
    let old = file.replacen(&format!("\"binds\":{},", searched.binds), "", 1);
    assert!(old.len() < file.len());
    assert!(!serde_json::from_str::<MulticlassL1Model<usize>>(&old).unwrap().binds);
}

#[test]
fn fits_repeat_and_are_watched() {
    let (x, y) = data::dense(80, 12, 4, 6);
    let estimator = MulticlassL1 {
        solver: Solver::Sublinear,
        radius: Radius::At(10.0),
        stop: Stop { relative: 0.1, max_passes: 5000.0, ..Stop::default() },
        ..Default::default()
    };
    let model = estimator.fit(&x, &y).unwrap();
    let timeless = |mut model: MulticlassL1Model<usize>| {
        model.report = model.report.without_seconds();
        model
    };
    assert_eq!(timeless(model.clone()), timeless(estimator.fit(&x, &y).unwrap()));
    let other = MulticlassL1 { seed: 1, ..estimator.clone() }.fit(&x, &y).unwrap();
    assert_ne!(model.weights, other.weights);
    let mut calls = 0;
    let stopped = estimator.fit_with(
        &x,
        &y,
        Fit::new().watch(&mut |_| {
            calls += 1;
            if calls >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }),
    );
    // After `Break` it is not called again.
    assert_eq!((stopped.unwrap().report.status, calls), (Status::Stopped, 3));
}

/// A fit from a model is never worse than the model, whatever the method. PDHG continues from its weights: at a penalty
/// nearby it needs fewer passes than from none.
#[test]
fn a_start_is_the_least_that_a_fit_returns() {
    let (x, y) = data::dense(60, 8, 3, 9);
    let exact = MulticlassL1 {
        penalty: 0.03,
        solver: Solver::Pdhg,
        stop: Stop { max_passes: 1e5, ..tight() },
        ..Default::default()
    };
    let objective = |m: &MulticlassL1Model<usize>| m.report.certificate.objective().unwrap();
    let start = exact.fit(&x, &y).unwrap();
    for solver in [Solver::Sublinear, Solver::MirrorPdhg, Solver::MirrorProx, Solver::Pdhg] {
        let stop = Stop { max_passes: 3.0, ..exact.stop };
        let short = MulticlassL1 { solver, stop, ..exact.clone() };
        let again = short.fit_with(&x, &y, Fit::new().start(&start)).unwrap();
        // The smallest weights may be removed for a twentieth of the gap.
        let allowed = 0.05 * again.report.certificate.value() + 1e-12;
        assert!(objective(&again) <= objective(&start) + allowed, "{solver:?}");
        let model = short.fit(&x, &y).unwrap();
        assert!(objective(&model) > objective(&start) * (1.0 + 1e-6), "{solver:?} at once");
    }
    let nearby = MulticlassL1 { penalty: 0.031, ..exact.clone() };
    let passes = |fit| nearby.fit_with(&x, &y, fit).unwrap().report.passes;
    let (cold, warm) = (passes(Fit::new()), passes(Fit::new().start(&start)));
    assert!(warm < cold, "{warm} {cold}");
    let other: Vec<usize> = y.iter().map(|l| l + 1).collect();
    let error = exact.fit_with(&x, &other, Fit::new().start(&start)).unwrap_err().to_string();
    assert_eq!(error, "start: their labels are not those of the fit");
}

/// The passes that a closure sees of a search are those of all radii. Where it ends the search, also between two radii, the
/// report says so.
#[test]
fn a_search_is_watched_as_a_whole() {
    let (x, y) = data::dense(40, 6, 3, 9);
    let stop = Stop { max_passes: 1000.0, ..Stop::at_relative(1e-2) };
    let estimator =
        MulticlassL1 { radius: Radius::Search, solver: Solver::Pdhg, stop, ..Default::default() };
    let mut seen = vec![];
    let mut watch = |progress: &fenchel_saddle::Progress| {
        seen.push(progress.passes);
        ControlFlow::Continue(())
    };
    let model = estimator.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap();
    assert_ne!(model.report.status, Status::Stopped);
    assert!(seen.is_sorted() && seen.last() == Some(&model.report.passes), "{seen:?}");
    // The last call of a radius, the first of the next one, and the one behind it.
    let ends = (1..seen.len()).filter(|&k| seen[k - 1] == seen[k]);
    let calls: Vec<usize> = ends.flat_map(|k| k..k + 3).filter(|k| *k < seen.len()).collect();
    assert!(calls.len() >= 6, "{seen:?}");
    for last in calls {
        let mut calls = 0;
        let mut watch = |_: &fenchel_saddle::Progress| {
            calls += 1;
            if calls >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let stopped = estimator.fit_with(&x, &y, Fit::new().watch(&mut watch)).unwrap().report;
        // Where nothing was left to do, the report is that of the whole search.
        let as_expected = stopped.status == Status::Stopped || stopped == model.report;
        assert!(as_expected && calls == last, "{last} of {}: {calls}, {stopped}", seen.len());
    }
}

/// The limits of `stop` are those of the whole path, and `Break` ends it.
#[test]
fn a_path_is_watched_and_limited_as_a_whole() {
    let (x, y) = data::dense(60, 8, 3, 9);
    let stop = Stop { max_passes: 100.0, ..Stop::at_relative(1e-12) };
    let estimator =
        MulticlassL1 { penalty: 0.001, solver: Solver::Pdhg, stop, ..Default::default() };
    assert_eq!(estimator.path(&x, &y, &[]).unwrap_err().to_string(), "radii is empty");
    let models = estimator.path(&x, &y, &[1.0, 3.0, 10.0]).unwrap();
    let passes: f64 = models.iter().map(|m| m.report.passes).sum();
    // Each fit may exceed its limit by the steps between two checks.
    assert!(models.len() == 3 && passes <= 160.0, "{passes}");
    // Without time there is the first model alone, as on every path of the workspace.
    let stop = Stop { max_seconds: Some(0.0), ..stop };
    let models =
        MulticlassL1 { stop, ..estimator.clone() }.path(&x, &y, &[1.0, 3.0, 10.0]).unwrap();
    assert_eq!((models.len(), models[0].report.status), (1, Status::TimeLimit));
    let mut calls = 0;
    let mut watch = |_: &fenchel_saddle::Progress| {
        calls += 1;
        if calls >= 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let fit = Fit::new().watch(&mut watch);
    let models = estimator.path_with(&x, &y, &[1.0, 3.0, 10.0], fit).unwrap();
    // After `Break` it is not called again.
    assert_eq!((models.len(), models[0].report.status, calls), (1, Status::Stopped, 5));
}

/// The lower bound uses that weights whose penalty exceeds the objective are no better: a radius that is far too large costs no certificate.
#[test]
fn a_loose_radius_is_forgiven() {
    let (x, y) = data::correlated(200, 30, 5, 3);
    let fit = |radius: f64| {
        let stop = Stop { relative: 0.02, max_passes: 3000.0, ..Stop::default() };
        let radius = Radius::At(radius);
        let solver = Solver::MirrorPdhg;
        MulticlassL1 { radius, stop, solver, ..Default::default() }.fit(&x, &y).unwrap().report
    };
    let (close, loose) = (fit(30.0), fit(1e4));
    assert_eq!((close.status, loose.status), (Status::Converged, Status::Converged));
    let of = |r: &fenchel_optim::Report| r.certificate.objective().unwrap();
    assert!(of(&loose) <= of(&close) + close.certificate.value());
    assert!(of(&close) <= of(&loose) + loose.certificate.value());
}

#[test]
fn bad_input_is_named() {
    let (x, y) = data::dense(10, 3, 2, 7);
    let estimator = MulticlassL1::default();
    let refused = |e: &MulticlassL1| e.fit(&x, &y).unwrap_err().to_string();
    assert!(
        estimator.fit(&x, &y[..9]).unwrap_err().to_string().contains("labels: expected length 10")
    );
    assert!(estimator.fit(&x, &vec![1; 10]).unwrap_err().to_string().contains("two distinct"));
    assert!(
        estimator
            .fit(&array![[1.0], [f64::NAN]], &[0, 1])
            .unwrap_err()
            .to_string()
            .contains("row 1")
    );
    assert!(
        estimator
            .fit(&Array2::<f64>::zeros((2, 0)), &[0, 1])
            .unwrap_err()
            .to_string()
            .contains("empty")
    );
    assert!(refused(&MulticlassL1 { penalty: 0.0, ..estimator.clone() }).contains("set radius"));
    assert!(refused(&MulticlassL1 { penalty: -1.0, ..estimator.clone() }).contains("penalty"));
    assert!(
        refused(&MulticlassL1 { radius: Radius::At(f64::NAN), ..estimator.clone() })
            .contains("radius")
    );
    let softmax =
        MulticlassL1 { loss: MulticlassLoss::Softmax, solver: Solver::Pdhg, ..estimator.clone() };
    assert!(refused(&softmax).contains("pdhg does not support"));
    let rows = MulticlassL1 { norm: Primal::Rows, solver: Solver::Sublinear, ..estimator.clone() };
    assert!(refused(&rows).contains("norm of rows"));
    let small = MulticlassL1 { max_memory: Some(100), ..estimator.clone() };
    assert!(refused(&small).contains("max_memory is"));
    let weights =
        estimator.fit_with(&x, &y, Fit::new().weights(&[-1.0; 10])).unwrap_err().to_string();
    assert!(weights.contains("weights"), "{weights}");
    let each = ClassWeights::Each(vec![1.0; 3]);
    assert!(
        refused(&MulticlassL1 { class_weights: each, ..estimator.clone() })
            .contains("class_weights")
    );
    let model = estimator.fit(&x, &y).unwrap();
    assert!(model.predict(&Array2::<f64>::zeros((1, 4))).is_err());
    assert!(model.predict_proba(&x).is_err());
}

/// Without a penalty the loss of separable classes has no positive lower limit: a search ends where the objective has stopped falling, far
/// below the first radius at which a loose tolerance is met.
#[test]
fn a_search_goes_on_while_the_objective_falls() {
    let data = embedded::iris();
    let estimator = MulticlassL1 {
        loss: MulticlassLoss::Softmax,
        penalty: 0.0,
        radius: Radius::Search,
        stop: Stop { relative: 0.05, max_passes: 20_000.0, ..Stop::default() },
        ..Default::default()
    };
    let model = estimator.fit(&data.x, &data.y).unwrap();
    // Maximum likelihood has 0.0397 (L-BFGS-B), and 0.0503 is reached within a ball of radius 100.
    let objective = model.report.certificate.objective().unwrap();
    assert!(objective < 0.3 && model.radius > 10.0, "{objective} at {}", model.radius);
}

/// Zeros are paid for out of the gap, which may be anything: what is returned is never worse than no weights.
#[test]
fn weights_are_never_worse_than_none() {
    let data = embedded::iris();
    for (solver, penalty, passes) in [
        (Solver::Sublinear, 0.01, 1000.0),
        (Solver::Pdhg, 1e-300, 200.0),
        (Solver::MirrorProx, 1e-6, 20.0),
    ] {
        let stop = Stop { max_passes: passes, ..Stop::default() };
        let estimator = MulticlassL1 { solver, penalty, stop, ..Default::default() };
        let model = estimator.fit(&data.x, &data.y).unwrap();
        let objective = model.report.certificate.objective().unwrap();
        assert!(objective <= 1.0, "{solver:?}: {objective}");
    }
}

#[test]
fn class_weights_matter_by_their_ratios() {
    let (x, y) = data::dense(30, 3, 3, 11);
    let fit = |each: [f64; 3]| {
        let class_weights = ClassWeights::Each(each.to_vec());
        let model = MulticlassL1 { class_weights, ..Default::default() }.fit(&x, &y).unwrap();
        model.report.certificate.objective().unwrap()
    };
    assert_eq!(fit([1e-320; 3]), fit([1.0; 3]));
    assert_eq!(fit([1e300, 2e300, 1e300]), fit([1.0, 2.0, 1.0]));
    let stop = Stop { max_seconds: Some(f64::NAN), ..Stop::default() };
    for (radius, penalty) in [(Radius::Search, 0.1), (Radius::FromPenalty, 0.1)] {
        let estimator = MulticlassL1 { radius, penalty, stop, ..Default::default() };
        assert!(estimator.fit(&x, &y).unwrap_err().to_string().contains("max_seconds"));
    }
    let endless =
        MulticlassL1 { radius: Radius::Search, penalty: f64::INFINITY, ..Default::default() };
    assert!(endless.fit(&x, &y).unwrap_err().to_string().contains("penalty"));
}
