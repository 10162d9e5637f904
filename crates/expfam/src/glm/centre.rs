//! Columns that lie far from 0, with their means taken out.
//!
//! An intercept makes the model invariant to shifts of the columns, `x_i.beta + b = (x_i - c).beta + (b + c.beta)`. But the
//! arithmetic is not: with `|mean|` a million times the standard deviation, the Hessian holds the variance of the column in its
//! last four digits only. Such columns are shifted before anything is computed from them. Targets of the identity link are shifted
//! for the same reason: the objective holds their mean squared, and a gradient measured against it is small anywhere.

use fenchel_linalg::{Design, multiply_transposed};
use ndarray::Array2;

/// A column is shifted if its mean is more than this many times its standard deviation. Below, centring saves less than two
/// digits. Above, a sparse column has entries in more than 64 of 65 rows, so that centring hardly adds any.
const FAR: f64 = 8.0;

/// How targets were moved: the same number is taken from each, and its offset, which the loss of a family that
/// [shifts](super::ScalarFamily::shifts) does not see.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    /// What the intercept has lost.
    pub(super) mean: f64,
    /// What the objective has lost: `sum_i share_i (y_i'^2 - y_i^2) / 2`.
    pub(super) constant: f64,
    /// What rounding may have done to a target, as it was given; 0 if nothing was moved.
    pub(super) rounding: f64,
}

/// Targets less offsets and mean, if those lie far from 0. Targets that then are below the rounding of what they were are equal, and
/// become 0.
pub(super) fn far_targets<D: Design>(
    design: &D,
    (y, shares): (&[f64], &[f64]),
    offset: Option<&[f64]>,
) -> Option<(Vec<f64>, Moved)> {
    let offset = |i: usize| offset.map_or(0.0, |o| o[i]);
    let less = |i: usize| y[i] - offset(i);
    let counted = |i: &usize| shares[*i] > 0.0;
    let [first, squares, others] = design.sum_rows(|rows| {
        rows.filter(counted).fold([0.0; 3], |[a, b, c], i| {
            let (s, o) = (shares[i], offset(i));
            [a + s * less(i), b + s * y[i] * y[i], c + s * o * o]
        })
    });
    // The mean of the differences is what rounding took from the mean.
    let [rest, spread] = design.sum_rows(|rows| {
        rows.filter(counted).fold([0.0; 2], |[a, b], i| {
            let difference = less(i) - first;
            [a + shares[i] * difference, b + shares[i] * difference * difference]
        })
    });
    if !(squares + others > (1.0 + FAR * FAR) * spread) {
        return None;
    }
    let mean = first + rest;
    let mut moved: Vec<f64> = (0..y.len()).map(|i| less(i) - mean).collect();
    let largest = |of: &dyn Fn(usize) -> f64| {
        design.largest((0..y.len()).filter(counted).map(of).fold(0.0, f64::max))
    };
    let rounding = 4.0 * f64::EPSILON * largest(&|i| y[i].abs() + offset(i).abs());
    if largest(&|i| moved[i].abs()) <= rounding {
        moved.fill(0.0);
    }
    let [left] = design
        .sum_rows(|rows| [rows.filter(counted).map(|i| shares[i] * moved[i] * moved[i]).sum()]);
    Some((moved, Moved { mean, constant: 0.5 * (left - squares), rounding }))
}

/// A copy of a design with shifted columns.
pub(super) struct Centred {
    /// What was subtracted, one number per column.
    pub(super) centre: Vec<f64>,
    pub(super) storage: Storage,
}

pub(super) enum Storage {
    Dense(Array2<f64>),
    Sparse { offsets: Vec<usize>, columns: Vec<u32>, values: Vec<f64> },
}

/// The columns to be shifted and their weighted means, given their weighted squares; `None` if there are none.
pub(super) fn far_means<D: Design>(
    design: &D,
    shares: &[f64],
    squares: &[f64],
) -> Option<Vec<f64>> {
    let mut means = vec![0.0; design.columns()];
    multiply_transposed(design, shares, &mut means);
    // mean^2 > FAR^2 (square - mean^2)
    let far = |mean: f64, square: f64| (1.0 + FAR * FAR) * mean * mean > FAR * FAR * square;
    means.iter_mut().zip(squares).for_each(|(m, s)| *m = if far(*m, *s) { *m } else { 0.0 });
    means.iter().any(|m| *m != 0.0).then_some(means)
}

impl Centred {
    /// Copies the design, with the means subtracted. A column that then is below the rounding of its mean, and so is constant,
    /// becomes 0.
    pub(super) fn new<D: Design>(design: &D, shares: &[f64], mut centre: Vec<f64>) -> Self {
        let (n, d) = (design.rows(), design.columns());
        // The mean of the differences is what rounding took from the mean.
        let mut sums = vec![0.0; 2 * d];
        design.add_rows(&mut sums, |rows, sums| {
            let (rest, seen) = sums.split_at_mut(d);
            for i in rows.filter(|&i| shares[i] > 0.0) {
                design.row_entries(i, |j, x| {
                    if centre[j] != 0.0 {
                        rest[j] += shares[i] * (x - centre[j]);
                        seen[j] += shares[i];
                    }
                });
            }
        });
        let (rest, seen) = sums.split_at(d);
        let mut largest = vec![0.0_f64; d];
        for i in (0..n).filter(|&i| shares[i] > 0.0) {
            design.row_entries(i, |j, x| {
                if centre[j] != 0.0 {
                    largest[j] = largest[j].max((x - centre[j]).abs());
                }
            });
        }
        design.largest_of(&mut largest);
        let total = design.sum_numbers(shares);
        let mut constant = vec![false; d];
        for j in 0..d {
            // Entries that are not stored are 0.
            let missing = (total - seen[j]).max(0.0);
            let full = missing <= 1e-12 * total;
            constant[j] = full && largest[j] <= 4.0 * f64::EPSILON * centre[j].abs();
            let missing = if full { 0.0 } else { missing };
            centre[j] += (rest[j] - missing * centre[j]) / total;
        }
        let value = |j: usize, x: f64| if constant[j] { 0.0 } else { x - centre[j] };
        let storage = if D::DENSE {
            let mut copy = Array2::zeros((n, d));
            for (i, mut row) in copy.outer_iter_mut().enumerate() {
                design.row_entries(i, |j, x| row[j] = value(j, x));
            }
            Storage::Dense(copy)
        } else {
            let shifted: Vec<usize> = (0..d).filter(|&j| centre[j] != 0.0).collect();
            let mut offsets = vec![0];
            let (mut columns, mut values) = (Vec::new(), Vec::new());
            for i in 0..n {
                // The shifted columns are full; the stored entries are merged into them.
                let mut next = shifted.iter().copied().peekable();
                let mut push = |j: usize, x: f64| {
                    columns.push(j as u32);
                    values.push(value(j, x));
                };
                design.row_entries(i, |j, x| {
                    while let Some(k) = next.next_if(|&k| k < j) {
                        push(k, 0.0);
                    }
                    next.next_if_eq(&j);
                    push(j, x);
                });
                next.for_each(|k| push(k, 0.0));
                offsets.push(columns.len());
            }
            Storage::Sparse { offsets, columns, values }
        };
        Centred { centre, storage }
    }
}
