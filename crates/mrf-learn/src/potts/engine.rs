//! The data of a pseudo-likelihood by columns, and the innermost loops over one column.
//!
//! For column `i`, all its couplings are gathered into one table. The table has one row of `W` numbers per letter of
//! every other column, and one row for the field. The logits of a sequence are a sum of table rows, one per column; the
//! gradient adds the residual to the same rows. A table of 156 columns, 21 letters and rows of 24 numbers takes 314 KB.
//! It stays in the second-level cache while all sequences are processed.

use fenchel_linalg::{lanes, parallel};

use super::alignment::Alignment;
use super::model::PottsModel;

/// Lanes of a row: a multiple of 8 that holds every letter.
pub(super) fn lanes_for(states: usize) -> usize {
    match states {
        0..=8 => 8,
        9..=24 => 24,
        _ => 32,
    }
}

/// An alignment in the form that the loops use.
pub(super) struct Cells {
    pub(super) sequences: usize,
    pub(super) columns: usize,
    pub(super) states: usize,
    /// The table row of every cell, in the shape `sequences x columns`. A missing cell points to the last row, which is
    /// 0.
    pub(super) rows: Vec<u32>,
    pub(super) weights: Vec<f32>,
    /// The same weights in double precision, for certificates.
    pub(super) exact: Vec<f64>,
    /// Columns of a sequence that are not missing.
    pub(super) present: Vec<u32>,
}

impl Cells {
    /// With weights in units of `unit`.
    pub(super) fn new(alignment: &Alignment, unit: f64) -> Self {
        let (sequences, columns) = alignment.codes().dim();
        let states = alignment.states();
        let missing = (columns * states) as u32;
        let mut rows = Vec::with_capacity(sequences * columns);
        let mut present = Vec::with_capacity(sequences);
        for sequence in alignment.codes().rows() {
            let mut here = 0;
            for (j, &code) in sequence.iter().enumerate() {
                let known = usize::from(code) < states;
                here += u32::from(known);
                rows.push(if known { (j * states) as u32 + u32::from(code) } else { missing });
            }
            present.push(here);
        }
        let exact: Vec<f64> = alignment.weights().iter().map(|w| w / unit).collect();
        let weights = exact.iter().map(|&w| w as f32).collect();
        Cells { sequences, columns, states, rows, weights, exact, present }
    }

    /// Rows of a table, the one of missing cells included.
    pub(super) fn table_rows(&self) -> usize {
        self.columns * self.states + 1
    }

    /// The letter of a cell, or none.
    #[inline(always)]
    pub(super) fn letter(&self, n: usize, i: usize) -> Option<usize> {
        let row = self.rows[n * self.columns + i] as usize;
        let base = i * self.states;
        (row < self.columns * self.states).then(|| row - base)
    }
}

/// Gathers the table of column `i`: rows of other columns, and the field in the first row of its own.
#[inline(always)]
pub(super) fn gather<T: From<f32>>(model: &PottsModel, i: usize, width: usize, table: &mut [T]) {
    let (columns, q) = (model.columns(), model.states());
    table.fill_with(|| T::from(0.0));
    let copy = |to: &mut [T], from: &[f32]| {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = T::from(from));
    };
    for j in 0..columns {
        if j == i {
            copy(&mut table[i * q * width..][..q], &model.fields()[i * q..(i + 1) * q]);
            continue;
        }
        let block = model.coupling(i.min(j), i.max(j));
        for b in 0..q {
            let row = &mut table[(j * q + b) * width..][..q];
            if j < i {
                copy(row, &block[b * q..(b + 1) * q]);
            } else {
                for (a, value) in row.iter_mut().enumerate() {
                    *value = T::from(block[a * q + b]);
                }
            }
        }
    }
}

/// The sum of the rows of a sequence: its logits of the letters of column `i`.
#[inline(always)]
pub(super) fn logits<const W: usize>(
    table: &[f32],
    rows: &[u32],
    i: usize,
    own: usize,
) -> [f32; W] {
    let mut even = row::<W>(table, own);
    let mut odd = [0.0; W];
    let add = |sum: &mut [f32; W], at: u32| {
        let row = row::<W>(table, at as usize);
        for l in 0..W {
            sum[l] += row[l];
        }
    };
    for part in [&rows[..i], &rows[i + 1..]] {
        let (pairs, rest) = part.as_chunks::<2>();
        for &[a, b] in pairs {
            add(&mut even, a);
            add(&mut odd, b);
        }
        for &a in rest {
            add(&mut even, a);
        }
    }
    for l in 0..W {
        even[l] += odd[l];
    }
    even
}

#[inline(always)]
fn row<const W: usize>(table: &[f32], at: usize) -> [f32; W] {
    let slice = &table[at * W..at * W + W];
    let mut out = [0.0; W];
    out.copy_from_slice(slice);
    out
}

/// Adds a vector to the rows of a sequence.
#[inline(always)]
pub(super) fn scatter<const W: usize>(table: &mut [f32], rows: &[u32], i: usize, add: &[f32; W]) {
    for part in [&rows[..i], &rows[i + 1..]] {
        for &at in part {
            let row = &mut table[at as usize * W..at as usize * W + W];
            for l in 0..W {
                row[l] += add[l];
            }
        }
    }
}

/// Logits to probabilities, in place; lanes beyond `q` become 0. Returns the logarithm of the sum.
#[inline(always)]
pub(super) fn softmax<const W: usize>(z: &mut [f32; W], q: usize) -> f32 {
    let mut largest = f32::NEG_INFINITY;
    for l in 0..W {
        let value = if l < q { z[l] } else { f32::NEG_INFINITY };
        largest = if value > largest { value } else { largest };
    }
    let mut sum = 0.0;
    for l in 0..W {
        let e = lanes::exp_f32(z[l] - largest);
        z[l] = if l < q { e } else { 0.0 };
    }
    for l in 0..W {
        sum += z[l];
    }
    let scale = 1.0 / sum;
    for l in 0..W {
        z[l] *= scale;
    }
    largest + lanes::ln_f32(sum)
}

/// The sums of one pass over column `i`.
pub(super) struct Share {
    /// `sum_n w_n (-log P(x_ni | rest))`.
    pub(super) loss: f64,
    /// `sum_n w_n (e_x - a_n)`, by rows of the table, where `a_n` are the conditional probabilities.
    pub(super) sums: Vec<f64>,
}

/// Sequences between two additions from single into double precision.
const BLOCK: usize = 256;

/// The loss of column `i`, and if asked for the sums of the residuals.
pub(super) struct Pass<'a, const W: usize> {
    pub(super) cells: &'a Cells,
    pub(super) i: usize,
    pub(super) table: &'a [f32],
    pub(super) gradient: bool,
}

impl<const W: usize> lanes::Kernel for Pass<'_, W> {
    type Output = Share;

    #[inline(always)]
    fn compute(self) -> Share {
        let Pass { cells, i, table, gradient } = self;
        let (q, columns) = (cells.states, cells.columns);
        let own = i * q;
        let size = if gradient { cells.table_rows() * W } else { 0 };
        let mut sums = vec![0.0_f64; size];
        let mut part = vec![0.0_f32; size];
        let mut loss = 0.0_f64;
        for n in 0..cells.sequences {
            let rows = &cells.rows[n * columns..(n + 1) * columns];
            if let Some(letter) = cells.letter(n, i) {
                let weight = cells.weights[n];
                let mut z = logits::<W>(table, rows, i, own);
                let own_logit = z[letter];
                let log_sum = softmax::<W>(&mut z, q);
                loss += f64::from(weight) * f64::from(log_sum - own_logit);
                if gradient {
                    let mut add = [0.0; W];
                    for l in 0..W {
                        add[l] = -weight * z[l];
                    }
                    add[letter] += weight;
                    scatter::<W>(&mut part, rows, i, &add);
                    let field = &mut part[own * W..own * W + W];
                    for l in 0..W {
                        field[l] += add[l];
                    }
                }
            }
            if gradient && ((n + 1) % BLOCK == 0 || n + 1 == cells.sequences) {
                for k in 0..size {
                    sums[k] += f64::from(part[k]);
                    part[k] = 0.0;
                }
            }
        }
        Share { loss, sums }
    }
}

/// Runs a pass with as many lanes as the letters need.
pub(super) fn pass(cells: &Cells, i: usize, table: &[f32], gradient: bool) -> Share {
    match lanes_for(cells.states) {
        8 => lanes::run(Pass::<8> { cells, i, table, gradient }),
        24 => lanes::run(Pass::<24> { cells, i, table, gradient }),
        _ => lanes::run(Pass::<32> { cells, i, table, gradient }),
    }
}

/// Columns that are worked on at the same time; results do not depend on the number of threads.
pub(super) const GROUP: usize = 8;

/// The sums over all columns: the loss and, if requested, `sum_n w_n (e_x - a)` for every field and coupling,
/// fields first.
pub(super) struct Whole {
    pub(super) loss: f64,
    pub(super) sums: Vec<f64>,
}

/// The sums in single precision, as fast as an iteration needs them. Certificates take those of
/// [`prove`](super::proof::prove).
pub(super) fn evaluate(cells: &Cells, model: &PottsModel, gradient: bool) -> Whole {
    let (columns, q) = (cells.columns, cells.states);
    let width = lanes_for(q);
    let mut loss = 0.0;
    let mut sums = vec![0.0; if gradient { model.parameters() } else { 0 }];
    let all: Vec<usize> = (0..columns).collect();
    for group in all.chunks(GROUP) {
        let shares = parallel::map(0..group.len(), |at| {
            let i = group[at];
            let mut table = vec![0.0_f32; cells.table_rows() * width];
            gather(model, i, width, &mut table);
            pass(cells, i, &table, gradient)
        });
        for (&i, share) in group.iter().zip(&shares) {
            loss += share.loss;
            if gradient {
                add_share(model, i, width, &share.sums, &mut sums);
            }
        }
    }
    Whole { loss, sums }
}

/// Adds the sums of a column's table to those of all parameters.
pub(super) fn add_share(
    model: &PottsModel,
    i: usize,
    width: usize,
    share: &[f64],
    sums: &mut [f64],
) {
    let (columns, q) = (model.columns(), model.states());
    for j in 0..columns {
        if j == i {
            for a in 0..q {
                sums[i * q + a] += share[i * q * width + a];
            }
            continue;
        }
        let at = columns * q + model.index_of(i.min(j), i.max(j));
        let block = &mut sums[at..at + q * q];
        for b in 0..q {
            let row = &share[(j * q + b) * width..][..q];
            for (a, value) in row.iter().enumerate() {
                block[if j < i { b * q + a } else { a * q + b }] += value;
            }
        }
    }
}
