//! Checks of an outcome on the original data, before it is returned.

use ndarray::{Array1, ArrayView1};

use super::program::LinearProgram;

impl LinearProgram {
    /// The dual value `y'b + min over the box of (c - A'y)'x`, and the size of its largest term. If a variable is
    /// unbounded, its reduced cost counts as 0 up to `slack` of the size of its column.
    pub(super) fn dual_value(
        &self,
        y: &[f64],
        cost: &[f64],
        slack: impl Fn(usize) -> f64,
    ) -> (f64, f64) {
        let (mut value, mut largest) = (0.0, 0.0_f64);
        let mut add = |term: f64| {
            value += term;
            largest = largest.max(term.abs());
        };
        y.iter().zip(&self.right).for_each(|(y, b)| add(y * b));
        for (j, column) in self.matrix.columns().into_iter().enumerate() {
            let reduced = cost[j] - column.iter().zip(y).map(|(a, y)| a * y).sum::<f64>();
            let end = if reduced > 0.0 { self.low[j] } else { self.high[j] };
            if end.is_finite() {
                add(reduced * end);
            } else if reduced.abs() > slack(j) {
                return (f64::NEG_INFINITY, 0.0);
            }
        }
        (value, largest)
    }

    /// The scale of right-hand sides and bounds. It is 1, or the largest of them if all are smaller.
    pub(super) fn unit(&self) -> f64 {
        let ends = self.right.iter().chain(&self.low).chain(&self.high);
        let top = ends.filter(|v| v.is_finite()).fold(0.0_f64, |m, v| m.max(v.abs()));
        if top > 0.0 { top.min(1.0) } else { 1.0 }
    }

    /// The scale of costs, which is the largest of them.
    pub(super) fn dearest(&self) -> f64 {
        let top = self.cost.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        if top > 0.0 { top } else { 1.0 }
    }

    /// The largest violation of a constraint, relative to its right-hand side and terms. It is infinite where a point
    /// is so large that they are not numbers.
    pub(super) fn violation(&self, x: &[f64]) -> f64 {
        let activity = self.matrix.dot(&ArrayView1::from(x));
        let unit = self.unit();
        if !activity.iter().chain(x).all(|v| v.is_finite()) {
            return f64::INFINITY;
        }
        let mut worst = 0.0_f64;
        for (i, a) in activity.iter().enumerate() {
            let short = self.right[i] - a;
            let short = if i < self.equations { short.abs() } else { short.max(0.0) };
            if short > 0.0 {
                let row = self.matrix.row(i);
                let top = row.iter().fold(0.0_f64, |m, a| m.max(a.abs()));
                let least = unit * if top > 0.0 { top.min(1.0) } else { 1.0 };
                let terms = row.iter().zip(x).fold(least, |m, (a, x)| m.max((a * x).abs()));
                worst = worst.max(short / terms.max(self.right[i].abs()));
            }
        }
        for (j, x) in x.iter().enumerate() {
            worst = worst.max((self.low[j] - x).max(x - self.high[j]).max(0.0) / x.abs().max(unit));
        }
        worst
    }

    /// The largest relative error of the optimality conditions: feasibility, reduced costs and gap. Errors of costs
    /// are divided by the largest cost. Errors of points are divided by 1, or by the largest right-hand side or bound
    /// if all of these are smaller. The gap is divided by the sum of both values and of the product of two numbers: the
    /// largest cost, and the largest right-hand side or bound, each of them at most 1. The error is infinite if the
    /// objective or a condition is not a finite number.
    ///
    /// # Panics
    /// If `x` does not have one entry per variable, or `y` not one per row.
    pub fn error(&self, x: &[f64], y: &[f64]) -> f64 {
        assert_eq!((x.len(), y.len()), (self.cost.len(), self.right.len()));
        let reduced = Array1::from(self.cost.clone()) - self.matrix.t().dot(&ArrayView1::from(y));
        let size = self.dearest();
        if !reduced.iter().all(|r| r.is_finite()) {
            return f64::INFINITY;
        }
        let mut dual = 0.0_f64;
        for (j, r) in reduced.iter().enumerate() {
            let end = if *r > 0.0 { self.low[j] } else { self.high[j] };
            if !end.is_finite() {
                dual = dual.max(r.abs() / size);
            }
        }
        for y in &y[self.equations..] {
            dual = dual.max(-y / size);
        }
        let primal: f64 = self.cost.iter().zip(x).map(|(c, x)| c * x).sum();
        let (bound, _) = self.dual_value(y, &self.cost, |_| f64::INFINITY);
        let least = size.min(1.0) * self.unit();
        let gap = (primal - bound).abs() / (least + primal.abs() + bound.abs());
        // The largest of several numbers leaves out one that is NaN.
        if gap.is_nan() { f64::INFINITY } else { self.violation(x).max(dual).max(gap) }
    }

    /// Whether the gap is at most so much of the largest term of either value. [`error`](LinearProgram::error) compares
    /// it with the size of the data too, beside which the values may be tiny.
    pub(super) fn closed(&self, x: &[f64], y: &[f64], tolerance: f64) -> bool {
        let terms = || self.cost.iter().zip(x).map(|(c, x)| c * x);
        let (bound, largest) = self.dual_value(y, &self.cost, |_| f64::INFINITY);
        let largest = terms().fold(largest, |m, term| m.max(term.abs()));
        (terms().sum::<f64>() - bound).abs() <= tolerance * largest
    }

    /// Whether a combination of the rows proves that there is no feasible point. Its value must be positive by more
    /// than the rounding error.
    pub(super) fn farkas(&self, y: &[f64], tolerance: f64) -> bool {
        let (value, largest) = self.dual_value(y, &vec![0.0; self.cost.len()], |_| f64::INFINITY);
        value > 100.0 * tolerance * largest && self.leak(y) <= tolerance
    }

    /// What a proof of infeasibility leaves in columns without a bound, relative to the largest multiplier and to the
    /// sizes of the rows and columns. It is infinite for a multiplier of the wrong sign.
    pub(super) fn leak(&self, y: &[f64]) -> f64 {
        if y[self.equations..].iter().any(|y| *y < 0.0) {
            return f64::INFINITY;
        }
        let (rows, columns) = self.sizes();
        let size = y.iter().zip(&rows).fold(0.0_f64, |m, (y, r)| m.max((y * r).abs()));
        let reduced = self.matrix.t().dot(&ArrayView1::from(y));
        let leaks = reduced.iter().enumerate().map(|(j, r)| {
            let end = if *r < 0.0 { self.low[j] } else { self.high[j] };
            if end.is_finite() || *r == 0.0 { 0.0 } else { (r / size / columns[j]).abs() }
        });
        leaks.fold(0.0, f64::max)
    }

    /// Whether the objective decreases for ever along a direction that the bounds allow. The direction must not
    /// violate any row, and the decrease must exceed the rounding error.
    pub(super) fn recedes(&self, ray: &[f64], tolerance: f64) -> bool {
        let falls: f64 = self.cost.iter().zip(ray).map(|(c, r)| c * r).sum();
        falls < -100.0 * tolerance * self.dearest() && self.departure(ray) <= tolerance
    }

    /// How far a direction leaves the rows, relative to its largest entry and to the sizes of the rows and columns.
    pub(super) fn departure(&self, ray: &[f64]) -> f64 {
        let (rows, columns) = self.sizes();
        let size = ray.iter().zip(&columns).fold(0.0_f64, |m, (r, c)| m.max((r * c).abs()));
        let activity = self.matrix.dot(&ArrayView1::from(ray));
        let leaves = activity.iter().enumerate().map(|(i, a)| {
            let short = if i < self.equations { a.abs() } else { (-a).max(0.0) };
            if short > 0.0 { short / size / rows[i] } else { 0.0 }
        });
        leaves.fold(0.0, f64::max)
    }

    /// The largest entry of each row, and of each column after the rows have been divided by their largest entries.
    /// It is 1 for rows and columns without entries.
    pub(super) fn sizes(&self) -> (Vec<f64>, Vec<f64>) {
        let top = |m: f64, a: &f64| m.max(a.abs());
        let or_one = |v: f64| if v > 0.0 { v } else { 1.0 };
        let rows = self.matrix.rows().into_iter().map(|row| or_one(row.iter().fold(0.0, top)));
        let rows: Vec<f64> = rows.collect();
        let mut columns = vec![0.0_f64; self.cost.len()];
        for ((i, j), a) in self.matrix.indexed_iter() {
            columns[j] = columns[j].max((a / rows[i]).abs());
        }
        columns.iter_mut().for_each(|c| *c = or_one(*c));
        (rows, columns)
    }
}
