//! Independent parts of a computation, on all cores or one after the other.

/// Applies a function to every part. The results are in the order of the parts, with any number of threads.
///
/// The feature `parallel` decides whether the parts are shared among the threads of [rayon](https://docs.rs/rayon)'s pool.
///
/// ```
/// assert_eq!(fenchel_linalg::parallel::map(0..4, |k| k * k), [0, 1, 4, 9]);
/// ```
pub fn map<P: Send, T: Send>(
    parts: impl IntoIterator<Item = P>,
    f: impl Fn(P) -> T + Sync + Send,
) -> Vec<T> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        parts.into_iter().collect::<Vec<P>>().into_par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    parts.into_iter().map(f).collect()
}

/// As [`map`], for a function that may fail.
///
/// # Errors
/// An error of one of the parts. With several errors it may be any of them.
pub fn try_map<P: Send, T: Send, E: Send>(
    parts: impl IntoIterator<Item = P>,
    f: impl Fn(P) -> Result<T, E> + Sync + Send,
) -> Result<Vec<T>, E> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        parts.into_iter().collect::<Vec<P>>().into_par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    parts.into_iter().map(f).collect()
}
