//! A copy of the entries that are not 0.

use super::{Csr, Design};

/// Number of rows that are counted before the decision to copy.
const SAMPLE: usize = 64;
/// The largest share of nonzeros for which the copy is made. An entry of a sparse row costs as much time as two to three
/// entries of a dense row, so that a copy of denser rows would not be faster.
const WORTH: f64 = 0.25;

/// An owned copy, row by row, of the nonzero entries of a design. It takes 12 bytes per entry.
#[derive(Debug, Clone)]
pub struct Nonzeros {
    /// The last is the number of entries.
    offsets: Vec<usize>,
    columns_of: Vec<u32>,
    values: Vec<f64>,
    columns: usize,
}

impl Nonzeros {
    /// Copies a dense design if at most a quarter of its entries are nonzero. Products with the copy then cost less than half
    /// as much. The result is `None` for any other design, and where the copy would take more than `max_memory` bytes. The copy
    /// costs O(nd). A design that is too full is recognised by a sample of its rows in O(d).
    pub fn if_worth<D: Design>(design: &D, max_memory: Option<u64>) -> Option<Self> {
        let (n, d) = (design.rows(), design.columns());
        if !D::DENSE || n == 0 || u32::try_from(d).is_err() {
            return None;
        }
        let count = |i: usize| {
            let mut count = 0;
            design.row_entries(i, |_, a| count += usize::from(a != 0.0));
            count
        };
        let sampled = n.min(SAMPLE);
        let nonzeros: usize = (0..sampled).map(|k| count(k * n / sampled)).sum();
        let share = nonzeros as f64 / (sampled * d) as f64;
        let limit =
            usize::try_from(max_memory.unwrap_or(u64::MAX).saturating_sub(8 * (n as u64 + 1)) / 12);
        if share > WORTH {
            return None;
        }
        Nonzeros::new(design, share, limit.unwrap_or(usize::MAX))
    }

    /// `share` is the expected fraction of nonzeros, and `limit` the largest allowed number of entries.
    fn new<D: Design>(design: &D, share: f64, limit: usize) -> Option<Self> {
        let (n, d) = (design.rows(), design.columns());
        let expected = (share * (n * d) as f64) as usize;
        if expected > limit {
            return None;
        }
        let expected = (expected + expected / 10).min(limit);
        let mut copy = Nonzeros {
            offsets: Vec::with_capacity(n + 1),
            columns_of: Vec::with_capacity(expected),
            values: Vec::with_capacity(expected),
            columns: d,
        };
        copy.offsets.push(0);
        // One place more than a row has: zeros are written and written over.
        let (mut columns_of, mut values) = (vec![0; d + 1], vec![0.0; d + 1]);
        for i in 0..n {
            let mut length = 0;
            design.row_nonzeros(i, |c, a| {
                columns_of[length] = c as u32;
                values[length] = a;
                length += usize::from(a != 0.0);
            });
            if copy.values.len() + length > limit {
                return None;
            }
            copy.columns_of.extend_from_slice(&columns_of[..length]);
            copy.values.extend_from_slice(&values[..length]);
            copy.offsets.push(copy.values.len());
        }
        Some(copy)
    }

    /// The copy as a design.
    pub fn view(&self) -> Csr<'_, f64> {
        Csr::unchecked(&self.offsets, &self.columns_of, &self.values, self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;
    use ndarray::Array2;

    fn is_sound(copy: &Nonzeros, columns: usize) -> bool {
        let stored = copy.offsets[copy.offsets.len() - 1];
        let (columns_of, values) = (&copy.columns_of[..stored], &copy.values[..stored]);
        Csr::from_parts(&copy.offsets, columns_of, values, columns).is_ok()
    }

    #[test]
    fn a_design_of_zeros_is_copied_entry_by_entry() {
        // Rows shorter and longer than the blocks of zeros that are left out, a multiple of them or not.
        for d in [9, 40, 67] {
            let x = Array2::from_shape_fn((100, d), |(i, j)| {
                if (i + 5 * j) % 13 == 0 || (i % 2 == 0 && j / 8 == 3) {
                    i as f64 - 40.5
                } else {
                    0.0
                }
            });
            let dense = Dense::new(x.view()).unwrap();
            let copy = Nonzeros::if_worth(&dense, None).unwrap();
            let view = copy.view();
            let stored = x.iter().filter(|a| **a != 0.0).count();
            assert_eq!((view.rows(), view.columns(), view.stored()), (100, d, stored));
            for i in 0..100 {
                let mut row = vec![0.0; d];
                view.row_entries(i, |c, a| row[c] = a);
                assert_eq!(row, x.row(i).to_vec());
            }
            // The same arrays pass the checks of a matrix from outside.
            assert!(is_sound(&copy, d));
        }
    }

    #[test]
    fn full_and_sparse_designs_are_left_alone() {
        let x = Array2::from_shape_fn((50, 8), |(i, j)| if (i + j) % 2 == 0 { 1.0 } else { 0.0 });
        assert!(Nonzeros::if_worth(&Dense::new(x.view()).unwrap(), None).is_none());
        let sparse = Csr::from_parts(&[0, 1], &[5], &[1.0], 100).unwrap();
        assert!(Nonzeros::if_worth(&sparse, None).is_none());
    }

    #[test]
    fn no_copy_is_larger_than_allowed() {
        // The sample sees every other row only: the rows between are fuller than it says.
        let x = Array2::from_shape_fn((128, 10), |(i, j)| {
            if j == 0 || (i % 2 == 1 && j < 5) { 1.0 } else { 0.0 }
        });
        let design = Dense::new(x.view()).unwrap();
        let bytes = 8 * 129 + 12 * (64 + 64 * 5);
        assert!(Nonzeros::if_worth(&design, Some(bytes)).is_some());
        assert!(Nonzeros::if_worth(&design, Some(bytes - 1)).is_none());
        assert!(Nonzeros::if_worth(&design, Some(0)).is_none());
    }
}
