//! What the Hessians of Newton's method cost, and whether a part of the rows will do.

use fenchel_linalg::Design;

/// Rows drawn for the first Hessian, for each coordinate of the working set.
pub(super) const DRAWN: f64 = 8.0;
/// All rows are taken instead of more than this share of them.
const SHARE: f64 = 0.5;
/// What a sampled Hessian costs later, by slower progress, in passes.
const LATER: f64 = 2.0;
/// Rows of which at least one entry in so many is not 0 count as dense.
const DENSE: f64 = 4.0;

/// How many rows to draw for a Hessian of such an order, `drawn` a variable, where they may be drawn and that saves more than
/// it costs later; and what the Hessian costs in entries of a pass. `stored` entries of the design belong to it.
pub(super) fn sample_size<D: Design>(
    design: &D,
    drawn: Option<f64>,
    order: usize,
    stored: usize,
) -> (Option<f64>, f64) {
    let all = hessian_cost(design, order, stored, None);
    let Some(drawn) = drawn else {
        return (None, all);
    };
    let count = f64::min(drawn * order as f64, design.rows() as f64);
    let sampled = hessian_cost(design, order, stored, Some(count));
    let saves = sampled + LATER * design.stored() as f64 <= all;
    let few = count < SHARE * design.rows() as f64;
    if few && saves { (Some(count), sampled) } else { (None, all) }
}

/// What the Hessian of all rows and features costs, in passes.
pub(crate) fn full_hessian_cost<D: Design>(design: &D) -> f64 {
    let stored = design.stored();
    hessian_cost(design, design.columns(), stored, None) / stored.max(1) as f64
}

/// What a Hessian costs, in entries of a pass over the data: of all rows, or of so many drawn from them by two looks at
/// the data. Rows that are likely to be drawn are longer than others.
fn hessian_cost<D: Design>(design: &D, order: usize, stored: usize, sampled: Option<f64>) -> f64 {
    let (n, stored) = (design.rows(), stored as f64);
    match sampled {
        None => gram_cost(n, order, stored),
        Some(count) => {
            let drawn = gram_cost(count as usize + 1, order, 1.5 * stored * count / n as f64);
            design.stored() as f64 + drawn
        }
    }
}

/// What a Gram matrix of order `m` costs, in entries of a pass over the data, for `stored` entries of the set in all,
/// spread over the rows like a Poisson count.
pub(crate) fn gram_cost(rows: usize, m: usize, stored: f64) -> f64 {
    let (n, mean) = (rows as f64, stored / rows as f64);
    if is_dense(rows, m, stored) {
        // Eight to sixteen at a time.
        n * (m as f64 * (m as f64 / 60.0 + 0.25))
    } else {
        // A scattered multiplication and addition is nearly as dear as a sparse entry.
        n * (0.4 * (mean * mean + mean) + 0.5 * mean)
    }
}

/// Whether the rows are full enough for the regular loops of dense ones.
pub(super) fn is_dense(rows: usize, m: usize, stored: f64) -> bool {
    DENSE * stored >= rows as f64 * m as f64
}
