//! Saved values in which one part was changed, for the tests of all crates: they must be refused, or what was read must
//! work without a panic. A test includes this file by its path.

use fenchel_optim::model::{Saved, envelope};
use serde::Serialize;
use serde_json::{Value, json};

/// Reads a model from the value in its file, with the checksum of that value.
pub(crate) fn load<M: Saved>(value: &Value) -> Result<M, String> {
    let text = envelope(M::KIND, M::VERSION, &value.to_string());
    M::load(text.as_bytes()).map_err(|error| error.to_string())
}

/// Changes every part of `model` in every way, and uses what can be read. Returns how many values were refused and how
/// many worked.
pub(crate) fn try_all<M, E: std::fmt::Debug>(
    model: &impl Serialize,
    load: impl Fn(&Value) -> Result<M, E>,
    mut used: impl FnMut(&M),
) -> (usize, usize) {
    let whole = serde_json::to_value(model).unwrap();
    load(&whole).unwrap();
    let mut all = vec![];
    pointers(&whole, "", &mut all);
    let (mut refused, mut works) = (0, 0);
    for pointer in &all {
        for part in instead_of(whole.pointer(pointer).unwrap()) {
            let mut changed = whole.clone();
            *changed.pointer_mut(pointer).unwrap() = part;
            match load(&changed) {
                Err(_) => refused += 1,
                Ok(read) => {
                    works += 1;
                    used(&read);
                }
            }
        }
    }
    (refused, works)
}

/// Every pointer to a part, from the root on. The first two entries and the last one stand for the others of a list.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(list) => {
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

/// What stands in place of a part.
fn instead_of(old: &Value) -> Vec<Value> {
    let reals = [1e308, -1e308, 1e200, 1e-200, 1e-320];
    let counts = [255, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, 1 << 61, u64::MAX];
    let mut values: Vec<Value> = [-1, 0, 1, 3, 7].map(|v| json!(v)).into();
    values.extend(reals.map(|v| json!(v)));
    values.extend(counts.map(|v| json!(v)));
    values.extend([json!(null), json!([]), json!({}), json!(""), json!(true), json!([old])]);
    if let Value::Array(list) = old {
        values.push(json!([&list[..], &list[list.len().saturating_sub(1)..]].concat()));
        values.push(json!(list[..list.len().saturating_sub(1)]));
        values.push(json!(list.iter().rev().collect::<Vec<_>>()));
    }
    values
}
