//! The report of a fit.

use std::fmt::Write as _;
use std::path::Path;

use fenchel_cli::Failure;
use fenchel_cli::say::say;
use fenchel_linalg::text::{cell, fixed};
use fenchel_optim::Report;
use serde_json::{Map, Value, json};

use super::Arguments;
use super::plan::Scores;
use crate::aligned::{aligned, write_json, write_text};
use crate::model::Model;

/// The number of weights that are shown.
const SHOWN: usize = 10;

/// Writes the report, with the seconds on the clock, to standard output, or to standard error if the model goes there.
pub(super) fn write(
    arguments: &Arguments,
    model: &Model,
    scores: Option<&Scores>,
    (rows, features): (usize, usize),
    score: Option<f64>,
    seconds: f64,
) -> Result<(), Failure> {
    let weights = model.weights();
    let nonzero = weights.iter().filter(|w| **w != 0.0).count();
    if arguments.json {
        let mut answer = Map::new();
        let mut add = |key: &str, value: Value| answer.insert(key.to_owned(), value);
        add("kind", model.kind().into());
        add("rows", rows.into());
        add("features", features.into());
        if !model.classes().is_empty() {
            add("classes", json!(model.classes()));
        }
        add("report", json!(model.report()));
        add("seconds", seconds.into());
        add("choice", model.choice().into());
        add("nonzero_weights", nonzero.into());
        add("intercepts", model.intercepts().into());
        add(model.score_name(), score.into());
        if let Some(scores) = scores {
            add("chosen", json!(scores.table[scores.chosen]));
            add("cross_validation", json!(scores.table));
        }
        return write_json(&answer.into());
    }
    let mut text = String::new();
    if let Some(scores) = scores {
        text += &scores.text;
    }
    let report = Report { seconds, ..*model.report() };
    let _ = writeln!(text, "{}: {report}", model.kind());
    if let Some(choice) = model.choice() {
        let _ = writeln!(text, "method: {choice}");
    }
    if let Some(score) = score {
        let _ = writeln!(text, "{} {} on the data of the fit", model.score_name(), fixed(score, 4));
    }
    let count = weights.len();
    let intercepts: Vec<String> = model.intercepts().iter().map(|b| cell(*b)).collect();
    let _ = writeln!(
        text,
        "{nonzero} of {count} weights are not 0; intercept {}",
        intercepts.join(" ")
    );
    text += &largest(model);
    if arguments.model.as_deref() == Some(Path::new("-")) {
        say(text.trim_end());
        return Ok(());
    }
    write_text(&text)
}

/// A table of the features with the largest weights.
fn largest(model: &Model) -> String {
    let weights = model.weights();
    let size = |c: usize| weights.row(c).iter().fold(0.0f64, |size, w| size.max(w.abs()));
    let mut order: Vec<usize> = (0..weights.nrows()).filter(|&c| size(c) > 0.0).collect();
    order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
    order.truncate(SHOWN);
    if order.is_empty() {
        return String::new();
    }
    let names = model.names();
    let head = match names.is_empty() {
        false => "largest weights",
        true => "largest weights, columns from 0",
    };
    let columns = match model.classes() {
        classes if weights.ncols() > 1 => classes.iter().map(ToString::to_string).collect(),
        [_, second] => vec![format!("for {second}")],
        _ => vec!["weight".to_owned()],
    };
    let mut rows = vec![std::iter::once(head.to_owned()).chain(columns).collect()];
    for c in order {
        let name = names.get(c).cloned().unwrap_or_else(|| c.to_string());
        let cells = weights.row(c).into_iter().map(|w| cell(*w));
        rows.push(std::iter::once(name).chain(cells).collect());
    }
    aligned(&rows, 1)
}
