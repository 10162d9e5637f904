//! This module runs the methods of a figure on one problem.

use fenchel_finite_sum::methods::lag::Lagged;
use fenchel_finite_sum::methods::{
    CatalystSettings, FinitoSettings, FinitoStart, MisoSettings, SagSettings, SagaSettings,
    SdcaSettings, SgdSettings, SvrgSettings, TableStart, catalyst, finito, lbfgs, miso, sag, saga,
    sdca, sgd, svrg,
};
use fenchel_finite_sum::{Error, Problem};
use fenchel_linalg::{Design, parallel, row_norms_squared};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, StepSize, Stop};

use crate::race::{Curve, Seen, Watch, geometric_mean};
use crate::{Context, Failure, Sample};

/// A method with everything but the order and the seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Method {
    Lbfgs,
    /// With steps `1/(L + mu k)`, or `1/L` throughout.
    Sgd {
        decaying: bool,
    },
    /// Multiple of `1/L`; terms are introduced in the first pass, as in the thesis.
    Sag(f64),
    /// The same with a table that is full from the start: for losses whose derivative has no bound.
    FullSag(f64),
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

/// The method, the order and the name of one curve of a figure.
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

/// Computes the optimum with a certified relative error of at most `1e-14`, or as small as rounding permits.
pub(super) fn optimum<D: Design, L: Loss, R: Lagged>(
    context: &Context,
    problem: &Problem<'_, D, L, R>,
) -> Result<(f64, fenchel_finite_sum::Point), Failure> {
    let stop = Stop { absolute: 1e-16, max_passes: 5000.0, ..Stop::at_relative(1e-14) };
    let settings = CatalystSettings { stop, seed: 1, ..CatalystSettings::default() };
    let mut watch = Watch::new(context);
    let solution = catalyst(problem, &settings, None, &mut watch)?;
    context.check()?;
    let objective = solution.report.certificate.objective();
    let objective = objective.ok_or_else(|| Failure::new("the reference run has no objective"))?;
    Ok((objective, solution.state.point))
}

/// The results of a method on one problem: one curve per seed, and the geometric mean of the curves.
pub(super) struct Line {
    pub(super) mean: Curve,
    pub(super) seeds: Vec<Curve>,
}

impl Line {
    pub(super) fn at(&self, passes: f64) -> Result<Sample, Failure> {
        Sample::of(&self.seeds, |curve| curve.at(passes))
    }

    pub(super) fn passes_to(&self, target: f64) -> Result<Sample, Failure> {
        Sample::of(&self.seeds, |curve| curve.passes_to(target))
    }

    /// Whether the method went anywhere: a loser that stayed at its start proves nothing.
    pub(super) fn moves(&self) -> bool {
        let last = self.mean.points.last().map_or(f64::NAN, |row| row.1);
        self.mean.points.len() > 1
            && (last.is_nan() || (last - self.start()).abs() > 0.001 * self.start())
    }

    /// `F - F*` at the start.
    pub(super) fn start(&self) -> f64 {
        self.mean.at(0.0)
    }
}

/// The line with the given name.
pub(super) fn line<'l>(lines: &'l [Line], name: &str) -> Result<&'l Line, Failure> {
    let found = lines.iter().find(|line| line.mean.name == name);
    found.ok_or_else(|| Failure::new(format!("no line is called {name}")))
}

/// The curves to draw.
pub(super) fn means(lines: &[Line]) -> Vec<Curve> {
    lines.iter().map(|line| line.mean.clone()).collect()
}

/// Finds the best step size among the multiples `2^k` of the default step size of a method. The best one needs the fewest passes to
/// 1e-8. If none reaches 1e-8, it is the one with the smallest final suboptimality. The search begins with the `k` in [`STEPS`]. It
/// continues beyond an end of this range as long as the best `k` is at this end. Returns `k`.
pub(super) fn best_step(
    passes: f64,
    mut run: impl FnMut(f64) -> Result<Line, Failure>,
) -> Result<i32, Failure> {
    let mut tried = |k: i32| {
        let mean = run(2f64.powi(k))?.mean;
        Ok::<_, Failure>(((mean.passes_to(1e-8), mean.at(passes)), k))
    };
    let (mut low, mut high) = STEPS;
    let mut best = tried(low)?;
    for k in low + 1..=high {
        let found = tried(k)?;
        best = if found.0 < best.0 { found } else { best };
    }
    while (best.1 == low && low > -WIDEST) || (best.1 == high && high < WIDEST) {
        let k = if best.1 == low { low - 1 } else { high + 1 };
        (low, high) = (low.min(k), high.max(k));
        let found = tried(k)?;
        best = if found.0 < best.0 { found } else { best };
    }
    Ok(best.1)
}

/// The range of exponents `k` that are always tried.
const STEPS: (i32, i32) = (-2, 2);
/// The largest absolute exponent `k`.
const WIDEST: i32 = 10;

/// A problem and its optimum, on which methods run.
pub(super) struct Bench<'a, D, L> {
    pub(super) context: &'a Context<'a>,
    pub(super) problem: Problem<'a, D, L, Zero>,
    pub(super) best: f64,
}

impl<'a, D: Design, L: Loss> Bench<'a, D, L> {
    /// The problem with `n mu = 2 L`: `mu = 2 L0 / (n - 2)` with the largest curvature `L0` of a term.
    pub(super) fn new(
        context: &'a Context<'a>,
        design: D,
        y: &'a [f64],
        loss: L,
    ) -> Result<Self, Failure> {
        let l0 = loss.curvature() * row_norms_squared(&design).into_iter().fold(0.0, f64::max);
        let problem = Problem::new(design, y, loss, Zero, 2.0 * l0 / (y.len() as f64 - 2.0))?;
        let (best, _) = optimum(context, &problem)?;
        Ok(Bench { context, problem, best })
    }

    /// Runs an entry with several seeds.
    pub(super) fn run(&self, entry: &Entry, passes: f64, seeds: u64) -> Result<Line, Failure> {
        let &Bench { context, ref problem, best } = self;
        let seeds: Vec<u64> = (context.seed..context.seed + seeds).collect();
        let runs = parallel::try_map(&seeds, |&seed| {
            let mut watch = Watch::new(context);
            let stop = context.stop(entry.name, Stop::after_passes(passes));
            solve(problem, entry, stop, seed, &mut watch)?;
            context.check().map(|()| watch.rows)
        })?;
        let name = entry.name;
        let curve = |runs: &[Vec<Seen>]| Curve { name, points: geometric_mean(runs, best) };
        Ok(Line { mean: curve(&runs), seeds: runs.chunks(1).map(curve).collect() })
    }
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
        Method::Sag(scale) | Method::FullSag(scale) => {
            let step = StepSize::Scaled(scale);
            let first = matches!(entry.method, Method::Sag(_));
            let table = if first { TableStart::FirstPass } else { TableStart::Full };
            let settings = SagSettings { step, order, table, seed, stop, ..Default::default() };
            sag(problem, &settings, None, watch)?;
        }
        Method::Saga(scale) => {
            let step = StepSize::Scaled(scale);
            let settings = SagaSettings { step, order, seed, stop, ..Default::default() };
            saga(problem, &settings, None, watch)?;
        }
        Method::Svrg(scale) => {
            let (step, inner) = (StepSize::Scaled(scale), Some(1.0));
            let settings = SvrgSettings { step, inner, order, seed, stop, ..Default::default() };
            svrg(problem, &settings, None, watch)?;
        }
        Method::Sdca => {
            sdca(problem, &SdcaSettings { order, seed, stop, ..Default::default() }, None, watch)?;
        }
        Method::Finito(alpha) | Method::FullFinito(alpha) => {
            let first = matches!(entry.method, Method::Finito(_));
            let start = if first { FinitoStart::FirstPass } else { FinitoStart::Full };
            let alpha = Some(alpha);
            let settings = FinitoSettings { alpha, order, seed, stop, start, ..Default::default() };
            finito(problem, &settings, None, watch)?;
        }
        Method::Miso => {
            miso(problem, &MisoSettings { order, seed, stop, ..Default::default() }, None, watch)?;
        }
    }
    Ok(())
}
