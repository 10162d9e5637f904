//! What estimators accept as data.

use std::borrow::Cow;

use fenchel_linalg::{AsDesign, Design, Invalid};
use ndarray::ArrayView1;

use crate::error::Error;
use crate::statistics::Statistics;

/// What an estimator of one matrix fits: a data matrix with one sample per row, or the [`Statistics`] of one.
pub trait AsStatistics {
    /// The statistics. `weights` are those of the rows; a matrix of more than `max_memory` bytes is refused.
    ///
    /// # Errors
    /// As [`Statistics::from_data_within`] and [`Statistics::from_weighted`]; [`Invalid`] for statistics with weights, because
    /// their rows are gone.
    fn statistics(
        &self,
        weights: Option<ArrayView1<'_, f64>>,
        max_memory: Option<u64>,
    ) -> Result<Cow<'_, Statistics>, Error>;

    /// The number of rows that weights are for.
    fn rows(&self) -> usize;
}

impl<X: AsDesign + ?Sized> AsStatistics for X {
    fn statistics(
        &self,
        weights: Option<ArrayView1<'_, f64>>,
        max_memory: Option<u64>,
    ) -> Result<Cow<'_, Statistics>, Error> {
        Ok(Cow::Owned(match weights {
            None => Statistics::from_data_within(self, max_memory)?,
            Some(weights) => Statistics::weighted_within(self, weights, max_memory)?,
        }))
    }

    fn rows(&self) -> usize {
        self.as_design().map_or(0, |x| x.rows())
    }
}

impl AsStatistics for Statistics {
    fn statistics(
        &self,
        weights: Option<ArrayView1<'_, f64>>,
        _: Option<u64>,
    ) -> Result<Cow<'_, Statistics>, Error> {
        if weights.is_some() {
            let reason = "a covariance matrix has no rows to weigh; use Statistics::from_weighted";
            return Err(Invalid::Layout { what: "weights", reason: reason.into() }.into());
        }
        Ok(Cow::Borrowed(self))
    }

    fn rows(&self) -> usize {
        self.samples
    }
}
