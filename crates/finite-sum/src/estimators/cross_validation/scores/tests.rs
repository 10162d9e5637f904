use super::*;

fn score(l1_ratio: f64, penalty: f64, folds: &[f64]) -> Score {
    Score::new(l1_ratio, penalty, folds.to_vec())
}

#[test]
fn mean_and_standard_error() {
    let score = score(1.0, 0.1, &[1.0, 2.0, 3.0, 6.0]);
    assert_eq!(score.mean, 3.0);
    // Variance (4 + 1 + 0 + 9) / 3 over 4 folds.
    assert!((score.standard_error - (14.0f64 / 12.0).sqrt()).abs() < 1e-15);
}

#[test]
fn a_grid_that_ends_too_early_is_noticed() {
    let table = |means: [f64; 3]| {
        let row = |(k, mean)| score(1.0, 0.5f64.powi(k), &[mean, mean]);
        let scores = (0..).zip(means).map(row).collect();
        CrossValidated::new(scores, Choose::Best, |_| Ok(())).unwrap().to_string()
    };
    assert!(table([3.0, 2.0, 1.0]).contains("the smallest of the grid"));
    assert!(!table([3.0, 1.0, 2.0]).contains("the smallest of the grid"));
}

#[test]
fn the_rule_takes_the_largest_penalty_within_a_standard_error() {
    let table = [
        score(0.5, 4.0, &[2.0, 2.0]),
        score(0.5, 2.0, &[1.5, 1.1]),
        score(1.0, 4.0, &[9.0, 7.0]),
        score(1.0, 2.0, &[1.4, 1.4]),
        score(1.0, 1.0, &[1.5, 1.0]),
        score(1.0, 0.5, &[1.3, 1.3]),
    ];
    // The best is 1.25 with a standard error of 0.25: 1.4 is within, and of the same ratio.
    assert_eq!(choose(&table), (4, 3));
    let broken = [score(1.0, 2.0, &[f64::NAN, 1.0]), score(1.0, 1.0, &[3.0, 3.0])];
    assert_eq!(choose(&broken).0, 1);
}
