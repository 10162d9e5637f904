//! What is answered is true, on small random models and on odd data: formulas against brute force, and every estimator
//! without a panic or a NaN.
//!
//! `FENCHEL_PROBLEMS` is the number of problems; by default there are a few.

use fenchel_causal::direction::from_counts;
use fenchel_causal::effect::{EffectEstimator, EffectMethod, EffectModel};
use fenchel_causal::normal::MeanPair;
use fenchel_causal::scm::LinearGaussianScm;
use fenchel_causal::{Admg, Error, Fit, LatentModel, Query, identify};
use fenchel_datasets::generate::odd;
use fenchel_optim::model::Saved;
use ndarray::{Array2, Axis};
use rand::RngExt;
use serde_json::{Value, to_value};

use crate::common::{names, odometer, pairs, random_graph, random_query, rng};

fn problems() -> u64 {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

/// `P(y | do(x), z)` at all states by the sum over all configurations of all variables, hidden ones included. It reads the
/// numbers of the saved model. States of nodes that are not asked for are left as they come.
fn brute_force(model: &LatentModel, query: Query) -> Vec<(Vec<(u32, usize)>, f64)> {
    let value = to_value(model).unwrap();
    let whole = |v: &Value| v.as_u64().unwrap() as usize;
    let list = |v: &Value| -> Vec<usize> { v.as_array().unwrap().iter().map(whole).collect() };
    let numbers = |v: &Value| -> Vec<f64> {
        v.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    let laws: Vec<Vec<f64>> = value["latents"].as_array().unwrap().iter().map(numbers).collect();
    let mechanisms: Vec<(Vec<usize>, Vec<usize>, Vec<f64>)> = value["mechanisms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (list(&m["parents"]), list(&m["latents"]), numbers(&m["table"])))
        .collect();
    let cards = model.cards();
    let n = cards.len();
    let asked: Vec<u32> = (query.outcome | query.treatment | query.given).iter().collect();
    let mut found: Vec<(Vec<(u32, usize)>, f64)> = Vec::new();
    let hidden: Vec<Vec<usize>> = odometer(&laws.iter().map(Vec::len).collect::<Vec<_>>());
    for states in odometer(cards) {
        let mut p = 0.0;
        for causes in &hidden {
            let mut q: f64 = causes.iter().zip(&laws).map(|(&s, law)| law[s]).product();
            for v in (0..n).filter(|&v| !query.treatment.contains(v as u32)) {
                let (parents, latents, table) = &mechanisms[v];
                let mut row = 0;
                for &a in parents {
                    row = row * cards[a] + states[a];
                }
                for &k in latents {
                    row = row * laws[k].len() + causes[k];
                }
                q *= table[row * cards[v] + states[v]];
            }
            p += q;
        }
        let at: Vec<(u32, usize)> = asked.iter().map(|&v| (v, states[v as usize])).collect();
        match found.iter_mut().find(|(known, _)| *known == at) {
            Some((_, sum)) => *sum += p,
            None => found.push((at, p)),
        }
    }
    // Divided by the sum over the outcomes.
    let rest = |at: &[(u32, usize)]| -> Vec<(u32, usize)> {
        at.iter().copied().filter(|(v, _)| !query.outcome.contains(*v)).collect()
    };
    let sums: Vec<f64> = found
        .iter()
        .map(|(at, ..)| found.iter().filter(|(b, _)| rest(b) == rest(at)).map(|(_, p)| p).sum())
        .collect();
    found.into_iter().zip(sums).map(|((at, p), sum)| (at, p / sum)).collect()
}

#[test]
fn formulas_give_the_interventional_distribution() {
    let (mut identified, mut cells) = (0, 0);
    for seed in 0..problems() {
        let mut rng = rng(seed);
        let n = rng.random_range(2..6);
        let graph = random_graph(n, 0.5, 0.25, &mut rng);
        let cards: Vec<usize> = (0..n).map(|_| rng.random_range(2..4)).collect();
        let model = LatentModel::random(&graph, &cards, &mut rng).unwrap();
        let query = random_query(n, &mut rng);
        let estimand = match identify(&graph, query) {
            Ok(estimand) => estimand,
            Err(Error::NotIdentifiable(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        identified += 1;
        let table = estimand.evaluate(&model.observed().unwrap()).unwrap();
        for (at, right) in brute_force(&model, query) {
            let found = table.at(&at).unwrap();
            assert!((found - right).abs() < 1e-10, "seed {seed}: {found} for {right} at {at:?}");
            cells += 1;
        }
    }
    assert!(identified > problems() / 3, "{identified}");
    println!("{identified} formulas, {cells} cells");
}

/// The coefficient of the first column of a regression with a constant, by elimination with pivots on centred columns
/// of variance 1; none where that is not well conditioned.
fn slope(columns: &[Vec<f64>], y: &[f64]) -> Option<f64> {
    let n = y.len() as f64;
    let centred = |v: &[f64]| -> Vec<f64> {
        let mean = v.iter().sum::<f64>() / n;
        let once: Vec<f64> = v.iter().map(|e| e - mean).collect();
        let mean = once.iter().sum::<f64>() / n;
        once.iter().map(|e| e - mean).collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut all: Vec<Vec<f64>> = columns.iter().map(|c| centred(c)).collect();
    let scale = dot(&all[0], &all[0]).sqrt();
    for c in &mut all {
        let size = dot(c, c).sqrt();
        c.iter_mut().for_each(|e| *e /= size);
    }
    let y = centred(y);
    let d = all.len();
    let mut m: Vec<Vec<f64>> = (0..d)
        .map(|i| (0..d).map(|j| dot(&all[i], &all[j])).chain([dot(&all[i], &y)]).collect())
        .collect();
    // From the last column up, so that the first is left.
    for k in (1..d).rev() {
        if !(m[k][k] > 1e-3) {
            return None;
        }
        for i in 0..k {
            let f = m[i][k] / m[k][k];
            for j in 0..=d {
                let v = m[k][j];
                m[i][j] -= f * v;
            }
        }
    }
    (m[0][0] > 1e-3).then(|| m[0][d] / m[0][0] / scale)
}

#[test]
fn effects_of_odd_problems_are_numbers_or_refused() {
    let (mut answers, mut refusals, mut compared) = (0, 0, 0);
    for seed in 0..problems() {
        let problem = odd(seed);
        let (n, d) = problem.x.dim();
        let mut rng = rng(seed);
        let treated: Vec<bool> = (0..n).map(|_| rng.random::<f64>() < 0.4).collect();
        let weights: Vec<f64> = (0..n).map(|i| [1.0, 2.0, 0.5][i % 3]).collect();
        for method in
            [EffectMethod::Standardisation, EffectMethod::Weighting, EffectMethod::DoublyRobust]
        {
            let interactions = if seed % 3 == 0 { vec![d - 1] } else { vec![] };
            let estimator = EffectEstimator {
                method,
                interactions: interactions.clone(),
                bootstrap: 3,
                ..EffectEstimator::default()
            };
            let what = format!("seed {seed} {method:?} {}", problem.what);
            let (x, y) = (problem.x.view(), &problem.y);
            let result = if seed % 2 == 0 {
                estimator.fit(x, &treated, y)
            } else {
                estimator.fit_with(x, &treated, y, Fit::new().weights(&weights))
            };
            let Ok(model) = result else {
                refusals += 1;
                continue;
            };
            answers += 1;
            // A file that is read back is checked as a whole: finite numbers, which fit together.
            let mut file = Vec::new();
            model.save(&mut file).unwrap();
            let read = EffectModel::load(file.as_slice());
            assert_eq!(read.unwrap_or_else(|e| panic!("{what}: {e}")), model, "{what}");
            if method == EffectMethod::Standardisation && interactions.is_empty() && seed % 2 == 0 {
                let arm = treated.iter().map(|&a| f64::from(u8::from(a))).collect();
                let columns: Vec<Vec<f64>> = std::iter::once(arm)
                    .chain(x.columns().into_iter().map(|c| c.to_vec()))
                    .collect();
                if let Some(right) = slope(&columns, &y.to_vec()) {
                    compared += 1;
                    // Offsets of 1e6 leave ten digits of a column; the regression stops at a relative 1e-10.
                    let off = (model.effect - right).abs();
                    assert!(
                        off < 1e-4 * right.abs().max(1.0),
                        "{what}: {} for {right}",
                        model.effect
                    );
                }
            }
        }
    }
    assert!(answers > 0 && refusals > 0 && compared > 0, "{answers} {refusals} {compared}");
    println!("{answers} effects, {refusals} refusals, {compared} compared");
}

#[test]
fn linear_models_reproduce_the_moments_of_odd_data() {
    let mut fitted = 0;
    for seed in 0..problems() {
        let problem = odd(seed);
        let data = problem.x;
        let (n, d) = data.dim();
        let graph = Admg::new(&names(d), &pairs(d), &[]).unwrap();
        let mean = data.mean_axis(Axis(0)).unwrap();
        let mut centred = &data - &mean;
        centred -= &centred.mean_axis(Axis(0)).unwrap();
        let covariance = centred.t().dot(&centred) / n as f64;
        if let Ok(scm) = LinearGaussianScm::fit(graph, data.view()) {
            fitted += 1;
            let law = scm.law(&[]).unwrap();
            for i in 0..d {
                let sd = covariance[(i, i)].sqrt();
                let size = data.column(i).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert!((law.mean[i] - mean[i]).abs() < 1e-6 * sd + 1e-10 * size, "seed {seed}");
                for j in 0..d {
                    let off = (law.covariance[(i, j)] - covariance[(i, j)]).abs();
                    let scale = sd * covariance[(j, j)].sqrt();
                    assert!(off < 1e-6 * scale, "seed {seed} {}: {off:e}", problem.what);
                }
            }
        }
        let (x, y) = data.view().split_at(Axis(1), d / 2);
        for ridge in [0.0, 1.0] {
            let Ok(pair) = MeanPair::fit(x, y, ridge) else { continue };
            let Ok(pair) = pair.to_cholesky() else { continue };
            let back = pair.reverse();
            // A divergence of a law from itself is 0 up to the condition of the factors, and never NaN.
            if let Ok(kl) = pair.kl(&back) {
                assert!(kl >= 0.0, "seed {seed} {}: {kl}", problem.what);
            }
            let law = pair.to_mean().unwrap();
            assert!(law.mean.iter().chain(&law.slope).all(|v| v.is_finite()), "seed {seed}");
        }
    }
    assert!(fitted > 0);
    println!("{fitted} models");
}

/// Against 60 digits. The two scores are of the size of the counts and differ by next to nothing.
#[test]
fn the_odds_of_a_direction_keep_their_digits_for_counts_of_any_size() {
    let odds = |counts: &[[f64; 2]; 2]| {
        from_counts(ndarray::arr2(counts).view(), 1.0, 1.0).unwrap().log_odds
    };
    for (counts, right) in [
        ([[1e12, 1.0], [3.0, 2e12]], 9.999999999955e-13),
        ([[1e12, 1.0], [1e11, 2e12]], 0.046520015634325757),
        ([[1e8, 1.0], [3.0, 2e8]], 9.999999550000016e-9),
    ] {
        let found = odds(&counts);
        // Roundings of terms of the size of the logarithm of the counts, about 30.
        assert!(
            (found - right).abs() < 1e-13 + 1e-13 * right,
            "{counts:?}: {found:e} for {right:e}"
        );
    }
    let wide = ndarray::arr2(&[[7.0, 1e9, 2.0], [1e9, 5.0, 1e4]]);
    let found = from_counts(wide.view(), 0.5, 2.5).unwrap().log_odds;
    assert!((found - 79.91295218407019).abs() < 1e-11, "{found}");
}

/// A column that is the treatment plus rounding: the regression cannot be finished, and the effect is not determined.
#[test]
fn an_effect_that_rounding_hides_is_refused_or_right() {
    let n = 60;
    let treated: Vec<bool> = (0..n).map(|i| (i * 7) % 3 == 0).collect();
    let noise: Vec<f64> = (0..n).map(|i| ((i * 37 % 61) as f64 / 61.0 - 0.5) * 2.0).collect();
    let y: Vec<f64> = (0..n).map(|i| noise[i] + f64::from(u8::from(treated[i]))).collect();
    for h in [1e-3, 1e-5, 1e-6, 1e-7, 1e-9, 1e-12] {
        let x =
            Array2::from_shape_fn((n, 1), |(i, _)| f64::from(u8::from(treated[i])) + h * noise[i]);
        let estimator =
            EffectEstimator { method: EffectMethod::Standardisation, ..EffectEstimator::default() };
        match estimator.fit(x.view(), &treated, &y) {
            // y = noise + t = x / h + (1 - 1 / h) t.
            Ok(model) => {
                let right = 1.0 - 1.0 / h;
                assert!((model.effect - right).abs() < 1e-2 * right.abs(), "{h}: {}", model.effect);
            }
            Err(error) => assert!(matches!(error, Error::Spanned), "{h}: {error}"),
        }
    }
}
