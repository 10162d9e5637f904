//! What SAG and SAGA share: a table of derivatives that is kept up to date.

use fenchel_linalg::Design;
use fenchel_optim::random::Order;
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use super::kernel::Kernel;
use crate::gap::Gap;
use crate::lag::Lagged;
use crate::{Error, Point, Problem};

/// Passes between two recomputations of the averaged gradient from the table.
const REFRESH: usize = 10;

/// How the table is filled before the first step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableStart {
    /// The derivatives at the starting point: costs one pass, and is what the theorems assume.
    #[default]
    Full,
    /// Zeros: costs nothing, and no term is looked at before it is visited.
    Zero,
}

/// The state of SAG and SAGA: a point and one derivative a term. Ready for a warm start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableState {
    /// The point.
    pub point: Point,
    /// `s_i`, the derivative of the loss when term `i` was last visited.
    pub table: Vec<f64>,
}

/// SAG or SAGA on one problem: what an observer of [`saga`](super::saga()) and [`sag`](super::sag()) sees.
#[derive(Debug, Clone)]
pub struct TableMethod<'p, 'a, D, L, R> {
    kernel: Kernel<'p, 'a, D, L, R>,
    /// The point that was certified last: the kernel's, with the intercept at its optimum.
    shown: Point,
    gap: Gap,
    /// `w`: 1 for SAGA, 1/n for SAG.
    weight: f64,
    steps: usize,
    /// The table is still to be filled: the first thing that `advance` does.
    fill: bool,
    best: Option<TableState>,
}

/// Everything that the two public functions pass on.
pub(super) struct Plan<'s> {
    pub(super) method: &'static str,
    pub(super) weight: f64,
    pub(super) step: f64,
    pub(super) order: &'s Order,
    pub(super) table: TableStart,
    pub(super) seed: u64,
    pub(super) stop: &'s Stop,
}

pub(super) fn solve<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    plan: Plan<'_>,
    start: Option<TableState>,
    observer: &mut O,
) -> Result<Solution<TableState>, Error>
where
    D: Design,
    L: Loss,
    R: Lagged,
    O: Observer<TableMethod<'p, 'a, D, L, R>>,
{
    let warm = start.is_some();
    let TableState { point, table } = start.unwrap_or_else(|| TableState {
        point: Point::zero(problem.d()),
        table: vec![0.0; problem.n()],
    });
    let kernel = Kernel::new(plan.method, problem, point, table, plan.step, plan.order, plan.seed)?;
    let mut method = TableMethod {
        shown: kernel.point.clone(),
        kernel,
        gap: Gap::new(problem),
        weight: plan.weight,
        steps: 0,
        fill: !warm && plan.table == TableStart::Full,
        best: None,
    };
    let report = run(&mut method, plan.stop, observer)?;
    let state = TableState { point: method.shown, table: method.kernel.table };
    Ok(Solution { state, report })
}

impl<D: Design, L: Loss, R: Lagged> TableMethod<'_, '_, D, L, R> {
    /// The point of the last certificate.
    pub fn point(&self) -> &Point {
        &self.shown
    }

    /// The stored derivatives.
    pub fn table(&self) -> &[f64] {
        &self.kernel.table
    }
}

impl<D: Design, L: Loss, R: Lagged> Iterative for TableMethod<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.kernel.problem.n();
        // The pass that fills the table is part of the budget.
        let start = if std::mem::take(&mut self.fill) {
            self.kernel.fill_table();
            1.0
        } else {
            0.0
        };
        let steps = ((passes - start) * n as f64).round();
        let steps = if steps >= 1.0 { steps as usize } else { usize::from(start == 0.0) };
        for _ in 0..steps {
            self.kernel.step::<true>(self.weight);
            self.steps += 1;
            if self.steps == REFRESH * n {
                self.kernel.refresh_average();
                self.steps = 0;
            }
        }
        self.kernel.flush();
        start + steps as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        self.shown.clone_from(&self.kernel.point);
        self.gap.at_best_intercept(self.kernel.problem, &mut self.shown)
    }

    fn keep(&mut self) {
        let Kernel { point, table, .. } = &self.kernel;
        match &mut self.best {
            Some(best) => {
                best.point.clone_from(point);
                best.table.clone_from(table);
            }
            None => self.best = Some(TableState { point: point.clone(), table: table.clone() }),
        }
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.kernel.point = best.point;
            self.kernel.table = best.table;
        }
    }
}
