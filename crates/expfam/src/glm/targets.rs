//! The targets of a regression.

use ndarray::{ArrayBase, ArrayView1, Data, Ix1};

/// Targets, and offsets where there are any. Slices, vectors and arrays of numbers are targets without offsets.
#[derive(Debug, Clone)]
pub struct Targets<'y> {
    /// One number a row.
    pub y: ArrayView1<'y, f64>,
    /// A known part of `eta` for each row: `log(exposure)` in a model with log link.
    pub offset: Option<ArrayView1<'y, f64>>,
}

impl<'y> Targets<'y> {
    /// Targets without offsets.
    pub fn new(y: impl Into<ArrayView1<'y, f64>>) -> Self {
        Targets { y: y.into(), offset: None }
    }

    /// With one offset a row.
    pub fn offset(self, offset: impl Into<ArrayView1<'y, f64>>) -> Self {
        Targets { offset: Some(offset.into()), ..self }
    }
}

impl<'y> From<&'y [f64]> for Targets<'y> {
    fn from(y: &'y [f64]) -> Self {
        Targets::new(y)
    }
}

impl<'y, const N: usize> From<&'y [f64; N]> for Targets<'y> {
    fn from(y: &'y [f64; N]) -> Self {
        Targets::new(y)
    }
}

impl<'y> From<&'y Vec<f64>> for Targets<'y> {
    fn from(y: &'y Vec<f64>) -> Self {
        Targets::new(y)
    }
}

impl<'y, S: Data<Elem = f64>> From<&'y ArrayBase<S, Ix1>> for Targets<'y> {
    fn from(y: &'y ArrayBase<S, Ix1>) -> Self {
        Targets::new(y)
    }
}

impl<'y> From<ArrayView1<'y, f64>> for Targets<'y> {
    fn from(y: ArrayView1<'y, f64>) -> Self {
        Targets::new(y)
    }
}
