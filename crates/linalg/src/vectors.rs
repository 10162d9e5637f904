//! Long vectors on all cores. The length alone decides which numbers are added first.

use std::ops::Range;

use crate::{lanes, parallel};

/// Numbers of a vector that a thread takes at a time. They take some ten times as long as it takes to share them.
const RUN: usize = 1 << 15;

/// `sum_i a_i b_i`
///
/// # Panics
/// If the vectors have different lengths.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let of_run = |(a, b): (&[f64], &[f64])| lanes::dispatch(|| lanes::dot(a, b));
    if a.len() <= RUN {
        return of_run((a, b));
    }
    parallel::map(a.chunks(RUN).zip(b.chunks(RUN)), of_run).into_iter().sum()
}

/// `out += scale * a`
///
/// # Panics
/// If the vectors have different lengths.
pub fn axpy(scale: f64, a: &[f64], out: &mut [f64]) {
    assert_eq!(a.len(), out.len());
    in_runs(out, |range, out| {
        let a = &a[range];
        lanes::dispatch(|| out.iter_mut().zip(a).for_each(|(o, a)| *o += scale * a));
    });
}

/// Calls `of` for runs of a vector, with their places in it.
///
/// ```
/// let mut squares = vec![0.0; 5];
/// fenchel_linalg::vectors::in_runs(&mut squares, |range, out| {
///     out.iter_mut().zip(range).for_each(|(square, i)| *square = (i * i) as f64);
/// });
/// assert_eq!(squares, [0.0, 1.0, 4.0, 9.0, 16.0]);
/// ```
pub fn in_runs(out: &mut [f64], of: impl Fn(Range<usize>, &mut [f64]) + Sync) {
    if out.len() <= RUN {
        return of(0..out.len(), out);
    }
    parallel::map(out.chunks_mut(RUN).enumerate(), |(run, out)| {
        of(run * RUN..run * RUN + out.len(), out);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers: every order of addition is exact.
    #[test]
    fn long_vectors_are_as_short_ones() {
        for n in [0, 1, RUN, 2 * RUN + 3] {
            let a: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
            let mut b: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
            let sum: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert_eq!(dot(&a, &b), sum);
            axpy(2.0, &a, &mut b);
            let expected = (0..n).map(|i| 2.0 * ((i % 7) as f64 - 3.0) + (i % 5) as f64);
            assert!(b.iter().copied().eq(expected));
        }
    }
    #[cfg(feature = "parallel")]
    #[test]
    fn thread_count_does_not_change_a_bit() {
        let a: Vec<f64> = (0..5 * RUN + 7).map(|i| (i as f64).sin()).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut b: Vec<f64> = a.iter().rev().copied().collect();
            pool.install(|| axpy(0.3, &a, &mut b));
            (pool.install(|| dot(&a, &b)), b)
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(3));
    }
}
