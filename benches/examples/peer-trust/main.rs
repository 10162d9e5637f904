//! Our side of `cargo xtask peers trust`: reads a problem a line, solves it by every method that takes it, and writes a line with the
//! answers: the point, and what is said of it. Both are JSON, whose numbers are exact.

mod margins;
mod networks;
mod sequences;

use std::error::Error;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fenchel_finite_sum::Fit;
use fenchel_optim::{Certificate, Report, Stop};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::margins::{entropy, glm, linear, softmax};
use crate::networks::{conditional, hubs, lasso, network};
use crate::sequences::{classifier, crf, game, graph, program};

/// Attributes with their values, and the label.
type Token = (Vec<(u32, f64)>, u32);

/// Variables of a clique, and its attributes with their values.
type Clique = (Vec<usize>, Vec<(u32, f64)>);

/// Nodes, edges, labels.
type Graph = (Vec<Clique>, Vec<Clique>, Vec<usize>);

/// What all problems have, each its part of it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Request {
    pub(crate) kind: String,
    pub(crate) loss: String,
    pub(crate) x: Vec<Vec<f64>>,
    pub(crate) y: Vec<f64>,
    pub(crate) cost: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) sequences: Vec<Vec<Token>>,
    pub(crate) graphs: Vec<Graph>,
    pub(crate) groups: Vec<Vec<usize>>,
    pub(crate) sizes: [usize; 2],
    pub(crate) l1: f64,
    pub(crate) l2: f64,
    pub(crate) input_l1: f64,
    pub(crate) intercept: bool,
    pub(crate) relative: f64,
    pub(crate) passes: f64,
}

impl Request {
    pub(crate) fn matrix(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.x.len(), self.x[0].len()), |(i, j)| self.x[i][j])
    }

    pub(crate) fn stop(&self) -> Stop {
        let (relative, max_passes) = (self.relative, self.passes);
        Stop { relative, max_passes, absolute: 0.0, ..Stop::default() }
    }

    pub(crate) fn fit<M>(&self) -> Fit<'_, M> {
        match &self.weights {
            Some(weights) => Fit::new().weights(weights),
            None => Fit::new(),
        }
    }
}

/// What a method returns, and what it says of it.
#[derive(Default, Serialize)]
struct Answer {
    solver: String,
    /// How the run ended; the error where there is no point.
    status: String,
    objective: Option<f64>,
    lower_bound: Option<f64>,
    /// The gap, or the residual where there is no lower bound.
    value: Option<f64>,
    point: Vec<f64>,
}

pub(crate) type Found = Result<(Vec<f64>, Report), Box<dyn Error>>;

/// The answers to one problem.
#[derive(Default)]
pub(crate) struct Answers(Vec<Answer>);

impl Answers {
    pub(crate) fn ask(&mut self, solver: &str, solve: impl FnOnce() -> Found) {
        let solver = solver.to_owned();
        let answer = match catch_unwind(AssertUnwindSafe(solve)) {
            Ok(Ok((point, report))) => Self::said(solver, point, &report),
            Ok(Err(error)) => {
                Answer { solver, status: format!("error: {error}"), ..Default::default() }
            }
            Err(_) => Answer { solver, status: "panic".into(), ..Default::default() },
        };
        self.0.push(answer);
    }

    fn said(solver: String, point: Vec<f64>, report: &Report) -> Answer {
        let value = Some(report.certificate.value()).filter(|v| v.is_finite());
        let lower_bound = match report.certificate {
            Certificate::Gap { lower_bound, .. } if value.is_some() => Some(lower_bound),
            _ => None,
        };
        let (status, objective) = (format!("{:?}", report.status), report.certificate.objective());
        Answer { solver, status, objective, lower_bound, value, point }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let r: Request = serde_json::from_str(&line?)?;
        let mut answers = Answers::default();
        let a = &mut answers;
        let posed = match r.kind.as_str() {
            "linear" => linear(a, &r),
            "softmax" => softmax(a, &r),
            "glm" => glm(a, &r),
            "crf" => crf(a, &r),
            "graph" => graph(a, &r),
            "entropy" => entropy(a, &r),
            "glasso" => lasso(a, &r),
            "hubs" => hubs(a, &r),
            "conditional" => conditional(a, &r),
            "network" => network(a, &r),
            "game" => game(a, &r),
            "program" => program(a, &r),
            _ => classifier(a, &r),
        };
        if let Err(error) = posed {
            a.ask("problem", || Err(error));
        }
        writeln!(out, "{}", serde_json::to_string(&answers.0)?)?;
        out.flush()?;
    }
    Ok(())
}
