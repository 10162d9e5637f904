//! This module tests the other statements of A. Defazio, PhD thesis 2014, table 5.1: eight methods and three access
//! orders on rows with independent entries.

use std::ops::ControlFlow;

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{CoordinateSettings, coordinate_descent};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Cadence, Loss, Observer, Progress, Stop};
use ndarray::{Array1, Array2};
use rand::RngExt;

use super::methods::{Entry, Line, Method, optimum, run};
use super::thesis;
use crate::race::{Curve, geometric_mean};
use crate::{Context, Failure, Outcome, Reason, Sample, Source, Table};

const N: usize = 500;
const D: usize = 20;
const PASSES: f64 = 20.0;
/// Data sets, each with a seed of its own for the orders.
const SETS: u64 = 5;

/// Rows of independent entries, of length 1; noisy labels.
fn data(seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut rng = stream(seed, 2);
    // The sum of twelve uniform numbers: normal for all that matters here.
    let mut normal = || (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
    let mut x = Array2::from_shape_simple_fn((N, D), &mut normal);
    x.rows_mut().into_iter().for_each(|mut row| {
        let norm = row.dot(&row).sqrt();
        row /= norm;
    });
    let truth = Array1::from_shape_simple_fn(D, &mut normal);
    let y = x.rows().into_iter().map(|a| (a.dot(&truth) + 0.3 * normal()).signum());
    let y = y.collect();
    (x, y)
}

/// Coordinate descent with steps of `1/L_c`, of which `d` are a pass: a sweep, or `d` steps of the rule of Gauss and Southwell,
/// which takes the coordinate of the largest derivative.
fn descend(
    context: &Context,
    problem: &Problem<'_, Dense<'_, f64>, Logistic, Zero>,
    name: &str,
    order: &Order,
) -> Result<Vec<(f64, f64)>, Failure> {
    // Neither is in the thesis.
    let (extrapolates, working_set) = (false, false);
    // A certificate after every sweep, or after every step of that rule.
    let stop = Stop { check: Cadence::Every(1e-3), ..Stop::after_passes(1e4) };
    let (order, seed) = (order.clone(), context.seed);
    let share = if order == Order::LargestGap { 1.0 / D as f64 } else { 1.0 };
    let stop = context.stop(name, stop);
    let settings =
        CoordinateSettings { order, extrapolates, working_set, seed, stop, ..Default::default() };
    let mut watch = Sweeps { context, share, rows: vec![] };
    coordinate_descent(problem, &settings, None, &mut watch)?;
    context.check()?;
    Ok(watch.rows)
}

/// Records the objective of coordinate descent, and ends it after [`PASSES`] passes of `d` steps.
struct Sweeps<'c, 'd> {
    context: &'c Context<'d>,
    /// Passes in a call of the oracle.
    share: f64,
    rows: Vec<(f64, f64)>,
}

impl<M> Observer<M> for Sweeps<'_, '_> {
    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        let passes = self.share * progress.oracle_calls as f64;
        self.rows.push((passes, progress.certificate.objective().unwrap_or(f64::INFINITY)));
        if passes > PASSES - 1e-9 { ControlFlow::Break(()) } else { self.context.control() }
    }
}

/// The results of a method in random, permuted and cyclic order, with one curve per data set.
struct Row {
    name: &'static str,
    orders: [Line; 3],
}

impl Row {
    /// `F - F*` after 20 passes in each order.
    fn gaps(&self) -> Result<[Sample; 3], Failure> {
        let [a, b, c] = &self.orders;
        Ok([a.at(PASSES)?, b.at(PASSES)?, c.at(PASSES)?])
    }

    /// Passes to a target in each order.
    fn passes_to(&self, target: f64) -> Result<[Sample; 3], Failure> {
        let [a, b, c] = &self.orders;
        Ok([a.passes_to(target)?, b.passes_to(target)?, c.passes_to(target)?])
    }
}

const METHODS: [(&str, Option<Method>); 8] = [
    ("Finito, alpha 2", Some(Method::FullFinito(2.0))),
    ("SAGA, 1/(3L)", Some(Method::Saga(1.0))),
    ("SAG, 1/L", Some(Method::FullSag(1.0))),
    ("SDCA", Some(Method::Sdca)),
    ("SVRG, 1/(4L)", Some(Method::Svrg(1.0))),
    ("MISO", Some(Method::Miso)),
    ("SGD, 1/(L + mu k)", Some(Method::Sgd { decaying: true })),
    ("coordinate descent, 1/L_c", None),
];
const ORDERS: [Order; 3] = [Order::Uniform, Order::Permuted, Order::Cyclic];

/// Coordinate descent by the rule of Gauss and Southwell.
const GREEDY: &str = "coordinate descent, Gauss-Southwell";

/// Adds the runs of one data set. Returns the curve of [`GREEDY`], the start and the bound of theorem 3.1 after 20 passes, `(1 - 1/2n)^k 3/(4 mu) ||f'||^2`.
fn on_one_set(
    context: &Context,
    set: u64,
    curves: &mut [[Vec<Curve>; 3]],
) -> Result<(Curve, f64, f64), Failure> {
    let seed = context.seed + set;
    let (x, y) = data(seed);
    // n mu = 2 L
    let mu = 2.0 * Logistic.curvature() / (N as f64 - 2.0);
    let problem = Problem::new(Dense::new(x.view())?, &y, Logistic, Zero, mu)?;
    let (best, _) = optimum(context, &problem)?;
    let own = Context { seed, ..context.clone() };
    for (k, ((name, method), curves)) in METHODS.into_iter().zip(curves).enumerate() {
        context.progress(0.5 + (set * 8 + k as u64) as f64 / (16 * SETS) as f64, name);
        for (order, curves) in ORDERS.iter().zip(curves) {
            let points = match method {
                Some(method) => {
                    let entry = Entry::new(name, method, order.clone());
                    run(&own, &problem, &entry, PASSES, 1, best)?.mean.points
                }
                None => geometric_mean(&[descend(&own, &problem, name, order)?], best),
            };
            curves.push(Curve { name, points });
        }
    }
    let gradient = x.t().dot(&Array1::from_iter(y.iter().map(|y| -0.5 * y))) / N as f64;
    let bound =
        (1.0 - 0.5 / N as f64).powf(PASSES * N as f64) * 0.75 / mu * gradient.dot(&gradient);
    let greedy = descend(&own, &problem, GREEDY, &Order::LargestGap)?;
    let greedy = Curve { name: GREEDY, points: geometric_mean(&[greedy], best) };
    Ok((greedy, 2f64.ln() - best, bound))
}

pub(super) fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let mut curves: Vec<[Vec<Curve>; 3]> =
        METHODS.iter().map(|_| [vec![], vec![], vec![]]).collect();
    let (mut greedy, mut starts, mut bounds) = (vec![], vec![], vec![]);
    for set in 0..SETS {
        let (curve, start, bound) = on_one_set(context, set, &mut curves)?;
        greedy.push(curve.at(PASSES));
        starts.push(start);
        bounds.push(bound);
    }
    let line = |seeds: Vec<Curve>| Line { mean: seeds[0].clone(), seeds };
    let rows: Vec<Row> = METHODS
        .iter()
        .zip(curves)
        .map(|((name, _), orders)| Row { name, orders: orders.map(line) })
        .collect();
    let mut table = Table::new(
        "F - F* after 20 passes, independent rows: log loss, n = 500, d = 20, n mu = 2 L; median of five data sets",
        ["method", "random", "permuted", "cyclic", "Gauss-Southwell"],
    );
    let greedy = Sample::over_seeds(greedy)?;
    for (row, (_, method)) in rows.iter().zip(METHODS) {
        let [random, permuted, cyclic] = row.gaps()?.map(|gaps| gaps.median().into());
        let last = if method.is_none() { greedy.median().into() } else { "–".into() };
        table.push([row.name.into(), random, permuted, cyclic, last]);
    }
    outcome.table(table);
    // Of five data sets, the one that is nearest to its optimum at the start.
    let start = starts.into_iter().fold(f64::INFINITY, f64::min);
    judge(outcome, &rows, &greedy, start, &Sample::over_seeds(bounds)?)
}

const SVRG: Source = thesis(
    "5.2",
    "Interestingly, even when the recalibration step of SVRG is run every pass, using a cyclic ordering is still much \
     slower",
);
const SDCA: Source = thesis("5.2", "Cyclic ordering is extremely slow but convergent.");
const MISO: Source =
    thesis("5.2", "Empirically it converges under randomised, cyclic and permuted ordering.");
const ROBUST: Source = thesis(
    "5.3",
    "Both cyclic and permuted orderings work in practice as fast as the randomised ordering.",
);
const SAGA: Source = thesis(
    "5.2",
    "The permuted ordering converges at a similar rate to randomised ordering, but sometimes 50% slower or faster.",
);
const SGD: Source = thesis(
    "5.2",
    "Empirically fast under randomised ordering, but generally faster under permuted ordering.",
);
const SGD_CYCLIC: Source =
    thesis("5.2", "Cyclic order convergent with small enough step sizes, but slower.");
const DESCENT: Source = thesis(
    "5.2",
    "Empirically, cyclic can be better than randomised in some cases. Permuted at least as fast as randomised.",
);
const SOUTHWELL: Source = thesis(
    "5.2",
    "At each step the coordinate with the largest gradient is chosen. Nutini et al. (2015) show quite extensive theoretical and \
     practical results supporting the GS rule and its variants.",
);
const DIVERGES: Source = thesis("3.2", "It diverges in practice if a cyclic access order is used.");
const RATE: Source = thesis(
    "theorem 3.1",
    "When the big-data condition holds with beta = 2, alpha = 2 may be used. In that setting, the expected convergence rate \
     is: E[f(phi^k) - f(w*)] <= (1 - 1/(2n))^k 3/(4 mu) ||f'(phi^0)||^2.",
);

fn judge(
    outcome: &mut Outcome,
    rows: &[Row],
    greedy: &Sample,
    start: f64,
    bounds: &Sample,
) -> Result<(), Failure> {
    let [finito, saga, _, sdca, svrg, miso, sgd, descent] = rows else {
        return Err(Failure::new("one row a method"));
    };
    let claim = |source: Source, statement: &str, methods: &[&str]| {
        source.claim(format!("independent rows: {statement}")).rests_on(methods.iter().copied())
    };
    let [random, _, cyclic] = svrg.gaps()?;
    outcome.claim(
        claim(
            SVRG,
            "SVRG converges in cyclic order, more slowly than at random",
            &["SVRG, 1/(4L)"],
        )
        .ours("on each of five data sets, F - F* after 20 passes below 1e-3, and above the random order's")
        .holds(random.below(&cyclic).and(cyclic.at_most(1.0, &Sample::exact(1e-3)).named("cyclic"))),
    );
    let [_, permuted, cyclic] = sdca.passes_to(1e-6)?;
    outcome.claim(
        claim(SDCA, "SDCA converges in cyclic order, more slowly than permuted", &["SDCA"])
            .ours("on each of five data sets, more than the permuted order's passes to 1e-6, which it reaches in 20")
            .holds(permuted.below(&cyclic).and(cyclic.at_most(1.0, &Sample::exact(PASSES)).named("cyclic"))),
    );
    let [_, _, left] = sdca.gaps()?;
    outcome.claim(
        claim(SDCA, "SDCA in cyclic order is as far as an independent implementation", &["SDCA"])
            .specification("on each of five data sets, F - F* after 20 passes at most 2e-8")
            .known_failure(
                left.at_most(1.0, &Sample::exact(2e-8)),
                Reason::unknown("the independent run had other data of this kind, and no other number of it is known"),
            ),
    );
    let [random, permuted, cyclic] = miso.gaps()?;
    let [_, arrives, _] = finito.passes_to(1e-6)?;
    let never = Sample::exact(PASSES);
    let fastest = miso.passes_to(1e-6)?;
    let slow = fastest.iter().all(|passes| passes.values().iter().all(|p| *p > PASSES));
    let moved = cyclic.past_start(start, 1.01).and(random.past_start(start, 1.01));
    outcome.claim(
        claim(MISO, "MISO is slow in every order, and converges", &["MISO", "Finito, alpha 2"])
            .ours(
                "on each of five data sets permuted Finito is at 1e-6 within 20 passes, MISO in no order, though a hundredth \
                 nearer than at the start",
            )
            .holds(
                arrives.at_most(1.0, &never).named("Finito").and((if slow { "MISO: never" } else { "MISO arrives" }, slow)).and(moved.clone()),
            ),
    );
    outcome.claim(
        claim(ROBUST, "MISO is as fast in cyclic and permuted order as at random", &["MISO"])
            .ours("on each of five data sets, F - F* after 20 passes at most 1.1 times the random order's")
            .fixed_after_a_run()
            .holds(cyclic.at_most(1.1, &random).and(permuted.at_most(1.1, &random)).and(moved)),
    );
    let [random, permuted, _] = saga.passes_to(1e-8)?;
    outcome.claim(
        claim(
            SAGA,
            "SAGA is at most 50% slower or faster permuted than at random",
            &["SAGA, 1/(3L)"],
        )
        .document(
            "on each of five data sets, passes to 1e-8 between 0.5 and 1.5 times those at random",
        )
        .holds(permuted.at_most(1.5, &random).and(random.at_most(2.0, &permuted))),
    );
    let [random, permuted, cyclic] = sgd.gaps()?;
    let moved = random.past_start(start, 3.0);
    outcome.claim(
        claim(SGD, "SGD is better permuted than at random", &["SGD, 1/(L + mu k)"])
            .document("on each of five data sets, smaller F - F* after 20 passes")
            .holds(permuted.below(&random).and(moved)),
    );
    outcome.claim(
        claim(SGD_CYCLIC, "SGD converges in cyclic order, more slowly than at random", &["SGD, 1/(L + mu k)"])
            .ours("on each of five data sets, F - F* after 20 passes above the random order's, and a third of the start's at most")
            .known_failure(
                random.below(&cyclic).and(cyclic.past_start(start, 3.0)),
                Reason::checked(
                    "the order in which independent rows come is a permutation made once, and a new permutation every pass is \
                     ahead of random draws as well: its F - F*",
                    permuted.median(),
                    permuted.ahead_by(10.0, &random).holds,
                ),
            ),
    );
    let [random, permuted, cyclic] = descent.gaps()?;
    let moved = random.past_start(start, 10.0);
    outcome.claim(
        claim(
            DESCENT,
            "coordinate descent is at least as fast permuted as at random",
            &["coordinate descent, 1/L_c"],
        )
        .ours("on each of five data sets, F - F* after 20 passes not larger")
        .fixed_after_a_run()
        .holds(permuted.at_most(1.0, &random).and(moved.clone())),
    );
    outcome.claim(
        claim(
            DESCENT,
            "coordinate descent in cyclic order can be better than at random",
            &["coordinate descent, 1/L_c"],
        )
        .ours("on one of five data sets at least, smaller F - F* after 20 passes")
        .fixed_after_a_run()
        .holds(moved.and((
            cyclic.below(&random).measured.0,
            cyclic.values().iter().zip(random.values()).any(|(c, r)| c < r),
        ))),
    );
    let [random, ..] = descent.gaps()?;
    outcome.claim(
        claim(
            SOUTHWELL,
            "coordinate descent by the rule of Gauss and Southwell is ahead of random draws",
            &[GREEDY, "coordinate descent, 1/L_c"],
        )
        .ours("on each of five data sets, smaller F - F* after 20 passes of d steps")
        .holds(greedy.below(&random).and(random.past_start(start, 10.0))),
    );
    let [random, _, cyclic] = finito.gaps()?;
    outcome.claim(
        claim(DIVERGES, "Finito diverges in cyclic order", &["Finito, alpha 2"])
            .ours("on each of five data sets, F - F* after 20 passes above twice the start's")
            .fixed_after_a_run()
            .known_failure(
                Sample::exact(2.0 * start).below(&cyclic),
                Reason::checked(
                    "rows without structure in their order show no direction for long: an independent implementation has 1.8e-11 \
                     after 20 passes on data of this kind, here the median is",
                    cyclic.median(),
                    cyclic.values().iter().all(|gap| *gap <= 1e-8),
                ),
            ),
    );
    outcome.claim(
        claim(RATE, "Finito keeps to the bound of theorem 3.1", &["Finito, alpha 2"])
            .document("on each of five data sets, F - F* of the point w after 20 passes at random below the bound for the mean of the phi_i")
            .holds(random.at_most(1.0, bounds)),
    );
    Ok(())
}
