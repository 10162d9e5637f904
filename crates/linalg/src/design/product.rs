//! Products with the whole design matrix, on all cores where feature `parallel` is on.
//!
//! The order of every addition is fixed by the shape of the data, never by the number of threads,
//! so a result is the same bit for bit on any machine size.

use super::Design;
use crate::lanes;

/// Fewer stored entries than this are not worth waking a second thread for.
const ENTRIES_PER_BLOCK: usize = 1 << 16;
/// Upper limit of blocks: each keeps a vector of length `d` in [`multiply_transposed`].
const MAX_BLOCKS: usize = 8;

/// `out = A x`. O(nnz).
///
/// # Panics
/// If `x` or `out` has not the length of a column index range or of the rows.
pub fn multiply<D: Design>(design: &D, x: &[f64], out: &mut [f64]) {
    assert_eq!((x.len(), out.len()), (design.columns(), design.rows()));
    each_row(design, &Dots { design, x }, out);
}

/// `out_i = sum_c x_c a_ic^2`. O(nnz).
///
/// # Panics
/// As [`multiply`].
pub fn multiply_squares<D: Design>(design: &D, x: &[f64], out: &mut [f64]) {
    assert_eq!((x.len(), out.len()), (design.columns(), design.rows()));
    each_row(design, &SquareDots { design, x }, out);
}

/// `out = A' s`. O(nnz + d * blocks), with one vector of length `d` for each of at most 8 blocks of rows.
///
/// # Panics
/// If `s` or `out` has not the length of the rows or of the columns.
pub fn multiply_transposed<D: Design>(design: &D, s: &[f64], out: &mut [f64]) {
    assert_eq!((s.len(), out.len()), (design.rows(), design.columns()));
    sum_of_rows(design, &Combination { design, s }, out);
}

/// `out_c = sum_i s_i a_ic^2`. O(nnz + d * blocks), as [`multiply_transposed`].
///
/// # Panics
/// As [`multiply_transposed`].
pub fn multiply_squares_transposed<D: Design>(design: &D, s: &[f64], out: &mut [f64]) {
    assert_eq!((s.len(), out.len()), (design.rows(), design.columns()));
    sum_of_rows(design, &SquareCombination { design, s }, out);
}

/// A number for each row.
trait RowNumber: Sync {
    fn number(&self, i: usize) -> f64;
}

/// A multiple of each row, or of something made of it, to be added up.
trait RowMultiple: Sync {
    fn add(&self, i: usize, out: &mut [f64]);
}

struct Dots<'a, D> {
    design: &'a D,
    x: &'a [f64],
}

struct SquareDots<'a, D> {
    design: &'a D,
    x: &'a [f64],
}

struct Combination<'a, D> {
    design: &'a D,
    s: &'a [f64],
}

struct SquareCombination<'a, D> {
    design: &'a D,
    s: &'a [f64],
}

impl<D: Design> RowNumber for Dots<'_, D> {
    #[inline(always)]
    fn number(&self, i: usize) -> f64 {
        self.design.row_dot(i, self.x)
    }
}

impl<D: Design> RowNumber for SquareDots<'_, D> {
    #[inline(always)]
    fn number(&self, i: usize) -> f64 {
        self.design.row_square_dot(i, self.x)
    }
}

impl<D: Design> RowMultiple for Combination<'_, D> {
    #[inline(always)]
    fn add(&self, i: usize, out: &mut [f64]) {
        if self.s[i] != 0.0 {
            self.design.row_axpy(i, self.s[i], out);
        }
    }
}

impl<D: Design> RowMultiple for SquareCombination<'_, D> {
    #[inline(always)]
    fn add(&self, i: usize, out: &mut [f64]) {
        let s = self.s[i];
        self.design.row_entries(i, |c, a| out[c] += s * (a * a));
    }
}

/// Fills a block of numbers, the first of which is that of row `from`.
struct Fill<'o, R> {
    of: &'o R,
    from: usize,
    out: &'o mut [f64],
}

impl<R: RowNumber> lanes::Kernel for Fill<'_, R> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for k in 0..self.out.len() {
            self.out[k] = self.of.number(self.from + k);
        }
    }
}

/// Adds up a range of rows.
struct Add<'o, R> {
    of: &'o R,
    rows: std::ops::Range<usize>,
    out: &'o mut [f64],
}

impl<R: RowMultiple> lanes::Kernel for Add<'_, R> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for i in self.rows {
            self.of.add(i, self.out);
        }
    }
}

fn each_row<D: Design>(design: &D, of: &impl RowNumber, out: &mut [f64]) {
    let block = rows_per_block(design, usize::MAX);
    let fill = |(b, out): (usize, &mut [f64])| lanes::run(Fill { of, from: b * block, out });
    #[cfg(feature = "parallel")]
    if block < design.rows() {
        use rayon::prelude::*;
        out.par_chunks_mut(block).enumerate().for_each(fill);
        return;
    }
    out.chunks_mut(block).enumerate().for_each(fill);
}

fn sum_of_rows<D: Design>(design: &D, of: &impl RowMultiple, out: &mut [f64]) {
    let n = design.rows();
    let block = rows_per_block(design, MAX_BLOCKS);
    out.fill(0.0);
    if block >= n {
        lanes::run(Add { of, rows: 0..n, out });
        return;
    }
    let partial = |b: usize| {
        let mut sum = vec![0.0; design.columns()];
        let rows = b * block..((b + 1) * block).min(n);
        lanes::run(Add { of, rows, out: &mut sum });
        sum
    };
    let blocks = 0..n.div_ceil(block);
    #[cfg(feature = "parallel")]
    let partials: Vec<Vec<f64>> = {
        use rayon::prelude::*;
        blocks.into_par_iter().map(partial).collect()
    };
    #[cfg(not(feature = "parallel"))]
    let partials = blocks.map(partial);
    for sum in partials {
        for (o, v) in out.iter_mut().zip(sum) {
            *o += v;
        }
    }
}

/// Rows in a block: a function of the shape alone. At least 1, so that it can be a chunk length.
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
            let squares = a.mapv(|a| a * a);
            multiply_squares(&view, x.as_slice().unwrap(), &mut ax);
            multiply_squares_transposed(&view, s.as_slice().unwrap(), &mut ats);
            assert_eq!(ax, squares.dot(&x).to_vec());
            assert_eq!(ats, squares.t().dot(&s).to_vec());
        }
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn thread_count_does_not_change_a_bit() {
        let a = Array2::from_shape_fn((3000, 100), |(i, j)| ((i * 37 + j * 11) as f64).sin());
        let view = Dense::new(a.view()).unwrap();
        let s: Vec<f64> = (0..3000).map(|i| (i as f64).cos()).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0.0; 100];
            pool.install(|| multiply_transposed(&view, &s, &mut out));
            out
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(3));
    }
}
