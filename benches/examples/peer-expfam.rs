//! This project's side of `cargo xtask peers expfam`, and that of statrs.
//!
//! `peer-expfam entropies TABLES` judges entropies of the members in the reference tables; `peer-expfam glm FAMILY FILE N D` fits a
//! regression to a file of doubles, the design row by row and then the targets.

use std::collections::BTreeMap;
use std::time::Instant;

use fenchel_expfam::glm::{Glm, LogLinear, Logistic, ScalarFamily};
use fenchel_expfam::*;
use fenchel_optim::Stop;
use ndarray::ArrayView2;
use serde::Serialize;
use statrs::distribution as other;
use statrs::statistics::Distribution as _;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["entropies", tables] => entropies(tables),
        ["glm", "logistic", file, n, d] => glm(Logistic, file, n.parse()?, d.parse()?),
        ["glm", "poisson", file, n, d] => glm(LogLinear, file, n.parse()?, d.parse()?),
        _ => Err("entropies TABLES, or glm FAMILY FILE N D".into()),
    }
}

fn doubles(path: &str) -> Result<Vec<f64>, Failure> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect())
}

#[derive(Default, Serialize)]
struct Count {
    failures: usize,
    not_finite: usize,
    worst: f64,
}

type Entropy = Box<dyn Fn(&[f64]) -> Option<f64>>;

/// The entropy of a member of a family.
fn ours(family: impl Density + 'static) -> Entropy {
    Box::new(move |eta| family.entropy(eta).ok())
}

fn entropies(tables: &str) -> Result<(), Failure> {
    let half_log_tau = 0.5 * std::f64::consts::TAU.ln();
    // Name, dimension, what the base measure adds to the entropy, ours, theirs.
    let cases: Vec<(&str, usize, f64, Entropy, Option<Entropy>)> = vec![
        (
            "bernoulli",
            1,
            0.0,
            ours(Bernoulli),
            Some(Box::new(|e| other::Bernoulli::new(1.0 / (1.0 + (-e[0]).exp())).ok()?.entropy())),
        ),
        (
            "geometric",
            1,
            0.0,
            ours(Geometric),
            Some(Box::new(|e| other::Geometric::new(-e[0].exp_m1()).ok()?.entropy())),
        ),
        (
            "exponential",
            1,
            0.0,
            ours(Exponential),
            Some(Box::new(|e| other::Exp::new(-e[0]).ok()?.entropy())),
        ),
        (
            "laplace",
            1,
            0.0,
            ours(Laplace::new(0.0)?),
            Some(Box::new(|e| other::Laplace::new(0.0, -1.0 / e[0]).ok()?.entropy())),
        ),
        (
            "gamma",
            2,
            0.0,
            ours(Gamma),
            Some(Box::new(|e| other::Gamma::new(e[0] + 1.0, -e[1]).ok()?.entropy())),
        ),
        (
            "inverse_gamma",
            2,
            0.0,
            ours(InverseGamma),
            Some(Box::new(|e| other::InverseGamma::new(-e[0] - 1.0, -e[1]).ok()?.entropy())),
        ),
        (
            "beta",
            2,
            0.0,
            ours(Beta),
            Some(Box::new(|e| other::Beta::new(e[0] + 1.0, e[1] + 1.0).ok()?.entropy())),
        ),
        ("dirichlet", 3, 0.0, ours(Dirichlet::new(3)?), None),
        (
            "normal",
            2,
            half_log_tau,
            ours(Normal),
            Some(Box::new(|e| {
                let v = -0.5 / e[1];
                other::Normal::new(e[0] * v, v.sqrt()).ok()?.entropy()
            })),
        ),
        ("von_mises", 2, 2.0 * half_log_tau, ours(VonMises), None),
    ];
    let mut result: BTreeMap<&str, BTreeMap<&str, Count>> = BTreeMap::new();
    for (name, k, base, ours, theirs) in cases {
        let numbers = doubles(&format!("{tables}/{name}.f64"))?;
        let sides = [("fenchel", Some(ours)), ("statrs", theirs)];
        for (who, entropy) in sides.into_iter().filter_map(|(who, f)| Some((who, f?))) {
            let mut count = Count::default();
            for row in numbers.chunks_exact(3 * k + 2 + k * (k + 1) / 2) {
                let (eta, a, mu) = (&row[..k], row[k], &row[k + 1..2 * k + 1]);
                let products: Vec<f64> = eta.iter().zip(mu).map(|(e, m)| -e * m).collect();
                let expected = a + base + products.iter().sum::<f64>();
                let terms = a.abs() + base + products.iter().map(|t| t.abs()).sum::<f64>();
                let allowed = 1e-13 * expected.abs() + 16.0 * f64::EPSILON * terms + 1e-300;
                match entropy(eta).filter(|h| h.is_finite()) {
                    None => count.not_finite += 1,
                    Some(found) => {
                        let error = (found - expected).abs();
                        count.failures += usize::from(error > allowed);
                        count.worst = count.worst.max(error / expected.abs().max(1e-300));
                    }
                }
            }
            result.entry(who).or_default().insert(name, count);
        }
    }
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}

#[derive(Serialize)]
struct Fit {
    seconds: f64,
    coefficients: Vec<f64>,
    report: String,
}

fn glm<F: ScalarFamily + Clone>(family: F, file: &str, n: usize, d: usize) -> Result<(), Failure> {
    let numbers = doubles(file)?;
    let (x, y) = numbers.split_at(n * d);
    let x = ArrayView2::from_shape((n, d), x)?;
    let start = Instant::now();
    // The norm of the gradient: of a mean loss with curvature of about 0.1, 1e-5 is a gap of 1e-9.
    let stop = Stop { absolute: 1e-5, relative: 0.0, ..Stop::default() };
    let model = Glm { stop, ..Glm::new(family) }.fit(&x, y)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut coefficients = model.coefficients.clone();
    coefficients.push(model.intercept);
    let fit = Fit { seconds, coefficients, report: model.report.to_string() };
    println!("{}", serde_json::to_string(&fit)?);
    Ok(())
}
