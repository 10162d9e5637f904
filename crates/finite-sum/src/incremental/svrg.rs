//! SVRG.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::random::Order;
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, StepSize, Stop, run};
use serde::{Deserialize, Serialize};

use super::kernel::Kernel;
use crate::gap::Gap;
use crate::lag::Lagged;
use crate::{Error, Point, Problem};

/// Settings of [`svrg`](fn@svrg).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `step` | `Theory` = `1/(4L)` | |
/// | `inner` | 2 | steps between snapshots, in multiples of `n` |
/// | `order` | `Uniform` | visiting order |
/// | `seed` | 0 | of the visiting order |
/// | `stop` | see [`Stop`] | when to end; a snapshot counts as one pass |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SvrgSettings {
    /// Step size.
    pub step: StepSize,
    /// Steps between two snapshots, in multiples of the number of terms.
    pub inner: f64,
    /// Visiting order.
    pub order: Order,
    /// Seed of the visiting order.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for SvrgSettings {
    fn default() -> Self {
        SvrgSettings {
            step: StepSize::Theory,
            inner: 2.0,
            order: Order::Uniform,
            seed: 0,
            stop: Stop::default(),
        }
    }
}

/// SVRG on one problem: what an observer of [`svrg`](fn@svrg) sees.
#[derive(Debug, Clone)]
pub struct Svrg<'p, 'a, D, L, R> {
    kernel: Kernel<'p, 'a, D, L, R>,
    /// The point that was certified last: the kernel's, with the intercept at its optimum.
    shown: Point,
    gap: Gap,
    inner: usize,
    /// Steps since the snapshot.
    since: usize,
    best: Option<Point>,
}

/// SVRG with the last inner point as the next snapshot (Defazio's thesis, algorithm 2.3), proximal
/// (section 2.5).
///
/// The derivatives at the snapshot are cached, one number a term, so that a step costs one term gradient,
/// as in SAGA: a round of `m` steps is `1 + m/n` passes. Original papers: Johnson and Zhang, NIPS 2013;
/// Xiao and Zhang, SIAM Journal on Optimization 24 (2014).
///
/// # Errors
/// [`Error::Unsupported`] for a loss that is not smooth or weighted draws; [`Error::Invalid`] for a
/// start of another shape or settings out of range.
pub fn svrg<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SvrgSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error>
where
    D: Design,
    L: Loss,
    R: Lagged,
    O: Observer<Svrg<'p, 'a, D, L, R>>,
{
    settings.stop.check()?;
    problem.check_smooth("svrg")?;
    Invalid::check_positive("inner", settings.inner)?;
    let step = settings.step.resolve(1.0 / (4.0 * problem.smoothness()))?;
    let point = start.unwrap_or_else(|| Point::zero(problem.d()));
    let table = vec![0.0; problem.n()];
    let kernel = Kernel::new("svrg", problem, point, table, step, &settings.order, settings.seed)?;
    let mut method = Svrg {
        shown: kernel.point.clone(),
        kernel,
        gap: Gap::new(problem),
        inner: ((settings.inner * problem.n() as f64).round() as usize).max(1),
        since: usize::MAX,
        best: None,
    };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.shown, report })
}

impl<D: Design, L: Loss, R: Lagged> Svrg<'_, '_, D, L, R> {
    /// The point of the last certificate.
    pub fn point(&self) -> &Point {
        &self.shown
    }
}

impl<D: Design, L: Loss, R: Lagged> Iterative for Svrg<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let n = self.kernel.problem.n();
        // Work in units of term gradients, so that passes add up exactly.
        let budget = ((passes * n as f64).round() as usize).max(1);
        let mut spent = 0;
        while spent < budget {
            if self.since >= self.inner {
                self.kernel.fill_table();
                self.since = 0;
                spent += n;
            }
            let steps = (self.inner - self.since).min(budget.saturating_sub(spent));
            for _ in 0..steps {
                self.kernel.step::<false>(1.0);
            }
            self.since += steps;
            spent += steps;
        }
        self.kernel.flush();
        spent as f64 / n as f64
    }

    fn certify(&mut self) -> Certificate {
        self.shown.clone_from(&self.kernel.point);
        self.gap.at_best_intercept(self.kernel.problem, &mut self.shown)
    }

    fn keep(&mut self) {
        self.best.get_or_insert_with(Point::default).clone_from(&self.kernel.point);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.kernel.point = best;
        }
    }
}
