//! The data that estimators accept.

use super::Design;
use super::names::Names;
use super::product::row_norms_squared;
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
