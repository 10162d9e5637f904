//! Small and middling linear programs by restarted PDHG.
//!
//! ```text
//! min c'x   subject to   A x = b (the first rows),  G x >= h (the rest),  l <= x <= u
//! ```
//!
//! As a saddle point: `min_{l <= x <= u} max_y c'x + y'(b - A x)`, with `y >= 0` for inequalities. The matrix is scaled (Ruiz, then
//! Pock and Chambolle). What comes back is an [`LpOutcome`], and each is checked on the original data before it is returned:
//!
//! | outcome | what is checked |
//! |---|---|
//! | `Optimal` | feasibility of `x`, of the reduced costs, and the gap between `c'x` and the dual value, all relative to the data |
//! | `Infeasible` | a combination `y` of the constraints that no point in the box satisfies: its least violation is positive |
//! | `Unbounded` | a direction `r` of the recession cone with `c'r < 0`, and a feasible point |
//! | `Undecided` | nothing: limits came first |
//!
//! Rays come from two auxiliary programs that always have a solution: least violation in the box, and steepest bounded
//! recession. For large or degenerate programs an interior point or simplex solver (HiGHS) is the better tool.

mod rays;
mod scaled;

use fenchel_linalg::Invalid;
use fenchel_optim::{Report, Status};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use self::rays::{infeasible, unbounded};
use self::scaled::solve;
use crate::Error;

/// A linear program, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearProgram {
    cost: Vec<f64>,
    matrix: Array2<f64>,
    right: Vec<f64>,
    /// The first rows are equations.
    equations: usize,
    low: Vec<f64>,
    high: Vec<f64>,
}

/// What is known of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LpOutcome {
    /// A solution, with multipliers of the constraints.
    Optimal {
        /// The point.
        x: Vec<f64>,
        /// One multiplier a row, not negative for inequalities.
        y: Vec<f64>,
        /// `c'x`.
        objective: f64,
    },
    /// No point satisfies the constraints.
    Infeasible {
        /// Multipliers of a combination of the rows that no point in the box satisfies.
        ray: Vec<f64>,
    },
    /// The objective has no lower bound.
    Unbounded {
        /// A feasible point.
        x: Vec<f64>,
        /// A direction in which the objective falls for ever.
        ray: Vec<f64>,
    },
    /// The limits came first.
    Undecided,
}

/// An outcome and the account of the run that led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LpSolution {
    /// What is known.
    pub outcome: LpOutcome,
    /// The account; its certificate is the largest relative error of the optimality conditions.
    pub report: Report,
}

/// Settings of [`linear_program`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `tolerance` | 1e-8 | largest relative error of the optimality conditions, and of rays; below 1. Costs along a ray that are smaller than it, relative to the largest cost, count as 0 |
/// | `max_passes` | 100,000 | steps, of the program and of each auxiliary one |
/// | `polish` | true | solve for the active constraints exactly where that helps |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LpSettings {
    /// Largest relative error.
    pub tolerance: f64,
    /// Steps at most.
    pub max_passes: f64,
    /// Whether to polish.
    pub polish: bool,
}

impl Default for LpSettings {
    fn default() -> Self {
        LpSettings { tolerance: 1e-8, max_passes: 1e5, polish: true }
    }
}

impl LinearProgram {
    /// `min cost'x` over `x >= 0` with no constraints yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no variables or costs that are not finite.
    pub fn new<'a>(cost: impl Into<ArrayView1<'a, f64>>) -> Result<Self, Error> {
        let cost = cost.into().to_vec();
        if cost.is_empty() {
            return Err(Invalid::Empty { what: "cost" }.into());
        }
        Invalid::check_finite("cost", &cost)?;
        let d = cost.len();
        let matrix = Array2::zeros((0, d));
        let (low, high) = (vec![0.0; d], vec![f64::INFINITY; d]);
        Ok(LinearProgram { cost, matrix, right: vec![], equations: 0, low, high })
    }

    fn checked<'a>(
        &self,
        what: &'static str,
        rows: ArrayView2<f64>,
        right: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Vec<f64>, Error> {
        let right = right.into().to_vec();
        Invalid::check_length(what, self.cost.len(), rows.ncols())?;
        Invalid::check_length("right-hand sides", rows.nrows(), right.len())?;
        Invalid::check_finite("right-hand sides", &right)?;
        if let Some(((row, column), value)) = rows.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Invalid::NonFinite { what, row, column, value: *value }.into());
        }
        Ok(right)
    }

    /// Adds equations `A x = b`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for shapes that do not fit or entries that are not finite.
    pub fn equal<'a>(
        mut self,
        a: ArrayView2<f64>,
        b: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let right = self.checked("equations", a, b)?;
        let at = self.equations;
        let mut rows: Vec<Array1<f64>> = self.matrix.outer_iter().map(|r| r.to_owned()).collect();
        rows.splice(at..at, a.outer_iter().map(|r| r.to_owned()));
        self.right.splice(at..at, right);
        self.equations += a.nrows();
        self.matrix = stacked(&rows, self.cost.len());
        Ok(self)
    }

    /// Adds inequalities `G x >= h`.
    ///
    /// # Errors
    /// As [`equal`](LinearProgram::equal).
    pub fn at_least<'a>(
        mut self,
        g: ArrayView2<f64>,
        h: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let right = self.checked("inequalities", g, h)?;
        let mut rows: Vec<Array1<f64>> = self.matrix.outer_iter().map(|r| r.to_owned()).collect();
        rows.extend(g.outer_iter().map(|r| r.to_owned()));
        self.right.extend(right);
        self.matrix = stacked(&rows, self.cost.len());
        Ok(self)
    }

    /// Sets the bounds `low <= x <= high`; they may be infinite.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless `low <= high`, `low < inf`, `high > -inf`.
    pub fn within<'a>(
        mut self,
        low: impl Into<ArrayView1<'a, f64>>,
        high: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let (low, high) = (low.into().to_vec(), high.into().to_vec());
        Invalid::check_length("low", self.cost.len(), low.len())?;
        Invalid::check_length("high", self.cost.len(), high.len())?;
        for (j, (l, u)) in low.iter().zip(&high).enumerate() {
            if !(l <= u) || *l == f64::INFINITY || *u == f64::NEG_INFINITY {
                let reason = format!(
                    "{l} and {u} for variable {j}; expected low <= high, with low below and high above the infinities"
                );
                return Err(Invalid::Layout { what: "bounds", reason }.into());
            }
        }
        (self.low, self.high) = (low, high);
        Ok(self)
    }

    /// `y'b + min over the box of (c - A'y)'x`, and the size of its largest term. Reduced costs up to `slack` of their column count as 0
    /// where the box has no end.
    fn dual_value(&self, y: &[f64], cost: &[f64], slack: impl Fn(usize) -> f64) -> (f64, f64) {
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
    fn unit(&self) -> f64 {
        let ends = self.right.iter().chain(&self.low).chain(&self.high);
        let top = ends.filter(|v| v.is_finite()).fold(0.0_f64, |m, v| m.max(v.abs()));
        if top > 0.0 { top.min(1.0) } else { 1.0 }
    }

    /// What a cost is compared with: the largest.
    fn dearest(&self) -> f64 {
        let top = self.cost.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        if top > 0.0 { top } else { 1.0 }
    }

    /// Largest violation of the constraints, relative to their right-hand sides and terms.
    fn violation(&self, x: &[f64]) -> f64 {
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
    fn farkas(&self, y: &[f64], tolerance: f64) -> bool {
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
    fn recedes(&self, ray: &[f64], tolerance: f64) -> bool {
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
    fn sizes(&self) -> (Vec<f64>, Vec<f64>) {
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

fn stacked(rows: &[Array1<f64>], columns: usize) -> Array2<f64> {
    let flat: Vec<f64> = rows.iter().flatten().copied().collect();
    Array2::from_shape_vec((rows.len(), columns), flat).expect("rows of one length")
}

/// Solves a linear program, or shows that it has no solution.
///
/// ```
/// use fenchel_saddle::{LinearProgram, LpOutcome, LpSettings, linear_program};
/// use ndarray::array;
///
/// // min -x - 2y  with  x + y <= 4,  x <= 3,  x, y >= 0
/// let program = LinearProgram::new(&array![-1.0, -2.0])?
///     .at_least(array![[-1.0, -1.0]].view(), &array![-4.0])?
///     .within(&array![0.0, 0.0], &array![3.0, f64::INFINITY])?;
/// match linear_program(&program, &LpSettings::default())?.outcome {
///     LpOutcome::Optimal { objective, .. } => assert!((objective + 8.0).abs() < 1e-6),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), fenchel_saddle::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for settings out of range.
pub fn linear_program(program: &LinearProgram, settings: &LpSettings) -> Result<LpSolution, Error> {
    Invalid::check_positive("tolerance", settings.tolerance)?;
    if settings.tolerance >= 1.0 {
        // It is relative: with 1 and more anything would be optimal.
        let (value, expected) = (settings.tolerance, "a number below 1, since it is relative");
        return Err(Invalid::Parameter { name: "tolerance", value, expected }.into());
    }
    Invalid::check_positive("max_passes", settings.max_passes)?;
    // Most programs with a solution are solved in a few thousand steps. Then rays are looked for, then the rest is spent.
    let first = settings.max_passes.min(4000.0);
    let (x, y, mut report) = solve(program, settings, first)?;
    let optimal = |x: Vec<f64>, y: Vec<f64>, report: Report| {
        let objective = program.cost.iter().zip(&x).map(|(c, x)| c * x).sum();
        LpSolution { outcome: LpOutcome::Optimal { x, y, objective }, report }
    };
    if report.status == Status::Converged {
        return Ok(optimal(x, y, report));
    }
    let passes = report.passes;
    let (ray, feasible, used) = infeasible(program, settings)?;
    report.passes += used;
    if let Some(ray) = ray {
        report.status = Status::Converged;
        return Ok(LpSolution { outcome: LpOutcome::Infeasible { ray }, report });
    }
    if let Some(x) = feasible {
        let (ray, used) = unbounded(program, settings)?;
        report.passes += used;
        if let Some(ray) = ray {
            report.status = Status::Converged;
            return Ok(LpSolution { outcome: LpOutcome::Unbounded { x, ray }, report });
        }
    }
    if settings.max_passes > first {
        let spent = report.passes - passes;
        let (x, y, mut last) = solve(program, settings, settings.max_passes)?;
        last.passes += spent + passes;
        if last.status == Status::Converged {
            return Ok(optimal(x, y, last));
        }
        report = last;
    }
    Ok(LpSolution { outcome: LpOutcome::Undecided, report })
}
