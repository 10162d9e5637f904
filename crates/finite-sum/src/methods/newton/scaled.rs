//! The columns of a working set, weighted for one quadratic model.

use fenchel_linalg::{Columns, lanes};

/// `H^(1/2) A_W`: with `r = H^(1/2) A d` kept, coordinate descent needs one inner product and one addition a
/// coordinate, and of the rows one number each.
pub(super) struct Scaled<'m> {
    columns: &'m Columns,
    set: &'m [usize],
    offsets: Vec<usize>,
    values: Vec<f64>,
    /// `h_i^(1/2)`
    pub(super) roots: Vec<f64>,
}

impl<'m> Scaled<'m> {
    /// `room` is where the values go.
    pub(super) fn new(
        columns: &'m Columns,
        set: &'m [usize],
        h: &[f64],
        mut room: Vec<f64>,
    ) -> Self {
        let roots: Vec<f64> = h.iter().map(|h| h.sqrt()).collect();
        let mut offsets = vec![0];
        let stored = set.iter().map(|&c| columns.stored(c)).sum();
        room.clear();
        room.reserve(stored);
        let mut values = room;
        for &c in set {
            let scaled = |(&i, &a): (&u32, &f64)| roots[i as usize] * a;
            match columns.column(c) {
                (Some(rows), column) => values.extend(rows.iter().zip(column).map(scaled)),
                (None, column) => values.extend(roots.iter().zip(column).map(|(h, a)| h * a)),
            }
            offsets.push(values.len());
        }
        Scaled { columns, set, offsets, values, roots }
    }

    /// Hands the memory back, for the next model.
    pub(super) fn into_room(self) -> Vec<f64> {
        self.values
    }

    /// `A d + d_b` from `r`; `None` where a second derivative is too small to divide by its root.
    pub(super) fn direction(&self, r: &[f64]) -> Option<Vec<f64>> {
        let least = self.roots.iter().copied().fold(f64::INFINITY, f64::min);
        let margins = || r.iter().zip(&self.roots).map(|(r, root)| r / root).collect();
        (least > 1e-100).then(margins)
    }

    fn column(&self, k: usize) -> (Option<&[u32]>, &[f64]) {
        (self.columns.column(self.set[k]).0, &self.values[self.offsets[k]..self.offsets[k + 1]])
    }

    /// Entries of column `k` of the set.
    pub(super) fn stored(&self, k: usize) -> usize {
        self.offsets[k + 1] - self.offsets[k]
    }

    /// `||A_k||^2`
    pub(super) fn norm_squared(&self, k: usize) -> f64 {
        let (_, values) = self.column(k);
        lanes::dot(values, values)
    }

    /// `A_k . r`, in four sums.
    #[inline]
    pub(super) fn dot(&self, k: usize, r: &[f64]) -> f64 {
        let (rows, values) = self.column(k);
        let Some(rows) = rows else { return lanes::dot(values, r) };
        let (rows, last_rows) = rows.as_chunks::<4>();
        let (values, last) = values.as_chunks::<4>();
        let mut sums = [0.0; 4];
        for (rows, values) in rows.iter().zip(values) {
            for l in 0..4 {
                sums[l] += values[l] * r[rows[l] as usize];
            }
        }
        let rest: f64 = last_rows.iter().zip(last).map(|(&i, a)| a * r[i as usize]).sum();
        (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
    }

    /// `r += scale * A_k`
    #[inline]
    pub(super) fn axpy(&self, k: usize, scale: f64, r: &mut [f64]) {
        match self.column(k) {
            (Some(rows), values) => {
                for (&i, a) in rows.iter().zip(values) {
                    r[i as usize] += scale * a;
                }
            }
            (None, values) => r.iter_mut().zip(values).for_each(|(r, a)| *r += scale * a),
        }
    }
}
