//! A sample has the result of one method as one number per random seed. The functions of this module compare two samples.
//!
//! A document that says "A is faster than B" claims an order, not a ratio. The experiment tests the order with at least three
//! seeds, and A must win with every seed. The experiment also tests that B works: B must improve on its starting point, or
//! come close to a reference value. Otherwise A would win against a broken method.
//!
//! ```
//! use fenchel_experiments::Sample;
//!
//! // F - F* after 20 passes, three seeds; both began at 0.69.
//! let permuted = Sample::over_seeds(vec![2e-9, 3e-9, 1e-9])?;
//! let random = Sample::over_seeds(vec![4e-5, 7e-5, 5e-5])?;
//! let judged = permuted.below(&random).and(random.past_start(0.69, 100.0));
//! assert!(judged.holds);
//! # Ok::<(), fenchel_experiments::Failure>(())
//! ```

use crate::Failure;
use crate::claim::{Judged, Measured};
use crate::number::short;

/// The smallest number of seeds for a claim about an order.
pub const SEEDS: usize = 3;

/// The results of one method: one number per seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
}

impl Sample {
    /// The sample of a random method: one number per seed, in the order of the seeds.
    ///
    /// # Errors
    /// A [`Failure`] for fewer than [`SEEDS`] numbers.
    pub fn over_seeds(values: Vec<f64>) -> Result<Self, Failure> {
        if values.len() < SEEDS {
            let found = values.len();
            return Err(Failure::new(format!(
                "an order needs {SEEDS} seeds or more, found {found}"
            )));
        }
        Ok(Sample { values })
    }

    /// The sample of a deterministic method, with a single number.
    pub fn exact(value: f64) -> Self {
        Sample { values: vec![value] }
    }

    /// The numbers, in the order of the seeds.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The median. For an even count it is the lower of the two middle numbers. NaN counts as the largest number.
    pub fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() - 1) / 2]
    }

    /// The pairs of numbers with the same seed. The number of a deterministic method is paired with every number of the other.
    fn pairs<'s>(&'s self, other: &'s Sample) -> impl Iterator<Item = (f64, f64)> + 's {
        let count = self.values.len().max(other.values.len());
        let at = |sample: &Sample, k: usize| sample.values[k.min(sample.values.len() - 1)];
        (0..count).map(move |k| (at(self, k), at(other, k)))
    }

    /// Tests that this number is smaller than the other for every seed.
    pub fn below(&self, other: &Sample) -> Judged {
        self.at_most_times(1.0, other, |a, b| a < b)
    }

    /// Tests that this number is at most `factor` times the other for every seed.
    pub fn at_most(&self, factor: f64, other: &Sample) -> Judged {
        self.at_most_times(factor, other, |a, b| a <= b)
    }

    /// Tests that the other number is at least `factor` times this one for every seed ("far ahead").
    pub fn ahead_by(&self, factor: f64, other: &Sample) -> Judged {
        self.at_most_times(1.0 / factor, other, |a, b| a <= b)
    }

    /// A method that never reached its target has an infinite number, which is larger than every finite one. NaN satisfies no
    /// comparison.
    fn at_most_times(&self, factor: f64, other: &Sample, ahead: fn(f64, f64) -> bool) -> Judged {
        let count = self.pairs(other).count();
        let agree =
            self.pairs(other).filter(|&(a, b)| a.is_finite() && ahead(a, factor * b)).count();
        let text = format!("{} against {}", short(self.median()), short(other.median()));
        let text = if count == 1 { text } else { format!("{text} ({agree} of {count} seeds)") };
        Judged { measured: Measured(text), holds: agree == count }
    }

    /// Tests that the ratio of the two numbers is at most `factor`, in either direction, for every seed ("similar").
    pub fn within(&self, factor: f64, other: &Sample) -> Judged {
        let alike = |(a, b): (f64, f64)| {
            a.is_finite() && b.is_finite() && a > 0.0 && b > 0.0 && a.max(b) <= factor * a.min(b)
        };
        let (count, agree) =
            (self.pairs(other).count(), self.pairs(other).filter(|&p| alike(p)).count());
        let text = format!("{} and {}", short(self.median()), short(other.median()));
        let text = if count == 1 { text } else { format!("{text} ({agree} of {count} seeds)") };
        Judged { measured: Measured(text), holds: agree == count }
    }

    /// Tests that the worse method of a comparison works: for every seed its number is within a factor of `reference`. The
    /// reference comes from an independent implementation or a closed formula.
    pub fn near(&self, reference: f64, factor: f64) -> Judged {
        let judged = self.within(factor, &Sample::exact(reference));
        Judged {
            measured: Measured(format!(
                "{} (reference {})",
                short(self.median()),
                short(reference)
            )),
            ..judged
        }
    }

    /// Tests that the worse method of a comparison works: for every seed its number is at most `start / factor`.
    pub fn past_start(&self, start: f64, factor: f64) -> Judged {
        let past = |&v: &f64| v.is_finite() && v <= start / factor;
        let measured = Measured(format!("{} from {}", short(self.median()), short(start)));
        Judged { measured, holds: self.values.iter().all(past) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(values: &[f64]) -> Sample {
        Sample::over_seeds(values.to_vec()).unwrap()
    }

    #[test]
    fn an_order_holds_in_every_seed_or_not_at_all() {
        let (a, b) = (seeds(&[1.0, 2.0, 3.0]), seeds(&[2.0, 3.0, 4.0]));
        assert!(a.below(&b).holds && !b.below(&a).holds && !a.below(&a).holds);
        let mixed = a.below(&seeds(&[2.0, 1.0, 4.0]));
        assert!(!mixed.holds);
        assert_eq!(mixed.measured.0, "2 against 2 (2 of 3 seeds)");
        assert!(a.below(&Sample::exact(3.5)).holds && !a.below(&Sample::exact(3.0)).holds);
        assert!(a.ahead_by(2.0, &seeds(&[2.0, 4.0, 6.0])).holds && !a.ahead_by(2.1, &b).holds);
        assert!(b.at_most(2.0, &a).holds && a.within(2.0, &b).holds && !a.within(1.3, &b).holds);
    }

    #[test]
    fn two_seeds_are_no_order() {
        assert!(Sample::over_seeds(vec![1.0, 2.0]).is_err());
    }

    #[test]
    fn what_was_never_reached_proves_nothing() {
        let (never, nan) = (f64::INFINITY, f64::NAN);
        assert!(Sample::exact(1.0).below(&Sample::exact(never)).holds);
        for bad in [never, nan] {
            let bad = Sample::exact(bad);
            assert!(!bad.below(&Sample::exact(never)).holds);
            assert!(!bad.within(2.0, &bad).holds && !bad.past_start(1.0, 1.0).holds);
            assert!(!bad.near(1.0, 10.0).holds);
        }
        assert!(!Sample::exact(1.0).below(&Sample::exact(nan)).holds);
        assert!(!Sample::exact(0.0).within(2.0, &Sample::exact(0.0)).holds);
    }

    #[test]
    fn losers_are_pinned() {
        let loser = seeds(&[0.01, 0.02, 0.03]);
        assert!(loser.past_start(1.0, 30.0).holds && !loser.past_start(1.0, 40.0).holds);
        assert!(loser.near(0.015, 2.0).holds && !loser.near(0.1, 2.0).holds);
    }
}
