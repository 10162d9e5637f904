//! A design whose rows are some of all.

use super::Design;
use crate::Invalid;
use crate::spread::Shards;

/// The rows that this process holds of a design whose other rows lie with other processes. A row index is that of an own row; sums
/// over rows are over all.
///
/// ```
/// use fenchel_linalg::spread::{Communicator, Shards, threads};
/// use fenchel_linalg::{AsDesign, Spread, multiply_transposed};
///
/// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
/// // Two ranks: one has the first row, the other two shards of a row each.
/// let products = threads::run(2, |ranks| {
///     let (rows, own) = [(0..1, vec![1]), (1..3, vec![1, 1])][ranks.rank()].clone();
///     let own_rows = x.slice(ndarray::s![rows, ..]);
///     let shards = Shards::new(ranks, &own)?;
///     let design = Spread::new(own_rows.as_design()?, &shards)?;
///     let mut out = [0.0; 2];
///     multiply_transposed(&design, &vec![1.0; shards.rows()], &mut out);
///     Ok::<_, fenchel_linalg::Invalid>(out)
/// });
/// assert_eq!(products.unwrap(), [[9.0, 12.0]; 2]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Spread<'a, D> {
    design: D,
    shards: &'a Shards<'a>,
}

impl<'a, D: Design> Spread<'a, D> {
    /// The own rows, and the shards that they are. All ranks have the same columns.
    ///
    /// # Errors
    /// [`Invalid::Length`] for another number of rows than that of the shards, [`Invalid::Layout`] for ranks with different columns.
    pub fn new(design: D, shards: &'a Shards<'a>) -> Result<Self, Invalid> {
        Invalid::check_length("rows of the shards", design.rows(), shards.rows())?;
        let own = design.columns() as f64;
        let mut ends = [own, -own];
        shards.largest(&mut ends);
        if ends != [own, -own] {
            let (rank, reason) = (shards.communicator().rank(), "columns, but others have");
            let reason = format!("rank {rank} has {own} {reason} {} to {}", -ends[1], ends[0]);
            return Err(Invalid::Layout { what: "design matrix", reason });
        }
        Ok(Spread { design, shards })
    }
}

impl<D: Design> Design for Spread<'_, D> {
    const DENSE: bool = D::DENSE;

    fn rows(&self) -> usize {
        self.design.rows()
    }

    fn columns(&self) -> usize {
        self.design.columns()
    }

    fn stored(&self) -> usize {
        self.design.stored()
    }

    fn shards(&self) -> Option<&Shards<'_>> {
        Some(self.shards)
    }

    fn row_stored(&self, i: usize) -> usize {
        self.design.row_stored(i)
    }

    #[inline(always)]
    fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        self.design.row_dot(i, x)
    }

    #[inline(always)]
    fn row_axpy(&self, i: usize, scale: f64, out: &mut [f64]) {
        self.design.row_axpy(i, scale, out);
    }

    #[inline(always)]
    fn row_square_dot(&self, i: usize, x: &[f64]) -> f64 {
        self.design.row_square_dot(i, x)
    }

    #[inline(always)]
    fn row_part(&self, i: usize, columns: &[usize], scale: f64, out: &mut [f64]) {
        self.design.row_part(i, columns, scale, out);
    }

    #[inline(always)]
    fn row_norm_squared(&self, i: usize) -> f64 {
        self.design.row_norm_squared(i)
    }

    #[inline(always)]
    fn row_entries(&self, i: usize, f: impl FnMut(usize, f64)) {
        self.design.row_entries(i, f);
    }

    #[inline(always)]
    fn row_nonzeros(&self, i: usize, f: impl FnMut(usize, f64)) {
        self.design.row_nonzeros(i, f);
    }
}
