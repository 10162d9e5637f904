//! The data of a multiclass problem: a weighted copy, its constants and its products.

use std::sync::OnceLock;

use fenchel_linalg::{Design, Invalid};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::products::{self, Which, add};
use crate::Error;

/// The number of rows of a product that are computed together.
const BLOCK: usize = 64;

/// Samples with labels `0..k`. Each row is multiplied by its weight.
///
/// The copy takes 8 bytes per entry of a dense design and 12 bytes per entry of a sparse one. A sparse design takes
/// 12 more per entry if a method needs its columns.
#[derive(Debug, Clone)]
pub struct Samples {
    pub(crate) rows: Rows,
    /// The sparse rows by columns, computed when a product with the transpose needs them.
    by_columns: OnceLock<Compressed>,
    pub(crate) labels: Vec<u32>,
    /// The margin of each row. It is the row's weight, and has mean 1.
    pub(crate) margins: Vec<f64>,
    pub(crate) classes: usize,
    pub(crate) features: usize,
    /// Euclidean norm of each column.
    pub(crate) column_norms: Vec<f64>,
    /// Largest absolute entry of each row.
    pub(crate) row_tops: Vec<f64>,
}

/// The changes of the columns when they are copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Preparation {
    /// A factor for each column; 1 where there is none.
    pub(crate) scales: Vec<f64>,
    /// Whether to add a last feature that is 1 in every row.
    pub(crate) intercept: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Rows {
    Dense(Array2<f64>),
    Sparse(Compressed),
}

impl Rows {
    fn each(&self, j: usize, f: &mut dyn FnMut(usize, f64)) {
        match self {
            Rows::Dense(x) => x.row(j).iter().enumerate().for_each(|(c, a)| f(c, *a)),
            Rows::Sparse(x) => {
                let (of, values) = x.part(j);
                of.iter().zip(values).for_each(|(c, a)| f(*c as usize, *a));
            }
        }
    }
}

/// Entries of rows, or of columns, one after another.
#[derive(Debug, Clone)]
pub(crate) struct Compressed {
    pub(crate) offsets: Vec<usize>,
    pub(crate) places: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl Compressed {
    #[inline]
    pub(crate) fn part(&self, k: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[k]..self.offsets[k + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// The same entries, ordered by the other index.
    fn transposed(&self, columns: usize) -> Compressed {
        let mut offsets = vec![0; columns + 1];
        self.places.iter().for_each(|c| offsets[*c as usize + 1] += 1);
        (0..columns).for_each(|c| offsets[c + 1] += offsets[c]);
        let mut next = offsets.clone();
        let (mut places, mut values) = (vec![0; self.places.len()], vec![0.0; self.values.len()]);
        for i in 0..self.offsets.len() - 1 {
            let (of, entries) = self.part(i);
            for (c, v) in of.iter().zip(entries) {
                let at = &mut next[*c as usize];
                (places[*at], values[*at]) = (i as u32, *v);
                *at += 1;
            }
        }
        Compressed { offsets, places, values }
    }
}

impl Samples {
    /// Copies a design. Labels are integers below `classes`. Rows of weight 0 are left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are no rows, columns or classes, if there is not one label per row, if a label is
    /// not below `classes`, or if weights are negative, not finite or all 0.
    pub fn new<D: Design>(
        design: &D,
        labels: &[usize],
        classes: usize,
        weights: Option<&[f64]>,
    ) -> Result<Self, Error> {
        Samples::prepared(design, labels, classes, weights, &Preparation::default())
    }

    /// Does the same as [`new`](Samples::new), with columns multiplied by factors, and with a constant feature after
    /// the others.
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
            Invalid::check_length("weights", n, weights.len())?;
            if let Some(row) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
                let reason =
                    format!("{} at row {row}; expected a finite number >= 0", weights[row]);
                return Err(Invalid::Layout { what: "weights", reason }.into());
            }
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
        let rows = if D::DENSE {
            let mut dense = Array2::zeros((kept.len(), d));
            for (j, i) in kept.iter().enumerate() {
                let mut row = dense.row_mut(j);
                design.row_entries(*i, |c, a| row[c] = margins[j] * factor(c) * a);
                if preparation.intercept {
                    row[plain] = margins[j];
                }
            }
            Rows::Dense(dense)
        } else {
            let mut offsets = vec![0];
            let (mut places, mut values) = (vec![], vec![]);
            for (j, i) in kept.iter().enumerate() {
                design.row_entries(*i, |c, a| {
                    if a != 0.0 {
                        places.push(c as u32);
                        values.push(margins[j] * factor(c) * a);
                    }
                });
                if preparation.intercept {
                    places.push(plain as u32);
                    values.push(margins[j]);
                }
                offsets.push(places.len());
            }
            Rows::Sparse(Compressed { offsets, places, values })
        };
        let (mut squares, mut row_tops) = (vec![0.0; d], vec![0.0; kept.len()]);
        for j in 0..kept.len() {
            let mut top = 0.0_f64;
            rows.each(j, &mut |c, a| {
                squares[c] += a * a;
                top = top.max(a.abs());
            });
            row_tops[j] = top;
        }
        let column_norms: Vec<f64> = squares.iter().map(|s: &f64| s.sqrt()).collect();
        if let Some(c) = column_norms.iter().position(|norm| !norm.is_finite()) {
            let reason = format!("the norm of column {c} overflows; divide it by its size first");
            return Err(Invalid::Layout { what: "design matrix", reason }.into());
        }
        let labels = kept.iter().map(|i| labels[*i] as u32).collect();
        let by_columns = OnceLock::new();
        Ok(Samples {
            rows,
            by_columns,
            labels,
            margins,
            classes,
            features: d,
            column_norms,
            row_tops,
        })
    }

    /// Number of rows of positive weight, `n`.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of features, `d`.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of classes, `k`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// `A`, the largest Euclidean norm of a column.
    pub fn largest_column(&self) -> f64 {
        self.column_norms.iter().fold(0.0, |m, v| m.max(*v))
    }

    /// `B`, the sum over the rows of their largest absolute entry.
    pub fn sum_of_tops(&self) -> f64 {
        self.row_tops.iter().sum()
    }

    /// Stored entries.
    pub fn stored(&self) -> usize {
        match &self.rows {
            Rows::Dense(x) => x.len(),
            Rows::Sparse(x) => x.values.len(),
        }
    }

    pub(crate) fn is_sparse(&self) -> bool {
        matches!(self.rows, Rows::Sparse(_))
    }

    /// The copy by columns, which is the transpose.
    pub(crate) fn columns(&self) -> Rows {
        match &self.rows {
            Rows::Dense(x) => Rows::Dense(x.t().as_standard_layout().into_owned()),
            Rows::Sparse(x) => Rows::Sparse(self.sparse_columns(x).clone()),
        }
    }

    fn sparse_columns(&self, x: &Compressed) -> &Compressed {
        self.by_columns.get_or_init(|| x.transposed(self.features))
    }

    /// `out = X U` for `width` columns: `d x width` in, `n x width` out, by rows.
    pub(crate) fn scores(&self, u: &[f64], width: usize, out: &mut [f64]) {
        let (n, d) = (self.rows(), self.features);
        match &self.rows {
            Rows::Dense(x) => {
                let u = ArrayView2::from_shape((d, width), u).expect("d x width");
                let mut out = ArrayViewMut2::from_shape((n, width), out).expect("n x width");
                general_mat_mul(1.0, x, &u, 0.0, &mut out);
            }
            Rows::Sparse(x) => products::rows(x, Which::All, u, width, out),
        }
    }

    /// `out = X' Z`: `n x width` in, `d x width` out, by rows.
    pub(crate) fn transposed(&self, z: &[f64], width: usize, out: &mut [f64]) {
        let (n, d) = (self.rows(), self.features);
        match &self.rows {
            Rows::Dense(x) => {
                let z = ArrayView2::from_shape((n, width), z).expect("n x width");
                let mut out = ArrayViewMut2::from_shape((d, width), out).expect("d x width");
                general_mat_mul(1.0, &x.t(), &z, 0.0, &mut out);
            }
            Rows::Sparse(x) => {
                products::rows(self.sparse_columns(x), Which::All, z, width, out);
            }
        }
    }

    /// Computes the rows of `X' Z` for some features, one after another. For a dense design, it computes all rows.
    pub(crate) fn some_transposed(&self, rows: &[u32], z: &[f64], width: usize, out: &mut [f64]) {
        match &self.rows {
            Rows::Dense(_) => self.transposed(z, width, out),
            Rows::Sparse(x) => {
                products::rows(self.sparse_columns(x), Which::These(rows), z, width, out);
            }
        }
    }

    /// The largest value of `size(row)` over the rows of `X' Z`. The product of a sparse design is never stored as a
    /// whole.
    pub(crate) fn largest_transposed(
        &self,
        z: &[f64],
        width: usize,
        size: impl Fn(&[f64]) -> f64,
    ) -> f64 {
        let largest = |rows: &[f64]| rows.chunks(width).map(&size).fold(0.0_f64, f64::max);
        let d = self.features;
        match &self.rows {
            Rows::Dense(_) => {
                let mut product = vec![0.0; d * width];
                self.transposed(z, width, &mut product);
                largest(&product)
            }
            Rows::Sparse(x) => {
                let columns = self.sparse_columns(x);
                let features: Vec<u32> = (0..d as u32).collect();
                let mut product = vec![0.0; BLOCK.min(d) * width];
                let parts = features.chunks(BLOCK).map(|part| {
                    let out = &mut product[..part.len() * width];
                    products::rows(columns, Which::These(part), z, width, out);
                    largest(out)
                });
                parts.fold(0.0, f64::max)
            }
        }
    }

    /// Stored entries of a feature.
    pub(crate) fn column_length(&self, feature: usize) -> usize {
        match &self.rows {
            Rows::Dense(x) => x.nrows(),
            Rows::Sparse(x) => {
                let offsets = &self.sparse_columns(x).offsets;
                offsets[feature + 1] - offsets[feature]
            }
        }
    }

    /// Calls `f` with the features and entries of row `j`.
    pub(crate) fn each(&self, j: usize, mut f: impl FnMut(usize, f64)) {
        self.rows.each(j, &mut f);
    }

    /// `out += scale x_j`.
    pub(crate) fn add_row(&self, j: usize, scale: f64, out: &mut [f64]) {
        match &self.rows {
            Rows::Dense(x) => add(scale, x.row(j).to_slice().expect("standard layout"), out),
            Rows::Sparse(x) => {
                let (of, values) = x.part(j);
                of.iter().zip(values).for_each(|(c, a)| out[*c as usize] += scale * a);
            }
        }
    }
}
