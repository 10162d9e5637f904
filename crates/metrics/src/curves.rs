//! Curves of scores and probabilities.

use crate::Error;
use crate::error::{check_pair, check_values};
use crate::label::{Binary, positives};

/// Rows by falling score, as counts of true and false positives down to each distinct score, from `(0, 0)`.
fn counts<L: Binary>(truth: &[L], scores: &[f64]) -> Result<Vec<(f64, f64)>, Error> {
    check_pair(truth, scores, "scores")?;
    let positive = positives("truth", truth)?;
    check_values("scores", scores, "a number", |score| !score.is_nan())?;
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut points = vec![(0.0, 0.0)];
    let (mut hits, mut misses) = (0.0, 0.0);
    for (k, &row) in order.iter().enumerate() {
        if positive[row] {
            hits += 1.0
        } else {
            misses += 1.0
        }
        // Rows of one score are found together.
        if order.get(k + 1).is_none_or(|&next| scores[next] != scores[row]) {
            points.push((hits, misses));
        }
    }
    if hits == 0.0 || misses == 0.0 {
        return Err(Error::SingleClass { positive: misses == 0.0 });
    }
    Ok(points)
}

/// The ROC curve: the share of negatives and of positives with a score of at least each threshold, from `(0, 0)` to `(1, 1)`. The area
/// under it is [`roc_auc`](crate::roc_auc). O(n log n).
///
/// # Errors
/// As [`roc_auc`](crate::roc_auc).
pub fn roc_curve<L: Binary>(truth: &[L], scores: &[f64]) -> Result<Vec<(f64, f64)>, Error> {
    let points = counts(truth, scores)?;
    let (hits, misses) = points[points.len() - 1];
    Ok(points.into_iter().map(|(t, f)| (f / misses, t / hits)).collect())
}

/// Pairs of recall and precision, by falling thresholds. The last has recall 1 and as precision the share of positives. O(n log n).
///
/// # Errors
/// As [`roc_auc`](crate::roc_auc).
pub fn precision_recall<L: Binary>(truth: &[L], scores: &[f64]) -> Result<Vec<(f64, f64)>, Error> {
    let points = counts(truth, scores)?;
    let hits = points[points.len() - 1].0;
    Ok(points[1..].iter().map(|(t, f)| (t / hits, t / (t + f))).collect())
}

/// Rows in groups of about equal size by rising predicted probability: the mean prediction, the share of positives, and the number of rows
/// of each. The two are equal in the mean for a calibrated classifier. There are as many groups as rows at most. O(n log n).
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`]; [`Error::Value`] for a probability outside [0, 1] or NaN, and for a value that is not a
/// [`Binary`] label; [`Error::Parameter`] for no group.
pub fn calibration<L: Binary>(
    truth: &[L],
    probability: &[f64],
    groups: usize,
) -> Result<Vec<(f64, f64, usize)>, Error> {
    check_pair(truth, probability, "probability")?;
    let positive = positives("truth", truth)?;
    check_values("probability", probability, "a probability", |p| (0.0..=1.0).contains(&p))?;
    if groups == 0 {
        return Err(Error::Parameter { name: "groups", value: 0, expected: "at least 1" });
    }
    let mut order: Vec<usize> = (0..probability.len()).collect();
    order.sort_by(|&a, &b| probability[a].total_cmp(&probability[b]));
    let (n, groups) = (order.len(), groups.min(order.len()));
    let group = |k: usize| {
        let rows = &order[k * n / groups..(k + 1) * n / groups];
        let mean = |value: &dyn Fn(usize) -> f64| {
            rows.iter().map(|&row| value(row)).sum::<f64>() / rows.len() as f64
        };
        (mean(&|row| probability[row]), mean(&|row| f64::from(positive[row])), rows.len())
    };
    Ok((0..groups).map(group).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roc_auc;

    #[test]
    fn the_area_under_the_curve_is_the_auc() {
        let truth = [false, true, false, true, true, false, true];
        let scores = [0.1, 0.4, 0.4, 0.8, 0.3, 0.3, f64::INFINITY];
        let curve = roc_curve(&truth, &scores).unwrap();
        let area: f64 = curve.windows(2).map(|w| (w[1].0 - w[0].0) * 0.5 * (w[1].1 + w[0].1)).sum();
        assert!((area - roc_auc(&truth, &scores).unwrap()).abs() < 1e-15);
        assert_eq!((curve[0], curve[curve.len() - 1]), ((0.0, 0.0), (1.0, 1.0)));
        assert_eq!(roc_curve(&[true], &[0.5]).unwrap_err(), Error::SingleClass { positive: true });
    }

    #[test]
    fn precision_and_recall_by_hand() {
        let curve = precision_recall(&[1, 0, 1, 0], &[0.9, 0.8, 0.7, 0.1]).unwrap();
        assert_eq!(curve, [(0.5, 1.0), (0.5, 0.5), (1.0, 2.0 / 3.0), (1.0, 0.5)]);
    }

    #[test]
    fn groups_of_probabilities_by_hand() {
        let found = calibration(&[1, 0, 0, 1], &[0.75, 0.25, 0.0, 0.5], 2).unwrap();
        assert_eq!(found, [(0.125, 0.0, 2), (0.625, 1.0, 2)]);
        assert_eq!(calibration(&[1], &[0.5], 9).unwrap().len(), 1);
        assert!(calibration(&[1], &[1.5], 2).is_err() && calibration(&[1], &[0.5], 0).is_err());
    }
}
