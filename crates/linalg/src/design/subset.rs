//! Some rows of a design.

use super::{AsDesign, Design, Names};
use crate::Invalid;

/// The rows `index[0], index[1], ...` of another design, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Subset<'a, D> {
    design: D,
    index: &'a [usize],
    stored: usize,
}

impl<'a, D: Design> Subset<'a, D> {
    /// A view of these rows, in this order; repeats are allowed. O(rows).
    ///
    /// # Panics
    /// If an index is not below the number of rows.
    pub fn new(design: D, index: &'a [usize]) -> Self {
        assert!(index.iter().all(|&i| i < design.rows()), "row index out of range");
        let stored = index.iter().map(|&i| design.row_stored(i)).sum();
        Subset { design, index, stored }
    }
}

impl<D: Design> Design for Subset<'_, D> {
    const DENSE: bool = D::DENSE;

    fn rows(&self) -> usize {
        self.index.len()
    }

    fn columns(&self) -> usize {
        self.design.columns()
    }

    fn stored(&self) -> usize {
        self.stored
    }

    fn row_stored(&self, i: usize) -> usize {
        self.design.row_stored(self.index[i])
    }

    #[inline(always)]
    fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        self.design.row_dot(self.index[i], x)
    }

    #[inline(always)]
    fn row_axpy(&self, i: usize, scale: f64, out: &mut [f64]) {
        self.design.row_axpy(self.index[i], scale, out);
    }

    #[inline(always)]
    fn row_square_dot(&self, i: usize, x: &[f64]) -> f64 {
        self.design.row_square_dot(self.index[i], x)
    }

    #[inline(always)]
    fn row_part(&self, i: usize, columns: &[usize], scale: f64, out: &mut [f64]) {
        self.design.row_part(self.index[i], columns, scale, out);
    }

    #[inline(always)]
    fn row_norm_squared(&self, i: usize) -> f64 {
        self.design.row_norm_squared(self.index[i])
    }

    #[inline(always)]
    fn row_entries(&self, i: usize, f: impl FnMut(usize, f64)) {
        self.design.row_entries(self.index[i], f);
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
}

impl<'a, X: AsDesign + ?Sized> Rows<'a, X> {
    /// The rows `index[0], index[1], ...`, in this order; repeats are allowed. They are checked by
    /// [`as_design`](AsDesign::as_design).
    pub fn new(x: &'a X, index: &'a [usize]) -> Self {
        Rows { x, index }
    }
}

impl<X: AsDesign + ?Sized> AsDesign for Rows<'_, X> {
    type View<'v>
        = Subset<'v, X::View<'v>>
    where
        Self: 'v;

    fn as_design(&self) -> Result<Self::View<'_>, Invalid> {
        let design = self.x.as_design()?;
        let rows = design.rows();
        match self.index.iter().find(|&&row| row >= rows) {
            None => Ok(Subset::new(design, self.index)),
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
    use crate::Dense;
    use ndarray::array;

    #[test]
    fn a_subset_shows_its_rows() {
        let x = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        let subset = Subset::new(Dense::new(x.view()).unwrap(), &[2, 0, 2]);
        assert_eq!((subset.rows(), subset.columns(), subset.stored()), (3, 2, 6));
        assert_eq!(row_norms_squared(&subset), [61.0, 5.0, 61.0]);
        assert_eq!(subset.row_dot(1, &[10.0, 1.0]), 12.0);
        assert_eq!(subset.row_square_dot(0, &[10.0, 1.0]), 286.0);
        let mut part = [0.0];
        subset.row_part(0, &[1], 0.5, &mut part);
        assert_eq!(part, [3.0]);
    }
}
