//! What is checked on the original data before an outcome is returned.

use ndarray::{Array1, ArrayView1};

use super::LinearProgram;

impl LinearProgram {
    /// `y'b + min over the box of (c - A'y)'x`, and the size of its largest term. Reduced costs up to `slack` of their column count as 0
    /// where the box has no end.
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

    /// What a right-hand side or bound is compared with: 1, or the largest of them where all are smaller.
    pub(super) fn unit(&self) -> f64 {
        let ends = self.right.iter().chain(&self.low).chain(&self.high);
        let top = ends.filter(|v| v.is_finite()).fold(0.0_f64, |m, v| m.max(v.abs()));
        if top > 0.0 { top.min(1.0) } else { 1.0 }
    }

    /// What a cost is compared with: the largest.
    pub(super) fn dearest(&self) -> f64 {
        let top = self.cost.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        if top > 0.0 { top } else { 1.0 }
    }

    /// Largest violation of the constraints, relative to their right-hand sides and terms.
    pub(super) fn violation(&self, x: &[f64]) -> f64 {
        let activity = self.matrix.dot(&ArrayView1::from(x));
        let unit = self.unit();
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

    /// The largest relative error of the optimality conditions: of feasibility, of reduced costs, of the gap. Costs are compared with the
    /// largest of them; points with 1, or with the largest right-hand side or bound where all are smaller.
    ///
    /// # Panics
    /// Unless there is one entry of `x` a variable, and one of `y` a row.
    pub fn error(&self, x: &[f64], y: &[f64]) -> f64 {
        assert_eq!((x.len(), y.len()), (self.cost.len(), self.right.len()));
        let reduced = Array1::from(self.cost.clone()) - self.matrix.t().dot(&ArrayView1::from(y));
        let size = self.dearest();
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
        self.violation(x).max(dual).max(gap)
    }

    /// Whether a combination of the rows shows that there is no feasible point: its value is positive, and no rounding.
    pub(super) fn farkas(&self, y: &[f64], tolerance: f64) -> bool {
        if y[self.equations..].iter().any(|y| *y < 0.0) {
            return false;
        }
        let (rows, columns) = self.sizes();
        let size = y.iter().zip(&rows).fold(0.0_f64, |m, (y, r)| m.max((y * r).abs()));
        let slack = |j: usize| tolerance * size * columns[j];
        let (value, largest) = self.dual_value(y, &vec![0.0; self.cost.len()], slack);
        value > 100.0 * tolerance * largest
    }

    /// Whether the objective falls for ever along a direction that the bounds allow: it leaves no row, and no rounding is its fall.
    pub(super) fn recedes(&self, ray: &[f64], tolerance: f64) -> bool {
        let (rows, columns) = self.sizes();
        let size = ray.iter().zip(&columns).fold(0.0_f64, |m, (r, c)| m.max((r * c).abs()));
        let activity = self.matrix.dot(&ArrayView1::from(ray));
        let leaves = |(i, a): (usize, &f64)| {
            let short = if i < self.equations { a.abs() } else { -a };
            short > tolerance * size * rows[i]
        };
        let falls: f64 = self.cost.iter().zip(ray).map(|(c, r)| c * r).sum();
        falls < -100.0 * tolerance * self.dearest() && !activity.iter().enumerate().any(leaves)
    }

    /// The largest entry of each row, and of each column after rows are divided by theirs; 1 for those without entries.
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
