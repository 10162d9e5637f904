//! Directions of [QUIC](super::quic): sparse symmetric matrices, and their products.

use fenchel_linalg::lanes;

/// The free entries of the upper triangle by rows, and the direction there.
pub(super) struct Direction {
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
}

/// `D W` by rows.
pub(super) struct Products<'a> {
    pub(super) k: usize,
    pub(super) m: &'a [f64],
    pub(super) direction: &'a Direction,
    pub(super) out: &'a mut [f64],
}

impl lanes::Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Products { k, m, direction, out } = self;
        out.fill(0.0);
        for i in 0..k {
            for at in direction.starts[i]..direction.starts[i + 1] {
                add_entry(out, m, k, i, direction.columns[at] as usize, direction.values[at]);
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
