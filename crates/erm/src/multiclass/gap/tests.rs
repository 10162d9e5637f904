use super::*;

#[test]
fn balanced_distributions_sum_to_the_counts() {
    let mut table = vec![0.2, 0.3, 0.5, 0.9, 0.1, 0.0, 0.6, 0.2, 0.2, 1.0, 0.0, 0.0];
    let counts = [1.0, 2.0, 1.0];
    let sum = |table: &[f64], k| table.iter().skip(k).step_by(3).sum::<f64>();
    let sums = [0, 1, 2].map(|k| sum(&table, k));
    balance(&mut table, &sums, &counts);
    for (k, count) in counts.into_iter().enumerate() {
        assert!((sum(&table, k) - count).abs() <= 1e-14);
    }
    for p in table.chunks_exact(3) {
        assert!(p.iter().all(|&p| p >= 0.0) && (p.iter().sum::<f64>() - 1.0).abs() <= 1e-15);
    }
}
