//! Measures of predicted probabilities and scores.

use crate::Error;
use crate::error::{check_pair, check_values, copied};
use crate::label::{Binary, Class, checked_classes, positives};
use crate::rank::midranks;

/// Probabilities are clipped to `[EPSILON, 1 - EPSILON]` before the logarithm. So a certain prediction that is wrong costs `-ln
/// EPSILON`, about 36 nats, instead of infinity.
pub const LOG_LOSS_CLIP: f64 = f64::EPSILON;

/// Largest allowed difference of the sum of a sample's probabilities from one.
const SUM_TOLERANCE: f64 = 1e-6;

/// Mean negative log-likelihood of two-class labels, in nats. `probability` is the probability of the positive class, clipped
/// by [`LOG_LOSS_CLIP`]. O(n).
///
/// ```
/// let loss = fenchel_metrics::log_loss(&[1.0, -1.0], &[0.5, 0.5])?;
/// assert!((loss - 2f64.ln()).abs() < 1e-15);
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`]; [`Error::Value`] for a probability outside [0, 1] or NaN, and for a value that is not a
/// [`Binary`] label.
pub fn log_loss<'t, 'p, L: Binary + 't>(
    truth: impl IntoIterator<Item = &'t L>,
    probability: impl IntoIterator<Item = &'p f64>,
) -> Result<f64, Error> {
    let (truth, probability) = checked_probabilities(truth, probability)?;
    let loss = |(&positive, &p): (&bool, &f64)| clipped_log(if positive { p } else { 1.0 - p });
    Ok(-truth.iter().zip(&probability).map(loss).sum::<f64>() / truth.len() as f64)
}

/// The Brier score of two classes: the mean squared difference of probability and outcome (0 or 1). It is 0 for predictions
/// that are certain and right, and 1 for predictions that are certain and wrong. O(n).
///
/// # Errors
/// As [`log_loss`].
pub fn brier<'t, 'p, L: Binary + 't>(
    truth: impl IntoIterator<Item = &'t L>,
    probability: impl IntoIterator<Item = &'p f64>,
) -> Result<f64, Error> {
    let (truth, probability) = checked_probabilities(truth, probability)?;
    let squared = |(&positive, &p): (&bool, &f64)| (p - f64::from(positive)).powi(2);
    Ok(truth.iter().zip(&probability).map(squared).sum::<f64>() / truth.len() as f64)
}

/// Mean negative log-likelihood of classes, in nats. `probabilities` has one row of `classes` numbers per sample, row after
/// row, as `&Array2` does. The probability of the true class is clipped by [`LOG_LOSS_CLIP`]. O(nk).
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`], [`Error::Class`]; [`Error::Value`] for a probability outside
/// [0, 1] or NaN, and, with the position of its first entry, for a row that does not sum to 1 within
/// 1e-6.
pub fn log_loss_multiclass<'t, 'p, C: Class + 't>(
    truth: impl IntoIterator<Item = &'t C>,
    probabilities: impl IntoIterator<Item = &'p f64>,
    classes: usize,
) -> Result<f64, Error> {
    const WHAT: &str = "probabilities";
    let (truth, probabilities) = (copied(truth), copied(probabilities));
    if truth.is_empty() {
        return Err(Error::Empty { what: "truth" });
    }
    // A length that does not fit `usize` cannot be the length of a slice either.
    let expected = truth.len().saturating_mul(classes);
    if probabilities.len() != expected {
        return Err(Error::Length { what: WHAT, expected, found: probabilities.len() });
    }
    let truth = checked_classes("truth", &truth, classes)?;
    check_values(WHAT, &probabilities, "a probability", is_probability)?;
    let mut sum = 0.0;
    // check_classes has seen a class below `classes`, so there is at least one.
    for (row, (&class, p)) in truth.iter().zip(probabilities.chunks_exact(classes)).enumerate() {
        let total: f64 = p.iter().sum();
        if (total - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::Value {
                what: "sum of the row of probabilities from",
                index: row * classes,
                value: total,
                expected: "1",
            });
        }
        sum -= clipped_log(p[class]);
    }
    Ok(sum / truth.len() as f64)
}

/// Area under the ROC curve: the probability that a positive sample has a higher score than a negative one, where ties count
/// one half. O(n log n).
///
/// It is computed from the sum of the ranks of the positive samples, where tied scores have their mean rank (the statistic of
/// Mann and Whitney). Only the order of the scores matters, not their scale.
///
/// ```
/// // Of four pairs of a positive and a negative three are in order.
/// let area = fenchel_metrics::roc_auc(&[0, 0, 1, 1], &[0.1, 0.4, 0.35, 0.8])?;
/// assert_eq!(area, 0.75);
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`]; [`Error::SingleClass`] if there is no pair to compare; [`Error::Value`] for a score
/// that is NaN (infinite scores are allowed), or for a value that is not a [`Binary`] label.
pub fn roc_auc<'t, 's, L: Binary + 't>(
    truth: impl IntoIterator<Item = &'t L>,
    scores: impl IntoIterator<Item = &'s f64>,
) -> Result<f64, Error> {
    let (truth, scores) = (copied(truth), copied(scores));
    check_pair(&truth, &scores, "scores")?;
    let truth = positives("truth", &truth)?;
    check_values("scores", &scores, "a number", |score| !score.is_nan())?;
    let positive = truth.iter().filter(|&&positive| positive).count() as f64;
    let negative = truth.len() as f64 - positive;
    if positive == 0.0 || negative == 0.0 {
        return Err(Error::SingleClass { positive: negative == 0.0 });
    }
    let ranks = midranks(&scores);
    let sum: f64 =
        ranks.iter().zip(&truth).filter(|(_, positive)| **positive).map(|(r, _)| r).sum();
    Ok((sum - positive * (positive + 1.0) / 2.0) / (positive * negative))
}

fn checked_probabilities<'t, 'p, L: Binary + 't>(
    truth: impl IntoIterator<Item = &'t L>,
    probability: impl IntoIterator<Item = &'p f64>,
) -> Result<(Vec<bool>, Vec<f64>), Error> {
    let (truth, probability) = (copied(truth), copied(probability));
    check_pair(&truth, &probability, "probability")?;
    check_values("probability", &probability, "a probability", is_probability)?;
    Ok((positives("truth", &truth)?, probability))
}

fn is_probability(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}

fn clipped_log(p: f64) -> f64 {
    p.clamp(LOG_LOSS_CLIP, 1.0 - LOG_LOSS_CLIP).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{found}, {expected}");
    }

    #[test]
    fn log_loss_and_brier_by_hand() {
        let truth = [true, false, true];
        let p = [0.75, 0.5, 0.25];
        // (ln 4/3 + ln 2 + ln 4) / 3 and (1/16 + 1/4 + 9/16) / 3
        close(log_loss(&truth, &p).unwrap(), (32.0f64 / 3.0).ln() / 3.0);
        close(brier(&truth, &p).unwrap(), 0.875 / 3.0);
    }

    #[test]
    fn a_wrong_certainty_is_dear_but_finite() {
        let loss = log_loss(&[1.0, -1.0], &[0.0, 1.0]).unwrap();
        // -ln(2^-52), and -ln(1 - (1 - 2^-52)) is the same.
        close(loss, 52.0 * 2f64.ln());
        assert!(log_loss(&[true], &[1.0]).unwrap() < 1e-15);
    }

    #[test]
    fn two_classes_are_a_case_of_many() {
        let truth = [1usize, 0, 1, 1];
        let p = [0.9, 0.2, 0.6, 0.31];
        let rows: Vec<f64> = p.iter().flat_map(|p| [1.0 - p, *p]).collect();
        close(log_loss_multiclass(&truth, &rows, 2).unwrap(), log_loss(&truth, &p).unwrap());
        let thirds = [1.0 / 3.0; 6];
        close(log_loss_multiclass(&[0, 2], &thirds, 3).unwrap(), 3f64.ln());
    }

    #[test]
    fn area_of_ties_infinities_and_perfect_scores() {
        assert_eq!(roc_auc(&[false, true], &[f64::NEG_INFINITY, f64::INFINITY]).unwrap(), 1.0);
        assert_eq!(roc_auc(&[true, false], &[1.0, 2.0]).unwrap(), 0.0);
        assert_eq!(roc_auc(&[true, false, true, false], &[7.0; 4]).unwrap(), 0.5);
        // Pairs: 2 > 1, 2 = 2 (half), 3 > 1, 3 > 2.
        assert_eq!(roc_auc(&[-1.0, -1.0, 1.0, 1.0], &[1.0, 2.0, 2.0, 3.0]).unwrap(), 0.875);
    }

    #[test]
    fn bad_arguments_are_named() {
        let text = |result: Result<f64, Error>| result.unwrap_err().to_string();
        assert_eq!(
            text(roc_auc(&[true], &[0.1])),
            "all labels are positive; expected both classes to occur"
        );
        assert!(text(roc_auc(&[-1, -1], &[0.1, 0.2])).starts_with("all labels are negative"));
        assert_eq!(text(roc_auc(&[1, 0], &[0.1, f64::NAN])), "scores[1] = NaN; expected a number");
        assert_eq!(text(roc_auc::<bool>(&[], &[])), "truth is empty");
        assert_eq!(text(log_loss(&[true], &[1.5])), "probability[0] = 1.5; expected a probability");
        assert!(text(brier(&[true], &[f64::NAN])).starts_with("probability[0] = NaN"));
        assert_eq!(text(log_loss(&[true], &[])), "probability: expected length 1, found 0");
        assert!(text(log_loss_multiclass(&[0], &[0.5, 0.6], 2)).ends_with("= 1.1; expected 1"));
        assert!(text(log_loss_multiclass(&[2], &[0.5, 0.5], 2)).starts_with("truth[0] = 2"));
        assert!(text(log_loss_multiclass(&[0], &[], 0)).starts_with("truth[0] = 0"));
        assert!(text(log_loss_multiclass(&[0, 1], &[1.0], 2)).contains("length 4, found 1"));
    }
}
