//! One loop on all cores or on one.

use crate::Error;

/// `f(0..n)` in order, on all cores if the feature `parallel` is on.
#[cfg(feature = "parallel")]
pub(crate) fn each<R: Send>(
    n: usize,
    f: impl Fn(usize) -> Result<R, Error> + Sync + Send,
) -> Result<Vec<R>, Error> {
    use rayon::prelude::*;
    (0..n).into_par_iter().map(f).collect()
}

/// `f(0..n)` in order.
#[cfg(not(feature = "parallel"))]
pub(crate) fn each<R>(n: usize, f: impl Fn(usize) -> Result<R, Error>) -> Result<Vec<R>, Error> {
    (0..n).map(f).collect()
}
