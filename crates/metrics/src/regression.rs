//! Error measures of predicted numbers.

use crate::Error;
use crate::error::{check_finite, check_pair, copied};
use crate::rank::midranks;

/// Mean absolute error, in the unit of the targets. O(n).
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`], [`Error::Value`] for NaN and infinities.
pub fn mean_absolute_error<'t, 'p>(
    truth: impl IntoIterator<Item = &'t f64>,
    predicted: impl IntoIterator<Item = &'p f64>,
) -> Result<f64, Error> {
    let (truth, predicted) = checked(truth, predicted)?;
    Ok(mean(truth.iter().zip(&predicted).map(|(t, p)| (t - p).abs()), truth.len()))
}

/// Mean squared error, in the squared unit of the targets. O(n).
///
/// # Errors
/// As [`mean_absolute_error`].
pub fn mean_squared_error<'t, 'p>(
    truth: impl IntoIterator<Item = &'t f64>,
    predicted: impl IntoIterator<Item = &'p f64>,
) -> Result<f64, Error> {
    let (truth, predicted) = checked(truth, predicted)?;
    Ok(mean(truth.iter().zip(&predicted).map(|(t, p)| (t - p).powi(2)), truth.len()))
}

/// Coefficient of determination, `1 - sum (t - p)^2 / sum (t - mean t)^2`: the fraction of the variance of the targets that the
/// predictions explain. It is 1 for perfect predictions, 0 for predictions as good as the mean, and negative for worse ones.
/// O(n).
///
/// ```
/// let r2 = fenchel_metrics::r2(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0])?;
/// assert_eq!(r2, 0.5);
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
///
/// # Errors
/// As [`mean_absolute_error`], and [`Error::Constant`] if all targets are equal.
pub fn r2<'t, 'p>(
    truth: impl IntoIterator<Item = &'t f64>,
    predicted: impl IntoIterator<Item = &'p f64>,
) -> Result<f64, Error> {
    let (truth, predicted) = checked(truth, predicted)?;
    check_spread("truth", &truth)?;
    let centre = mean(truth.iter().copied(), truth.len());
    let left: f64 = truth.iter().zip(&predicted).map(|(t, p)| (t - p).powi(2)).sum();
    let total: f64 = truth.iter().map(|t| (t - centre).powi(2)).sum();
    Ok(1.0 - left / total)
}

/// Spearman's rank correlation, from -1 to 1: the correlation of the ranks, where equal values have their mean rank. It does
/// not change under increasing maps of either argument. O(n log n).
///
/// # Errors
/// As [`mean_absolute_error`], and [`Error::Constant`] if all entries of one argument are equal.
pub fn spearman<'t, 'p>(
    truth: impl IntoIterator<Item = &'t f64>,
    predicted: impl IntoIterator<Item = &'p f64>,
) -> Result<f64, Error> {
    let (truth, predicted) = checked(truth, predicted)?;
    check_spread("truth", &truth)?;
    check_spread("predicted", &predicted)?;
    // Midranks of n values always have the mean (n + 1) / 2, which is exact.
    let centre = (truth.len() as f64 + 1.0) / 2.0;
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (a, b) in midranks(&truth).into_iter().zip(midranks(&predicted)) {
        let (a, b) = (a - centre, b - centre);
        both += a * b;
        first += a * a;
        second += b * b;
    }
    Ok((both / (first * second).sqrt()).clamp(-1.0, 1.0))
}

fn checked<'t, 'p>(
    truth: impl IntoIterator<Item = &'t f64>,
    predicted: impl IntoIterator<Item = &'p f64>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let (truth, predicted) = (copied(truth), copied(predicted));
    check_pair(&truth, &predicted, "predicted")?;
    check_finite("truth", &truth)?;
    check_finite("predicted", &predicted)?;
    Ok((truth, predicted))
}

fn check_spread(what: &'static str, values: &[f64]) -> Result<(), Error> {
    match values {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => {
            Err(Error::Constant { what, value: *first })
        }
        _ => Ok(()),
    }
}

fn mean(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        let (truth, predicted) = ([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]);
        assert_eq!(mean_absolute_error(&truth, &predicted).unwrap(), 0.5);
        assert_eq!(mean_squared_error(&truth, &predicted).unwrap(), 0.375);
        // sum (t - p)^2 = 1.5, mean 2.875, sum (t - mean)^2 = 29.1875
        assert!((r2(&truth, &predicted).unwrap() - (1.0 - 1.5 / 29.1875)).abs() < 1e-15);
    }

    #[test]
    fn predicting_the_mean_explains_nothing() {
        assert_eq!(r2(&[1.0, 2.0, 6.0], &[3.0; 3]).unwrap(), 0.0);
        assert_eq!(r2(&[1.0, 2.0, 6.0], &[1.0, 2.0, 6.0]).unwrap(), 1.0);
    }

    #[test]
    fn rank_correlation_by_hand() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[1.0, 10.0, 1e9]).unwrap(), 1.0);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[5.0, 4.0, -7.0]).unwrap(), -1.0);
        // Without ties 1 - 6 sum d^2 / (n (n^2 - 1)): d = (0, 1, -1, 0), so 1 - 12/60.
        assert!(
            (spearman(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).unwrap() - 0.8).abs() < 1e-15
        );
        // Ranks 1, 2, 3 against 1.5, 1.5, 3: covariance 1.5, variances 2 and 1.5.
        let tied = spearman(&[1.0, 2.0, 3.0], &[0.0, 0.0, 1.0]).unwrap();
        assert!((tied - 1.5 / 3f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn bad_arguments_are_named() {
        let text = |result: Result<f64, Error>| result.unwrap_err().to_string();
        assert_eq!(
            text(r2(&[2.0, 2.0], &[1.0, 2.0])),
            "all entries of truth are 2; expected at least two values"
        );
        assert!(
            text(spearman(&[1.0, 2.0], &[3.0, 3.0])).starts_with("all entries of predicted are 3")
        );
        assert!(text(r2(&[1.0], &[1.0])).starts_with("all entries of truth"));
        assert_eq!(
            text(mean_squared_error(&[1.0, f64::NAN], &[0.0; 2])),
            "truth[1] = NaN; expected a finite number"
        );
        assert!(
            text(mean_absolute_error(&[1.0], &[f64::INFINITY])).starts_with("predicted[0] = inf")
        );
        assert_eq!(text(mean_absolute_error(&[], &[])), "truth is empty");
        assert_eq!(text(r2(&[1.0], &[])), "predicted: expected length 1, found 0");
    }
}
