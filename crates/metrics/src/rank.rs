//! Ranks.

/// The rank of every value, from 1. Equal values get the mean of their ranks.
///
/// Values must not be NaN. O(n log n).
pub(crate) fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    // `==`, under which -0 and 0 are one value, as they lie next to one another in the order.
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        // The ranks before + 1 ..= before + len have this mean.
        let rank = before as f64 + (group.len() as f64 + 1.0) / 2.0;
        group.iter().for_each(|&i| ranks[i] = rank);
        before += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_middle() {
        assert_eq!(midranks(&[30.0, 10.0, 20.0, 10.0]), [4.0, 1.5, 3.0, 1.5]);
        assert_eq!(midranks(&[0.0, -0.0, -1.0]), [2.5, 2.5, 1.0]);
        assert!(midranks(&[]).is_empty());
    }
}
