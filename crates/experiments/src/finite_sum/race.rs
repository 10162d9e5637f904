//! Methods side by side on one problem: suboptimality against passes.

use std::ops::ControlFlow;

use fenchel_finite_sum::lag::Lagged;
use fenchel_finite_sum::{
    CatalystSettings, Error, FinitoSettings, Problem, SagSettings, SagaSettings, SdcaSettings,
    SvrgSettings, catalyst, finito, lbfgs, sag, saga, sdca, svrg,
};
use fenchel_linalg::Design;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Progress, StepSize, Stop};

use crate::{Context, Failure, Series, Table};

/// A method with everything but the order and the seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Method {
    Lbfgs,
    /// Multiple of `1/L`.
    Sag(f64),
    /// Multiple of `1/(3L)`.
    Saga(f64),
    /// Multiple of `1/(4L)`; a snapshot every `n` steps.
    Svrg(f64),
    Sdca,
    /// The inverse step `alpha`; terms are introduced in the first pass, as in the thesis.
    Finito(f64),
}

/// A line of a figure.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) method: Method,
    pub(super) order: Order,
}

impl Entry {
    pub(super) fn new(name: &'static str, method: Method, order: Order) -> Self {
        Entry { name, method, order }
    }
}

/// Suboptimality after each pass.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// Keeps the objective of every row, and ends the run when the user asks for it.
struct Watch<'c, 'd> {
    context: &'c Context<'d>,
    rows: Vec<(f64, f64)>,
}

impl<M: ?Sized> Observer<M> for Watch<'_, '_> {
    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        let objective = progress.certificate.objective().unwrap_or(f64::INFINITY);
        self.rows.push((progress.passes, objective));
        self.context.control()
    }
}

/// The optimum, certified to `1e-14` relative or the last digit that can be had.
pub(super) fn optimum<D: Design, L: Loss, R: Lagged>(
    context: &Context,
    problem: &Problem<'_, D, L, R>,
) -> Result<(f64, fenchel_finite_sum::Point), Failure> {
    let stop = Stop { absolute: 1e-16, max_passes: 5000.0, ..Stop::at_relative(1e-14) };
    let settings = CatalystSettings { stop, seed: 1, ..CatalystSettings::default() };
    let mut watch = Watch { context, rows: vec![] };
    let solution = catalyst(problem, &settings, None, &mut watch)?;
    context.check()?;
    let objective = solution.report.certificate.objective();
    let objective = objective.ok_or_else(|| Failure::new("the reference run has no objective"))?;
    Ok((objective, solution.state.point))
}

/// Runs an entry with several seeds; the curve is the geometric mean of the suboptimalities.
pub(super) fn run<D: Design, L: Loss>(
    context: &Context,
    problem: &Problem<'_, D, L, Zero>,
    entry: &Entry,
    passes: f64,
    seeds: u64,
    best: f64,
) -> Result<Curve, Failure> {
    let mut runs = vec![];
    for k in 0..seeds {
        let mut watch = Watch { context, rows: vec![] };
        solve(problem, entry, Stop::after_passes(passes), context.seed + k, &mut watch)?;
        context.check()?;
        runs.push(watch.rows);
    }
    Ok(Curve { name: entry.name, points: geometric_mean(&runs, best) })
}

fn solve<D: Design, L: Loss>(
    problem: &Problem<'_, D, L, Zero>,
    entry: &Entry,
    stop: Stop,
    seed: u64,
    watch: &mut Watch,
) -> Result<(), Error> {
    let order = entry.order.clone();
    match entry.method {
        Method::Lbfgs => {
            lbfgs(problem, &LbfgsSettings { stop, ..Default::default() }, None, watch)?;
        }
        Method::Sag(scale) => {
            let step = StepSize::Scaled(scale);
            sag(
                problem,
                &SagSettings { step, order, seed, stop, ..Default::default() },
                None,
                watch,
            )?;
        }
        Method::Saga(scale) => {
            let step = StepSize::Scaled(scale);
            saga(
                problem,
                &SagaSettings { step, order, seed, stop, ..Default::default() },
                None,
                watch,
            )?;
        }
        Method::Svrg(scale) => {
            let (step, inner) = (StepSize::Scaled(scale), 1.0);
            svrg(problem, &SvrgSettings { step, inner, order, seed, stop }, None, watch)?;
        }
        Method::Sdca => {
            sdca(problem, &SdcaSettings { order, seed, stop, ..Default::default() }, None, watch)?;
        }
        Method::Finito(alpha) => {
            let settings = FinitoSettings { alpha, order, seed, stop, ..Default::default() };
            finito(problem, &settings, None, watch)?;
        }
    }
    Ok(())
}

/// Rows at which every run has one; a run that found the optimum early stays there.
fn geometric_mean(runs: &[Vec<(f64, f64)>], best: f64) -> Vec<(f64, f64)> {
    let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .filter_map(|k| {
            let passes = runs.iter().find_map(|run| run.get(k))?.0;
            let mut log = 0.0;
            for run in runs {
                let (_, objective) = run.get(k).or(run.last())?;
                log += (objective - best).max(0.0).ln();
            }
            Some((passes, (log / runs.len() as f64).exp()))
        })
        .collect()
}

impl Curve {
    /// Suboptimality at a number of passes, by the last row at or before it.
    pub(super) fn at(&self, passes: f64) -> f64 {
        let row = self.points.iter().rev().find(|(p, _)| *p <= passes + 1e-9);
        row.map_or(f64::INFINITY, |row| row.1)
    }

    /// Passes to a suboptimality, interpolated on the log scale; infinite if it is not reached.
    pub(super) fn passes_to(&self, target: f64) -> f64 {
        let Some(k) = self.points.iter().position(|(_, gap)| *gap <= target) else {
            return f64::INFINITY;
        };
        let (p, gap) = self.points[k];
        match k.checked_sub(1).map(|k| self.points[k]) {
            Some((before, high)) if gap > 0.0 && high.is_finite() => {
                before + (p - before) * (high / target).ln() / (high / gap).ln()
            }
            _ => p,
        }
    }

    /// Decades lost a pass between two numbers of passes, cut where the curve is at rounding level.
    pub(super) fn slope(&self, from: f64, to: f64) -> f64 {
        let end = to.min(self.passes_to(1e-12).floor());
        (self.at(from) / self.at(end)).log10() / (end - from)
    }

    pub(super) fn series(&self) -> Series {
        Series::line_points(self.name, self.points.clone())
    }
}

/// Suboptimality of every curve at a few passes.
pub(super) fn table(title: String, curves: &[Curve], passes: &[f64]) -> Table {
    let columns = std::iter::once("method".to_owned())
        .chain(passes.iter().map(|p| format!("{p} passes")))
        .chain(["passes to 1e-6".into(), "passes to 1e-8".into()]);
    let mut table = Table::new(title, columns);
    for curve in curves {
        let finite = |passes: f64| if passes.is_finite() { passes.into() } else { "–".into() };
        let mut row = vec![curve.name.into()];
        row.extend(passes.iter().map(|&p| curve.at(p).into()));
        row.extend([finite(curve.passes_to(1e-6)), finite(curve.passes_to(1e-8))]);
        table.push(row);
    }
    table
}

/// The curve of a name; the names are this module's own constants.
pub(super) fn curve<'c>(curves: &'c [Curve], name: &str) -> Result<&'c Curve, Failure> {
    let found = curves.iter().find(|c| c.name == name);
    found.ok_or_else(|| Failure::new(format!("no curve is called {name}")))
}
