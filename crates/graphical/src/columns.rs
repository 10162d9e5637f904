//! The table of a clique as a matrix, with one column per cell of the separator and one row per state of the other variables.
//!
//! Computing a message adds up all rows of this matrix. Receiving a message multiplies every row by the message, cell by cell.
//! The inner loops run over the columns, so the compiler can use vector instructions if a row is long enough. If the separator
//! has few cells, the rows are short. Then these functions treat several consecutive rows as one long row.

/// Rows shorter than half of this are joined; longer ones than this are cut, so that what they are added to stays in registers
/// and the innermost cache.
const WIDTH: usize = 64;

/// How many rows of `columns` cells count as one.
#[inline(always)]
fn joined(columns: usize) -> usize {
    if 2 * columns <= WIDTH { WIDTH / columns } else { 1 }
}

/// Computes `message[j]` by combining `table[i][j]` over all rows `i` with `f`, which is associative, with the given neutral
/// element.
#[inline(always)]
pub(crate) fn fold(
    table: &[f64],
    message: &mut [f64],
    neutral: f64,
    f: impl Fn(f64, f64) -> f64 + Copy,
) {
    fold_map(table, message, neutral, f, |x, _| x, &[]);
}

/// Does the same as [`fold`] with `map(table[i][j], shift[j])` in place of `table[i][j]`. Without a shift, `map` receives 0.
#[inline(always)]
pub(crate) fn fold_map(
    table: &[f64],
    message: &mut [f64],
    neutral: f64,
    f: impl Fn(f64, f64) -> f64 + Copy,
    map: impl Fn(f64, f64) -> f64 + Copy,
    shift: &[f64],
) {
    let columns = message.len();
    let rows = joined(columns);
    if rows > 1 {
        let (mut sums, mut repeated) = ([neutral; WIDTH], [0.0; WIDTH]);
        let sums = &mut sums[..rows * columns];
        let shift = if shift.is_empty() { shift } else { repeat(shift, &mut repeated) };
        for block in table.chunks(rows * columns) {
            add(&mut sums[..block.len()], block, f, map, shift);
        }
        message.fill(neutral);
        for row in sums.chunks_exact(columns) {
            add(message, row, f, |x, _| x, &[]);
        }
        return;
    }
    let mut start = 0;
    while start < columns {
        let end = (start + 4 * WIDTH).min(columns);
        let part = &mut message[start..end];
        let shift = if shift.is_empty() { shift } else { &shift[start..end] };
        part.fill(neutral);
        for row in table.chunks_exact(columns) {
            add(part, &row[start..end], f, map, shift);
        }
        start = end;
    }
}

#[inline(always)]
fn add(
    sums: &mut [f64],
    row: &[f64],
    f: impl Fn(f64, f64) -> f64,
    map: impl Fn(f64, f64) -> f64,
    shift: &[f64],
) {
    let n = sums.len();
    let row = &row[..n];
    if shift.is_empty() {
        for k in 0..n {
            sums[k] = f(sums[k], map(row[k], 0.0));
        }
    } else {
        let shift = &shift[..n];
        for k in 0..n {
            sums[k] = f(sums[k], map(row[k], shift[k]));
        }
    }
}

/// `table[i][j] = f(table[i][j], row[j])`.
#[inline(always)]
pub(crate) fn scale(table: &mut [f64], row: &[f64], f: impl Fn(f64, f64) -> f64 + Copy) {
    let mut repeated = [0.0; WIDTH];
    let row = repeat(row, &mut repeated);
    for table in table.chunks_mut(row.len()) {
        add(table, row, f, |x, _| x, &[]);
    }
}

/// As [`scale`], from one table into another.
#[inline(always)]
pub(crate) fn scale_into(
    table: &[f64],
    row: &[f64],
    out: &mut [f64],
    f: impl Fn(f64, f64) -> f64 + Copy,
) {
    let mut repeated = [0.0; WIDTH];
    let row = repeat(row, &mut repeated);
    for (out, table) in out.chunks_mut(row.len()).zip(table.chunks(row.len())) {
        let n = out.len();
        let (table, row) = (&table[..n], &row[..n]);
        for k in 0..n {
            out[k] = f(table[k], row[k]);
        }
    }
}

/// Repeats a short row several times, and returns a long one unchanged.
#[inline(always)]
fn repeat<'a>(row: &'a [f64], repeated: &'a mut [f64; WIDTH]) -> &'a [f64] {
    let rows = joined(row.len());
    if rows == 1 {
        return row;
    }
    let repeated = &mut repeated[..rows * row.len()];
    repeated.chunks_exact_mut(row.len()).for_each(|part| part.copy_from_slice(row));
    repeated
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All numbers of columns near the limits of joining and cutting, compared with the definition.
    #[test]
    fn matrices_of_all_shapes() {
        for columns in [1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 65, 255, 256, 257, 600] {
            for rows in [1, 2, 3, 31, 32, 33, 65, 100] {
                let table: Vec<f64> = (0..rows * columns).map(|k| f64::from(k as u32)).collect();
                let mut sums = vec![f64::NAN; columns];
                fold(&table, &mut sums, 0.0, |a, b| a + b);
                for (j, &sum) in sums.iter().enumerate() {
                    let (m, n) = (rows as f64, columns as f64);
                    assert_eq!(sum, m * j as f64 + n * m * (m - 1.0) / 2.0, "{rows} {columns}");
                }
                let row: Vec<f64> = (0..columns).map(|j| 1.0 + j as f64).collect();
                let mut out = vec![f64::NAN; table.len()];
                scale_into(&table, &row, &mut out, |a, b| a * b);
                assert!((0..out.len()).all(|k| out[k] == table[k] * row[k % columns]));
                let mut inside = table;
                scale(&mut inside, &row, |a, b| a * b);
                assert_eq!(inside, out);
            }
        }
    }
}
