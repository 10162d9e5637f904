//! Products with the whole design matrix, on all cores where feature `parallel` is on.
//!
//! The order of every addition is fixed by the shape of the data, never by the number of threads,
//! so a result is the same bit for bit on any machine size.

use super::Design;

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
    let block = rows_per_block(design, usize::MAX);
    let fill = |(b, out): (usize, &mut [f64])| {
        for (k, o) in out.iter_mut().enumerate() {
            *o = design.row_dot(b * block + k, x);
        }
    };
    #[cfg(feature = "parallel")]
    if block < design.rows() {
        use rayon::prelude::*;
        out.par_chunks_mut(block).enumerate().for_each(fill);
        return;
    }
    out.chunks_mut(block).enumerate().for_each(fill);
}

/// `out = A' s`. O(nnz + d * blocks), with one vector of length `d` for each of at most 8 blocks of rows.
///
/// # Panics
/// If `s` or `out` has not the length of the rows or of the columns.
pub fn multiply_transposed<D: Design>(design: &D, s: &[f64], out: &mut [f64]) {
    assert_eq!((s.len(), out.len()), (design.rows(), design.columns()));
    let block = rows_per_block(design, MAX_BLOCKS);
    let accumulate = |(b, s): (usize, &[f64]), out: &mut [f64]| {
        for (k, &s) in s.iter().enumerate() {
            if s != 0.0 {
                design.row_axpy(b * block + k, s, out);
            }
        }
    };
    out.fill(0.0);
    if block >= design.rows() {
        accumulate((0, s), out);
        return;
    }
    let partial = |part: (usize, &[f64])| {
        let mut sum = vec![0.0; design.columns()];
        accumulate(part, &mut sum);
        sum
    };
    #[cfg(feature = "parallel")]
    let partials: Vec<Vec<f64>> = {
        use rayon::prelude::*;
        s.par_chunks(block).enumerate().map(partial).collect()
    };
    #[cfg(not(feature = "parallel"))]
    let partials = s.chunks(block).enumerate().map(partial);
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
