//! Finito.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// How the table of Finito is filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinitoStart {
    /// All terms at the starting point: costs one pass, and is what the theorems assume.
    #[default]
    Full,
    /// Terms are introduced when they are first visited, and averages run over the terms seen so far
    /// (thesis, section 3.3): looks at no term in advance, and avoids the overshoot of the first pass where the
    /// derivatives of the loss are bounded (logistic). For the squared loss the first steps are far too long.
    /// A warm start is always `Full`.
    FirstPass,
}

/// Settings of [`finito`](fn@finito).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `alpha` | 2 | inverse step: the step is `1/(alpha mu n)`; at least 1 |
/// | `order` | `Permuted` | up to twice as fast as `Uniform`; `Cyclic` can diverge |
/// | `start` | `Full` | how the table is filled |
/// | `memory_limit` | 4 GiB | for the `n d` numbers of the table |
/// | `seed` | 0 | of the visiting order |
/// | `stop` | see [`Stop`] | when to end |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FinitoSettings {
    /// Inverse step.
    pub alpha: f64,
    /// Visiting order.
    pub order: Order,
    /// How the table is filled.
    pub start: FinitoStart,
    /// Largest size of the table, in bytes.
    pub memory_limit: u64,
    /// Seed of the visiting order.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for FinitoSettings {
    fn default() -> Self {
        FinitoSettings {
            alpha: 2.0,
            order: Order::Permuted,
            start: FinitoStart::Full,
            memory_limit: 4 << 30,
            seed: 0,
            stop: Stop::default(),
        }
    }
}

/// Finito on one problem: what an observer of [`finito`](fn@finito) sees.
///
/// With `f_i(x) = phi_i(a_i.x) + (mu/2) ||x||^2` and a point `phi_i` kept for every term,
///
/// ```text
/// w = (1/n) sum_i phi_i - (1/(alpha mu n)) sum_i f_i'(phi_i) = -(1/(alpha mu n)) sum_i p_i,
/// p_i = s_i a_i - (alpha - 1) mu phi_i,
/// ```
///
/// so that one vector a term is enough (thesis, section 3.1.3).
#[derive(Debug, Clone)]
pub struct Finito<'p, 'a, D, L> {
    problem: &'p Problem<'a, D, L, Zero>,
    alpha: f64,
    point: Point,
    /// `p_i`, row by row.
    table: Vec<f64>,
    seen: Vec<bool>,
    count: usize,
    /// `sum_i p_i` over the terms seen.
    sum: Vec<f64>,
    /// All terms are still to be introduced at the starting point: the first thing that `advance` does.
    fill: bool,
    visits: Visits,
    steps: usize,
    gap: Gap,
    best: Point,
}

/// Passes between two computations of the sum from the table.
const REFRESH: usize = 10;

/// Finito (Defazio's thesis, algorithm 3.1), for smooth losses with `l2 > 0`.
///
/// A step costs O(d) and the table holds `n d` numbers: for dense data of moderate size. Proved to
/// converge by the factor `1 - 1/(2n)` a step when `n mu >= 2 L` (theorem 3.1); below, choose
/// `alpha` of about `2 L / (n mu)`. Original paper: Defazio, Caetano and Domke, "Finito", ICML 2014.
///
/// # Errors
/// [`Error::NeedsStrongConvexity`]; [`Error::MemoryLimit`] before anything is allocated;
/// [`Error::Unsupported`] for a loss that is not smooth, an intercept or weighted draws;
/// [`Error::Invalid`] for settings out of range or a start of another shape.
pub fn finito<'p, 'a, D, L, O>(
    problem: &'p Problem<'a, D, L, Zero>,
    settings: &FinitoSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error>
where
    D: Design,
    L: Loss,
    O: Observer<Finito<'p, 'a, D, L>>,
{
    let method = "finito";
    settings.stop.check()?;
    problem.check_smooth(method)?;
    if problem.l2() == 0.0 {
        return Err(Error::NeedsStrongConvexity { method });
    }
    if !(settings.alpha >= 1.0 && settings.alpha.is_finite()) {
        let (name, value) = ("alpha", settings.alpha);
        return Err(Invalid::Parameter { name, value, expected: "a finite number >= 1" }.into());
    }
    if problem.intercept() {
        let what = "an intercept; add a column of ones, or use sdca".into();
        return Err(Error::Unsupported { method, what });
    }
    if let Order::Weighted(_) = settings.order {
        let what = "weighted draws; use an unweighted order".into();
        return Err(Error::Unsupported { method, what });
    }
    let (n, d) = (problem.n(), problem.d());
    let needed = 8u64.saturating_mul(n as u64).saturating_mul(d as u64);
    if needed > settings.memory_limit {
        let (limit, hint) = (settings.memory_limit, "use saga or sdca, which keep n numbers");
        return Err(Error::MemoryLimit { method, needed, limit, hint });
    }
    let visits = Visits::new(&settings.order, n, settings.seed)?;
    let fill = start.is_some() || settings.start == FinitoStart::Full;
    let point = start.unwrap_or_else(|| Point::zero(d));
    problem.check_point(&point)?;
    let mut finito = Finito {
        problem,
        alpha: settings.alpha,
        best: point.clone(),
        point,
        table: vec![0.0; n * d],
        seen: vec![false; n],
        count: 0,
        sum: vec![0.0; d],
        fill,
        visits,
        steps: 0,
        gap: Gap::new(problem),
    };
    let report = run(&mut finito, &settings.stop, observer)?;
    Ok(Solution { state: finito.point, report })
}

impl<D: Design, L: Loss> Finito<'_, '_, D, L> {
    /// The point `w` of the last step.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// `phi_j <- at`: replaces `p_j` and its share of the sum. O(d).
    fn visit(&mut self, j: usize, at: &[f64]) {
        let (problem, d) = (self.problem, self.problem.d());
        let design = problem.design();
        let derivative = problem.derivative(j, design.row_dot(j, at));
        let stay = -(self.alpha - 1.0) * problem.l2();
        let p = &mut self.table[j * d..(j + 1) * d];
        for ((sum, p), x) in self.sum.iter_mut().zip(p.iter_mut()).zip(at) {
            let new = stay * x;
            *sum += new - *p;
            *p = new;
        }
        design.row_axpy(j, derivative, p);
        design.row_axpy(j, derivative, &mut self.sum);
        if !self.seen[j] {
            self.seen[j] = true;
            self.count += 1;
        }
    }

    /// `w` from the sum over the terms seen.
    fn read_point(&mut self) {
        if self.count > 0 {
            let scale = -1.0 / (self.alpha * self.problem.l2() * self.count as f64);
            for (w, p) in self.point.weights.iter_mut().zip(&self.sum) {
                *w = scale * p;
            }
        }
    }

    /// Removes the rounding of many small updates of the sum. O(nd).
    fn refresh_sum(&mut self) {
        self.sum.fill(0.0);
        for p in self.table.chunks_exact(self.problem.d()) {
            for (sum, p) in self.sum.iter_mut().zip(p) {
                *sum += p;
            }
        }
    }
}

impl<D: Design, L: Loss> Iterative for Finito<'_, '_, D, L> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.problem.n();
        let start = if std::mem::take(&mut self.fill) {
            let at = self.point.weights.clone();
            (0..n).for_each(|j| self.visit(j, &at));
            self.read_point();
            1.0
        } else {
            0.0
        };
        let steps = ((passes - start) * n as f64).round();
        let steps = if steps >= 1.0 { steps as usize } else { usize::from(start == 0.0) };
        for _ in 0..steps {
            let j = self.visits.draw();
            let at = std::mem::take(&mut self.point.weights);
            self.visit(j, &at);
            self.point.weights = at;
            self.steps += 1;
            if self.steps == REFRESH * n {
                self.steps = 0;
                self.refresh_sum();
            }
            self.read_point();
        }
        start + steps as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        self.gap.at(self.problem, &self.point)
    }

    fn keep(&mut self) {
        self.best.clone_from(&self.point);
    }

    fn restore(&mut self) {
        self.point.clone_from(&self.best);
    }
}
