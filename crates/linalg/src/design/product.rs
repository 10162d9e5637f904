//! Products with the whole design matrix. They run on all cores if the feature `parallel` is on. In the formulas `A` is the
//! design matrix with entries `a_ic`.
//!
//! The shape of the data alone fixes the order of all additions, so that results have the same bits with any number of threads. Of
//! a [spread](Design::spread) design each sum over rows is over the rows of all processes: this file is where it is taken.

use std::ops::Range;

use super::Design;
use super::rows::{
    Add, Combination, Dots, Fill, Norms, RowByRow, RowMultiple, RowNumber, ScatteredDots,
    SquareCombination, SquareDots,
};
use crate::spread::split;
use crate::{lanes, parallel};

/// Number of stored entries below which a second thread is not used.
const ENTRIES_PER_BLOCK: usize = 1 << 16;
/// Number of entries (about 100 kB) that [`multiply_through`] reads twice before it goes on, so that the second read is from
/// the cache.
const ENTRIES_PER_CHUNK: usize = 1 << 13;
/// A product reads single entries of dense rows where at most one in so many of its factors is not 0: each is a line of the cache.
const SCATTERED: usize = 16;
/// Largest number of blocks. In [`multiply_transposed`] each block has a vector of length `d`.
const MAX_BLOCKS: usize = 8;

/// Writes `out = A x`. O(nnz); O(n + d) if `x = 0`, and O(n nnz(x) + d) for dense data and an `x` that is mostly 0.
///
/// # Panics
/// If the length of `x` is not the number of columns, or the length of `out` not the number of rows.
pub fn multiply<D: Design>(design: &D, x: &[f64], out: &mut [f64]) {
    assert_eq!((x.len(), out.len()), (design.columns(), design.rows()));
    if is_origin(x) {
        out.fill(0.0);
        return;
    }
    if D::DENSE {
        let columns: Vec<usize> = (0..x.len()).filter(|&c| x[c] != 0.0).collect();
        if columns.len() * SCATTERED <= x.len() {
            let x: Vec<f64> = columns.iter().map(|&c| x[c]).collect();
            return each_row(design, &ScatteredDots { design, columns: &columns, x: &x }, out);
        }
    }
    each_row(design, &Dots { design, x }, out);
}

/// `||a_i||^2` of every row. O(nnz).
pub fn row_norms_squared<D: Design>(design: &D) -> Vec<f64> {
    let mut norms_squared = vec![0.0; design.rows()];
    each_row(design, &Norms { design }, &mut norms_squared);
    norms_squared
}

/// `out_i = sum_c x_c a_ic^2`. O(nnz).
///
/// # Panics
/// As [`multiply`].
pub fn multiply_squares<D: Design>(design: &D, x: &[f64], out: &mut [f64]) {
    assert_eq!((x.len(), out.len()), (design.columns(), design.rows()));
    each_row(design, &SquareDots { design, x }, out);
}

/// Writes `out = A' s`. O(nnz + d * blocks), with one vector of length `d` for each of at most 8 blocks of rows.
///
/// # Panics
/// If the length of `s` is not the number of rows, or the length of `out` not the number of columns.
pub fn multiply_transposed<D: Design>(design: &D, s: &[f64], out: &mut [f64]) {
    assert_eq!((s.len(), out.len()), (design.rows(), design.columns()));
    sum_of_rows(design, &Combination { design, from: 0, s }, out);
}

/// Computes `t = A x`, then `s = f(t)`, then `out = A' s`, in one pass over the data: each row is read from memory once.
///
/// The closure `between` computes `s = f(t)`. It is called for consecutive blocks of rows and receives the range of rows, their
/// `t`, and their `s` to be filled. It may leave `s` unchanged. Its return values are added up in an order that depends only on
/// the shape of the data. The cost is O(nnz + d * blocks), as for [`multiply_transposed`].
///
/// ```
/// use fenchel_linalg::{AsDesign, multiply_through};
///
/// let a = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// let (mut t, mut s, mut out) = ([0.0; 2], [0.0; 2], [0.0; 2]);
/// // The gradient of sum_i t_i^2 / 2 at x, and its value.
/// let value = multiply_through(&a.as_design()?, &[1.0, -1.0], &mut t, &mut s, &mut out, |_, t, s| {
///     s.copy_from_slice(t);
///     t.iter().map(|t| 0.5 * t * t).sum()
/// });
/// assert_eq!((t, out, value), ([-1.0, -1.0], [-4.0, -6.0], 1.0));
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
///
/// # Panics
/// If the length of `t` or `s` is not the number of rows, or the length of `x` or `out` not the number of columns.
pub fn multiply_through<D: Design>(
    design: &D,
    x: &[f64],
    t: &mut [f64],
    s: &mut [f64],
    out: &mut [f64],
    between: impl Fn(Range<usize>, &[f64], &mut [f64]) -> f64 + Sync,
) -> f64 {
    let n = design.rows();
    assert_eq!((x.len(), out.len()), (design.columns(), design.columns()));
    assert_eq!((t.len(), s.len()), (n, n));
    let (blocks, dots, origin) = (blocks(design), Dots { design, x }, is_origin(x));
    let (t, s) = (split(t, blocks.iter().cloned()), split(s, blocks.iter().cloned()));
    let parts = t.into_iter().zip(s).collect();
    sum_of_blocks(design, blocks, parts, out, |block, (t, s), out| {
        let (from, mut total) = (block.start, 0.0);
        let chunk = rows_per_chunk(design, block);
        for (k, (t, s)) in t.chunks_mut(chunk).zip(s.chunks_mut(chunk)).enumerate() {
            let from = from + k * chunk;
            let rows = from..from + t.len();
            if origin {
                t.fill(0.0);
            } else {
                lanes::run(Fill { of: &dots, from, out: t });
            }
            total += between(rows.clone(), t, s);
            lanes::run(Add { of: &Combination { design, from, s }, rows, out });
        }
        total
    })
}

/// Computes row after row `t = A x`, then `s_i = f(i, t_i)`, then `out = A' s`. Returns the sum of `s`.
///
/// Use this function where `f` is cheap for a single number, as in a product with a Hessian, where `f` is a multiplication. Use
/// [`multiply_through`] where `f` is faster on many numbers at a time. The order of the additions depends only on the shape of
/// the data. The cost is O(nnz + d * blocks), as for [`multiply_transposed`].
///
/// ```
/// use fenchel_linalg::{AsDesign, multiply_row_by_row};
///
/// let a = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// let (mut t, mut out) = ([0.0; 2], [0.0; 2]);
/// // A' diag(h) A x
/// let h = [0.5, 2.0];
/// let sum = multiply_row_by_row(&a.as_design()?, &[1.0, 1.0], &mut t, &mut out, |i, t| h[i] * t);
/// assert_eq!((t, out, sum), ([3.0, 7.0], [43.5, 59.0], 15.5));
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
///
/// # Panics
/// If the length of `t` is not the number of rows, or the length of `x` or `out` not the number of columns.
pub fn multiply_row_by_row<D: Design>(
    design: &D,
    x: &[f64],
    t: &mut [f64],
    out: &mut [f64],
    multiple: impl Fn(usize, f64) -> f64 + Sync,
) -> f64 {
    assert_eq!((x.len(), out.len()), (design.columns(), design.columns()));
    assert_eq!(t.len(), design.rows());
    let (blocks, origin, multiple) = (blocks(design), is_origin(x), &multiple);
    let parts = split(t, blocks.iter().cloned());
    sum_of_blocks(design, blocks, parts, out, |block, t: &mut [f64], out| {
        lanes::run(RowByRow { design, x, origin, multiple, from: block.start, t, out })
    })
}

/// Writes `out_c = sum_i s_i a_ic^2`. The cost is O(nnz + d * blocks), as for [`multiply_transposed`].
///
/// # Panics
/// As [`multiply_transposed`].
pub fn multiply_squares_transposed<D: Design>(design: &D, s: &[f64], out: &mut [f64]) {
    assert_eq!((s.len(), out.len()), (design.rows(), design.columns()));
    sum_of_rows(design, &SquareCombination { design, s }, out);
}

fn is_origin(x: &[f64]) -> bool {
    x.iter().all(|x| *x == 0.0)
}

fn each_row<D: Design>(design: &D, of: &impl RowNumber, out: &mut [f64]) {
    let block = rows_per_block(design, usize::MAX);
    let fill = |(b, out): (usize, &mut [f64])| lanes::run(Fill { of, from: b * block, out });
    if block < design.rows() {
        parallel::map(out.chunks_mut(block).enumerate(), fill);
    } else {
        fill((0, out));
    }
}

fn sum_of_rows<D: Design>(design: &D, of: &impl RowMultiple, out: &mut [f64]) {
    let blocks = blocks(design);
    let parts = vec![(); blocks.len()];
    sum_of_blocks(design, blocks, parts, out, |rows, (), out| {
        lanes::run(Add { of, rows, out });
        0.0
    });
}

/// Fills `out` with the sum of what `work` adds for each block of rows, of all processes. `work` receives the block, its part of the
/// data, and a vector of zeros. Returns the sum of the return values of `work`.
fn sum_of_blocks<D: Design, P: Send>(
    design: &D,
    blocks: Vec<Range<usize>>,
    mut parts: Vec<P>,
    out: &mut [f64],
    work: impl Fn(Range<usize>, P, &mut [f64]) -> f64 + Sync,
) -> f64 {
    if let Some(shards) = design.shards() {
        return shards.sum_of(parts, out, work);
    }
    out.fill(0.0);
    if parts.len() <= 1 {
        return parts.pop().map_or(0.0, |part| work(0..design.rows(), part, out));
    }
    let columns = out.len();
    let partial = |(block, part): (Range<usize>, P)| {
        let mut sum = vec![0.0; columns];
        let total = work(block, part, &mut sum);
        (total, sum)
    };
    let mut total = 0.0;
    for (part, sum) in parallel::map(blocks.into_iter().zip(parts), partial) {
        total += part;
        add(&sum, out);
    }
    total
}

fn add(v: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(v).for_each(|(o, v)| *o += v);
}

/// The blocks of rows whose sums are added: at most 8, or the shards of this process.
fn blocks<D: Design>(design: &D) -> Vec<Range<usize>> {
    if let Some(shards) = design.shards() {
        return shards.own().collect();
    }
    let (n, block) = (design.rows(), rows_per_block(design, MAX_BLOCKS));
    (0..n).step_by(block).map(|from| from..(from + block).min(n)).collect()
}

/// Number of rows that stay in the cache between two reads: a function of the shape alone, and a multiple of 8. In spread rows the
/// shape is that of the shard.
fn rows_per_chunk<D: Design>(design: &D, shard: Range<usize>) -> usize {
    let (stored, rows) = match design.shards() {
        None => (design.stored(), design.rows()),
        Some(_) => (shard.clone().map(|i| design.row_stored(i)).sum(), shard.len()),
    };
    let mean = stored / rows.max(1) + 1;
    (ENTRIES_PER_CHUNK / mean).clamp(8, 256) / 8 * 8
}

/// Number of rows in a block: a function of the shape alone, and at least 1.
fn rows_per_block<D: Design>(design: &D, max_blocks: usize) -> usize {
    let (n, d) = (design.rows(), design.columns());
    // A block must hold more entries than the vector it would need.
    let blocks = (design.stored() / ENTRIES_PER_BLOCK.max(d)).clamp(1, max_blocks);
    n.div_ceil(blocks).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;
    use ndarray::{Array1, Array2};

    #[test]
    fn products_agree_with_ndarray() {
        for (n, d) in [(1, 1), (7, 3), (900, 500)] {
            let a = Array2::from_shape_fn((n, d), |(i, j)| ((i * 31 + j * 17) % 13) as f64 - 6.0);
            let x = Array1::from_shape_fn(d, |j| (j % 5) as f64 - 2.0);
            let s = Array1::from_shape_fn(n, |i| (i % 7) as f64 - 3.0);
            let view = Dense::new(a.view()).unwrap();
            let (mut ax, mut ats) = (vec![0.0; n], vec![0.0; d]);
            multiply(&view, x.as_slice().unwrap(), &mut ax);
            multiply_transposed(&view, s.as_slice().unwrap(), &mut ats);
            // Small integers: every order of summation is exact.
            assert_eq!(ax, a.dot(&x).to_vec());
            assert_eq!(ats, a.t().dot(&s).to_vec());
            let (mut t, mut u) = (vec![0.0; n], s.to_vec());
            let sum = |_: Range<usize>, t: &[f64], u: &mut [f64]| {
                u.iter_mut().zip(t).for_each(|(u, t)| *u += t);
                t.iter().sum()
            };
            let view_x = x.as_slice().unwrap();
            let total = multiply_through(&view, view_x, &mut t, &mut u, &mut ats, sum);
            assert_eq!((&t, total), (&ax, a.dot(&x).sum()));
            assert_eq!(u, (&s + &a.dot(&x)).to_vec());
            assert_eq!(ats, a.t().dot(&(&s + &a.dot(&x))).to_vec());
            let added = |i: usize, t: f64| t + s[i];
            let total = multiply_row_by_row(&view, view_x, &mut t, &mut ats, added);
            assert_eq!((&t, total), (&ax, (&s + &a.dot(&x)).sum()));
            assert_eq!(ats, a.t().dot(&(&s + &a.dot(&x))).to_vec());
            let squares = a.mapv(|a| a * a);
            multiply_squares(&view, x.as_slice().unwrap(), &mut ax);
            multiply_squares_transposed(&view, s.as_slice().unwrap(), &mut ats);
            assert_eq!(ax, squares.dot(&x).to_vec());
            assert_eq!(ats, squares.t().dot(&s).to_vec());
        }
    }

    /// Small integers: every order of summation is exact.
    #[test]
    fn products_with_mostly_zeros_agree_with_ndarray() {
        for (n, d, every) in [(5, 33, 33), (70, 900, 16), (70, 900, 15), (3, 4000, 100)] {
            let a = Array2::from_shape_fn((n, d), |(i, j)| ((i * 31 + j * 17) % 13) as f64 - 6.0);
            let nonzero = |j: usize| if j % every == 3 { j as f64 } else { 0.0 };
            let x = Array1::from_shape_fn(d, nonzero);
            let mut ax = vec![0.0; n];
            multiply(&Dense::new(a.view()).unwrap(), x.as_slice().unwrap(), &mut ax);
            assert_eq!(ax, a.dot(&x).to_vec());
        }
    }

    /// Nothing is read at the origin; the sums are those of the plain product all the same.
    #[test]
    fn products_at_the_origin() {
        let a = Array2::from_shape_fn((70, 5), |(i, j)| (i + j) as f64);
        let view = Dense::new(a.view()).unwrap();
        let (mut t, mut s, mut out) = (vec![1.0; 70], vec![1.0; 70], vec![1.0; 5]);
        multiply(&view, &[0.0, -0.0, 0.0, 0.0, 0.0], &mut t);
        assert_eq!(t, [0.0; 70]);
        t.fill(1.0);
        let between = |_: Range<usize>, t: &[f64], s: &mut [f64]| {
            s.iter_mut().zip(t).for_each(|(s, t)| *s = t + 1.0);
            0.5
        };
        assert!(multiply_through(&view, &[0.0; 5], &mut t, &mut s, &mut out, between) > 0.0);
        assert_eq!(t, [0.0; 70]);
        assert_eq!(out, a.sum_axis(ndarray::Axis(0)).to_vec());
        t.fill(1.0);
        assert_eq!(multiply_row_by_row(&view, &[0.0; 5], &mut t, &mut out, |_, t| t + 1.0), 70.0);
        assert_eq!(t, [0.0; 70]);
        assert_eq!(out, a.sum_axis(ndarray::Axis(0)).to_vec());
        assert_eq!(row_norms_squared(&view), a.map_axis(ndarray::Axis(1), |r| r.dot(&r)).to_vec());
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn thread_count_does_not_change_a_bit() {
        let a = Array2::from_shape_fn((3000, 100), |(i, j)| ((i * 37 + j * 11) as f64).sin());
        let view = Dense::new(a.view()).unwrap();
        let s: Vec<f64> = (0..3000).map(|i| (i as f64).cos()).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut out, mut through) = (vec![0.0; 100], vec![0.0; 100]);
            let (mut t, mut u) = (vec![0.0; 3000], vec![0.0; 3000]);
            let total = pool.install(|| {
                multiply_transposed(&view, &s, &mut out);
                multiply_through(&view, &out, &mut t, &mut u, &mut through, |rows, t, u| {
                    u.copy_from_slice(t);
                    rows.map(|i| s[i]).sum::<f64>() + t.iter().sum::<f64>()
                })
            });
            let mut by_row = vec![0.0; 100];
            let sum = pool
                .install(|| multiply_row_by_row(&view, &out, &mut t, &mut by_row, |i, t| s[i] * t));
            (out, through, total, by_row, sum)
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(3));
    }
}
