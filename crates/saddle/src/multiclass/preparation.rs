//! The weighted, centred and scaled copy of a design.

use std::sync::OnceLock;

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::Array2;

use super::products::Compressed;
use super::samples::{Rows, Samples};
use crate::Error;

/// The changes of the columns when they are copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Preparation {
    /// What is subtracted from each column; 0 where there is none.
    pub(crate) centres: Vec<f64>,
    /// The sparse columns from which the centre is subtracted entry by entry. That at most doubles a column which
    /// stores half of its entries, and keeps the digits of a column whose mean is many standard deviations. The others
    /// are shifted implicitly, in the products.
    pub(crate) full: Vec<bool>,
    /// A factor for each column after that; 1 where there is none.
    pub(crate) scales: Vec<f64>,
    /// Whether to add a last feature that is 1 in every row.
    pub(crate) intercept: bool,
}

impl Samples {
    /// Copies a design. Labels are integers below `classes`. Rows of weight 0 are left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are no rows, columns or classes, if there is not one label per row, if a label is
    /// not below `classes`, or if weights are negative, not finite or all 0; [`Error::Refused`] if a few numbers per
    /// column take more than 4 GiB.
    pub fn new<D: Design>(
        design: &D,
        labels: &[usize],
        classes: usize,
        weights: Option<&[f64]>,
    ) -> Result<Self, Error> {
        let needed = (design.columns() as u64).saturating_mul(32);
        let hint = "leave out columns without entries";
        Refusal::check_memory("a list of all columns", needed, MAX_MEMORY, hint)?;
        Samples::prepared(design, labels, classes, weights, &Preparation::default())
    }

    /// Does the same as [`new`](Samples::new), with columns shifted and multiplied by factors, and with a constant feature
    /// after the others.
    pub(crate) fn prepared<D: Design>(
        design: &D,
        labels: &[usize],
        classes: usize,
        weights: Option<&[f64]>,
        preparation: &Preparation,
    ) -> Result<Self, Error> {
        let (n, plain) = (design.rows(), design.columns());
        let d = plain + usize::from(preparation.intercept);
        let factor = |c: usize| preparation.scales.get(c).copied().unwrap_or(1.0);
        let centre = |c: usize| preparation.centres.get(c).copied().unwrap_or(0.0);
        if n * plain == 0 {
            return Err(Invalid::Empty { what: "design matrix" }.into());
        }
        Invalid::check_length("labels", n, labels.len())?;
        if classes < 2 {
            let (name, value) = ("number of classes", classes as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 2" }.into());
        }
        if let Some(row) = labels.iter().position(|y| *y >= classes) {
            let value = labels[row] as f64;
            return Err(Invalid::Label {
                row,
                value,
                expected: "a code below the number of classes",
            }
            .into());
        }
        let small = |count: usize, name: &'static str| match u32::try_from(count) {
            Ok(_) => Ok(()),
            Err(_) => Err(Invalid::Parameter { name, value: count as f64, expected: "below 2^32" }),
        };
        small(n, "number of rows")?;
        small(d, "number of columns")?;
        let mut kept: Vec<usize> = (0..n).collect();
        let mut margins = vec![1.0; n];
        if let Some(weights) = weights {
            Invalid::check_weights("weights", n, weights.iter())?;
            kept.retain(|i| weights[*i] > 0.0);
            let total: f64 = weights.iter().sum();
            if !(total > 0.0 && total.is_finite()) {
                let expected = "a positive finite number";
                return Err(Invalid::Parameter {
                    name: "sum of the weights",
                    value: total,
                    expected,
                }
                .into());
            }
            let scale = kept.len() as f64 / total;
            margins = kept.iter().map(|i| weights[*i] * scale).collect();
        }
        let full = |c: usize| preparation.full.get(c).copied().unwrap_or(false);
        let mut shifts = vec![];
        let rows = if D::DENSE {
            let mut dense = Array2::zeros((kept.len(), d));
            for (j, i) in kept.iter().enumerate() {
                let mut row = dense.row_mut(j);
                design.row_entries(*i, |c, a| row[c] = margins[j] * (factor(c) * (a - centre(c))));
                if preparation.intercept {
                    row[plain] = margins[j];
                }
            }
            Rows::Dense(dense)
        } else {
            let mut offsets = vec![0];
            let (mut places, mut values) = (vec![], vec![]);
            if (0..plain).any(|c| !full(c) && centre(c) != 0.0) {
                let shift = |c: usize| if full(c) { 0.0 } else { factor(c) * centre(c) };
                shifts = (0..plain).map(shift).chain((plain..d).map(|_| 0.0)).collect();
            }
            // These columns have an entry in every row.
            let everywhere: Vec<usize> =
                (0..plain).filter(|c| full(*c) && centre(*c) != 0.0).collect();
            let mut row = vec![];
            for (j, i) in kept.iter().enumerate() {
                row.clear();
                let mut next = everywhere.iter().copied().peekable();
                let prepared =
                    |c: usize, a: f64| (c, factor(c) * if full(c) { a - centre(c) } else { a });
                design.row_entries(*i, |c, a| {
                    while let Some(absent) = next.next_if(|f| *f < c) {
                        row.push(prepared(absent, 0.0));
                    }
                    next.next_if_eq(&c);
                    row.push(prepared(c, a));
                });
                row.extend(next.map(|absent| prepared(absent, 0.0)));
                for (c, a) in row.iter().filter(|(_, a)| *a != 0.0) {
                    places.push(*c as u32);
                    values.push(margins[j] * a);
                }
                if preparation.intercept {
                    places.push(plain as u32);
                    values.push(margins[j]);
                }
                offsets.push(places.len());
            }
            Rows::Sparse(Compressed { offsets, places, values })
        };
        let (column_norms, row_tops) = sizes(&rows, &margins, &shifts, d)?;
        let labels = kept.iter().map(|i| labels[*i] as u32).collect();
        let by_columns = OnceLock::new();
        Ok(Samples {
            rows,
            by_columns,
            labels,
            margins,
            classes,
            features: d,
            shifts,
            column_norms,
            row_tops,
        })
    }
}

/// The norms of the columns, and the largest absolute entries of the rows; of these an upper bound where columns are
/// shifted implicitly.
fn sizes(
    rows: &Rows,
    margins: &[f64],
    shifts: &[f64],
    d: usize,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let shift = |j: usize, c: usize| shifts.get(c).map_or(0.0, |s| margins[j] * s);
    let (mut squares, mut tops) = (vec![0.0; d], vec![0.0_f64; d]);
    // The entries that are not stored are minus the shift.
    let largest_shift = shifts.iter().fold(0.0_f64, |m, s: &f64| m.max(s.abs()));
    let mut row_tops: Vec<f64> = margins.iter().map(|w| w * largest_shift).collect();
    let all: f64 = margins.iter().map(|w| w * w).sum();
    let mut absent = vec![all; shifts.len()];
    for j in 0..margins.len() {
        let mut top = row_tops[j];
        rows.each(j, &mut |c, a| {
            let a = a - shift(j, c);
            squares[c] += a * a;
            tops[c] = tops[c].max(a.abs());
            top = top.max(a.abs());
            if let Some(absent) = absent.get_mut(c) {
                *absent -= margins[j] * margins[j];
            }
        });
        row_tops[j] = top;
    }
    for (c, absent) in absent.iter().enumerate() {
        squares[c] += absent.max(0.0) * shifts[c] * shifts[c];
    }
    let mut column_norms: Vec<f64> = squares.iter().map(|s: &f64| s.sqrt()).collect();
    // A column with a shift has been divided by its size.
    let lost =
        |c: usize| shifts.is_empty() && tops[c] > 0.0 && !(1e-200..1e200).contains(&squares[c]);
    if (0..d).any(lost) {
        let mut quotients = vec![0.0; d];
        for j in 0..margins.len() {
            rows.each(j, &mut |c, a| quotients[c] += (a / tops[c].max(f64::MIN_POSITIVE)).powi(2));
        }
        (0..d).filter(|c| lost(*c)).for_each(|c| column_norms[c] = tops[c] * quotients[c].sqrt());
    }
    if let Some(c) = column_norms.iter().position(|norm| !norm.is_finite()) {
        let reason = format!("the norm of column {c} overflows; divide it by its size first");
        return Err(Invalid::Layout { what: "design matrix", reason }.into());
    }
    Ok((column_norms, row_tops))
}
