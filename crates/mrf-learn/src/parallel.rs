//! Independent parts on all cores.

/// Applies a function to `0..n`, on all cores where the feature `parallel` is on; the results are in order.
pub(crate) fn for_all<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        (0..n).into_par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    (0..n).map(f).collect()
}
