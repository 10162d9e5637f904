//! Products of sparse rows with a few columns, by wide vector instructions.
//!
//! Up to [`WIDEST`] columns are copied to rows whose length is known to the compiler, so that a row of the result
//! stays in registers. With more columns, simple loops are long enough.

use fenchel_linalg::lanes::{self, Kernel};

/// The largest number of columns of these kernels.
const WIDEST: usize = 16;

/// Entries of rows, or of columns, one after another.
#[derive(Debug, Clone)]
pub(crate) struct Compressed {
    pub(crate) offsets: Vec<usize>,
    pub(crate) places: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl Compressed {
    #[inline]
    pub(crate) fn part(&self, k: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[k]..self.offsets[k + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// The same entries, ordered by the other index.
    pub(super) fn transposed(&self, columns: usize) -> Compressed {
        let mut offsets = vec![0; columns + 1];
        self.places.iter().for_each(|c| offsets[*c as usize + 1] += 1);
        (0..columns).for_each(|c| offsets[c + 1] += offsets[c]);
        let mut next = offsets.clone();
        let (mut places, mut values) = (vec![0; self.places.len()], vec![0.0; self.values.len()]);
        for i in 0..self.offsets.len() - 1 {
            let (of, entries) = self.part(i);
            for (c, v) in of.iter().zip(entries) {
                let at = &mut next[*c as usize];
                (places[*at], values[*at]) = (i as u32, *v);
                *at += 1;
            }
        }
        Compressed { offsets, places, values }
    }
}

/// A subset of the rows of a product, or all rows.
#[derive(Clone, Copy)]
pub(super) enum Which<'a> {
    All,
    These(&'a [u32]),
}

/// Computes the selected rows of `X U`, one after another.
pub(super) fn rows(x: &Compressed, which: Which, u: &[f64], width: usize, out: &mut [f64]) {
    macro_rules! padded {
        ($lanes:literal) => {
            lanes::run(Padded::<$lanes> { x, which, u, width, out })
        };
    }
    match width {
        0..=1 => padded!(1),
        2..=4 => padded!(4),
        5..=8 => padded!(8),
        9..=12 => padded!(12),
        13..=WIDEST => padded!(16),
        _ => lanes::run(Wide { x, which, u, width, out }),
    }
}

impl Which<'_> {
    #[inline(always)]
    fn row(self, place: usize) -> usize {
        match self {
            Which::All => place,
            Which::These(rows) => rows[place] as usize,
        }
    }
}

struct Padded<'a, const W: usize> {
    x: &'a Compressed,
    which: Which<'a>,
    u: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl<const W: usize> Kernel for Padded<'_, W> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let width = self.width.max(1);
        let mut u = vec![[0.0; W]; self.u.len() / width];
        for (row, from) in u.iter_mut().zip(self.u.chunks_exact(width)) {
            row[..width].copy_from_slice(from);
        }
        for (place, out) in self.out.chunks_exact_mut(width).enumerate() {
            let (of, values) = self.x.part(self.which.row(place));
            let mut sum = [0.0; W];
            for (c, a) in of.iter().zip(values) {
                let u = &u[*c as usize];
                for l in 0..W {
                    sum[l] += a * u[l];
                }
            }
            out.copy_from_slice(&sum[..width]);
        }
    }
}

struct Wide<'a> {
    x: &'a Compressed,
    which: Which<'a>,
    u: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl Kernel for Wide<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for (place, out) in self.out.chunks_exact_mut(self.width).enumerate() {
            out.fill(0.0);
            let (of, values) = self.x.part(self.which.row(place));
            for (c, a) in of.iter().zip(values) {
                add(*a, &self.u[*c as usize * self.width..][..self.width], out);
            }
        }
    }
}

/// `out += scale x`
#[inline(always)]
pub(super) fn add(scale: f64, x: &[f64], out: &mut [f64]) {
    let out = &mut out[..x.len()];
    for k in 0..x.len() {
        out[k] += scale * x[k];
    }
}

/// The largest absolute entry.
pub(super) fn top(row: &[f64]) -> f64 {
    lanes::run(Top(row))
}

struct Top<'a>(&'a [f64]);

impl lanes::Kernel for Top<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let mut tops = [0.0_f64; 8];
        let (blocks, rest) = self.0.as_chunks::<8>();
        for block in blocks {
            for l in 0..8 {
                let size = block[l].abs();
                tops[l] = if size > tops[l] { size } else { tops[l] };
            }
        }
        rest.iter().map(|g| g.abs()).chain(tops).fold(0.0, f64::max)
    }
}
