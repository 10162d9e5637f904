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

use fenchel_linalg::{Cholesky, Invalid};
use fenchel_optim::{Certificate, Report, Status, Stop};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::pdhg::{Bilinear, PdhgSettings, pdhg, spectral_norm};

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
/// | `tolerance` | 1e-8 | largest relative error of the optimality conditions, and of rays |
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
        for (l, u) in low.iter().zip(&high) {
            if !(l <= u) || *l == f64::INFINITY || *u == f64::NEG_INFINITY {
                let expected = "low <= high, with low below and high above the infinities";
                return Err(Invalid::Parameter { name: "bounds", value: *l, expected }.into());
            }
        }
        (self.low, self.high) = (low, high);
        Ok(self)
    }

    /// `y'b + min over the box of (c - A'y)'x`, with reduced costs below `slack` counted as 0 where the box has no end.
    fn dual_value(&self, y: &[f64], cost: &[f64], slack: f64) -> f64 {
        let reduced = ArrayView1::from(cost).to_owned() - self.matrix.t().dot(&ArrayView1::from(y));
        let mut value: f64 = y.iter().zip(&self.right).map(|(y, b)| y * b).sum();
        for (j, r) in reduced.iter().enumerate() {
            let end = if *r > 0.0 { self.low[j] } else { self.high[j] };
            if end.is_finite() {
                value += r * end;
            } else if r.abs() > slack {
                return f64::NEG_INFINITY;
            }
        }
        value
    }

    /// Largest violation of the constraints, relative to their right-hand sides and terms.
    fn violation(&self, x: &[f64]) -> f64 {
        let activity = self.matrix.dot(&ArrayView1::from(x));
        let mut worst = 0.0_f64;
        for (i, a) in activity.iter().enumerate() {
            let short = self.right[i] - a;
            let short = if i < self.equations { short.abs() } else { short.max(0.0) };
            let terms =
                self.matrix.row(i).iter().zip(x).fold(1.0_f64, |m, (a, x)| m.max((a * x).abs()));
            worst = worst.max(short / terms.max(self.right[i].abs()));
        }
        for (j, x) in x.iter().enumerate() {
            worst = worst.max((self.low[j] - x).max(x - self.high[j]).max(0.0) / x.abs().max(1.0));
        }
        worst
    }

    /// The largest relative error of the optimality conditions: of feasibility, of reduced costs, of the gap.
    pub fn error(&self, x: &[f64], y: &[f64]) -> f64 {
        let reduced = Array1::from(self.cost.clone()) - self.matrix.t().dot(&ArrayView1::from(y));
        let size = self.cost.iter().fold(1.0_f64, |m, c| m.max(c.abs()));
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
        let bound = self.dual_value(y, &self.cost, f64::INFINITY);
        let gap = (primal - bound).abs() / (1.0 + primal.abs() + bound.abs());
        self.violation(x).max(dual).max(gap)
    }

    /// By how much a combination of the rows shows that there is no feasible point: positive is a proof.
    fn farkas(&self, y: &[f64], tolerance: f64) -> f64 {
        if y[self.equations..].iter().any(|y| *y < 0.0) {
            return f64::NEG_INFINITY;
        }
        let size = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
        self.dual_value(y, &vec![0.0; self.cost.len()], tolerance * size)
    }
}

fn stacked(rows: &[Array1<f64>], columns: usize) -> Array2<f64> {
    let flat: Vec<f64> = rows.iter().flatten().copied().collect();
    Array2::from_shape_vec((rows.len(), columns), flat).expect("rows of one length")
}

/// The program in scaled variables.
struct Scaled<'a> {
    program: &'a LinearProgram,
    matrix: Array2<f64>,
    rows: Vec<f64>,
    columns: Vec<f64>,
    norm: f64,
}

impl<'a> Scaled<'a> {
    fn new(program: &'a LinearProgram) -> Self {
        let mut matrix = program.matrix.clone();
        let (m, d) = matrix.dim();
        let (mut rows, mut columns) = (vec![1.0; m], vec![1.0; d]);
        let mut divide = |by_row: &dyn Fn(ArrayView1<f64>) -> f64,
                          by_column: &dyn Fn(ArrayView1<f64>) -> f64| {
            let safe = |v: f64| if v > 0.0 { v.sqrt() } else { 1.0 };
            let r: Vec<f64> = matrix.axis_iter(Axis(0)).map(|row| safe(by_row(row))).collect();
            let c: Vec<f64> = matrix.axis_iter(Axis(1)).map(|col| safe(by_column(col))).collect();
            matrix.indexed_iter_mut().for_each(|((i, j), v)| *v /= r[i] * c[j]);
            rows.iter_mut().zip(&r).for_each(|(s, r)| *s /= r);
            columns.iter_mut().zip(&c).for_each(|(s, c)| *s /= c);
        };
        let top = |v: ArrayView1<f64>| v.iter().fold(0.0_f64, |m, a| m.max(a.abs()));
        let sum = |v: ArrayView1<f64>| v.iter().map(|a| a.abs()).sum::<f64>();
        for _ in 0..10 {
            divide(&top, &top);
        }
        divide(&sum, &sum);
        let norm = spectral_norm(
            d,
            m,
            |x, out| {
                out.copy_from_slice(matrix.dot(&ArrayView1::from(x)).as_slice().expect("a vector"))
            },
            |y, out| {
                out.copy_from_slice(
                    matrix.t().dot(&ArrayView1::from(y)).as_slice().expect("a vector"),
                )
            },
        );
        Scaled { program, matrix, rows, columns, norm }
    }

    /// In the variables of the program.
    fn original(&self, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let times = |v: &[f64], s: &[f64]| v.iter().zip(s).map(|(v, s)| v * s).collect();
        (times(x, &self.columns), times(y, &self.rows))
    }
}

impl Bilinear for Scaled<'_> {
    fn dimensions(&self) -> (usize, usize) {
        (self.columns.len(), self.rows.len())
    }

    /// `c - A'y`.
    fn grad_x(&self, y: &[f64], out: &mut [f64]) {
        let product = self.matrix.t().dot(&ArrayView1::from(y));
        for j in 0..out.len() {
            out[j] = self.columns[j] * self.program.cost[j] - product[j];
        }
    }

    /// `A x - b`: the negative of the gradient.
    fn grad_y(&self, x: &[f64], out: &mut [f64]) {
        let product = self.matrix.dot(&ArrayView1::from(x));
        for i in 0..out.len() {
            out[i] = product[i] - self.rows[i] * self.program.right[i];
        }
    }

    fn prox_x(&self, z: &mut [f64], _: f64) {
        let p = self.program;
        for j in 0..z.len() {
            z[j] = z[j].clamp(p.low[j] / self.columns[j], p.high[j] / self.columns[j]);
        }
    }

    fn prox_y(&self, z: &mut [f64], _: f64) {
        z[self.program.equations..].iter_mut().for_each(|y| *y = y.max(0.0));
    }

    fn norm(&self) -> f64 {
        self.norm
    }

    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate {
        let (x, y) = self.original(x, y);
        let objective = self.program.cost.iter().zip(&x).map(|(c, x)| c * x).sum();
        Certificate::residual(objective, self.program.error(&x, &y), 0.0)
    }

    /// The equations of what looks active: free variables against tight rows, in both directions.
    fn polished(&self, x: &[f64], y: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let p = self.program;
        let (mut gx, mut gy) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        self.grad_x(y, &mut gx);
        self.grad_y(x, &mut gy);
        let end = |j: usize| {
            let (l, u) = (p.low[j] / self.columns[j], p.high[j] / self.columns[j]);
            // At a bound if a gradient step of length 1 would push it there.
            if x[j] - gx[j] <= l {
                Some(l)
            } else if x[j] - gx[j] >= u {
                Some(u)
            } else {
                None
            }
        };
        let ends: Vec<Option<f64>> = (0..x.len()).map(end).collect();
        let free: Vec<usize> = (0..x.len()).filter(|j| ends[*j].is_none()).collect();
        let tight: Vec<usize> =
            (0..y.len()).filter(|i| *i < p.equations || y[*i] - gy[*i] > 0.0).collect();
        if free.len() > 400 || tight.len() > 400 {
            return None;
        }
        let mut px: Vec<f64> = (0..x.len()).map(|j| ends[j].unwrap_or(x[j])).collect();
        let mut py: Vec<f64> = vec![0.0; y.len()];
        tight.iter().for_each(|i| py[*i] = y[*i]);
        let block = Array2::from_shape_fn((tight.len(), free.len()), |(i, j)| {
            self.matrix[[tight[i], free[j]]]
        });
        // Twice: the second correction takes what rounding left of the first.
        for _ in 0..2 {
            self.grad_y(&px, &mut gy);
            let short: Vec<f64> = tight.iter().map(|i| -gy[*i]).collect();
            let step = least_norm(&block, &short)?;
            free.iter().zip(&step).for_each(|(j, s)| px[*j] += s);
            self.grad_x(&py, &mut gx);
            let short: Vec<f64> = free.iter().map(|j| gx[*j]).collect();
            let step = least_norm(&block.t().to_owned(), &short)?;
            tight.iter().zip(&step).for_each(|(i, s)| py[*i] += s);
        }
        self.prox_x(&mut px, 1.0);
        self.prox_y(&mut py, 1.0);
        Some((px, py))
    }
}

/// The shortest `v` that comes closest to `B v = r`, by normal equations with a trace of a ridge.
fn least_norm(b: &Array2<f64>, r: &[f64]) -> Option<Vec<f64>> {
    let (m, d) = b.dim();
    if m == 0 || d == 0 {
        return Some(vec![0.0; d]);
    }
    let wide = m <= d;
    let mut gram = if wide { b.dot(&b.t()) } else { b.t().dot(b) };
    let ridge = 1e-13 * gram.diag().iter().fold(f64::MIN_POSITIVE, |m: f64, v| m.max(*v));
    gram.diag_mut().iter_mut().for_each(|v| *v += ridge);
    let factor = Cholesky::new(gram.view()).ok()?;
    let r = ArrayView1::from(r);
    let v = if wide {
        b.t().dot(&factor.solve(r).ok()?)
    } else {
        factor.solve(b.t().dot(&r).view()).ok()?
    };
    v.iter().all(|v| v.is_finite()).then(|| v.to_vec())
}

fn solve(
    program: &LinearProgram,
    settings: &LpSettings,
    passes: f64,
) -> Result<(Vec<f64>, Vec<f64>, Report), Error> {
    let scaled = Scaled::new(program);
    let stop =
        Stop { absolute: settings.tolerance, relative: 0.0, max_passes: passes, ..Stop::default() };
    let stop = Stop { check: fenchel_optim::Cadence::Every(40.0), ..stop };
    let pdhg_settings = PdhgSettings { polish: settings.polish, stop, ..PdhgSettings::default() };
    let solution = pdhg(&scaled, &pdhg_settings, None, &mut ())?;
    let (x, y) = scaled.original(&solution.state.x, &solution.state.y);
    Ok((x, y, solution.report))
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

/// Least violation: `min sum (s+ + s-)` with `A x + s+ - s- = b`, `G x + s+ >= h`. Its multipliers are a ray where it is positive; where
/// it is 0 its point is feasible.
type Phase = (Option<Vec<f64>>, Option<Vec<f64>>, f64);

fn infeasible(program: &LinearProgram, settings: &LpSettings) -> Result<Phase, Error> {
    let (m, d) = program.matrix.dim();
    let e = program.equations;
    let mut matrix = Array2::zeros((m, d + m + e));
    program.matrix.indexed_iter().for_each(|((i, j), a)| matrix[[i, j]] = *a);
    (0..m).for_each(|i| matrix[[i, d + i]] = 1.0);
    (0..e).for_each(|i| matrix[[i, d + m + i]] = -1.0);
    let mut cost = vec![0.0; d];
    cost.extend(vec![1.0; m + e]);
    let (mut low, mut high) = (program.low.clone(), program.high.clone());
    low.extend(vec![0.0; m + e]);
    high.extend(vec![f64::INFINITY; m + e]);
    let phase =
        LinearProgram { cost, matrix, right: program.right.clone(), equations: e, low, high };
    let (x, mut y, report) = solve(&phase, settings, settings.max_passes)?;
    let x = x[..d].to_vec();
    if program.violation(&x) <= settings.tolerance {
        return Ok((None, Some(x), report.passes));
    }
    y[e..].iter_mut().for_each(|y| *y = y.max(0.0));
    let size = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
    if size > 0.0 {
        y.iter_mut().for_each(|y| *y /= size);
    }
    let right = program.right.iter().fold(1.0_f64, |m, b| m.max(b.abs()));
    let proved = program.farkas(&y, settings.tolerance) > 100.0 * settings.tolerance * right;
    Ok((proved.then_some(y), None, report.passes))
}

/// Steepest bounded recession: `min c'r` with `A r = 0`, `G r >= 0`, `-1 <= r <= 1` and the signs that the bounds allow.
fn unbounded(
    program: &LinearProgram,
    settings: &LpSettings,
) -> Result<(Option<Vec<f64>>, f64), Error> {
    let end = |bound: f64, to: f64| if bound.is_finite() { 0.0 } else { to };
    let cone = LinearProgram {
        right: vec![0.0; program.right.len()],
        low: program.low.iter().map(|l| end(*l, -1.0)).collect(),
        high: program.high.iter().map(|u| end(*u, 1.0)).collect(),
        ..program.clone()
    };
    let (ray, _, report) = solve(&cone, settings, settings.max_passes)?;
    let size = program.cost.iter().fold(1.0_f64, |m, c| m.max(c.abs()));
    let falls: f64 = program.cost.iter().zip(&ray).map(|(c, r)| c * r).sum();
    // The violation counts a direction of length 1.
    let proved =
        cone.violation(&ray) <= settings.tolerance && falls < -100.0 * settings.tolerance * size;
    Ok((proved.then_some(ray), report.passes))
}
