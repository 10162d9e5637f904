//! This module repeats figure 1.1 of A. Defazio, PhD thesis 2014: stochastic, batch and incremental methods in early
//! and late passes.

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Logistic;
use fenchel_linalg::{Design, row_norms_squared};
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;

use super::methods::{Entry, Line, Method, judged, line, means, optimum, run};
use super::tasks::{Task, tasks, with_design};
use super::thesis;
use crate::number::short;
use crate::race::table;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Sample, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "fs-ex7",
    file: file!(),
    document: super::DOCUMENT,
    title: "Figure 1.1: early and late stages",
    question: "Does an incremental gradient method have the quick start of SGD and the fast end of L-BFGS?",
    learnt: "SAGA has both on most sets; the factor of 10 to 20 over a batch method depends on the data.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["mnist-test", "ijcnn1", "w8a", "adult"],
    run: experiment,
};

/// L-BFGS is said to take 30 to 100 iterations to overtake.
const PASSES: f64 = 40.0;
/// At passes 1 and 2 L-BFGS has not left its start.
const EARLY: f64 = 3.0;
const LATE: [f64; 4] = [5.0, 10.0, 20.0, 40.0];

/// L-BFGS until it arrives.
const LONG: &str = "L-BFGS, many passes";
const MANY: f64 = 400.0;

const ACCEPTABLE: Source =
    thesis("1.3", "SGD gives acceptable solutions after 5-10 epochs (passes over the data)");
const TEN_TIMES: Source = thesis(
    "1.3",
    "The difference being in theory thousands of times faster convergence, and in practice usually 10-20 times better.",
);
const EARLY_STAGE: Source = thesis(
    "1.3",
    "Stochastic methods such as SGD [...] exhibit rapid convergence during early stages of optimisation, yielding a good \
     approximate solution quickly",
);
const ACCURATE: Source =
    thesis("1.3", "getting a high accuracy solution is nearly impossible with SGD");
const EVENTUALLY: Source =
    thesis("1.3", "LBFGS eventually gives a better solution, taking 30-100 iterations to do so");
const BOTH_WORLDS: Source = thesis(
    "1.3",
    "With favorable problem structure incremental gradient have the potential to offer the best of both worlds, having \
     rapid initial convergence without the later stage slow-down of SGD.",
);

fn entries() -> Vec<Entry> {
    vec![
        Entry::new("SGD", Method::Sgd { decaying: true }, Order::Uniform),
        Entry::new("SGD, constant step", Method::Sgd { decaying: false }, Order::Uniform),
        Entry::new("L-BFGS", Method::Lbfgs, Order::Cyclic),
        Entry::new("SAGA", Method::Saga(1.0), Order::Uniform),
    ]
}

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let seeds = 5;
    outcome
        .setting("l2", "2 L0 / (n - 2) with L0 = max ||a_i||^2 / 4, so that n mu = 2 L")
        .setting("rows", "unit norm")
        .setting("start", "0; SAGA fills its table (one pass)")
        .setting("steps", "SGD 1/(L + mu k), or 1/L; SAGA 1/(3 L)")
        .setting("seeds a curve (geometric mean)", seeds);
    outcome.note(
        "Figure 1.1 of the thesis is a sketch without data or numbers. It is drawn here on the data of figure 3.1; \
         the thresholds were written down before the first run.",
    );
    let tasks = tasks(context, &mut outcome)?;
    let count = tasks.len() as f64;
    for (k, task) in tasks.iter().enumerate() {
        let tick = |share: f64, what: &str| {
            context.progress((k as f64 + share) / count, &format!("{}: {what}", task.name));
        };
        tick(0.0, "optimum");
        let lines = with_design!(task, |design| race(context, design, &task.y, seeds, &tick)?);
        judge(&mut outcome, task, &lines)?;
        // The long run of L-BFGS is for one claim.
        let curves = means(&lines[..lines.len() - 1]);
        let mut figure = Figure::new(
            format!("Figure 1.1 on {}", task.name),
            Axis::linear("passes over the data"),
            Axis::log("F - F* (nats)").limits(1e-12, 1.0),
        )
        .caption(
            "Log loss with `n mu = 2 L`. SGD is ahead of L-BFGS at first, then stalled by the noise of its \
             gradients; SAGA has the quick start and the straight line.",
        );
        for curve in &curves {
            figure = figure.with(curve.series());
        }
        outcome.figure(figure);
        outcome.table(table(
            format!("F - F* on {}", task.name),
            &curves,
            &[1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0],
        ));
    }
    Ok(outcome)
}

fn race<D: Design>(
    context: &Context,
    design: D,
    y: &[f64],
    seeds: u64,
    tick: &dyn Fn(f64, &str),
) -> Result<Vec<Line>, Failure> {
    let l0 = 0.25 * row_norms_squared(&design).into_iter().fold(0.0, f64::max);
    let problem = Problem::new(design, y, Logistic, Zero, 2.0 * l0 / (y.len() as f64 - 2.0))?;
    let (best, _) = optimum(context, &problem)?;
    let entries = entries();
    let mut lines = vec![];
    for (k, entry) in entries.iter().enumerate() {
        tick((k + 1) as f64 / (entries.len() + 1) as f64, entry.name);
        let seeds = if entry.method == Method::Lbfgs { 1 } else { seeds };
        lines.push(run(context, &problem, entry, PASSES, seeds, best)?);
    }
    let long = Entry::new(LONG, Method::Lbfgs, Order::Cyclic);
    lines.push(run(context, &problem, &long, MANY, 1, best)?);
    Ok(lines)
}

fn judge(outcome: &mut Outcome, task: &Task, lines: &[Line]) -> Result<(), Failure> {
    let (sgd, lbfgs, saga) = (line(lines, "SGD")?, line(lines, "L-BFGS")?, line(lines, "SAGA")?);
    let name = task.name;
    let start = saga.start();
    let stated = |source: Source, what: &str, methods: &[&str], expected: &str| {
        let sentence = source.claim(format!("{name}: {what}")).rests_on(methods.iter().copied());
        sentence.on(task.ground()).ours(expected)
    };
    outcome.claim(judged(
        task,
        stated(
            EARLY_STAGE,
            "SGD is rapid in the early stage",
            &["SGD", "L-BFGS"],
            "in every seed, a lower objective than L-BFGS after 3 passes, when that has lost a tenth of F - F*",
        )
        .fixed_after_a_run(),
        sgd.at(EARLY)?.below(&lbfgs.at(EARLY)?).and(lbfgs.at(EARLY)?.past_start(start, 1.1)),
        None,
    ));
    outcome.claim(judged(
        task,
        stated(
            ACCEPTABLE,
            "SGD gives an acceptable solution after 5 to 10 passes",
            &["SGD"],
            "in every seed, F - F* after 10 passes at most a hundredth of that at the start",
        ),
        sgd.at(10.0)?.past_start(start, 100.0),
        matches!(name, "mnist" | "adult").then(|| {
            Reason::unknown("the hundredth is this experiment's; one seed in three, or more, ends just above it")
        }),
    ));
    outcome.claim(judged(
        task,
        stated(
            ACCURATE,
            "SGD hardly ends at a solution of high accuracy",
            &["SGD"],
            "in every seed, F - F* after 40 passes from 1e-4 up to a thirtieth of that at the start",
        ),
        Sample::exact(1e-4)
            .at_most(1.0, &sgd.at(PASSES)?)
            .and(sgd.at(PASSES)?.past_start(start, 30.0)),
        None,
    ));
    outcome.claim(judged(
        task,
        stated(
            EVENTUALLY,
            "L-BFGS eventually gives a better solution than SGD",
            &["L-BFGS", "SGD"],
            "in every seed, a lower objective after 40 passes, when SGD is at a thirtieth of its start at most",
        ),
        lbfgs.at(PASSES)?.below(&sgd.at(PASSES)?).and(sgd.at(PASSES)?.past_start(start, 30.0)),
        None,
    ));
    // On w8a three rows in a hundred are positive.
    let ahead = |p: f64| saga.mean.at(p) < sgd.mean.at(p);
    let from = (1..=PASSES as usize).find(|&p| (p..=PASSES as usize).all(|p| ahead(p as f64)));
    let known = (name == "w8a").then(|| {
        Reason::checked(
            "SGD is ahead of SAGA until pass 6 and never after it: few positive rows leave its gradients little noise, while \
             SAGA has spent a pass on its table and takes steps a third as long",
            from.map_or_else(|| "never overtaken".into(), |p| format!("SAGA is ahead from pass {p} on")),
            from.is_some_and(|p| (6..=10).contains(&p)),
        )
    });
    let mut both = sgd.at(PASSES)?.past_start(start, 30.0).named("SGD");
    both = both.and(lbfgs.at(PASSES)?.past_start(start, 30.0).named("L-BFGS"));
    for passes in LATE {
        let own = saga.at(passes)?;
        let done = own.values().iter().all(|gap| *gap <= 1e-10);
        let rival = own.below(&lbfgs.at(passes)?);
        both =
            both.and(own.below(&sgd.at(passes)?).named(format!("{} passes, SGD", short(passes))));
        both = both.and((rival.measured, rival.holds || done));
    }
    outcome.claim(judged(
        task,
        stated(
            BOTH_WORLDS,
            "an incremental gradient method has the best of both worlds",
            &["SAGA", "SGD", "L-BFGS"],
            "in every seed, after 5, 10, 20 and 40 passes SAGA is below SGD, and below L-BFGS or at F - F* <= 1e-10",
        ),
        both,
        known,
    ));
    let (quick, slow) = (saga.passes_to(1e-6)?, line(lines, LONG)?.passes_to(1e-6)?);
    outcome.claim(judged(
        task,
        stated(
            TEN_TIMES,
            "an incremental gradient method is 10 to 20 times better than a batch method",
            &["SAGA", LONG],
            "in every seed, L-BFGS needs 10 to 20 times the passes of SAGA to F - F* = 1e-6",
        ),
        quick.ahead_by(10.0, &slow).and(slow.at_most(20.0, &quick)),
        Some(Reason::unknown(
            "at this accuracy and n mu = 2 L, L-BFGS needs 1.4 to 5 times the passes; how many it needs is decided by the spectrum of \
             the data, which no bound of the document knows",
        )),
    ));
    Ok(())
}
