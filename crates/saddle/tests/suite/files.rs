//! Files of models in which one value was changed, with the checksum of the changed text: they are refused, or the
//! model works without a panic.

use fenchel_linalg::{Named, Names};
use fenchel_optim::model::Saved;
use fenchel_saddle::{MulticlassL1, MulticlassL1Model, MulticlassLoss};
use ndarray::Array2;
use serde_json::{Value, json};

use crate::data;
use mutants::{load, try_all};

#[path = "../../../optim/tests/mutants/mod.rs"]
mod mutants;

type Model = MulticlassL1Model<usize>;

/// All public methods of a model.
fn used(model: &Model, x: &Array2<f64>, y: &[usize]) {
    let _ = model.nonzeros();
    let _ = model.matrix();
    let _ = model.decision_function(x);
    let _ = model.predict(x);
    let _ = model.predict_proba(x);
    let _ = model.score(x, y);
    let _ = model.pruned(1e-3, x, y);
    let _ = model.to_owned().save(Vec::new());
}

#[test]
fn changed_models_are_refused_or_work() {
    let (x, y) = data::dense(30, 4, 3, 1);
    for (standardise, intercept, loss) in [
        (true, true, MulticlassLoss::Softmax),
        (false, true, MulticlassLoss::Hinge),
        (false, false, MulticlassLoss::Hinge),
    ] {
        let estimator = MulticlassL1 { standardise, intercept, loss, ..MulticlassL1::default() };
        let model = estimator.fit(&x, &y).unwrap();
        assert_eq!(load::<Model>(&serde_json::to_value(&model).unwrap()).unwrap(), model);
        let (refused, works) = try_all(&model, load, |model: &Model| used(model, &x, &y));
        assert!(refused > 500 && works > 50, "{refused} {works}");
    }
}

/// A number of features that no list can have, and two entries that contradict each other.
#[test]
fn contradictions_in_a_file_are_named() {
    let (x, y) = data::dense(30, 4, 3, 1);
    let estimator = MulticlassL1 { standardise: false, ..MulticlassL1::default() };
    let model = estimator.fit(&x, &y).unwrap();
    let with = |pointer: &str, value: Value| {
        let mut changed = serde_json::to_value(&model).unwrap();
        *changed.pointer_mut(pointer).unwrap() = value;
        load::<Model>(&changed)
    };
    for features in [0, u64::MAX, 1 << 61, 1 << 32] {
        let error = with("/features", json!(features)).unwrap_err();
        assert!(error.contains("features"), "{error}");
    }
    for (pointer, value, word) in [
        ("/centres", json!([1.0]), "centres"),
        ("/scales", json!([1.0, 1.0, 1.0, 1.0]), "scales"),
        ("/binds", json!(!model.binds), "binds"),
        ("/radius", json!(2.0 * model.radius), "radius"),
        ("/scaled_norm", json!(-1.0), "norm"),
        ("/classes", json!([]), "class"),
    ] {
        let error = with(pointer, value).unwrap_err();
        assert!(error.contains(word), "{pointer} {error}");
    }
    // As many features as a file may state, and more than memory.
    let mut wide = model.clone();
    (wide.features, wide.centres) = (4_294_967_294, vec![]);
    let wide: Model = load(&serde_json::to_value(&wide).unwrap()).unwrap();
    let error = wide.matrix().unwrap_err().to_string();
    assert!(error.contains("max_memory is 4 GiB"), "{error}");
}

/// A classifier has the names of its features, prints its weights by them, and refuses columns in another order.
#[test]
fn a_classifier_has_the_names_of_its_features() {
    let (x, y) = data::dense(30, 4, 3, 1);
    let names = Names::new(["a", "b", "c", "d"]);
    let x = Named { x, names: names.clone() };
    let model = MulticlassL1::default().fit(&x, &y).unwrap();
    assert_eq!(model.names, names);
    assert_eq!(model.pruned(0.0, &x, &y).unwrap().names, names);
    let text = model.to_string();
    let (feature, class, weight) = model.weights[0];
    let line = text.lines().find(|line| line.starts_with(&names[feature as usize])).unwrap();
    let shown = line.split_whitespace().nth(1 + class as usize).unwrap();
    assert!((shown.parse::<f64>().unwrap() - weight).abs() <= 1e-3 * weight.abs(), "{text}");
    let other = Named { names: Names::new(["b", "a", "c", "d"]), ..x };
    assert!(
        model
            .predict(&other)
            .unwrap_err()
            .to_string()
            .contains("column 0 is \"b\"; expected \"a\"")
    );
}
