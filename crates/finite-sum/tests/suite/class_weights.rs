//! Weights of classes and rows on scikit-learn's scale: the same `C`, the same model.

use fenchel_finite_sum::prelude::Stop;
use fenchel_finite_sum::{
    ClassWeights, Fit, LinearSvc, LogisticRegression, LogisticRegressionCv, OneVsRest,
    PoissonRegressor, SoftmaxRegression, SoftmaxRegressionCv, SvcLoss,
    estimators::{penalty_of_c, weighted_penalty_of_c},
};
use ndarray::Array2;

/// Weights, then intercepts, by scikit-learn 1.9.1: `tests/reference/scikit_learn.py` prints them.
const REFERENCE: [(&str, &[f64]); 8] = [
    (
        "l2, weighted rows",
        &[-1.07181091483877, 0.4505846973429616, 0.3251773980115359, -1.1919156609460404],
    ),
    (
        "l2, a weighted class",
        &[-1.2149832758297499, 0.7832507212110973, 0.13663672651062023, -0.2514304933313481],
    ),
    (
        "l2, balanced classes",
        &[-1.6228752504418116, 1.5249961487567043, 0.14847703249614988, -0.8498214313285251],
    ),
    ("l2, both", &[-1.8673020712242239, 1.2906101266558405, 0.644287156360511, 0.4855533079537965]),
    ("l1, both", &[-1.2240666853877413, 0.0, 0.16286420219835412, 0.0]),
    (
        "three classes, both",
        &[
            -0.13224387499236331,
            -0.08764219236537199,
            0.029529177083886082,
            0.030286387240284568,
            0.2529070803269647,
            -0.22431188816417233,
            0.1019574877520782,
            -0.1652648879615927,
            0.19478271108028591,
            -1.2029239356511614,
            -0.2797260203013027,
            1.4826499559524604,
        ],
    ),
    ("squared hinge, both", &[-0.8680015681733847, 0.18492670836750302, 0.3078054827875407, 0.0]),
    (
        "counts",
        &[0.02042235646753649, 0.31612065081574076, -0.1626755452582752, 1.3739555305710518],
    ),
];

fn x() -> Array2<f64> {
    Array2::from_shape_fn((24, 3), |(i, column)| match column {
        0 => ((7 * i) % 24) as f64 / 10.0 - 1.0,
        1 => ((5 * i + 3) % 11) as f64 / 11.0,
        _ => ((i * i) % 13) as f64 / 6.0 - 1.0,
    })
}

fn two() -> Vec<f64> {
    (0..24).map(|i| if (3 * i) % 7 < 2 { 1.0 } else { 0.0 }).collect()
}

fn three() -> Vec<usize> {
    (0..24).map(|i| (5 * i + i / 3) % 4 % 3).collect()
}

/// Their sum is 36, for 24 rows.
fn weights() -> Vec<f64> {
    (0..24).map(|i| 0.5 + f64::from(i % 3)).collect()
}

fn check(name: &str, found: &[f64]) {
    let (_, expected) = REFERENCE.iter().find(|(known, _)| *known == name).unwrap();
    assert_eq!(found.len(), expected.len(), "{name}");
    // scikit-learn's solvers end at about 1e-8 of the weights.
    for (a, b) in found.iter().zip(*expected) {
        assert!((a - b).abs() < 1e-6, "{name}: {found:?}, expected {expected:?}");
    }
}

fn tight() -> Stop {
    Stop { max_passes: 20_000.0, ..Stop::at_relative(1e-13) }
}

fn logistic(l2: f64, class_weights: ClassWeights) -> LogisticRegression {
    LogisticRegression { l2: Some(l2), class_weights, stop: tight(), ..Default::default() }
}

#[test]
fn two_classes_have_the_model_of_scikit_learn() {
    let (x, y, w) = (x(), two(), weights());
    let numbers = |fit: LogisticRegression, w: Option<&Vec<f64>>| {
        let model = match w {
            Some(w) => fit.fit_with(&x, &y, Fit::new().weights(w)),
            None => fit.fit(&x, &y),
        };
        let model = model.unwrap();
        [model.weights.to_vec(), vec![model.intercept]].concat()
    };
    let rows = logistic(weighted_penalty_of_c(0.5, &w), ClassWeights::Equal);
    check("l2, weighted rows", &numbers(rows, Some(&w)));

    let of_one = ClassWeights::of([(1.0, 3.0)]);
    let l2 = weighted_penalty_of_c(0.5, &of_one.weights(&y).unwrap());
    check("l2, a weighted class", &numbers(logistic(l2, of_one.clone()), None));

    let balanced = logistic(penalty_of_c(2.0, 24), ClassWeights::Balanced);
    check("l2, balanced classes", &numbers(balanced, None));

    let total = |class_weights: &ClassWeights| -> Vec<f64> {
        let of_class = class_weights.weights(&y).unwrap();
        of_class.iter().zip(&w).map(|(a, b)| a * b).collect()
    };
    let both = ClassWeights::of([(0.0, 0.25), (1.0, 3.0)]);
    let l2 = weighted_penalty_of_c(2.0, &total(&both));
    check("l2, both", &numbers(logistic(l2, both), Some(&w)));

    let l1 = LogisticRegression {
        l1: weighted_penalty_of_c(0.3, &total(&of_one)),
        intercept: false,
        ..logistic(0.0, of_one.clone())
    };
    check("l1, both", &numbers(l1, Some(&w)));

    let svc = LinearSvc {
        loss: SvcLoss::SquaredHinge,
        // Half the square here, the whole square there.
        l2: Some(0.5 * weighted_penalty_of_c(0.5, &total(&of_one))),
        intercept: false,
        class_weights: of_one,
        stop: tight(),
        ..LinearSvc::default()
    };
    let model = svc.fit_with(&x, &y, Fit::new().weights(&w)).unwrap();
    check("squared hinge, both", &[model.weights.to_vec(), vec![model.intercept]].concat());
}

#[test]
fn several_classes_have_the_model_of_scikit_learn() {
    let (x, y, w) = (x(), three(), weights());
    let class_weights = ClassWeights::of([(2_usize, 3.0)]);
    let of_class = class_weights.weights(&y).unwrap();
    let total: Vec<f64> = of_class.iter().zip(&w).map(|(a, b)| a * b).collect();
    let l2 = Some(weighted_penalty_of_c(0.5, &total));
    let fit = SoftmaxRegression { l2, class_weights, stop: tight(), ..Default::default() };
    let model = fit.fit_with(&x, &y, Fit::new().weights(&w)).unwrap();
    // A number that is added to all intercepts changes nothing; there their sum is 0.
    let intercepts = &model.intercepts - model.intercepts.mean().unwrap();
    let weights: Vec<f64> = model.weights.t().iter().copied().collect();
    check("three classes, both", &[weights, intercepts.to_vec()].concat());
}

#[test]
fn counts_have_the_model_of_scikit_learn() {
    let y: Vec<f64> = (0..24).map(|i| ((5 * i * i) % 9) as f64).collect();
    let fit = PoissonRegressor { l2: 0.3, stop: tight(), ..PoissonRegressor::default() };
    let model = fit.fit_with(&x(), &y, Fit::new().weights(&weights())).unwrap();
    check("counts", &[model.weights.to_vec(), vec![model.intercept]].concat());
}

/// A weight of a class is that weight of each of its rows, in every estimator.
#[test]
fn a_weight_of_a_class_is_one_of_its_rows() {
    let (x, y) = (x(), two());
    let names: Vec<&str> = y.iter().map(|&y| if y > 0.0 { "yes" } else { "no" }).collect();
    let class_weights = ClassWeights::of([("yes", 2.5)]);
    let rows: Vec<f64> = y.iter().map(|&y| if y > 0.0 { 2.5 } else { 1.0 }).collect();
    assert_eq!(class_weights.weights(&names).unwrap(), rows);

    let binary = LogisticRegression::default();
    let own = LogisticRegression { class_weights: class_weights.clone(), ..binary.clone() };
    let by_class = own.fit(&x, &names).unwrap();
    assert_eq!(
        by_class.weights,
        binary.fit_with(&x, &names, Fit::new().weights(&rows)).unwrap().weights
    );

    let cv = LogisticRegressionCv { folds: 3, ..LogisticRegressionCv::default() };
    let own = LogisticRegressionCv { class_weights: class_weights.clone(), ..cv.clone() };
    let (a, b) =
        (own.fit(&x, &names).unwrap(), cv.fit_with(&x, &names, Fit::new().weights(&rows)).unwrap());
    assert_eq!((a.scores, a.model.weights), (b.scores, b.model.weights));

    let cv = SoftmaxRegressionCv { folds: 3, ..SoftmaxRegressionCv::default() };
    let own = SoftmaxRegressionCv { class_weights, ..cv.clone() };
    let (a, b) =
        (own.fit(&x, &names).unwrap(), cv.fit_with(&x, &names, Fit::new().weights(&rows)).unwrap());
    assert_eq!((a.scores, a.model.weights), (b.scores, b.model.weights));

    // Each class against the rest, balanced: of three classes, 8 rows a class would be 1/2 and 2.
    let binary = LogisticRegression { class_weights: ClassWeights::Balanced, ..binary };
    let rest = OneVsRest { binary: binary.clone() }.fit(&x, &three()).unwrap();
    let is_last: Vec<bool> = three().iter().map(|&class| class == 2).collect();
    assert_eq!(rest.models[2].weights, binary.fit(&x, &is_last).unwrap().weights);
}

/// Balanced classes have the same total, also where rows have weights of their own.
#[test]
fn balanced_classes_count_alike() {
    let (x, y, w) = (x(), two(), weights());
    let total = |sign: f64| -> f64 { y.iter().zip(&w).filter(|p| *p.0 == sign).map(|p| p.1).sum() };
    let by_hand: Vec<f64> = y.iter().zip(&w).map(|(&y, w)| w / total(y)).collect();
    let a = logistic(0.1, ClassWeights::Balanced).fit_with(&x, &y, Fit::new().weights(&w)).unwrap();
    let b =
        logistic(0.1, ClassWeights::Equal).fit_with(&x, &y, Fit::new().weights(&by_hand)).unwrap();
    for (a, b) in a.weights.iter().zip(&b.weights) {
        assert!((a - b).abs() < 1e-6);
    }
}

#[test]
fn weights_of_classes_that_make_no_sense_are_named() {
    let y = ["no", "yes", "no"];
    let text = |weights: ClassWeights| weights.weights(&y).unwrap_err().to_string();
    let unknown = text(ClassWeights::of([("maybe", 1.0)]));
    assert!(unknown.contains("no row has the label maybe") && unknown.contains("yes"), "{unknown}");
    let negative = text(ClassWeights::of([("yes", -1.0)]));
    assert!(negative.contains("that of yes is -1"), "{negative}");
    assert!(text(ClassWeights::of([("yes", f64::NAN)])).contains("NaN"));
    assert!(ClassWeights::Balanced.weights::<&str>(&[]).is_err());
    let fit = LogisticRegression {
        class_weights: ClassWeights::of([("no", 0.0)]),
        ..LogisticRegression::default()
    };
    let x = Array2::from_shape_fn((3, 1), |(i, _)| i as f64);
    let all_gone = fit.fit(&x, &y).unwrap_err().to_string();
    assert!(all_gone.contains("all rows of class \"no\" have weight 0"), "{all_gone}");
    assert!(
        fit.fit_with(&x, &y, Fit::new().weights(&[1.0, 2.0]))
            .unwrap_err()
            .to_string()
            .contains("weights")
    );

    let settings = LogisticRegression {
        class_weights: ClassWeights::of([("yes", 3.0)]),
        ..LogisticRegression::default()
    };
    let file = serde_json::to_string(&settings).unwrap();
    assert!(file.contains(r#""class_weights":{"Labels":{"yes":3.0}}"#), "{file}");
    assert_eq!(serde_json::from_str::<LogisticRegression>(&file).unwrap(), settings);
}
