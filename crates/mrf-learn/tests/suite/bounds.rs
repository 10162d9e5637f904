use fenchel_graphical::Influence;
use fenchel_mrf_learn::bounds;
use proptest::prelude::*;

use crate::common::{bits, brute, expectation, norm, random_model, statistics, sweep};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Theorem 3, the coupling bound and the comparison bound, from every start, against the exact law of the chains; total
    /// variation against the grand sums.
    #[test]
    fn bias_is_below_every_bound(p in 2usize..6, scale in 0.1..2.5, seed in 0u64..10_000) {
        let model = random_model(p, scale, seed);
        let (_, stationary, means) = brute(&model);
        let influence = Influence::bound(&model);
        for start in 0..1 << p {
            let mut law = vec![0.0; 1 << p];
            law[start] = 1.0;
            let mut d = vec![1.0; p];
            for t in 1..=5 {
                law = sweep(&model, &law);
                influence.sweep(&mut d);
                let tv: f64 = 0.5 * law.iter().zip(&stationary).map(|(a, b)| (a - b).abs()).sum::<f64>();
                prop_assert!(tv <= bounds::grand_sums(&influence, t)[t - 1].min(1.0) + 1e-12);
                let found = expectation(&law, p);
                let off: Vec<f64> = found.iter().zip(&means).map(|(a, b)| a - b).collect();
                let bias = norm(&off);
                prop_assert!(bias <= bounds::bias_coupling(&d) + 1e-12);
                prop_assert!(bias <= bounds::bias_comparison(&model, t) + 1e-12);
                prop_assert!(bounds::bias_coupling(&d) <= bounds::bias_paper(&d) + 1e-12);
            }
        }
    }

    /// The trace bound of the curvature.
    #[test]
    fn curvature_is_below_its_bound(p in 1usize..6, scale in 0.1..3.0, seed in 0u64..1000) {
        let model = random_model(p, scale, seed);
        let top = top_eigenvalue(&brute(&model).1, p);
        prop_assert!(top <= bounds::lipschitz_bound(p) + 1e-12);
    }
}

/// The largest eigenvalue of the covariance of the statistics, by power iteration.
fn top_eigenvalue(probabilities: &[f64], p: usize) -> f64 {
    let m = p * (p + 1) / 2;
    let means = expectation(probabilities, p);
    let mut v = vec![1.0; m];
    let mut top = 0.0;
    for _ in 0..500 {
        let size = norm(&v);
        if size == 0.0 {
            return 0.0;
        }
        v.iter_mut().for_each(|v| *v /= size);
        let mut next = vec![0.0; m];
        for (s, weight) in probabilities.iter().enumerate() {
            let psi = statistics(&bits(s, p));
            let along: f64 = (0..m).map(|c| (psi[c] - means[c]) * v[c]).sum();
            for c in 0..m {
                next[c] += weight * along * (psi[c] - means[c]);
            }
        }
        top = norm(&next);
        v = next;
    }
    top
}

/// The closed form of the curvature of fair coins; the three numbers are those of the specification.
#[test]
fn curvature_of_fair_coins() {
    for p in 1..9 {
        let fair = vec![0.5_f64.powi(p as i32); 1 << p];
        let (found, exact) = (bounds::lipschitz_at_zero(p), top_eigenvalue(&fair, p));
        assert!((found - exact).abs() < 1e-9, "{p}: {found} {exact}");
    }
    for (p, value) in [(10, 1.427), (20, 2.682), (100, 12.69)] {
        assert!((bounds::lipschitz_at_zero(p) - value).abs() < 0.005);
    }
}

/// By hand, at V = 1/4, q = 101, beta = 2/e: logarithm 1.
#[test]
fn bernstein_by_hand() {
    let beta = 2.0 / std::f64::consts::E;
    let expected = 2.0 * ((0.25 / 202.0_f64).sqrt() + 7.0 / 300.0);
    assert!((bounds::bernstein(0.25, 101, beta) - expected).abs() < 1e-14);
    // m = 3, so that 2 sum beta_j = doubt.
    let all = bounds::nonasymptotic(&[0.0, 0.0], &[0.25; 3], 101, 6.0 * beta);
    assert!((all - 3.0_f64.sqrt() * expected).abs() < 1e-14);
    // 2 sqrt(m) at the start of figure 2: 14.83 for ten variables.
    assert!((2.0 * 55.0_f64.sqrt() - 14.83).abs() < 0.005);
    let model = random_model(10, 2.0, 1);
    assert!((bounds::bias_comparison(&model, 0) - 2.0 * 55.0_f64.sqrt()).abs() < 1e-12);
}
