//! Files of models in which one value was changed, with the checksum of the changed text: they are refused, or the
//! model works without a panic.

use fenchel_optim::model::{Saved, envelope};
use fenchel_saddle::{MulticlassL1, MulticlassL1Model, MulticlassLoss};
use ndarray::Array2;
use serde_json::{Value, json};

use crate::data;

type Model = MulticlassL1Model<usize>;

fn load(value: &Value) -> Result<Model, String> {
    let text = envelope(Model::KIND, Model::VERSION, &value.to_string());
    Model::load(text.as_bytes()).map_err(|error| error.to_string())
}

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

/// Every pointer to a value, from the root on.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(list) => {
            // The first and the last entry stand for the others.
            for i in (0..list.len()).filter(|i| *i < 2 || *i + 1 == list.len()) {
                pointers(&list[i], &format!("{at}/{i}"), all);
            }
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), all));
        }
        _ => {}
    }
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
        let whole = serde_json::to_value(&model).unwrap();
        assert_eq!(load(&whole).unwrap(), model);
        let mut all = vec![];
        pointers(&whole, "", &mut all);
        let (mut refused, mut works) = (0, 0);
        for pointer in &all {
            let old = whole.pointer(pointer).unwrap().clone();
            let mut values = vec![
                json!(0),
                json!(1),
                json!(-1),
                json!(3),
                json!(1e308),
                json!(-1e308),
                json!(1e-320),
                json!(4_294_967_294_u64),
                json!(4_294_967_295_u64),
                json!(4_294_967_296_u64),
                json!(1_u64 << 61),
                json!(u64::MAX),
                json!(null),
                json!([]),
                json!({}),
                json!(""),
                json!(true),
                json!([old.clone()]),
            ];
            if let Value::Array(list) = &old {
                let mut longer = list.clone();
                longer.extend(list.last().cloned());
                values.push(json!(longer));
                values.push(json!(list[..list.len().saturating_sub(1)]));
                values.push(json!(list.iter().rev().collect::<Vec<_>>()));
            }
            for value in values {
                let mut changed = whole.clone();
                *changed.pointer_mut(pointer).unwrap() = value;
                match load(&changed) {
                    Err(_) => refused += 1,
                    Ok(model) => {
                        works += 1;
                        used(&model, &x, &y);
                    }
                }
            }
        }
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
        load(&changed)
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
    let wide = load(&serde_json::to_value(&wide).unwrap()).unwrap();
    let error = wide.matrix().unwrap_err().to_string();
    assert!(error.contains("max_memory is 4 GiB"), "{error}");
}
