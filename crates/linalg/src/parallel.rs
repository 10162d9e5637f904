//! Independent parts of a computation, on all cores or one after the other.

use std::convert::Infallible;
#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(feature = "parallel")]
use std::sync::{Mutex, PoisonError};
#[cfg(feature = "parallel")]
use std::time::Instant;

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
    let Ok(results) = try_map(parts, |part| Ok::<T, Infallible>(f(part)));
    results
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
        return shared(parts, f);
    }
    parts.into_iter().map(f).collect()
}

/// A part, and then its result.
#[cfg(feature = "parallel")]
enum Place<P, R> {
    Due(P),
    Taken,
    Done(R),
}

#[cfg(feature = "parallel")]
fn shared<P: Send, T: Send, E: Send>(
    parts: Vec<P>,
    f: impl Fn(P) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let places: Vec<Mutex<Place<P, Result<T, E>>>> =
        parts.into_iter().map(|part| Mutex::new(Place::Due(part))).collect();
    let failed = AtomicBool::new(false);
    each_index(places.len(), &|k| {
        if failed.load(Ordering::Relaxed) {
            return;
        }
        // Nobody else comes here: a lock is how a shared place is written to.
        let mut place = places[k].lock().unwrap_or_else(PoisonError::into_inner);
        if let Place::Due(part) = std::mem::replace(&mut *place, Place::Taken) {
            let result = f(part);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *place = Place::Done(result);
        }
    });
    let results = places.into_iter().filter_map(|place| {
        match place.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Place::Done(result) => Some(result),
            // After an error, which is among the results.
            _ => None,
        }
    });
    results.collect()
}

/// Calls a function with every index below `count`. The function is behind a pointer so that the machinery of the pool is compiled
/// once, and not for every loop of every crate.
#[cfg(feature = "parallel")]
fn each_index(count: usize, f: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    let outer = rayon::current_thread_index().is_none().then(Instant::now);
    (0..count).into_par_iter().for_each(f);
    if let Some(start) = outer {
        SHARED.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Nanoseconds of [`shared_seconds`].
#[cfg(feature = "parallel")]
static SHARED: AtomicU64 = AtomicU64::new(0);

/// The time that this process has spent in loops that were shared among threads. What a computation takes besides is serial, and
/// limits what more threads can give (Amdahl's law). Loops inside of loops count once; with one thread nothing is shared.
pub fn shared_seconds() -> f64 {
    #[cfg(feature = "parallel")]
    let nanoseconds = SHARED.load(Ordering::Relaxed);
    #[cfg(not(feature = "parallel"))]
    let nanoseconds = 0_u64;
    nanoseconds as f64 * 1e-9
}

/// The number of parts that [`map`] computes at a time.
pub fn threads() -> usize {
    #[cfg(feature = "parallel")]
    let threads = rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    let threads = 1;
    threads
}

/// Starts so many threads for all loops of this process; 0 is one for each core. Otherwise the first loop starts them, and panics if
/// the system has no threads left: a program calls this first.
///
/// # Errors
/// Why the threads cannot be started, in words; among the reasons is that they were started before.
pub fn start(threads: usize) -> Result<(), String> {
    #[cfg(feature = "parallel")]
    let started = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    #[cfg(not(feature = "parallel"))]
    let started = {
        let _ = threads;
        Ok::<(), Infallible>(())
    };
    started.map_err(|error| format!("the threads cannot be started: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{map, try_map};

    #[test]
    fn a_single_part_is_computed_by_the_caller() {
        let caller = std::thread::current().id();
        assert_eq!(map([()], |()| std::thread::current().id()), [caller]);
    }

    #[test]
    fn results_are_in_order_and_an_error_is_one_of_the_parts() {
        assert_eq!(map(0..1000, |k| 3 * k), (0..3000).step_by(3).collect::<Vec<_>>());
        let half = |k: usize| if k.is_multiple_of(2) { Ok(k / 2) } else { Err(k) };
        assert_eq!(try_map((0..100).step_by(2), half), Ok((0..50).collect::<Vec<_>>()));
        assert!(try_map(0..100, half).unwrap_err() % 2 == 1);
        // A loop inside a loop, on the same pool.
        let inner = |k: usize| map(0..40, move |l| k * l).into_iter().sum::<usize>();
        assert_eq!(map(0..40, inner), (0..40).map(|k| 780 * k).collect::<Vec<_>>());
    }
}
