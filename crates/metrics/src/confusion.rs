//! Accuracy, the confusion matrix, and the scores computed from it.
//!
//! With `TP`, `FP`, `FN` the true positives, false positives and false negatives of a class:
//!
//! | score | formula |
//! |---|---|
//! | precision | `TP / (TP + FP)` |
//! | recall | `TP / (TP + FN)` |
//! | F1 | `2 TP / (2 TP + FP + FN)`, the harmonic mean of the two |
//!
//! A score with the denominator 0 is 0: a class that is never predicted has precision 0.

use std::collections::BTreeSet;

use crate::Error;
use crate::error::{check_pair, copied};
use crate::label::{Binary, Class, checked_classes, positives};

/// The fraction of predictions that equal the truth. O(n).
///
/// Works on labels of any type that can be compared: classes, signs, strings, a `String` with a `&str`.
///
/// ```
/// assert_eq!(fenchel_metrics::accuracy(&[1.0, -1.0, 1.0, 1.0], &[1.0, -1.0, -1.0, 1.0])?, 0.75);
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`]; [`Error::Value`] for a label that is not equal to itself, such as NaN.
pub fn accuracy<'t, 'p, T, P>(
    truth: impl IntoIterator<Item = &'t T>,
    predicted: impl IntoIterator<Item = &'p P>,
) -> Result<f64, Error>
where
    T: PartialEq + PartialEq<P> + ?Sized + 't,
    P: PartialEq + ?Sized + 'p,
{
    let truth: Vec<&T> = truth.into_iter().collect();
    let predicted: Vec<&P> = predicted.into_iter().collect();
    check_pair(&truth, &predicted, "predicted")?;
    check_comparable("truth", &truth)?;
    check_comparable("predicted", &predicted)?;
    let right = truth.iter().zip(&predicted).filter(|(t, p)| **t == **p).count();
    Ok(right as f64 / truth.len() as f64)
}

/// Checks that every label equals itself, so that a NaN does not count as a wrong label.
pub(crate) fn check_comparable<L: PartialEq>(
    what: &'static str,
    labels: &[L],
) -> Result<(), Error> {
    #[allow(clippy::eq_op)]
    let stray = labels.iter().position(|label| label != label);
    match stray {
        None => Ok(()),
        Some(index) => {
            Err(Error::Value { what, index, value: f64::NAN, expected: "a label, not NaN" })
        }
    }
}

/// Precision, recall and F1, each in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// The fraction of positive predictions that are correct.
    pub precision: f64,
    /// The fraction of positive samples that are predicted as positive.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
}

impl Scores {
    /// The scores from the numbers of true positives, false positives and false negatives. A score with denominator 0 is 0.
    pub fn from_counts(hits: u64, false_alarms: u64, misses: u64) -> Scores {
        let share =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Scores {
            precision: share(hits, hits + false_alarms),
            recall: share(hits, hits + misses),
            f1: share(2 * hits, 2 * hits + false_alarms + misses),
        }
    }
}

/// Precision, recall and F1 of the positive class of two classes. O(n).
///
/// ```
/// // Two hits, one false alarm, two misses.
/// let truth = [1.0, 1.0, 1.0, 1.0, -1.0, -1.0];
/// let predicted = [1.0, 1.0, -1.0, -1.0, 1.0, -1.0];
/// let scores = fenchel_metrics::binary_scores(&truth, &predicted)?;
/// assert_eq!((scores.precision, scores.recall, scores.f1), (2.0 / 3.0, 0.5, 4.0 / 7.0));
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`]; [`Error::Value`] for a value that is not a [`Binary`] label.
pub fn binary_scores<'t, 'p, T: Binary + 't, P: Binary + 'p>(
    truth: impl IntoIterator<Item = &'t T>,
    predicted: impl IntoIterator<Item = &'p P>,
) -> Result<Scores, Error> {
    let (truth, predicted) = (copied(truth), copied(predicted));
    check_pair(&truth, &predicted, "predicted")?;
    let truth = positives("truth", &truth)?;
    let predicted = positives("predicted", &predicted)?;
    let count = |t: bool, p: bool| {
        truth.iter().zip(&predicted).filter(|&(&a, &b)| (a, b) == (t, p)).count() as u64
    };
    Ok(Scores::from_counts(count(true, true), count(false, true), count(true, false)))
}

/// The confusion matrix: `k x k` counts, with one row per true class and one column per predicted class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    counts: Vec<u64>,
    classes: usize,
}

impl Confusion {
    /// Counts labels that are numbers from 0 to `classes - 1`, of any integer type. For names use [`Confusion::of_names`].
    /// O(n + k^2).
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Length`], [`Error::Class`] for a class out of range;
    /// [`Error::Parameter`] if there is no class, or too many for a matrix of counts.
    pub fn new<'t, 'p, T: Class + 't, P: Class + 'p>(
        truth: impl IntoIterator<Item = &'t T>,
        predicted: impl IntoIterator<Item = &'p P>,
        classes: usize,
    ) -> Result<Confusion, Error> {
        let (truth, predicted) = (copied(truth), copied(predicted));
        check_pair(&truth, &predicted, "predicted")?;
        let truth = checked_classes("truth", &truth, classes)?;
        let predicted = checked_classes("predicted", &predicted, classes)?;
        let mut counts = Vec::new();
        let reserved = classes.checked_mul(classes).map(|size| counts.try_reserve_exact(size));
        if classes == 0 || !matches!(reserved, Some(Ok(()))) {
            let expected = "at least 1, and few enough for a matrix of counts";
            return Err(Error::Parameter { name: "classes", value: classes, expected });
        }
        counts.resize(classes * classes, 0);
        for (t, p) in truth.into_iter().zip(predicted) {
            counts[t * classes + p] += 1;
        }
        Ok(Confusion { counts, classes })
    }

    /// Counts labels that are names. The names are returned sorted, and class `k` is the `k`-th of them. O(n log k + k^2).
    ///
    /// ```
    /// use fenchel_metrics::Confusion;
    ///
    /// let (truth, predicted) = (["cat", "dog", "dog"], ["cat", "cat", "dog"]);
    /// let (confusion, names) = Confusion::of_names(&truth, &predicted)?;
    /// assert_eq!(names, ["cat", "dog"]);
    /// assert_eq!(confusion.count(1, 0), 1);
    /// # Ok::<(), fenchel_metrics::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Length`]; [`Error::Parameter`] for too many names for a matrix of counts.
    pub fn of_names<'t, 'p, T: AsRef<str> + ?Sized + 't, P: AsRef<str> + ?Sized + 'p>(
        truth: impl IntoIterator<Item = &'t T>,
        predicted: impl IntoIterator<Item = &'p P>,
    ) -> Result<(Confusion, Vec<String>), Error> {
        let truth: Vec<&str> = truth.into_iter().map(AsRef::as_ref).collect();
        let predicted: Vec<&str> = predicted.into_iter().map(AsRef::as_ref).collect();
        let names: BTreeSet<&str> = truth.iter().chain(&predicted).copied().collect();
        let names: Vec<&str> = names.into_iter().collect();
        // Every label is among the names.
        let numbers = |labels: &[&str]| -> Vec<usize> {
            labels.iter().map(|label| names.binary_search(label).unwrap_or(usize::MAX)).collect()
        };
        let confusion = Confusion::new(&numbers(&truth), &numbers(&predicted), names.len())?;
        Ok((confusion, names.into_iter().map(str::to_owned).collect()))
    }

    /// The number of classes, `k`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The number of samples of class `truth` that were predicted as `predicted`; 0 for classes out of range.
    pub fn count(&self, truth: usize, predicted: usize) -> u64 {
        if truth < self.classes && predicted < self.classes {
            self.counts[truth * self.classes + predicted]
        } else {
            0
        }
    }

    /// The number of samples.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The fraction of samples on the diagonal.
    pub fn accuracy(&self) -> f64 {
        self.hits() as f64 / self.total() as f64
    }

    /// Precision, recall and F1 of one class against all others; zeros for a class out of range.
    pub fn scores(&self, class: usize) -> Scores {
        let hits = self.count(class, class);
        let (truly, predicted) = self.margins(class);
        Scores::from_counts(hits, predicted - hits, truly - hits)
    }

    /// Micro average: true positives, false positives and false negatives are summed over the classes first.
    ///
    /// Since every sample has one class and one prediction, all three scores equal the accuracy.
    pub fn micro(&self) -> Scores {
        let wrong = self.total() - self.hits();
        Scores::from_counts(self.hits(), wrong, wrong)
    }

    /// Macro average: the mean of the scores over the classes that occur in the truth or the predictions. Rare classes count as
    /// much as frequent ones.
    pub fn macro_average(&self) -> Scores {
        let mut sum = Scores { precision: 0.0, recall: 0.0, f1: 0.0 };
        let mut occurring = 0.0;
        for class in (0..self.classes).filter(|&class| self.margins(class) != (0, 0)) {
            let scores = self.scores(class);
            sum.precision += scores.precision;
            sum.recall += scores.recall;
            sum.f1 += scores.f1;
            occurring += 1.0;
        }
        // At least one class occurs: a matrix of no samples cannot be made.
        Scores {
            precision: sum.precision / occurring,
            recall: sum.recall / occurring,
            f1: sum.f1 / occurring,
        }
    }

    fn hits(&self) -> u64 {
        (0..self.classes).map(|class| self.count(class, class)).sum()
    }

    /// The number of samples of the class, and the number of predictions of the class.
    fn margins(&self, class: usize) -> (u64, u64) {
        let truly = (0..self.classes).map(|other| self.count(class, other)).sum();
        let predicted = (0..self.classes).map(|other| self.count(other, class)).sum();
        (truly, predicted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: class 0 twice right, once taken for 2; class 1 never right; class 2 once right; 3 absent.
    const TRUTH: [usize; 6] = [0, 0, 0, 1, 1, 2];
    const PREDICTED: [usize; 6] = [0, 0, 2, 0, 2, 2];

    fn close(found: Scores, expected: (f64, f64, f64)) {
        let found = (found.precision, found.recall, found.f1);
        for (a, b) in [(found.0, expected.0), (found.1, expected.1), (found.2, expected.2)] {
            assert!((a - b).abs() < 1e-15, "{found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn scores_by_hand() {
        let confusion = Confusion::new(&TRUTH, &PREDICTED, 4).unwrap();
        assert_eq!((confusion.total(), confusion.classes()), (6, 4));
        assert_eq!(
            (confusion.count(0, 2), confusion.count(2, 0), confusion.count(9, 0)),
            (1, 0, 0)
        );
        assert_eq!(confusion.accuracy(), 0.5);
        close(confusion.scores(0), (2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0));
        close(confusion.scores(1), (0.0, 0.0, 0.0));
        close(confusion.scores(2), (1.0 / 3.0, 1.0, 0.5));
        close(confusion.scores(3), (0.0, 0.0, 0.0));
        close(confusion.micro(), (0.5, 0.5, 0.5));
        // Class 3 occurs nowhere and does not count.
        close(confusion.macro_average(), (1.0 / 3.0, 5.0 / 9.0, 7.0 / 18.0));
    }

    #[test]
    fn bad_arguments_are_named() {
        let message = |truth: &[usize], predicted: &[usize], classes| {
            Confusion::new(truth, predicted, classes).unwrap_err().to_string()
        };
        assert_eq!(message(&[], &[], 2), "truth is empty");
        assert_eq!(message(&[0], &[0, 1], 2), "predicted: expected length 1, found 2");
        assert_eq!(message(&[0, 2], &[0, 1], 2), "truth[1] = 2; expected a class below 2");
        assert_eq!(message(&[0], &[5], 2), "predicted[0] = 5; expected a class below 2");
        assert!(message(&[0], &[0], usize::MAX).starts_with("classes = "));
        assert!(message(&[0], &[0], 1 << 31).starts_with("classes = 2147483648"));
        assert!(
            accuracy(&[1.0], &[f64::NAN]).unwrap_err().to_string().contains("predicted[0] = NaN")
        );
        assert!(accuracy::<u8, u8>(&[], &[]).is_err());
        assert!(binary_scores(&[3.0], &[1.0]).is_err());
    }

    #[test]
    fn accuracy_compares_anything() {
        assert_eq!(accuracy(&["a", "b"], &["a", "c"]).unwrap(), 0.5);
        assert_eq!(accuracy(&TRUTH, &PREDICTED).unwrap(), 0.5);
    }

    #[test]
    fn nothing_predicted_positive_scores_zero() {
        let scores = binary_scores(&[true, false], &[false, false]).unwrap();
        assert_eq!((scores.precision, scores.recall, scores.f1), (0.0, 0.0, 0.0));
    }
}
