//! Rules against nodes of 40-digit arithmetic and exact moments, integrals against closed forms.
#![allow(clippy::excessive_precision)]

use std::f64::consts::PI;

use super::*;
use crate::Invalid;

const HERMITE_20: [[f64; 2]; 10] = [
    [0.2453407083009012499038, 0.4622436696006100896503],
    [0.7374737285453943587056, 0.2866755053628341297197],
    [1.234076215395323007886, 0.1090172060200233200138],
    [1.738537712116586206781, 0.02481052088746361088216],
    [2.254974002089275523082, 0.003243773342237861832183],
    [2.788806058428130480525, 0.0002283386360163539672571],
    [3.347854567383216326915, 0.000007802556478532063694146],
    [3.944764040115625210376, 1.086069370769281694e-7],
    [4.603682449550744273078, 4.399340992273180553629e-10],
    [5.387480890011232862017, 2.229393645534151292523e-13],
];

const LEGENDRE_16: [[f64; 2]; 4] = [
    [0.09501250983763744018532, 0.1894506104550684962854],
    [0.4580167776572273863424, 0.1691565193950025381893],
    [0.944575023073232576078, 0.06225352393864789286284],
    [0.9894009349916499325962, 0.02715245941175409485178],
];

#[test]
fn nodes_and_weights_agree_with_reference_values() {
    let hermite = gauss_hermite(20).unwrap();
    let legendre = gauss_legendre(16).unwrap();
    let found = |rule: &Rule, node: f64| {
        let k = (0..rule.nodes.len())
            .min_by(|&a, &b| (rule.nodes[a] - node).abs().total_cmp(&(rule.nodes[b] - node).abs()))
            .unwrap();
        (rule.nodes[k], rule.weights[k], rule.weights[rule.nodes.len() - 1 - k])
    };
    for (rule, table) in [(&hermite, &HERMITE_20[..]), (&legendre, &LEGENDRE_16[..])] {
        for &[node, weight] in table {
            let (x, w, mirrored) = found(rule, node);
            assert!((x - node).abs() <= 1e-14 * node.max(1.0), "{x} {node}");
            assert!((w - weight).abs() <= 2e-13 * weight, "{w} {weight}");
            assert_eq!(w, mirrored);
        }
    }
}

#[test]
fn rules_are_exact_for_polynomials_up_to_twice_their_size() {
    for n in [1, 2, 3, 7, 20, 33] {
        let legendre = gauss_legendre(n).unwrap();
        let normal = gauss_normal(n).unwrap();
        let mut moment = 1.0; // (2k - 1)!!
        for k in 0..n {
            let power = 2 * k as i32;
            let found = legendre.sum(|x| x.powi(power));
            assert!((found - 2.0 / f64::from(power + 1)).abs() <= 1e-13, "P, n = {n}, x^{power}");
            let found = normal.sum(|x| x.powi(power));
            assert!((found - moment).abs() <= 1e-12 * moment, "He, n = {n}, x^{power}: {found}");
            moment *= f64::from(power + 1);
        }
        // One degree more is not integrated exactly: the rule has n nodes, not n + 1.
        let found = legendre.sum(|x| x.powi(2 * n as i32));
        assert!((found - 2.0 / (2.0 * n as f64 + 1.0)).abs() > 1e-25 && found != 0.0 || n == 1);
    }
}

#[test]
fn large_rules_are_rules() {
    for n in [100, 401, 1500] {
        for rule in [gauss_legendre(n).unwrap(), gauss_normal(n).unwrap()] {
            assert!(rule.nodes.windows(2).all(|pair| pair[0] < pair[1]), "nodes rise, n = {n}");
            assert!(rule.weights.iter().all(|&w| (0.0..2.0).contains(&w)));
        }
        let oscillating = gauss_legendre(n).unwrap().sum(|x| (50.0 * x).cos());
        assert!((oscillating - 2.0 * 50f64.sin() / 50.0).abs() <= 1e-13, "n = {n}");
        let characteristic = gauss_normal(n).unwrap().sum(|z| (3.0 * z).cos());
        assert!((characteristic - (-4.5f64).exp()).abs() <= 1e-13, "n = {n}");
    }
}

#[test]
fn rules_move() {
    let area = gauss_legendre(12).unwrap().between(1.0, 3.0).sum(|x| 1.0 / x);
    assert!((area - 3f64.ln()).abs() <= 1e-11);
    let log_normal = gauss_normal(30).unwrap().affine(0.3, 0.7).sum(f64::exp);
    assert!((log_normal - (0.3 + 0.245f64).exp()).abs() <= 1e-13);
}

/// Integrals with a closed form: the error is below its estimate, which is below the tolerance.
#[test]
fn adaptive_integrals_keep_their_promise() {
    let inf = f64::INFINITY;
    type Case = (&'static str, fn(f64) -> f64, f64, f64, f64);
    let cases: [Case; 12] = [
        ("polynomial", |x| 3.0 * x * x, -1.0, 2.0, 9.0),
        ("kink", |x| (x - 0.3).abs(), 0.0, 1.0, 0.29),
        ("root", f64::sqrt, 0.0, 1.0, 2.0 / 3.0),
        ("logarithm", f64::ln, 0.0, 1.0, -1.0),
        ("inverse root", |x| 1.0 / x.sqrt(), 0.0, 1.0, 2.0),
        ("peak", |x| 1e-2 / (x * x + 1e-4), -1.0, 1.0, 2.0 * 100f64.atan()),
        ("oscillation", |x| (200.0 * x).sin(), 0.0, 1.0, (1.0 - 200f64.cos()) / 200.0),
        ("normal", |x| (-0.5 * x * x).exp(), -inf, inf, (2.0 * PI).sqrt()),
        ("Cauchy", |x| 1.0 / (1.0 + x * x), -inf, inf, PI),
        ("gamma(7/2)", |x| x.powf(2.5) * (-x).exp(), 0.0, inf, 1.875 * PI.sqrt()),
        ("lower tail", f64::exp, -inf, -1.0, (-1f64).exp()),
        ("logistic", |x| 1.0 / (2.0 + 2.0 * x.cosh()), -inf, inf, 1.0),
    ];
    for (name, f, a, b, exact) in cases {
        for relative in [1e-4, 1e-10] {
            let tolerance = Tolerance { relative, ..Tolerance::default() };
            let found = integrate(f, a, b, &tolerance).unwrap();
            let off = (found.value - exact).abs();
            assert!(off <= found.error.max(4.0 * f64::EPSILON * exact.abs()), "{name}: {found:?}");
            assert!(found.error <= relative * found.value.abs(), "{name}: {found:?}");
            let back = integrate(f, b, a, &tolerance).unwrap();
            assert_eq!(back.value, -found.value, "{name}");
        }
    }
}

#[test]
fn points_between_find_what_the_ends_hide() {
    let peak = |x: f64| (-0.5 * ((x - 5000.0) / 0.01).powi(2)).exp();
    let exact = 0.01 * (2.0 * PI).sqrt();
    let points = [f64::NEG_INFINITY, 4999.5, 5000.0, 5000.5, f64::INFINITY];
    let found = integrate_between(peak, &points, &Tolerance::default()).unwrap();
    assert!((found.value - exact).abs() <= 1e-10 * exact, "{found:?}");
    // A singularity in the middle: where a node falls on it, the piece is halved.
    let found = integrate(|x: f64| 1.0 / x.abs().sqrt(), -1.0, 1.0, &Tolerance::default()).unwrap();
    assert!((found.value - 4.0).abs() <= found.error, "{found:?}");
}

#[test]
fn what_cannot_be_integrated_says_so() {
    let tight = Tolerance { max_evaluations: 1000, ..Tolerance::default() };
    // Divergent: the error stays above the tolerance.
    let found = integrate(|x| 1.0 / x, 0.0, 1.0, &tight).unwrap();
    assert!(found.error > 1e-10 * found.value.abs() && found.evaluations <= 1000, "{found:?}");
    assert_eq!(integrate(|_| f64::NAN, 0.0, 1.0, &tight).unwrap().error, f64::INFINITY);
    // A tolerance below rounding: it ends when only rounding is left.
    let exact = Tolerance { relative: 0.0, ..Tolerance::default() };
    let found = integrate(f64::exp, 0.0, 1.0, &exact).unwrap();
    assert!((found.value - 1f64.exp_m1()).abs() <= found.error && found.evaluations < 1000);
    assert_eq!(integrate(|_| 1.0, 2.0, 2.0, &tight).unwrap().value, 0.0);
    assert_eq!(integrate(|_| 0.0, 0.0, f64::INFINITY, &tight).unwrap().value, 0.0);
}

#[test]
fn bad_arguments_are_refused() {
    for n in [0, 10_001] {
        for rule in [gauss_legendre(n), gauss_hermite(n), gauss_normal(n)] {
            assert!(matches!(rule, Err(Invalid::Parameter { name: "nodes", .. })));
        }
    }
    let default = Tolerance::default();
    let refused = |points: &[f64]| integrate_between(|x| x, points, &default).is_err();
    assert!(refused(&[]) && refused(&[1.0]));
    assert!(refused(&[0.0, f64::NAN]) && refused(&[0.0, 2.0, 1.0]));
    assert!(!refused(&[f64::INFINITY, f64::INFINITY]), "an empty range");
    assert!(refused(&[f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY]));
    let negative = Tolerance { relative: -1.0, ..default };
    assert!(integrate(|x| x, 0.0, 1.0, &negative).is_err());
}
