//! This module repeats figure 8 of Le Priol, Piche and Lacoste-Julien (2018): the effect of the precision of the line
//! search.

use std::sync::Arc;

use fenchel_crf::Order;
use fenchel_crf::methods::{NewtonStart, SdcaStep};

use super::paper;
use super::runs::{Curve, Method, curves};
use super::tasks::Set;
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Source, Table};

pub(super) const FIGURE_8: Experiment = Experiment {
    id: "crf-46",
    file: file!(),
    document: super::DOCUMENT,
    title: "Figure 8: precision of the line search",
    question: "How precise must the line search of SDCA be?",
    learnt: "A sub-precision of 0.01 is enough and takes about two Newton steps; far from the optimum it takes more.",
    quick: "",
    needs: &["conll2002-nl", "ocr", "conll2000"],
    run: experiment,
};

const PASSES: f64 = 15.0;

const RATE: Source = paper(
    "6.2",
    "On all datasets, if we ask 0.01 sub-precision or less, SDCA converges with the same rate.",
);

const SINGLE: Source = paper(
    "6.2",
    "We also performed experiments with only one step of the Newton update. The convergence was not affected on OCR, CONLL and \
     POS, but convergence failed on NER",
);

fn newton(tolerance: f64) -> SdcaStep {
    SdcaStep::Newton { tolerance, start: NewtonStart::Half }
}

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome.setting("l2", "1/n").setting("sampling", "by gaps, share 0.8");
    let methods = [
        ("sub-precision 1e-2", newton(1e-2)),
        ("sub-precision 1e-3", newton(1e-3)),
        ("sub-precision 1e-6", newton(1e-6)),
        ("one Newton step", SdcaStep::SingleNewton),
        ("always 0.5", SdcaStep::Fixed(0.5)),
        (
            "from the step before",
            SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::Previous },
        ),
    ]
    .map(|(name, step)| (name, Method::Sdca(Order::Gap, 0.8, step)));
    let (course, runs) = curves(context, Set::Entities, &methods, PASSES, 1)?;
    let task = &course.task;
    task.describe(&mut outcome);
    let passes = |run: &Curve| run.to(1e-4, |row| row.passes);
    let three: Vec<f64> = runs[..3].iter().map(|run| passes(run)).collect();
    let spread = three.iter().fold(0.0f64, |m, p| m.max((p - three[1]).abs()));
    let rate = RATE
        .claim("The rate does not depend on a sub-precision of 0.01 or less")
        .rests_on(["sub-precision 1e-2", "sub-precision 1e-3", "sub-precision 1e-6"])
        .ours("passes to P - P* = 1e-4 within 1 of each other");
    let list = three.iter().map(|p| short(*p)).collect::<Vec<_>>().join(", ");
    outcome.claim(task.judge(rate.holds((list, spread <= 1.0))));
    let means = evaluations(&runs[1]);
    let late = means.iter().skip(9).fold(0.0f64, |m, e| m.max(*e));
    let two = paper("6.2", "Reaching 0.01 or 0.001 takes on average 2 iterations.");
    let claim = |statement: &str| two.claim(statement).rests_on(["sub-precision 1e-3"]);
    let late_claim = claim("About two Newton steps are enough")
        .ours("evaluations a step at 1e-3: at most 3 from the tenth pass on")
        .fixed_after_a_run();
    outcome.claim(task.judge(late_claim.holds((late, late > 0.0 && late <= 3.0))));
    let then = means.iter().skip(1).fold(0.0f64, |m, e| m.max(*e));
    let third = means.iter().skip(2).fold(0.0f64, |m, e| m.max(*e));
    let start_claim = claim("They are enough from the start").specification(
        "evaluations a step at 1e-3: at most 5 in the first pass and 3 in each later one",
    );
    outcome.claim(task.judge(start_claim.known_failure(
        (
            format!("{} and {}", short(means[0]), short(then)),
            then > 0.0 && means[0] <= 5.0 && then <= 3.0,
        ),
        Reason::checked(
            "only the first two passes, far from the optimum, take more: from the third on at most 3.3 evaluations a step",
            third,
            third <= 3.3,
        ),
    )));
    let at = |k: usize| runs[k].at(PASSES).above;
    let start = runs[1].at(0.0).above;
    // What does not converge goes somewhere all the same.
    let went = |k: usize| (at(k) - start).abs() > 0.01 * start;
    let single = SINGLE
        .claim("A single Newton step fails on the entities")
        .rests_on(["sub-precision 1e-3", "one Newton step"])
        .ours("P - P* after 15 passes more than 10 times as large as at 1e-3");
    outcome.claim(task.judge(single.known_failure(
        (format!("{} against {}", short(at(3)), short(at(1))), at(3) > 10.0 * at(1) && went(3)),
        Reason::unknown(
            "one safeguarded step from 0.5 converges here; the paper safeguards its search too (section 6.2), so that is not \
             the difference",
        ),
    )));
    let constant = Source::OURS
        .claim("A constant step of 0.5 fails")
        .rests_on(["always 0.5"])
        .ours("P - P* after 15 passes above 1");
    outcome.claim(task.judge(constant.holds((at(4), at(4) > 1.0 && went(4)))));
    let previous = passes(&runs[5]);
    let first = paper(
        "footnote 4",
        "We also tried initializing the line search with 0.5 or with the previous step size. There was no significant difference.",
    )
    .claim("It does not matter whether the search begins at 0.5 or at the previous step")
    .rests_on(["sub-precision 1e-3", "from the step before"])
    .ours("passes to P - P* = 1e-4 within 1 of each other");
    let measured = format!("{} and {}", short(three[1]), short(previous));
    outcome.claim(task.judge(first.holds((measured, (three[1] - previous).abs() <= 1.0))));
    let seconds = |k: usize| runs[k].at(PASSES).seconds;
    let time = paper(
        "6.2",
        "These 2 iterations were taking about 30% of the algorithms running time for each dataset.",
    );
    outcome.claim(task.judge(time.claim("Time of the line search").reported(
        "share of the seconds of 15 passes that a run with constant steps does without; two runs share the machine",
        1.0 - seconds(4) / seconds(1),
    )));
    others(context, &mut outcome)?;
    let mut table = Table::new(
        "Line searches",
        ["line search", "passes to 1e-4", "P - P* at 15", "evaluations, pass 1", "pass 15"],
    );
    for run in &runs {
        let means = evaluations(run);
        let found = passes(run);
        table.push([
            run.name.as_str().into(),
            if found.is_finite() { found.into() } else { "–".into() },
            run.at(PASSES).above.into(),
            means[0].into(),
            means[means.len() - 1].into(),
        ]);
    }
    outcome.table(table);
    outcome.figure(figure("Dutch entities", &runs));
    Ok(outcome)
}

fn figure(name: &str, runs: &[Arc<Curve>]) -> Figure {
    let axis = Axis::log("P - P*").limits(1e-7, 1e3);
    let figure = Figure::new(format!("Figure 8 on {name}"), Axis::linear("passes"), axis);
    runs.iter().fold(figure, |f, run| f.with(run.series(|r| r.passes, |r| r.above)))
}

/// The sentences that are about the other data sets too.
fn others(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let methods = [
        ("sub-precision 1e-2", newton(1e-2)),
        ("sub-precision 1e-3", newton(1e-3)),
        ("sub-precision 1e-6", newton(1e-6)),
        ("one Newton step", SdcaStep::SingleNewton),
    ]
    .map(|(name, step)| (name, Method::Sdca(Order::Gap, 0.8, step)));
    for set in [Set::Ocr, Set::Chunks, Set::Parts] {
        let (course, runs) = curves(context, set, &methods, PASSES, 1)?;
        let (task, name) = (&course.task, course.task.name);
        task.describe(outcome);
        let at = [0, 1, 2, 3].map(|k| runs[k].at(PASSES).above);
        let start = runs[1].at(0.0).above;
        let (low, high) =
            at[..3].iter().fold((f64::INFINITY, 0.0f64), |(l, h), &x| (l.min(x), h.max(x)));
        let rate = RATE
            .claim(format!("{name}: the rate does not depend on a sub-precision of 0.01 or less"))
            .rests_on(["sub-precision 1e-2", "sub-precision 1e-3", "sub-precision 1e-6"])
            .ours("P - P* after 15 passes within a factor 2 of each other");
        let list = at[..3].iter().map(|x| short(*x)).collect::<Vec<_>>().join(", ");
        let judged = (list, high <= 2.0 * low && high < 0.1 * start);
        outcome.claim(task.judge(rate.holds(judged)));
        let single = SINGLE
            .claim(format!("{name}: a single Newton step does no harm"))
            .rests_on(["sub-precision 1e-3", "one Newton step"])
            .ours("P - P* after 15 passes at most twice as large as at 1e-3");
        let measured = format!("{} against {}", short(at[3]), short(at[1]));
        let judged = (measured, at[3] <= 2.0 * at[1] && at[1] < 0.1 * start);
        outcome.claim(task.judge(single.holds(judged)));
        if set == Set::Parts {
            outcome.figure(figure(name, &runs));
        }
    }
    Ok(())
}

/// The mean number of evaluations per line search in every pass, computed from the running means.
fn evaluations(run: &Curve) -> Vec<f64> {
    let total = |k: usize| run.rows[k].evaluations * run.rows[k].passes;
    let mut all: Vec<f64> = (1..run.rows.len()).map(|k| total(k) - total(k - 1)).collect();
    if all.is_empty() {
        all.push(f64::NAN);
    }
    all
}
