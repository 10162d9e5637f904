//! A copy of some features of a design.

use fenchel_linalg::{CsrMatrix, Design};
use ndarray::Array2;

/// A copy of some features, in the storage format of the design.
pub(super) enum Part {
    Dense(Array2<f64>),
    Sparse(CsrMatrix<f64>),
}

impl Part {
    /// Copies these columns. Returns `None` if the copy takes more than `max_memory` bytes.
    pub(super) fn of<D: Design>(
        design: &D,
        columns: &[usize],
        max_memory: Option<u64>,
    ) -> Option<Part> {
        let (n, limit) = (design.rows(), max_memory.unwrap_or(u64::MAX));
        let mut place = vec![usize::MAX; design.columns()];
        columns.iter().enumerate().for_each(|(k, &c)| place[c] = k);
        if D::DENSE {
            let bytes = 8 * (n as u64) * columns.len() as u64;
            let mut x = Array2::zeros(if bytes <= limit { (n, columns.len()) } else { (0, 0) });
            for (i, mut row) in x.rows_mut().into_iter().enumerate() {
                design.row_entries(i, |c, a| {
                    if let Some(x) = row.get_mut(place[c]) {
                        *x = a;
                    }
                });
            }
            return (bytes <= limit).then_some(Part::Dense(x));
        }
        let (mut offsets, mut index, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..n {
            design.row_entries(i, |c, a| {
                if place[c] != usize::MAX {
                    index.push(place[c] as u32);
                    values.push(a);
                }
            });
            offsets.push(values.len());
            if 12 * values.len() as u64 > limit {
                return None;
            }
        }
        CsrMatrix::try_new((n, columns.len()), offsets, index, values).ok().map(Part::Sparse)
    }
}
