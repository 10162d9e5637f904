//! This module repeats A. Defazio, PhD thesis 2014, table 5.1: the effect of the access order on each method, on the thesis's
//! own data and on features that turn slowly.

use std::ops::ControlFlow;

use fenchel_datasets::embedded;
use fenchel_datasets::transform::normalise_rows;
use fenchel_finite_sum::Standardiser;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{CoordinateSettings, coordinate_descent};
use fenchel_linalg::Design;
use fenchel_linalg::text::short;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Cadence, Observer, Progress, Stop};

use super::methods::{Bench, Entry, Line, Method};
use super::sets::{Need, over};
use super::tasks::{Matrix, Task, tasks, with_design};
use super::{rotating, thesis};
use crate::race::{Curve, Seen, geometric_mean};
use crate::{Context, Experiment, Failure, Judged, Outcome, SEEDS, Sample, Size, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "fs-ex5",
    title: "Table 5.1: access orders",
    question: "How does the speed of each incremental method change with the order in which it visits the terms?",
    learnt: "A new permutation in each pass makes Finito faster than random draws, and SAG slower. Cyclic order, that of the file, makes every fast method much slower, and SAG and SVRG diverge in it on real data. On rows that turn slowly Finito and SAG diverge in it.",
    smaller: "the thesis names no data; MNIST is here its 10,000 test images",
    needs: &["mnist-test", "ijcnn1"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

/// What most claims measure.
const GAP: &str = "F - F*";
const PASSES: f64 = 20.0;

const METHODS: [(&str, Option<Method>); 8] = [
    ("Finito, alpha 2", Some(Method::FullFinito(2.0))),
    ("SAGA, 1/(3L)", Some(Method::Saga(1.0))),
    ("SVRG, 1/(4L)", Some(Method::Svrg(1.0))),
    ("SAG, 1/L", Some(Method::FullSag(1.0))),
    ("SDCA", Some(Method::Sdca)),
    ("MISO", Some(Method::Miso)),
    ("SGD, 1/(L + mu k)", Some(Method::Sgd { decaying: true })),
    (DESCENT, None),
];
const DESCENT: &str = "coordinate descent, 1/L_c";
/// Coordinate descent by the rule of Gauss and Southwell.
const GREEDY: &str = "coordinate descent, Gauss-Southwell";
/// On which data coordinate descent runs.
const FEW: &str = "sets with at most 100 features only; the thesis names no data";
const KEPT: &str = "Finito, permuted once";

/// The lines of one data set.
struct Found {
    /// In random, permuted and cyclic order; none for coordinate descent where there are too many features.
    rows: Vec<Option<[Line; 3]>>,
    kept: Line,
    greedy: Option<Line>,
    /// The bound of theorem 3.1 after 20 passes, `(1 - 1/2n)^k 3/(4 mu) ||f'||^2`.
    bound: f64,
}

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    outcome
        .setting("l2", "2 L0 / (n - 2) for n rows, where L0 is the largest curvature of a term; with mu = l2 and L = L0 + l2 this is n mu = 2 L")
        .setting("start", "w = 0; Finito, SAGA and SAG first compute the gradients of all terms (one pass); on turning features the numbers that a method stores start at sin 1, sin 2, sin 3, ...")
        .setting("seeds", format!("{SEEDS}; claims and tables compare medians over the seeds, shown as median [least, largest]; cyclic order is that of the file and has no randomness"));
    rotating::experiment(context, outcome)?;
    let mut sets = vec![];
    if context.data.is_some() {
        // In the order of a third of the images SGD is ahead of random draws.
        let whole = Context { size: Size::Full, ..context.clone() };
        sets = tasks(&whole, &mut Outcome::default())?;
        sets.retain(|task| ["mnist", "ijcnn1"].contains(&task.name));
    }
    if sets.is_empty() {
        outcome.note("MNIST and ijcnn1 are not there: the breast cancer data in their place are shown, not judged.");
        let data = embedded::breast_cancer();
        let mut x = Standardiser::fit(&data.x)?.transform(&data.x)?;
        normalise_rows(&mut x);
        let (x, y) = (Matrix::Dense(x), data.y.to_vec());
        sets.push(Task { name: "breast cancer", generated: true, x, y });
    }
    let mut all = vec![];
    for (k, task) in sets.iter().enumerate() {
        let share = 0.5 + 0.5 * k as f64 / sets.len() as f64;
        context.progress(share, task.name)?;
        let found = with_design!(task, |design| on_one_set(context, design, &task.y)?);
        let mut table = Table::new(
            format!(
                "{} ({} rows): F - F* after 20 passes, medians over {SEEDS} seeds",
                task.name,
                task.y.len()
            ),
            ["method", "random", "permuted", "cyclic"],
        );
        for ((name, _), row) in METHODS.iter().zip(&found.rows) {
            let Some(row) = row else { continue };
            let medians = row.iter().map(|line| Ok(line.at(PASSES)?.median().into()));
            let medians = medians.collect::<Result<Vec<_>, Failure>>()?;
            table.push([(*name).into()].into_iter().chain(medians));
        }
        outcome.table(table);
        all.push(found);
    }
    judge(outcome, &sets, &all)
}

fn on_one_set<D: Design + Copy>(context: &Context, design: D, y: &[f64]) -> Result<Found, Failure> {
    let n = y.len();
    let bench = Bench::new(context, design, y, Logistic)?;
    let few = design.columns() <= 100;
    let mut rows = vec![];
    for (name, method) in METHODS {
        let line = |order: Order| {
            let seeds = if order == Order::Cyclic { 1 } else { SEEDS as u64 };
            match method {
                Some(method) => bench.run(&Entry::new(name, method, order), PASSES, seeds),
                None => descend(&bench, name, &order, seeds),
            }
        };
        rows.push(match method.is_some() || few {
            true => Some([line(Order::Uniform)?, line(Order::Permuted)?, line(Order::Cyclic)?]),
            false => None,
        });
    }
    let mut seeds = vec![];
    for seed in 0..SEEDS as u64 {
        let mut visits = Visits::new(&Order::Permuted, n, context.seed + seed)?;
        let script = Order::Scripted((0..n).map(|_| visits.draw()).collect());
        let entry = Entry::new(KEPT, Method::FullFinito(2.0), script);
        seeds.push(bench.run(&entry, PASSES, 1)?.mean);
    }
    let kept = Line { mean: seeds[0].clone(), seeds };
    let slopes: Vec<f64> = y.iter().map(|y| -0.5 * y / n as f64).collect();
    let mut gradient = vec![0.0; design.columns()];
    fenchel_linalg::multiply_transposed(&design, &slopes, &mut gradient);
    let squared: f64 = gradient.iter().map(|g| g * g).sum();
    let bound =
        (1.0 - 0.5 / n as f64).powf(PASSES * n as f64) * 0.75 / bench.problem.l2() * squared;
    let greedy = few.then(|| descend(&bench, GREEDY, &Order::LargestGap, 1)).transpose()?;
    Ok(Found { rows, kept, greedy, bound })
}

/// Coordinate descent with steps of `1/L_c`, of which `d` are a pass: a sweep, or `d` steps of the rule of Gauss and Southwell,
/// which takes the coordinate of the largest derivative.
fn descend<D: Design>(
    bench: &Bench<'_, D, Logistic>,
    name: &'static str,
    order: &Order,
    seeds: u64,
) -> Result<Line, Failure> {
    let &Bench { context, ref problem, best } = bench;
    // Neither is in the thesis.
    let (extrapolates, working_set) = (false, false);
    // A certificate after every sweep, or after every step of that rule.
    let stop = Stop { check: Cadence::Every(1e-3), ..Stop::after_passes(1e4) };
    let share =
        if *order == Order::LargestGap { 1.0 / problem.design().columns() as f64 } else { 1.0 };
    let mut lines = vec![];
    for k in 0..seeds {
        let (order, seed, stop) = (order.clone(), context.seed + k, context.stop(name, stop));
        let base = CoordinateSettings { extrapolates, working_set, ..Default::default() };
        let settings = CoordinateSettings { order, seed, stop, ..base };
        let mut watch = Sweeps { context, share, rows: vec![] };
        coordinate_descent(problem, &settings, None, &mut watch)?;
        context.check()?;
        lines.push(Curve { name, points: geometric_mean(&[watch.rows], best) });
    }
    Ok(Line { mean: lines[0].clone(), seeds: lines })
}

/// Records the objective of coordinate descent, and ends it after [`PASSES`] passes of `d` steps.
struct Sweeps<'c, 'd> {
    context: &'c Context<'d>,
    /// Passes in a call of the oracle.
    share: f64,
    rows: Vec<Seen>,
}

impl<M> Observer<M> for Sweeps<'_, '_> {
    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        let passes = self.share * progress.oracle_calls as f64;
        let objective = progress.certificate.objective().unwrap_or(f64::INFINITY);
        self.rows.push(Seen { passes, objective, gap: progress.certificate.value() });
        if passes > PASSES - 1e-9 { ControlFlow::Break(()) } else { self.context.control() }
    }
}

const CYCLIC: Source = thesis(
    "5.2",
    "One thing is clear though, for all fast incremental gradient methods, the cyclic ordering is extremely inferior.",
);

fn judge(outcome: &mut Outcome, sets: &[Task], all: &[Found]) -> Result<(), Failure> {
    // `F - F*` of a method after 20 passes in random, permuted and cyclic order.
    let of = |k: usize, method: usize| {
        let row = all[k].rows[method].as_ref();
        row.ok_or_else(|| Failure::new("this set has too many features"))
    };
    let three = |k, method, number: fn(&Line) -> Result<Sample, Failure>| {
        let [a, b, c] = of(k, method)?;
        Ok::<_, Failure>([number(a)?, number(b)?, number(c)?])
    };
    let gaps = |k: usize, method: usize| three(k, method, |line| line.at(PASSES));
    let passes = |k: usize, method: usize| three(k, method, |line| line.passes_to(1e-8));
    let start = |k: usize| all[k].kept.start();
    let works = |k: usize, judged: Judged, loser: &Sample| {
        judged
            .provided(loser.improves_on(start(k)).holds, "the slower order has not left its start")
    };
    let smaller = "the faster order has the smaller F - F* after 20 passes";
    let mut claim = |source: Source,
                     statement: &str,
                     (threshold, unit): (&str, &str),
                     methods: &[&str],
                     row: &dyn Fn(usize) -> Result<Judged, Failure>| {
        let sentence = source.claim(statement).in_unit(unit).rests_on(methods);
        let threshold = format!("{threshold} (medians over {SEEDS} seeds; cyclic: one run)");
        outcome.claim(over(sets, Need::All, sentence, &threshold, row)?);
        Ok::<_, Failure>(())
    };
    let name = |method: usize| METHODS[method].0;
    claim(
        thesis(
            "3.2",
            "The technique of pre-permuting the data, then doing in order passes after that, is not enough [for Finito].",
        ),
        "Finito in one permutation that is kept for all passes is slower than with random draws",
        (
            "larger F - F* after 20 passes than with random draws",
            "F - F*: random draws, against one permutation",
        ),
        &[KEPT, name(0)],
        &|k| {
            let judged = gaps(k, 0)?[0].below(&all[k].kept.at(PASSES)?);
            Ok(judged.provided(all[k].kept.moves(), "it has not left its start"))
        },
    )?;
    for (method, (name, _)) in METHODS.iter().enumerate().take(5) {
        claim(
            CYCLIC,
            &format!("{name} is slower in cyclic order than with random draws"),
            (smaller, "F - F*: random draws, against cyclic order"),
            &[name],
            &|k| {
                let [random, _, cyclic] = gaps(k, method)?;
                Ok(random
                    .below(&cyclic)
                    .provided(of(k, method)?[2].moves(), "cyclic has not left its start"))
            },
        )?;
    }
    claim(
        thesis("5.2", "[Finito] Is always faster under permuted ordering."),
        "Finito is faster in permuted order than with random draws",
        ("fewer passes to F - F* = 1e-8", "passes: permuted order, against random draws"),
        &[name(0)],
        &|k| {
            let [random, permuted, _] = passes(k, 0)?;
            Ok(works(k, permuted.below(&random), &gaps(k, 0)?[0]))
        },
    )?;
    claim(
        thesis(
            "5.2",
            "[With SAGA] The permuted ordering converges at a similar rate to randomised ordering, but sometimes 50% slower or faster.",
        ),
        "SAGA in permuted order is at most 50 % slower or faster than with random draws",
        (
            "0.5 to 1.5 times the passes of random draws to F - F* = 1e-8",
            "passes: permuted order over random draws",
        ),
        &[name(1)],
        &|k| {
            let [random, permuted, _] = passes(k, 1)?;
            let ratio = permuted.median() / random.median();
            Ok((ratio, (0.5..=1.5).contains(&ratio)).into())
        },
    )?;
    claim(
        super::sets::SLOW_PERMUTED,
        "SAG is slower in permuted order than with random draws",
        (
            "larger F - F* after 20 passes than with random draws",
            "F - F*: random draws, against permuted order",
        ),
        &[name(3)],
        &|k| {
            let [random, permuted, _] = gaps(k, 3)?;
            let moved = of(k, 3)?[1].moves();
            Ok(random.below(&permuted).provided(moved, "permuted has not left its start"))
        },
    )?;
    claim(
        thesis("5.2", "[With SDCA] Cyclic ordering is extremely slow but convergent."),
        "SDCA converges in cyclic order",
        ("F - F* after 20 passes smaller than after 5 and at the start", GAP),
        &[name(4)],
        &|k| {
            let cyclic = &of(k, 4)?[2].mean;
            let at = [0.0, 5.0, 20.0].map(|p| cyclic.at(p));
            let [start, five, twenty] = at.map(short);
            let shown = format!("start {start}, 5 passes {five}, 20 passes {twenty}");
            Ok((shown, at[2] < at[1].min(at[0])).into())
        },
    )?;
    claim(
        thesis("5.2", "[...] it [MISO] converges under randomised, cyclic and permuted ordering."),
        "MISO converges with random draws, in permuted and in cyclic order",
        (
            "F - F*, geometric mean over 5 seeds, falls from 5 to 10, to 15 and to 20 passes",
            "F - F* after 5, 10, 15 and 20 passes",
        ),
        &[name(5)],
        &|k| {
            let at = |line: &Line| [5.0, 10.0, 15.0, 20.0].map(|p| line.mean.at(p));
            let falls = of(k, 5)?.iter().all(|line| at(line).is_sorted_by(|a, b| a > b));
            let told = |line: &Line| at(line).map(short).join(", ");
            let [random, permuted, cyclic] = of(k, 5)?.each_ref().map(told);
            Ok((format!("random {random}; permuted {permuted}; cyclic {cyclic}"), falls).into())
        },
    )?;
    claim(
        thesis(
            "5.2",
            "[SGD is] Empirically fast under randomised ordering, but generally faster under permuted ordering.",
        ),
        "SGD is faster in permuted order than with random draws",
        (smaller, "F - F*: permuted order, against random draws"),
        &[name(6)],
        &|k| {
            let [random, permuted, _] = gaps(k, 6)?;
            Ok(works(k, permuted.below(&random), &random))
        },
    )?;
    claim(
        thesis("5.2", "Cyclic order [of SGD] convergent with small enough step sizes, but slower."),
        "SGD converges in cyclic order, more slowly than with random draws",
        (
            "larger F - F* after 20 passes, but smaller than at the start",
            "F - F*: random draws, against cyclic order",
        ),
        &[name(6)],
        &|k| {
            let [random, _, cyclic] = gaps(k, 6)?;
            Ok(works(k, random.below(&cyclic), &cyclic))
        },
    )?;
    claim(
        thesis(
            "theorem 3.1",
            "When the big-data condition holds with beta = 2, alpha = 2 may be used. In that setting, the expected convergence rate \
             is: E[f(phi^k) - f(w*)] <= (1 - 1/(2n))^k 3/(4 mu) ||f'(phi^0)||^2.",
        ),
        "Finito with random draws keeps to the bound of theorem 3.1",
        (
            "F - F* (at w) after 20 passes (k = 20 n) at most the bound of the theorem",
            "F - F*: Finito, against the bound",
        ),
        &[name(0)],
        &|k| Ok(gaps(k, 0)?[0].at_most(1.0, &Sample::exact(all[k].bound))),
    )?;
    // Where there are few features.
    let Some(k) = all.iter().position(|found| found.greedy.is_some()) else { return Ok(()) };
    let (few, all) = (&sets[k..=k], &all[k]);
    let [random, permuted, cyclic] = gaps(k, 7)?;
    let greedy = all.greedy.as_ref().map_or(Ok(Sample::exact(f64::NAN)), |line| line.at(PASSES))?;
    const ORDERS: Source = thesis(
        "5.2",
        "[For coordinate descent] Empirically, cyclic can be better than randomised in some cases. Permuted at least as fast as randomised.",
    );
    let southwell = thesis(
        "5.2",
        "[The Gauss-Southwell (GS) rule:] At each step the coordinate with the largest gradient is chosen. Nutini et al. (2015) show quite extensive theoretical \
         and practical results supporting the GS rule and its variants.",
    );
    let judged = [
        (
            ORDERS,
            "is at least as fast in permuted order as with random draws",
            permuted.at_most(1.0, &random),
            DESCENT,
        ),
        (
            southwell,
            "by the rule of Gauss and Southwell (the largest derivative first) is faster than with random draws",
            greedy.below(&random),
            GREEDY,
        ),
    ];
    outcome.claim(
        ORDERS
            .claim("coordinate descent in cyclic order can be faster than with random draws")
            .at_size(FEW)
            .reported("F - F* after 20 passes of d steps, d the number of features: cyclic order (one run), and random draws (median over 5 seeds); not judged: \"in some cases\" names none", format!("{}: cyclic order {cyclic}, random draws {random}", few[0].name)),
    );
    for (source, statement, judged, method) in judged {
        let sentence = source
            .claim(format!("coordinate descent {statement}"))
            .in_unit("F - F*: this order, against random draws");
        let sentence = sentence.rests_on([DESCENT, method]).at_size(FEW);
        let judged = works(k, judged, &random);
        let threshold = "F - F* after 20 passes of d steps, d features: smaller, or for permuted order equal (medians over 5 seeds)";
        outcome.claim(over(few, Need::All, sentence, threshold, |_| Ok(judged.clone()))?);
    }
    Ok(())
}
