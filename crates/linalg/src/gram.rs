//! Sums of outer products of dense rows, a block at a time.
//!
//! `G = sum_i b_i b_i'` is what Newton's method and the normal equations are made of. Rows are collected until a
//! block of them fits the cache; then the lower triangle of `G` takes them all at once, in tiles that stay in
//! registers: several multiplications for every number that is loaded.

use crate::lanes;

/// Rows of a block.
const ROWS: usize = 64;
/// Tiles have 4 rows and 8 columns.
const TILE: (usize, usize) = (4, 8);

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
    /// Length of a row: the order and at least one more, in whole tiles.
    width: usize,
    block: Vec<f64>,
    filled: usize,
    sums: Vec<f64>,
}

impl Gram {
    /// For rows of `order` numbers. Memory: about `order (order + 64)` numbers.
    pub fn new(order: usize) -> Self {
        let width = (order + 1).next_multiple_of(TILE.1);
        Gram {
            order,
            width,
            block: vec![0.0; ROWS * width],
            filled: 0,
            sums: vec![0.0; width * width],
        }
    }

    /// The next row, all zeros, to be filled. It is longer than `order`: what is written behind counts nothing.
    pub fn next_row(&mut self) -> &mut [f64] {
        if self.filled == ROWS {
            self.flush();
        }
        let row = &mut self.block[self.filled * self.width..][..self.width];
        self.filled += 1;
        row
    }

    fn flush(&mut self) {
        let Gram { width, block, filled, sums, .. } = self;
        lanes::dispatch(
            #[inline(always)]
            || add_outer_products(&block[..*filled * *width], *width, sums),
        );
        block.fill(0.0);
        *filled = 0;
    }

    /// The sum, both triangles, row-major.
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

/// `sums += block' block` in the tiles that touch the lower triangle.
#[inline(always)]
fn add_outer_products(block: &[f64], width: usize, sums: &mut [f64]) {
    for k in (0..width).step_by(TILE.0) {
        for l in (0..k + TILE.0).step_by(TILE.1) {
            let mut tile = [[0.0; TILE.1]; TILE.0];
            for row in block.chunks_exact(width) {
                let a: &[f64; TILE.0] = row[k..k + TILE.0].try_into().expect("whole tiles");
                let b: &[f64; TILE.1] = row[l..l + TILE.1].try_into().expect("whole tiles");
                for i in 0..TILE.0 {
                    for j in 0..TILE.1 {
                        tile[i][j] += a[i] * b[j];
                    }
                }
            }
            for (i, tile) in tile.iter().enumerate() {
                let target = &mut sums[(k + i) * width + l..][..TILE.1];
                target.iter_mut().zip(tile).for_each(|(t, s)| *t += s);
            }
        }
    }
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
