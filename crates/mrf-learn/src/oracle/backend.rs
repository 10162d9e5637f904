//! The contract of oracles.

use crate::error::Error;

/// What an exact method asks of a model: [`Enumeration`](crate::Enumeration), [`TreeOracle`](crate::TreeOracle), or one of your own for
/// [`ExactMle::fit_by`](crate::ExactMle::fit_by).
pub trait Backend {
    /// `A(theta)`, and the means of the statistics into `out`, both in the order of a [`Layout`](crate::Layout).
    ///
    /// # Errors
    /// For parameters that the backend cannot treat.
    fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error>;

    /// `A(theta)` alone; by default it costs as much as the means.
    ///
    /// # Errors
    /// As [`means`](Backend::means).
    fn log_partition(&mut self, theta: &[f64]) -> Result<f64, Error> {
        self.means(theta, &mut vec![0.0; theta.len()])
    }

    /// As [`means`](Backend::means), or `None` once `ends` says true, which a backend asks between parts of its work. By default it
    /// is not asked.
    ///
    /// # Errors
    /// As [`means`](Backend::means).
    fn means_until(
        &mut self,
        theta: &[f64],
        out: &mut [f64],
        ends: &dyn Fn() -> bool,
    ) -> Result<Option<f64>, Error> {
        let _ = ends;
        self.means(theta, out).map(Some)
    }
}
