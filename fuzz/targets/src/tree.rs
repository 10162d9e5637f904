//! Settings, models and states with a few faults: a value is written as a tree, nodes of the tree change, and it is read again.
//!
//! The tree is that of CBOR and not of JSON, because NaN and infinities are numbers there.

use arbitrary::Unstructured;
use ciborium::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::data::number;

/// A value like one of the seeds, with up to four faults. `None` if the type refuses it.
pub(crate) fn like<T: Serialize + DeserializeOwned>(
    u: &mut Unstructured<'_>,
    seeds: &[T],
) -> Option<T> {
    let at = u.choose_index(seeds.len()).ok()?;
    altered(u, &seeds[at])
}

/// The value with up to four faults. `None` if the type refuses it.
pub(crate) fn altered<T: Serialize + DeserializeOwned>(
    u: &mut Unstructured<'_>,
    value: &T,
) -> Option<T> {
    let mut tree = Value::serialized(value).expect("every type of the workspace can be written");
    for _ in 0..u.int_in_range(0..=4).unwrap_or(0) {
        alter(u, &mut tree);
    }
    bound(&mut tree);
    tree.deserialized().ok()
}

/// Changes one node.
fn alter(u: &mut Unstructured<'_>, tree: &mut Value) {
    let nodes = count(tree);
    let at = u.int_in_range(0..=nodes - 1).unwrap_or(0);
    let other = u.int_in_range(0..=nodes - 1).unwrap_or(0);
    let other = node(tree, &mut { other }).cloned();
    let Some(here) = node(tree, &mut { at }) else { return };
    let way = u.int_in_range(0..=7).unwrap_or(0);
    if way == 0 {
        *here = Value::Null;
        return;
    }
    if let (1, Some(other)) = (way, other) {
        *here = other;
        return;
    }
    match here {
        Value::Integer(_) => *here = integer(u),
        Value::Float(_) => *here = Value::Float(number(u)),
        Value::Bool(flag) => *flag = !*flag,
        Value::Null => *here = if way % 2 == 0 { Value::Float(number(u)) } else { integer(u) },
        Value::Text(text) => match way {
            2 => text.clear(),
            3 => text.push('\u{e9}'),
            4 => text.push('\0'),
            _ => *text = text.repeat(2),
        },
        Value::Array(list) => match (way, list.len()) {
            (2, _) => list.clear(),
            (3, 1..) => drop(list.pop()),
            (4, 1..) => drop(list.remove(0)),
            (5, 2..) => list.reverse(),
            (_, 1..) => list.push(list[0].clone()),
            _ => list.push(integer(u)),
        },
        Value::Map(map) if !map.is_empty() => {
            let at = u.choose_index(map.len()).unwrap_or(0);
            map.remove(at);
        }
        _ => {}
    }
}

/// Small numbers are frequent: they are the shapes, the places and the counts that can be right.
fn integer(u: &mut Unstructured<'_>) -> Value {
    let value = match u.int_in_range(0..=15).unwrap_or(0) {
        0 => -1,
        1 => i128::from(u64::MAX),
        2 => i128::from(u32::MAX),
        3 => 255,
        4 => 1 << 40,
        small => small - 5,
    };
    Value::Integer(value.try_into().expect("fits into 64 bits"))
}

/// The limits of a run stay what a target of a millisecond can afford. They are the user's, and no fault.
fn bound(tree: &mut Value) {
    match tree {
        Value::Array(list) => list.iter_mut().for_each(bound),
        Value::Map(map) => {
            for (key, value) in map {
                match key.as_text() {
                    Some("max_passes") => *value = Value::Float(limited(value, 60.0)),
                    Some("max_memory") => *value = integer_below(value, 1 << 24),
                    Some("max_seconds") => *value = Value::Null,
                    Some(name) if WORK.contains(&name) => *value = integer_below(value, 40),
                    _ => bound(value),
                }
            }
        }
        _ => {}
    }
}

/// The fields and variants that say how much is to be done.
const WORK: &[&str] =
    &["SpanningTrees", "Fixed", "chains", "expectations", "most", "most_chains", "starts"];

fn limited(value: &Value, most: f64) -> f64 {
    value.as_float().map_or(most, |found| if found > most { most } else { found })
}

fn integer_below(value: &Value, most: u64) -> Value {
    let found = value.as_integer().and_then(|found| u64::try_from(found).ok());
    Value::from(found.map_or(most, |found| found.min(most)))
}

fn count(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Map(map) => map.iter().map(|(_, value)| count(value)).sum(),
        _ => 0,
    }
}

/// The node of a number, counted from the root, parents first.
fn node<'t>(tree: &'t mut Value, left: &mut usize) -> Option<&'t mut Value> {
    if *left == 0 {
        return Some(tree);
    }
    *left -= 1;
    match tree {
        Value::Array(list) => list.iter_mut().find_map(|child| node(child, left)),
        Value::Map(map) => map.iter_mut().find_map(|(_, child)| node(child, left)),
        _ => None,
    }
}
