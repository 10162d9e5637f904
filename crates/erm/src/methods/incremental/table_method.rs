//! The common part of SAG and SAGA: a table of derivatives that is updated in every step.

use fenchel_linalg::Design;
use fenchel_optim::random::{Order, Place, stream};
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, Stop, run};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::kernel::{Kernel, Plan};
use super::mean::{PointMean, certify};
use crate::gap::Gap;
use crate::methods::REFRESH;
use crate::methods::lag::Composite;
use crate::origin::origin;
use crate::{Error, Point, Problem};

/// The initial contents of the table of derivatives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableStart {
    /// With the derivatives at the starting point. This costs one pass, and is what the theorems assume.
    #[default]
    Full,
    /// With zeros. This costs nothing, and no term is evaluated before it is visited.
    Zero,
    /// Terms are introduced one by one. The first `n` steps use the average over the terms visited so far (A.
    /// Defazio, PhD thesis 2014, sections 3.3 and 4.4 item 2). A uniform order visits every term once in this pass.
    /// The introduction costs nothing, except that with a regulariser on sparse data a step of this pass costs up to
    /// O(d). A warm start ignores this setting.
    FirstPass,
}

/// The state of SAG and SAGA. It contains a point and one derivative per term.
///
/// It can be the start of another run on the same problem or a similar one. The visiting order then continues. If the
/// table is empty, it is filled at the point, which costs a pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableState {
    /// The point.
    pub point: Point,
    /// `s_i`, the derivative of the loss when term `i` was last visited. If it is empty in a start, the derivatives
    /// are computed.
    pub table: Vec<f64>,
    /// The position in the visiting order. It is absent in a state that was made by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
}

impl TableState {
    /// A warm start.
    pub fn new(point: Point, table: Vec<f64>) -> Self {
        TableState { point, table, place: None }
    }
}

/// The part of the initialisation that is not done yet.
#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Nothing,
    /// The table has to be filled. `advance` does this first.
    Fill,
    /// The first pass is in progress.
    Introduce(Introduction),
}

/// The introduction of terms one by one.
#[derive(Debug, Clone, PartialEq)]
struct Introduction {
    /// A permutation that replaces uniform draws.
    order: Option<Vec<u32>>,
    seen: Vec<bool>,
    count: usize,
    steps: usize,
}

impl Introduction {
    fn new(n: usize, order: &Order, seed: u64) -> Self {
        let drawn = matches!(order, Order::Uniform | Order::Mixed | Order::Lipschitz);
        let permutation = drawn.then(|| {
            let mut terms: Vec<u32> = (0..n as u32).collect();
            terms.shuffle(&mut stream(seed, 1));
            terms
        });
        Introduction { order: permutation, seen: vec![false; n], count: 0, steps: 0 }
    }
}

/// SAG or SAGA, as an observer of [`saga`](super::saga()) or [`sag`](super::sag()) receives it.
#[derive(Debug, Clone)]
pub struct TableMethod<'p, 'a, D, L, R> {
    kernel: Kernel<'p, 'a, D, L, R>,
    /// The point that was certified last. It is the current point with the optimal intercept, or the average.
    certified: Point,
    gap: Gap,
    /// The weight `w` of the correction: 1 for SAGA, 1/n for SAG.
    weight: f64,
    steps: usize,
    pending: Pending,
    mean: Option<PointMean>,
    best: Option<TableState>,
}

/// The arguments that the functions `saga` and `sag` pass on.
pub(super) struct TablePlan<'s> {
    pub(super) plan: Plan,
    pub(super) weight: f64,
    pub(super) table: TableStart,
    pub(super) average: bool,
    pub(super) stop: &'s Stop,
}

pub(super) fn solve<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: TablePlan<'_>,
    start: Option<TableState>,
    observer: &mut O,
) -> Result<Solution<TableState>, Error>
where
    D: Design,
    L: Loss,
    R: Composite,
    O: Observer<TableMethod<'p, 'a, D, L, R>>,
{
    let TablePlan { mut plan, weight, table: filling, average, stop } = settings;
    let n = problem.n();
    let cold = start.is_none();
    let state = start.unwrap_or_else(|| TableState::new(origin(problem), vec![0.0; n]));
    let TableState { point, mut table, place } = state;
    let empty = table.is_empty();
    if empty {
        table.resize(n, 0.0);
    }
    let pending = match filling {
        _ if empty => Pending::Fill,
        TableStart::Full if cold => Pending::Fill,
        TableStart::FirstPass if cold => {
            Pending::Introduce(Introduction::new(n, &plan.order, plan.seed))
        }
        _ => Pending::Nothing,
    };
    plan.varies |= matches!(pending, Pending::Introduce(_));
    let mut kernel = Kernel::new(problem, point, table, &plan)?;
    let certified = kernel.point.clone();
    let _ = place.is_some_and(|place| kernel.visits().go_to(&place));
    let mean = average.then(PointMean::default);
    let gap = Gap::new(problem);
    let mut method =
        TableMethod { kernel, certified, gap, weight, steps: 0, pending, mean, best: None };
    let report = run(&mut method, stop, observer)?;
    let TableMethod { mut kernel, certified, pending, .. } = method;
    let report = kernel.problem.judged(report, &certified);
    let place = Some(kernel.visits().place());
    let table = if pending == Pending::Fill { Vec::new() } else { kernel.table };
    Ok(Solution { state: TableState { point: certified, table, place }, report })
}

impl<D: Design, L: Loss, R: Composite> TableMethod<'_, '_, D, L, R> {
    /// The point of the last certificate.
    pub fn point(&self) -> &Point {
        &self.certified
    }

    /// The stored derivatives.
    pub fn table(&self) -> &[f64] {
        &self.kernel.table
    }

    /// Makes steps of the first pass.
    fn introduce(&mut self, steps: usize) -> usize {
        let n = self.kernel.problem.n();
        let mut done = 0;
        while done < steps {
            let Pending::Introduce(first) = &mut self.pending else { break };
            let j = match &first.order {
                Some(order) => order[first.steps] as usize,
                None => self.kernel.draw(),
            };
            first.count += usize::from(!std::mem::replace(&mut first.seen[j], true));
            first.steps += 1;
            let seen = first.count as f64;
            if first.steps == n {
                self.pending = Pending::Nothing;
            }
            self.kernel.visit::<true>(j, 1.0 / seen, n as f64 / seen);
            self.after_step();
            done += 1;
            if self.pending == Pending::Nothing {
                self.kernel.settle();
            }
        }
        done
    }

    #[inline]
    fn after_step(&mut self) {
        self.steps += 1;
        if self.steps == REFRESH * self.kernel.problem.n() {
            self.kernel.refresh_average();
            self.steps = 0;
        }
        if let Some(mean) = &mut self.mean {
            self.kernel.flush();
            mean.add(&self.kernel.point);
        }
    }
}

impl<D: Design, L: Loss, R: Composite> Iterative for TableMethod<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.kernel.problem.n();
        // The pass that fills the table is part of the budget.
        let start = if self.pending == Pending::Fill {
            self.pending = Pending::Nothing;
            self.kernel.fill_table();
            1.0
        } else {
            0.0
        };
        let steps = ((passes - start) * n as f64).round();
        let steps = if steps >= 1.0 { steps as usize } else { usize::from(start == 0.0) };
        for _ in self.introduce(steps)..steps {
            self.kernel.step::<true>(self.weight);
            self.after_step();
        }
        start + steps as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        certify(&self.kernel, self.mean.as_ref(), &mut self.gap, &mut self.certified)
    }

    fn keep(&mut self) {
        let table = &self.kernel.table;
        match &mut self.best {
            Some(best) => {
                best.point.clone_from(&self.certified);
                best.table.clone_from(table);
            }
            None => self.best = Some(TableState::new(self.certified.clone(), table.clone())),
        }
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.kernel.table = best.table;
            self.kernel.move_to(&best.point);
            self.mean = None;
        }
    }
}
