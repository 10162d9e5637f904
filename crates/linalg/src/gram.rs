//! Sums of outer products of dense rows, a block at a time.
//!
//! `G = sum_i b_i b_i'` is what Newton's method and the normal equations are made of. Rows are collected until a
//! block is full; then the lower triangle of `G` takes them eight at a time: eight multiplications for every number of
//! `G` that is loaded and stored.

use crate::lanes;

/// Rows of a block.
const ROWS: usize = 64;
/// Rows that are added at once.
const TOGETHER: usize = 8;

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
    sums: Vec<f64>,
}

impl Gram {
    /// For rows of `order` numbers. Memory: about `order (order + 64)` numbers.
    pub fn new(order: usize) -> Self {
        let width = (order + 1).next_multiple_of(8);
        Gram {
            order,
            width,
            block: vec![0.0; ROWS * width],
            filled: 0,
            sums: vec![0.0; order * width],
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
        // Rows that are not filled are 0.
        let rows = filled.next_multiple_of(TOGETHER);
        let rows = &block[..rows * *width];
        lanes::run(OuterProducts { rows, width: *width, sums });
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

/// The lower triangle of `sums += rows' rows`.
struct OuterProducts<'a> {
    rows: &'a [f64],
    width: usize,
    sums: &'a mut [f64],
}

impl lanes::Kernel for OuterProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for rows in self.rows.chunks_exact(TOGETHER * self.width) {
            add_outer_products(rows, self.width, self.sums);
        }
    }
}

/// The lower triangle of `sums += rows' rows`, for eight rows.
#[inline(always)]
fn add_outer_products(rows: &[f64], width: usize, sums: &mut [f64]) {
    let (b0, rest) = rows.split_at(width);
    let (b1, rest) = rest.split_at(width);
    let (b2, rest) = rest.split_at(width);
    let (b3, rest) = rest.split_at(width);
    let (b4, rest) = rest.split_at(width);
    let (b5, rest) = rest.split_at(width);
    let (b6, b7) = rest.split_at(width);
    for (k, sums) in sums.chunks_exact_mut(width).enumerate() {
        // Whole vectors: what lies above the diagonal is not read.
        let length = (k + 1).next_multiple_of(8).min(width);
        let sums = &mut sums[..length];
        let (c0, c1, c2, c3) = (b0[k], b1[k], b2[k], b3[k]);
        let (c4, c5, c6, c7) = (b4[k], b5[k], b6[k], b7[k]);
        let (r0, r1, r2, r3) = (&b0[..length], &b1[..length], &b2[..length], &b3[..length]);
        let (r4, r5, r6, r7) = (&b4[..length], &b5[..length], &b6[..length], &b7[..length]);
        for l in 0..length {
            let low = (c0 * r0[l] + c1 * r1[l]) + (c2 * r2[l] + c3 * r3[l]);
            let high = (c4 * r4[l] + c5 * r5[l]) + (c6 * r6[l] + c7 * r7[l]);
            sums[l] += low + high;
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
