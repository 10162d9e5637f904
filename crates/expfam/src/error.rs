//! The errors of this crate.

use fenchel_linalg::Invalid;
use fenchel_linalg::text::exact;
use fenchel_optim::Refusal;

/// Why a distribution could not be built or fitted.
///
/// A method that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A need of more memory than allowed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A natural parameter for which the density has no finite integral.
    #[error("natural parameter {index} of the {family} family is {}; expected {expected}", exact(*value))]
    OutsideNaturalDomain {
        /// The family.
        family: &'static str,
        /// The coordinate, counted from 0.
        index: usize,
        /// Its value.
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// A mean parameter that no member of the family has.
    #[error("mean parameter {index} of the {family} family is {}; expected {expected}", exact(*value))]
    OutsideMeanDomain {
        /// The family.
        family: &'static str,
        /// The coordinate, counted from 0.
        index: usize,
        /// Its value, or the value of the quantity that `expected` names.
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// An observation that the family gives probability 0.
    #[error("observation {index} is {}; the {family} family expects {expected}", exact(*value))]
    OutsideSupport {
        /// The family.
        family: &'static str,
        /// The observation, counted from 0.
        index: usize,
        /// Its value (of a vector: the offending entry).
        value: f64,
        /// What is accepted.
        expected: &'static str,
    },
    /// The mean of the data lies on the border of the mean domain: no member of the family has it.
    #[error("the {family} family has no member with the mean of the data ({reason}): {remedy}")]
    BoundaryMean {
        /// The family.
        family: &'static str,
        /// What the data would have to satisfy.
        reason: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A quantity that has no closed form for this family.
    #[error("{what} is not available for the {family} family: {hint}")]
    Unavailable {
        /// The family.
        family: &'static str,
        /// The quantity.
        what: &'static str,
        /// What to use instead.
        hint: &'static str,
    },
    /// A solver refused the problem.
    #[error("{0}")]
    Solver(String),
}

impl Error {
    /// The same error with the number of the observation.
    #[must_use]
    pub(crate) fn at(mut self, observation: usize) -> Self {
        if let Error::OutsideSupport { index, .. } = &mut self {
            *index = observation;
        }
        self
    }

    /// The same error where the observations are behind others.
    #[must_use]
    pub(crate) fn behind(mut self, others: usize) -> Self {
        if let Error::OutsideSupport { index, .. } = &mut self {
            *index += others;
        }
        self
    }

    /// The same error for data: their mean lies on the border of the open domain, or beyond the range of numbers.
    #[must_use]
    pub(crate) fn of_data(self, family: &'static str) -> Self {
        match self {
            Error::Invalid(Invalid::NotPositiveDefinite { .. }) => Error::BoundaryMean {
                family,
                reason: "more independent observations than dimensions",
                remedy: "use a conjugate prior with positive weight, or more data",
            },
            Error::OutsideMeanDomain { family, expected, .. } => Error::BoundaryMean {
                family,
                reason: expected,
                remedy: "use a conjugate prior with positive weight, or more data",
            },
            Error::OutsideNaturalDomain { .. } => Error::Unavailable {
                family,
                what: "an estimate in the range of numbers",
                hint: "the mean and the spread of the data are too large or too small for it; divide the data by their size first",
            },
            other => other,
        }
    }
}
