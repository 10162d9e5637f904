//! Sums of outer products of dense rows, computed in blocks of rows.
//!
//! Newton's method and the normal equations need `G = sum_i b_i b_i'`. Rows are collected until a block is full, and the block
//! is cut into panels of eight columns. Each tile of the lower triangle of `G` then processes the whole block while its partial
//! sums stay in registers.

use crate::lanes;

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
}
