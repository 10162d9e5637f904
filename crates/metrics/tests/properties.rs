//! Metrics against their definitions, spelt out, and against what must not change them.

use std::collections::HashMap;

use fenchel_metrics::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Labels and scores; scores from a small range, so that many are tied.
fn scored() -> impl Strategy<Value = (Vec<bool>, Vec<f64>)> {
    vec((any::<bool>(), (-4i8..5).prop_map(f64::from)), 2..60)
        .prop_map(|pairs| pairs.into_iter().unzip())
}

fn classified(classes: usize) -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    vec((0..classes, 0..classes), 1..60).prop_map(|pairs| pairs.into_iter().unzip())
}

fn area_by_pairs(truth: &[bool], scores: &[f64]) -> Option<f64> {
    let (mut won, mut pairs) = (0.0, 0.0);
    for (_, a) in truth.iter().zip(scores).filter(|(t, _)| **t) {
        for (_, b) in truth.iter().zip(scores).filter(|(t, _)| !**t) {
            pairs += 1.0;
            won += if a > b {
                1.0
            } else if a == b {
                0.5
            } else {
                0.0
            };
        }
    }
    (pairs > 0.0).then(|| won / pairs)
}

proptest! {
    #[test]
    fn area_counts_ordered_pairs((truth, scores) in scored()) {
        match area_by_pairs(&truth, &scores) {
            Some(area) => prop_assert!((roc_auc(&truth, &scores).unwrap() - area).abs() < 1e-12),
            None => {
                let error = roc_auc(&truth, &scores).unwrap_err();
                prop_assert_eq!(error, Error::SingleClass { positive: truth[0] });
            }
        }
    }

    #[test]
    fn area_sees_only_the_order((truth, scores) in scored()) {
        prop_assume!(truth.contains(&true) && truth.contains(&false));
        let area = roc_auc(&truth, &scores).unwrap();
        let stretched: Vec<f64> = scores.iter().map(|s| s.exp() * 3.0 + 1.0).collect();
        prop_assert_eq!(roc_auc(&truth, &stretched).unwrap(), area);
        let turned: Vec<bool> = truth.iter().map(|t| !t).collect();
        prop_assert!((roc_auc(&turned, &scores).unwrap() - (1.0 - area)).abs() < 1e-12);
    }

    #[test]
    fn rank_correlation_sees_only_the_order(pairs in vec((-9i8..9, -9i8..9), 2..40)) {
        let (a, b): (Vec<f64>, Vec<f64>) =
            pairs.into_iter().map(|(a, b)| (f64::from(a), f64::from(b))).unzip();
        let Ok(found) = spearman(&a, &b) else { return Ok(()) };
        prop_assert!((-1.0..=1.0).contains(&found));
        let cubes: Vec<f64> = a.iter().map(|a| a.powi(3)).collect();
        prop_assert_eq!(spearman(&cubes, &b).unwrap(), found);
        let minus: Vec<f64> = b.iter().map(|b| -b).collect();
        prop_assert!((spearman(&a, &minus).unwrap() + found).abs() < 1e-12);
        prop_assert!((spearman(&b, &a).unwrap() - found).abs() < 1e-12);
    }

    #[test]
    fn scores_are_counts_of_their_definition((truth, predicted) in classified(4)) {
        let confusion = Confusion::new(&truth, &predicted, 4).unwrap();
        let pairs: Vec<_> = truth.iter().zip(&predicted).collect();
        let count = |f: &dyn Fn(usize, usize) -> bool| pairs.iter().filter(|(t, p)| f(**t, **p)).count() as f64;
        let share = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a / b };
        for c in 0..4 {
            let hits = count(&|t, p| t == c && p == c);
            let scores = confusion.scores(c);
            prop_assert_eq!(scores.precision, share(hits, count(&|_, p| p == c)));
            prop_assert_eq!(scores.recall, share(hits, count(&|t, _| t == c)));
            let harmonic = share(2.0 * scores.precision * scores.recall, scores.precision + scores.recall);
            prop_assert!((scores.f1 - harmonic).abs() < 1e-12);
        }
        let right = accuracy(&truth, &predicted).unwrap();
        prop_assert_eq!(confusion.accuracy(), right);
        prop_assert_eq!(confusion.micro(), Scores { precision: right, recall: right, f1: right });
        prop_assert_eq!(confusion.total(), truth.len() as u64);
    }

    #[test]
    fn two_classes_are_a_case_of_many((truth, predicted) in classified(2)) {
        let confusion = Confusion::new(&truth, &predicted, 2).unwrap();
        prop_assert_eq!(binary_scores(&truth, &predicted).unwrap(), confusion.scores(1));
    }

    #[test]
    fn r2_does_not_depend_on_the_unit(pairs in vec((-50i8..50, -50i8..50), 2..40), shift in -9i8..9) {
        let (t, p): (Vec<f64>, Vec<f64>) =
            pairs.into_iter().map(|(a, b)| (f64::from(a), f64::from(b))).unzip();
        let Ok(found) = r2(&t, &p) else { return Ok(()) };
        let change = |v: &[f64]| v.iter().map(|v| 4.0 * v + f64::from(shift)).collect::<Vec<_>>();
        let changed = r2(&change(&t), &change(&p)).unwrap();
        prop_assert!((changed - found).abs() <= 1e-11 * found.abs().max(1.0));
        // 1 - MSE / variance, the variance from all pairs of targets.
        let n = t.len() as f64;
        let squares: f64 = t.iter().flat_map(|a| t.iter().map(move |b| (a - b).powi(2))).sum();
        let expected = 1.0 - mean_squared_error(&t, &p).unwrap() / (squares / (2.0 * n * n));
        prop_assert!((expected - found).abs() <= 1e-11 * found.abs().max(1.0));
    }

    #[test]
    fn the_true_frequency_minimises_both_proper_scores(truth in vec(any::<bool>(), 1..40), other in 0.0..1.0f64) {
        let rate = truth.iter().filter(|t| **t).count() as f64 / truth.len() as f64;
        let (best, worse) = (vec![rate; truth.len()], vec![other; truth.len()]);
        prop_assert!(log_loss(&truth, &best).unwrap() <= log_loss(&truth, &worse).unwrap() + 1e-12);
        prop_assert!(brier(&truth, &best).unwrap() <= brier(&truth, &worse).unwrap() + 1e-12);
    }

    #[test]
    fn folds_cut_the_samples_into_equal_parts(samples in 8usize..80, folds in 2usize..9, seed: u64) {
        let splits = k_fold(samples, folds, seed).unwrap();
        check_splits(&splits, samples, folds)?;
    }

    #[test]
    fn stratified_folds_hold_equal_shares_of_every_class(labels in vec(0u8..4, 8..80), folds in 2usize..9, seed: u64) {
        let splits = stratified_k_fold(&labels, folds, seed).unwrap();
        check_splits(&splits, labels.len(), folds)?;
        let mut totals: HashMap<u8, usize> = HashMap::new();
        labels.iter().for_each(|&label| *totals.entry(label).or_default() += 1);
        for (_, test) in &splits {
            for (&label, &total) in &totals {
                let here = test.iter().filter(|&&i| labels[i] == label).count();
                prop_assert!(here == total / folds || here == total.div_ceil(folds));
            }
        }
    }

    #[test]
    fn no_numbers_make_a_metric_panic(a in vec(any::<f64>(), 0..6), b in vec(any::<f64>(), 0..6)) {
        let results =
            [mean_absolute_error(&a, &b), mean_squared_error(&a, &b), r2(&a, &b), spearman(&a, &b), accuracy(&a, &b)];
        for value in results.into_iter().flatten() {
            prop_assert!(!a.is_empty() && a.len() == b.len());
            prop_assert!(a.iter().chain(&b).all(|v| !v.is_nan()), "{value}");
        }
        let _ = (log_loss(&a, &b), brier(&a, &b), roc_auc(&a, &b));
        let _ = stratified_k_fold(&a, 2, 0);
    }
}

fn check_splits(splits: &[Split], samples: usize, folds: usize) -> Result<(), TestCaseError> {
    prop_assert_eq!(splits.len(), folds);
    let mut tested = vec![0; samples];
    for (train, test) in splits {
        prop_assert!(test.len() == samples / folds || test.len() == samples.div_ceil(folds));
        let mut all: Vec<usize> = train.iter().chain(test).copied().collect();
        all.sort_unstable();
        prop_assert!(all.into_iter().eq(0..samples));
        prop_assert!(train.is_sorted() && test.is_sorted());
        test.iter().for_each(|&i| tested[i] += 1);
    }
    prop_assert!(tested.iter().all(|&count| count == 1));
    Ok(())
}
