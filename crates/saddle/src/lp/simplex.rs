//! The simplex method for variables with bounds.
//!
//! PDHG is slow if costs nearly cancel, or if rows and columns have very different sizes. A program with a few
//! hundred variables is then solved at a vertex. With one slack variable per row, `s = A x - b`, all conditions are
//! equations and bounds:
//!
//! ```text
//! min c'x,   A x - s = b,   l <= x <= u,   s = 0 (equations),  s >= 0 (inequalities)
//! ```
//!
//! A basis of `m` of the `d + m` variables solves the equations. The other variables are at a bound, or at 0 if they
//! have none. In the first phase, some basic variable violates its bounds, and the sum of the violations is
//! minimised. In the second phase, the costs are minimised. The first phase may end with a combination of the rows
//! that no point satisfies. The second ends with prices, or with an unbounded direction.
//!
//! Every decision compares a number with the sum of the sizes of its own terms, so that units do not matter. The
//! result is checked on the original data, as a result of PDHG is. Sources: Dantzig (1963); Harris (1973) for the
//! choice of the row; Bland (1977) for the prevention of cycles.

use ndarray::{Array1, Array2, ArrayViewMut1};

use super::program::{End, LinearProgram};

/// Number of pivots after which the inverse is recomputed.
const FRESH: usize = 30;

pub(super) struct Simplex {
    matrix: Array2<f64>,
    right: Array1<f64>,
    /// The costs of `x`, then of the slacks.
    cost: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    at: Vec<f64>,
    /// The variable of each row, and the row of each basic variable.
    basis: Vec<usize>,
    row: Vec<Option<usize>>,
    /// The inverse of the basic columns.
    inverse: Array2<f64>,
    /// Number of pivots since the inverse was computed.
    pivots: usize,
    care: f64,
}

/// The length of the entering variable's move.
enum Step {
    /// To its own other bound.
    Flip,
    /// To the point where the basic variable of this row reaches this bound.
    Pivot(usize, f64),
    Endless,
}

impl Simplex {
    /// The start: variables at their bounds nearest to 0, and the slacks as the basis.
    pub(super) fn new(
        program: &LinearProgram,
        (rows, columns): (&[f64], &[f64]),
        care: f64,
    ) -> Self {
        let (m, d) = program.matrix.dim();
        let matrix =
            Array2::from_shape_fn((m, d), |(i, j)| program.matrix[[i, j]] * rows[i] * columns[j]);
        let mut cost: Vec<f64> = program.cost.iter().zip(columns).map(|(c, s)| c * s).collect();
        let mut low: Vec<f64> = program.low.iter().zip(columns).map(|(l, s)| l / s).collect();
        let mut high: Vec<f64> = program.high.iter().zip(columns).map(|(u, s)| u / s).collect();
        cost.extend(vec![0.0; m]);
        low.extend(vec![0.0; m]);
        high.extend((0..m).map(|i| if i < program.equations { 0.0 } else { f64::INFINITY }));
        let nearest = |(l, u): (&f64, &f64)| match (l.is_finite(), u.is_finite()) {
            (true, true) => {
                if u.abs() < l.abs() {
                    *u
                } else {
                    *l
                }
            }
            (true, false) => *l,
            (false, true) => *u,
            (false, false) => 0.0,
        };
        let at = low.iter().zip(&high).map(nearest).collect();
        Simplex {
            right: program.right.iter().zip(rows).map(|(b, s)| b * s).collect(),
            matrix,
            cost,
            low,
            high,
            at,
            basis: (d..d + m).collect(),
            row: (0..d + m).map(|j| j.checked_sub(d)).collect(),
            inverse: -Array2::eye(m),
            pivots: 0,
            care,
        }
    }

    pub(super) fn run(mut self) -> Option<End> {
        let (m, d) = self.matrix.dim();
        // Steps in a row that moved nothing.
        let mut idle = 0;
        for _ in 0..20 * (m + d) + 200 {
            if self.pivots >= FRESH {
                self.invert()?;
            }
            let allowance = self.settle();
            let violated = self.violated(&allowance);
            let feasible = violated.iter().all(|v| *v == 0.0);
            let prices = self.prices(feasible, &violated);
            let bland = idle > m + d;
            let entering = self.entering(feasible, &prices, bland);
            let step = entering.map(|(j, sign)| {
                let (rates, sizes) = self.direction(j);
                let step = self.leaving((j, sign), (&rates, &sizes), &violated, &allowance, bland);
                (j, sign, rates, step)
            });
            match step {
                // Nothing is concluded from an inverse with the rounding of many pivots.
                None | Some((.., Step::Endless)) if self.pivots > 0 => self.invert()?,
                None => return self.end(feasible, &violated),
                Some((j, sign, _, Step::Endless)) => {
                    return if feasible { self.ray(j, sign) } else { None };
                }
                Some((j, sign, _, Step::Flip)) => {
                    self.at[j] = if sign > 0.0 { self.high[j] } else { self.low[j] };
                    idle = 0;
                }
                Some((j, _, rates, Step::Pivot(row, bound))) => {
                    let still = (self.at[self.basis[row]] - bound).abs() <= allowance[row];
                    idle = if still { idle + 1 } else { 0 };
                    self.pivot(j, row, bound, &rates);
                }
            }
        }
        None
    }

    fn column(&self, j: usize) -> Array1<f64> {
        let (m, d) = self.matrix.dim();
        if j < d {
            return self.matrix.column(j).to_owned();
        }
        let mut column = Array1::zeros(m);
        column[j - d] = -1.0;
        column
    }

    fn block(&self) -> Array2<f64> {
        let m = self.basis.len();
        let mut block = Array2::zeros((m, m));
        for (k, j) in self.basis.iter().enumerate() {
            block.column_mut(k).assign(&self.column(*j));
        }
        block
    }

    /// Inverts the matrix of basic columns, by elimination with the largest pivots. Returns `None` if it is singular.
    fn invert(&mut self) -> Option<()> {
        let m = self.basis.len();
        let mut block = self.block();
        let mut inverse: Array2<f64> = Array2::eye(m);
        for k in 0..m {
            let larger = |best: usize, i: usize| {
                if block[[i, k]].abs() > block[[best, k]].abs() { i } else { best }
            };
            let best = (k..m).fold(k, larger);
            let pivot = block[[best, k]];
            if !(pivot.abs() > 1e-300) {
                return None;
            }
            for matrix in [&mut block, &mut inverse] {
                for c in 0..m {
                    matrix.swap([k, c], [best, c]);
                }
                matrix.row_mut(k).iter_mut().for_each(|v| *v /= pivot);
            }
            let (row, image) = (block.row(k).to_owned(), inverse.row(k).to_owned());
            for i in (0..m).filter(|i| *i != k) {
                let factor = block[[i, k]];
                if factor != 0.0 {
                    subtract(block.row_mut(i), factor, &row, self.care);
                    subtract(inverse.row_mut(i), factor, &image, self.care);
                }
            }
        }
        self.inverse = inverse;
        self.pivots = 0;
        Some(())
    }

    /// `b - A x` for the variables that are not basic, and the sizes of its terms. The slacks of the rows are 0.
    fn rest(&self) -> (Array1<f64>, Array1<f64>) {
        let d = self.matrix.ncols();
        let nonbasic = |j: usize| if self.row[j].is_none() { self.at[j] } else { 0.0 };
        let x: Array1<f64> = (0..d).map(nonbasic).collect();
        let (sums, sizes) = product(&self.matrix, &x, &x);
        (&self.right - &sums, self.right.mapv(f64::abs) + sizes)
    }

    /// Computes the basic variables, and bounds of their rounding errors.
    fn settle(&mut self) -> Array1<f64> {
        let (rest, sizes) = self.rest();
        let (values, mut allowance) = product(&self.inverse, &rest, &sizes);
        for (i, j) in self.basis.iter().enumerate() {
            self.at[*j] = values[i];
            let ends =
                [self.low[*j], self.high[*j]].map(|v| if v.is_finite() { v.abs() } else { 0.0 });
            allowance[i] = self.care * allowance[i].max(ends[0]).max(ends[1]);
        }
        allowance
    }

    /// The gradient of the sum of the violations: -1 for basic variables below their bounds, 1 for those above, else
    /// 0.
    fn violated(&self, allowance: &Array1<f64>) -> Array1<f64> {
        let side = |(i, j): (usize, &usize)| {
            if self.at[*j] < self.low[*j] - allowance[i] {
                -1.0
            } else if self.at[*j] > self.high[*j] + allowance[i] {
                1.0
            } else {
                0.0
            }
        };
        self.basis.iter().enumerate().map(side).collect()
    }

    /// The costs of the basic variables in this phase.
    fn costs(&self, feasible: bool, violated: &Array1<f64>) -> Array1<f64> {
        if feasible { self.basis.iter().map(|j| self.cost[*j]).collect() } else { violated.clone() }
    }

    /// The prices of the rows, and the sizes of their terms.
    fn prices(&self, feasible: bool, violated: &Array1<f64>) -> (Array1<f64>, Array1<f64>) {
        let costs = self.costs(feasible, violated);
        product_of_columns(&self.inverse, &costs, &costs)
    }

    /// The variable with the best reduced cost, and its direction. With Bland's rule, it is the first variable that
    /// improves.
    fn entering(
        &self,
        feasible: bool,
        (prices, sizes): &(Array1<f64>, Array1<f64>),
        bland: bool,
    ) -> Option<(usize, f64)> {
        let d = self.matrix.ncols();
        let (earned, earned_sizes) = product_of_columns(&self.matrix, prices, sizes);
        let mut best: Option<(usize, f64)> = None;
        for j in (0..self.at.len()).filter(|j| self.row[*j].is_none()) {
            let cost = if feasible { self.cost[j] } else { 0.0 };
            let (reduced, size) = if j < d {
                (cost - earned[j], cost.abs() + earned_sizes[j])
            } else {
                (prices[j - d], sizes[j - d])
            };
            let end = if reduced < 0.0 { self.high[j] } else { self.low[j] };
            if !(reduced.abs() > self.care * size) || self.at[j] == end {
                continue;
            }
            if best.is_none_or(|(_, most)| reduced.abs() > most.abs()) {
                best = Some((j, reduced));
                if bland {
                    break;
                }
            }
        }
        best.map(|(j, reduced)| (j, -reduced.signum()))
    }

    /// The decrease of the basic variables when this variable increases by 1, and the sizes of the terms.
    fn direction(&self, j: usize) -> (Array1<f64>, Array1<f64>) {
        let column = self.column(j);
        product(&self.inverse, &column, &column)
    }

    /// The event that ends the move. Among rows that end it at about the same length, it chooses the one with the
    /// largest pivot.
    fn leaving(
        &self,
        (entering, sign): (usize, f64),
        (rates, sizes): (&Array1<f64>, &Array1<f64>),
        violated: &Array1<f64>,
        allowance: &Array1<f64>,
        bland: bool,
    ) -> Step {
        // A pivot that is small beside the others may be left over from them.
        let top = rates.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
        // (row, bound, distance, speed)
        let ends = |i: usize| {
            let (j, speed) = (self.basis[i], -sign * rates[i]);
            if !(speed.abs() > self.care * sizes[i].max(top)) {
                return None;
            }
            let bound = match (violated[i], speed > 0.0) {
                (0.0, true) => self.high[j],
                (0.0, false) => self.low[j],
                // A violated bound is an end once it is reached.
                (side, true) if side < 0.0 => self.low[j],
                (side, false) if side > 0.0 => self.high[j],
                _ => return None,
            };
            let distance = ((bound - self.at[j]) * speed.signum()).max(0.0);
            bound.is_finite().then_some((i, bound, distance, speed.abs()))
        };
        let ends: Vec<(usize, f64, f64, f64)> = (0..rates.len()).filter_map(ends).collect();
        let slack = |i: usize| if bland { 0.0 } else { allowance[i] };
        let first = ends.iter().map(|(i, _, distance, speed)| (distance + slack(*i)) / speed);
        let first = first.fold(f64::INFINITY, f64::min);
        let near = ends.iter().filter(|(_, _, distance, speed)| distance / speed <= first);
        let chosen = if bland {
            near.min_by_key(|end| self.basis[end.0])
        } else {
            near.max_by(|a, b| a.3.total_cmp(&b.3))
        };
        let span = self.high[entering] - self.low[entering];
        match chosen {
            Some((_, _, distance, speed)) if span <= distance / speed => Step::Flip,
            Some((row, bound, ..)) => Step::Pivot(*row, *bound),
            None if span.is_finite() => Step::Flip,
            None => Step::Endless,
        }
    }

    fn pivot(&mut self, entering: usize, row: usize, bound: f64, rates: &Array1<f64>) {
        let leaving = std::mem::replace(&mut self.basis[row], entering);
        self.at[leaving] = bound;
        (self.row[leaving], self.row[entering]) = (None, Some(row));
        let mut pivoted = self.inverse.row(row).to_owned();
        pivoted /= rates[row];
        for (i, rate) in rates.iter().enumerate().filter(|(i, rate)| *i != row && **rate != 0.0) {
            subtract(self.inverse.row_mut(i), *rate, &pivoted, self.care);
        }
        self.inverse.row_mut(row).assign(&pivoted);
        self.pivots += 1;
    }

    /// The vertex, after one correction by the residual of the equations.
    fn vertex(&self, block: &Array2<f64>) -> Vec<f64> {
        let (rest, _) = self.rest();
        let mut values = self.inverse.dot(&rest);
        values += &self.inverse.dot(&(&rest - &block.dot(&values)));
        let mut x = self.at[..self.matrix.ncols()].to_vec();
        for (j, value) in self.basis.iter().zip(values) {
            if let Some(x) = x.get_mut(*j) {
                *x = value;
            }
        }
        x
    }

    fn end(&self, feasible: bool, violated: &Array1<f64>) -> Option<End> {
        let (block, costs) = (self.block(), self.costs(feasible, violated));
        let mut y = self.inverse.t().dot(&costs);
        y += &self.inverse.t().dot(&(&costs - &block.t().dot(&y)));
        let y = y.to_vec();
        Some(if feasible {
            End::Optimal { x: self.vertex(&block), y }
        } else {
            End::Infeasible { y }
        })
    }

    /// The unbounded direction in which this variable moves. Movements of basic variables that are only rounding
    /// errors are set to 0.
    fn ray(&self, entering: usize, sign: f64) -> Option<End> {
        let (block, column) = (self.block(), self.column(entering));
        let (mut rates, sizes) = self.direction(entering);
        rates += &self.inverse.dot(&(&column - &block.dot(&rates)));
        let d = self.matrix.ncols();
        let mut ray = vec![0.0; d];
        if let Some(own) = ray.get_mut(entering) {
            *own = sign;
        }
        for (i, j) in self.basis.iter().enumerate().filter(|(_, j)| **j < d) {
            if rates[i].abs() > self.care * sizes[i] {
                ray[*j] = -sign * rates[i];
            }
        }
        Some(End::Unbounded { x: self.vertex(&block), ray })
    }
}

/// `A v`, and the sizes of its terms: `|A| |s|`.
fn product(a: &Array2<f64>, v: &Array1<f64>, s: &Array1<f64>) -> (Array1<f64>, Array1<f64>) {
    let (mut sums, mut sizes) = (Array1::zeros(a.nrows()), Array1::zeros(a.nrows()));
    for ((row, sum), size) in a.outer_iter().zip(&mut sums).zip(&mut sizes) {
        // Lanes, since additions of one sum wait for each other.
        let (mut lanes, mut terms) = ([0.0; 8], [0.0; 8]);
        let row = row.to_slice().unwrap_or_default();
        let (v, s) = (v.as_slice().unwrap_or_default(), s.as_slice().unwrap_or_default());
        for ((a, v), s) in row.chunks(8).zip(v.chunks(8)).zip(s.chunks(8)) {
            for (k, ((a, v), s)) in a.iter().zip(v).zip(s).enumerate() {
                lanes[k] += a * v;
                terms[k] += (a * s).abs();
            }
        }
        *sum = lanes.iter().sum();
        *size = terms.iter().sum();
    }
    (sums, sizes)
}

/// `A'v`, and the sizes of its terms: `|A|'|s|`.
fn product_of_columns(
    a: &Array2<f64>,
    v: &Array1<f64>,
    s: &Array1<f64>,
) -> (Array1<f64>, Array1<f64>) {
    let (mut sums, mut sizes) = (Array1::zeros(a.ncols()), Array1::zeros(a.ncols()));
    for ((row, v), s) in a.outer_iter().zip(v).zip(s).filter(|((_, v), s)| **v != 0.0 || **s != 0.0)
    {
        for ((a, sum), size) in row.iter().zip(&mut sums).zip(&mut sizes) {
            *sum += a * v;
            *size += (a * s).abs();
        }
    }
    (sums, sizes)
}

/// Computes `to -= factor from`. A difference that is only a rounding error becomes 0, since it would otherwise be
/// taken for a pivot later.
fn subtract(to: ArrayViewMut1<f64>, factor: f64, from: &Array1<f64>, care: f64) {
    for (to, from) in to.into_iter().zip(from) {
        let term = factor * from;
        let difference = *to - term;
        *to = if difference.abs() <= 0.1 * care * term.abs() { 0.0 } else { difference };
    }
}
