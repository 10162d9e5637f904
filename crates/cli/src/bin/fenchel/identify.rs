//! `fenchel identify`

use std::fmt::Write as _;
use std::process::ExitCode;

use fenchel_causal::adjustment::{
    SetSearch, adjustment_sets, back_door_sets, front_door_sets, optimal_adjustment,
};
use fenchel_causal::{Admg, Error, Estimand, Hedge, NodeSet, Query, identify};
use fenchel_cli::Failure;
use fenchel_cli::files::{file_name, read_text};
use fenchel_linalg::text::number;
use serde_json::{Map, Value, json};

use crate::aligned::{aligned, write_json, write_text};

/// The code of an effect that is not identifiable, which is an answer and no failure.
const NOT_IDENTIFIABLE: u8 = 3;

/// The most rows of a table that are printed.
const ROWS: usize = 32;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel identify \"z -> x -> y; z -> y\" \"P(y | do(x))\"          sets to adjust for, and the formula\n  \
    fenchel identify \"x -> m -> y; x <-> y\" \"P(y | do(x))\" --latex\n  \
    fenchel identify \"x -> y; x <-> y\" \"P(y | do(x))\"              two models that differ in the effect alone\n  \
    fenchel identify - \"P(y | do(x), z)\" < graph.txt\n\n\
    The exit code is 0 if there is a formula, and 3 if it is proved that there is none.")]
pub(crate) struct Arguments {
    /// The graph: chains of names joined by ->, <- and <-> (a hidden common cause), separated by ; or lines; - is standard
    /// input
    graph: String,
    /// The effect: P(y | do(x)), or P(y | do(x), z)
    query: String,
    /// Write the formula in LaTeX, and nothing else
    #[arg(long, conflicts_with = "json")]
    latex: bool,
    /// Write one JSON object; if the effect is not identifiable, with two complete models
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    fenchel_cli::use_threads(None)?;
    let graph = match arguments.graph.as_str() {
        "-" => {
            let text = String::from_utf8(read_text("-")?);
            text.map_err(|error| Failure::file(file_name("-"), error))?
        }
        text => text.to_owned(),
    };
    let graph = Admg::parse(&graph).map_err(Error::from)?;
    let query = graph.query(&arguments.query).map_err(Error::from)?;
    match identify(&graph, query) {
        Ok(estimand) => {
            found(arguments, &graph, &estimand)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(Error::NotIdentifiable(hedge)) => {
            refused(arguments, &graph, &hedge)?;
            Ok(ExitCode::from(NOT_IDENTIFIABLE))
        }
        Err(error) => Err(error.into()),
    }
}

/// Sets of nodes by the criterion that they satisfy.
struct Sets {
    /// What they are called, as text and in JSON.
    name: &'static str,
    key: &'static str,
    /// All minimal ones, or that there are too many to list.
    found: Result<Vec<NodeSet>, Error>,
}

/// The sets for a query with treatments and without conditions; other queries have none.
fn sets(graph: &Admg, query: Query) -> Result<Vec<Sets>, Failure> {
    let Query { outcome: y, treatment: x, given } = query;
    if x.is_empty() || !given.is_empty() {
        return Ok(Vec::new());
    }
    let search = SetSearch::default();
    let all = vec![
        Sets {
            name: "back-door sets",
            key: "back_door_sets",
            found: back_door_sets(graph, x, y, &search),
        },
        Sets {
            name: "adjustment sets",
            key: "adjustment_sets",
            found: adjustment_sets(graph, x, y, &search),
        },
        Sets {
            name: "set of least variance",
            key: "optimal_adjustment",
            found: match optimal_adjustment(graph, x, y) {
                Err(Error::NoSuchSet { .. }) => Ok(Vec::new()),
                other => other.map(|set| vec![set]),
            },
        },
        Sets {
            name: "front-door sets",
            key: "front_door_sets",
            found: front_door_sets(graph, x, y, &search),
        },
    ];
    for sets in &all {
        if let Err(error) = &sets.found
            && !matches!(error, Error::TooMany { .. })
        {
            return Err(error.clone().into());
        }
    }
    Ok(all)
}

fn names(graph: &Admg, set: NodeSet) -> Vec<&str> {
    set.iter().map(|v| graph.name(v)).collect()
}

fn found(arguments: &Arguments, graph: &Admg, estimand: &Estimand) -> Result<(), Failure> {
    if arguments.latex {
        return write_text(&format!("{}\n", estimand.latex()));
    }
    let sets = sets(graph, estimand.query)?;
    if arguments.json {
        let mut answer = Map::new();
        answer.insert("identifiable".into(), true.into());
        answer.insert("formula".into(), estimand.to_string().into());
        answer.insert("latex".into(), estimand.latex().into());
        answer.insert("arbitrary".into(), names(graph, estimand.arbitrary).into());
        for Sets { key, found, .. } in sets {
            let found = found.ok().map(|all| all.into_iter().map(|set| names(graph, set)));
            answer.insert(key.into(), found.map(|all| all.collect::<Vec<_>>()).into());
        }
        return write_json(&answer.into());
    }
    let mut text = format!("{estimand}\n");
    if !estimand.arbitrary.is_empty() {
        let any = graph.show(estimand.arbitrary);
        let _ = writeln!(text, "every value of {any} gives the same result");
    }
    for Sets { name, found, .. } in sets {
        let _ = match found {
            Ok(all) if all.is_empty() => continue,
            Ok(all) => {
                let all: Vec<String> =
                    all.into_iter().map(|set| format!("{{{}}}", graph.show(set))).collect();
                writeln!(text, "{name}: {}", all.join("  "))
            }
            Err(error) => writeln!(text, "{name}: {error}"),
        };
    }
    write_text(&text)
}

fn refused(arguments: &Arguments, graph: &Admg, hedge: &Hedge) -> Result<(), Failure> {
    let witness = hedge.witness()?;
    // Two models that differ on the failed query may agree on the conditional one that was asked.
    let mut shown = hedge.query;
    let mut apart = witness.check(shown)?;
    if !(apart.effect > 1e-6) {
        shown = hedge.failed;
        apart = witness.check(shown)?;
    }
    let (first, second) = (witness.first.effect(shown)?, witness.second.effect(shown)?);
    let scope: Vec<&str> = first.scope().iter().map(|&v| graph.name(v)).collect();
    if arguments.json {
        let forest = |set| json!(names(graph, set));
        return write_json(&json!({
            "identifiable": false,
            "hedge": {
                "outer": forest(hedge.outer),
                "inner": forest(hedge.inner),
                "roots": forest(hedge.roots),
                "reason": hedge.to_string(),
            },
            "witness": {
                "observed_difference": apart.observed,
                "effect_difference": apart.effect,
                "effect": label(graph, shown),
                "variables": scope,
                "states": first.cards(),
                "first": { "effect": numbers(first.values()), "model": witness.first },
                "second": { "effect": numbers(second.values()), "model": witness.second },
            },
        }));
    }
    let mut text = format!("not identifiable: {hedge}\n\n");
    let _ = writeln!(
        text,
        "two models of the graph: their observed distributions differ by {}, their effects by {}",
        number(apart.observed, 2),
        number(apart.effect, 3)
    );
    let mut head: Vec<String> = scope.iter().map(|&name| name.to_owned()).collect();
    head.extend([format!("{}, first", label(graph, shown)), "second".to_owned()]);
    let mut rows = vec![head];
    for (cell, (one, two)) in first.values().iter().zip(second.values()).enumerate().take(ROWS) {
        let mut rest = cell;
        let states = first.cards().iter().rev().map(|card| {
            let state = rest % card;
            rest /= card;
            state.to_string()
        });
        let mut row: Vec<String> = states.collect();
        row.reverse();
        row.extend([one, two].map(|p| match p.is_nan() {
            true => "undefined".to_owned(),
            false => format!("{p:.6}"),
        }));
        rows.push(row);
    }
    text += &aligned(&rows, scope.len());
    if first.values().len() > ROWS {
        let _ = writeln!(text, "... {} rows in all; --json has them", first.values().len());
    }
    write_text(&text)
}

/// `P(y | do(x), z)`.
fn label(graph: &Admg, query: Query) -> String {
    let set = (!query.treatment.is_empty()).then(|| format!("do({})", graph.show(query.treatment)));
    let seen = (!query.given.is_empty()).then(|| graph.show(query.given));
    let behind: Vec<String> = set.into_iter().chain(seen).collect();
    let bar = if behind.is_empty() { "" } else { " | " };
    format!("P({}{bar}{})", graph.show(query.outcome), behind.join(", "))
}

/// Numbers in JSON; undefined ones are null.
fn numbers(values: &[f64]) -> Value {
    values.iter().map(|&p| Value::from(p)).collect()
}
