//! Sums over slices: the only statistics of the data that the first-order methods need.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `s_i` | row `i`: a score, or a sample | `d` |
//! | `t_h` | sum of the rows of slice `h` | `d` |
//! | `c_h`, `p_h` | count, share `c_h / n` of slice `h` | |
//!
//! Let `t_h` be the sum of the scores `s_i` over the `c_h` samples of slice `h`. The unbiased matrix of SADE is
//! `(1/n) sum_h (t_h t_h' - sum_{i in h} s_i s_i') / (c_h - 1)`. It takes one pass over the data: the second part is
//! one sum of outer products in which row `i` has the weight `1 / (c_h - 1)` of its slice `h`. The matrix of slice
//! means needs only the sums `t_h`.

use fenchel_linalg::Gram;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use crate::blocks::{Blocks, add_grams, each_row, fold};
use crate::error::Error;
use crate::slicing::Slices;

/// What is summed beside the `t_h`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Outer {
    /// Nothing.
    None,
    /// `sum_i s_i s_i'`.
    Plain,
    /// `sum_i s_i s_i' / (c_h - 1)`.
    BySlice,
    /// Both.
    Both,
}

/// Sums over slices of `s_i - shift`.
pub(crate) struct SliceSums {
    /// `c_h`: counts, or sums of weights.
    pub(crate) masses: Vec<f64>,
    /// `t_h`, as rows.
    pub(crate) sums: Array2<f64>,
    /// `sum_i s_i s_i'`, empty unless asked for.
    pub(crate) plain: Array2<f64>,
    /// `sum_i s_i s_i' / (c_h - 1)`, empty unless asked for.
    pub(crate) by_slice: Array2<f64>,
}

/// What happens to a block of rows before it is summed: `None` leaves it as it is.
pub(crate) type Transform<'a> =
    &'a (dyn Fn(usize, ArrayView2<f64>) -> Result<Option<Array2<f64>>, Error> + Sync);

/// No transformation.
pub(crate) fn plainly(_: usize, _: ArrayView2<f64>) -> Result<Option<Array2<f64>>, Error> {
    Ok(None)
}

struct Part {
    /// Row after row.
    sums: Vec<f64>,
    plain: Option<Gram>,
    by_slice: Option<Gram>,
}

impl SliceSums {
    pub(crate) fn new(
        data: &dyn Blocks,
        slices: &Slices,
        shift: ArrayView1<f64>,
        outer: Outer,
        transform: Transform,
    ) -> Result<Self, Error> {
        let d = shift.len();
        let roots: Vec<f64> =
            slices.counts().iter().map(|&c| pair_weight(c as f64).sqrt()).collect();
        let make = || Part {
            sums: vec![0.0; slices.len() * d],
            plain: matches!(outer, Outer::Plain | Outer::Both).then(|| Gram::new(d)),
            by_slice: matches!(outer, Outer::BySlice | Outer::Both).then(|| Gram::new(d)),
        };
        let shift = shift.to_vec();
        let labels = slices.labels();
        let parts = fold(data, make, |part, first, rows| {
            let transformed = transform(first, rows)?;
            let rows = transformed.as_ref().map_or(rows, |t| t.view());
            let mut row = vec![0.0; d];
            each_row(rows, |i, values| {
                let h = labels[first + i] as usize;
                for ((row, value), shift) in row.iter_mut().zip(values).zip(&shift) {
                    *row = value - shift;
                }
                let sum = &mut part.sums[h * d..][..d];
                sum.iter_mut().zip(&row).for_each(|(s, r)| *s += r);
                if let Some(gram) = &mut part.plain {
                    gram.next_row()[..d].copy_from_slice(&row);
                }
                if let Some(gram) = &mut part.by_slice {
                    let (scaled, root) = (gram.next_row(), roots[h]);
                    scaled.iter_mut().zip(&row).for_each(|(s, r)| *s = r * root);
                }
            });
            Ok(())
        })?;
        let mut sums = Array2::<f64>::zeros((slices.len(), d));
        let (mut plain, mut by_slice) = (vec![], vec![]);
        for part in parts {
            sums.iter_mut().zip(&part.sums).for_each(|(all, own)| *all += own);
            plain.extend(part.plain);
            by_slice.extend(part.by_slice);
        }
        let total = |grams: Vec<Gram>| {
            if grams.is_empty() { Array2::zeros((0, 0)) } else { add_grams(grams, d) }
        };
        let masses = slices.counts().iter().map(|&c| c as f64).collect();
        Ok(SliceSums { masses, sums, plain: total(plain), by_slice: total(by_slice) })
    }

    /// The mean of all rows.
    pub(crate) fn mean(&self) -> Array1<f64> {
        self.sums.sum_axis(Axis(0)) / self.total()
    }

    /// `n`, or the sum of all weights.
    pub(crate) fn total(&self) -> f64 {
        self.masses.iter().sum()
    }

    /// Recentres all sums, so that they become sums of `s_i - shift`. The update is exact algebra, but the shift should
    /// be small to keep digits.
    pub(crate) fn recentre(&mut self, shift: ArrayView1<f64>) {
        let n = self.total();
        let d = shift.len();
        if !self.plain.is_empty() {
            let total = self.sums.sum_axis(Axis(0));
            subtract(&mut self.plain, total.view(), shift, n);
        }
        if !self.by_slice.is_empty() {
            let mut total = Array1::zeros(d);
            let mut weight = 0.0;
            for (h, &c) in self.masses.iter().enumerate() {
                let w = pair_weight(c);
                total.scaled_add(w, &self.sums.row(h));
                weight += w * c;
            }
            subtract(&mut self.by_slice, total.view(), shift, weight);
        }
        for (h, &c) in self.masses.iter().enumerate() {
            self.sums.row_mut(h).scaled_add(-c, &shift);
        }
    }

    /// `sum_h p_h m_h m_h'`, with the slice means `m_h`. Empty slices contribute zero.
    pub(crate) fn means_matrix(&self) -> Array2<f64> {
        let n = self.total();
        let scaled = self.scaled(|c| if c > 0.0 { 1.0 / (c.sqrt() * n.sqrt()) } else { 0.0 });
        scaled.t().dot(&scaled)
    }

    /// `(1/n) sum_h (t_h t_h' - sum_{i in h} s_i s_i') / (c_h - 1)`.
    pub(crate) fn unbiased_matrix(&self) -> Array2<f64> {
        let scaled = self.scaled(|c| pair_weight(c).sqrt());
        (scaled.t().dot(&scaled) - &self.by_slice) / self.total()
    }

    fn scaled(&self, scale: impl Fn(f64) -> f64) -> Array2<f64> {
        let mut scaled = self.sums.clone();
        for (mut row, &c) in scaled.rows_mut().into_iter().zip(&self.masses) {
            let scale = scale(c);
            row.mapv_inplace(|v| v * scale);
        }
        scaled
    }
}

/// `1 / (c - 1)`: the weight of a pair of samples in a slice of mass `c`. Methods that need pairs refuse slices of mass
/// 1 or less.
pub(crate) fn pair_weight(mass: f64) -> f64 {
    if mass > 1.0 { 1.0 / (mass - 1.0) } else { 1.0 }
}

/// `sum w (s - m)(s - m)'` from `sum w s s'`, `sum w s` and `sum w`.
fn subtract(outer: &mut Array2<f64>, total: ArrayView1<f64>, shift: ArrayView1<f64>, weight: f64) {
    let d = shift.len();
    for i in 0..d {
        for j in 0..d {
            // The order of the products keeps the matrix symmetric to the last bit.
            let crossed = total[i] * shift[j] + shift[i] * total[j];
            outer[[i, j]] += weight * (shift[i] * shift[j]) - crossed;
        }
    }
}
