//! The data of a multiclass problem: a weighted copy, its constants and its products.

use std::sync::OnceLock;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::products::{self, Compressed, Which, add};

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
    pub(super) by_columns: OnceLock<Compressed>,
    pub(crate) labels: Vec<u32>,
    /// The margin of each row. It is the row's weight, and has mean 1.
    pub(crate) margins: Vec<f64>,
    pub(crate) classes: usize,
    pub(crate) features: usize,
    /// The true entry of row `j` is the stored one minus `margins[j]` times the shift of its column. It is empty if all
    /// are 0.
    pub(super) shifts: Vec<f64>,
    /// Euclidean norm of each column.
    pub(crate) column_norms: Vec<f64>,
    /// Largest absolute entry of each row.
    pub(crate) row_tops: Vec<f64>,
}

#[derive(Debug, Clone)]
pub(crate) enum Rows {
    Dense(Array2<f64>),
    Sparse(Compressed),
}

impl Rows {
    pub(super) fn each(&self, j: usize, f: &mut dyn FnMut(usize, f64)) {
        match self {
            Rows::Dense(x) => x.row(j).iter().enumerate().for_each(|(c, a)| f(c, *a)),
            Rows::Sparse(x) => {
                let (of, values) = x.part(j);
                of.iter().zip(values).for_each(|(c, a)| f(*c as usize, *a));
            }
        }
    }
}

impl Samples {
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

    /// Whether columns are shifted implicitly, so that rows and columns are not what is stored of them.
    pub(crate) fn is_shifted(&self) -> bool {
        !self.shifts.is_empty()
    }

    /// The same data as a dense matrix, without implicit shifts.
    pub(crate) fn explicit(&self) -> Samples {
        let mut dense = Array2::zeros((self.rows(), self.features));
        for (j, mut row) in dense.rows_mut().into_iter().enumerate() {
            self.each(j, |c, a| row[c] = a);
        }
        Samples {
            rows: Rows::Dense(dense),
            by_columns: OnceLock::new(),
            shifts: vec![],
            ..self.clone()
        }
    }

    /// `sum_j margin_j z_j`, which the shifts multiply.
    fn weighted_sum(&self, z: &[f64], width: usize) -> Vec<f64> {
        let mut sum = vec![0.0; width];
        for (margin, row) in self.margins.iter().zip(z.chunks_exact(width)) {
            add(*margin, row, &mut sum);
        }
        sum
    }

    /// `sum_c shift_c u_c`, which is subtracted from all scores of a row times its margin. It is empty without shifts.
    pub(crate) fn drift<'u>(
        &self,
        u: impl Iterator<Item = (usize, &'u [f64])>,
        width: usize,
    ) -> Vec<f64> {
        let mut drift = vec![0.0; if self.is_shifted() { width } else { 0 }];
        if self.is_shifted() {
            u.for_each(|(c, row)| add(self.shifts[c], row, &mut drift));
        }
        drift
    }

    pub(crate) fn shift_of(&self, feature: usize) -> f64 {
        self.shifts.get(feature).copied().unwrap_or(0.0)
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
            Rows::Sparse(x) => {
                products::rows(x, Which::All, u, width, out);
                if self.is_shifted() {
                    let drift = self.drift(u.chunks_exact(width).enumerate(), width);
                    for (margin, out) in self.margins.iter().zip(out.chunks_exact_mut(width)) {
                        add(-margin, &drift, out);
                    }
                }
            }
        }
    }

    /// Subtracts the shifts from rows of `X' Z`, given `weighted_sum(Z)`.
    fn shift_transposed(
        &self,
        features: impl Iterator<Item = usize>,
        sum: &[f64],
        out: &mut [f64],
    ) {
        for (c, out) in features.zip(out.chunks_exact_mut(sum.len())) {
            add(-self.shifts[c], sum, out);
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
                if self.is_shifted() {
                    self.shift_transposed(0..d, &self.weighted_sum(z, width), out);
                }
            }
        }
    }

    /// Computes the rows of `X' Z` for some features, one after another. For a dense design, it computes all rows.
    pub(crate) fn some_transposed(&self, rows: &[u32], z: &[f64], width: usize, out: &mut [f64]) {
        match &self.rows {
            Rows::Dense(_) => self.transposed(z, width, out),
            Rows::Sparse(x) => {
                products::rows(self.sparse_columns(x), Which::These(rows), z, width, out);
                if self.is_shifted() {
                    let features = rows.iter().map(|c| *c as usize);
                    self.shift_transposed(features, &self.weighted_sum(z, width), out);
                }
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
                let sum = if self.is_shifted() { self.weighted_sum(z, width) } else { vec![] };
                let parts = features.chunks(BLOCK).map(|part| {
                    let out = &mut product[..part.len() * width];
                    products::rows(columns, Which::These(part), z, width, out);
                    if self.is_shifted() {
                        self.shift_transposed(part.iter().map(|c| *c as usize), &sum, out);
                    }
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

    /// Calls `f` with the features and entries of row `j`; with all of them if columns are shifted.
    pub(crate) fn each(&self, j: usize, mut f: impl FnMut(usize, f64)) {
        if !self.is_shifted() {
            return self.rows.each(j, &mut f);
        }
        let mut row: Vec<f64> = self.shifts.iter().map(|s| -self.margins[j] * s).collect();
        self.rows.each(j, &mut |c, a| row[c] += a);
        row.iter().enumerate().for_each(|(c, a)| f(c, *a));
    }

    /// `out += scale x_j`.
    pub(crate) fn add_row(&self, j: usize, scale: f64, out: &mut [f64]) {
        match &self.rows {
            Rows::Dense(x) => add(scale, x.row(j).to_slice().expect("standard layout"), out),
            Rows::Sparse(_) => self.each(j, |c, a| out[c] += scale * a),
        }
    }
}
