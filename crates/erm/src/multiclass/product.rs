//! Products of the design matrix with matrices of `r` columns, row-major.
//!
//! The shape of the data determines the order of all additions. So the result is the same bit for bit on any number
//! of threads.

use fenchel_linalg::{Design, parallel};

/// The least number of multiplications for which a second thread is used. Fewer take less time than a thread takes to start.
const WORK_PER_BLOCK: usize = 1 << 16;
/// The most blocks of rows in [`multiply_transposed_rows`], because each has a `d x r` matrix of its own. By judgement.
const MAX_BLOCKS: usize = 8;

/// `out_i = W'a_i + b` for `W` of `d x r`. O(nnz r).
pub fn multiply_rows<D: Design>(design: &D, w: &[f64], b: &[f64], out: &mut [f64]) {
    let r = b.len();
    assert_eq!((w.len(), out.len()), (design.columns() * r, design.rows() * r));
    let block = rows_per_block(design, r, usize::MAX);
    let fill = |(start, out): (usize, &mut [f64])| {
        for (k, out) in out.chunks_exact_mut(r).enumerate() {
            out.copy_from_slice(b);
            row_scores(design, start * block + k, w, out);
        }
    };
    if block < design.rows() {
        parallel::map(out.chunks_mut(block * r).enumerate(), fill);
    } else {
        fill((0, out));
    }
}

/// `out += W'a_i`
#[inline]
pub(crate) fn row_scores<D: Design>(design: &D, i: usize, w: &[f64], out: &mut [f64]) {
    let r = out.len();
    design.row_entries(i, |c, a| {
        for (o, w) in out.iter_mut().zip(&w[c * r..(c + 1) * r]) {
            *o += a * w;
        }
    });
}

/// `out += a_i s'` for a row `s` of `r` numbers.
#[inline]
pub(crate) fn add_row<D: Design>(design: &D, i: usize, s: &[f64], out: &mut [f64]) {
    let r = s.len();
    design.row_entries(i, |c, a| {
        for (o, s) in out[c * r..(c + 1) * r].iter_mut().zip(s) {
            *o += a * s;
        }
    });
}

/// `out = A'S` for `S` of `n x r`. O(nnz r), with a `d x r` matrix for each of at most 8 blocks of rows.
pub(crate) fn multiply_transposed_rows<D: Design>(
    design: &D,
    r: usize,
    s: &[f64],
    out: &mut [f64],
) {
    assert_eq!((s.len(), out.len()), (design.rows() * r, design.columns() * r));
    let block = rows_per_block(design, r, MAX_BLOCKS);
    out.fill(0.0);
    let accumulate = |(start, s): (usize, &[f64]), out: &mut [f64]| {
        for (k, s) in s.chunks_exact(r).enumerate() {
            add_row(design, start * block + k, s, out);
        }
    };
    if block >= design.rows() {
        accumulate((0, s), out);
        return;
    }
    let partial = |part: (usize, &[f64])| {
        let mut sum = vec![0.0; design.columns() * r];
        accumulate(part, &mut sum);
        sum
    };
    for sum in parallel::map(s.chunks(block * r).enumerate(), partial) {
        for (o, v) in out.iter_mut().zip(sum) {
            *o += v;
        }
    }
}

/// Number of rows in a block, at least 1. It depends on the shape only.
fn rows_per_block<D: Design>(design: &D, r: usize, max_blocks: usize) -> usize {
    let least = WORK_PER_BLOCK.max(design.columns().saturating_mul(r));
    let blocks = (design.stored().saturating_mul(r) / least).clamp(1, max_blocks);
    design.rows().div_ceil(blocks).max(1)
}
