//! The data that estimators accept.

use std::sync::OnceLock;

use super::names::Names;
use super::product::row_norms_squared;
use super::{Design, Subset};
use crate::Invalid;

/// The type of data that `fit` accepts: anything that can be viewed as a [`Design`] without a copy.
pub trait AsDesign {
    /// The borrowed, validated view.
    type View<'a>: Design + Copy
    where
        Self: 'a;

    /// Validates the data once and borrows it.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`] with row and column; [`Invalid::Layout`] if rows are not contiguous,
    /// the storage is not CSR, or columns of a row are not ascending.
    fn as_design(&self) -> Result<Self::View<'_>, Invalid>;

    /// Does the same as [`as_design`](AsDesign::as_design), and also returns [the squared norms of all
    /// rows](row_norms_squared). The data are read once for both.
    ///
    /// # Errors
    /// As [`as_design`](AsDesign::as_design).
    fn as_design_with_norms(&self) -> Result<(Self::View<'_>, Vec<f64>), Invalid> {
        let design = self.as_design()?;
        let norms_squared = row_norms_squared(&design);
        Ok((design, norms_squared))
    }

    /// The names of the columns. They are empty for a matrix, and those of [`Named`](super::Named) for a design with names.
    fn names(&self) -> &Names {
        const { &Names::NONE }
    }
}

/// Some rows of a data matrix, for fitting or predicting without a copy of them.
///
/// ```
/// use fenchel_linalg::{AsDesign, Design, Rows};
///
/// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
/// let (train, test) = ([0, 2], [1]);
/// assert_eq!(Rows::new(&x, &train).as_design()?.row_dot(1, &[1.0, 1.0]), 11.0);
/// assert_eq!(Rows::new(&x, &test).as_design()?.rows(), 1);
/// assert!(Rows::new(&x, &[3]).as_design().is_err());
/// # Ok::<(), fenchel_linalg::Invalid>(())
/// ```
#[derive(Debug)]
pub struct Rows<'a, X: ?Sized> {
    x: &'a X,
    index: &'a [usize],
    subset: OnceLock<Subset>,
}

impl<'a, X: AsDesign + ?Sized> Rows<'a, X> {
    /// The rows `index[0], index[1], ...`, in this order; repeats are allowed. They are checked by
    /// [`as_design`](AsDesign::as_design).
    pub fn new(x: &'a X, index: &'a [usize]) -> Self {
        Rows { x, index, subset: OnceLock::new() }
    }
}

impl<X: AsDesign + ?Sized> AsDesign for Rows<'_, X> {
    type View<'v>
        = <X::View<'v> as Design>::Part<'v>
    where
        Self: 'v;

    fn as_design(&self) -> Result<Self::View<'_>, Invalid> {
        let design = self.x.as_design()?;
        let rows = design.rows();
        match self.index.iter().find(|&&row| row >= rows) {
            None => {
                let subset = self.subset.get_or_init(|| design.subset(self.index));
                Ok(design.part(subset))
            }
            Some(row) => {
                let reason = format!("there is no row {row} of {rows}");
                Err(Invalid::Layout { what: "rows", reason })
            }
        }
    }

    fn names(&self) -> &Names {
        self.x.names()
    }
}

#[cfg(test)]
mod tests {
    use super::super::product::row_norms_squared;
    use super::*;
    use crate::{Csr, CsrMatrix, Dense};
    use ndarray::array;

    #[test]
    fn a_part_shows_its_rows() {
        let x = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        let design = Dense::new(x.view()).unwrap();
        let chosen = design.subset(&[2, 0, 2]);
        let part = design.part(&chosen);
        assert_eq!((part.rows(), part.columns(), part.stored()), (3, 2, 6));
        assert_eq!(row_norms_squared(&part), [61.0, 5.0, 61.0]);
        assert_eq!(part.row_dot(1, &[10.0, 1.0]), 12.0);
        assert_eq!(part.row_square_dot(0, &[10.0, 1.0]), 286.0);
        let mut out = [0.0];
        part.row_part(0, &[1], 0.5, &mut out);
        assert_eq!(out, [3.0]);
    }

    /// A part of a part, of sparse data, has the rows of the matrix.
    #[test]
    fn parts_have_parts() {
        let (offsets, columns, values) = ([0, 2, 2, 3], [0, 2, 1], [1.5, -2.0, 4.0]);
        let design = Csr::from_parts(&offsets, &columns, &values, 3).unwrap();
        let chosen = design.subset(&[2, 1, 0, 2]);
        let part = design.part(&chosen);
        assert_eq!((part.rows(), part.stored(), part.row_stored(2)), (4, 4, 2));
        let chosen = part.subset(&[2, 3, 3]);
        let part = part.part(&chosen);
        assert_eq!((part.rows(), part.stored()), (3, 4));
        let dots = [0, 1, 2].map(|i| part.row_dot(i, &[1.0, 10.0, 100.0]));
        assert_eq!(dots, [-198.5, 40.0, 40.0]);
        let matrix = CsrMatrix::new((3, 3), offsets.to_vec(), columns.to_vec(), values.to_vec());
        let rows = Rows::new(&matrix, &[2, 1, 0, 2]);
        let rows = Rows::new(&rows, &[2, 3, 3]);
        assert_eq!(row_norms_squared(&rows.as_design().unwrap()), [6.25, 16.0, 16.0]);
    }
}
