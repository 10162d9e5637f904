//! A design with the names of its columns.

use std::ops::Deref;

use super::{AsDesign, Design, Names};
use crate::Invalid;

/// A design with the names of its columns. Whatever is fitted to it carries the names.
///
/// ```
/// use fenchel_linalg::{AsDesign, Named, Names};
/// use ndarray::array;
///
/// let x = Named { x: array![[31.0, 1.0], [54.0, 0.0]], names: Names::new(["age", "plan=basic"]) };
/// assert_eq!(x.names().of(0), "age");
/// assert_eq!(x.nrows(), 2); // the methods of the matrix
/// let short = Named { names: Names::new(["age"]), ..x };
/// assert_eq!(short.as_design().unwrap_err().to_string(), "names of the columns: expected length 2, found 1");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Named<X> {
    /// The design: an `Array2`, a `CsrMatrix` or a view.
    pub x: X,
    /// One name per column, or none. [`as_design`](AsDesign::as_design) checks their number.
    pub names: Names,
}

impl<X: AsDesign> AsDesign for Named<X> {
    type View<'a>
        = X::View<'a>
    where
        Self: 'a;

    fn as_design(&self) -> Result<Self::View<'_>, Invalid> {
        let design = self.x.as_design()?;
        self.names.check(design.columns())?;
        Ok(design)
    }

    fn as_design_with_norms(&self) -> Result<(Self::View<'_>, Vec<f64>), Invalid> {
        let (design, norms_squared) = self.x.as_design_with_norms()?;
        self.names.check(design.columns())?;
        Ok((design, norms_squared))
    }

    fn names(&self) -> &Names {
        &self.names
    }
}

impl<X> Deref for Named<X> {
    type Target = X;

    fn deref(&self) -> &X {
        &self.x
    }
}
