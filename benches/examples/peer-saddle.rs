//! This project's side of `cargo xtask peers saddle`.
//!
//! ```text
//! peer-saddle serve     reads requests from standard input
//! ```
//!
//! A line on standard input is a JSON request, a line on standard output its answer:
//!
//! | request | does | answers |
//! |---|---|---|
//! | `{"lp": {c, a, b, g, h, low, high}}` | solves a linear program (`null` bounds are infinite) | outcome, objective, seconds |
//! | `{"hinge": {x, y, classes, radius, penalty, relative}}` | PDHG on the l1 hinge problem | objective, gap, seconds |
//! | `{"fit": {rows, columns, offsets, places, values, y, penalty, radius, seconds, solver}}` | the estimator on four fifths of the rows | accuracy on every fifth, nonzeros, gap, seconds |
//! | `{"race": {n, seconds}}` | Figure 4-2 by wall time | what each method has reached |

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use fenchel_linalg::{AsDesign, CsrMatrix};
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, StepSize, Stop};
use fenchel_saddle::methods::{MirrorProxSettings, PdhgSettings, mirror_prox, pdhg};
use fenchel_saddle::multiclass::{
    HingeBilinear, Multiclass, Samples, SubgradientSettings, SublinearSettings, subgradient,
    sublinear,
};
use fenchel_saddle::{
    LinearProgram, LpOutcome, LpSettings, MulticlassL1, MulticlassLoss, Radius, SaddleProblem,
    Solver, linear_program,
};
use ndarray::Array2;
use rand::RngExt;
use serde_json::{Value, json};

type Answer = Result<Value, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["serve"] {
        return Err("usage: peer-saddle serve".into());
    }
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let reply = if let Some(lp) = request.get("lp") {
            program(lp)?
        } else if let Some(hinge) = request.get("hinge") {
            optimum(hinge)?
        } else if let Some(data) = request.get("fit") {
            fit(data)?
        } else if let Some(size) = request.get("race") {
            race(size)?
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

fn fit(request: &Value) -> Answer {
    let number = |name: &str| request[name].as_f64().unwrap_or(f64::NAN);
    let whole = |name: &str| -> Vec<usize> {
        numbers(&request[name], f64::NAN).iter().map(|v| *v as usize).collect()
    };
    let (offsets, places, values) =
        (whole("offsets"), whole("places"), numbers(&request["values"], f64::NAN));
    let (y, columns) = (whole("y"), number("columns") as usize);
    // Every fifth row is left out; the peers do the same.
    let part = |test: bool| {
        let (mut from, mut at, mut of, mut labels) =
            (vec![0_usize], vec![], Vec::<f64>::new(), vec![]);
        for j in (0..y.len()).filter(|j| (j % 5 == 0) == test) {
            at.extend(places[offsets[j]..offsets[j + 1]].iter().map(|c| *c as u32));
            of.extend_from_slice(&values[offsets[j]..offsets[j + 1]]);
            from.push(at.len());
            labels.push(y[j]);
        }
        (from, at, of, labels)
    };
    let (train, test) = (part(false), part(true));
    let x = CsrMatrix::new((train.3.len(), columns), train.0, train.1, train.2);
    let stop = Stop {
        relative: 0.01,
        max_passes: f64::INFINITY,
        max_seconds: Some(number("seconds")),
        ..Stop::default()
    };
    let estimator = MulticlassL1 {
        penalty: number("penalty"),
        radius: request["radius"].as_f64().map_or(Radius::FromPenalty, Radius::At),
        standardise: false,
        solver: match request["solver"].as_str() {
            Some("pdhg") => Solver::Pdhg,
            Some("prox") => Solver::MirrorProx,
            Some("mirror") => Solver::MirrorPdhg,
            Some("sublinear") => Solver::Sublinear,
            _ => Solver::Auto,
        },
        stop,
        ..Default::default()
    };
    let start = Instant::now();
    let model = estimator.fit(&x, &train.3)?;
    let seconds = start.elapsed().as_secs_f64();
    let out = CsrMatrix::new((test.3.len(), columns), test.0, test.1, test.2);
    Ok(json!({
        "accuracy": model.score(&out, &test.3)?, "nonzeros": model.nonzeros(), "solver": format!("{:?}", model.solver),
        "objective": model.report.certificate.objective(), "gap": model.report.certificate.value(), "seconds": seconds,
    }))
}

/// Each method for the same seconds on the problem of Figure 4-2: primal value, and gap where the method has one.
fn race(request: &Value) -> Answer {
    let n = request["n"].as_u64().unwrap_or(200) as usize;
    let seconds = request["seconds"].as_f64().unwrap_or(10.0);
    let mut random = stream(1, 4);
    let mut normal = || {
        let (a, b): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    };
    let x = Array2::from_shape_simple_fn((n, n), &mut normal);
    let scale = (n as f64).sqrt().recip();
    let y: Vec<usize> = x
        .rows()
        .into_iter()
        .map(|row| {
            let noisy: Vec<f64> = row.iter().map(|v| v + scale * normal()).collect();
            (0..n).fold(0, |best, l| if noisy[l] > noisy[best] { l } else { best })
        })
        .collect();
    let samples = Samples::new(&x.as_design()?, &y, n, None)?;
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, n as f64, 1e-3)?;
    let stop = Stop {
        absolute: 0.0,
        relative: 0.0,
        max_passes: f64::INFINITY,
        max_seconds: Some(seconds),
        check: Cadence::Doubling(64.0),
    };
    let mut rows = vec![];
    // The theory's step needs the number of steps beforehand: those of a trial of a tenth of the time, times nine.
    let trial = Stop { max_seconds: Some(0.1 * seconds), ..stop };
    let settings =
        |step, horizon, stop| SublinearSettings { step, horizon, stop, ..Default::default() };
    let first =
        sublinear(&problem, &settings(StepSize::Theory, Some(1_000_000), trial), None, &mut ())?;
    let horizon = Some((9 * first.state.steps()).max(1));
    for (name, step) in
        [("sublinear, theory", StepSize::Theory), ("sublinear, 30 times", StepSize::Scaled(30.0))]
    {
        let state = sublinear(&problem, &settings(step, horizon, stop), None, &mut ())?.state;
        let certificate = state.certificate(&problem);
        rows.push(json!({"method": name, "steps": state.steps(), "objective": certificate.objective(), "gap": certificate.value()}));
    }
    let estimator = MulticlassL1 {
        penalty: 1e-3,
        radius: Radius::At(n as f64),
        solver: Solver::Sublinear,
        intercept: false,
        standardise: false,
        stop,
        ..Default::default()
    };
    let model = estimator.fit(&x, &y)?;
    let certificate = model.report.certificate;
    rows.push(json!({"method": "estimator, Pilot", "objective": certificate.objective(), "gap": certificate.value()}));
    let every = Stop { check: Cadence::Every(1.0), ..stop };
    for (name, frobenius) in
        [("SSM, same radius", None), ("SSM, norm of the truth", Some((n as f64).sqrt()))]
    {
        let ssm = SubgradientSettings { frobenius, stop: every, ..Default::default() };
        let u = subgradient(&problem, &ssm, &mut ())?.state;
        rows.push(json!({"method": name, "objective": problem.primal(&u)}));
    }
    let prox = MirrorProxSettings { stop: every, ..Default::default() };
    let state = mirror_prox(&problem, &prox, None, &mut ())?.state;
    let objective = problem.objective(&state.x);
    rows.push(json!({"method": "mirror prox", "objective": objective, "gap": objective - problem.lower_bound(&state.y)}));
    Ok(json!({"n": n, "seconds": seconds, "rows": rows}))
}
