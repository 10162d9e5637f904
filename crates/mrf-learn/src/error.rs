//! The errors of this crate.

use fenchel_linalg::Invalid;
use fenchel_linalg::text::short;
use fenchel_optim::Refusal;

/// Why a model could not be learned, or a file not be read.
///
/// A run that ends without convergence is not an error: see [`fenchel_optim::Status`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that does not fit: shapes, ranges, NaN.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// From the inference that learning stands on.
    #[error(transparent)]
    Graphical(#[from] fenchel_graphical::Error),
    /// From the logistic regressions of the single variables.
    #[error(transparent)]
    FiniteSum(#[from] fenchel_finite_sum::Error),
    /// From an accuracy of [`fenchel_metrics`].
    #[error(transparent)]
    Metrics(#[from] fenchel_metrics::Error),
    /// An entry of the data that is neither 0 nor 1.
    #[error("data: row {row}, column {column} is {value}; expected {expected}")]
    Entry {
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0.
        column: usize,
        /// The entry, as it was given.
        value: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// The likelihood has no maximum: an unpenalised parameter grows without end.
    #[error(
        "the maximum likelihood estimate is at infinity along {} unpenalised parameter(s), the first {:?}; penalise them or drop constant columns",
        coordinates.len(), coordinates.first().unwrap_or(&(0, 0))
    )]
    UnboundedMle {
        /// The pairs `(i, j)`, `i <= j`, whose parameters grow; `(i, i)` is a bias.
        coordinates: Vec<(u32, u32)>,
    },
    /// The logarithm of the objective of interaction screening has no minimum, because its penalty is too small: in every row the others
    /// decide a variable. A penalty of 1 outweighs any such decision.
    #[error(
        "l1 = {l1} is too small: in every row the others decide a variable, and its objective falls for ever along {} penalised coupling(s), the first {:?}; take an l1 of at least 1, or ScreeningObjective::Rise",
        coordinates.len(), coordinates.first().unwrap_or(&(0, 0))
    )]
    WeakPenalty {
        /// The pairs `(i, j)`, `i < j`, whose couplings grow.
        coordinates: Vec<(u32, u32)>,
        /// The strength that was given.
        l1: f64,
    },
    /// More memory than allowed, or something that this method cannot do. Nothing was computed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The influence matrix has a spectral radius of 1 or more, and the schedule was set to refuse this.
    #[error(
        "iteration {iteration}: the spectral radius of the influence matrix is {}; a certified schedule needs less than 1",
        short(*radius)
    )]
    Uncertified {
        /// The iteration.
        iteration: usize,
        /// The spectral radius.
        radius: f64,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
