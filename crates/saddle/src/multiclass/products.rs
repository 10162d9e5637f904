//! Products of sparse rows with a few columns, by wide instructions.
//!
//! Up to [`WIDEST`] columns are copied to rows of a length that the compiler knows: a row of the result stays in registers. More
//! columns are long enough for loops as they are.

use fenchel_linalg::lanes::{self, Kernel};

use super::samples::Compressed;

/// Most columns of the padded kernels.
const WIDEST: usize = 16;

/// Calls a kernel with the least padded width that holds `width` columns; `None` where none does.
macro_rules! padded {
    ($kernel:ident, $width:expr, $x:expr, $input:expr, $out:expr) => {
        match $width {
            0..=1 => lanes::run($kernel::<1> { x: $x, input: $input, width: $width, out: $out }),
            2..=4 => lanes::run($kernel::<4> { x: $x, input: $input, width: $width, out: $out }),
            5..=8 => lanes::run($kernel::<8> { x: $x, input: $input, width: $width, out: $out }),
            9..=12 => lanes::run($kernel::<12> { x: $x, input: $input, width: $width, out: $out }),
            _ => lanes::run($kernel::<16> { x: $x, input: $input, width: $width, out: $out }),
        }
    };
}

/// `out = X U`, by rows.
pub(super) fn scores(x: &Compressed, u: &[f64], width: usize, out: &mut [f64]) {
    if width <= WIDEST {
        padded!(Scores, width, x, u, out);
    } else {
        lanes::run(WideScores { x, u, width, out });
    }
}

/// `out = X' Z`, by rows.
pub(super) fn transposed(x: &Compressed, z: &[f64], width: usize, out: &mut [f64]) {
    if width <= WIDEST {
        padded!(Transposed, width, x, z, out);
    } else {
        lanes::run(WideTransposed { x, z, width, out });
    }
}

struct Scores<'a, const W: usize> {
    x: &'a Compressed,
    input: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl<const W: usize> Kernel for Scores<'_, W> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let width = self.width.max(1);
        let mut u = vec![[0.0; W]; self.input.len() / width];
        for (row, from) in u.iter_mut().zip(self.input.chunks_exact(width)) {
            row[..width].copy_from_slice(from);
        }
        for (j, out) in self.out.chunks_exact_mut(width).enumerate() {
            let (of, values) = self.x.part(j);
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

struct Transposed<'a, const W: usize> {
    x: &'a Compressed,
    input: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl<const W: usize> Kernel for Transposed<'_, W> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let width = self.width.max(1);
        let mut sums = vec![[0.0; W]; self.out.len() / width];
        let mut z = [0.0; W];
        for (j, from) in self.input.chunks_exact(width).enumerate() {
            z[..width].copy_from_slice(from);
            let (of, values) = self.x.part(j);
            for (c, a) in of.iter().zip(values) {
                let sum = &mut sums[*c as usize];
                for l in 0..W {
                    sum[l] += a * z[l];
                }
            }
        }
        for (out, sum) in self.out.chunks_exact_mut(width).zip(&sums) {
            out.copy_from_slice(&sum[..width]);
        }
    }
}

struct WideScores<'a> {
    x: &'a Compressed,
    u: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl Kernel for WideScores<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for (j, out) in self.out.chunks_exact_mut(self.width).enumerate() {
            out.fill(0.0);
            let (of, values) = self.x.part(j);
            for (c, a) in of.iter().zip(values) {
                add(*a, &self.u[*c as usize * self.width..][..self.width], out);
            }
        }
    }
}

struct WideTransposed<'a> {
    x: &'a Compressed,
    z: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl Kernel for WideTransposed<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        self.out.fill(0.0);
        for (j, z) in self.z.chunks_exact(self.width).enumerate() {
            let (of, values) = self.x.part(j);
            for (c, a) in of.iter().zip(values) {
                add(*a, z, &mut self.out[*c as usize * self.width..][..self.width]);
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
