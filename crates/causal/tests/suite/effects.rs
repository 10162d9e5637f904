//! Effects from tables: closed forms where the models are saturated, a known truth, and the book's numbers.

use std::collections::HashMap;

use fenchel_causal::effect::{EffectEstimator, EffectMethod};
use fenchel_causal::{Admg, ProbabilityTable, identify};
use ndarray::{Array2, array};
use rand::RngExt;

use crate::common::rng;

const METHODS: [EffectMethod; 3] =
    [EffectMethod::Standardisation, EffectMethod::Weighting, EffectMethod::DoublyRobust];

/// With one binary confounder and an interaction both models are saturated: all three are the adjustment formula on frequencies.
#[test]
fn saturated_models_give_the_adjustment_formula() {
    let mut rng = rng(1);
    let n = 400;
    let mut rows = Array2::<usize>::zeros((n, 3));
    for mut row in rows.rows_mut() {
        let z = usize::from(rng.random::<f64>() < 0.4);
        let a = usize::from(rng.random::<f64>() < [0.2, 0.7][z]);
        let y = usize::from(rng.random::<f64>() < [[0.3, 0.5], [0.6, 0.9]][z][a]);
        row.assign(&array![z, a, y]);
    }
    let g = Admg::parse("Z -> A -> Y; Z -> Y").unwrap();
    let joint = ProbabilityTable::from_data(rows.view(), &[2, 2, 2], 0.0).unwrap();
    let law = identify(&g, g.query("P(Y | do(A))").unwrap()).unwrap().evaluate(&joint).unwrap();
    let truth = law.at(&[(1, 1), (2, 1)]).unwrap() - law.at(&[(1, 0), (2, 1)]).unwrap();
    let x = Array2::from_shape_fn((n, 1), |(i, _)| rows[(i, 0)] as f64);
    let treated: Vec<bool> = rows.column(1).iter().map(|&a| a == 1).collect();
    let y: Vec<f64> = rows.column(2).iter().map(|&y| y as f64).collect();
    for method in METHODS {
        let estimator = EffectEstimator {
            method,
            interactions: vec![0],
            bootstrap: 0,
            ..EffectEstimator::default()
        };
        let model = estimator.fit(x.view(), &treated, &y).unwrap();
        assert!(
            (model.effect - truth).abs() < 1e-5,
            "{method:?}: {} against {truth}",
            model.effect
        );
        assert!(model.interval.0.is_nan());
    }
}

/// The doubly robust estimate is right where one model is wrong; the others are right where theirs is.
#[test]
fn doubly_robust() {
    let mut rng = rng(2);
    let n = 4000;
    let mut x = Array2::zeros((n, 1));
    let (mut treated, mut y) = (Vec::new(), Vec::new());
    for i in 0..n {
        let v: f64 = 4.0 * rng.random::<f64>() - 2.0;
        x[(i, 0)] = v;
        let a = rng.random::<f64>() < 1.0 / (1.0 + (-v).exp());
        treated.push(a);
        // The outcome bends, which a linear model cannot follow; the propensity model is right.
        y.push(1.5 * f64::from(u8::from(a)) + v * v * v + 0.5 * (rng.random::<f64>() - 0.5));
    }
    let fit = |method| {
        let estimator = EffectEstimator { method, bootstrap: 40, ..EffectEstimator::default() };
        estimator.fit(x.view(), &treated, &y).unwrap()
    };
    let model = fit(EffectMethod::DoublyRobust);
    assert!((model.effect - 1.5).abs() < 4.0 * model.standard_error, "{model:?}");
    assert!(model.interval.0 < 1.5 && 1.5 < model.interval.1);
    assert_eq!(model.failed_resamples, 0);
    let overlap = &model.overlap;
    assert!(overlap.imbalance > 0.5 && overlap.imbalance_weighted < 0.1, "{overlap:?}");
    assert!(overlap.effective_treated < n as f64 / 2.0);
    let again = fit(EffectMethod::DoublyRobust);
    assert_eq!(model, again, "a seed determines the bootstrap");
}

#[test]
fn refusals() {
    let x = array![[0.0], [1.0]];
    let estimator = EffectEstimator::default();
    let message = |r: Result<fenchel_causal::effect::EffectModel, fenchel_causal::Error>| {
        r.unwrap_err().to_string()
    };
    assert_eq!(
        message(estimator.fit(x.view(), &[true, true], &[0.0, 1.0])),
        "the untreated arm is empty"
    );
    assert_eq!(
        message(estimator.fit(x.view(), &[true], &[0.0, 1.0])),
        "treated: expected length 2, found 1"
    );
    assert!(
        message(estimator.fit(array![[f64::NAN], [1.0]].view(), &[true, false], &[0.0, 1.0]))
            .contains("NaN")
    );
    let estimator = EffectEstimator { interactions: vec![3], ..estimator };
    assert!(
        message(estimator.fit(x.view(), &[true, false], &[0.0, 1.0]))
            .starts_with("interactions = 3")
    );
}

/// The effect of quitting smoking on weight: Hernan and Robins report 3.5 kg (95 % 2.6 to 4.5) by standardisation and 3.4 kg (2.4 to
/// 4.5) by weighting, on the 1,566 people whose weight in 1982 is known.
#[test]
fn nhefs() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/data");
    let folder = std::env::var("FENCHEL_DATA").unwrap_or_else(|_| beside.into());
    let Ok(text) = std::fs::read_to_string(format!("{folder}/causal/NHEFS.csv")) else {
        println!("skipped: no file causal/NHEFS.csv in the folder of data sets; set FENCHEL_DATA");
        return;
    };
    let mut lines = text.lines();
    let place: HashMap<&str, usize> =
        lines.next().unwrap().split(',').enumerate().map(|(k, name)| (name, k)).collect();
    let (mut x, mut treated, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let get = |name: &str| cells[place[name]].parse::<f64>();
        let Ok(gain) = get("wt82_71") else { continue };
        let value = |name: &str| get(name).unwrap();
        let is = |name: &str, level: f64| f64::from(u8::from(value(name) == level));
        let mut row = vec![value("sex"), value("race")];
        for name in ["age", "smokeintensity", "smokeyrs", "wt71"] {
            row.extend([value(name), value(name) * value(name)]);
        }
        row.extend((2..=5).map(|k| is("education", f64::from(k))));
        row.extend((1..=2).map(|k| is("exercise", f64::from(k))));
        row.extend((1..=2).map(|k| is("active", f64::from(k))));
        x.push(row);
        treated.push(value("qsmk") == 1.0);
        y.push(gain);
    }
    assert_eq!(y.len(), 1566);
    let columns = x[0].len();
    let x = Array2::from_shape_vec((y.len(), columns), x.concat()).unwrap();
    let intensity = 4;
    for (method, book, interval) in [
        (EffectMethod::Standardisation, 3.5, Some((2.6, 4.5))),
        (EffectMethod::Weighting, 3.4, Some((2.4, 4.5))),
        (EffectMethod::DoublyRobust, 3.4, None),
    ] {
        let estimator = EffectEstimator {
            method,
            interactions: vec![intensity],
            bootstrap: 40,
            ..EffectEstimator::default()
        };
        let model = estimator.fit(x.view(), &treated, &y).unwrap();
        println!(
            "{method:?}: {:.3} ({:.2} to {:.2})",
            model.effect, model.interval.0, model.interval.1
        );
        assert!((model.effect - book).abs() < 0.1, "{method:?}: {}", model.effect);
        if let Some((low, high)) = interval {
            // Forty resamples: the ends of the interval are known to a third of a kilogram or so.
            assert!(
                (model.interval.0 - low).abs() < 0.5 && (model.interval.1 - high).abs() < 0.5,
                "{model:?}"
            );
        }
        assert!(model.overlap.imbalance_weighted < 0.1);
    }
}
