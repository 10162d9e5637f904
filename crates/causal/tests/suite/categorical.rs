//! Two categorical variables: directions, distances, divergences, closed forms.

use fenchel_causal::categorical::{
    Anova, CategoricalPair, Intervention, JointCategorical, kl_of_logs,
};
use fenchel_causal::direction::{bayes_error, dense_prior, from_counts};
use fenchel_linalg::special::log_sum_exp;
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;
use rand::RngExt;

use crate::common::rng;

/// Scores up to the given size in either direction.
fn pair(kx: usize, ky: usize, size: f64, seed: u64) -> CategoricalPair {
    let mut rng = rng(seed);
    let mut draw = || size * (2.0 * rng.random::<f64>() - 1.0);
    let marginal = Array1::from_shape_simple_fn(kx, &mut draw);
    CategoricalPair::from_logits(
        marginal.view(),
        Array2::from_shape_simple_fn((kx, ky), &mut draw).view(),
    )
    .unwrap()
}

fn scores(k: usize, size: f64, seed: u64) -> Array1<f64> {
    let mut rng = rng(seed);
    Array1::from_shape_simple_fn(k, || size * (2.0 * rng.random::<f64>() - 1.0))
}

fn gap<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    a.into_iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// delta_causal, delta_anticausal, delta_joint, by their definitions.
fn distances(p: &CategoricalPair, q: &CategoricalPair) -> [f64; 3] {
    let joint = JointCategorical::of(p).distance_sq(&JointCategorical::of(q)).unwrap();
    [p.distance_sq(q).unwrap(), p.reverse().distance_sq(&q.reverse()).unwrap(), joint]
}

fn square(v: impl Iterator<Item = f64>) -> f64 {
    v.map(|e| e * e).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn reversing_keeps_the_joint_and_twice_is_nothing(
        kx in 1_usize..8, ky in 1_usize..8, log_size in -8.0_f64..2.78, seed in any::<u64>(),
    ) {
        // Sizes from 1e-8 to 600.
        let size = 10_f64.powf(log_size);
        let p = pair(kx, ky, size, seed);
        let r = p.reverse();
        let back = r.reverse();
        let tolerance = 1e-12 * size.max(1.0) / 600_f64.max(size) * 600.0;
        prop_assert!(gap(back.conditional(), p.conditional()) <= tolerance);
        prop_assert!(gap(back.marginal(), p.marginal()) <= tolerance);
        prop_assert!(gap(&r.log_joint(), &p.log_joint()) <= tolerance);
        // The other way round: through the log joint, transposed.
        let log = p.log_joint();
        let other = CategoricalPair::from_log_joint(log.t()).unwrap();
        prop_assert!(gap(other.conditional(), r.conditional()) <= tolerance);
        prop_assert!(gap(other.marginal(), r.marginal()) <= tolerance);
        let sums: f64 = log_sum_exp(&log.iter().copied().collect::<Vec<_>>());
        prop_assert!(sums.abs() < 1e-12);
        prop_assert!(p.kl(&r).unwrap() < 1e-10);
    }

    #[test]
    fn divergences_are_those_of_the_mechanisms(k in 2_usize..7, size in 0.01_f64..20.0, seed in any::<u64>()) {
        let (p, q) = (pair(k, k + 1, size, seed), pair(k, k + 1, size, seed ^ 1));
        let kl = p.kl(&q).unwrap();
        let lse = |v: ndarray::ArrayView1<f64>| log_sum_exp(&v.to_vec());
        let part = |a: ndarray::ArrayView1<f64>, b: ndarray::ArrayView1<f64>| {
            let (la, lb) = (lse(a), lse(b));
            a.iter().zip(b).map(|(a, b)| (a - la).exp() * ((a - la) - (b - lb))).sum::<f64>()
        };
        let weights = p.marginal_probabilities();
        let rows: f64 = (0..k).map(|i| weights[i] * part(p.conditional().row(i), q.conditional().row(i))).sum();
        let sum = part(p.marginal(), q.marginal()) + rows;
        prop_assert!((kl - sum).abs() <= 1e-12 * kl.max(1.0), "{kl} {sum}");
        let reversed = p.reverse().kl(&q.reverse()).unwrap();
        prop_assert!((kl - reversed).abs() <= 1e-12 * kl.max(1.0));
        let joint = JointCategorical::of(&p).kl(&JointCategorical::of(&q)).unwrap();
        prop_assert!((kl - joint).abs() <= 1e-12 * kl.max(1.0));
    }

    #[test]
    fn distances_by_analysis_of_variance(kx in 2_usize..7, ky in 2_usize..7, size in 0.01_f64..600.0, seed in any::<u64>()) {
        let (p, q) = (pair(kx, ky, size, seed), pair(kx, ky, size, seed ^ 1));
        let direct = distances(&p, &q);
        let anova = Anova::of(&p).distances(&Anova::of(&q)).unwrap();
        for (a, b) in direct.into_iter().zip([anova.causal, anova.anticausal, anova.joint]) {
            prop_assert!((a - b).abs() <= 1e-12 * a.max(b), "{a} {b}");
        }
    }

    /// Propositions 4.5.1 and 4.5.2, (4.48), and their forms for different numbers of states.
    #[test]
    fn closed_forms_of_distances(kx in 2_usize..7, ky in 2_usize..7, size in 0.01_f64..600.0, seed in any::<u64>()) {
        let p = pair(kx, ky, size, seed);
        let (x, y) = (kx as f64, ky as f64);
        let (s_x, s_y) = (p.marginal().to_owned(), p.reverse().marginal().to_owned());
        let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-12 * scale.max(1.0);

        let q = p.intervene(&Intervention::Cause(scores(kx, size, seed ^ 2))).unwrap();
        let [causal, anti, joint] = distances(&p, &q);
        let moved = square((&q.reverse().marginal() - &s_y).into_iter());
        prop_assert!(near(anti, y * causal + moved, anti), "cause: {anti} {}", y * causal + moved);
        prop_assert!(near(joint, y * causal, joint));

        let star = scores(ky, size, seed ^ 3);
        let q = p.intervene(&Intervention::Effect(star.clone())).unwrap();
        let [causal, anti, joint] = distances(&p, &q);
        let s_star = q.reverse().marginal().to_owned();
        let a = Anova::of(&p);
        let (n, m) = (square((&a.row - &s_x).into_iter()), square((&a.column - &s_star).into_iter()));
        let delta = x * m - y * n - square((&s_y - &s_star).into_iter());
        prop_assert!(near(causal - anti, delta, causal + anti), "effect: {} {delta}", causal - anti);
        prop_assert!(near(joint, causal + y * n, joint));

        let q = p.intervene(&Intervention::SingleMechanism { state: Some(kx - 1), logits: star }).unwrap();
        let [causal, anti, _] = distances(&p, &q);
        let partition = |c: &CategoricalPair| log_sum_exp(&c.conditional().row(kx - 1).to_vec());
        let moved = square((&q.reverse().marginal() - &s_y).into_iter());
        let shift = partition(&q) - partition(&p);
        let claim = (x - 1.0) / x * causal + moved + y * (x - 1.0) / x * shift * shift;
        prop_assert!(near(anti, claim, anti + claim), "row: {anti} {claim}");
    }

    /// With the geometric mean as the new law of the effect the causal model is never farther.
    #[test]
    fn deterministic_interventions(k in 2_usize..7, size in 0.01_f64..50.0, seed in any::<u64>()) {
        let p = pair(k, k, size, seed);
        let q = p.intervene(&Intervention::Geometric).unwrap();
        let [causal, anti, _] = distances(&p, &q);
        let a = Anova::of(&p);
        let n = square((&a.row - &a.marginal_x).into_iter());
        let m = square((&a.column - &a.marginal_y).into_iter());
        prop_assert!((causal - anti + k as f64 * n + m).abs() <= 1e-12 * anti.max(1.0));
        let q = p.intervene(&Intervention::KeepMarginal).unwrap();
        prop_assert!(gap(q.reverse().marginal(), p.reverse().marginal()) < 1e-11 * size.max(1.0));
        let [causal, anti, _] = distances(&p, &q);
        prop_assert!((causal - anti - k as f64 * (m - n)).abs() <= 1e-12 * anti.max(1.0));
        let q = p.intervene(&Intervention::WeightedGeometric).unwrap();
        prop_assert!(gap(q.marginal(), p.marginal()) < 1e-12 * size.max(1.0));
    }
}

/// Tiny divergences have the right digits: here 2 KL = sum p d^2 to leading order.
#[test]
fn tiny_divergences_keep_their_digits() {
    for e in [1e-3, 1e-7, 1e-12, 1e-100] {
        let p = [0.25_f64.ln(), 0.75_f64.ln()];
        // q = p + (e, -e): KL = e^2 / 2 (1/p1 + 1/p2) + O(e^3).
        let d = [-(e / 0.25_f64).ln_1p(), -(-e / 0.75_f64).ln_1p()];
        let kl = kl_of_logs(p.into_iter(), [p[0] - d[0], p[1] - d[1]].into_iter());
        let leading = e * e / 2.0 * (4.0 + 4.0 / 3.0);
        // log q is rounded to 2^-53 of its size, about 1e-16 absolute: below that nothing can be seen.
        let tolerance = 10.0 * e * leading + 4e-16 * (e + 1e-16);
        assert!((kl - leading).abs() <= tolerance, "{e:e}: {kl:e} {leading:e}");
        assert!(kl >= 0.0);
    }
}

#[test]
fn bad_arguments_are_refused() {
    let message = |r: Result<CategoricalPair, fenchel_causal::Error>| r.unwrap_err().to_string();
    let row = array![[0.5, 0.5], [0.5, 0.5]];
    let from =
        |m: Array1<f64>, c: Array2<f64>| CategoricalPair::from_probabilities(m.view(), c.view());
    assert_eq!(
        message(from(array![0.5, 0.6], row.clone())),
        "the marginal, row 0, sums to 1.1; expected 1 up to 1e-9"
    );
    assert_eq!(
        message(from(array![0.5, 0.5], array![[1.0, 0.0], [0.5, 0.5]])),
        "the conditional is zero at row 0, column 1; give a floor or a pseudo-count"
    );
    assert_eq!(
        message(from(array![1.0], row.clone())),
        "rows of the conditional: expected length 1, found 2"
    );
    assert!(message(from(array![f64::NAN, 0.5], row.clone())).contains("NaN at row 0"));
    assert!(CategoricalPair::from_counts(Array2::zeros((2, 2)).view(), 0.0).is_err());
    let p = from(array![0.5, 0.5], row).unwrap();
    assert!(
        p.reverse()
            .intervene(&Intervention::Geometric)
            .unwrap_err()
            .to_string()
            .contains("reverse the pair")
    );
    assert!(p.distance_sq(&p.reverse()).is_err());
}

#[test]
fn directions_from_joints_and_counts() {
    // Table 4.1 to one digit, by the low-variance estimator.
    for (k, error) in [(2, 0.386), (3, 0.241), (5, 0.0669), (8, 0.0053)] {
        let found = bayes_error(k, 20_000, &mut rng(k as u64)).unwrap();
        assert!((found.error - error).abs() < 5.0 * found.standard_error + 0.002, "{k}: {found:?}");
    }
    // Swapping the variables swaps the odds, also where the numbers of states differ.
    let p = pair(3, 4, 1.0, 7);
    let swapped = CategoricalPair::from_log_joint(p.log_joint().t()).unwrap();
    assert!((dense_prior(&p).log_odds + dense_prior(&swapped).log_odds).abs() < 1e-10);
    // BDeu sees no direction; many counts agree with the exact joint.
    let counts = array![[12.0, 3.0, 0.0], [5.0, 0.0, 40.0], [1.0, 2.0, 3.0]];
    assert!(from_counts(counts.view(), 1.0 / 3.0, 1.0 / 3.0).unwrap().log_odds.abs() < 1e-9);
    let many = p.log_joint().mapv(|l| (1e9 * l.exp()).round());
    let (a, b) = (from_counts(many.view(), 1.0, 1.0).unwrap().log_odds, dense_prior(&p).log_odds);
    assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{a} {b}");
}

/// A zero has no finite score unless a floor lifts it.
#[test]
fn floors() {
    let (marginal, rows) = (array![0.5, 0.5], array![[1.0, 0.0], [0.25, 0.75]]);
    let refused = CategoricalPair::from_probabilities(marginal.view(), rows.view()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the conditional is zero at row 0, column 1; give a floor or a pseudo-count"
    );
    let p = CategoricalPair::from_probabilities_above(1e-6, marginal.view(), rows.view()).unwrap();
    let log = p.log_joint();
    assert!((log[(0, 1)] - log[(0, 0)] - 1e-6_f64.ln()).abs() < 1e-12);
    assert!((log[(1, 1)] - 0.375_f64.ln()).abs() < 1e-12);
    assert!(CategoricalPair::from_probabilities_above(0.0, marginal.view(), rows.view()).is_err());
    let bad = array![[1.0, 0.1], [0.25, 0.75]];
    assert!(CategoricalPair::from_probabilities_above(1e-6, marginal.view(), bad.view()).is_err());
}

/// Scores are checked when a saved model is read.
#[test]
fn saved_joints_are_checked() {
    let joint = JointCategorical::of(&pair(2, 2, 1.0, 5));
    let text = serde_json::to_string(&joint).unwrap();
    let back: JointCategorical = serde_json::from_str(&text).unwrap();
    assert!(gap(back.logits(), joint.logits()) < 1e-15);
    let broken = text.replacen("\"dim\":[2,2]", "\"dim\":[0,2]", 1);
    assert_ne!(broken, text);
    assert!(serde_json::from_str::<JointCategorical>(&broken).is_err());
}
