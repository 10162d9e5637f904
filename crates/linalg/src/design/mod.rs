//! Design matrices, with one sample per row and one feature per column, behind one trait.
//!
//! A method that processes one term of a finite sum at a time needs four operations on its data: the inner product of a row
//! with a point, the addition of a multiple of a row to a vector, the entries of a row, and the norm of a row. The trait
//! [`Design`] has these operations. [`Dense`] and [`Csr`] are borrowed views of a matrix. They are validated when they are
//! constructed, and no later operation checks or copies the data again.
//!
//! | symbol | name | shape |
//! |---|---|---|
//! | `A` | design | `n x d` |
//! | `a_i` | row `i` | `d` |
//! | `x` | point, weights | `d` |

mod as_design;
mod centred;
mod columns;
mod csr;
mod dense;
mod named;
mod named_edges;
mod named_rows;
mod names;
mod nonzeros;
mod product;
mod rows;
mod standardise;
mod subset;

pub use as_design::{AsDesign, Rows};
pub use centred::{Centred, CentredView, FarColumn, far_columns};
pub use columns::{Columns, nonzeros_by_column};
pub use csr::{Csr, CsrMatrix};
pub use dense::Dense;
pub use named::Named;
pub use named_edges::NamedEdges;
pub use named_rows::NamedRows;
pub use names::Names;
pub use nonzeros::Nonzeros;
pub use product::{
    multiply, multiply_row_by_row, multiply_squares, multiply_squares_transposed, multiply_through,
    multiply_transposed, row_norms_squared,
};
pub use standardise::Standardiser;
pub use subset::Subset;

use std::ops::Range;

use crate::Invalid;
use crate::spread::Shards;

/// A number type that a design matrix may be stored in. Arithmetic is always `f64`.
pub trait Scalar: Copy + Send + Sync + 'static {
    /// The exact value.
    fn to_f64(self) -> f64;
}

impl Scalar for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Scalar for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

/// Row access to an `n x d` matrix with finite entries.
///
/// An implementation guarantees that all entries are finite and that all column indices are below [`columns`](Design::columns).
/// A row index of [`rows`](Design::rows) or more, or a slice shorter than `columns`, panics.
pub trait Design: Sync {
    /// Whether every entry of every row is stored. Then an operation on a whole vector of length `d` costs no more than an
    /// operation on one row.
    const DENSE: bool;

    /// The type of a view of [some rows](Design::part): that of the design itself, so that a method which works on a part of
    /// the rows, or on the folds of a cross-validation, is not compiled once more.
    type Part<'s>: Design + Copy
    where
        Self: 's;

    /// The rows `index[0], index[1], ...` of this design, for [`part`](Design::part); repeats are allowed. O(rows).
    ///
    /// # Panics
    /// If an index is not below the number of rows.
    fn subset(&self, index: &[usize]) -> Subset {
        assert!(index.iter().all(|&i| i < self.rows()), "row index out of range");
        let stored = index.iter().map(|&i| self.row_stored(i)).sum();
        Subset::new(index.iter().map(|&i| self.stored_at(i)).collect(), stored)
    }

    /// The rows of a subset, without a copy of their entries.
    ///
    /// # Panics
    /// Reading a row panics if the subset was made of a design with more rows.
    fn part<'s>(&self, subset: &'s Subset) -> Self::Part<'s>
    where
        Self: 's;

    /// The rows that this process holds, of a design whose other rows lie with other processes. A row index is that of an own row; sums
    /// over rows are over all. All processes have the same columns, and call this and every product that is a sum over rows together. With
    /// `None` all rows are here.
    ///
    /// ```
    /// use fenchel_linalg::spread::{Communicator, Shards, threads};
    /// use fenchel_linalg::{AsDesign, Design, multiply_transposed};
    ///
    /// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    /// // Two ranks: one has the first row, the other two shards of a row each.
    /// let products = threads::run(2, |ranks| {
    ///     let (rows, own) = [(0..1, vec![1]), (1..3, vec![1, 1])][ranks.rank()].clone();
    ///     let own_rows = x.slice(ndarray::s![rows, ..]);
    ///     let shards = Shards::new(ranks, &own)?;
    ///     let design = own_rows.as_design()?.spread(&shards)?;
    ///     let mut out = [0.0; 2];
    ///     multiply_transposed(&design, &vec![1.0; shards.rows()], &mut out);
    ///     Ok::<_, fenchel_linalg::Invalid>(out)
    /// });
    /// assert_eq!(products.unwrap(), [[9.0, 12.0]; 2]);
    /// ```
    ///
    /// # Errors
    /// [`Invalid::Length`] for another number of rows than that of the shards, [`Invalid::Layout`] for processes with different
    /// columns.
    fn spread<'s>(
        &self,
        shards: impl Into<Option<&'s Shards<'s>>>,
    ) -> Result<Self::Part<'s>, Invalid>
    where
        Self: 's;

    /// The number that row `i` has in the matrix which is viewed: `i`, unless this is a [part](Design::part).
    fn stored_at(&self, i: usize) -> usize;

    /// Number of rows, `n`.
    fn rows(&self) -> usize;

    /// Number of columns, `d`.
    fn columns(&self) -> usize;

    /// Number of stored entries of the whole matrix.
    fn stored(&self) -> usize;

    /// Number of stored entries of row `i`.
    fn row_stored(&self, i: usize) -> usize;

    /// `a_i . x`.
    fn row_dot(&self, i: usize, x: &[f64]) -> f64;

    /// `out += scale * a_i`.
    fn row_axpy(&self, i: usize, scale: f64, out: &mut [f64]);

    /// Calls `f(column, value)` for the stored entries of row `i`, columns ascending.
    fn row_entries(&self, i: usize, f: impl FnMut(usize, f64));

    /// Calls `f(column, value)` for all entries of row `i` that are not 0, in ascending order of columns. Some zero entries may
    /// be included.
    #[inline(always)]
    fn row_nonzeros(&self, i: usize, f: impl FnMut(usize, f64)) {
        self.row_entries(i, f);
    }

    /// `sum_c x_c a_ic^2`.
    #[inline]
    fn row_square_dot(&self, i: usize, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.row_entries(i, |c, a| sum += x[c] * (a * a));
        sum
    }

    /// Writes `out_k = scale * a_ic` for `c = columns[k]`. The columns must ascend.
    #[inline]
    fn row_part(&self, i: usize, columns: &[usize], scale: f64, out: &mut [f64]) {
        let out = &mut out[..columns.len()];
        out.fill(0.0);
        let mut k = 0;
        self.row_entries(i, |c, a| {
            while k < columns.len() && columns[k] < c {
                k += 1;
            }
            if k < columns.len() && columns[k] == c {
                out[k] = scale * a;
            }
        });
    }

    /// `||a_i||^2`.
    fn row_norm_squared(&self, i: usize) -> f64 {
        let mut sum = 0.0;
        self.row_entries(i, |_, a| sum += a * a);
        sum
    }

    /// The shards of a design that holds some of the rows only; `None` where all rows are here.
    fn shards(&self) -> Option<&Shards<'_>>;

    /// Number of rows, of all processes.
    fn all_rows(&self) -> usize {
        self.shards().map_or_else(|| self.rows(), Shards::all_rows)
    }

    /// Sums over all rows, of what `of` computes for a range of rows: `of(0..n)` where all rows are here. All processes call it, and
    /// every other sum or maximum over spread rows, together.
    fn sum_rows<const N: usize>(&self, of: impl Fn(Range<usize>) -> [f64; N] + Sync) -> [f64; N] {
        let Some(shards) = self.shards() else { return of(0..self.rows()) };
        let mut sums = [0.0; N];
        shards.sum(&mut sums, &|_, rows, out| {
            out.copy_from_slice(&of(rows));
            0.0
        });
        sums
    }

    /// Fills `out` with the sum over all rows of what `add` adds to it for a range of rows.
    fn add_rows(&self, out: &mut [f64], add: impl Fn(Range<usize>, &mut [f64]) + Sync) {
        match self.shards() {
            None => {
                out.fill(0.0);
                add(0..self.rows(), out);
            }
            Some(shards) => {
                shards.sum(out, &|_, rows, out| {
                    add(rows, out);
                    0.0
                });
            }
        }
    }

    /// Fills `out` with the sum over all rows of what `of` adds to it for a range of rows, and returns the sum of what it returns.
    /// `of` may change the part of `numbers`, one a row, that belongs to its rows.
    ///
    /// # Panics
    /// If there is not one number a row.
    fn sum_rows_of(
        &self,
        numbers: &mut [f64],
        out: &mut [f64],
        of: impl Fn(Range<usize>, &mut [f64], &mut [f64]) -> f64 + Sync,
    ) -> f64 {
        assert_eq!(numbers.len(), self.rows());
        match self.shards() {
            None => {
                out.fill(0.0);
                of(0..numbers.len(), numbers, out)
            }
            Some(shards) => shards.sum_of(shards.split(numbers), out, of),
        }
    }

    /// The largest of the numbers of all processes.
    fn largest(&self, own: f64) -> f64 {
        let mut number = [own];
        self.largest_of(&mut number);
        number[0]
    }

    /// Whether it is so in one of all processes.
    fn any(&self, here: bool) -> bool {
        self.largest(f64::from(u8::from(here))) > 0.0
    }

    /// The sum over all rows of numbers of which this process has one an own row.
    fn sum_numbers(&self, numbers: &[f64]) -> f64 {
        let [sum] = self.sum_rows(|rows| [numbers[rows].iter().sum()]);
        sum
    }

    /// Replaces each number by the largest of all processes.
    fn largest_of(&self, own: &mut [f64]) {
        if let Some(shards) = self.shards() {
            shards.largest(own);
        }
    }
}

/// Whether all numbers are finite, computed without a branch per entry.
fn all_finite<T: Scalar>(values: &[T]) -> bool {
    crate::lanes::dispatch(
        #[inline(always)]
        || {
            for piece in values.chunks(1024) {
                let mut all = true;
                for v in piece {
                    all &= v.to_f64().is_finite();
                }
                if !all {
                    return false;
                }
            }
            true
        },
    )
}

/// `sum a^2`, in eight partial sums for eight or more entries.
#[inline(always)]
fn sum_of_squares<T: Scalar>(values: &[T]) -> f64 {
    let (blocks, rest) = values.as_chunks::<8>();
    if blocks.is_empty() {
        return rest.iter().fold(0.0, |sum, a| sum + a.to_f64() * a.to_f64());
    }
    let mut lanes = [0.0; 8];
    for block in blocks {
        for k in 0..8 {
            lanes[k] += block[k].to_f64() * block[k].to_f64();
        }
    }
    for (lane, a) in lanes.iter_mut().zip(rest) {
        *lane += a.to_f64() * a.to_f64();
    }
    let [l0, l1, l2, l3, l4, l5, l6, l7] = lanes;
    ((l0 + l4) + (l1 + l5)) + ((l2 + l6) + (l3 + l7))
}
