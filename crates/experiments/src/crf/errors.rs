//! This module repeats figure 7 of Le Priol, Piche and Lacoste-Julien (2018): the test errors of the methods of
//! figures 4 and 6. It also counts the passes of SDCA on sparse data.

use std::sync::Arc;

use fenchel_crf::Dataset;

use super::methods::{UPDATES, methods, moved, runs};
use super::paper;
use super::runs::{Course, Curve, Line};
use super::tasks::Set;
use crate::number::short;
use crate::{
    Axis, Claim, Context, Experiment, Failure, Figure, Judged, Outcome, Reason, Sample, Size,
    Stated, Table,
};

pub(super) const FIGURE_7: Experiment = Experiment {
    id: "crf-45",
    file: file!(),
    document: super::DOCUMENT,
    title: "Figure 7: test errors",
    question: "Do all methods reach the same test error, and how soon?",
    learnt: "On text all are near the optimum's error after a few passes; on handwriting the errors still change at pass 20.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["ocr", "conll2000", "conll2002-nl"],
    run: errors,
};

/// The largest difference, in percentage points, of two test errors that count as "the same".
const SAME: f64 = 0.3;

fn errors(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome
        .setting(
            "error",
            "best labelling against the truth, on the test set of the document or a part of it",
        )
        .setting("seeds", "three a method; table and figures show medians");
    let columns =
        ["data", "method", "token error 5", "15", "20", "sequence error 15", "at the optimum"];
    let mut table = Table::new("Test errors after passes, in percent", columns);
    let sets = [Set::Ocr, Set::Chunks, Set::Entities, Set::Parts];
    let mut sparsity = Vec::new();
    for (k, &set) in sets.iter().enumerate() {
        context.progress(k as f64 / 4.0, set.name());
        // All but L-BFGS.
        let (course, tested) = runs(context, set, 5)?;
        judge(context, &mut outcome, set, &course, &tested)?;
        let optimum = course.errors.0;
        let target = 1e-3 * course.best;
        let (name, share) = (course.task.name, density(&course.task.train).1);
        sparsity.push((course.clone(), share, tested[0].to(target, UPDATES)?));
        for run in tested.iter().map(|run| &run.median) {
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
        let tail = |run: &Curve| {
            let rows = run.rows.iter().filter(|row| row.passes >= 1.0).copied().collect();
            let kept = Curve { name: run.name.clone(), rows };
            kept.series(UPDATES, |row| 100.0 * row.errors.0)
        };
        let figure = tested.iter().fold(figure, |figure, run| figure.with(tail(&run.median)));
        outcome.figure(figure);
    }
    outcome.table(table);
    outcome.claim(sparser(sparsity));
    Ok(outcome)
}

fn judge(
    context: &Context,
    outcome: &mut Outcome,
    set: Set,
    course: &Course,
    tested: &[Line],
) -> Result<(), Failure> {
    let (task, name) = (&course.task, course.task.name);
    task.describe(outcome);
    let percent = |run: &Line, passes: f64| run.sample(|run| 100.0 * run.at(passes).errors.0);
    // The largest of the seeds, and whether all of them are near.
    let near = |values: Vec<f64>| {
        let worst = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        Judged::from((
            format!("{} points at most", short(worst)),
            values.iter().all(|v| v.abs() <= SAME),
        ))
    };
    let apart = |a: Sample, b: Sample| -> Vec<f64> {
        a.values().iter().zip(b.values()).map(|(a, b)| a - b).collect()
    };
    let from_optimum = |run: &Line, passes: f64| -> Result<Vec<f64>, Failure> {
        let optimum = 100.0 * course.errors.0;
        Ok(percent(run, passes)?.values().iter().map(|error| error - optimum).collect())
    };
    // The errors of SDCA are not at rest: what they still change from a pass on.
    let moves = |from: f64| -> Result<Reason, Failure> {
        let change = apart(percent(&tested[0], from)?, percent(&tested[0], 20.0)?);
        let most = change.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let text = "the errors on these dense images still change: those of SDCA by more than 0.3 points until pass 20, in one \
                    seed at least";
        Ok(Reason::checked(text, format!("{} points from pass {from}", short(most)), most > SAME))
    };
    let register = |stated: Stated, judged: Judged, dense: Reason| {
        task.judge(match set {
            Set::Ocr => stated.known_failure(judged, dense),
            _ => stated.holds(judged),
        })
    };
    let same = paper(
        "6.4 and figure 7",
        "All methods reach maximum accuracy after a few epochs. [...] Every methods reach the same test error.",
    );
    let all: Vec<Vec<f64>> =
        tested.iter().map(|run| from_optimum(run, 15.0)).collect::<Result<_, _>>()?;
    let stated = same
        .claim(format!("{name}: all methods reach the same test error"))
        .rests_on(&methods().map(|(name, _)| name)[..5])
        .specification("in each of three seeds, token errors after 15 passes within 0.3 points of the optimum's");
    let all = all.concat();
    let worst = all.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    outcome.claim(if set == Set::Parts && context.size == Size::Quick {
        // A token of the test part, in points.
        let token = 100.0 / task.test.tokens() as f64;
        let why =
            "0.3 points are three tokens of this test part; the farthest run is off by at most ten";
        let tokens = format!("{} tokens", short(worst / token));
        task.judge(
            stated.known_failure(near(all), Reason::checked(why, tokens, worst <= 10.0 * token)),
        )
    } else {
        register(stated, near(all), moves(5.0)?)
    });
    let stated = same
        .claim(format!("{name}: SDCA is there after a few passes"))
        .rests_on(["SDCA by gaps"])
        .specification(
            "in each of three seeds, token error after 5 passes within 0.3 points of the optimum's",
        );
    let early = near(from_optimum(&tested[0], 5.0)?);
    outcome.claim(if set == Set::Chunks && context.size == Size::Quick {
        let why = "one seed of three ends a token of the hundred test sentences above";
        task.judge(stated.known_failure(early, Reason::unknown(why)))
    } else {
        register(stated, early, moves(5.0)?)
    });
    let [sdca, oeg, sag] = [0, 2, 3].map(|k| percent(&tested[k], 15.0));
    let (sdca, oeg) = (sdca?, oeg?);
    let par = |statement: String, other: &str| {
        paper("6.4", "In terms of test error, SDCA is on par with SAG, and a bit better than OEG.")
            .claim(statement)
            .rests_on(["SDCA by gaps", other])
    };
    let stated = par(format!("{name}: SDCA is on par with SAG"), "SAG-NUS").ours(
        "in each of three seeds, token errors after 15 passes within 0.3 points of each other",
    );
    outcome.claim(register(stated, near(apart(sdca.clone(), sag?)), moves(15.0)?));
    let better = par(format!("{name}: SDCA is a bit better than OEG"), "OEG")
        .document("in each of three seeds, token error after 15 passes smaller");
    let judged = sdca.below(&oeg).and(moved([&tested[2]]));
    outcome.claim(task.judge(match set {
        Set::Entities => better.holds(judged),
        _ => better.known_failure(
            judged,
            Reason::unknown(
                "OEG is ahead or level in one seed of three at least, and the order changes from pass to pass",
            ),
        ),
    }));
    Ok(())
}

/// Compares the data sets by two numbers: the passes of SDCA with sampling by gaps until the relative suboptimality is 1e-3, and the
/// largest share of the attributes that a token has.
fn sparser(mut sparsity: Vec<(Arc<Course>, f64, Sample)>) -> Claim {
    sparsity.sort_by(|a, b| b.1.total_cmp(&a.1));
    let falls =
        |sets: &[&(Arc<Course>, f64, Sample)]| sets.is_sorted_by(|a, b| b.2.below(&a.2).holds);
    let all: Vec<_> = sparsity.iter().collect();
    let list = |(course, density, passes): &&(Arc<Course>, f64, Sample)| {
        let name = course.task.name;
        format!("{name}, a / A = {}: {}", short(*density), short(passes.median()))
    };
    let measured = all.iter().map(list).collect::<Vec<_>>().join("; ");
    let fewer = paper("6.4", "In fact, the more sparse the dataset, the less iterations are needed.")
        .claim("The sparser the data, the fewer passes of SDCA by gaps")
        .rests_on(["SDCA by gaps"])
        .document("in each of three seeds, passes to 1e-3 relative fall with a / A, the largest share of the attributes that a token has");
    sparsity[0].0.task.judge(fewer.known_failure(
        (measured, falls(&all)),
        Reason::unknown(
            "the densest set needs the most passes by far; the three of text are near each other and out of order. They differ in \
             sentences and labels too",
        ),
    ))
}

/// Returns the largest number `a` of attributes of a token, and its share `a / A` of the number `A` of all attributes.
pub(super) fn density(data: &Dataset) -> (usize, f64) {
    let tokens = data.iter().flat_map(|s| (0..s.len()).map(move |t| s.attributes(t).count()));
    let most = tokens.max().unwrap_or(0);
    (most, most as f64 / data.attributes().max(1) as f64)
}
