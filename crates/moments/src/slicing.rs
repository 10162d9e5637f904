//! Slices: groups of samples with similar responses.
//!
//! The sliced methods replace the conditional mean `E(. given y)` by means over slices. A slice is an interval of responses. So equal
//! responses are never separated, and the order of the rows does not matter.
//!
//! | rule | slices | when |
//! |---|---|---|
//! | [`Slicing::Auto`] | `max(10, 2k + 2)` of equal counts, at most `n / 5` | the default |
//! | [`Slicing::EqualCount`] | ranks `h n / H` | continuous responses; all figures of D. Babichev, PhD thesis 2019 |
//! | [`Slicing::EqualWidth`] | equal intervals of `y` | responses whose scale means something |
//! | [`Slicing::Pairs`] | two neighbours each | the setting of theorem 2.1 in that thesis; 2 to 8 times the error of 10 slices |
//! | [`Slicing::DrCompatible`] | those of R's `dr` and Python's `sliced` | comparing with these |
//!
//! A response with at most `H` distinct values gets one slice per value, and classes get one slice per class. A slice with a single
//! sample is merged with its neighbour. Source: D. Babichev, PhD thesis 2019, section 2.3.1. The cost is O(n log n).

use fenchel_linalg::{Invalid, text};
use fenchel_optim::Refusal;
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// How the responses are cut into slices; see the [module](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slicing {
    /// Slices with equal counts. Their number follows from the number of directions.
    #[default]
    Auto,
    /// This many slices with the same number of samples each, up to ties.
    EqualCount(usize),
    /// This many intervals of the same width; empty ones are dropped.
    EqualWidth(usize),
    /// Pairs of neighbours; three in the last slice if `n` is odd.
    Pairs,
    /// The rule of the R package `dr`: a slice is closed as soon as it has `n / H` samples. The remaining samples may form one more,
    /// smaller slice.
    DrCompatible(usize),
}

/// Which slice each sample belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Slices {
    labels: Vec<u32>,
    counts: Vec<usize>,
    edges: Vec<f64>,
}

impl Slices {
    /// Slices of numeric responses. `components` is the number of directions to be found; only [`Slicing::Auto`] uses it.
    ///
    /// # Errors
    /// [`Error::ConstantResponse`]; [`Error::TooManySlices`]; [`Invalid::Parameter`] for fewer than two slices;
    /// [`Invalid::NonFinite`].
    pub fn new(y: &[f64], slicing: Slicing, components: usize) -> Result<Self, Error> {
        Invalid::check_finite("response", y)?;
        let mut sorted: Vec<u64> = y.iter().map(|&v| ordered(v)).collect();
        sorted.sort_unstable();
        let sorted: Vec<f64> = sorted.into_iter().map(unordered).collect();
        check_varied(&sorted, "number of samples")?;
        let ends = ends(&sorted, None, slicing, components)?;
        Ok(Slices::from_ends(y, &sorted, ends))
    }

    /// Slices of weighted samples: "equal counts" become equal sums of weights. Samples of weight 0 have no influence.
    ///
    /// # Errors
    /// As [`new`](Slices::new), and for weights that are negative or not one per sample. [`Error::Refused`] for
    /// [`Slicing::Pairs`] and [`Slicing::DrCompatible`], which count samples.
    pub fn weighted(
        y: &[f64],
        weights: &[f64],
        slicing: Slicing,
        components: usize,
    ) -> Result<Self, Error> {
        Invalid::check_length("weights", y.len(), weights.len())?;
        let weights = checked_weights(ArrayView1::from(weights))?;
        Invalid::check_finite("response", y)?;
        if matches!(slicing, Slicing::Pairs | Slicing::DrCompatible(_)) {
            let what = "weights: use equal counts, equal widths or classes";
            return Err(Refusal::unsupported("a slicing rule that counts samples", what).into());
        }
        let kept = y.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
        let mut pairs: Vec<(f64, f64)> = kept.map(|(&y, &w)| (y + 0.0, w)).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let sorted: Vec<f64> = pairs.iter().map(|p| p.0).collect();
        check_varied(&sorted, "number of samples with a weight above 0")?;
        let sums: Vec<f64> = pairs
            .iter()
            .scan(0.0, |sum, p| {
                *sum += p.1;
                Some(*sum)
            })
            .collect();
        let ends = ends(&sorted, Some(&sums), slicing, components)?;
        Ok(Slices::from_ends(y, &sorted, ends))
    }

    /// One slice per class. Classes without a sample are dropped; a class with one sample is kept.
    ///
    /// # Errors
    /// [`Error::ConstantResponse`] if there is only one class.
    pub fn of_classes(codes: &[f64]) -> Result<Self, Error> {
        Invalid::check_finite("response", codes)?;
        let mut distinct = codes.to_vec();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        if distinct.len() < 2 {
            return Err(Error::ConstantResponse {
                value: distinct.first().copied().unwrap_or(0.0),
            });
        }
        let edges = distinct[..distinct.len() - 1].to_vec();
        Ok(Slices::by_edges(codes, edges))
    }

    /// The upper edges, which assign new responses to slices: slice `h` holds `edges[h-1] < y <= edges[h]`.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Slices with given upper edges, ascending; the last slice has none. Empty slices are kept.
    pub fn by_edges(y: &[f64], edges: Vec<f64>) -> Self {
        let mut counts = vec![0; edges.len() + 1];
        let labels = y
            .iter()
            .map(|&y| {
                let h = slice_of(&edges, y);
                counts[h] += 1;
                h as u32
            })
            .collect();
        Slices { labels, counts, edges }
    }

    /// The slice of each sample.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The number of samples of each slice.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The number of slices.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Always false: there are at least two slices.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The samples of each slice.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members: Vec<Vec<usize>> =
            self.counts.iter().map(|&c| Vec::with_capacity(c)).collect();
        for (i, &h) in self.labels.iter().enumerate() {
            members[h as usize].push(i);
        }
        members
    }

    /// Refuses slices with a single sample, whose covariance does not exist.
    pub(crate) fn check_pairs(&self) -> Result<(), Error> {
        match self.counts.iter().position(|&c| c < 2) {
            None => Ok(()),
            Some(h) => Err(Refusal::unsupported(
                "the unbiased estimator",
                format!(
                    "slice {h} with {} sample; expected at least 2 in every slice: use slice means, or leave this class out",
                    self.counts[h]
                ),
            )
            .into()),
        }
    }

    /// From the ranks at which slices end (exclusive, the last being `n`).
    fn from_ends(y: &[f64], sorted: &[f64], mut ends: Vec<usize>) -> Self {
        let n = sorted.len();
        // A boundary inside a run of ties moves to its end.
        for end in &mut ends {
            while *end < n && sorted[*end] == sorted[*end - 1] {
                *end += 1;
            }
        }
        ends.dedup();
        if ends.last() != Some(&n) {
            ends.push(n);
        }
        merge_singles(sorted, &mut ends);
        if ends.len() == 1 {
            // Everything but the last run of ties, or the first run, makes a slice of its own.
            let first = sorted.iter().position(|&v| v != sorted[0]).unwrap_or(n);
            ends.insert(0, first);
        }
        let edges = ends[..ends.len() - 1].iter().map(|&end| sorted[end - 1]).collect();
        Slices::by_edges(y, edges)
    }
}

/// The slice of one response.
pub(crate) fn slice_of(edges: &[f64], y: f64) -> usize {
    edges.partition_point(|&edge| edge < y)
}

/// An integer key with the order of the floating-point numbers; -0 has the key of 0.
fn ordered(v: f64) -> u64 {
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

fn unordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// Refuses fewer than two numbers, and numbers that are all equal.
fn check_varied(sorted: &[f64], name: &'static str) -> Result<(), Error> {
    let n = sorted.len();
    if n < 2 {
        let expected = "at least 2";
        return Err(Invalid::Parameter { name, value: n as f64, expected }.into());
    }
    if sorted[0] == sorted[n - 1] {
        return Err(Error::ConstantResponse { value: sorted[0] });
    }
    Ok(())
}

/// Ranks at which slices end. `sums` are cumulated weights, for equal weights instead of equal counts.
fn ends(
    sorted: &[f64],
    sums: Option<&[f64]>,
    slicing: Slicing,
    components: usize,
) -> Result<Vec<usize>, Error> {
    let n = sorted.len();
    let check = |h: usize| -> Result<(), Error> {
        if h < 2 {
            let (name, value, expected) = ("number of slices", h as f64, "at least 2");
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        if h > n / 2 && (n > 3 || h > n) {
            return Err(Error::TooManySlices { slices: h, samples: n, most: (n / 2).max(2) });
        }
        Ok(())
    };
    let equal_count = |h: usize| -> Vec<usize> {
        let mut values = 1;
        for i in 1..n {
            values += usize::from(sorted[i] != sorted[i - 1]);
            if values > h {
                let end = |s: usize| match sums {
                    None => s * n / h,
                    // The last sum is reached up to rounding.
                    Some(sums) => {
                        let wanted = sums[n - 1] * (s as f64 / h as f64) * (1.0 + 1e-12);
                        sums.partition_point(|&sum| sum <= wanted)
                    }
                };
                return (1..=h).map(end).filter(|&end| end > 0).collect();
            }
        }
        (1..n).filter(|&i| sorted[i] != sorted[i - 1]).chain([n]).collect()
    };
    match slicing {
        Slicing::Auto => Ok(equal_count(
            components.saturating_mul(2).saturating_add(2).max(10).min(n / 5).max(2),
        )),
        Slicing::EqualCount(h) => {
            check(h)?;
            Ok(equal_count(h))
        }
        Slicing::EqualWidth(h) => {
            check(h)?;
            let (low, high) = (sorted[0], sorted[n - 1]);
            // Halves, because the difference of two finite numbers may overflow.
            let width = (0.5 * high - 0.5 * low) / h as f64;
            let mut ends: Vec<usize> = (1..h)
                .map(|s| low + 2.0 * (s as f64 * width))
                .map(|edge| sorted.partition_point(|&v| v <= edge))
                .filter(|&end| end > 0)
                .chain([n])
                .collect();
            ends.dedup();
            Ok(ends)
        }
        Slicing::Pairs => Ok((1..n / 2).map(|s| 2 * s).chain([n]).collect()),
        Slicing::DrCompatible(h) => {
            check(h)?;
            let m = n / h;
            let mut ends = vec![];
            let mut seen = 0;
            while seen + 2 < n {
                // The last sample of the slice takes all that tie with it.
                let mut end = (seen + m).min(n);
                while end < n && sorted[end] == sorted[end - 1] {
                    end += 1;
                }
                ends.push(end);
                seen = end;
            }
            match ends.last_mut() {
                Some(last) => *last = n,
                None => ends.push(n),
            }
            Ok(ends)
        }
    }
}

/// A slice with one sample joins the neighbour whose responses are nearer.
fn merge_singles(sorted: &[f64], ends: &mut Vec<usize>) {
    let n = sorted.len();
    let mut kept: Vec<usize> = Vec::with_capacity(ends.len());
    for &end in ends.iter() {
        let from = kept.last().copied().unwrap_or(0);
        if end - from >= 2 {
            kept.push(end);
            continue;
        }
        let below = if from == 0 { f64::INFINITY } else { sorted[from] - sorted[from - 1] };
        let above = if end == n { f64::INFINITY } else { sorted[end] - sorted[end - 1] };
        // Without an end of its own a sample belongs to the next slice.
        if above >= below && kept.pop().is_some() {
            kept.push(end);
        }
    }
    if kept.last() != Some(&n) {
        kept.push(n);
    }
    *ends = kept;
}

/// Weights, checked, one after the other.
pub(crate) fn checked_weights(weights: ArrayView1<f64>) -> Result<Vec<f64>, Error> {
    let weights = weights.to_vec();
    Invalid::check_weights("weights", weights.len(), weights.iter())?;
    let (sum, largest) = weights.iter().fold((0.0, 0.0_f64), |(s, m), w| (s + w, m.max(*w)));
    if !f64::is_finite(sum) || (largest > 0.0 && largest < 1e-290) {
        let reason = format!(
            "the largest is {}, the sum {}; multiply all so that the largest is near 1",
            text::short(largest),
            text::short(sum)
        );
        return Err(Invalid::Layout { what: "weights", reason }.into());
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(y: &[f64], slicing: Slicing) -> Vec<usize> {
        Slices::new(y, slicing, 1).unwrap().counts().to_vec()
    }

    #[test]
    fn equal_counts_differ_by_at_most_one() {
        let y: Vec<f64> = (0..23).map(|i| ((i * 7) % 23) as f64).collect();
        assert_eq!(counts(&y, Slicing::EqualCount(5)), [4, 5, 4, 5, 5]);
        assert_eq!(counts(&y, Slicing::Pairs), [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3]);
    }

    #[test]
    fn ties_stay_together() {
        let y = [1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        assert_eq!(counts(&y, Slicing::EqualCount(5)), [4, 2, 2, 2]);
        assert_eq!(counts(&[0.0, -0.0, 1.0, 1.0], Slicing::EqualCount(2)), [2, 2]);
        // One slice a value if there are few.
        assert_eq!(
            counts(&[3.0, 1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 3.0], Slicing::EqualCount(4)),
            [5, 3]
        );
        // Nearly all are equal: two slices all the same.
        assert_eq!(counts(&[1.0, 1.0, 1.0, 1.0, 1.0, 9.0], Slicing::EqualCount(3)), [5, 1]);
    }

    #[test]
    fn widths_are_equal_and_singles_join_the_nearer_side() {
        let y = [0.0, 0.1, 0.2, 4.0, 9.5, 9.8, 10.0];
        // Four samples in (0, 5], three in (5, 10]; with five slices 4.0 is alone, and nearer to 0.2.
        assert_eq!(counts(&y, Slicing::EqualWidth(2)), [4, 3]);
        assert_eq!(counts(&y, Slicing::EqualWidth(3)), [4, 3]);
    }

    #[test]
    fn the_rule_of_dr_leaves_a_small_slice() {
        let y: Vec<f64> = (0..203).map(f64::from).collect();
        assert_eq!(counts(&y, Slicing::DrCompatible(5)), [40, 40, 40, 40, 40, 3]);
        let y: Vec<f64> = (0..202).map(f64::from).collect();
        assert_eq!(counts(&y, Slicing::DrCompatible(5)), [40, 40, 40, 40, 42]);
    }

    #[test]
    fn the_order_of_integers_is_that_of_numbers() {
        let values = [f64::MIN, -1.0, -1e-300, 0.0, 5e-324, 1.0, f64::MAX];
        for pair in values.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]));
            assert_eq!(unordered(ordered(pair[0])), pair[0]);
        }
    }

    #[test]
    fn what_cannot_be_sliced_is_refused() {
        let refused = |y: &[f64], s| Slices::new(y, s, 1).unwrap_err().to_string();
        assert!(refused(&[2.0; 9], Slicing::Auto).contains("one unique response value (2)"));
        let four = [1.0, 2.0, 3.0, 4.0];
        assert!(refused(&four, Slicing::EqualCount(1)).contains("at least 2"));
        assert!(refused(&four, Slicing::EqualCount(3)).contains("at most 2 slices"));
        assert!(refused(&[1.0, f64::NAN], Slicing::Auto).contains("row 1"));
        assert!(Slices::of_classes(&[1.0, 1.0]).is_err());
    }
}
