//! Sparse plus low rank; the penalty on partial correlations.

use fenchel_ggm::covariance::shrinkage::ledoit_wolf;
use fenchel_ggm::latent::LatentVariableModel;
use fenchel_ggm::synthetic::{barabasi_albert, chain, diagonally_dominant};
use fenchel_ggm::{
    Error, GraphicalLasso, LatentGraphicalLasso, PartialCorrelationLasso, PenaltyWeights, Scale,
    Statistics,
};
use fenchel_linalg::factor;
use fenchel_optim::Stop;
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, array};
use rand::RngExt;

use crate::common::{data, inverse, statistics};

fn tight() -> Stop {
    Stop { absolute: 1e-9, relative: 0.0, max_passes: 20_000.0, ..Stop::default() }
}

/// A chain of `p` variables, and a hidden one that is joined to all: `S` and `L`.
fn truth(p: usize) -> (Array2<f64>, Array2<f64>) {
    let mut sparse = diagonally_dominant(p, &chain(p), -0.4);
    sparse.diag_mut().mapv_inplace(|v| v + 1.5);
    (sparse, Array2::from_elem((p, p), 0.0625))
}

fn objective(c: &Array2<f64>, fit: &LatentGraphicalLasso, s: &Array2<f64>, l: &Array2<f64>) -> f64 {
    let r = s - l;
    let Some((_, log_det)) = inverse(&r) else { return f64::INFINITY };
    let penalty: f64 = s.indexed_iter().map(|((i, j), x)| fit.l1.at(i, j) * x.abs()).sum::<f64>();
    (c * &r).sum() - log_det + penalty + fit.rank_penalty * l.diag().sum()
}

#[test]
fn both_parts_meet_their_conditions() {
    let (s, l) = truth(7);
    let found = statistics((&s - &l).view(), 60, 5);
    let c = &found.covariance;
    // Entries of a multiplier are at most its diagonal plus the rank penalty: below that there is no edge, far above it nothing hidden.
    for (l1, rank_penalty) in
        [(PenaltyWeights::Uniform(0.03), 0.04), (PenaltyWeights::WithDiagonal(0.03), 0.015)]
    {
        let fit = LatentGraphicalLasso {
            l1,
            rank_penalty,
            scale: Scale::Covariance,
            stop: tight(),
            ..Default::default()
        };
        let model = fit.fit(&found).unwrap();
        let gap = model.report.certificate.value();
        assert!(gap <= 1e-9, "{}", model.report);
        assert!(model.hidden() > 0 && model.graph().edge_count() > 0);
        let low_rank = model.low_rank();
        let value = objective(c, &fit, &model.sparse, &low_rank);
        assert!((value - model.report.certificate.objective().unwrap()).abs() < 1e-9);
        // The multiplier is the inverse less the covariances.
        let (w, _) = inverse(&model.observed.precision).unwrap();
        let u = &w - c;
        for ((i, j), &u) in u.indexed_iter() {
            let (bound, s) = (fit.l1.at(i, j), model.sparse[[i, j]]);
            assert!(u.abs() <= bound + 1e-4, "{i} {j} {u}");
            if s != 0.0 {
                assert!((u - bound * s.signum()).abs() < 1e-4, "{i} {j} {u} {s}");
            }
        }
        // U + g I is positive semidefinite, and 0 along the loadings.
        let shifted = &u + &(Array2::<f64>::eye(7) * fit.rank_penalty);
        assert!(factor::symmetric_eigen(shifted.view()).unwrap().values[0] > -1e-4);
        let along = shifted.dot(&model.loadings);
        assert!(along.iter().all(|v| v.abs() < 1e-3), "{along}");
        // No feasible move is better by more than the gap.
        let better =
            |s: &Array2<f64>, l: &Array2<f64>| objective(c, &fit, s, l) < value - gap - 1e-12;
        let scaled = |by: f64| &low_rank * by;
        assert!(!better(&model.sparse, &scaled(0.999)) && !better(&model.sparse, &scaled(1.001)));
        for i in 0..7 {
            for j in 0..=i {
                for by in [1e-3, -1e-3] {
                    let mut moved = model.sparse.clone();
                    moved[[i, j]] += by;
                    moved[[j, i]] = moved[[i, j]];
                    assert!(!better(&moved, &low_rank));
                    // A positive semidefinite move of the other part.
                    let mut v = Array1::<f64>::zeros(7);
                    v[i] = 0.03;
                    v[j] = if by > 0.0 { 0.03 } else { -0.03 };
                    let outer = Array2::from_shape_fn((7, 7), |(a, b)| v[a] * v[b]);
                    assert!(!better(&model.sparse, &(&low_rank + &outer)));
                }
            }
        }
    }
}

#[test]
fn a_large_rank_penalty_leaves_the_graphical_lasso() {
    let found = statistics(diagonally_dominant(9, &chain(9), -0.4).view(), 30, 8);
    for scale in [Scale::Correlation, Scale::Covariance] {
        // The largest row sum of the weights.
        let fit = LatentGraphicalLasso {
            l1: 0.1.into(),
            rank_penalty: 0.8,
            scale,
            stop: tight(),
            ..Default::default()
        };
        let model = fit.fit(&found).unwrap();
        let lasso = GraphicalLasso { l1: 0.1.into(), scale, stop: tight(), ..Default::default() };
        let alone = lasso.fit(&found).unwrap();
        assert_eq!(model.hidden(), 0);
        let both = [model.report, alone.report].map(|r| r.certificate.objective().unwrap());
        assert!((both[0] - both[1]).abs() < 2e-9, "{both:?}");
        let apart = &model.sparse - &alone.precision;
        assert!(apart.iter().all(|d| d.abs() < 1e-3));
        assert_eq!(model.sparse, model.observed.precision);
    }
}

#[test]
fn a_chain_under_a_hidden_variable_is_found() {
    let p = 20;
    let (s, l) = truth(p);
    let (c, _) = inverse(&(&s - &l)).unwrap();
    let exact = Statistics::from_covariance(c.view(), 100_000).unwrap();
    let fit = LatentGraphicalLasso {
        l1: 0.01.into(),
        rank_penalty: 0.1,
        stop: Stop { max_passes: 5000.0, ..tight() },
        ..Default::default()
    };
    let model = fit.fit(&exact).unwrap();
    assert_eq!(model.hidden(), 1);
    let edges: Vec<(u32, u32)> = model.graph().edges().collect();
    assert_eq!(edges, chain(p));
    let lasso = GraphicalLasso { l1: 0.01.into(), ..Default::default() };
    assert!(lasso.fit(&exact).unwrap().graph().edge_count() > 2 * p);
    // All variables load on it alike.
    let first = model.loadings.column(0);
    let sign = first[0].signum();
    assert!(first.iter().all(|f| (0.1..=0.3).contains(&(f * sign))), "{first}");
    // The hidden variable itself: with precision 1 its mean given x is (x - mu) F.
    let x = data(model.observed.precision.view(), 50, 2);
    let scores = model.transform(&x).unwrap();
    for (row, score) in x.rows().into_iter().zip(scores.rows()) {
        let expected = (&row - &model.observed.mean).dot(&first);
        assert!((score[0] - expected).abs() < 1e-12);
    }
    assert!(model.transform(&array![[1.0, 2.0]]).is_err());
}

#[test]
fn latent_models_do_not_depend_on_units_and_are_saved() {
    let (s, l) = truth(6);
    let x = data((&s - &l).view(), 40, 3);
    let fit = LatentGraphicalLasso { rank_penalty: 0.1, l1: 0.05.into(), ..Default::default() };
    let model = fit.fit(&x).unwrap();
    assert!(model.report.certificate.value() <= 1e-5 && model.hidden() > 0);
    // Powers of two change no rounding.
    let units = array![1024.0, 0.5, 1.0, 4.0, 2.0_f64.powi(-20), 8.0];
    let scaled = fit.fit(&(&x * &units)).unwrap();
    for ((i, j), v) in scaled.sparse.indexed_iter() {
        let expected = model.sparse[[i, j]] / (units[i] * units[j]);
        assert!((v - expected).abs() <= 1e-9 * expected.abs(), "{i} {j}");
    }
    let mut bytes = Vec::new();
    model.save(&mut bytes).unwrap();
    assert_eq!(LatentVariableModel::load(&bytes[..]).unwrap(), model);
    let broken = LatentVariableModel { loadings: Array2::zeros((3, 1)), ..model.clone() };
    let mut bytes = Vec::new();
    assert!(broken.save(&mut bytes).is_err() || LatentVariableModel::load(&bytes[..]).is_err());
    assert!((model.score(&x).unwrap() - model.observed.score(&x).unwrap()).abs() < 1e-15);
    for wrong in [
        LatentGraphicalLasso { rank_penalty: 0.0, ..fit.clone() },
        LatentGraphicalLasso { rho: -1.0, ..fit.clone() },
        LatentGraphicalLasso { l1: (-0.1).into(), ..fit.clone() },
        LatentGraphicalLasso { l1: PenaltyWeights::Each(Array2::zeros((2, 2))), ..fit.clone() },
    ] {
        assert!(matches!(wrong.fit(&x), Err(Error::Invalid(_))));
    }
    let small = LatentGraphicalLasso { max_memory: Some(10), ..fit.clone() };
    assert!(matches!(small.fit(&x), Err(Error::Refused(_))));
    let constant = array![[1.0, 2.0], [1.0, 3.0], [1.0, 5.0]];
    assert!(matches!(fit.fit(&constant), Err(Error::ZeroVariance { .. })));
}

#[test]
fn few_samples_and_forbidden_edges_are_certified() {
    // Fewer samples than variables, an edge that is free and one that is forbidden.
    let (s, l) = truth(12);
    let found = statistics((&s - &l).view(), 6, 9);
    let mut weights = Array2::from_elem((12, 12), 0.1);
    weights.diag_mut().fill(0.0);
    for (i, j, w) in [(0, 1, f64::INFINITY), (3, 4, 0.02)] {
        weights[[i, j]] = w;
        weights[[j, i]] = w;
    }
    let fit = LatentGraphicalLasso {
        l1: PenaltyWeights::Each(weights),
        rank_penalty: 0.3,
        stop: Stop { max_passes: 20_000.0, ..Stop::default() },
        ..Default::default()
    };
    let model = fit.fit(&found).unwrap();
    assert!(model.report.certificate.relative() <= 1e-4, "{}", model.report);
    assert_eq!(model.sparse[[0, 1]], 0.0);
}

/// The objective of the penalty on partial correlations at a precision matrix.
fn partial_objective(c: &Array2<f64>, l1: f64, x: &Array2<f64>) -> f64 {
    let Some((_, log_det)) = inverse(x) else { return f64::INFINITY };
    let mut sum = (c * x).sum() - log_det;
    for ((i, j), v) in x.indexed_iter() {
        if i != j {
            sum += l1 * v.abs() / (x[[i, i]] * x[[j, j]]).sqrt();
        }
    }
    sum
}

#[test]
fn partial_correlations_meet_a_search_over_one_number() {
    for (r, l1) in [(0.7, 0.2), (-0.5, 0.1), (0.3, 0.4), (0.9, 0.0)] {
        let c = array![[1.0, r], [r, 1.0]];
        let found = Statistics::from_covariance(c.view(), 50).unwrap();
        let fit = PartialCorrelationLasso { l1, ..Default::default() };
        let model = fit.fit(&found).unwrap();
        // With two variables d^2 = 1 / (1 + r x) for the entry x off the diagonal of R.
        let value = |x: f64| 2.0 + 2.0 * (r * x).ln_1p() - (-x * x).ln_1p() + 2.0 * l1 * x.abs();
        let best = (-99_999..=99_999)
            .map(|k| f64::from(k) * 1e-5)
            .min_by(|a, b| value(*a).total_cmp(&value(*b)))
            .unwrap();
        let partial = model.partial_correlations()[[0, 1]];
        assert!((partial + best).abs() < 2e-5, "{r} {l1}: {partial} {best}");
        assert!((model.report.certificate.objective().unwrap() - value(best)).abs() < 1e-8);
    }
}

#[test]
fn partial_correlations_are_stationary() {
    let edges = barabasi_albert(8, 1, &mut stream(4, 0)).unwrap();
    let found = statistics(diagonally_dominant(8, &edges, -0.4).view(), 60, 4);
    let c = &found.covariance;
    let (w, _) = inverse(c).unwrap();
    for l1 in [0.0, 0.05, 0.2] {
        let fit = PartialCorrelationLasso { l1, ..Default::default() };
        let model = fit.fit(&found).unwrap();
        assert!(model.report.certificate.value() <= 1e-6, "{}", model.report);
        let x = &model.precision;
        let value = partial_objective(c, l1, x);
        let units: f64 = c.diag().iter().map(|v| v.ln()).sum();
        let reported = model.report.certificate.objective().unwrap();
        assert!((value - (reported + units)).abs() < 1e-9);
        for i in 0..8 {
            for j in 0..=i {
                for by in [1e-3, -1e-3] {
                    let mut moved = x.clone();
                    moved[[i, j]] += by;
                    moved[[j, i]] = moved[[i, j]];
                    assert!(partial_objective(c, l1, &moved) >= value - 1e-9, "{l1} {i} {j} {by}");
                }
            }
        }
        if l1 == 0.0 {
            assert!((x - &w).iter().all(|d| d.abs() < 1e-4));
        } else {
            assert!(model.graph().edge_count() < 28);
        }
        let (inverse, _) = inverse(x).unwrap();
        assert!((&inverse - &model.covariance).iter().all(|d| d.abs() < 1e-9));
    }
    // From the largest correlation on nothing is joined.
    let (r, _) = found.correlation();
    let largest = r.indexed_iter().filter(|((i, j), _)| i != j).map(|(_, v)| v.abs());
    let l1 = largest.fold(0.0, f64::max);
    let none = PartialCorrelationLasso { l1, ..Default::default() };
    assert_eq!(none.fit(&found).unwrap().graph().edge_count(), 0);
}

#[test]
fn partial_correlations_do_not_depend_on_units() {
    let x = data(diagonally_dominant(7, &chain(7), -0.4).view(), 50, 6);
    let fit = PartialCorrelationLasso { l1: 0.08, ..Default::default() };
    let model = fit.fit(&x).unwrap();
    assert!(model.graph().edge_count() > 0);
    let units = array![1e-3, 1e4, 7.0, 1.0, 0.3, 1e-6, 55.0];
    let scaled = fit.fit(&(&x * &units)).unwrap();
    assert_eq!(scaled.graph(), model.graph());
    let apart = scaled.partial_correlations() - model.partial_correlations();
    assert!(apart.iter().all(|d| d.abs() < 1e-7), "{apart}");
    for ((i, j), v) in scaled.precision.indexed_iter() {
        let expected = model.precision[[i, j]] / (units[i] * units[j]);
        assert!((v - expected).abs() <= 1e-6 * (expected.abs() + 1e-9 * v.abs()), "{i} {j}");
    }
}

#[test]
fn a_singular_covariance_matrix_has_no_penalised_partial_correlations() {
    let x = data(diagonally_dominant(9, &chain(9), -0.4).view(), 5, 6);
    let fit = PartialCorrelationLasso::default();
    assert!(matches!(fit.fit(&x), Err(Error::RankDeficient { .. })));
    let shrunk = ledoit_wolf(&x).unwrap().statistics;
    assert!(fit.fit(&shrunk).unwrap().report.certificate.value() <= 1e-6);
    let wrong = PartialCorrelationLasso { l1: -1.0, ..fit.clone() };
    assert!(matches!(wrong.fit(&shrunk), Err(Error::Invalid(_))));
    let small = PartialCorrelationLasso { max_memory: Some(10), ..fit };
    assert!(matches!(small.fit(&shrunk), Err(Error::Refused(_))));
}

/// With units far apart the two parts are far larger than their difference. It is positive definite as it is returned.
#[test]
fn the_parts_that_are_returned_are_inside_the_domain() {
    let units = [2f64.powi(-30), 1.0, 2f64.powi(30)];
    let mut fitted = 0;
    for seed in 0..300 {
        let mut rng = stream(seed, 3);
        let x = Array2::from_shape_fn((8, 3), |_| rng.random_range(-1.5..1.5));
        let c = x.t().dot(&x) / 8.0;
        let c = Array2::from_shape_fn((3, 3), |(i, j)| c[[i, j]] * units[i] * units[j]);
        let stop = Stop { relative: 1e-3, absolute: 0.0, max_passes: 300.0, ..Stop::default() };
        for l1 in [0.3, 0.01, 1e-5] {
            let fit = LatentGraphicalLasso {
                l1: l1.into(),
                rank_penalty: 2.0 * l1,
                scale: Scale::Covariance,
                stop,
                ..Default::default()
            };
            // A few are refused: their precision would be infinite in double precision.
            let statistics = Statistics::from_covariance(c.view(), 20).unwrap();
            let Ok(model) = fit.fit(&statistics) else { continue };
            fitted += 1;
            let low = model.low_rank();
            let inside = Array2::from_shape_fn((3, 3), |(i, j)| {
                (model.sparse[[i, j]] - low[[i, j]]) * units[i] * units[j]
            });
            let found = factor::cholesky_in_place(inside.into_raw_vec_and_offset().0, 3);
            assert!(found.is_ok(), "seed {seed}, l1 {l1}: {}", model.report);
        }
    }
    assert!(fitted > 300, "{fitted}");
}
