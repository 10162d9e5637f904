//! Figures 4, 6 and 7: SDCA against its competitors, by updates, by oracle calls and by test error.

use std::sync::Arc;

use fenchel_crf::Dataset;

use super::paper;
use super::runs::{Course, Curve, Method, Row, curves};
use super::tasks::Set;
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Size, Source, Table};

pub(super) const FIGURE_4: Experiment = Experiment {
    id: "crf-43",
    document: super::DOCUMENT,
    title: "Figure 4: the methods on handwriting and entities",
    needs: &["ocr", "conll2002-nl"],
    run: |context| race(context, &[Set::Ocr, Set::Entities], "Figure 4"),
};

pub(super) const FIGURE_6: Experiment = Experiment {
    id: "crf-44",
    document: super::DOCUMENT,
    title: "Figure 6: the methods on chunks and parts of speech",
    needs: &["conll2000"],
    run: |context| race(context, &[Set::Chunks, Set::Parts], "Figure 6"),
};

pub(super) const FIGURE_7: Experiment = Experiment {
    id: "crf-45",
    document: super::DOCUMENT,
    title: "Figure 7: test errors",
    needs: &["ocr", "conll2000", "conll2002-nl"],
    run: errors,
};

const PASSES: f64 = 20.0;
const UPDATES: fn(&Row) -> f64 = |row| row.passes;
const CALLS: fn(&Row) -> f64 = |row| row.calls;

fn methods() -> [(&'static str, Method); 6] {
    [
        ("SDCA by gaps", Method::gap(0.8)),
        ("SDCA uniform", Method::uniform()),
        ("OEG", Method::Oeg),
        ("SAG-NUS", Method::Sag(false)),
        ("SAG-NUS*", Method::Sag(true)),
        ("L-BFGS", Method::Lbfgs),
    ]
}

/// The runs of the first methods of [`methods`].
fn runs(
    context: &Context,
    set: Set,
    count: usize,
) -> Result<(Arc<Course>, Vec<Arc<Curve>>), Failure> {
    curves(context, set, &methods()[..count], PASSES, 1)
}

fn race(context: &Context, sets: &[Set], title: &str) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome
        .setting("l2", "1/n")
        .setting("SDCA", "Newton, sub-precision 1e-3; by gaps: share 0.8")
        .setting("P*", "certified to 1e-8 relative");
    for (k, &set) in sets.iter().enumerate() {
        context.progress(k as f64 / sets.len() as f64, set.name());
        let (course, runs) = runs(context, set, 6)?;
        course.task.describe(&mut outcome);
        if set == Set::Ocr {
            dense(context, &mut outcome, &course, &runs);
        } else {
            sparse(context, set, &mut outcome, &course, &runs);
        }
        let name = course.task.name;
        outcome.table(table(name, &course, &runs));
        let figure = |title: String, x: Axis, cost: fn(&Row) -> f64| {
            let axis = Axis::log("P - P*").limits(1e-6, 100.0);
            let figure = Figure::new(title, x.limits(0.0, 45.0), axis);
            runs.iter().fold(figure, |f, run| f.with(run.series(cost, |row| row.above)))
        };
        let updates = Axis::linear("updates / n");
        outcome.figure(figure(format!("{title} on {name}, by updates"), updates, UPDATES));
        let calls = Axis::linear("oracle calls / n");
        outcome.figure(
            figure(format!("{title} on {name}, by oracle calls"), calls, CALLS).caption(
                "A trial of a search counts as a call, and so does a smaller rate of OEG.",
            ),
        );
    }
    Ok(outcome)
}

fn sparse(
    context: &Context,
    set: Set,
    outcome: &mut Outcome,
    course: &Course,
    runs: &[Arc<Curve>],
) {
    let (task, name) = (&course.task, course.task.name);
    let gap = &runs[0];
    for (unit, cost) in [("updates", UPDATES), ("oracle calls", CALLS)] {
        let mut first = runs[1..].iter().all(|run| run.has_left_its_start());
        let mut list = Vec::new();
        for target in [1e-2, 1e-3, 1e-4] {
            let mine = gap.to(target, cost);
            let (best, other) = runs[1..]
                .iter()
                .map(|run| (run.to(target, cost), run.name.as_str()))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap_or((f64::INFINITY, "none"));
            first &= mine.is_finite() && mine < best;
            list.push(format!(
                "{}: {} against {} ({other})",
                short(target),
                short(mine),
                short(best)
            ));
        }
        let fewest = paper("6.4", "On the three other datasets, SDCA-GAP needs less iterations.")
            .claim(format!("{name}: SDCA by gaps needs the fewest {unit}"))
            .rests_on(methods().map(|(name, _)| name))
            .document(format!("first to P - P* = 1e-2, 1e-3 and 1e-4; {unit} / n"));
        outcome.claim(task.judge(fewest.holds((list.join("; "), first))));
    }
    let relative = 1e-3 * course.best;
    for (k, unit, cost) in
        [(2, "updates", UPDATES), (2, "oracle calls", CALLS), (3, "oracle calls", CALLS)]
    {
        let (mine, other) = (gap.to(relative, cost), reached(&runs[k], relative, cost));
        let ahead = paper(
            "6.4",
            "When we add the adaptive gap sampling, SDCA outperforms OEG by a margin.",
        )
        .claim(format!("{name}: SDCA by gaps is far ahead of {}", runs[k].name))
        .rests_on([gap.name.as_str(), runs[k].name.as_str()])
        .ours(format!("at least 2 times fewer {unit} to 1e-3 relative"));
        let measured = format!("{} against {}", short(mine), other.1);
        let judged = (measured, mine.is_finite() && 2.0 * mine <= other.0);
        // Where the factor is known to be missed, at which size of the run.
        let missed = match (set, k, unit) {
            (Set::Chunks, 2, "updates") => context.pick(true, false),
            (Set::Parts, 2, _) => context.pick(false, true),
            _ => false,
        };
        let factor = other.0 / mine;
        outcome.claim(task.judge(if missed {
            ahead.known_failure(
                judged,
                Reason::checked(
                    "the order is the document's and holds; the factor is ours, and these are fewer sentences than it has",
                    factor,
                    factor > 1.5,
                ),
            )
        } else {
            ahead.holds(judged)
        }));
    }
    alike(outcome, course, runs, set == Set::Parts && context.size == Size::Quick);
    skipping(outcome, course, runs);
}

/// Uniform SDCA against OEG, by updates; `apart` where the two are known not to be alike.
fn alike(outcome: &mut Outcome, course: &Course, runs: &[Arc<Curve>], apart: bool) {
    let reached = runs[1].at(PASSES).above;
    // OEG runs half as many passes again.
    let factor = runs[2].to(reached, UPDATES) / PASSES;
    let claim = paper(
        "6.4",
        "We observe that uniform SDCA and OEG need roughly the same number of parameters update on all four datasets.",
    )
    .claim(format!("{}: uniform SDCA and OEG are alike", course.task.name))
    .rests_on(["SDCA uniform", "OEG"])
    .ours("to where uniform SDCA is after 20 passes OEG takes between 1 / 1.5 and 1.5 times the updates")
    .fixed_after_a_run();
    let near = (1.0 / 1.5..=1.5).contains(&factor);
    let measured = format!("{} times, to P - P* = {}", short(factor), short(reached));
    outcome.claim(course.task.judge(if apart {
        let why = "on 300 sentences uniform SDCA gains on OEG from pass to pass; the text is not the paper's";
        claim.known_failure((measured, near), Reason::unknown(why))
    } else {
        claim.holds((measured, near))
    }));
}

/// SAG-NUS with skipped searches against SAG-NUS, by updates.
fn skipping(outcome: &mut Outcome, course: &Course, runs: &[Arc<Curve>]) {
    let (mut list, mut holds) = (Vec::new(), true);
    for passes in [10.0, 15.0, 20.0] {
        let [searched, skipped] = [3, 4].map(|k| runs[k].at(passes).above);
        holds &= searched < skipped;
        list.push(format!("{} against {}", short(skipped), short(searched)));
    }
    let past_start = runs[4].has_left_its_start();
    let claim = paper(
        "figure 4",
        "SAG-NUS* implements a line-search skipping strategy. It appears worse than SAG-NUS when we look at the number of \
         updates, which hides the cost of the line search.",
    )
    .claim(format!("{}: SAG-NUS* is worse than SAG-NUS by updates", course.task.name))
    .rests_on(["SAG-NUS", "SAG-NUS*"])
    .document("P - P* larger after 10, 15 and 20 passes");
    outcome.claim(course.task.judge(claim.holds((list.join("; "), holds && past_start))));
}

/// What a method needed, or a lower bound of it.
fn reached(run: &Curve, target: f64, cost: fn(&Row) -> f64) -> (f64, String) {
    let found = run.to(target, cost);
    if found.is_finite() {
        return (found, short(found));
    }
    let all = run.rows.last().map_or(0.0, cost);
    (all, format!("more than {}", short(all)))
}

fn dense(context: &Context, outcome: &mut Outcome, course: &Course, runs: &[Arc<Curve>]) {
    let at = |k: usize| runs[k].at(PASSES).above;
    let measured = format!("{} against {}", short(at(3)), short(at(0)));
    let fewer = |statement: &str| {
        paper("6.4", "On OCR, SDCA and SDCA-GAP do not perform as well as SAG-NUS.")
            .claim(statement)
            .rests_on(["SAG-NUS", "SDCA by gaps"])
    };
    let past_start = runs[0].has_left_its_start();
    let order = fewer("OCR: SAG-NUS needs fewer updates than SDCA by gaps")
        .document("P - P* after 20 passes smaller");
    outcome.claim(course.task.judge(order.holds((measured.clone(), at(3) < at(0) && past_start))));
    if context.size == Size::Full {
        let far = fewer("OCR: SAG-NUS is far ahead of SDCA by gaps")
            .ours("P - P* after 20 passes at least 3 times smaller");
        outcome.claim(course.task.judge(far.holds((measured, 3.0 * at(3) <= at(0) && past_start))));
    }
    alike(outcome, course, runs, false);
    skipping(outcome, course, runs);
    let margin =
        paper("6.4", "When we add the adaptive gap sampling, SDCA outperforms OEG by a margin.")
            .claim("OCR: SDCA by gaps is ahead of OEG by a margin")
            .rests_on(["SDCA by gaps", "OEG"])
            .ours("P - P* after 20 passes at least 2 times smaller");
    let judged = (
        format!("{} against {}", short(at(0)), short(at(2))),
        2.0 * at(0) <= at(2) && runs[2].has_left_its_start(),
    );
    outcome.claim(course.task.judge(margin.holds(judged)));
    let close = Source::OURS.claim("OCR: by oracle calls SDCA by gaps is close to SAG-NUS*");
    outcome.claim(close.reported("P - P* after 20 oracle calls a sequence", {
        let by_calls = |run: &Curve| {
            let row = run.rows.iter().rev().find(|row| row.calls <= PASSES);
            row.map_or(f64::NAN, |row| row.above)
        };
        format!("{} against {}", short(by_calls(&runs[0])), short(by_calls(&runs[4])))
    }));
}

fn table(name: &str, course: &Course, runs: &[Arc<Curve>]) -> Table {
    let columns = [
        "method",
        "1",
        "5",
        "10",
        "20",
        "calls / update",
        "updates to 1e-3 rel.",
        "calls to 1e-3 rel.",
    ];
    let title = format!("{name}: P - P* after passes; P* = {:.6}", course.best);
    let mut table = Table::new(title, columns);
    for run in runs {
        let mut row = vec![run.name.as_str().into()];
        row.extend([1.0, 5.0, 10.0, 20.0].map(|p| run.at(p).above.into()));
        let last = run.at(PASSES);
        row.push((last.calls / last.passes).into());
        let target = 1e-3 * course.best;
        row.extend([UPDATES, CALLS].map(|cost| reached(run, target, cost).1.into()));
        table.push(row);
    }
    table
}

fn errors(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome.setting(
        "error",
        "best labelling against the truth, on the test set of the document or a part of it",
    );
    let columns =
        ["data", "method", "token error 5", "15", "20", "sequence error 15", "at the optimum"];
    let mut table = Table::new("Test errors after passes, in percent", columns);
    let sets = [Set::Ocr, Set::Chunks, Set::Entities];
    let mut sparsity = Vec::new();
    for (k, &set) in sets.iter().enumerate() {
        context.progress(k as f64 / 3.0, set.name());
        // All but L-BFGS.
        let (course, tested) = runs(context, set, 5)?;
        let (task, name) = (&course.task, course.task.name);
        task.describe(&mut outcome);
        let optimum = course.errors.0;
        let points = |run: &Curve, passes: f64| 100.0 * (run.at(passes).errors.0 - optimum);
        // The errors of SDCA are not at rest: what they still change from a pass on.
        let moves = |from: f64| {
            let change = points(&tested[0], from) - points(&tested[0], 20.0);
            let text = "the errors on these dense images still change: those of SDCA by more than 0.3 points until pass 20";
            Reason::checked(
                text,
                format!("{} points from pass {from}", short(change)),
                change.abs() > 0.3,
            )
        };
        let same = paper(
            "6.4 and figure 7",
            "All methods reach maximum accuracy after a few epochs. [...] Every methods reach the same test error.",
        );
        let claim = |statement: String,
                     methods: &[&str],
                     expected: &str,
                     judged: (String, bool),
                     reason: Reason| {
            let stated =
                same.claim(statement).rests_on(methods.iter().copied()).specification(expected);
            match set {
                Set::Ocr => stated.known_failure(judged, reason),
                _ => stated.holds(judged),
            }
        };
        let worst = tested.iter().map(|run| points(run, 15.0).abs()).fold(0.0, f64::max);
        outcome.claim(task.judge(claim(
            format!("{name}: all methods reach the same test error"),
            &methods().map(|(name, _)| name)[..5],
            "token errors after 15 passes within 0.3 points of the optimum's",
            (format!("{} points at most", short(worst)), worst <= 0.3),
            moves(5.0),
        )));
        let early = points(&tested[0], 5.0);
        outcome.claim(task.judge(claim(
            format!("{name}: SDCA is there after a few passes"),
            &["SDCA by gaps"],
            "token error after 5 passes within 0.3 points of the optimum's",
            (format!("{} points", short(early)), early.abs() <= 0.3),
            moves(5.0),
        )));
        let [sdca, oeg, sag] = [0, 2, 3].map(|k| 100.0 * tested[k].at(15.0).errors.0);
        let par = |statement: String, other: &str| {
            paper(
                "6.4",
                "In terms of test error, SDCA is on par with SAG, and a bit better than OEG.",
            )
            .claim(statement)
            .rests_on(["SDCA by gaps", other])
        };
        let near = par(format!("{name}: SDCA is on par with SAG"), "SAG-NUS")
            .ours("token errors after 15 passes within 0.3 points of each other");
        let measured = |other: f64| format!("{} against {}", short(sdca), short(other));
        let judged = (measured(sag), (sdca - sag).abs() <= 0.3);
        outcome.claim(task.judge(match set {
            Set::Ocr => near.known_failure(judged, moves(15.0)),
            _ => near.holds(judged),
        }));
        let better = par(format!("{name}: SDCA is a bit better than OEG"), "OEG")
            .document("token error after 15 passes smaller");
        let judged = (measured(oeg), sdca < oeg && tested[2].has_left_its_start());
        outcome.claim(task.judge(match set {
            Set::Entities => better.holds(judged),
            _ => better.known_failure(
                judged,
                Reason::unknown(
                    "the two are a few tokens apart, and their order changes from pass to pass",
                ),
            ),
        }));
        let target = 1e-3 * course.best;
        sparsity.push((name, density(&task.train).1, tested[0].to(target, UPDATES)));
        for run in &tested {
            let percent = |share: f64| 100.0 * share;
            table.push([
                name.into(),
                run.name.as_str().into(),
                percent(run.at(5.0).errors.0).into(),
                percent(run.at(15.0).errors.0).into(),
                percent(run.at(20.0).errors.0).into(),
                percent(run.at(15.0).errors.1).into(),
                percent(optimum).into(),
            ]);
        }
        let figure = Figure::new(
            format!("Figure 7 on {name}"),
            Axis::linear("updates / n"),
            Axis::log("wrong tokens, %"),
        );
        let tail = |run: &Arc<Curve>| {
            let rows = run.rows.iter().filter(|row| row.passes >= 1.0).copied().collect();
            let kept = Curve { name: run.name.clone(), rows };
            kept.series(UPDATES, |row| 100.0 * row.errors.0)
        };
        outcome.figure(tested.iter().fold(figure, |figure, run| figure.with(tail(run))));
    }
    outcome.table(table);
    let (course, tested) = runs(context, Set::Parts, 1)?;
    let (task, passes) = (&course.task, tested[0].to(1e-3 * course.best, UPDATES));
    sparsity.push((task.name, density(&task.train).1, passes));
    sparsity.sort_by(|a, b| b.1.total_cmp(&a.1));
    let falls = sparsity.is_sorted_by(|a, b| a.2 > b.2 && b.2.is_finite());
    let others: Vec<f64> =
        sparsity.iter().filter(|(name, ..)| *name != task.name).map(|set| set.2).collect();
    let list = |&(name, density, passes): &(&str, f64, f64)| {
        format!("{name}, a / A = {}: {}", short(density), short(passes))
    };
    let measured = sparsity.iter().map(list).collect::<Vec<_>>().join("; ");
    let fewer = paper("6.4", "In fact, the more sparse the dataset, the less iterations are needed.")
        .claim("The sparser the data, the fewer passes of SDCA by gaps")
        .rests_on(["SDCA by gaps"])
        .document("passes to 1e-3 relative fall with a / A, the largest share of the attributes that a token has");
    outcome.claim(task.judge(fewer.known_failure(
        (measured, falls),
        Reason::checked(
            "the parts of speech alone are out of order, which are of another text than the paper's; passes of the other three",
            others.iter().map(|passes| short(*passes)).collect::<Vec<_>>().join(", "),
            others.is_sorted_by(|a, b| a > b && b.is_finite()),
        ),
    )));
    Ok(outcome)
}

/// `a`, the most attributes that a token has, and its share of all, `a / A`.
pub(super) fn density(data: &Dataset) -> (usize, f64) {
    let tokens = data.iter().flat_map(|s| (0..s.len()).map(move |t| s.attributes(t).count()));
    let most = tokens.max().unwrap_or(0);
    (most, most as f64 / data.attributes().max(1) as f64)
}
