//! Independent parts of a computation, on all cores or one after the other.

/// Applies a function to every part. The results are in the order of the parts, with any number of threads.
///
/// The feature `parallel` decides whether the parts are shared among the threads of [rayon](https://docs.rs/rayon)'s pool. One
/// part, or one thread, is not worth a wait for the pool: the function is then called here.
///
/// ```
/// assert_eq!(fenchel_linalg::parallel::map(0..4, |k| k * k), [0, 1, 4, 9]);
/// ```
pub fn map<P: Send, T: Send>(
    parts: impl IntoIterator<Item = P>,
    f: impl Fn(P) -> T + Sync + Send,
) -> Vec<T> {
    let parts: Vec<P> = parts.into_iter().collect();
    #[cfg(feature = "parallel")]
    if threads().min(parts.len()) > 1 {
        use rayon::prelude::*;
        return parts.into_par_iter().map(f).collect();
    }
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
    let parts: Vec<P> = parts.into_iter().collect();
    #[cfg(feature = "parallel")]
    if threads().min(parts.len()) > 1 {
        use rayon::prelude::*;
        return parts.into_par_iter().map(f).collect();
    }
    parts.into_iter().map(f).collect()
}

/// The number of parts that [`map`] computes at a time.
pub fn threads() -> usize {
    #[cfg(feature = "parallel")]
    let threads = rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    let threads = 1;
    threads
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn a_single_part_is_computed_by_the_caller() {
        let caller = std::thread::current().id();
        assert_eq!(map([()], |()| std::thread::current().id()), [caller]);
    }
}
