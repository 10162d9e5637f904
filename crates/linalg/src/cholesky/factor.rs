//! The factorisation itself, in blocks of columns.

use std::ops::Range;

use crate::{Invalid, lanes};

/// Columns of a block: what the columns before it contribute is subtracted from all of them at once.
const BLOCK: usize = 64;
/// Columns before a block that are processed together: eight rows of so many numbers fit into the first cache.
const DEPTH: usize = 256;
/// Columns of a panel, and rows of a tile: eight vectors of eight numbers stay in registers.
const PANEL: usize = 8;

type Lane = [f64; PANEL];

/// Replaces the lower triangle of an `n x n` matrix, stored by columns, by its factor, and the upper one by zeros.
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
        let depth = DEPTH.min(n);
        let mut left = vec![[0.0; PANEL]; BLOCK / PANEL * depth];
        let mut right = vec![[0.0; PANEL]; depth];
        for from in (0..n).step_by(BLOCK) {
            let to = n.min(from + BLOCK);
            for k in (0..from).step_by(DEPTH) {
                subtract(entries, n, from..to, k..from.min(k + DEPTH), &mut left, &mut right);
            }
            for panel in (from..to).step_by(PANEL) {
                let columns = panel..to.min(panel + PANEL);
                subtract(entries, n, columns.clone(), from..panel, &mut left, &mut right);
                pivots(entries, n, columns.clone())?;
                below(entries, n, columns);
            }
        }
        for (j, column) in entries.chunks_exact_mut(n).enumerate() {
            column[..j].fill(0.0);
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
    left: &mut [Lane],
    right: &mut [Lane],
) {
    let depth = known.len();
    if depth == 0 {
        return;
    }
    let panels = columns.len().div_ceil(PANEL);
    for (p, panel) in left.chunks_exact_mut(depth).take(panels).enumerate() {
        gather(a, n, columns.start + p * PANEL, known.clone(), panel);
    }
    for i in (columns.start..n).step_by(PANEL) {
        let rows = PANEL.min(n - i);
        let right = &mut right[..depth];
        gather(a, n, i, known.clone(), right);
        for (p, panel) in left.chunks_exact(depth).take(panels).enumerate() {
            let j = columns.start + p * PANEL;
            if j >= i + PANEL {
                break;
            }
            let tile = product(panel, right);
            for (t, tile) in tile.iter().enumerate().take(columns.end - j) {
                let column = &mut a[(j + t) * n + i..][..rows];
                column.iter_mut().zip(tile).for_each(|(a, sum)| *a -= sum);
            }
        }
    }
}

/// Eight rows of the known columns, side by side; zeros beyond the last row.
#[inline(always)]
fn gather(a: &[f64], n: usize, row: usize, known: Range<usize>, out: &mut [Lane]) {
    let rows = PANEL.min(n - row);
    for (k, out) in known.zip(out) {
        let column = &a[k * n + row..][..rows];
        match column.try_into() {
            Ok(lane) => *out = lane,
            Err(_) => {
                *out = [0.0; PANEL];
                out[..rows].copy_from_slice(column);
            }
        }
    }
}

/// The inner products of the eight rows on the left with the eight on the right.
#[inline(always)]
fn product(left: &[Lane], right: &[Lane]) -> [Lane; PANEL] {
    let mut tile = [[0.0; PANEL]; PANEL];
    for (left, right) in left.iter().zip(right) {
        for t in 0..PANEL {
            for c in 0..PANEL {
                tile[t][c] += left[t] * right[c];
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
        for j in from..i {
            let sum: f64 = (from..j).map(|k| a[k * n + i] * a[k * n + j]).sum();
            a[j * n + i] = (a[j * n + i] - sum) / a[j * n + j];
        }
        let pivot = a[i * n + i] - (from..i).map(|k| a[k * n + i].powi(2)).sum::<f64>();
        if !(pivot > 0.0) || pivot.is_infinite() {
            return Err(Invalid::NotPositiveDefinite { what: "matrix", pivot: i, value: pivot });
        }
        a[i * n + i] = pivot.sqrt();
    }
    Ok(())
}

/// The triangular systems of the rows below that square: a column after the other.
#[inline(always)]
fn below(a: &mut [f64], n: usize, columns: Range<usize>) {
    let (from, to) = (columns.start, columns.end);
    for j in columns {
        let (known, rest) = a.split_at_mut(j * n);
        let next = &mut rest[to..n];
        for known in known[from * n..].chunks_exact(n) {
            let scale = known[j];
            next.iter_mut().zip(&known[to..]).for_each(|(a, l)| *a -= l * scale);
        }
        let pivot = rest[j];
        rest[to..n].iter_mut().for_each(|a| *a /= pivot);
    }
}
