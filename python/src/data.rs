//! Matrices and vectors of Python.
//!
//! The Python layer (`fenchel/_data.py`) hands over C-ordered float64 arrays and scipy's CSR of float64. Their numbers are
//! borrowed, never copied. The column indices of a CSR matrix are borrowed if they are int32, as scipy's are below 2^31
//! entries. Its offsets, one a row, are converted.

use fenchel::linalg::{AsDesign, Csr, Design, Invalid};
use fenchel::optim::Fit;
use ndarray::{Array1, ArrayView1, ArrayView2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::control::Watcher;

/// A matrix of Python, kept alive.
pub(crate) enum Matrix<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse {
        offsets: Vec<usize>,
        columns_of: Indices<'py>,
        values: PyReadonlyArray1<'py, f64>,
        columns: usize,
    },
}

/// The column indices of a CSR matrix.
pub(crate) enum Indices<'py> {
    Borrowed(PyReadonlyArray1<'py, i32>),
    Converted(Vec<u32>),
}

/// A matrix without the interpreter.
#[derive(Clone, Copy)]
pub(crate) enum View<'a> {
    Dense(ArrayView2<'a, f64>),
    Sparse(SparseView<'a>),
}

/// The three arrays of a CSR matrix.
#[derive(Clone, Copy)]
pub(crate) struct SparseView<'a> {
    offsets: &'a [usize],
    columns_of: &'a [u32],
    values: &'a [f64],
    columns: usize,
}

impl AsDesign for SparseView<'_> {
    type View<'a>
        = Csr<'a, f64>
    where
        Self: 'a;

    fn as_design(&self) -> Result<Csr<'_, f64>, Invalid> {
        Csr::from_parts(self.offsets, self.columns_of, self.values, self.columns)
    }
}

impl View<'_> {
    /// The entries of each row that are not 0, with their columns, and the number of columns.
    pub(crate) fn entries(self) -> Result<(Vec<Vec<(u32, f64)>>, usize), Invalid> {
        fn of(x: &impl AsDesign) -> Result<(Vec<Vec<(u32, f64)>>, usize), Invalid> {
            let design = x.as_design()?;
            let row = |i| {
                let mut entries = Vec::new();
                design.row_nonzeros(i, |column, value| {
                    if value != 0.0 {
                        entries.push((column as u32, value));
                    }
                });
                entries
            };
            Ok(((0..design.rows()).map(row).collect(), design.columns()))
        }
        match self {
            View::Dense(x) => of(&x),
            View::Sparse(x) => of(&x),
        }
    }
}

/// Evaluates an expression with the view as `$x`, once for each type of view.
macro_rules! with_view {
    ($view:expr, $x:ident => $body:expr) => {
        match $view {
            $crate::data::View::Dense($x) => $body,
            $crate::data::View::Sparse($x) => $body,
        }
    };
}
pub(crate) use with_view;

impl<'py> Matrix<'py> {
    /// Reads an array or a CSR matrix.
    pub(crate) fn read(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(dense) = x.extract::<PyReadonlyArray2<'py, f64>>() {
            if !dense.is_c_contiguous() {
                return Err(PyValueError::new_err("X: expected an array in C order"));
            }
            return Ok(Matrix::Dense(dense));
        }
        let part = |name: &str| x.getattr(name);
        let (_, columns): (usize, usize) = part("shape")?.extract()?;
        let offsets = part("indptr")?;
        let offsets = match offsets.extract::<PyReadonlyArray1<'_, i32>>() {
            Ok(offsets) => widened(offsets.as_array().iter().map(|&at| usize::try_from(at)))?,
            Err(_) => {
                let offsets = offsets.extract::<PyReadonlyArray1<'_, i64>>()?;
                widened(offsets.as_array().iter().map(|&at| usize::try_from(at)))?
            }
        };
        let columns_of = part("indices")?;
        let columns_of = match columns_of.extract::<PyReadonlyArray1<'py, i32>>() {
            Ok(columns_of) => Indices::Borrowed(columns_of),
            Err(_) => {
                let columns_of = columns_of.extract::<PyReadonlyArray1<'_, i64>>()?;
                let columns_of = columns_of.as_array();
                let narrow = columns_of.iter().map(|&column| u32::try_from(column));
                Indices::Converted(
                    narrow.collect::<Result<_, _>>().map_err(|_| outside("indices"))?,
                )
            }
        };
        let values = part("data")?.extract()?;
        Ok(Matrix::Sparse { offsets, columns_of, values, columns })
    }

    /// Borrows it.
    pub(crate) fn view(&self) -> PyResult<View<'_>> {
        Ok(match self {
            Matrix::Dense(dense) => View::Dense(dense.as_array()),
            Matrix::Sparse { offsets, columns_of, values, columns } => {
                // A negative index becomes one that is too large, which is refused with its row.
                let columns_of = match columns_of {
                    Indices::Borrowed(columns_of) => bytemuck::cast_slice(columns_of.as_slice()?),
                    Indices::Converted(columns_of) => columns_of,
                };
                let (offsets, values) = (offsets.as_slice(), values.as_slice()?);
                View::Sparse(SparseView { offsets, columns_of, values, columns: *columns })
            }
        })
    }
}

fn widened<E>(offsets: impl Iterator<Item = Result<usize, E>>) -> PyResult<Vec<usize>> {
    offsets.collect::<Result<_, _>>().map_err(|_| outside("indptr"))
}

fn outside(part: &str) -> PyErr {
    PyValueError::new_err(format!("X.{part}: expected numbers from 0 to 2^32 - 1"))
}

/// The data of a fit: a matrix, a number a row, and a weight a row.
pub(crate) struct Rows<'py> {
    x: Matrix<'py>,
    y: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
}

/// The same without the interpreter.
#[derive(Clone, Copy)]
pub(crate) struct RowsView<'a> {
    pub(crate) x: View<'a>,
    pub(crate) y: ArrayView1<'a, f64>,
    pub(crate) weights: Option<ArrayView1<'a, f64>>,
}

impl RowsView<'_> {
    /// What a fit is given besides the data.
    pub(crate) fn fit<'a, M>(&'a self, start: Option<&'a M>, watch: Watcher<'a>) -> Fit<'a, M> {
        let weights = self.weights.as_ref().map(|weights| weights.view());
        Fit { weights, start, ..Fit::new().watch(watch) }
    }
}

impl<'py> Rows<'py> {
    /// Reads the tuple `(x, y, weights)`.
    pub(crate) fn read(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        type Parts<'py> =
            (Bound<'py, PyAny>, PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, f64>>);
        let (x, y, weights): Parts<'py> = data.extract()?;
        Ok(Rows { x: Matrix::read(&x)?, y, weights })
    }

    /// Borrows them.
    pub(crate) fn view(&self) -> PyResult<RowsView<'_>> {
        let weights = self.weights.as_ref().map(|weights| weights.as_array());
        Ok(RowsView { x: self.x.view()?, y: self.y.as_array(), weights })
    }
}

/// A copy of a vector.
pub(crate) fn owned(vector: &PyReadonlyArray1<'_, f64>) -> Array1<f64> {
    vector.as_array().to_owned()
}
