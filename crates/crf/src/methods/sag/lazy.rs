//! A vector with sparse updates whose rows are brought up to date when they are read.

/// The vector `w = scale v`, with steps along a direction that changes in few rows at a time.
pub(super) struct Lazy {
    pub(super) v: Vec<f64>,
    /// `d`, the sum of the stored gradients.
    pub(super) direction: Vec<f64>,
    pub(super) scale: f64,
    /// The sum `sum s_t / (m_t scale_(t+1))` so far, and the part of it that each row has received.
    moved: f64,
    done: Vec<f64>,
}

impl Lazy {
    /// A vector with the rows of the emissions, and one more row for all transitions.
    pub(super) fn new(start: Vec<f64>, rows: usize) -> Self {
        let direction = vec![0.0; start.len()];
        Lazy { v: start, direction, scale: 1.0, moved: 0.0, done: vec![0.0; rows + 1] }
    }

    pub(super) fn transitions(&self) -> usize {
        self.done.len() - 1
    }

    pub(super) fn catch_up(&mut self, row: usize, range: std::ops::Range<usize>) {
        let missed = self.moved - self.done[row];
        if missed != 0.0 {
            let (v, d) = (&mut self.v[range.clone()], &self.direction[range]);
            v.iter_mut().zip(d).for_each(|(v, d)| *v -= missed * d);
            self.done[row] = self.moved;
        }
    }

    /// Copies the current weights of a row to `w`.
    pub(super) fn value(&self, row: usize, range: std::ops::Range<usize>, w: &mut [f64]) {
        let missed = self.moved - self.done[row];
        let (w, d) = (&mut w[range.clone()], &self.direction[range]);
        w.iter_mut().zip(d).for_each(|(w, d)| *w = self.scale * (*w - missed * d));
    }

    /// Takes the step `w <- (1 - step l2) w - step/m d`.
    pub(super) fn advance(&mut self, step: f64, l2: f64, m: usize) {
        self.scale *= 1.0 - step * l2;
        self.moved += step / (m as f64 * self.scale);
    }

    /// Resets the bookkeeping after `v` has been set to `w`.
    pub(super) fn rebase(&mut self) {
        self.scale = 1.0;
        self.moved = 0.0;
        self.done.fill(0.0);
    }
}
