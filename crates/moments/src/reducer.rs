//! The trait of methods that find directions.

use fenchel_optim::SharedWatch;

use crate::blocks::Blocks;
use crate::components::Components;
use crate::error::Error;
use crate::response::Response;
use crate::spectrum::{Spectrum, Warning};

/// A method that estimates directions, as the eigenvectors of a moment matrix.
///
/// The choice of the number of directions, the bootstrap, permutation tests and the
/// index regressor work with any implementation of this trait. A new method only has to implement
/// [`spectrum`](Reducer::spectrum); [`fit_with`](crate::fit::fit_with) fits it.
pub trait Reducer: Sync {
    /// The name in messages and models.
    fn name(&self) -> &'static str;

    /// How many directions to keep.
    fn components(&self) -> Components;

    /// All eigenvalues and directions.
    ///
    /// # Errors
    /// The errors of the method.
    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error>;

    /// As [`spectrum`](Reducer::spectrum), with a closure that watches: of a method that takes long, it can end at a part of the
    /// work.
    ///
    /// # Errors
    /// As [`spectrum`](Reducer::spectrum).
    fn watched_spectrum(
        &self,
        data: &dyn Blocks,
        response: &Response,
        watch: &SharedWatch,
    ) -> Result<Spectrum, Error> {
        let _ = watch;
        self.spectrum(data, response)
    }

    /// Warnings in addition to those of the spectrum. They are computed once per fit, not for resamples.
    ///
    /// # Errors
    /// The errors of the method.
    fn warnings(&self, data: &dyn Blocks) -> Result<Vec<Warning>, Error> {
        let _ = data;
        Ok(vec![])
    }

    /// The statistic and the degrees of freedom of a chi-squared test for "there are at most `k` directions". `None` if
    /// the method has no such test.
    fn tail_test(&self, spectrum: &Spectrum, k: usize) -> Option<(f64, f64)> {
        let _ = (spectrum, k);
        None
    }
}

/// A method with the score of the features' density.
pub(crate) struct WithScore<'a, M, S: ?Sized> {
    pub(crate) settings: M,
    pub(crate) score: &'a S,
}
