//! Effects from tables: closed forms where the models are saturated, a known truth, and the book's numbers.

use std::collections::HashMap;

use fenchel_causal::effect::{EffectEstimator, EffectMethod, EffectModel};
use fenchel_causal::{Admg, Error, Fit, ProbabilityTable, identify};
use fenchel_optim::Report;
use fenchel_optim::model::Saved;
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
        assert_eq!((model.interval, model.standard_error), (None, None));
        // A model without intervals can be saved and read.
        let mut file = Vec::new();
        model.save(&mut file).unwrap();
        assert_eq!(EffectModel::load(file.as_slice()).unwrap(), model);
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
    assert!((model.effect - 1.5).abs() < 4.0 * model.standard_error.unwrap(), "{model:?}");
    let (low, high) = model.interval.unwrap();
    assert!(low < 1.5 && 1.5 < high);
    assert_eq!(model.failed_resamples, 0);
    let overlap = &model.overlap;
    assert!(overlap.imbalance > 0.5 && overlap.imbalance_weighted < 0.1, "{overlap:?}");
    assert!(overlap.effective_treated < n as f64 / 2.0);
    assert!(model.report.certificate.value() < 1e-8 && model.outcome_report.is_some(), "{model:?}");
    let again = fit(EffectMethod::DoublyRobust);
    let timeless = |m: EffectModel| EffectModel {
        report: m.report.without_seconds(),
        outcome_report: m.outcome_report.map(Report::without_seconds),
        ..m
    };
    assert_eq!(timeless(model), timeless(again), "a seed determines the bootstrap");
}

/// Where x tells the arms apart there is nothing to weight by; a regression of the outcome extrapolates, and the overlap says so.
#[test]
fn arms_that_x_tells_apart() {
    let x = Array2::from_shape_fn((40, 1), |(i, _)| i as f64);
    let treated: Vec<bool> = (0..40).map(|i| i >= 20).collect();
    let y: Vec<f64> = (0..40).map(|i| i as f64 + if i >= 20 { 3.0 } else { 0.0 }).collect();
    for method in METHODS {
        let estimator = EffectEstimator { method, bootstrap: 0, ..EffectEstimator::default() };
        match (method, estimator.fit(x.view(), &treated, &y)) {
            (EffectMethod::Standardisation, Ok(model)) => {
                assert!((model.effect - 3.0).abs() < 1e-4, "{}", model.effect);
                assert!(model.overlap.extreme > 0.8, "{:?}", model.overlap);
            }
            (EffectMethod::Standardisation, Err(error)) => panic!("{error}"),
            (_, result) => assert_eq!(result.unwrap_err(), Error::Separated),
        }
    }
}

/// The unit of a column does not matter, however large or small.
#[test]
fn units_do_not_matter() {
    let mut rng = rng(4);
    let column: Vec<f64> = (0..200).map(|_| rng.random()).collect();
    let treated: Vec<bool> = column.iter().map(|v| rng.random::<f64>() < 0.2 + 0.6 * v).collect();
    let y: Vec<f64> = (0..200).map(|i| 5.0 * column[i] + rng.random::<f64>()).collect();
    let effect = |unit: f64| {
        let x = Array2::from_shape_fn((200, 1), |(i, _)| unit * column[i]);
        let estimator = EffectEstimator { bootstrap: 0, ..EffectEstimator::default() };
        estimator.fit(x.view(), &treated, &y).unwrap().effect
    };
    for unit in [1e200, 1e-200] {
        assert!((effect(unit) - effect(1.0)).abs() < 1e-8, "{unit}: {}", effect(unit));
    }
}

/// A resample without one arm has no effect, whatever the method; too few people for the coefficients are refused.
#[test]
fn small_samples() {
    let mut rng = rng(5);
    let x = Array2::from_shape_fn((60, 1), |_| rng.random::<f64>());
    let treated: Vec<bool> = (0..60).map(|i| i == 30).collect();
    let y: Vec<f64> = (0..60).map(|_| rng.random()).collect();
    for method in METHODS {
        let estimator = EffectEstimator { method, bootstrap: 40, ..EffectEstimator::default() };
        if let Ok(model) = estimator.fit(x.view(), &treated, &y) {
            // A resample misses the one treated person with probability 0.37.
            assert!(model.failed_resamples > 5, "{method:?}: {}", model.failed_resamples);
        }
        let wide = Array2::from_shape_fn((60, 70), |_| rng.random::<f64>());
        assert!(
            estimator.fit(wide.view(), &treated, &y).unwrap_err().to_string().contains("60 rows")
        );
    }
}

/// A row of weight k is k rows, a row of weight 0 none.
#[test]
fn weights_are_repetitions() {
    let mut rng = rng(3);
    let n = 300;
    let (mut x, mut treated, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let row = [rng.random::<f64>(), rng.random::<f64>() - 0.5];
        let a = rng.random::<f64>() < 0.2 + 0.6 * row[0];
        y.push(2.0 * f64::from(u8::from(a)) + row[0] * row[1] + rng.random::<f64>());
        x.push(row);
        treated.push(a);
        weights.push(f64::from(rng.random_range(0..4_u8)));
    }
    let pick: Vec<usize> =
        (0..n).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let table = |rows: &[usize]| Array2::from_shape_fn((rows.len(), 2), |(i, j)| x[rows[i]][j]);
    let all: Vec<usize> = (0..n).collect();
    for method in METHODS {
        let estimator = EffectEstimator { method, bootstrap: 0, ..EffectEstimator::default() };
        let weighted = estimator
            .fit_with(table(&all).view(), &treated, &y, Fit::new().weights(&weights))
            .unwrap();
        let arms: Vec<bool> = pick.iter().map(|&i| treated[i]).collect();
        let outcomes: Vec<f64> = pick.iter().map(|&i| y[i]).collect();
        let repeated = estimator.fit(table(&pick).view(), &arms, &outcomes).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(near(weighted.effect, repeated.effect), "{method:?}");
        let (o, r) = (&weighted.overlap, &repeated.overlap);
        assert!(near(o.imbalance, r.imbalance) && near(o.extreme, r.extreme), "{o:?} {r:?}");
        assert!(near(o.imbalance_weighted, r.imbalance_weighted), "{o:?} {r:?}");
        assert!(near(o.treated.0, r.treated.0) && near(o.control.1, r.control.1));
    }
    let estimator = EffectEstimator { bootstrap: 0, ..EffectEstimator::default() };
    let refused = |weights: &[f64]| {
        let fit = Fit::new().weights(weights);
        estimator.fit_with(table(&all).view(), &treated, &y, fit).unwrap_err().to_string()
    };
    assert_eq!(refused(&weights[1..]), "weights: expected length 300, found 299");
    assert!(
        refused(&[vec![-1.0], weights[1..].to_vec()].concat())
            .starts_with("weights: entry 0 is -1")
    );
    let nobody: Vec<f64> = treated.iter().map(|&a| f64::from(u8::from(!a))).collect();
    assert_eq!(refused(&nobody), "the treated arm is empty");
}

/// Where columns tell the treatment, any number could be its effect: everything that the treatment does, they could do.
#[test]
fn columns_that_span_the_treatment_are_refused() {
    let treated: Vec<bool> = (0..8).map(|i| i % 2 == 1).collect();
    let a = |i: usize| f64::from(u8::from(treated[i]));
    let y: Vec<f64> = (0..8).map(|i| 1.0 + 3.0 * a(i)).collect();
    let part = |i: usize| [0.3, 1.7, -0.9, 0.4, 2.2, 0.1, 0.6, -1.3][i];
    let columns: [&dyn Fn(usize) -> Vec<f64>; 5] = [
        &|i| vec![a(i)],
        &|i| vec![a(i), a(i)],
        &|i| vec![part(i), a(i) - part(i)],
        &|i| vec![1e6 + 0.1 * a(i)],
        &|i| vec![1e-9 * part(i), 7.0 - 1e9 * a(i), part(7 - i)],
    ];
    for (k, row) in columns.iter().enumerate() {
        let rows: Vec<Vec<f64>> = (0..8).map(row).collect();
        let x = Array2::from_shape_fn((8, rows[0].len()), |(i, j)| rows[i][j]);
        for method in METHODS {
            let estimator = EffectEstimator { method, ..EffectEstimator::default() };
            let expected = match method {
                EffectMethod::Standardisation => Error::Spanned,
                _ => Error::Separated,
            };
            assert_eq!(estimator.fit(x.view(), &treated, &y).unwrap_err(), expected, "{k}");
        }
    }
    // A column that is constant among the treated: its slope there is part of the effect.
    let x = Array2::from_shape_fn((8, 1), |(i, _)| if treated[i] { 2.0 } else { part(i) });
    let estimator = EffectEstimator {
        method: EffectMethod::Standardisation,
        interactions: vec![0],
        ..EffectEstimator::default()
    };
    assert_eq!(estimator.fit(x.view(), &treated, &y).unwrap_err(), Error::Spanned);
    let error = EffectEstimator { interactions: vec![0, 0], ..estimator };
    let error = error.fit(x.view(), &treated, &y).unwrap_err().to_string();
    assert_eq!(error, "interactions: column 0 is given twice");
    // Nearly the treatment is not the treatment: y = x + 2 a exactly.
    let x = Array2::from_shape_fn((8, 1), |(i, _)| a(i) + 1e-3 * part(i));
    let y: Vec<f64> = (0..8).map(|i| x[(i, 0)] + 2.0 * a(i)).collect();
    let estimator =
        EffectEstimator { method: EffectMethod::Standardisation, ..EffectEstimator::default() };
    let model = EffectEstimator { bootstrap: 0, ..estimator }.fit(x.view(), &treated, &y).unwrap();
    assert!((model.effect - 2.0).abs() < 1e-4, "{}", model.effect);
}

/// Neither where a column begins nor how large the weights are matters. Whole numbers keep their digits up to 2^53.
#[test]
fn offsets_and_sizes_of_weights_do_not_matter() {
    let mut rng = rng(6);
    let column: Vec<f64> = (0..150).map(|_| f64::from(rng.random_range(0..20_u8))).collect();
    let treated: Vec<bool> = column.iter().map(|v| rng.random::<f64>() < 0.2 + 0.03 * v).collect();
    let y: Vec<f64> = (0..150).map(|i| 0.5 * column[i] + rng.random::<f64>()).collect();
    for method in METHODS {
        let fit = |offset: f64, weight: f64| {
            let x = Array2::from_shape_fn((150, 1), |(i, _)| offset + column[i]);
            let estimator = EffectEstimator { method, bootstrap: 0, ..EffectEstimator::default() };
            let weights = vec![weight; 150];
            estimator.fit_with(x.view(), &treated, &y, Fit::new().weights(&weights)).unwrap()
        };
        let right = fit(0.0, 1.0);
        for (offset, weight) in
            [(1e6, 1.0), (-1e9, 1.0), (1e12, 1.0), (0.0, 1e200), (0.0, 1e308), (0.0, 1e-300)]
        {
            let model = fit(offset, weight);
            assert!((model.effect - right.effect).abs() < 1e-10, "{method:?} {offset} {weight}");
            let (a, b) = (model.overlap.effective_treated, right.overlap.effective_treated);
            assert!((a - b).abs() < 1e-8 * b, "{method:?} {offset} {weight}: {a} {b}");
        }
    }
}

/// Outcomes whose mean is no number are refused.
#[test]
fn outcomes_beyond_the_range_of_numbers() {
    let x = Array2::from_shape_fn((12, 1), |(i, _)| (i % 3) as f64);
    let treated: Vec<bool> = (0..12).map(|i| i % 2 == 1).collect();
    for method in METHODS {
        let estimator = EffectEstimator { method, bootstrap: 0, ..EffectEstimator::default() };
        let y: Vec<f64> = (0..12).map(|i| if i == 1 { -1.7e308 } else { 1.7e308 }).collect();
        assert!(estimator.fit(x.view(), &treated, &y).is_err(), "{method:?}");
    }
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
    let pairs = Array2::from_shape_fn((8, 1), |(i, _)| (i / 2) as f64);
    let (treated, y): (Vec<bool>, Vec<f64>) = (0..8).map(|i| (i % 2 == 1, f64::from(i))).unzip();
    for bootstrap in [1 << 40, usize::MAX] {
        let endless = EffectEstimator { bootstrap, ..estimator.clone() };
        let refused = message(endless.fit(pairs.view(), &treated, &y));
        assert!(refused.contains("take fewer resamples"), "{refused}");
    }
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
        let (from, to) = model.interval.unwrap();
        println!("{method:?}: {:.3} ({from:.2} to {to:.2})", model.effect);
        assert!((model.effect - book).abs() < 0.1, "{method:?}: {}", model.effect);
        if let Some((low, high)) = interval {
            // Forty resamples: the ends of the interval are known to a third of a kilogram or so.
            assert!((from - low).abs() < 0.5 && (to - high).abs() < 0.5, "{model:?}");
        }
        assert!(model.overlap.imbalance_weighted < 0.1);
    }
}

/// All regressions are watched and limited together, and what they had no time for is missing from the interval.
#[test]
fn a_fit_is_watched_and_limited_as_a_whole() {
    use std::ops::ControlFlow;
    let mut rng = rng(8);
    let x = Array2::from_shape_simple_fn((60, 2), || rng.random::<f64>());
    let treated: Vec<bool> = (0..60).map(|_| rng.random()).collect();
    let y: Vec<f64> = (0..60).map(|_| rng.random()).collect();
    let estimator = EffectEstimator { bootstrap: 20, ..EffectEstimator::default() };
    let plain = estimator.fit(x.view(), &treated, &y).unwrap();
    let mut calls = 0;
    let mut count = |_: &fenchel_optim::Progress| {
        calls += 1;
        ControlFlow::Continue(())
    };
    let fit = Fit::new().watch(&mut count);
    let watched = estimator.fit_with(x.view(), &treated, &y, fit).unwrap();
    assert!((watched.effect - plain.effect).abs() < 1e-12);
    assert_eq!(watched.failed_resamples, plain.failed_resamples);
    // Two regressions of the whole and of every resample, each shown at least once.
    assert!(calls >= 2 * 21 - 2 * plain.failed_resamples, "{calls}");
    let limited = EffectEstimator {
        stop: fenchel_optim::Stop { max_seconds: Some(0.0), ..estimator.stop },
        ..estimator.clone()
    };
    if let Ok(model) = limited.fit(x.view(), &treated, &y) {
        assert_eq!((model.failed_resamples, model.interval), (20, None));
    }
    let refused = estimator.fit_with(x.view(), &treated, &y, Fit::new().start(&plain)).unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused}");
}

/// Of a randomised trial the effect is the difference of the two means.
#[test]
fn without_columns_the_means_are_compared() {
    let y = [1.0, 5.0, 2.0, 9.0, 3.0, 1.0];
    let treated = [false, true, false, true, false, true];
    for method in METHODS {
        let estimator = EffectEstimator { method, bootstrap: 0, ..EffectEstimator::default() };
        let model = estimator.fit(Array2::zeros((6, 0)).view(), &treated, &y).unwrap();
        assert!((model.effect - 3.0).abs() < 1e-8, "{method:?} {}", model.effect);
        assert!(model.propensity.iter().all(|p| (p - 0.5).abs() < 1e-8), "{}", model.propensity);
    }
}
