//! Methods side by side on one problem: suboptimality against passes.

use std::ops::ControlFlow;

use fenchel_finite_sum::lag::Lagged;
use fenchel_finite_sum::{
    CatalystSettings, Error, FinitoSettings, FinitoStart, MisoSettings, Problem, SagSettings,
    SagaSettings, SdcaSettings, SgdSettings, SvrgSettings, catalyst, finito, lbfgs, miso, sag,
    saga, sdca, sgd, svrg,
};
use fenchel_linalg::Design;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Observer, Progress, StepSize, Stop};

use super::tasks::Task;
use crate::number::short;
use crate::{Claim, Context, Failure, Judged, Reason, Series, Stated, Table};

/// A method with everything but the order and the seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Method {
    Lbfgs,
    /// With steps `1/(L + mu k)`, or `1/L` throughout.
    Sgd {
        decaying: bool,
    },
    /// Multiple of `1/L`.
    Sag(f64),
    /// Multiple of `1/(3L)`.
    Saga(f64),
    /// Multiple of `1/(4L)`; a snapshot every `n` steps.
    Svrg(f64),
    Sdca,
    /// The inverse step `alpha`; terms are introduced in the first pass, as in the thesis.
    Finito(f64),
    /// The same with a table that is full from the start: for losses whose derivative has no bound.
    FullFinito(f64),
    Miso,
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
        let stop = context.stop(entry.name, Stop::after_passes(passes));
        solve(problem, entry, stop, context.seed + k, &mut watch)?;
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
        Method::Sgd { decaying } => {
            let constant = StepSize::Constant(1.0 / problem.smoothness());
            let step = if decaying { StepSize::Theory } else { constant };
            let settings = SgdSettings { step, order, seed, stop, ..Default::default() };
            sgd(problem, &settings, None, watch)?;
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
            let settings = SvrgSettings { step, inner, order, seed, stop, ..Default::default() };
            svrg(problem, &settings, None, watch)?;
        }
        Method::Sdca => {
            sdca(
                problem,
                &SdcaSettings { sampling: order.into(), seed, stop, ..Default::default() },
                None,
                watch,
            )?;
        }
        Method::Finito(alpha) | Method::FullFinito(alpha) => {
            let first = matches!(entry.method, Method::Finito(_));
            let start = if first { FinitoStart::FirstPass } else { FinitoStart::Full };
            let settings = FinitoSettings {
                alpha: Some(alpha),
                order,
                seed,
                stop,
                start,
                ..Default::default()
            };
            finito(problem, &settings, None, watch)?;
        }
        Method::Miso => {
            miso(problem, &MisoSettings { order, seed, stop, ..Default::default() }, None, watch)?;
        }
    }
    Ok(())
}

/// Rows at which every run has one; a run that found the optimum early stays there.
pub(super) fn geometric_mean(runs: &[Vec<(f64, f64)>], best: f64) -> Vec<(f64, f64)> {
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

/// A number of passes for people: infinite is never.
pub(super) fn in_passes(count: f64) -> String {
    if count.is_finite() { short(count) } else { "never".into() }
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

/// `a <= factor * b` for two measured numbers; a number that was never reached (infinite, or NaN) proves nothing.
pub(super) fn at_most(a: f64, factor: f64, b: f64) -> bool {
    a.is_finite() && b.is_finite() && a <= factor * b
}

/// `a >= factor * b`, where `b` must have been reached and be above the rounding of the objective.
pub(super) fn at_least(a: f64, factor: f64, b: f64) -> bool {
    !a.is_nan() && b.is_finite() && b > 0.0 && a >= factor * b
}

/// A claim of the document about one task: shown, not judged, on generated data. `known` is why it does not hold on
/// this task, if it is known not to.
pub(super) fn judged(
    task: &Task,
    stated: Stated,
    judged: impl Into<Judged>,
    known: Option<Reason>,
) -> Claim {
    let claim = match known {
        Some(why) if !task.generated => stated.known_failure(judged, why),
        _ => stated.holds(judged),
    };
    if task.generated { claim.not_judged("generated data") } else { claim }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_reached_proves_nothing() {
        let (never, nan) = (f64::INFINITY, f64::NAN);
        assert!(at_most(1.0, 1.0, 1.0) && !at_most(1.1, 1.0, 1.0));
        assert!(
            !at_most(never, 0.67, never) && !at_most(nan, 1.0, 1.0) && !at_most(1.0, 1.0, never)
        );
        assert!(at_least(never, 10.0, 1.0) && at_least(10.0, 10.0, 1.0));
        assert!(
            !at_least(0.0, 10.0, 0.0) && !at_least(never, 1.0, never) && !at_least(nan, 1.0, 1.0)
        );
    }

    #[test]
    fn curves_interpolate_on_the_log_scale_and_say_when_they_do_not_arrive() {
        let curve = Curve { name: "c", points: vec![(0.0, 1.0), (2.0, 1e-2), (4.0, 1e-6)] };
        assert!((curve.passes_to(1e-4) - 3.0).abs() < 1e-12);
        assert_eq!(curve.passes_to(1e-8), f64::INFINITY);
        assert_eq!(curve.at(3.9), 1e-2);
        assert!((curve.slope(0.0, 2.0) - 1.0).abs() < 1e-12);
    }
}
