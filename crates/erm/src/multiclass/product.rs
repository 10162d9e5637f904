//! Products of the design matrix with matrices of `r` columns, row-major.
//!
//! The shape of the data determines the order of all additions. So the result is the same bit for bit on any number
//! of threads.

use std::ops::Range;

use fenchel_linalg::lanes::{self, Kernel};
use fenchel_linalg::{Design, nonzeros_by_column, parallel};

/// The least number of multiplications for which a second thread is used. Fewer take less time than a thread takes to start.
const WORK_PER_BLOCK: usize = 1 << 16;
/// The most blocks of rows in [`multiply_transposed_rows`], because each has a `d x r` matrix of its own. By judgement.
const MAX_BLOCKS: usize = 8;
/// Columns of a matrix from which on a product of sparse data is shared by the columns of the data: an entry then takes several vector
/// instructions, beside which its place is read for little. By judgement.
const BY_COLUMNS: usize = 16;
/// Parts of such a product for each thread, so that none waits long for the others.
const PARTS_PER_THREAD: usize = 2;
/// Rows of dense data that are read together, so that what belongs to a column is loaded once for all of them.
const TOGETHER: usize = 4;

/// `out_i = W'a_i + b` for `W` of `d x r`. O(nnz r).
pub fn multiply_rows<D: Design>(design: &D, w: &[f64], b: &[f64], out: &mut [f64]) {
    let r = b.len();
    assert_eq!((w.len(), out.len()), (design.columns() * r, design.rows() * r));
    let block = rows_per_block(design, r, usize::MAX);
    let fill = |(start, out): (usize, &mut [f64])| {
        let mut rows = Rows::of(design);
        for (k, out) in out.chunks_mut(TOGETHER * r).enumerate() {
            out.chunks_exact_mut(r).for_each(|out| out.copy_from_slice(b));
            let from = start * block + k * TOGETHER;
            match rows.read(design, from, out.len() / r) {
                Some(rows) => lanes::run(Scores { rows, w, out }),
                None => out
                    .chunks_exact_mut(r)
                    .enumerate()
                    .for_each(|(i, out)| row_scores(design, from + i, w, out)),
            }
        }
    };
    if block < design.rows() {
        parallel::map(out.chunks_mut(block * r).enumerate(), fill);
    } else {
        fill((0, out));
    }
}

/// `out = A'S` for `S` of `n x r`. O(nnz r), with a `d x r` matrix for each of at most 8 blocks of rows; none of sparse data with many
/// columns of `S`, which threads share by the columns of `A`.
pub(crate) fn multiply_transposed_rows<D: Design>(
    design: &D,
    r: usize,
    s: &[f64],
    out: &mut [f64],
) {
    assert_eq!((s.len(), out.len()), (design.rows() * r, design.columns() * r));
    out.fill(0.0);
    if !D::DENSE && r >= BY_COLUMNS {
        return sum_by_columns(design, r, s, out);
    }
    let block = rows_per_block(design, r, MAX_BLOCKS);
    let accumulate = |(start, s): (usize, &[f64]), out: &mut [f64]| {
        let mut rows = Rows::of(design);
        for (k, s) in s.chunks(TOGETHER * r).enumerate() {
            let from = start * block + k * TOGETHER;
            match rows.read(design, from, s.len() / r) {
                Some(rows) => lanes::run(Sum { rows, s, out }),
                None => s
                    .chunks_exact(r)
                    .enumerate()
                    .for_each(|(i, s)| add_row(design, from + i, s, out)),
            }
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

/// `out += A'S` for sparse data: a thread has some of the rows of `out`, and reads the places of all entries. Each number is a sum over
/// the rows in their order, however many threads there are.
fn sum_by_columns<D: Design>(design: &D, r: usize, s: &[f64], out: &mut [f64]) {
    let (stored, threads) = (design.stored(), parallel::threads());
    let least = stored.saturating_mul(r) / WORK_PER_BLOCK;
    let parts = if threads > 1 { least.clamp(1, PARTS_PER_THREAD * threads) } else { 1 };
    let mut ends = Vec::with_capacity(parts);
    if parts > 1 {
        // As many entries in each: a few columns may have most of them.
        let mut sum = 0;
        for (c, count) in nonzeros_by_column(design).into_iter().enumerate() {
            sum += count;
            if sum * parts >= stored * (ends.len() + 1) {
                ends.push(c + 1);
            }
        }
    }
    ends.push(design.columns());
    let (mut rest, mut from) = (out, 0);
    let shares = ends.into_iter().map(|to| {
        let (own, others) = std::mem::take(&mut rest).split_at_mut((to - from) * r);
        rest = others;
        (std::mem::replace(&mut from, to)..to, own)
    });
    parallel::map(shares.collect::<Vec<_>>(), |(columns, out): (Range<usize>, &mut [f64])| {
        lanes::run(SumByColumns { design, r, s, columns, out });
    });
}

/// Number of rows in a block, at least 1. It depends on the shape only.
fn rows_per_block<D: Design>(design: &D, r: usize, max_blocks: usize) -> usize {
    let least = WORK_PER_BLOCK.max(design.columns().saturating_mul(r));
    let blocks = (design.stored().saturating_mul(r) / least).clamp(1, max_blocks);
    design.rows().div_ceil(blocks).max(1)
}

/// `out += W'a_i`
#[inline]
pub(crate) fn row_scores<D: Design>(design: &D, i: usize, w: &[f64], out: &mut [f64]) {
    lanes::run(RowScores { design, i, w, out });
}

/// `out += a_i s'` for a row `s` of `r` numbers.
#[inline]
pub(crate) fn add_row<D: Design>(design: &D, i: usize, s: &[f64], out: &mut [f64]) {
    lanes::run(AddRow { design, i, s, out });
}

/// Memory for [`TOGETHER`] rows of dense data.
struct Rows(Vec<f64>);

impl Rows {
    fn of<D: Design>(design: &D) -> Self {
        Rows(if D::DENSE { vec![0.0; TOGETHER * design.columns()] } else { Vec::new() })
    }

    /// Copies rows of dense data, if they are as many as it has room for.
    fn read<D: Design>(
        &mut self,
        design: &D,
        from: usize,
        rows: usize,
    ) -> Option<[&[f64]; TOGETHER]> {
        if !D::DENSE || rows < TOGETHER {
            return None;
        }
        lanes::run(Copy { design, from, out: &mut self.0 });
        let d = design.columns();
        Some(std::array::from_fn(|k| &self.0[k * d..(k + 1) * d]))
    }
}

struct Copy<'k, D> {
    design: &'k D,
    from: usize,
    out: &'k mut [f64],
}

impl<D: Design> Kernel for Copy<'_, D> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let d = self.design.columns();
        self.out.fill(0.0);
        for k in 0..TOGETHER {
            self.design.row_axpy(self.from + k, 1.0, &mut self.out[k * d..(k + 1) * d]);
        }
    }
}

/// Calls a method for a constant number of columns at a time, at most as many as there are.
macro_rules! by_width {
    ($of:expr, $r:expr) => {
        match $r {
            8.. => $of.columns::<8>(),
            4.. => $of.columns::<4>(),
            2.. => $of.columns::<2>(),
            _ => $of.columns::<1>(),
        }
    };
}

/// `W` neighbouring columns. The last ones of a matrix begin where as many are left, so that the first of them have had their turn.
#[derive(Clone, Copy)]
struct Columns<const W: usize> {
    from: usize,
    done: usize,
}

impl<const W: usize> Columns<W> {
    #[inline(always)]
    fn at(done: usize, r: usize) -> Self {
        Columns { from: if done + W <= r { done } else { r - W }, done }
    }

    /// The numbers of row `k`.
    #[inline(always)]
    fn of(self, matrix: &[f64], k: usize, r: usize) -> &[f64; W] {
        let at = k * r + self.from;
        matrix[at..at + W].first_chunk().expect("as many as W")
    }

    /// The numbers of row `k`: 0 for the columns that have had their turn.
    #[inline(always)]
    fn new_of(self, matrix: &[f64], k: usize, r: usize) -> [f64; W] {
        let mut all = *self.of(matrix, k, r);
        for l in 0..self.done - self.from {
            all[l] = 0.0;
        }
        all
    }

    /// Writes the numbers of row `k`, but for the columns that have had their turn.
    #[inline(always)]
    fn put(self, sums: [f64; W], matrix: &mut [f64], k: usize, r: usize) {
        let at = k * r + self.from;
        let out = &mut matrix[at..at + W];
        for (l, sum) in sums.into_iter().enumerate() {
            if l >= self.done - self.from {
                out[l] = sum;
            }
        }
    }
}

/// `sums += a s`
#[inline(always)]
fn add<const W: usize>(sums: &mut [f64; W], a: f64, s: &[f64; W]) {
    for l in 0..W {
        sums[l] += a * s[l];
    }
}

/// `out_k += W'a_k` for [`TOGETHER`] dense rows.
struct Scores<'k> {
    rows: [&'k [f64]; TOGETHER],
    w: &'k [f64],
    out: &'k mut [f64],
}

impl Scores<'_> {
    #[inline(always)]
    fn columns<const W: usize>(self) {
        let Scores { rows: [a0, a1, a2, a3], w, out } = self;
        let (d, r) = (a0.len(), out.len() / TOGETHER);
        let (a1, a2, a3) = (&a1[..d], &a2[..d], &a3[..d]);
        let mut done = 0;
        while done < r {
            let at = Columns::<W>::at(done, r);
            let (mut s0, mut s1) = (*at.of(out, 0, r), *at.of(out, 1, r));
            let (mut s2, mut s3) = (*at.of(out, 2, r), *at.of(out, 3, r));
            for c in 0..d {
                let w = at.of(w, c, r);
                add(&mut s0, a0[c], w);
                add(&mut s1, a1[c], w);
                add(&mut s2, a2[c], w);
                add(&mut s3, a3[c], w);
            }
            at.put(s0, out, 0, r);
            at.put(s1, out, 1, r);
            at.put(s2, out, 2, r);
            at.put(s3, out, 3, r);
            done = at.from + W;
        }
    }
}

impl Kernel for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        by_width!(self, self.out.len() / TOGETHER);
    }
}

/// `out += sum_k a_k s_k'` for [`TOGETHER`] dense rows.
struct Sum<'k> {
    rows: [&'k [f64]; TOGETHER],
    s: &'k [f64],
    out: &'k mut [f64],
}

impl Sum<'_> {
    #[inline(always)]
    fn columns<const W: usize>(self) {
        let Sum { rows: [a0, a1, a2, a3], s, out } = self;
        let (d, r) = (a0.len(), s.len() / TOGETHER);
        let (a1, a2, a3) = (&a1[..d], &a2[..d], &a3[..d]);
        let mut done = 0;
        while done < r {
            let at = Columns::<W>::at(done, r);
            let (s0, s1) = (at.new_of(s, 0, r), at.new_of(s, 1, r));
            let (s2, s3) = (at.new_of(s, 2, r), at.new_of(s, 3, r));
            for c in 0..d {
                let out = &mut out[c * r + at.from..c * r + at.from + W];
                let out: &mut [f64; W] = out.first_chunk_mut().expect("as many as W");
                let mut sums = *out;
                add(&mut sums, a0[c], &s0);
                add(&mut sums, a1[c], &s1);
                add(&mut sums, a2[c], &s2);
                add(&mut sums, a3[c], &s3);
                *out = sums;
            }
            done = at.from + W;
        }
    }
}

impl Kernel for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        by_width!(self, self.s.len() / TOGETHER);
    }
}

/// See [`row_scores`].
struct RowScores<'k, D> {
    design: &'k D,
    i: usize,
    w: &'k [f64],
    out: &'k mut [f64],
}

impl<D: Design> RowScores<'_, D> {
    #[inline(always)]
    fn columns<const W: usize>(self) {
        let RowScores { design, i, w, out } = self;
        let (r, mut done) = (out.len(), 0);
        while done < r {
            let at = Columns::<W>::at(done, r);
            let mut sums = *at.of(out, 0, r);
            design.row_entries(
                i,
                #[inline(always)]
                |c, a| add(&mut sums, a, at.of(w, c, r)),
            );
            at.put(sums, out, 0, r);
            done = at.from + W;
        }
    }
}

impl<D: Design> Kernel for RowScores<'_, D> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        by_width!(self, self.out.len());
    }
}

/// See [`sum_by_columns`].
struct SumByColumns<'k, D> {
    design: &'k D,
    r: usize,
    s: &'k [f64],
    columns: Range<usize>,
    out: &'k mut [f64],
}

impl<D: Design> Kernel for SumByColumns<'_, D> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let SumByColumns { design, r, s, columns, out } = self;
        for (i, s) in s.chunks_exact(r).enumerate() {
            design.row_entries(
                i,
                #[inline(always)]
                |c, a| {
                    if columns.contains(&c) {
                        let out = &mut out[(c - columns.start) * r..][..r];
                        out.iter_mut().zip(s).for_each(|(o, s)| *o += a * s);
                    }
                },
            );
        }
    }
}

/// See [`add_row`].
struct AddRow<'k, D> {
    design: &'k D,
    i: usize,
    s: &'k [f64],
    out: &'k mut [f64],
}

impl<D: Design> AddRow<'_, D> {
    #[inline(always)]
    fn columns<const W: usize>(self) {
        let AddRow { design, i, s, out } = self;
        let (r, mut done) = (s.len(), 0);
        while done < r {
            let at = Columns::<W>::at(done, r);
            let s = at.new_of(s, 0, r);
            design.row_entries(
                i,
                #[inline(always)]
                |c, a| {
                    let out = &mut out[c * r + at.from..c * r + at.from + W];
                    add(out.first_chunk_mut().expect("as many as W"), a, &s);
                },
            );
            done = at.from + W;
        }
    }
}

impl<D: Design> Kernel for AddRow<'_, D> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        by_width!(self, self.s.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_linalg::{Csr, CsrMatrix, Dense};
    use ndarray::Array2;

    fn number(i: usize, j: usize) -> f64 {
        ((i * 31 + j * 17 + 5) as f64).sin()
    }

    /// Both products against the plain loops, bit for bit: every number of columns up to three widths, and rows that are no multiple
    /// of those that are read together.
    #[test]
    fn products_are_those_of_plain_loops() {
        for (n, d) in [(1, 3), (4, 1), (7, 5), (11, 9)] {
            let x = Array2::from_shape_fn((n, d), |(i, j)| number(i, j));
            let offsets = (0..=n).map(|i| i * d).collect();
            let columns = (0..n).flat_map(|_| 0..d as u32).collect();
            let sparse = CsrMatrix::new((n, d), offsets, columns, x.iter().copied().collect());
            for r in 1..=19 {
                let w: Vec<f64> = (0..d * r).map(|k| number(k, 2)).collect();
                let b: Vec<f64> = (0..r).map(|k| number(k, 3)).collect();
                let s: Vec<f64> = (0..n * r).map(|k| number(k, 4)).collect();
                let (mut scores, mut sums) = (b.repeat(n), vec![0.0; d * r]);
                for i in 0..n {
                    for c in 0..d {
                        for k in 0..r {
                            scores[i * r + k] += x[[i, c]] * w[c * r + k];
                            sums[c * r + k] += x[[i, c]] * s[i * r + k];
                        }
                    }
                }
                let (mut found, mut transposed) = (vec![0.0; n * r], vec![0.0; d * r]);
                let dense = Dense::new(x.view()).unwrap();
                multiply_rows(&dense, &w, &b, &mut found);
                multiply_transposed_rows(&dense, r, &s, &mut transposed);
                assert_eq!((&found, &transposed), (&scores, &sums), "dense, {n} x {d}, {r}");
                let sparse = Csr::new(sparse.view()).unwrap();
                multiply_rows(&sparse, &w, &b, &mut found);
                multiply_transposed_rows(&sparse, r, &s, &mut transposed);
                assert_eq!((&found, &transposed), (&scores, &sums), "sparse, {n} x {d}, {r}");
            }
        }
    }
    /// Most entries are in the first columns. Threads cut the columns in other places than one another.
    #[test]
    fn thread_count_does_not_change_a_bit() {
        let (n, d, r) = (2000, 50, 20);
        let row =
            |i: usize| (0..d as u32).filter(move |&c| c < 10 || (i + c as usize).is_multiple_of(9));
        let columns: Vec<u32> = (0..n).flat_map(row).collect();
        let mut offsets = vec![0];
        (0..n).for_each(|i| offsets.push(offsets[i] + row(i).count()));
        let values = (0..columns.len()).map(|k| number(k, 1)).collect();
        let sparse = CsrMatrix::new((n, d), offsets, columns, values);
        let sparse = Csr::new(sparse.view()).unwrap();
        let s: Vec<f64> = (0..n * r).map(|k| number(k, 4)).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0.0; d * r];
            pool.install(|| multiply_transposed_rows(&sparse, r, &s, &mut out));
            out
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
    }
}
