//! What the Hessians of Newton's method cost.

/// The cost of an operation of a factorisation, in entries of a batch pass: its loops work on four numbers at a time.
pub(crate) const REGULAR: f64 = 0.25;

/// Rows count as dense if at least one entry in this many is not 0: the dense kernel multiplies four numbers at a time.
const DENSE: f64 = 4.0;

/// What a Gram matrix of order `m` costs, in entries of a pass over the data, for `stored` entries of the set in all,
/// spread over the rows like a Poisson count.
pub(crate) fn gram_cost(rows: usize, m: usize, stored: f64) -> f64 {
    let (n, mean) = (rows as f64, stored / rows as f64);
    if is_dense(rows, m, stored) {
        // Eight to sixteen at a time.
        n * (m as f64 * (m as f64 / 60.0 + 0.25))
    } else {
        // A scattered multiplication and addition costs nearly as much as a sparse entry.
        n * (0.4 * (mean * mean + mean) + 0.5 * mean)
    }
}

/// Whether the rows are full enough for the regular loops of dense ones.
pub(super) fn is_dense(rows: usize, m: usize, stored: f64) -> bool {
    DENSE * stored >= rows as f64 * m as f64
}
