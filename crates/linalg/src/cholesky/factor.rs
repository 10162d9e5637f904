//! The factorisation itself, in blocks of columns.

use std::ops::Range;

use crate::{Invalid, lanes};

/// Columns of a block: what the columns before it contribute is subtracted from all of them at once.
const BLOCK: usize = 64;
/// Columns before a block that are processed together: eight rows of so many numbers fit into the first cache.
const DEPTH: usize = 256;
/// Columns of a panel, and rows of a tile: eight vectors of eight numbers stay in registers.
const PANEL: usize = 8;

type Tile = [[f64; PANEL]; PANEL];

/// Replaces the lower triangle of a row-major `n x n` matrix by its factor, and the upper one by zeros.
pub(super) struct Factor<'a> {
    pub(super) entries: &'a mut [f64],
    pub(super) n: usize,
}

impl lanes::Kernel for Factor<'_> {
    type Output = Result<(), Invalid>;

    /// `L_ij = (A_ij - sum_(k < j) L_ik L_jk) / L_jj`, a block of columns after the other.
    #[inline(always)]
    fn compute(self) -> Self::Output {
        let Factor { entries, n } = self;
        let mut scratch = vec![[0.0; PANEL]; BLOCK / PANEL * DEPTH.min(n)];
        for from in (0..n).step_by(BLOCK) {
            let to = n.min(from + BLOCK);
            for k in (0..from).step_by(DEPTH) {
                subtract(entries, n, from..to, k..from.min(k + DEPTH), &mut scratch);
            }
            for panel in (from..to).step_by(PANEL) {
                let columns = panel..to.min(panel + PANEL);
                subtract(entries, n, columns.clone(), from..panel, &mut scratch);
                pivots(entries, n, columns.clone())?;
                below(entries, n, columns);
            }
        }
        for (i, row) in entries.chunks_exact_mut(n).enumerate() {
            row[i + 1..].fill(0.0);
        }
        Ok(())
    }
}

/// `A_ij -= sum_k L_ik L_jk` for the given columns `j`, all rows `i` from the first of them on, and the known columns `k`. What is
/// above the diagonal is not read, but may be overwritten.
#[inline(always)]
fn subtract(
    a: &mut [f64],
    n: usize,
    columns: Range<usize>,
    known: Range<usize>,
    scratch: &mut [[f64; PANEL]],
) {
    let depth = known.len();
    if depth == 0 {
        return;
    }
    let panels = columns.len().div_ceil(PANEL);
    for (p, panel) in scratch.chunks_exact_mut(depth).take(panels).enumerate() {
        for t in 0..PANEL {
            let j = columns.start + p * PANEL + t;
            // Columns beyond the last one repeat it, and are not written.
            let row = &a[j.min(columns.end - 1) * n + known.start..][..depth];
            panel.iter_mut().zip(row).for_each(|(panel, l)| panel[t] = *l);
        }
    }
    for i in (columns.start..n).step_by(PANEL) {
        let rows = PANEL.min(n - i);
        for (p, panel) in scratch.chunks_exact(depth).take(panels).enumerate() {
            let j = columns.start + p * PANEL;
            if j >= i + PANEL {
                break;
            }
            let tile = {
                let left: [&[f64]; PANEL] =
                    std::array::from_fn(|t| &a[(i + t.min(rows - 1)) * n + known.start..][..depth]);
                product(left, panel)
            };
            let width = PANEL.min(columns.end - j);
            for (t, tile) in tile.iter().enumerate().take(rows) {
                let row = &mut a[(i + t) * n + j..][..width];
                row.iter_mut().zip(tile).for_each(|(a, sum)| *a -= sum);
            }
        }
    }
}

/// The inner products of eight rows with the eight columns of a panel.
#[inline(always)]
fn product(left: [&[f64]; PANEL], panel: &[[f64; PANEL]]) -> Tile {
    let left = left.map(|row| &row[..panel.len()]);
    let mut tile = [[0.0; PANEL]; PANEL];
    for (k, right) in panel.iter().enumerate() {
        for t in 0..PANEL {
            let l = left[t][k];
            for c in 0..PANEL {
                tile[t][c] += l * right[c];
            }
        }
    }
    tile
}

/// Factors the square of a panel that lies on the diagonal.
#[inline(always)]
fn pivots(a: &mut [f64], n: usize, columns: Range<usize>) -> Result<(), Invalid> {
    let from = columns.start;
    for i in columns {
        let (above, row) = a.split_at_mut(i * n);
        for j in from..i {
            let upper = &above[j * n..][..n];
            let sum: f64 = (from..j).map(|k| row[k] * upper[k]).sum();
            row[j] = (row[j] - sum) / upper[j];
        }
        let pivot = row[i] - row[from..i].iter().map(|l| l * l).sum::<f64>();
        if !(pivot > 0.0) || pivot.is_infinite() {
            return Err(Invalid::NotPositiveDefinite { what: "matrix", pivot: i, value: pivot });
        }
        row[i] = pivot.sqrt();
    }
    Ok(())
}

/// The triangular systems of the rows below that square, eight rows at a time.
#[inline(always)]
fn below(a: &mut [f64], n: usize, columns: Range<usize>) {
    let (from, width) = (columns.start, columns.len());
    let mut square = [[0.0; PANEL]; PANEL];
    for (t, row) in square.iter_mut().enumerate().take(width) {
        row[..=t].copy_from_slice(&a[(from + t) * n + from..][..=t]);
    }
    for i in (columns.end..n).step_by(PANEL) {
        let rows = PANEL.min(n - i);
        // Column by column: each holds the entries of eight rows.
        let mut x = [[0.0; PANEL]; PANEL];
        for t in 0..rows {
            let row = &a[(i + t) * n + from..][..width];
            row.iter().zip(&mut x).for_each(|(l, x)| x[t] = *l);
        }
        for j in 0..width {
            let mut next = x[j];
            for k in 0..j {
                for t in 0..PANEL {
                    next[t] -= x[k][t] * square[j][k];
                }
            }
            x[j] = next.map(|x| x / square[j][j]);
        }
        for t in 0..rows {
            let row = &mut a[(i + t) * n + from..][..width];
            row.iter_mut().zip(&x).for_each(|(l, x)| *l = x[t]);
        }
    }
}
