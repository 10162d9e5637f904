//! Sums of outer products of dense rows, computed in blocks of rows.
//!
//! Newton's method and the normal equations need `G = sum_i b_i b_i'`. Rows are collected until a block is full, and the block
//! is cut into panels of eight columns. Each tile of the lower triangle of `G` then processes the whole block while its partial
//! sums stay in registers.

use std::ops::Range;

use crate::{lanes, parallel};

/// Numbers of the rows below which a second thread is not used.
const NUMBERS_PER_PART: usize = 1 << 16;
/// Largest number of parts of [`Gram::in_parts`], each of which has sums of its own.
const MAX_PARTS: usize = 8;
/// Rows of a block.
const ROWS: usize = 64;
/// Columns of a panel.
const PANEL: usize = 8;
/// Number of rows of a tile of the sums; it has as many columns as a panel, which makes eight vectors of four numbers.
const TILE: usize = 4;

/// Collects rows `b_i` of a given length for `sum_i b_i b_i'`.
///
/// ```
/// use fenchel_linalg::Gram;
///
/// let mut gram = Gram::new(2);
/// gram.next_row()[..2].copy_from_slice(&[1.0, 2.0]);
/// gram.next_row()[..2].copy_from_slice(&[3.0, 4.0]);
/// assert_eq!(gram.finish(), [10.0, 14.0, 14.0, 20.0]);
/// ```
#[derive(Debug, Clone)]
pub struct Gram {
    order: usize,
    /// Length of a row: the order and at least one more.
    width: usize,
    block: Vec<f64>,
    filled: usize,
    panels: Vec<[f64; PANEL]>,
    sums: Vec<f64>,
}

impl Gram {
    /// Starts a sum for rows of `order` numbers. It needs memory for about `order (order + 64)` numbers.
    pub fn new(order: usize) -> Self {
        let width = (order + 1).next_multiple_of(PANEL);
        Gram {
            order,
            width,
            block: vec![0.0; ROWS * width],
            filled: 0,
            panels: Vec::new(),
            sums: vec![0.0; width * width],
        }
    }

    /// Returns the next row, filled with zeros, for the caller to fill. The slice is longer than `order`; entries beyond
    /// `order` are ignored.
    pub fn next_row(&mut self) -> &mut [f64] {
        if self.filled == ROWS {
            self.flush();
        }
        let row = &mut self.block[self.filled * self.width..][..self.width];
        self.filled += 1;
        row
    }

    /// The sum over `rows` rows in row-major order, with both triangles, on all cores. `add` takes the rows of a range: it may leave
    /// some out. The number of rows and the order alone determine the ranges, at most 8, and so the bits of the result. Their sums take
    /// no more memory than as many rows.
    ///
    /// ```
    /// use fenchel_linalg::Gram;
    ///
    /// let rows = [[1.0, 2.0], [3.0, 4.0]];
    /// let gram = Gram::in_parts(2, rows.len(), |range, gram| {
    ///     range.for_each(|i| gram.next_row()[..2].copy_from_slice(&rows[i]));
    /// });
    /// assert_eq!(gram, [10.0, 14.0, 14.0, 20.0]);
    /// ```
    pub fn in_parts(
        order: usize,
        rows: usize,
        add: impl Fn(Range<usize>, &mut Gram) + Sync,
    ) -> Vec<f64> {
        let numbers = NUMBERS_PER_PART.max(order.saturating_mul(order));
        let parts = (rows.saturating_mul(order) / numbers).clamp(1, MAX_PARTS);
        let ranges = (0..parts).map(|part| part * rows / parts..(part + 1) * rows / parts);
        let sums = parallel::map(ranges, |range| {
            let mut gram = Gram::new(order);
            add(range, &mut gram);
            gram.finish()
        });
        let mut sums = sums.into_iter();
        let mut total = sums.next().unwrap_or_default();
        sums.for_each(|sum| total.iter_mut().zip(sum).for_each(|(total, part)| *total += part));
        total
    }

    fn flush(&mut self) {
        let Gram { width, block, filled, panels, sums, .. } = self;
        let rows = &block[..*filled * *width];
        lanes::run(OuterProducts { rows, width: *width, panels, sums });
        block.fill(0.0);
        *filled = 0;
    }

    /// Returns the sum in row-major order, with both triangles.
    pub fn finish(mut self) -> Vec<f64> {
        self.flush();
        let (m, width) = (self.order, self.width);
        let mut whole = vec![0.0; m * m];
        for k in 0..m {
            for l in 0..=k {
                whole[k * m + l] = self.sums[k * width + l];
                whole[l * m + k] = self.sums[k * width + l];
            }
        }
        whole
    }
}

/// The lower triangle of `sums += rows' rows`.
struct OuterProducts<'a> {
    rows: &'a [f64],
    width: usize,
    /// Memory for the rows, one panel after the other.
    panels: &'a mut Vec<[f64; PANEL]>,
    sums: &'a mut [f64],
}

impl lanes::Kernel for OuterProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let OuterProducts { rows, width, panels, sums } = self;
        let count = rows.len() / width;
        if count == 0 {
            return;
        }
        panels.clear();
        for panel in 0..width / PANEL {
            for row in rows.chunks_exact(width) {
                panels.push(row.as_chunks().0[panel]);
            }
        }
        for (l, right) in panels.chunks_exact(count).enumerate() {
            for (k, left) in panels.chunks_exact(count).enumerate().skip(l) {
                for half in 0..PANEL / TILE {
                    let tile = product(left, half * TILE, right);
                    for (i, tile) in tile.iter().enumerate() {
                        let row = (k * PANEL + half * TILE + i) * width;
                        let sums = &mut sums[row + l * PANEL..][..PANEL];
                        for j in 0..PANEL {
                            sums[j] += tile[j];
                        }
                    }
                }
            }
        }
    }
}

/// `L'R` for `TILE` columns of one panel from a given one on, and all of another: the sums stay in registers.
#[inline(always)]
fn product(left: &[[f64; PANEL]], from: usize, right: &[[f64; PANEL]]) -> [[f64; PANEL]; TILE] {
    let mut tile = [[0.0; PANEL]; TILE];
    for (left, right) in left.iter().zip(right) {
        for i in 0..TILE {
            let a = left[from + i];
            for j in 0..PANEL {
                tile[i][j] += a * right[j];
            }
        }
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_plain_loop() {
        for (n, m) in [(1, 1), (3, 7), (64, 8), (65, 9), (200, 23)] {
            let entry = |i: usize, k: usize| ((i * 31 + k * 17) % 13) as f64 - 6.0;
            let mut gram = Gram::new(m);
            for i in 0..n {
                let row = gram.next_row();
                (0..m).for_each(|k| row[k] = entry(i, k));
                row[m] = f64::NAN;
            }
            let found = gram.finish();
            for k in 0..m {
                for l in 0..m {
                    // Small integers: every order of summation is exact.
                    let sum: f64 = (0..n).map(|i| entry(i, k) * entry(i, l)).sum();
                    assert_eq!(found[k * m + l], sum, "{n} {m}: {k} {l}");
                }
            }
        }
    }
    /// Eight parts, the last of which leaves rows out.
    #[test]
    fn parts_add_up() {
        let (n, m) = (9000, 60);
        let entry = |i: usize, k: usize| ((i * 31 + k * 17) % 13) as f64 - 6.0;
        let in_parts = || {
            Gram::in_parts(m, n, |rows, gram| {
                for i in rows.filter(|i| *i < n - 5) {
                    (0..m).zip(gram.next_row()).for_each(|(k, out)| *out = entry(i, k));
                }
            })
        };
        let found = in_parts();
        for (k, l) in [(0, 0), (3, 50), (59, 7)] {
            let sum: f64 = (0..n - 5).map(|i| entry(i, k) * entry(i, l)).sum();
            assert_eq!((found[k * m + l], found[l * m + k]), (sum, sum));
        }
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn thread_count_does_not_change_a_bit() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                Gram::in_parts(60, 9000, |rows, gram| {
                    for i in rows {
                        let row = gram.next_row().iter_mut().enumerate();
                        row.for_each(|(k, out)| *out = ((i * 60 + k) as f64).sin());
                    }
                })
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(3));
    }
}
