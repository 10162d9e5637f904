//! The Bethe entropy and its diagonal ascent.

use fenchel_ggm::bethe::{
    AscentSettings, DiagonalStep, UpdateRule, closed_form, diagonal_ascent, entropy,
};
use fenchel_ggm::synthetic::{barabasi_albert, diagonally_dominant, erdos_renyi};
use fenchel_optim::random::stream;
use ndarray::Array2;

use crate::common::{inverse, statistics};

fn problem(p: usize, edges: &[(u32, u32)]) -> (Array2<f64>, Vec<f64>, Vec<f64>) {
    let c = statistics(diagonally_dominant(p, edges, -0.2).view(), 400, 3).covariance;
    let pairs = edges.iter().map(|&(i, j)| c[[i as usize, j as usize]]).collect();
    let diagonal = c.diag().to_vec();
    (c, diagonal, pairs)
}

#[test]
fn on_trees_the_closed_form_is_maximum_likelihood() {
    let edges = barabasi_albert(9, 1, &mut stream(1, 0)).unwrap();
    let (c, variances, pairs) = problem(9, &edges);
    let theta = closed_form(c.view(), &edges).unwrap();
    let (w, log_det) = inverse(&theta).unwrap();
    for i in 0..9 {
        assert!((w[[i, i]] - c[[i, i]]).abs() < 1e-12);
    }
    for &(i, j) in &edges {
        let at = [i as usize, j as usize];
        assert!((w[at] - c[at]).abs() < 1e-12);
    }
    assert!((entropy(&variances, &edges, &pairs).unwrap() + log_det).abs() < 1e-10);
}

#[test]
fn the_precision_is_the_gradient_of_the_entropy() {
    let edges = erdos_renyi(7, 0.6, &mut stream(5, 0)).unwrap();
    let (c, variances, pairs) = problem(7, &edges);
    let theta = closed_form(c.view(), &edges).unwrap();
    let h = 1e-6;
    let at = |v: &[f64], c: &[f64]| entropy(v, &edges, c).unwrap();
    for i in 0..7 {
        let (mut up, mut down) = (variances.clone(), variances.clone());
        up[i] += h;
        down[i] -= h;
        let slope = (at(&up, &pairs) - at(&down, &pairs)) / (2.0 * h);
        assert!((slope - theta[[i, i]]).abs() < 1e-6);
    }
    for (e, &(i, j)) in edges.iter().enumerate() {
        let (mut up, mut down) = (pairs.clone(), pairs.clone());
        up[e] += h;
        down[e] -= h;
        let slope = (at(&variances, &up) - at(&variances, &down)) / (2.0 * h);
        // Both triangles.
        assert!((slope - 2.0 * theta[[i as usize, j as usize]]).abs() < 1e-6);
    }
}

#[test]
fn at_the_end_of_the_ascent_rows_sum_to_zero() {
    let edges = barabasi_albert(12, 2, &mut stream(3, 0)).unwrap();
    let (_, variances, pairs) = problem(12, &edges);
    let settings = AscentSettings { iterations: 20_000, step: 1.0, ..AscentSettings::default() };
    let found = diagonal_ascent(&variances, &edges, &pairs, &settings).unwrap();
    assert!(found.gradient <= 1e-8, "{}", found.gradient);
    // The corrected rule keeps the variances of the differences, and the entropy has grown.
    let after: Vec<f64> = edges
        .iter()
        .zip(&pairs)
        .map(|(&(i, j), c)| {
            let (i, j) = (i as usize, j as usize);
            c + 0.5 * (found.variances[i] - variances[i] + found.variances[j] - variances[j])
        })
        .collect();
    let clamped: Vec<f64> = pairs.iter().map(|c| c.max(0.0)).collect();
    let at = |v: &[f64], c: &[f64]| entropy(v, &edges, c).unwrap();
    assert!(at(&found.variances, &after) > at(&variances, &clamped));
    assert!(found.weights.iter().all(|&w| w >= 0.0));
    let printed = AscentSettings { rule: UpdateRule::AsPrinted, ..AscentSettings::default() };
    let other = diagonal_ascent(&variances, &edges, &pairs, &printed).unwrap();
    assert_ne!(other.weights, found.weights);
    let additive = AscentSettings { kind: DiagonalStep::Additive, ..settings };
    let same = diagonal_ascent(&variances, &edges, &pairs, &additive).unwrap();
    for (a, b) in same.weights.iter().zip(&found.weights) {
        assert!((a - b).abs() < 1e-3 * b.max(0.1), "{a} {b}");
    }
}

#[test]
fn on_a_tree_the_weights_are_the_limit() {
    let edges = barabasi_albert(8, 1, &mut stream(4, 0)).unwrap();
    let (_, variances, pairs) = problem(8, &edges);
    let found = diagonal_ascent(&variances, &edges, &pairs, &AscentSettings::default()).unwrap();
    for ((&(i, j), c), w) in edges.iter().zip(&pairs).zip(&found.weights) {
        let v = variances[i as usize] + variances[j as usize] - 2.0 * c;
        assert!((w - 1.0 / v).abs() < 1e-12);
    }
    assert!(diagonal_ascent(&[1.0], &[(0, 0)], &[0.0], &AscentSettings::default()).is_err());
    assert!(diagonal_ascent(&[0.0, 1.0], &[(0, 1)], &[0.0], &AscentSettings::default()).is_err());
    assert!(diagonal_ascent(&[1.0, 1.0], &[(0, 1)], &[], &AscentSettings::default()).is_err());
    assert!(closed_form(Array2::eye(2).view(), &[(0, 2)]).is_err());
    assert!(closed_form(Array2::ones((2, 2)).view(), &[(0, 1)]).is_err());
}
