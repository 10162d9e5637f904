//! Splits into training and test samples for cross-validation. A seed gives the same splits on every machine.
//!
//! | function | folds are balanced in | use |
//! |---|---|---|
//! | [`k_fold`] | size | regression |
//! | [`stratified_k_fold`] | size, and the number of samples of every class | classification |
//! | [`train_test_split`] | – | a single split, by the fraction of test samples |

use crate::Error;
use crate::confusion::check_comparable;

/// Indices of the training samples and of the test samples, both ascending from 0.
pub type Split = (Vec<usize>, Vec<usize>);

/// Divides `0..samples` at random into `folds` parts, and uses each in turn as the test set. The sizes of the parts differ by
/// at most one, and every sample is tested once. O(n k).
///
/// ```
/// for (train, test) in fenchel_metrics::k_fold(10, 5, 1)? {
///     assert_eq!((train.len(), test.len()), (8, 2));
/// }
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
///
/// # Errors
/// [`Error::Folds`] unless `2 <= folds <= samples`.
pub fn k_fold(samples: usize, folds: usize, seed: u64) -> Result<Vec<Split>, Error> {
    check_folds(samples, folds)?;
    let mut order: Vec<usize> = (0..samples).collect();
    shuffle(&mut order, &mut SplitMix64 { state: seed });
    Ok(deal(&order, folds))
}

/// Does the same as [`k_fold`], with parts that are also balanced in the classes: the numbers of samples of a class in any two
/// parts differ by at most one. O(n (k + log n)).
///
/// A class with fewer samples than folds is absent from some parts. Labels may be classes, signs or
/// anything else that is ordered.
///
/// # Errors
/// [`Error::Folds`] unless `2 <= folds <= labels.len()`; [`Error::Value`] for a label that is not equal to itself, such as
/// NaN.
pub fn stratified_k_fold<'l, L: PartialOrd + ?Sized + 'l>(
    labels: impl IntoIterator<Item = &'l L>,
    folds: usize,
    seed: u64,
) -> Result<Vec<Split>, Error> {
    let labels: Vec<&L> = labels.into_iter().collect();
    check_folds(labels.len(), folds)?;
    check_comparable("labels", &labels)?;
    let mut order: Vec<usize> = (0..labels.len()).collect();
    // Stable, so that the order within a class does not depend on the sorting algorithm. Labels
    // that a partial order leaves incomparable stay where they are.
    order.sort_by(|&a, &b| labels[a].partial_cmp(labels[b]).unwrap_or(std::cmp::Ordering::Equal));
    let mut draws = SplitMix64 { state: seed };
    for class in order.chunk_by_mut(|&a, &b| labels[a] == labels[b]) {
        shuffle(class, &mut draws);
    }
    // Dealt one after the other: a class of m samples gives each part m / folds or one more, and as
    // the next class goes on where this one ended, sizes stay balanced too.
    Ok(deal(&order, folds))
}

/// Chooses a random test set of `share * samples` samples, rounded. The training set and the test set have at least one sample
/// each. O(n).
///
/// For a test set with the same fraction of every class, take the first of [`stratified_k_fold`] with `1 / share` folds.
///
/// ```
/// let (train, test) = fenchel_metrics::train_test_split(1000, 0.25, 1)?;
/// assert_eq!((train.len(), test.len()), (750, 250));
/// # Ok::<(), fenchel_metrics::Error>(())
/// ```
///
/// # Errors
/// [`Error::Value`] unless `0 < share < 1`; [`Error::Parameter`] for fewer than two samples.
pub fn train_test_split(samples: usize, share: f64, seed: u64) -> Result<Split, Error> {
    if !(share > 0.0 && share < 1.0) {
        let (what, expected) = ("share", "between 0 and 1");
        return Err(Error::Value { what, index: 0, value: share, expected });
    }
    if samples < 2 {
        return Err(Error::Parameter { name: "samples", value: samples, expected: "at least 2" });
    }
    let mut order: Vec<usize> = (0..samples).collect();
    shuffle(&mut order, &mut SplitMix64 { state: seed });
    let test = ((share * samples as f64).round() as usize).clamp(1, samples - 1);
    let mut train = order.split_off(test);
    train.sort_unstable();
    order.sort_unstable();
    Ok((train, order))
}

/// Gives position `j` of the order to part `j mod folds`.
fn deal(order: &[usize], folds: usize) -> Vec<Split> {
    let mut part_of = vec![0; order.len()];
    for (j, &sample) in order.iter().enumerate() {
        part_of[sample] = j % folds;
    }
    (0..folds).map(|part| (0..order.len()).partition(|&sample| part_of[sample] != part)).collect()
}

fn check_folds(samples: usize, folds: usize) -> Result<(), Error> {
    if (2..=samples).contains(&folds) { Ok(()) } else { Err(Error::Folds { folds, samples }) }
}

/// SplitMix64 (Steele, Lea and Flood 2014), a small generator for the shuffles.
struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A uniform number in `0..bound`, with a negligible bias of `bound / 2^64`.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// The shuffle of Fisher and Yates.
fn shuffle(items: &mut [usize], draws: &mut SplitMix64) {
    for last in (1..items.len()).rev() {
        items.swap(last, draws.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_depend_on_the_seed_and_on_nothing_else() {
        assert_eq!(k_fold(50, 4, 3).unwrap(), k_fold(50, 4, 3).unwrap());
        assert_ne!(k_fold(50, 4, 3).unwrap(), k_fold(50, 4, 4).unwrap());
    }

    #[test]
    fn every_sample_is_as_likely_in_every_part() {
        let (samples, folds, trials) = (5, 2, 4000);
        let mut tested = vec![0u32; samples];
        for seed in 0..trials {
            k_fold(samples, folds, seed).unwrap()[0].1.iter().for_each(|&i| tested[i] += 1);
        }
        // The first part has 3 of 5; five standard deviations of a binomial count.
        let (mean, deviation) = (0.6 * trials as f64, (0.24 * trials as f64).sqrt());
        for count in tested {
            assert!((f64::from(count) - mean).abs() < 5.0 * deviation, "{count}");
        }
    }

    #[test]
    fn a_split_covers_every_sample_once() {
        for (samples, share, expected) in [(10, 0.3, 3), (2, 0.01, 1), (7, 0.99, 6)] {
            let (train, test) = train_test_split(samples, share, 5).unwrap();
            assert_eq!(test.len(), expected);
            assert!(train.is_sorted() && test.is_sorted());
            let mut all = [train, test].concat();
            all.sort_unstable();
            assert_eq!(all, (0..samples).collect::<Vec<_>>());
        }
        // Either of two samples is as likely to be tested.
        let firsts = (0..1000).filter(|&seed| train_test_split(2, 0.5, seed).unwrap().1 == [0]);
        assert!((421..=579).contains(&firsts.count()));
    }

    #[test]
    fn bad_arguments_are_named() {
        let text = |result: Result<Vec<Split>, Error>| result.unwrap_err().to_string();
        let expected = "folds = 1; expected at least 2 and at most 10, the number of samples";
        assert_eq!(text(k_fold(10, 1, 0)), expected);
        let split = |samples, share| train_test_split(samples, share, 0).unwrap_err().to_string();
        assert!(
            split(10, 1.0).contains("share") && split(10, f64::NAN).contains("between 0 and 1")
        );
        assert!(split(1, 0.5).starts_with("samples = 1"));
        assert!(text(k_fold(3, 4, 0)).starts_with("folds = 4"));
        let expected = "folds = 2, samples = 0; expected at least 2 samples";
        assert_eq!(text(k_fold(0, 2, 0)), expected);
        assert!(text(stratified_k_fold::<f64>(&[], 2, 0)).starts_with("folds = 2"));
        assert!(text(stratified_k_fold(&[1.0, f64::NAN], 2, 0)).starts_with("labels[1] = NaN"));
    }
}
