//! PDHG on a program whose rows and columns are scaled to about the same size.

use fenchel_optim::{Certificate, Report, Stop, Watch};
use ndarray::{Array2, ArrayView1, Axis};

use super::program::{LinearProgram, LpSettings};
use crate::Error;
use crate::active::Equations;
use crate::methods::pdhg::{PdhgSettings, pdhg};
use crate::methods::steps::Bilinear;
use crate::spectral::{longest, spectral_norm};

/// The program in scaled variables.
pub(super) struct Scaled<'a> {
    program: &'a LinearProgram,
    matrix: Array2<f64>,
    rows: Vec<f64>,
    columns: Vec<f64>,
    norm: f64,
}

impl<'a> Scaled<'a> {
    pub(super) fn new(program: &'a LinearProgram) -> Self {
        let mut matrix = program.matrix.clone();
        let (m, d) = matrix.dim();
        let (mut rows, mut columns) = (vec![1.0; m], vec![1.0; d]);
        let mut divide = |by_row: &dyn Fn(ArrayView1<f64>) -> f64,
                          by_column: &dyn Fn(ArrayView1<f64>) -> f64| {
            let safe = |v: f64| if v > 0.0 { v.sqrt() } else { 1.0 };
            // Among numbers of very different sizes a factor would leave the range of numbers.
            let kept = |(v, factor): (f64, &f64)| match factor / safe(v) {
                next if (1e-150..=1e150).contains(&next) => safe(v),
                next => factor / next.clamp(1e-150, 1e150),
            };
            let r: Vec<f64> = matrix.axis_iter(Axis(0)).map(by_row).zip(&rows).map(kept).collect();
            let c = matrix.axis_iter(Axis(1)).map(by_column).zip(&columns).map(kept);
            let c: Vec<f64> = c.collect();
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
            (d, m),
            longest(&matrix),
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

    /// The factors of rows and columns, rounded to powers of 2, so that products with them are exact.
    pub(super) fn powers(&self) -> (Vec<f64>, Vec<f64>) {
        let power = |s: &f64| s.log2().round().clamp(-500.0, 500.0).exp2();
        (self.rows.iter().map(power).collect(), self.columns.iter().map(power).collect())
    }

    /// Converts to the variables of the original program.
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
        let objective: f64 = self.program.cost.iter().zip(&x).map(|(c, x)| c * x).sum();
        Certificate::residual(objective, self.program.error(&x, &y), 0.0)
    }

    /// The initial ratio of the step sizes, which is the ratio of the sizes of multipliers and points. It is 1 unless
    /// the data suggest a very different value.
    fn balance(&self) -> f64 {
        let p = self.program;
        let top = |values: &mut dyn Iterator<Item = f64>| {
            values.filter(|v| v.is_finite()).fold(0.0_f64, |m, v| m.max(v.abs()))
        };
        let costs = top(&mut p.cost.iter().zip(&self.columns).map(|(c, s)| c * s));
        let rights = top(&mut p.right.iter().zip(&self.rows).map(|(b, s)| b * s));
        let lows = top(&mut p.low.iter().zip(&self.columns).map(|(l, s)| l / s));
        let highs = top(&mut p.high.iter().zip(&self.columns).map(|(u, s)| u / s));
        let ratio = costs / rights.max(lows).max(highs);
        let usual = (1e-3..=1e3).contains(&ratio);
        if usual || !(ratio > 0.0 && ratio.is_finite()) { 1.0 } else { ratio }
    }

    /// The better result of two guesses of the active constraints. One guess is by a step of length 1, the other by a
    /// step whose length depends on the sizes of the two points.
    fn polished(&self, x: &[f64], y: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let size = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let ratio = size(x) / size(y);
        let other = if ratio > 0.0 && ratio.is_finite() { Some(ratio) } else { None };
        let pairs = [Some(1.0), other].into_iter().flatten();
        let pairs = pairs.filter_map(|length| self.corrected(x, y, length));
        let error = |(x, y): &(Vec<f64>, Vec<f64>)| self.certificate(x, y).value();
        pairs.min_by(|a, b| error(a).total_cmp(&error(b)))
    }
}

impl Scaled<'_> {
    /// Solves the equations of the active constraints: free variables against tight rows, in both directions.
    fn corrected(&self, x: &[f64], y: &[f64], length: f64) -> Option<(Vec<f64>, Vec<f64>)> {
        let p = self.program;
        let (mut gx, mut gy) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        self.grad_x(y, &mut gx);
        self.grad_y(x, &mut gy);
        let end = |j: usize| {
            let (l, u) = (p.low[j] / self.columns[j], p.high[j] / self.columns[j]);
            // At a bound if a gradient step would push it there.
            let there = x[j] - length * gx[j];
            if there <= l {
                Some(l)
            } else if there >= u {
                Some(u)
            } else {
                None
            }
        };
        let ends: Vec<Option<f64>> = (0..x.len()).map(end).collect();
        let free: Vec<usize> = (0..x.len()).filter(|j| ends[*j].is_none()).collect();
        let tight: Vec<usize> =
            (0..y.len()).filter(|i| *i < p.equations || y[*i] - gy[*i] / length > 0.0).collect();
        if free.len() > 400 || tight.len() > 400 {
            return None;
        }
        let mut px: Vec<f64> = (0..x.len()).map(|j| ends[j].unwrap_or(x[j])).collect();
        let mut py: Vec<f64> = vec![0.0; y.len()];
        tight.iter().for_each(|i| py[*i] = y[*i]);
        let block = Array2::from_shape_fn((tight.len(), free.len()), |(i, j)| {
            self.matrix[[tight[i], free[j]]]
        });
        let equations = Equations::new(block)?;
        // Twice: the second correction takes what rounding left of the first.
        for _ in 0..2 {
            self.grad_y(&px, &mut gy);
            let short: Vec<f64> = tight.iter().map(|i| -gy[*i]).collect();
            let step = equations.solve(&short)?;
            free.iter().zip(&step).for_each(|(j, s)| px[*j] += s);
            self.grad_x(&py, &mut gx);
            let short: Vec<f64> = free.iter().map(|j| gx[*j]).collect();
            let step = equations.solve_transposed(&short)?;
            tight.iter().zip(&step).for_each(|(i, s)| py[*i] += s);
        }
        self.prox_x(&mut px, 1.0);
        self.prox_y(&mut py, 1.0);
        Some((px, py))
    }
}

/// Runs PDHG on a program. Returns the primal point, the dual point and the report. What the closure sees goes on from run to
/// run.
pub(super) fn solve(
    program: &LinearProgram,
    settings: &LpSettings,
    passes: f64,
    watch: &mut Watch,
) -> Result<(Vec<f64>, Vec<f64>, Report), Error> {
    let scaled = Scaled::new(program);
    let stop =
        Stop { absolute: settings.tolerance, relative: 0.0, max_passes: passes, ..Stop::default() };
    let stop = Stop { check: fenchel_optim::Cadence::Every(40.0), ..stop };
    let pdhg_settings = PdhgSettings { polish: settings.polish, stop, ..PdhgSettings::default() };
    let solution = pdhg(&scaled, &pdhg_settings, None, &mut *watch)?;
    watch.spend(&solution.report);
    let (x, y) = scaled.original(&solution.state.x, &solution.state.y);
    Ok((x, y, solution.report))
}
