//! A sample has the result of one method as one number per random seed. The functions of this module compare two samples.
//!
//! A document that says "A is faster than B" claims an order, not a ratio. The experiment judges the order of the medians over
//! at least [`SEEDS`] seeds, and shows the range of both. It also tests that B works: B must improve on its starting point.
//! Otherwise A would win against a broken method.
//!
//! ```
//! use fenchel_experiments::Sample;
//!
//! // F - F* after 20 passes, five seeds; both began at 0.69.
//! let permuted = Sample::over_seeds(vec![2e-9, 3e-9, 1e-9, 8e-5, 2e-9])?;
//! let random = Sample::over_seeds(vec![4e-5, 7e-5, 5e-5, 6e-5, 5e-5])?;
//! let judged = permuted.below(&random).and(random.improves_on(0.69));
//! assert!(judged.holds);
//! # Ok::<(), fenchel_experiments::Failure>(())
//! ```

use std::fmt;

use fenchel_linalg::text::short;

use crate::Failure;
use crate::claim::Judged;

/// The smallest number of seeds for a claim about an order.
pub const SEEDS: usize = 5;

/// The results of one method: one number per seed. Its text is the median with the range: `7.1 [6.9, 7.4]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, median, high) =
            (self.ranked(0), self.median(), self.ranked(self.values.len() - 1));
        match self.values.len() {
            1 => write!(f, "{}", short(median)),
            _ => write!(f, "{} [{}, {}]", short(median), short(low), short(high)),
        }
    }
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

    /// One number from every run. A deterministic method has a single run.
    pub(crate) fn of<R>(runs: &[R], number: impl Fn(&R) -> f64) -> Result<Self, Failure> {
        match runs {
            [only] => Ok(Sample::exact(number(only))),
            _ => Sample::over_seeds(runs.iter().map(number).collect()),
        }
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
        self.ranked((self.values.len() - 1) / 2)
    }

    fn ranked(&self, place: usize) -> f64 {
        let mut sorted = self.values.clone();
        // The sign of a NaN says nothing.
        sorted.sort_by(|a, b| a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b)));
        sorted[place]
    }

    /// Whether the median is smaller than the other's. A method that never reached its target has an infinite number, which is
    /// larger than every finite one and never smaller. NaN satisfies no comparison.
    pub fn below(&self, other: &Sample) -> Judged {
        self.against(other, |a, b| a < b)
    }

    /// Whether the median is at most `factor` times the other's, for a document that states the factor.
    pub fn at_most(&self, factor: f64, other: &Sample) -> Judged {
        self.against(other, |a, b| a <= factor * b)
    }

    fn against(&self, other: &Sample, ahead: impl Fn(f64, f64) -> bool) -> Judged {
        let (a, b) = (self.median(), other.median());
        (format!("{self} against {other}"), a.is_finite() && ahead(a, b)).into()
    }

    /// Whether the worse method of a comparison works: its median is below the value that it started from. A method that did
    /// nothing is exactly there.
    pub fn improves_on(&self, start: f64) -> Judged {
        (format!("{self} from {}", short(start)), self.median() < start).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(values: &[f64]) -> Sample {
        Sample::over_seeds(values.to_vec()).unwrap()
    }

    #[test]
    fn an_order_is_that_of_the_medians_and_shows_their_ranges() {
        let (a, b) = (seeds(&[3.0, 1.0, 2.0, 9.0, 2.0]), seeds(&[2.0, 3.0, 1.0, 4.0, 3.0]));
        assert!(a.below(&b).holds && !b.below(&a).holds && !a.below(&a).holds);
        assert_eq!(a.below(&b).measured.text, "2 [1, 9] against 3 [1, 4]");
        assert!(a.below(&Sample::exact(2.5)).holds && !a.below(&Sample::exact(2.0)).holds);
        assert_eq!(a.below(&Sample::exact(2.5)).measured.text, "2 [1, 9] against 2.5");
        assert!(b.at_most(1.5, &a).holds && !b.at_most(1.4, &a).holds);
    }

    #[test]
    fn four_seeds_are_no_order() {
        assert!(Sample::over_seeds(vec![1.0, 2.0, 3.0, 4.0]).is_err());
    }

    #[test]
    fn what_was_never_reached_proves_nothing() {
        let (never, nan) = (f64::INFINITY, f64::NAN);
        assert!(Sample::exact(1.0).below(&Sample::exact(never)).holds);
        for bad in [never, nan, -nan] {
            let bad = Sample::exact(bad);
            assert!(!bad.below(&Sample::exact(never)).holds);
            assert!(!bad.at_most(2.0, &bad).holds && !bad.improves_on(1.0).holds);
        }
        assert!(!Sample::exact(1.0).below(&Sample::exact(nan)).holds);
        assert!(!seeds(&[1.0, -nan, nan, -nan, 1.0]).below(&Sample::exact(2.0)).holds);
    }

    #[test]
    fn a_loser_that_stayed_at_its_start_does_not_work() {
        let loser = seeds(&[0.01, 0.02, 0.03, 1.0, 0.01]);
        assert!(loser.improves_on(1.0).holds && !loser.improves_on(0.02).holds);
    }
}
