//! Resamples of the rows, and what they give.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use rand::RngExt;

use crate::error::Error;

/// Resample `b`: `n` rows out of `n`, with replacement.
pub(crate) fn resample(n: usize, seed: u64, b: usize) -> Vec<usize> {
    let mut rng = stream(seed, b as u64);
    (0..n).map(|_| rng.random_range(0..n)).collect()
}

/// The results of all repeats are kept, so their number is limited.
pub(crate) fn check_repeats(repeats: usize, least: usize) -> Result<(), Invalid> {
    if (least..=10_000_000).contains(&repeats) {
        return Ok(());
    }
    let expected = if least > 1 { "at least 2, at most 1e7" } else { "at least 1, at most 1e7" };
    Err(Invalid::Parameter { name: "repeats", value: repeats as f64, expected })
}

/// The fits that succeeded, and the number that were left out. If the data themselves can be fitted, an error on a
/// resample is due to the resampling.
pub(crate) fn kept<T>(found: Vec<Result<T, Error>>, few: usize) -> Result<(Vec<T>, usize), Error> {
    let repeats = found.len();
    let least = repeats.div_ceil(2).max(few);
    let mut first = None;
    let mut kept = Vec::with_capacity(repeats);
    for found in found {
        match found {
            Ok(found) => kept.push(found),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if kept.len() < least => {
            let reason = error.to_string();
            Err(Error::TooFewResamples { kept: kept.len(), repeats, least, reason })
        }
        _ => {
            let left_out = repeats - kept.len();
            Ok((kept, left_out))
        }
    }
}
