//! Thresholds and SHORTCUT against their definitions, and the theorems of chapter 8.

use fenchel_ggm::glasso::GlassoSettings;
use fenchel_ggm::model::graph_of;
use fenchel_ggm::shortcut::{Shortcut, max_product, shortcut};
use fenchel_ggm::synthetic::{barabasi_albert, erdos_renyi, walk_summable};
use fenchel_ggm::threshold::{
    conditional_covariance, conditional_mutual_information, correlation_scores, edges_above,
    inverse_scores, mutual_information,
};
use fenchel_ggm::{Error, Statistics, chow_liu, refit};
use fenchel_graphical::Graph;
use fenchel_linalg::factor::symmetric_eigen;
use fenchel_optim::Stop;
use fenchel_optim::random::stream;
use ndarray::{Array2, array};
use proptest::prelude::*;
use rand::RngExt;

use crate::common::{data, inverse, statistics};

fn correlation(p: usize, n: usize, seed: u64) -> Statistics {
    let edges = erdos_renyi(p, 0.3, &mut stream(seed, 0)).unwrap();
    let theta = walk_summable(p, &edges, &mut stream(seed, 1));
    let found = statistics(theta.view(), n, seed);
    Statistics::from_covariance(found.correlation().0.view(), n).unwrap()
}

fn by_definition(c: &Array2<f64>, i: usize, j: usize) -> f64 {
    let sign = c[[i, j]].signum();
    let best = (0..c.nrows())
        .filter(|&k| k != i && k != j)
        .map(|k| sign * c[[i, k]] * c[[k, j]])
        .fold(0.0, f64::max);
    (c[[i, j]].abs() - best).max(0.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn shortcut_is_its_definition(p in 2usize..40, n in 2usize..60, seed in 0u64..10_000, ties: bool) {
        let mut c = correlation(p, n, seed).covariance;
        if ties {
            c.mapv_inplace(|v| (4.0 * v).round() / 4.0);
        }
        let found = shortcut(c.view()).unwrap();
        let single = Shortcut::new(c.mapv(|v| v as f32).view(), None).unwrap().weights();
        let lists = Shortcut::new(c.view(), None).unwrap();
        for t in [0.05, 0.3] {
            let edges = lists.edges(t).unwrap();
            let mut expected = Vec::new();
            for i in 0..p {
                for j in i + 1..p {
                    if found[[i, j]] >= t {
                        expected.push((i as u32, j as u32, found[[i, j]]));
                    }
                }
            }
            prop_assert_eq!(edges, expected);
        }
        for i in 0..p {
            for j in 0..p {
                let expected = if i == j { 0.0 } else { by_definition(&c, i, j) };
                prop_assert!((found[[i, j]] - expected).abs() < 1e-14);
                prop_assert!((single[[i, j]] - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn max_product_is_the_maximum(m in 0usize..200, seed in 0u64..10_000) {
        let mut rng = stream(seed, 0);
        let (a, b): (Vec<f64>, Vec<f64>) = (0..m).map(|_| (rng.random::<f64>(), rng.random::<f64>())).unzip();
        let order = |v: &[f64]| {
            let mut order: Vec<usize> = (0..m).collect();
            order.sort_by(|&i, &j| v[j].total_cmp(&v[i]));
            order
        };
        let found = max_product(&a, &order(&a), &b, &order(&b)).unwrap();
        let expected = a.iter().zip(&b).map(|(a, b)| a * b).fold(0.0, f64::max);
        prop_assert_eq!(found.value, expected);
        prop_assert!(found.products <= 2 * m);
    }

    #[test]
    fn conditional_scores_are_their_definitions(p in 3usize..9, n in 5usize..40, seed in 0u64..10_000) {
        let s = correlation(p, n, seed);
        let c = &s.covariance;
        let (one, two) = (conditional_covariance(&s, 1, false).unwrap(), conditional_covariance(&s, 2, false).unwrap());
        let w = shortcut(c.view()).unwrap();
        let information = [1, 2].map(|eta| conditional_mutual_information(&s, eta, false).unwrap());
        for i in 0..p {
            for j in 0..i {
                let others: Vec<usize> = (0..p).filter(|&k| k != i && k != j).collect();
                let mut best = c[[i, j]].abs();
                let mut least = best;
                for &k in &others {
                    let r = c[[i, j]] - c[[i, k]] * c[[j, k]];
                    best = best.min(r.abs());
                    let scale = (1.0 - c[[i, k]].powi(2)) * (1.0 - c[[j, k]].powi(2));
                    least = least.min(r.abs() / scale.sqrt());
                }
                prop_assert!((one[[i, j]] - best).abs() < 1e-12);
                prop_assert!(w[[i, j]] <= one[[i, j]] + 1e-12, "T4");
                let expected = -0.5 * (1.0 - least * least).ln();
                prop_assert!((information[0][[i, j]] - expected).abs() < 1e-9);
                let mut well = true;
                for &k in &others {
                    for &l in &others {
                        let det = 1.0 - c[[k, l]] * c[[k, l]];
                        if l < k && det > 1e-6 {
                            let (a, b) = (c[[i, k]], c[[i, l]]);
                            let (x, y) = (c[[j, k]], c[[j, l]]);
                            let explained = (a * x + b * y - c[[k, l]] * (a * y + b * x)) / det;
                            best = best.min((c[[i, j]] - explained).abs());
                            let left = |a: f64, b: f64| 1.0 - (a * a + b * b - 2.0 * c[[k, l]] * a * b) / det;
                            let product = left(a, b) * left(x, y);
                            well &= left(a, b).min(left(x, y)) > 1e-6;
                            least = least.min((c[[i, j]] - explained).abs() / product.sqrt());
                        }
                    }
                }
                prop_assert!((two[[i, j]] - best).abs() < 1e-8);
                // Where a variance vanishes the two formulas differ by rounding.
                let expected = -0.5 * (1.0 - least * least).ln();
                prop_assert!(!well || (information[1][[i, j]] - expected).abs() < 1e-5, "{least}");
            }
        }
    }
}

#[test]
fn walk_summable_models_have_the_signs_that_the_theorems_say() {
    let (mut first, mut second, mut agreed) = (0, 0, 0);
    for seed in 0..60 {
        let p = 10;
        let edges = barabasi_albert(p, 1, &mut stream(seed, 0)).unwrap();
        // A diagonal heavy enough for the conditions to hold on some edges.
        let mut theta = walk_summable(p, &edges, &mut stream(seed, 1));
        theta.diag_mut().mapv_inplace(|d| d + 10.0 * (1 + seed % 4) as f64);
        let (sigma, _) = inverse(&theta).unwrap();
        let d: Vec<f64> = theta.diag().to_vec();
        let r = Array2::from_shape_fn((p, p), |(i, j)| {
            if i == j { 0.0 } else { (theta[[i, j]] / (d[i] * d[j]).sqrt()).abs() }
        });
        let alpha = symmetric_eigen(r.view()).unwrap().values[p - 1];
        let least = d.iter().copied().fold(f64::INFINITY, f64::min);
        let bound = 2.0 * alpha * alpha / (least * (1.0 - alpha));
        let scale = sigma.diag().mapv(f64::sqrt);
        let c = Array2::from_shape_fn((p, p), |(i, j)| sigma[[i, j]] / scale[i] / scale[j]);
        let w = shortcut(c.view()).unwrap();
        let cct =
            conditional_covariance(&Statistics::from_covariance(c.view(), 9).unwrap(), 1, false)
                .unwrap();
        for &(i, j) in &edges {
            let (i, j) = (i as usize, j as usize);
            let t = theta[[i, j]];
            // T1: their lemma 13.
            let det = d[i] * d[j] - t * t;
            assert!((sigma[[i, j]] + t / det).abs() <= bound, "T1");
            let k: f64 = (0..p)
                .filter(|&k| k != i && k != j)
                .map(|k| theta[[i, k]].powi(2) + theta[[j, k]].powi(2))
                .sum();
            let t2 = k / (least * (1.0 - alpha)) < t.abs();
            if t2 {
                second += 1;
                for k in (0..p).filter(|&k| k != i && k != j) {
                    let given = sigma[[i, j]] - sigma[[i, k]] * sigma[[k, j]] / sigma[[k, k]];
                    assert!(given * t < 0.0, "T2");
                }
            }
            let t3 = bound < t.abs() / (d[i] * d[j]);
            if t3 {
                first += 1;
                assert!(sigma[[i, j]] * t < 0.0, "T3");
            }
            if t2 && t3 {
                agreed += 1;
                assert!((w[[i, j]] - cct[[i, j]]).abs() < 1e-12);
            }
        }
    }
    assert!(first > 20 && second > 20 && agreed > 10, "{first} {second} {agreed}");
}

#[test]
fn scores_rank_as_they_should() {
    let s = correlation(15, 100, 3);
    let (r, mi) = (correlation_scores(&s), mutual_information(&s));
    for (a, b) in r.iter().zip(&mi) {
        assert!((b + 0.5 * (1.0 - a * a).ln()).abs() < 1e-12);
    }
    let perfect = Statistics::from_covariance(array![[1.0, 1.0], [1.0, 1.0]].view(), 5).unwrap();
    assert_eq!(mutual_information(&perfect)[[0, 1]], f64::INFINITY);
    let (w, _) = inverse(&s.covariance).unwrap();
    let scores = inverse_scores(&s).unwrap();
    assert!((scores[[0, 1]] - (w[[0, 1]] / (w[[0, 0]] * w[[1, 1]]).sqrt()).abs()).abs() < 1e-10);
    assert!(matches!(inverse_scores(&correlation(15, 10, 3)), Err(Error::RankDeficient { .. })));
    assert_eq!(edges_above(r.view(), 0.0).unwrap().len(), 105);
    assert!(conditional_covariance(&s, 3, false).is_err());
    assert_eq!(conditional_covariance(&s, 0, false).unwrap(), r);
    assert!(shortcut(array![[1.0, f64::NAN], [0.0, 1.0]].view()).is_err());
    assert!(Shortcut::new(s.covariance.view(), Some(100)).is_err());
    assert!(Shortcut::new(s.covariance.view(), None).unwrap().edges(-1.0).is_err());
    assert!(max_product(&[1.0], &[0], &[1.0], &[1]).is_err());
}

#[test]
fn chow_liu_finds_the_likeliest_tree() {
    let s = correlation(5, 30, 11);
    let found = chow_liu(&s).unwrap();
    let objective = found.report.certificate.objective().unwrap();
    assert!(found.graph().is_forest());
    // All 125 trees on five nodes, by their Pruefer codes.
    let mut best = f64::INFINITY;
    for code in 0..125 {
        let code = [code % 5, code / 5 % 5, code / 25];
        let mut degree = [1; 5];
        code.iter().for_each(|&c| degree[c] += 1);
        let mut edges = Vec::new();
        for &c in &code {
            let leaf = (0..5).find(|&v| degree[v] == 1).unwrap();
            edges.push((leaf as u32, c as u32));
            degree[leaf] -= 1;
            degree[c] -= 1;
        }
        let last: Vec<u32> = (0..5).filter(|&v| degree[v] == 1).map(|v| v as u32).collect();
        edges.push((last[0], last[1]));
        let theta = fenchel_ggm::bethe::closed_form(s.covariance.view(), &edges).unwrap();
        let (_, log_det) = inverse(&theta).unwrap();
        best = best.min((&s.covariance * &theta).sum() - log_det);
    }
    assert!((objective - best).abs() < 1e-10);
}

#[test]
fn a_refit_matches_the_covariances_of_its_edges() {
    let x = data(
        walk_summable(8, &[(0, 1), (1, 2), (2, 3), (3, 0), (4, 5)], &mut stream(2, 0)).view(),
        60,
        7,
    );
    let s = Statistics::from_data(&x).unwrap();
    let graph = Graph::new(8, [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (4, 6)]).unwrap();
    let stop = Stop { absolute: 1e-12, relative: 0.0, ..Stop::default() };
    let settings = GlassoSettings { stop, ..GlassoSettings::default() };
    let model = refit(&s, &graph, 0.0, &settings).unwrap();
    assert_eq!(model.graph(), graph);
    for i in 0..8 {
        assert!((model.covariance[[i, i]] / s.covariance[[i, i]] - 1.0).abs() < 1e-6);
    }
    for (i, j) in graph.edges() {
        let (i, j) = (i as usize, j as usize);
        let unit = (s.covariance[[i, i]] * s.covariance[[j, j]]).sqrt();
        assert!((model.covariance[[i, j]] - s.covariance[[i, j]]).abs() < 1e-6 * unit);
    }
    // Three samples cannot fill a clique of four.
    let few = Statistics::from_data(&data(Array2::eye(4).view(), 3, 1)).unwrap();
    let full = Graph::new(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).unwrap();
    let settings = GlassoSettings::default();
    assert!(matches!(refit(&few, &full, 0.0, &settings), Err(Error::Unbounded { .. })));
    assert!(refit(&few, &full, 0.1, &settings).is_ok());
    assert!(refit(&few, &graph, 0.1, &settings).is_err());
    assert!(graph_of(Array2::<f64>::eye(3).view()).unwrap().is_forest());
}
