//! Data read in blocks of rows, and sums over the rows.
//!
//! Every method of this crate processes the data in blocks of 256 rows. A block stays in the processor's cache while it
//! is centred, scored and multiplied. Each block is a dense matrix of `f64`, so dense, sparse, resampled and
//! single-precision designs share the same code.
//!
//! A sum over rows is split into a number of parts that depends only on the shape of the data. The parts are computed
//! on all cores and added in a fixed order, so the result does not depend on the number of threads.

use fenchel_linalg::parallel::try_map;
use std::sync::atomic::{AtomicU64, Ordering};

use fenchel_linalg::{AsDesign, Design, Gram, Invalid, Names};
use fenchel_optim::Refusal;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use crate::error::Error;

/// Rows of a block.
pub(crate) const BLOCK: usize = 256;

/// Most parts of a sum over rows of `d` columns.
pub(crate) fn most_parts(d: usize) -> usize {
    if d <= 256 { 16 } else { 4 }
}

/// An `n x d` matrix with finite entries that is read by blocks of rows. Every [`Design`] is one.
pub trait Blocks: Sync {
    /// Number of rows, `n`.
    fn count(&self) -> usize;

    /// Number of columns, `d`.
    fn width(&self) -> usize;

    /// Copies the rows `from, from + 1, ...` into the rows of `out`.
    fn read(&self, from: usize, out: ArrayViewMut2<f64>);

    /// The names of the columns, if they have any.
    fn names(&self) -> &Names {
        const { &Names::NONE }
    }
}

impl<D: Design> Blocks for D {
    fn count(&self) -> usize {
        self.rows()
    }

    fn width(&self) -> usize {
        self.columns()
    }

    fn read(&self, from: usize, mut out: ArrayViewMut2<f64>) {
        for (i, mut row) in out.rows_mut().into_iter().enumerate() {
            if let Some(row) = row.as_slice_mut() {
                row.fill(0.0);
                self.row_axpy(from + i, 1.0, row);
            }
        }
    }
}

/// A design and the names of its columns.
pub(crate) struct Sample<'a, D> {
    design: D,
    names: &'a Names,
}

impl<D: Design> Blocks for Sample<'_, D> {
    fn count(&self) -> usize {
        self.design.rows()
    }

    fn width(&self) -> usize {
        self.design.columns()
    }

    fn read(&self, from: usize, out: ArrayViewMut2<f64>) {
        self.design.read(from, out);
    }

    fn names(&self) -> &Names {
        self.names
    }
}

/// Rows `index[0], index[1], ...` of other data: a resample, or a slice.
pub(crate) struct Picked<'a> {
    pub(crate) data: &'a dyn Blocks,
    pub(crate) index: &'a [usize],
}

impl Blocks for Picked<'_> {
    fn count(&self) -> usize {
        self.index.len()
    }

    fn width(&self) -> usize {
        self.data.width()
    }

    fn read(&self, from: usize, mut out: ArrayViewMut2<f64>) {
        for (i, row) in out.rows_mut().into_iter().enumerate() {
            self.data.read(self.index[from + i], row.insert_axis(Axis(0)));
        }
    }
}

/// Data that know how many of their rows were read.
pub(crate) struct Counted<'a> {
    data: &'a dyn Blocks,
    rows: AtomicU64,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(data: &'a dyn Blocks) -> Self {
        Counted { data, rows: AtomicU64::new(0) }
    }

    /// Rows read, over the number of rows.
    pub(crate) fn passes(&self) -> f64 {
        self.rows.load(Ordering::Relaxed) as f64 / self.count().max(1) as f64
    }
}

impl Blocks for Counted<'_> {
    fn count(&self) -> usize {
        self.data.count()
    }

    fn width(&self) -> usize {
        self.data.width()
    }

    fn read(&self, from: usize, out: ArrayViewMut2<f64>) {
        self.rows.fetch_add(out.nrows() as u64, Ordering::Relaxed);
        self.data.read(from, out);
    }

    fn names(&self) -> &Names {
        self.data.names()
    }
}

/// Checks a design and its size.
pub(crate) fn checked<X: AsDesign + ?Sized>(x: &X) -> Result<Sample<'_, X::View<'_>>, Error> {
    let (design, names) = (x.as_design()?, x.names());
    if design.columns() == 0 {
        return Err(Invalid::Empty { what: "design matrix" }.into());
    }
    if design.rows() < 2 {
        return Err(Invalid::Parameter {
            name: "number of samples",
            value: design.rows() as f64,
            expected: "at least 2",
        }
        .into());
    }
    Ok(Sample { design, names })
}

/// Refuses data of which a method needs more copies, or matrices of `d x d` numbers, than there is memory for. `counts` are
/// the numbers of both.
pub(crate) fn check_memory(
    method: &'static str,
    data: &dyn Blocks,
    (copies, squares): (u64, u64),
    max_memory: Option<u64>,
) -> Result<(), Refusal> {
    let (n, d) = (data.count() as u64, data.width() as u64);
    let numbers = copies.saturating_mul(n).saturating_add(squares.saturating_mul(d));
    let needed = numbers.saturating_mul(d).saturating_mul(8);
    Refusal::check_memory(method, needed, max_memory, "leave features out, or use `LassoSir`")
}

/// A table without NaN or infinity: squares of far rows overflow, closures may do anything.
pub(crate) fn finite(table: Array2<f64>, what: &'static str) -> Result<Array2<f64>, Invalid> {
    match table.indexed_iter().find(|(_, v)| !v.is_finite()) {
        None => Ok(table),
        Some(((row, column), &value)) => Err(Invalid::NonFinite { what, row, column, value }),
    }
}

/// The whole data as one matrix.
pub(crate) fn gather(data: &dyn Blocks) -> Array2<f64> {
    let mut all = Array2::zeros((data.count(), data.width()));
    data.read(0, all.view_mut());
    all
}

/// Folds blocks of rows into one value a part; the parts come back in their order.
///
/// `step(part, first_row, rows)`.
pub(crate) fn fold<T: Send>(
    data: &dyn Blocks,
    make: impl Fn() -> T + Sync + Send,
    step: impl Fn(&mut T, usize, ArrayView2<f64>) -> Result<(), Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    let (n, d) = (data.count(), data.width());
    let parts = (n / (4 * BLOCK)).clamp(1, most_parts(d));
    try_map(0..parts, |part| {
        let (from, to) = (part * n / parts, (part + 1) * n / parts);
        let mut value = make();
        let mut buffer = Array2::zeros((BLOCK.min(to - from), d));
        let mut at = from;
        while at < to {
            let rows = BLOCK.min(to - at);
            let mut block = buffer.slice_axis_mut(Axis(0), Slice::from(..rows));
            data.read(at, block.view_mut());
            step(&mut value, at, block.view())?;
            at += rows;
        }
        Ok(value)
    })
}

/// `f(i, row)` for the rows of a block: loops over slices vectorise.
pub(crate) fn each_row(rows: ArrayView2<f64>, mut f: impl FnMut(usize, &[f64])) {
    let d = rows.ncols().max(1);
    let rows = rows.as_standard_layout();
    let entries = rows.as_slice().unwrap_or(&[]);
    entries.chunks_exact(d).enumerate().for_each(|(i, row)| f(i, row));
}

/// The mean of about a thousand rows spread over the data: sums of differences from it lose no digits.
pub(crate) fn rough_mean(data: &dyn Blocks) -> Array1<f64> {
    let n = data.count();
    let sampled = n.min(1024);
    let mut row = Array2::zeros((1, data.width()));
    let mut mean = Array1::zeros(data.width());
    for k in 0..sampled {
        data.read(k * n / sampled, row.view_mut());
        mean += &row.row(0);
    }
    mean / sampled as f64
}

/// The first `k` columns.
pub(crate) fn leading(a: &Array2<f64>, k: usize) -> ArrayView2<'_, f64> {
    a.slice_axis(Axis(1), Slice::from(..k))
}

/// The parts of [`Gram`] added up.
pub(crate) fn add_grams(grams: impl IntoIterator<Item = Gram>, d: usize) -> Array2<f64> {
    let mut sum = vec![0.0; d * d];
    for gram in grams {
        for (sum, part) in sum.iter_mut().zip(gram.finish()) {
            *sum += part;
        }
    }
    Array2::from_shape_vec((d, d), sum).expect("d^2 entries")
}
