//! Neighbourhoods, concave penalties, rank correlations, missing data, inference.

use fenchel_ggm::covariance::missing::{em, mean_imputed, pairwise};
use fenchel_ggm::covariance::rank::{
    kendall_bridge, nearest_correlation, nonparanormal, polychoric, spearman_bridge, tau,
};
use fenchel_ggm::glasso::GlassoSettings;
use fenchel_ggm::inference::{bootstrap, debiased};
use fenchel_ggm::neighbourhood::{SupportRule, neighbourhood_scores, neighbourhood_selection};
use fenchel_ggm::reweighted::{liu_ihler, log_penalty};
use fenchel_ggm::synthetic::{barabasi_albert, chain, diagonally_dominant};
use fenchel_ggm::{GraphicalLasso, Scale, Statistics};
use fenchel_linalg::factor::symmetric_eigen;
use fenchel_optim::Stop;
use fenchel_optim::random::stream;
use ndarray::{Array2, array};
use rand::RngExt;

use crate::common::data;

fn chain_data(n: usize) -> Array2<f64> {
    data(diagonally_dominant(8, &chain(8), -0.4).view(), n, 12)
}

#[test]
fn neighbourhoods_satisfy_the_conditions_of_the_lasso() {
    let statistics = Statistics::from_data(&chain_data(100)).unwrap();
    let (c, _) = statistics.correlation();
    let l1 = 0.2;
    let found = neighbourhood_selection(&statistics, l1).unwrap();
    for i in 0..8 {
        let b = found.coefficients.row(i);
        for k in (0..8).filter(|&k| k != i) {
            // The gradient of (1/n) ||x_i - X b||^2.
            let slope = 2.0 * (c.row(k).dot(&b) - c[[k, i]]);
            let worst =
                if b[k] == 0.0 { slope.abs() - l1 } else { (slope + l1 * b[k].signum()).abs() };
            assert!(worst < 1e-7, "{i} {k}: {worst}");
        }
    }
    let (all, both) = (found.edges(SupportRule::Union), found.edges(SupportRule::Intersection));
    assert!(both.iter().all(|e| all.contains(e)) && both.len() <= all.len());
    let scores =
        neighbourhood_scores(&statistics, &[0.05, 0.2, 0.8], SupportRule::Intersection).unwrap();
    for &(i, j) in &both {
        assert!(scores[[i as usize, j as usize]] >= l1);
    }
    assert!(neighbourhood_selection(&statistics, -1.0).is_err());
}

#[test]
fn concave_objectives_never_rise() {
    let edges = barabasi_albert(12, 1, &mut stream(7, 0)).unwrap();
    let x = data(diagonally_dominant(12, &edges, -0.2).view(), 150, 3);
    let statistics = Statistics::from_data(&x).unwrap();
    let settings = GlassoSettings::default();
    for scale in [Scale::Correlation, Scale::Covariance] {
        let a = log_penalty(&statistics, scale, 0.02, 0.2, 6, &settings).unwrap();
        let b = liu_ihler(&statistics, scale, 0.1, 0.0, 1.0, 6, &settings).unwrap();
        for found in [a, b] {
            assert!(
                found.objective.windows(2).all(|w| w[1] <= w[0] + 2e-5),
                "{:?}",
                found.objective
            );
            let product = found.model.precision.dot(&found.model.covariance);
            assert!((&product - &Array2::<f64>::eye(12)).iter().all(|d| d.abs() < 1e-8));
        }
    }
    // The gradient of the likelihood on the diagonal is the price.
    let priced = liu_ihler(&statistics, Scale::Covariance, 0.1, 0.05, 1.0, 6, &settings).unwrap();
    let given = statistics.covariance.diag().to_owned() + 0.05;
    assert!((&given - &priced.model.covariance.diag()).iter().all(|d| d.abs() < 1e-3));
    assert!(priced.objective.windows(2).all(|w| w[1] <= w[0] + 2e-5));
    assert!(liu_ihler(&statistics, Scale::Covariance, 0.1, -1.0, 1.0, 6, &settings).is_err());
    assert!(log_penalty(&statistics, Scale::Correlation, 0.1, 0.0, 3, &settings).is_err());
    assert!(log_penalty(&statistics, Scale::Correlation, 0.1, 1.0, 0, &settings).is_err());
}

#[test]
fn tau_counts_pairs() {
    let mut rng = stream(3, 0);
    for n in [2, 5, 40] {
        let mut draw = || (0..n).map(|_| f64::from(rng.random_range(0..6))).collect::<Vec<f64>>();
        let (a, b) = (draw(), draw());
        let (mut sum, mut ta, mut tb) = (0.0, 0.0, 0.0);
        for i in 0..n {
            for j in 0..i {
                let (x, y) = (a[i] - a[j], b[i] - b[j]);
                sum += if x * y == 0.0 { 0.0 } else { (x * y).signum() };
                ta += f64::from(u8::from(x != 0.0));
                tb += f64::from(u8::from(y != 0.0));
            }
        }
        let expected = if ta * tb > 0.0 { sum / f64::sqrt(ta * tb) } else { 0.0 };
        assert!((tau(&a, &b) - expected).abs() < 1e-12);
    }
}

#[test]
fn rank_correlations_ignore_monotone_maps_and_find_the_truth() {
    let truth = array![[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]];
    let precision = crate::common::inverse(&truth).unwrap().0;
    let x = data(precision.view(), 4000, 1);
    let mut bent = x.clone();
    bent.column_mut(0).mapv_inplace(f64::exp);
    bent.column_mut(2).mapv_inplace(|v| v.powi(3));
    assert_eq!(kendall_bridge(bent.view()).unwrap(), kendall_bridge(x.view()).unwrap());
    assert_eq!(nonparanormal(bent.view()).unwrap(), nonparanormal(x.view()).unwrap());
    let normal = Statistics::from_data(&nonparanormal(bent.view()).unwrap()).unwrap();
    // Categories of unequal size.
    let ordinal = x.mapv(|v| {
        if v < -0.8 {
            0.0
        } else if v < 0.3 {
            1.0
        } else {
            2.0
        }
    });
    for (name, found) in [
        ("kendall", kendall_bridge(bent.view()).unwrap()),
        ("spearman", spearman_bridge(bent.view()).unwrap()),
        ("normal scores", normal.covariance),
        ("polychoric", polychoric(ordinal.view()).unwrap()),
    ] {
        // Standard errors are below 0.025 with 4000 rows.
        assert!((&found - &truth).iter().all(|d| d.abs() < 0.08), "{name}: {found}");
    }
    assert!(kendall_bridge(Array2::zeros((1, 2)).view()).is_err());
    assert!(nonparanormal(array![[1.0], [f64::NAN]].view()).is_err());
}

#[test]
fn the_nearest_correlation_is_one() {
    // Higham's example: the nearest matrix to the tridiagonal one of ones has 0.7607 and 0.1573.
    let a = array![[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]];
    let found = nearest_correlation(a.view(), 0.0).unwrap();
    let expected = array![[1.0, 0.7607, 0.1573], [0.7607, 1.0, 0.7607], [0.1573, 0.7607, 1.0]];
    assert!((&found.correlation - &expected).iter().all(|d| d.abs() < 1e-4));
    assert!((found.smallest_before - (1.0 - 2f64.sqrt())).abs() < 1e-12);
    assert!((found.distance - (&expected - &a).mapv(|d| d * d).sum().sqrt()).abs() < 1e-3);
    let floor = nearest_correlation(a.view(), 0.05).unwrap();
    assert!(symmetric_eigen(floor.correlation.view()).unwrap().values[0] > 0.05 - 1e-9);
    let fine = array![[1.0, 0.5], [0.5, 1.0]];
    let same = nearest_correlation(fine.view(), 0.0).unwrap();
    assert_eq!((same.correlation, same.distance), (fine.clone(), 0.0));
    assert!(nearest_correlation(fine.view(), 1.0).is_err());
}

#[test]
fn missing_entries_are_filled_by_likelihood() {
    let full = chain_data(300);
    let mut x = full.clone();
    let mut rng = stream(4, 0);
    x.mapv_inplace(|v| if rng.random::<f64>() < 0.2 { f64::NAN } else { v });
    let lasso = GraphicalLasso { l1: 0.02.into(), scale: Scale::Covariance, ..Default::default() };
    let found = em(x.view(), &lasso, 30, 1e-6).unwrap();
    assert!(found.objective.windows(2).all(|w| w[1] <= w[0] + 1e-5), "{:?}", found.objective);
    let truth = Statistics::from_data(&full).unwrap();
    let distance = |s: &Statistics| (&s.covariance - &truth.covariance).mapv(|d| d * d).sum();
    let imputed = mean_imputed(x.view()).unwrap();
    let (pairs, _) = pairwise(x.view()).unwrap();
    assert!(distance(&found.statistics) < 0.5 * distance(&imputed));
    assert!(distance(&pairs) < 0.7 * distance(&imputed));
    // Without missing entries all are the same, to the accuracy that EM asks of its lasso.
    let complete = em(full.view(), &lasso, 3, 1e-9).unwrap();
    let stop = Stop { absolute: 1e-9, relative: 1e-9, ..lasso.stop };
    let plain = GraphicalLasso { stop, ..lasso }.fit(&full).unwrap();
    assert!((&complete.model.precision - &plain.precision).iter().all(|d| d.abs() < 1e-6));
    let (same, moved) = pairwise(full.view()).unwrap();
    assert!(moved == 0.0 && (&same.covariance - &truth.covariance).iter().all(|d| d.abs() < 1e-10));
    assert!(mean_imputed(array![[f64::NAN], [f64::NAN]].view()).is_err());
    assert!(pairwise(array![[1.0, f64::NAN], [f64::NAN, 1.0], [2.0, f64::NAN]].view()).is_err());
}

#[test]
fn debiased_estimates_have_normal_errors() {
    let theta = diagonally_dominant(8, &chain(8), -0.4);
    let (mut covered, mut total) = (0, 0);
    for seed in 0..40 {
        let x = data(theta.view(), 400, 100 + seed);
        let statistics = Statistics::from_data(&x).unwrap();
        let model = GraphicalLasso { l1: 0.05.into(), ..GraphicalLasso::default() }
            .fit(&statistics)
            .unwrap();
        let found = debiased(&model, &statistics).unwrap();
        for i in 0..8 {
            for j in 0..i {
                let z = (found.estimate[[i, j]] - theta[[i, j]]) / found.standard_error[[i, j]];
                covered += i32::from(z.abs() < 1.96);
                total += 1;
            }
        }
        if seed == 0 {
            let edges = found.edges(0.05).unwrap();
            let hits = edges.iter().filter(|e| e.1 == e.0 + 1).count();
            assert!(hits == 7 && edges.len() <= 10, "{edges:?}");
        }
    }
    let share = f64::from(covered) / f64::from(total);
    // 1120 intervals of 95 %, somewhat dependent.
    assert!((0.91..0.99).contains(&share), "{share}");
}

#[test]
fn bootstrap_intervals_hold_strong_edges_away_from_zero() {
    let x = chain_data(300);
    let lasso = GraphicalLasso { l1: 0.05.into(), ..GraphicalLasso::default() };
    let found = bootstrap(x.view(), &lasso, 40, 0.9, 1).unwrap();
    assert!(found.lower[[0, 1]] > 0.0 && found.frequency[[0, 1]] == 1.0);
    assert!(found.lower.iter().zip(&found.upper).all(|(a, b)| a <= b));
    assert_eq!(bootstrap(x.view(), &lasso, 40, 0.9, 1).unwrap(), found);
    assert!(bootstrap(x.view(), &lasso, 0, 0.9, 1).is_err());
    assert!(bootstrap(x.view(), &lasso, 5, 1.0, 1).is_err());
}
