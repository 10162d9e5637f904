//! The objective, its gradient as L-BFGS uses it, and the two gaps, against enumeration (CRF-01 to 05, 26, 27, 29).

use crate::common::*;
use fenchel_crf::methods::{
    Likelihood, OegSettings, SagSettings, SdcaSettings, lbfgs, oeg, radius_heuristic, radius_upper,
    sag, sdca,
};
use fenchel_crf::{Features, Problem, Support, Weights};
use fenchel_optim::lbfgs::{LbfgsSettings, Smooth};
use fenchel_optim::{Certificate, Status, Stop};

#[test]
fn the_objective_agrees_with_enumeration() {
    for (data, l2) in tiny() {
        let blocks = blocks(&data);
        let problem = problem(&data, l2);
        for seed in 0..5 {
            let w = random_weights(&data, 2.0, seed);
            let expected = primal(&blocks, l2, &flat(&w));
            assert!((problem.objective(&w).unwrap() - expected).abs() < 1e-12 * expected.abs());
        }
        let zero = Weights::zeros(data.attributes(), data.labels());
        let at_zero = data.tokens() as f64 / data.sequences() as f64 * (data.labels() as f64).ln();
        assert!((problem.objective(&zero).unwrap() - at_zero).abs() < 1e-12);
    }
}

/// On more sequences than are worked on side by side, with few weights and with all.
#[test]
fn the_gradient_agrees_with_differences_of_values() {
    let data = dataset(6, 3, &random_sequences((21, 5, 6, 3), true, 5));
    for states in [Support::All, Support::Observed] {
        for (transitions, bias) in [(Support::All, true), (Support::Observed, false)] {
            let features = Features { states, transitions, bias, ends: bias };
            let problem = Problem::new(&data, 0.1, features).unwrap();
            let mut objective = Likelihood::new(&problem);
            let d = objective.dimension();
            let at: Vec<f64> = (0..d).map(|k| (3.0 * k as f64).sin()).collect();
            let (mut gradient, mut unused) = (vec![f64::NAN; d], vec![0.0; d]);
            objective.value_gradient(&at, &mut gradient);
            let mut places = 0;
            for k in 0..d {
                let mut value = |step: f64| {
                    let mut moved = at.clone();
                    moved[k] += step;
                    objective.value_gradient(&moved, &mut unused)
                };
                let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!((difference - gradient[k]).abs() < 1e-7, "{difference} {}", gradient[k]);
                // The flat value is that of the weights with names, for places that have one.
                let mut one = vec![0.0; d];
                one[k] = 0.5;
                let named = objective.weights(&one);
                if named.norm_squared() > 0.0 {
                    places += 1;
                    let flat = objective.value_gradient(&one, &mut unused);
                    assert!((problem.objective(&named).unwrap() - flat).abs() < 1e-12 * flat);
                }
            }
            assert_eq!(places, problem.weights());
        }
    }
}

/// Values whose products are beyond the largest number: an end with a status, or an error that says so.
#[test]
fn what_overflows_ends_in_words() {
    let huge = |seed| {
        let mut sequences = random_sequences((6, 4, 5, 3), true, seed);
        let values = sequences.iter_mut().flatten().flat_map(|(attributes, _)| attributes);
        values.for_each(|(_, value)| *value *= 1e160);
        dataset(5, 3, &sequences)
    };
    let stop = Stop { max_passes: 20.0, ..Stop::default() };
    for seed in 0..5 {
        let data = huge(seed);
        let problem = problem(&data, 1.0);
        let finite = |weights: &Weights, report: fenchel_optim::Report| {
            assert!(weights.check().is_ok() || report.status == Status::Diverged, "{report}");
            assert!(!report.certificate.value().is_nan(), "{report}");
        };
        let settings = SdcaSettings { stop, ..SdcaSettings::default() };
        if let Ok(found) = sdca::<f32, _>(&problem, &settings, None, &mut ()) {
            finite(&found.state.weights, found.report);
        }
        let settings = OegSettings { stop, ..OegSettings::default() };
        if let Ok(found) = oeg(&problem, &settings, None, &mut ()) {
            finite(&found.state.weights, found.report);
        }
        let settings = SagSettings { stop, ..SagSettings::default() };
        if let Ok(found) = sag(&problem, &settings, None, &mut ()) {
            finite(&found.state, found.report);
        }
        let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
        if let Ok(found) = lbfgs(&problem, &settings, None, &mut ()) {
            finite(&found.state, found.report);
        }
    }
}

#[test]
fn weak_duality_and_both_gap_identities_hold_at_random_points() {
    for (data, l2) in tiny() {
        let blocks = blocks(&data);
        let n = blocks.len() as f64;
        for seed in 0..10 {
            let w = flat(&random_weights(&data, 2.0, seed));
            let joints: Vec<Vec<f64>> = blocks.iter().map(|b| b.model(&w).0).collect();
            // Between w and its own marginals: norm(grad)^2 / (2 l2).
            let gap = primal(&blocks, l2, &w) - dual(&blocks, l2, &joints);
            let gradient = l2 * (&w - &weights_of(&blocks, l2, &joints));
            assert!((gap - gradient.dot(&gradient) / (2.0 * l2)).abs() < 1e-11 * (1.0 + gap));
            // Between w(a) and a: the mean of KL(a_i, p_i).
            let own = weights_of(&blocks, l2, &joints);
            let gap = primal(&blocks, l2, &own) - dual(&blocks, l2, &joints);
            let block_gaps = blocks.iter().zip(&joints).map(|(b, a)| kl(a, &b.model(&own).0));
            assert!((gap - block_gaps.sum::<f64>() / n).abs() < 1e-11 * (1.0 + gap));
            // Pinsker.
            for (b, a) in blocks.iter().zip(&joints) {
                let p = b.model(&own).0;
                let distance: f64 = a.iter().zip(&p).map(|(a, p)| (a - p).abs()).sum();
                assert!(kl(a, &p) >= 0.5 * distance * distance - 1e-14);
            }
        }
    }
}

#[test]
fn lbfgs_reaches_the_optimum_with_a_gap_that_bounds() {
    for (data, l2) in tiny() {
        let blocks = blocks(&data);
        let problem = problem(&data, l2);
        let stop = Stop { absolute: 1e-12, relative: 0.0, ..Stop::default() };
        let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
        let best = lbfgs(&problem, &settings, None, &mut ()).unwrap();
        let Certificate::Gap { objective, lower_bound, .. } = best.report.certificate else {
            panic!()
        };
        assert!(objective - lower_bound <= 1e-12, "{}", best.report);
        let w = flat(&best.state);
        assert!((primal(&blocks, l2, &w) - objective).abs() < 1e-12);
        // The optimum is the fixed point w = w(p(w)).
        let joints: Vec<Vec<f64>> = blocks.iter().map(|b| b.model(&w).0).collect();
        assert!((&weights_of(&blocks, l2, &joints) - &w).iter().all(|d| d.abs() < 1e-5));
        // CRF-27a at random points: P(w) - P* >= l2 / L (gap of w), L = l2 + mean R.
        let radius = blocks.iter().map(Block::radius).sum::<f64>() / blocks.len() as f64;
        for seed in 0..10 {
            let w = flat(&random_weights(&data, 3.0, seed));
            let joints: Vec<Vec<f64>> = blocks.iter().map(|b| b.model(&w).0).collect();
            let gap = primal(&blocks, l2, &w) - dual(&blocks, l2, &joints);
            let above = primal(&blocks, l2, &w) - objective;
            assert!(above <= gap + 1e-11);
            assert!(above >= l2 / (l2 + radius) * gap - 1e-11);
        }
    }
}

#[test]
fn radii_are_what_they_say() {
    for (data, _) in tiny() {
        for (i, block) in blocks(&data).iter().enumerate() {
            let exact = block.radius();
            let (heuristic, upper) = (radius_heuristic(&data, i), radius_upper(&data, i));
            assert!(heuristic <= exact + 1e-9, "{heuristic} {exact}");
            assert!(upper >= exact - 1e-9, "{upper} {exact}");
            let absent = (0..data.labels() as u32).any(|k| !data.sequence(i).labels().contains(&k));
            let ones = data.sequence(i).attributes(0).all(|(_, value)| value == 1.0);
            if absent
                && ones
                && data.iter().all(|s| (0..s.len()).all(|t| s.attributes(t).all(|(_, v)| v == 1.0)))
            {
                assert!((heuristic - exact).abs() < 1e-9, "{heuristic} {exact}");
            }
        }
    }
}

#[test]
fn a_support_keeps_weights_at_zero_and_raises_the_optimum() {
    let (data, l2) = &tiny()[2];
    let stop = Stop { absolute: 1e-11, relative: 0.0, ..Stop::default() };
    let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
    let optimum = |features: Features| {
        let problem = Problem::new(data, *l2, features).unwrap();
        let solution = lbfgs(&problem, &settings, None, &mut ()).unwrap();
        let value = solution.report.certificate.objective().unwrap();
        assert!((problem.objective(&solution.state).unwrap() - value).abs() < 1e-12);
        (solution.state, value, problem.weights())
    };
    let (weights, all, count) = optimum(Features::default());
    let (k, a) = (data.labels(), data.attributes());
    assert_eq!(count, (a + 3) * k + k * k);
    let blocks = blocks(data);
    let seen =
        blocks.iter().fold(flat(&weights) * 0.0, |sum, b| sum + b.features[b.truth].mapv(f64::abs));
    let mut optima = Vec::new();
    for states in [Support::All, Support::Observed] {
        for transitions in [Support::All, Support::Observed] {
            let features = Features { states, transitions, ..Features::default() };
            let (weights, value, count) = optimum(features);
            let has_one = |(at, seen): (usize, &f64)| {
                let part = if at < (a + 3) * k { states } else { transitions };
                part == Support::All || *seen > 0.0
            };
            let places: Vec<bool> = seen.iter().enumerate().map(has_one).collect();
            assert_eq!(count, places.iter().filter(|place| **place).count());
            for (w, place) in flat(&weights).iter().zip(&places) {
                assert!(*place || *w == 0.0);
            }
            optima.push(value);
        }
    }
    // Fewer weights cannot do better; here each part of them is missed.
    assert_eq!(optima[0], all);
    assert!(optima[0] < optima[1] && optima[1] < optima[3], "{optima:?}");
    assert!(optima[0] < optima[2] && optima[2] < optima[3], "{optima:?}");
    let (weights, _, _) = optimum(Features { bias: false, ends: false, ..Features::default() });
    for row in [weights.bias(), weights.begin(), weights.end()] {
        assert!(weights.emission.row(row).iter().all(|w| *w == 0.0));
    }
}

#[test]
fn bad_problems_are_refused() {
    let data = dataset(1, 2, &[vec![(vec![], 0)]]);
    for l2 in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Problem::new(&data, l2, Features::default()).is_err());
        assert!(Problem::with_c2(&data, l2, Features::default()).is_err());
    }
    assert!(Problem::new(&dataset(1, 2, &[]), 1.0, Features::default()).is_err());
    let one = dataset(1, 1, &[vec![(vec![], 0)]]);
    assert!(
        Problem::new(&one, 1.0, Features::default())
            .unwrap_err()
            .to_string()
            .contains("at least 2")
    );
    let problem = problem(&data, 1.0);
    assert!(problem.objective(&Weights::zeros(2, 2)).is_err());
    let mut weights = Weights::zeros(1, 2);
    weights.emission[[0, 1]] = f64::NAN;
    assert!(problem.objective(&weights).is_err());
    assert!((Problem::with_c2(&data, 0.5, Features::default()).unwrap().l2() - 1.0).abs() < 1e-15);
}
