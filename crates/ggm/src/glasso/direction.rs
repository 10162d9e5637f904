//! Directions of [QUIC](super::quic): sparse symmetric matrices, and their products.

use fenchel_linalg::{lanes, parallel};

/// Multiplications that a thread does at a time.
const WORK_PER_PART: usize = 1 << 21;

/// The free entries of the upper triangle by rows, and the direction there.
#[derive(Clone)]
pub(super) struct Direction {
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
    /// Where the rows of both triangles begin, and of each entry its column and its place in `values`.
    whole: Vec<usize>,
    places: Vec<(u32, u32)>,
}

impl Direction {
    /// The direction 0 with these free entries.
    pub(super) fn new(starts: Vec<usize>, columns: Vec<u32>) -> Direction {
        let k = starts.len() - 1;
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); k];
        for i in 0..k {
            for at in starts[i]..starts[i + 1] {
                let j = columns[at] as usize;
                rows[i].push((j as u32, at as u32));
                if i != j {
                    rows[j].push((i as u32, at as u32));
                }
            }
        }
        let mut whole = vec![0];
        whole.extend(rows.iter().scan(0, |sum, row| {
            *sum += row.len();
            Some(*sum)
        }));
        let values = vec![0.0; columns.len()];
        Direction { starts, columns, values, whole, places: rows.concat() }
    }

    /// Whether there are so many entries that the products `D M` are worth their memory.
    pub(super) fn dense(&self) -> bool {
        self.columns.len() > 4 * (self.starts.len() - 1)
    }

    /// Rows that a thread takes at a time, if each entry takes as many multiplications as the matrix has rows.
    pub(super) fn rows_together(&self) -> usize {
        let k = self.starts.len() - 1;
        (WORK_PER_PART / self.places.len().max(1)).clamp(1, k.max(1))
    }

    /// `D M` by rows, for symmetric `M`.
    pub(super) fn times(&self, m: &[f64], out: &mut [f64]) {
        let (k, rows) = (self.starts.len() - 1, self.rows_together());
        parallel::map(out.chunks_mut(rows * k).enumerate(), |(part, out)| {
            lanes::run(Products { k, m, direction: self, first: part * rows, out });
        });
    }
}

/// Some rows of `D M`.
struct Products<'a> {
    k: usize,
    m: &'a [f64],
    direction: &'a Direction,
    first: usize,
    out: &'a mut [f64],
}

impl lanes::Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Products { k, m, direction, first, out } = self;
        let Direction { values, whole, places, .. } = direction;
        for (i, out) in out.chunks_exact_mut(k).enumerate() {
            out.fill(0.0);
            for &(j, at) in &places[whole[first + i]..whole[first + i + 1]] {
                let by = values[at as usize];
                if by != 0.0 {
                    let row = &m[j as usize * k..][..k];
                    for (p, v) in out.iter_mut().zip(row) {
                        *p += by * v;
                    }
                }
            }
        }
    }
}

/// Adds the contribution of an entry of `D`, and of its mirror entry, to `D M`.
#[inline(always)]
pub(super) fn add_entry(products: &mut [f64], m: &[f64], k: usize, i: usize, j: usize, by: f64) {
    if by == 0.0 {
        return;
    }
    let (mi, mj) = (&m[i * k..][..k], &m[j * k..][..k]);
    for (p, v) in products[i * k..][..k].iter_mut().zip(mj) {
        *p += by * v;
    }
    if i != j {
        for (p, v) in products[j * k..][..k].iter_mut().zip(mi) {
            *p += by * v;
        }
    }
}

/// `v = D w` for the symmetric `D` of which the upper triangle is stored.
#[inline(always)]
pub(super) fn direction_times(
    k: usize,
    starts: &[usize],
    columns: &[u32],
    values: &[f64],
    w: &[f64],
    v: &mut [f64],
) {
    v[..k].fill(0.0);
    for l in 0..k {
        let (from, to) = (starts[l], starts[l + 1]);
        let mut sum = 0.0;
        let own = w[l];
        for at in from..to {
            let (m, d) = (columns[at] as usize, values[at]);
            sum += d * w[m];
            if m != l {
                v[m] += d * own;
            }
        }
        v[l] += sum;
    }
}
