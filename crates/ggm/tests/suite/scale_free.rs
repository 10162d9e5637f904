//! The scale-free penalty: its definition, its proximal operator, its problem.

use fenchel_ggm::scale_free::competitors::{
    ista, minimum_norm_point, subgradient, whole_subgradient,
};
use fenchel_ggm::scale_free::erg::ErgSampler;
use fenchel_ggm::scale_free::prox::{ProxSettings, prox_omega};
use fenchel_ggm::scale_free::{DegreePrior, RowOrder, ScaleFree, omega, prior, row_prox};
use fenchel_ggm::synthetic::{barabasi_albert, diagonally_dominant};
use fenchel_ggm::{GraphicalLasso, Scale, Statistics};
use fenchel_optim::Regulariser;
use fenchel_optim::Stop;
use fenchel_optim::prox::SortedL1;
use fenchel_optim::random::stream;
use ndarray::Array2;
use proptest::prelude::*;
use rand::RngExt;

use crate::common::statistics;

fn priors() -> Vec<DegreePrior> {
    vec![
        DegreePrior::Log { eps: 1.0, beta: 0.5 },
        DegreePrior::Sqrt { beta: 0.2 },
        DegreePrior::Geometric { a: 0.5 },
        DegreePrior::Linear,
    ]
}

const PAIRS: [(u32, u32); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

fn graph(code: usize) -> Vec<(u32, u32)> {
    (0..6).filter(|e| code >> e & 1 == 1).map(|e| PAIRS[e]).collect()
}

fn symmetric(p: usize, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, 0);
    let mut z = Array2::zeros((p, p));
    for i in 0..p {
        for j in 0..=i {
            let v = 2.0 * rng.random::<f64>() - 1.0;
            z[[i, j]] = v;
            z[[j, i]] = v;
        }
    }
    z
}

#[test]
fn the_penalty_is_the_convex_envelope_of_the_prior() {
    for degree_prior in priors() {
        let h = degree_prior.increments(4).unwrap();
        let f: Vec<f64> = (0..64).map(|code| prior(4, &graph(code), &h).unwrap()).collect();
        for code in 0..64 {
            let mut x = Array2::<f64>::eye(4);
            for (i, j) in graph(code) {
                x[[i as usize, j as usize]] = -1.0;
                x[[j as usize, i as usize]] = -1.0;
            }
            assert!((omega(x.view(), &h).unwrap() - f[code]).abs() < 1e-12);
            for other in 0..64 {
                // Submodular and non-decreasing.
                assert!(f[code] + f[other] >= f[code | other] + f[code & other] - 1e-12);
                assert!(f[code | other] >= f[code] - 1e-12);
            }
        }
        // The Lovasz extension: edges in order of size, each with what it adds.
        let x = symmetric(4, 7);
        let mut edges = PAIRS.to_vec();
        edges.sort_by(|a, b| {
            let size = |e: &(u32, u32)| x[[e.0 as usize, e.1 as usize]].abs();
            size(b).total_cmp(&size(a))
        });
        let mut extension = 0.0;
        for k in 0..6 {
            let at = |k: usize| prior(4, &edges[..k], &h).unwrap();
            let added = at(k + 1) - at(k);
            extension += added * x[[edges[k].0 as usize, edges[k].1 as usize]].abs();
        }
        assert!((omega(x.view(), &h).unwrap() - extension).abs() < 1e-12);
        // A norm of the off-diagonal part.
        let y = symmetric(4, 8);
        let (a, b) = (omega(x.view(), &h).unwrap(), omega(y.view(), &h).unwrap());
        assert!(omega((&x + &y).view(), &h).unwrap() <= a + b + 1e-12);
        assert!((omega((&x * -3.0).view(), &h).unwrap() - 3.0 * a).abs() < 1e-12);
    }
}

#[test]
fn priors_out_of_range_are_refused() {
    for bad in [
        DegreePrior::Log { eps: 0.0, beta: 0.0 },
        DegreePrior::Log { eps: 1.0, beta: -1.0 },
        DegreePrior::Sqrt { beta: f64::NAN },
        DegreePrior::Geometric { a: 1.0 },
        DegreePrior::Custom(vec![1.0, 2.0]),
        DegreePrior::Custom(vec![1.0]),
        DegreePrior::Custom(vec![1.0, -1.0]),
    ] {
        assert!(bad.increments(3).is_err(), "{bad:?}");
    }
    let h = DegreePrior::Sqrt { beta: 0.0 }.increments(4).unwrap();
    assert!((h[0] - (2f64.sqrt() - 1.0)).abs() < 1e-15);
    let h = DegreePrior::Log { eps: 0.5, beta: 0.1 }.increments(4).unwrap();
    assert!((h[1] - (2.5f64 / 1.5).ln() - 0.1).abs() < 1e-15);
}

proptest! {
    #[test]
    fn the_row_prox_is_that_of_the_sorted_l1_norm(
        w in proptest::collection::vec(-2.0f64..2.0, 1..30), scale in 0.0f64..2.0, which in 0usize..4
    ) {
        let h = priors()[which].increments(w.len() + 1).unwrap();
        let mut expected = w.clone();
        SortedL1 { weights: h.clone() }.prox(&mut expected, scale);
        let mut found = vec![0.0; w.len()];
        let mut order = RowOrder::default();
        for _ in 0..2 {
            row_prox(&w, &h, scale, &mut found, &mut order).unwrap();
            for (a, b) in found.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-12, "{found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn proximal_points_are_certified_and_agree(p in 2usize..8, seed in 0u64..1000, scale in 0.01f64..0.5) {
        let z = symmetric(p, seed);
        let h = DegreePrior::Sqrt { beta: 0.1 }.increments(p).unwrap();
        let mut found = Vec::new();
        for accelerated in [false, true] {
            let stop = Stop { max_passes: 20_000.0, ..ProxSettings::default().stop };
            let settings = ProxSettings { accelerated, stop, ..ProxSettings::default() };
            let solution = prox_omega(z.view(), &h, scale, &settings, None, &mut ()).unwrap();
            prop_assert!(solution.report.certificate.value() <= 1e-10, "{}", solution.report);
            prop_assert!(solution.state.point == solution.state.point.t());
            // From the multipliers most of the work is done.
            let again = prox_omega(z.view(), &h, scale, &settings, Some(solution.state.multipliers), &mut ()).unwrap();
            prop_assert!(again.report.passes <= 0.5 * solution.report.passes + 10.0);
            found.push(solution.state.point);
        }
        let norm = minimum_norm_point(z.view(), &h, scale, 2000).unwrap();
        for other in [&found[1], &norm.point] {
            prop_assert!((&found[0] - other).iter().all(|d| d.abs() < 1e-4));
        }
        let value = |x: &Array2<f64>| scale * omega(x.view(), &h).unwrap() + 0.5 * (x - &z).mapv(|d| d * d).sum();
        let (history, best) = subgradient(z.view(), &h, scale, 0.5, 200).unwrap();
        prop_assert!((value(&best) - history[199]).abs() < 1e-12);
        prop_assert!(history[199] >= value(&found[0]) - 1e-10);
    }
}

fn problem(p: usize) -> Statistics {
    let edges = barabasi_albert(p, 1, &mut stream(5, 0)).unwrap();
    statistics(diagonally_dominant(p, &edges, -0.2).view(), 100, 5)
}

#[test]
fn with_linear_degrees_it_is_the_graphical_lasso() {
    let statistics = problem(12);
    for scale in [Scale::Correlation, Scale::Covariance] {
        let stop = Stop { absolute: 1e-9, relative: 0.0, max_passes: 3000.0, ..Stop::default() };
        let free = ScaleFree {
            prior: DegreePrior::Linear,
            strength: 0.08,
            scale,
            stop,
            ..ScaleFree::default()
        };
        let a = free.fit(&statistics).unwrap();
        let lasso = GraphicalLasso { l1: 0.08.into(), scale, stop, ..GraphicalLasso::default() };
        let b = lasso.fit(&statistics).unwrap();
        assert!(a.report.certificate.value() <= 1e-9, "{}", a.report);
        let (x, y) = (a.report.certificate.objective(), b.report.certificate.objective());
        assert!((x.unwrap() - y.unwrap()).abs() < 2e-9);
        assert!((&a.precision - &b.precision).iter().all(|d| d.abs() < 1e-3));
    }
}

#[test]
fn the_certificate_bounds_an_independent_method() {
    let statistics = problem(10);
    let (c, _) = statistics.correlation();
    for degree_prior in priors() {
        let h = degree_prior.increments(10).unwrap();
        let stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 3000.0, ..Stop::default() };
        let free = ScaleFree { prior: degree_prior, strength: 0.15, stop, ..ScaleFree::default() };
        let model = free.fit(&statistics).unwrap();
        assert!(model.report.certificate.value() <= 1e-8, "{}", model.report);
        let (history, _) = ista(c.view(), &h, 0.15, 200).unwrap();
        let objective = model.report.certificate.objective().unwrap();
        assert!((history.last().unwrap() - objective).abs() < 1e-6);
        assert!(history.is_sorted_by(|a, b| a + 1e-9 >= *b));
        let (history, last) = whole_subgradient(c.view(), &h, 0.15, 0.1, 1000).unwrap();
        let end = history[1000] - objective;
        assert!((-1e-8..1e-2).contains(&end) && history.is_sorted_by(|a, b| a >= b), "{end}");
        // Never sparse, as solutions are.
        assert!(last.iter().all(|x| *x != 0.0));
    }
    assert!(whole_subgradient(c.view(), &[1.0; 9], 0.1, f64::NAN, 3).is_err());
    assert!(whole_subgradient((-&c).view(), &[1.0; 9], 0.1, 0.1, 3).is_err());
    let bad = ScaleFree { strength: -1.0, ..ScaleFree::default() };
    assert!(bad.fit(&statistics).is_err());
    let z = symmetric(4, 1);
    let h = vec![1.0; 3];
    let settings = ProxSettings::default();
    assert!(prox_omega(z.view(), &h[..2], 0.1, &settings, None, &mut ()).is_err());
    assert!(prox_omega(z.view(), &h, -0.1, &settings, None, &mut ()).is_err());
    let mut skew = z.clone();
    skew[[0, 1]] += 1.0;
    assert!(prox_omega(skew.view(), &h, 0.1, &settings, None, &mut ()).is_err());
}

#[test]
fn the_sampler_has_the_law_of_the_prior() {
    let degree_prior = DegreePrior::Log { eps: 0.5, beta: 0.1 };
    let h = degree_prior.increments(4).unwrap();
    let weights: Vec<f64> =
        (0..64).map(|code| (-prior(4, &graph(code), &h).unwrap()).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut sampler = ErgSampler::new(4, &degree_prior, 1.0).unwrap();
    let mut rng = stream(9, 0);
    let (mut counts, draws) = ([0.0; 7], 40_000);
    for _ in 0..draws {
        sampler.flip(12, &mut rng);
        counts[sampler.edges().len()] += 1.0;
    }
    for (edges, count) in counts.iter().enumerate() {
        let expected: f64 = (0..64)
            .filter(|&code| graph(code).len() == edges)
            .map(|code| weights[code] / total)
            .sum();
        // Twelve flips of six pairs leave hardly any correlation: six standard errors of independent draws.
        let error = (expected / f64::from(draws)).sqrt();
        assert!((count / f64::from(draws) - expected).abs() < 6.0 * error, "{edges}");
    }
    assert_eq!(sampler.degrees().iter().sum::<usize>(), 2 * sampler.edges().len());
}
