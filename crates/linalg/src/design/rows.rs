//! What the products of a design do with its rows: numbers of rows, sums of their multiples, or both.

use std::ops::Range;

use super::Design;
use crate::lanes;

/// Computes one number per row.
pub(super) trait RowNumber: Sync {
    fn number(&self, i: usize) -> f64;
}

/// Adds a multiple of each row, or of a function of the row.
pub(super) trait RowMultiple: Sync {
    fn add(&self, i: usize, out: &mut [f64]);
}

pub(super) struct Dots<'a, D> {
    pub(super) design: &'a D,
    pub(super) x: &'a [f64],
}

/// With a vector that is 0 but for some columns.
pub(super) struct ScatteredDots<'a, D> {
    pub(super) design: &'a D,
    pub(super) columns: &'a [usize],
    pub(super) x: &'a [f64],
}

pub(super) struct Norms<'a, D> {
    pub(super) design: &'a D,
}

pub(super) struct SquareDots<'a, D> {
    pub(super) design: &'a D,
    pub(super) x: &'a [f64],
}

pub(super) struct Combination<'a, D> {
    pub(super) design: &'a D,
    /// The row of the first number.
    pub(super) from: usize,
    pub(super) s: &'a [f64],
}

pub(super) struct SquareCombination<'a, D> {
    pub(super) design: &'a D,
    pub(super) s: &'a [f64],
}

impl<D: Design> RowNumber for Dots<'_, D> {
    #[inline(always)]
    fn number(&self, i: usize) -> f64 {
        self.design.row_dot(i, self.x)
    }
}

impl<D: Design> RowNumber for ScatteredDots<'_, D> {
    #[inline(always)]
    fn number(&self, i: usize) -> f64 {
        const PART: usize = 32;
        let (mut part, mut sum) = ([0.0; PART], 0.0);
        for (columns, x) in self.columns.chunks(PART).zip(self.x.chunks(PART)) {
            self.design.row_part(i, columns, 1.0, &mut part);
            sum += part.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
        }
        sum
    }
}

impl<D: Design> RowNumber for Norms<'_, D> {
    #[inline(always)]
    fn number(&self, i: usize) -> f64 {
        self.design.row_norm_squared(i)
    }
}

impl<D: Design> RowNumber for SquareDots<'_, D> {
    #[inline(always)]
    fn number(&self, i: usize) -> f64 {
        self.design.row_square_dot(i, self.x)
    }
}

impl<D: Design> RowMultiple for Combination<'_, D> {
    #[inline(always)]
    fn add(&self, i: usize, out: &mut [f64]) {
        let s = self.s[i - self.from];
        if s != 0.0 {
            self.design.row_axpy(i, s, out);
        }
    }
}

impl<D: Design> RowMultiple for SquareCombination<'_, D> {
    #[inline(always)]
    fn add(&self, i: usize, out: &mut [f64]) {
        let s = self.s[i];
        self.design.row_entries(i, |c, a| out[c] += s * (a * a));
    }
}

/// Fills a block of numbers, the first of which is that of row `from`.
pub(super) struct Fill<'o, R> {
    pub(super) of: &'o R,
    pub(super) from: usize,
    pub(super) out: &'o mut [f64],
}

impl<R: RowNumber> lanes::Kernel for Fill<'_, R> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for k in 0..self.out.len() {
            self.out[k] = self.of.number(self.from + k);
        }
    }
}

/// Adds up a range of rows.
pub(super) struct Add<'o, R> {
    pub(super) of: &'o R,
    pub(super) rows: Range<usize>,
    pub(super) out: &'o mut [f64],
}

impl<R: RowMultiple> lanes::Kernel for Add<'_, R> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for i in self.rows {
            self.of.add(i, self.out);
        }
    }
}

/// Multiplies a range of rows, each into a number and that into the row.
pub(super) struct RowByRow<'o, D, F> {
    pub(super) design: &'o D,
    pub(super) x: &'o [f64],
    pub(super) origin: bool,
    pub(super) multiple: &'o F,
    /// The row of the first number.
    pub(super) from: usize,
    pub(super) t: &'o mut [f64],
    pub(super) out: &'o mut [f64],
}

impl<D: Design, F: Fn(usize, f64) -> f64> lanes::Kernel for RowByRow<'_, D, F> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let mut total = 0.0;
        for k in 0..self.t.len() {
            let i = self.from + k;
            let t = if self.origin { 0.0 } else { self.design.row_dot(i, self.x) };
            self.t[k] = t;
            let s = (self.multiple)(i, t);
            total += s;
            if s != 0.0 {
                self.design.row_axpy(i, s, self.out);
            }
        }
        total
    }
}
