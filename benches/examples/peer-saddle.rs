//! This project's side of `cargo xtask peers saddle`.
//!
//! ```text
//! peer-saddle serve [--data FOLDER]     reads requests from standard input
//! ```
//!
//! A line on standard input is a JSON request, a line on standard output its answer:
//!
//! | request | does | answers |
//! |---|---|---|
//! | `{"lp": {c, a, b, g, h, low, high}}` | solves a linear program (`null` bounds are infinite) | outcome, objective, seconds |
//! | `{"hinge": {x, y, classes, radius, penalty, relative}}` | PDHG on the l1 hinge problem | objective, gap, seconds |
//! | `{"mnist": {penalty, radius, seconds}}` | the estimator on four fifths of the MNIST test images | accuracy on the rest, nonzeros, gap, seconds |

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use fenchel_datasets::Folder;
use fenchel_linalg::AsDesign;
use fenchel_optim::Stop;
use fenchel_saddle::{
    HingeBilinear, LinearProgram, LpOutcome, LpSettings, Multiclass, MulticlassL1, MulticlassLoss,
    PdhgSettings, Radius, Samples, linear_program, pdhg,
};
use ndarray::{Array2, Axis};
use serde_json::{Value, json};

type Answer = Result<Value, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let data = match arguments.as_slice() {
        [serve] if serve == "serve" => None,
        [serve, flag, folder] if serve == "serve" && flag == "--data" => Some(folder.clone()),
        _ => return Err("usage: peer-saddle serve [--data FOLDER]".into()),
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let reply = if let Some(lp) = request.get("lp") {
            program(lp)?
        } else if let Some(hinge) = request.get("hinge") {
            optimum(hinge)?
        } else if let Some(mnist) = request.get("mnist") {
            digits(mnist, data.as_deref())?
        } else {
            return Err("unknown request".into());
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

fn numbers(value: &Value, missing: f64) -> Vec<f64> {
    value
        .as_array()
        .map(|v| v.iter().map(|v| v.as_f64().unwrap_or(missing)).collect())
        .unwrap_or_default()
}

fn matrix(value: &Value, columns: usize) -> Result<Array2<f64>, Box<dyn Error>> {
    let rows: Vec<Vec<f64>> = value
        .as_array()
        .map(|rows| rows.iter().map(|row| numbers(row, f64::NAN)).collect())
        .unwrap_or_default();
    Ok(Array2::from_shape_vec((rows.len(), columns), rows.concat())?)
}

fn program(request: &Value) -> Answer {
    let c = numbers(&request["c"], f64::NAN);
    let (a, g) = (matrix(&request["a"], c.len())?, matrix(&request["g"], c.len())?);
    let program = LinearProgram::new(&c)?
        .equal(a.view(), &numbers(&request["b"], f64::NAN))?
        .at_least(g.view(), &numbers(&request["h"], f64::NAN))?
        .within(
            &numbers(&request["low"], f64::NEG_INFINITY),
            &numbers(&request["high"], f64::INFINITY),
        )?;
    let start = Instant::now();
    let solution = linear_program(&program, &LpSettings::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let (outcome, objective) = match solution.outcome {
        LpOutcome::Optimal { objective, .. } => ("optimal", Some(objective)),
        LpOutcome::Infeasible { .. } => ("infeasible", None),
        LpOutcome::Unbounded { .. } => ("unbounded", None),
        LpOutcome::Undecided => ("undecided", None),
    };
    Ok(json!({ "outcome": outcome, "objective": objective, "seconds": seconds }))
}

fn optimum(request: &Value) -> Answer {
    let number = |name: &str| request[name].as_f64().unwrap_or(f64::NAN);
    let rows = request["x"].as_array().ok_or("x")?;
    let columns = rows[0].as_array().ok_or("x")?.len();
    let x = matrix(&request["x"], columns)?;
    let y: Vec<usize> = numbers(&request["y"], f64::NAN).iter().map(|y| *y as usize).collect();
    let start = Instant::now();
    let samples = Samples::new(&x.as_design()?, &y, number("classes") as usize, None)?;
    let problem =
        Multiclass::new(&samples, MulticlassLoss::Hinge, number("radius"), number("penalty"))?;
    let bilinear = HingeBilinear::new(&problem)?;
    let stop = Stop {
        relative: number("relative"),
        max_passes: 1e6,
        max_seconds: Some(120.0),
        ..Stop::default()
    };
    let solution = pdhg(&bilinear, &PdhgSettings { stop, ..Default::default() }, None, &mut ())?;
    let seconds = start.elapsed().as_secs_f64();
    let certificate = solution.report.certificate;
    Ok(json!({
        "objective": certificate.objective(), "gap": certificate.value(), "seconds": seconds, "passes": solution.report.passes,
    }))
}

fn digits(request: &Value, data: Option<&str>) -> Answer {
    let images = match data {
        Some(root) => Folder::new(root).mnist_test()?,
        None => None,
    };
    let Some(images) = images else { return Ok(Value::Null) };
    let x = images.x.mapv(|v| f64::from(v) / 255.0);
    let y: Vec<u8> = images.y.to_vec();
    // Every fifth image is left out; the peers do the same.
    let (test, train): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|j| j % 5 == 0);
    let part =
        |rows: &[usize]| (x.select(Axis(0), rows), rows.iter().map(|j| y[*j]).collect::<Vec<u8>>());
    let ((train_x, train_y), (test_x, test_y)) = (part(&train), part(&test));
    let number = |name: &str| request[name].as_f64().unwrap_or(f64::NAN);
    let stop = Stop {
        relative: 0.01,
        max_passes: f64::INFINITY,
        max_seconds: Some(number("seconds")),
        ..Stop::default()
    };
    let estimator = MulticlassL1 {
        penalty: number("penalty"),
        radius: Radius::At(number("radius")),
        standardise: false,
        stop,
        ..Default::default()
    };
    let start = Instant::now();
    let model = estimator.fit(&train_x, &train_y)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(json!({
        "accuracy": model.score(&test_x, &test_y)?, "nonzeros": model.nonzeros(), "solver": format!("{:?}", model.solver),
        "objective": model.report.certificate.objective(), "gap": model.report.certificate.value(), "seconds": seconds,
    }))
}
