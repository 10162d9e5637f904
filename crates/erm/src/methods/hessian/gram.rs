//! The Hessian of some coordinates, as a matrix.

use fenchel_linalg::{Design, Gram};

use super::cost::is_dense;

/// What is added to each entry of the diagonal, as a fraction of it: the unit of a feature does not matter. A column of zeros, or of zero
/// weights, has this fraction of the largest entry instead (or this number), so that nothing divides by 0.
pub(crate) const RIDGE: f64 = 1e-12;

/// Rows, and their factors: `h_i`, divided by the probability of the row in a sample.
pub(crate) type Weighted = Vec<(usize, f64)>;

/// The coordinates of a Hessian: some weights, and the intercept last if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variables<'s> {
    /// Ascending.
    pub(crate) set: &'s [usize],
    pub(crate) intercept: bool,
    /// On the diagonal of the weights.
    pub(crate) l2: f64,
}

impl Variables<'_> {
    /// Their number.
    pub(crate) fn order(&self) -> usize {
        self.set.len() + usize::from(self.intercept)
    }

    /// `sum_i h_i a_i a_i' + l2 I`, row by row. `stored` entries of the rows belong to the set.
    pub(crate) fn gram<D: Design>(&self, design: &D, rows: &Weighted, stored: f64) -> Vec<f64> {
        let (m, w) = (self.order(), self.set.len());
        let place = self.places(design);
        let mut gram = if is_dense(rows.len(), m, stored) {
            self.of_dense_rows(design, &place, rows)
        } else {
            self.of_sparse_rows(design, &place, rows)
        };
        (0..w).for_each(|k| gram[k * m + k] += self.l2);
        let largest = (0..m).map(|k| gram[k * m + k]).fold(0.0, f64::max);
        let of_zeros = if largest > 0.0 { largest } else { 1.0 };
        // No more than of an entry of 1: larger systems would lose digits to it.
        for k in 0..m {
            let entry = &mut gram[k * m + k];
            *entry += RIDGE * f64::min(if *entry > 0.0 { *entry } else { of_zeros }, 1.0);
        }
        gram
    }

    /// The number of each column in the set; what is not in the set goes behind its last.
    fn places<D: Design>(&self, design: &D) -> Vec<u32> {
        let mut place = vec![self.set.len() as u32; design.columns()];
        for (k, &c) in self.set.iter().enumerate() {
            place[c] = k as u32;
        }
        place
    }

    fn of_dense_rows<D: Design>(&self, design: &D, place: &[u32], rows: &Weighted) -> Vec<f64> {
        let (m, w) = (self.order(), self.set.len());
        Gram::in_parts(m, rows.len(), |range, gram| {
            for &(i, h) in &rows[range] {
                let root = h.sqrt();
                let row = gram.next_row();
                if D::DENSE {
                    design.row_part(i, self.set, root, row);
                } else {
                    design.row_entries(i, |c, a| row[place[c] as usize] = root * a);
                }
                // Over what was not in the set, if there is no intercept: that counts nothing.
                row[w] = root;
            }
        })
    }

    fn of_sparse_rows<D: Design>(&self, design: &D, place: &[u32], rows: &Weighted) -> Vec<f64> {
        let (m, w) = (self.order(), self.set.len());
        let mut gram = vec![0.0; m * m];
        let (mut places, mut values) = (vec![0u32; m + 1], vec![0.0; m + 1]);
        for &(i, h) in rows {
            let mut length = 0;
            design.row_entries(i, |c, a| {
                (places[length], values[length]) = (place[c], a);
                length += usize::from(place[c] < w as u32 && a != 0.0);
            });
            if m > w {
                (places[length], values[length]) = (w as u32, 1.0);
                length += 1;
            }
            add_outer_product(&places[..length], &values[..length], h, m, &mut gram);
        }
        for k in 0..m {
            for l in 0..k {
                gram[l * m + k] = gram[k * m + l];
            }
        }
        gram
    }
}

/// Adds `h a a'` for a sparse `a` to the lower triangle, two rows of it at a time. Places ascend.
#[inline(always)]
fn add_outer_product(places: &[u32], values: &[f64], h: f64, m: usize, gram: &mut [f64]) {
    let values = &values[..places.len()];
    let mut e = 0;
    while e + 1 < places.len() {
        let (k, l) = (places[e] as usize, places[e + 1] as usize);
        let (upper, lower) = gram.split_at_mut(l * m);
        let (first, second) = (&mut upper[k * m..][..m], &mut lower[..m]);
        let (scaled, other) = (h * values[e], h * values[e + 1]);
        for t in 0..=e {
            let (c, a) = (places[t] as usize, values[t]);
            first[c] += scaled * a;
            second[c] += other * a;
        }
        second[l] += other * values[e + 1];
        e += 2;
    }
    if e < places.len() {
        let last = &mut gram[places[e] as usize * m..][..m];
        let scaled = h * values[e];
        for t in 0..=e {
            last[places[t] as usize] += scaled * values[t];
        }
    }
}
