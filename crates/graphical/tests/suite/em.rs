//! Records with missing values: expectation and maximisation against closed forms and enumeration.

use crate::common::networks::{configurations, nets};
use fenchel_graphical::bayes_net::{Em, EmFit};
use fenchel_graphical::{
    BayesNet, Dag, Error, Evidence, MISSING, OrderingOptions, Prior, VarId, networks,
};
use fenchel_optim::{Fit, Progress, Refusal, Status, Stop, random::stream};
use ndarray::{Array2, array};
use proptest::prelude::*;
use rand::RngExt;

/// `ln P(what is observed)` by enumeration.
fn log_likelihood(net: &BayesNet, data: &Array2<usize>) -> f64 {
    let all: Vec<(Vec<usize>, f64)> = configurations(net.cards())
        .into_iter()
        .map(|x| {
            let p = net.log_probability(&x).unwrap().exp();
            (x, p)
        })
        .collect();
    let fits =
        |x: &[usize], record: &[usize]| x.iter().zip(record).all(|(a, b)| *b == MISSING || a == b);
    data.rows()
        .into_iter()
        .map(|record| {
            let record = record.to_vec();
            all.iter().filter(|(x, _)| fits(x, &record)).map(|(_, p)| p).sum::<f64>().ln()
        })
        .sum()
}

fn holes(net: &BayesNet, n: usize, share: f64, seed: u64) -> Array2<usize> {
    let mut random = stream(seed, 9);
    let mut data = net.sample_many(n, &mut random).unwrap();
    data.iter_mut().for_each(|cell| {
        if random.random_bool(share) {
            *cell = MISSING;
        }
    });
    data
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_likelihood_rises_to_a_stationary_point(net in nets(4), seed in 0u64..1000, alpha in prop_oneof![Just(0.0), 0.1..2.0f64]) {
        let data = holes(&net, 25, 0.3, seed);
        let prior = Prior::Dirichlet(alpha);
        let stop = Stop { absolute: 1e-9, relative: 0.0, max_passes: 3000.0, ..Stop::default() };
        let settings = Em { prior, seed, stop, ..Em::default() };
        let fit = settings.fit(&net, data.view()).unwrap();
        for pair in fit.objectives.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-10 * (1.0 + pair[0].abs()), "{pair:?}");
        }
        let found = log_likelihood(&fit.net, &data);
        prop_assert!((fit.log_likelihood - found).abs() < 1e-9 * (1.0 + found.abs()));
        let penalty = |net: &BayesNet| -> f64 {
            let logs = net.variables().flat_map(|v| net.cpt_of(v).to_vec());
            if alpha > 0.0 { alpha * logs.map(f64::ln).sum::<f64>() } else { 0.0 }
        };
        let top = found + penalty(&fit.net);
        prop_assert!((fit.objectives.last().unwrap() - top).abs() < 1e-8 * (1.0 + top.abs()));
        if fit.report.status == Status::Converged {
            // Stationary: along the line to any other table the objective has slope 0 at most, by differences.
            for v in net.variables() {
                let k = net.cards()[v.index()];
                for row in 0..net.cpt_of(v).len() / k {
                    let mut values = fit.net.cpt_of(v).to_vec();
                    let h = 1e-4;
                    values[row * k..(row + 1) * k].iter_mut().for_each(|p| *p = (1.0 - h) * *p + h / k as f64);
                    let moved = fit.net.with_cpt(v, &values).unwrap();
                    let other = log_likelihood(&moved, &data) + penalty(&moved);
                    prop_assert!(other <= top + 1e-4 * (1.0 + top.abs()) * h + 25.0 * h * h * 1e4_f64.min(1.0 / h), "{other} {top}");
                }
            }
        }
        // The order of the records does not matter, to the last bit.
        let back: Vec<usize> = (0..data.nrows()).rev().collect();
        let turned = settings.fit(&net, data.select(ndarray::Axis(0), &back).view()).unwrap();
        prop_assert_eq!(turned.net, fit.net);
    }

    #[test]
    fn with_nothing_missing_one_step_is_the_fit(net in nets(5), seed in 0u64..1000) {
        let data = net.sample_many(30, &mut stream(seed, 0)).unwrap();
        for prior in [Prior::Dirichlet(0.5), Prior::Bdeu(2.0), Prior::Dirichlet(0.0)] {
            let stop = Stop { max_passes: 1.0, ..Em::default().stop };
            let settings = Em { prior, stop, ..Em::default() };
            let fit = settings.fit(&net, data.view()).unwrap();
            prop_assert_eq!(&fit.net, &net.fit_cpts(data.view(), prior).unwrap());
            prop_assert!((fit.log_likelihood - fit.net.log_likelihood(data.view()).unwrap()).abs() < 1e-9);
        }
    }
}

#[test]
fn one_child_missing_at_random_has_a_closed_form() {
    // y given x, y sometimes missing: the records without y say something of x only.
    let net = BayesNet::builder()
        .variable("x", &["0", "1"])
        .variable("y", &["0", "1", "2"])
        .arcs("x", &[])
        .arcs("y", &["x"])
        .build()
        .unwrap();
    let mut rows = Vec::new();
    for (x, y, n) in [
        (0, 0, 3),
        (0, 1, 5),
        (0, 2, 2),
        (1, 0, 1),
        (1, 1, 1),
        (1, 2, 6),
        (0, MISSING, 4),
        (1, MISSING, 8),
    ] {
        rows.extend(std::iter::repeat_n([x, y], n));
    }
    let data = Array2::from_shape_fn((rows.len(), 2), |(i, j)| rows[i][j]);
    for start in [None, Some(&net)] {
        let stop = Stop { absolute: 1e-12, ..Em::default().stop };
        let em = Em { stop, ..Em::default() };
        let fit = em.fit_with(&net, data.view(), Fit { start, ..Fit::new() }).unwrap();
        assert_eq!(fit.report.status, Status::Converged);
        let near = |v: u32, expected: &[f64]| {
            let found = fit.net.cpt_of(VarId(v));
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-10), "{found:?}");
        };
        near(0, &[14.0 / 30.0, 16.0 / 30.0]);
        near(1, &[0.3, 0.5, 0.2, 0.125, 0.125, 0.75]);
    }
    // x missing: with P(y | x) fixed by nothing else the mixture reproduces the shares of y.
    let blind = array![[MISSING, 0], [MISSING, 0], [MISSING, 1], [MISSING, 2]];
    let fit = Em::default().fit(&net, blind.view()).unwrap();
    let y = fit.net.posterior(&[VarId(1)], &Evidence::new()).unwrap().values();
    assert!([0.5, 0.25, 0.25].iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-5), "{y:?}");
    let entropy = 2.0 * 0.5_f64.ln() + 2.0 * 0.25_f64.ln();
    assert!((fit.log_likelihood - entropy).abs() < 1e-6);
}

#[test]
fn tables_of_asia_come_back_from_records_with_holes() {
    let truth = networks::asia();
    let data = holes(&truth, 4000, 0.15, 4);
    let settings = Em { prior: Prior::Dirichlet(1.0), ..Em::default() };
    let mut looks = 0;
    let mut watch = |_: &Progress| {
        looks += 1;
        std::ops::ControlFlow::Continue(())
    };
    let fit = settings.fit_with(&truth, data.view(), Fit::new().watch(&mut watch)).unwrap();
    assert!(looks >= fit.objectives.len() - 1);
    for v in ["smoke", "bronc", "lung"] {
        let v = truth.variable(v).unwrap();
        let pairs = fit.net.cpt_of(v).iter().zip(truth.cpt_of(v));
        assert!(
            pairs.clone().all(|(a, b)| (a - b).abs() < 0.05),
            "{:?}",
            pairs.collect::<Vec<_>>()
        );
    }
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let net = networks::asia();
    let mut data = net.sample_many(3, &mut stream(0, 0)).unwrap();
    data[[1, 2]] = MISSING;
    let complete = net.fit_cpts(data.view(), Prior::Dirichlet(1.0)).unwrap_err().to_string();
    let name = net.name_of(VarId(2));
    assert!(
        complete.starts_with(&format!("row 1, column \"{name}\": the value is missing")),
        "{complete}"
    );
    assert!(matches!(net.log_likelihood(data.view()), Err(Error::Cell { row: 1, .. })));
    // Without a record the answer is the prior, where there is one.
    let none = Array2::zeros((0, 8));
    let prior = net.with_graph(net.dag()).unwrap();
    for with in [Prior::Dirichlet(0.5), Prior::Bdeu(2.0)] {
        let fit = Em { prior: with, ..Em::default() }.fit(&net, none.view()).unwrap();
        assert_eq!(fit.report.status, Status::Converged);
        for found in [net.fit_cpts(none.view(), with).unwrap(), fit.net] {
            for v in net.variables() {
                let pairs = found.cpt_of(v).iter().zip(prior.cpt_of(v));
                assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-15), "{pairs:?}");
            }
        }
    }
    let flat = Em { prior: Prior::Bdeu(0.0), ..Em::default() }.fit(&net, none.view());
    for refused in [net.fit_cpts(none.view(), Prior::Dirichlet(0.0)), flat.map(|fit| fit.net)] {
        let expected =
            "data: no records, and a prior without pseudo-counts; expected one of the two";
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }
    data[[2, 0]] = 7;
    let wrong = Em::default().fit(&net, data.view()).unwrap_err().to_string();
    assert!(wrong.starts_with("row 2, column \"asia\": state 7"), "{wrong}");
    // either = no although tub = yes: impossible under the tables of the network, possible for random ones.
    let mut impossible = Array2::from_elem((2, 8), MISSING);
    let at = |name: &str| net.variable(name).unwrap().index();
    impossible[[1, at("tub")]] = 0;
    impossible[[1, at("either")]] = 1;
    let tables = Em::default().fit_with(&net, impossible.view(), Fit::new().start(&net));
    let error = tables.unwrap_err().to_string();
    assert_eq!(error, "row 1, column (all that are observed): the evidence has probability zero");
    assert!(Em::default().fit(&net, impossible.view()).is_ok());
    let ordering = OrderingOptions { max_memory: Some(8), ..Default::default() };
    let tight = Em { ordering, ..Em::default() }.fit(&net, impossible.view());
    assert!(matches!(tight, Err(Error::Refused(Refusal::MemoryLimit { .. }))));
    let negative = Em { prior: Prior::Dirichlet(-1.0), ..Em::default() };
    assert!(matches!(negative.fit(&net, impossible.view()), Err(Error::Invalid(_))));
}

/// A weight of 2 is as good as the record twice, a weight of 0 as good as no record; a fit can be started and stopped.
#[test]
fn records_may_be_weighted_and_fits_started_and_stopped() {
    let truth = networks::asia();
    let data = holes(&truth, 60, 0.2, 5);
    let weights: Vec<f64> = (0..60).map(|row| f64::from(row % 3)).collect();
    let rows: Vec<usize> = (0..60).flat_map(|row| vec![row; row % 3]).collect();
    let repeated = data.select(ndarray::Axis(0), &rows);
    let em = Em { prior: Prior::Dirichlet(1.0), ..Em::default() };
    let plain = em.fit(&truth, repeated.view()).unwrap();
    let weighted = em.fit_with(&truth, data.view(), Fit::new().weights(&weights)).unwrap();
    assert_eq!(plain, EmFit { report: plain.report, ..weighted });
    let mut end = |_: &Progress| std::ops::ControlFlow::Break(());
    let fit = Fit::new().weights(&weights).start(&plain.net).watch(&mut end);
    let stopped = em.fit_with(&truth, data.view(), fit).unwrap();
    assert_eq!((stopped.report.status, &stopped.net), (Status::Stopped, &plain.net));
    let other = truth.with_graph(&Dag::new(8, []).unwrap()).unwrap();
    let uniform = other.fit_cpts(Array2::zeros((1, 8)).view(), Prior::Dirichlet(1.0)).unwrap();
    assert!(em.fit_with(&truth, data.view(), Fit::new().start(&uniform)).is_err());
    assert!(em.fit_with(&truth, data.view(), Fit::new().weights(&[1.0])).is_err());
    let negative = vec![-1.0; 60];
    assert!(em.fit_with(&truth, data.view(), Fit::new().weights(&negative)).is_err());
}
