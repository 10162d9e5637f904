//! This module repeats figures 2, 3 and 9 of Le Priol, Piche and Lacoste-Julien (2018): how the next sequence is
//! drawn, and how well the duality gap is estimated.

use std::sync::Arc;

use fenchel_crf::Order;
use fenchel_linalg::text::short;

use super::runs::{Course, Curve, Line, Method, NEWTON, Row, each, late, lines};
use super::tasks::{Part, Set};
use crate::documents::adaptive_sdca as paper;
use crate::finite_sum::sets::{Need, over};
use crate::{
    Axis, Context, Experiment, Failure, Figure, Judged, Outcome, Reason, SEEDS, Sample, Series,
};

pub(super) const FIGURE_2: Experiment = Experiment {
    id: "crf-41",
    title: "Figure 2: sampling schemes",
    question: "Which sequences should SDCA draw?",
    learnt: "Those with large gaps: sampling by gaps is ahead of uniform sampling and of always taking the largest gap. Importance helps here, against the paper.",
    quick: "2,000 words of 6,202",
    needs: &["ocr"],
    run: schemes,
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const FIGURE_3: Experiment = Experiment {
    id: "crf-42",
    title: "Figure 3: share of adaptive draws",
    question: "How large a share of the draws should be adaptive?",
    learnt: "Most of the gain is there at small shares; beyond 0.8 there is none.",
    quick: "3,000 sentences of 15,806",
    needs: &["conll2002-nl"],
    run: shares,
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const FIGURE_9: Experiment = Experiment {
    id: "crf-47",
    title: "Figure 9: estimated against true gap",
    question: "Is the mean of the last known gaps a good guess of the duality gap?",
    learnt: "With adaptive draws nearly always within a factor of two, and too large; with uniform draws larger still, and not before every sequence was drawn.",
    quick: "2,000 words, and 300 to 3,000 sentences of each text",
    smaller: super::tasks::PARTS,
    needs: &["conll2002-nl", "ocr", "conll2000"],
    run: estimates,
    ..Experiment::of(super::DOCUMENT)
};

const PASSES: f64 = 15.0;
const SHARES: [f64; 5] = [0.0, 0.2, 0.5, 0.8, 1.0];

const NAMES: [&str; 5] = ["share 0", "share 0.2", "share 0.5", "share 0.8", "share 1"];

fn schemes(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    settings(outcome);
    let scheme = |order: Order, share: f64| Method::Sdca(order, share, NEWTON);
    let n = super::runs::course(context, Set::Ocr, Part::Most)?.task.train.sequences();
    // Of a table that is never updated the first sequence stays the largest: four fifths of the draws.
    let mut stale = vec![0.2 / n as f64; n];
    stale[0] += 0.8;
    let methods = [
        ("Gap", scheme(Order::Gap, 0.8)),
        ("Gap x importance", scheme(Order::LipschitzGap, 0.8)),
        ("Uniform", scheme(Order::Uniform, 0.8)),
        ("Importance", scheme(Order::Lipschitz, 0.8)),
        ("Max", scheme(Order::LargestGap, 0.8)),
        ("Max alone", scheme(Order::LargestGap, 1.0)),
        ("Max, table not updated", scheme(Order::Weighted(stale), 0.8)),
    ];
    let (course, all) = lines(context, (Set::Ocr, Part::Most), &methods, PASSES, SEEDS as u64)?;
    course.task.describe(outcome);
    let at = |k: usize| all[k].sample(late);
    let moved = |judged: Judged, loser: usize| {
        judged.provided(all[loser].has_left_its_start(), "the worse scheme has not left its start")
    };
    let smaller = "geometric mean of P - P* over passes 10 to 15";
    let worse = |statement: &str, quote: &'static str, names: [usize; 2]| {
        let sentence = paper("6.3", quote).claim(format!("Handwriting: {statement}"));
        sentence.rests_on(names.map(|k| methods[k].0)).document(smaller)
    };
    let best = "Overall, Gap sampling gives the best performance and this is what we use in the following experiments.";
    let stated = worse("sampling by gaps is ahead of uniform sampling", best, [0, 2]);
    outcome.claim(course.task.judge(stated.holds(moved(at(0)?.below(&at(2)?), 2))));
    let stated = worse(
        "importance does not improve on gaps",
        "Gap x Importance performs worse than Gap",
        [0, 1],
    );
    outcome.claim(course.task.judge(stated.holds(moved(at(0)?.below(&at(1)?), 1))));
    let stated = worse(
        "importance sampling is worse than uniform sampling",
        "We also observe that Importance performs worse than Uniform",
        [2, 3],
    );
    let gain = at(3)?.median() / at(2)?.median();
    outcome.claim(course.task.judge(stated.known_failure(
        moved(at(2)?.below(&at(3)?), 3),
        Reason::checked(
            "the paper takes its order as a sign that the bounds on the smoothness are not informative; on these words, with the \
             radii of its appendix C, they are: the ratio of P - P* by importance, over uniform draws",
            gain,
            gain < 1.0,
        ),
    )));
    let max = "Max sampling is not robust enough to the staleness of the gap estimates and fails to converge here.";
    let stated = worse("Max is worse than sampling by gaps", max, [0, 4]);
    outcome.claim(course.task.judge(stated.holds(moved(at(0)?.below(&at(4)?), 4))));
    let (early, last) = (all[4].at(5.0)?, all[4].at(PASSES)?);
    let uniform = all[2].at(3.0)?.median();
    let stated = paper("6.3", max)
        .claim("Handwriting: Max does not converge")
        .rests_on(["Max"])
        .document("P - P* after 15 passes not below that after 5");
    let judged = early.at_most(1.0, &last);
    let left = all[4].has_left_its_start();
    outcome.claim(course.task.judge(stated.known_failure(
        judged.provided(left, "it has not left its start"),
        Reason::checked(
            "a step never lowers the dual, and a fifth of the draws is uniform: 15 passes of Max are worth the 3 passes of uniform \
             draws among them at least. P - P* of Max after 15, of uniform draws after 3, of Max alone and of Max with a table \
             that is not updated after 15 passes",
            format!("{last}, {}, {}, {}", short(uniform), all[5].at(PASSES)?, all[6].at(PASSES)?),
            last.median() <= uniform,
        ),
    )));
    let figure =
        figure("Sampling schemes on OCR (figure 2)", Axis::log("P - P*"), &all, |row| row.above);
    outcome.figure(figure.caption("SDCA, medians, four fifths of the draws by the scheme."));
    Ok(())
}

fn by_share(context: &Context, set: Set) -> Result<(Arc<Course>, Vec<Line>), Failure> {
    let shares = if set == Set::Entities { &[0, 1, 2, 3, 4][..] } else { &[0, 3] };
    let methods: Vec<_> = shares.iter().map(|&k| (NAMES[k], Method::gap(SHARES[k]))).collect();
    lines(context, (set, Part::Most), &methods, PASSES, SEEDS as u64)
}

fn shares(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    settings(outcome);
    let (course, runs) = by_share(context, Set::Entities)?;
    course.task.describe(outcome);
    let at = runs.iter().map(|run| run.at(10.0)).collect::<Result<Vec<Sample>, _>>()?;
    let list = at.iter().map(Sample::to_string).collect::<Vec<_>>().join(", ");
    let share = paper(
        "6.3",
        "Increasing the ratio of non-uniformity up to 1 only improves the performance on all datasets, though after 0.8 the \
         improvements are marginal, as illustrated by Figure 3 for the NER dataset.",
    );
    let falls = |all: &[Sample]| all.is_sorted_by(|a, b| b.below(a).holds);
    let moved = runs[0].has_left_its_start();
    outcome.claim(
        course.task.judge(
            share
                .claim("Up to 0.8 more adaptive draws improve")
                .rests_on(&NAMES[..4])
                .document("P - P* after 10 passes falls over the shares 0, 0.2, 0.5, 0.8")
                .holds((list.clone(), falls(&at[..4]) && moved)),
        ),
    );
    let (before, last) = (&at[3], &at[4]);
    let worst = |sample: &Sample| sample.values().iter().fold(0.0, |m: f64, v| m.max(*v));
    let ratio = worst(last) / worst(before);
    outcome.claim(
        course.task.judge(
            share
                .claim("From 0.8 up to 1 more adaptive draws improve")
                .rests_on(&NAMES[3..])
                .document("P - P* after 10 passes smaller at share 1 than at 0.8")
                .known_failure(
                    (format!("{last} against {before}"), last.below(before).holds),
                    Reason::checked(
                        "with no uniform draws a sequence whose gap has grown since its last visit waits, and the seeds differ more: \
                         the worst of them at share 1 over the worst at 0.8",
                        ratio,
                        ratio > 1.0,
                    ),
                ),
        ),
    );
    let figure = figure(
        "Shares of adaptive draws: Dutch entities (figure 3)",
        Axis::log("P - P*"),
        &runs,
        |row| row.above,
    );
    outcome.figure(figure.caption("SDCA by gaps, medians; the other draws are uniform."));
    Ok(())
}

/// The least and the largest ratio of the estimated to the true gap from a pass on.
fn range(run: &Curve, from: f64) -> (f64, f64) {
    let rows = run.rows.iter().filter(|row| row.passes >= from).map(|row| row.ratio);
    rows.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), r| (low.min(r), high.max(r)))
}

fn estimates(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    settings(outcome);
    let sets = [Set::Entities, Set::Ocr, Set::Chunks, Set::Parts];
    let (courses, all) = each(context, outcome, &sets, |set| by_share(context, set))?;
    let within = |(low, high): (f64, f64)| {
        (format!("{} to {}", short(low), short(high)), low >= 0.5 && high <= 2.0)
    };
    let worst = |k: usize, uniform: bool| {
        let lines = all[k].iter().enumerate().filter(|(m, _)| (*m == 0) == uniform);
        let ranges = lines.map(|(_, run)| range(&run.median, 4.0));
        ranges.fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    let always =
        paper("6.3", "Empirically, it always remains within a factor 2 of the true duality gap.");
    let claim = always
        .claim("The estimate of the gap is within a factor of 2, at every share of adaptive draws")
        .in_unit("ratio")
        .rests_on(NAMES);
    let late: Vec<_> = all.iter().map(|runs| within(range(&runs[0].median, 12.0))).collect();
    let reason = Reason::checked(
        "with uniform draws a sequence counts with its first guess, 100, until it is drawn, and then with a gap as old as its last visit, since \
         when its true gap fell. At share 0 the ratios from pass 12 on, when all were drawn, on entities, images, chunks and parts of speech",
        late.iter().map(|(shown, _)| shown.as_str()).collect::<Vec<_>>().join("; "),
        late[0].1,
    );
    let threshold = "ratio within [0.5, 2] from the fourth pass on";
    let row = |k| {
        let adaptive = Judged::from(within(worst(k, false))).named("adaptive");
        Ok(adaptive.and(Judged::from(within(worst(k, true))).named("share 0")))
    };
    outcome.claim(over(&courses, Need::All, claim, threshold, row)?.known(reason));
    let sides = paper(
        "figure 9",
        "The gap sampling tends to underestimate this value, whereas the uniform sampling tends to over-estimate it.",
    );
    let ends = |k: usize, m: usize| all[k][m].sample(|run| run.at(PASSES).ratio);
    let one = Sample::exact(1.0);
    let moved = |k: usize| {
        all[k].iter().all(|run| run.median.at(PASSES).above < 0.5 * run.median.at(0.0).above)
    };
    let claim = sides
        .claim("Uniform sampling overestimates, and more than sampling by gaps")
        .in_unit("ratio")
        .rests_on([NAMES[0], NAMES[3]]);
    let threshold = "ratio after 15 passes above 1 at share 0, and larger than at 0.8";
    outcome.claim(over(&courses, Need::All, claim, threshold, |k| {
        let (uniform, gaps) = (ends(k, 0)?, ends(k, if k == 0 { 3 } else { 1 })?);
        let judged = one.below(&uniform).and(gaps.below(&uniform));
        Ok(judged.provided(moved(k), "a run has not left its start"))
    })?);
    let least = (0..all.len()).map(|k| Ok(ends(k, all[k].len() - 1)?.median()));
    let least =
        least.collect::<Result<Vec<f64>, Failure>>()?.into_iter().fold(f64::INFINITY, f64::min);
    let claim =
        sides.claim("Sampling by gaps underestimates").in_unit("ratio").rests_on([NAMES[3]]);
    let reason = Reason::checked(
        "a recorded gap is as old as the last visit, and gaps fall meanwhile: the least ratio over the data sets",
        least,
        least > 1.0,
    );
    let threshold = "ratio after 15 passes below 1, at the largest share that was run";
    let row = |k: usize| {
        let judged = ends(k, all[k].len() - 1)?.below(&one);
        Ok(judged.provided(moved(k), "a run has not left its start"))
    };
    outcome.claim(over(&courses, Need::Most, claim, threshold, row)?.known(reason));
    let axis = Axis::log("estimated gap / true gap").limits(0.3, 200.0);
    let figure = figure(
        "Estimated over true gap: Dutch entities (figure 9)",
        axis,
        &all[0],
        |row| row.ratio,
    )
    .caption(
        "The stopping rule looks at the estimate, and certifies with the true gap before it ends.",
    );
    let exact = Series::line("exact", vec![(0.0, 1.0), (PASSES, 1.0)]).dashed();
    outcome.figure(figure.with(exact));
    Ok(())
}

fn settings(outcome: &mut Outcome) {
    outcome
        .setting("l2", "1/n")
        .setting("step", "Newton, sub-precision 1e-3")
        .setting("start", "true labels, smoothed by 1e-3")
        .setting("P*", "certified to 1e-8 relative")
        .setting("seeds", format!("{SEEDS}; orders are those of the medians"));
}

fn figure(title: &str, y: Axis, runs: &[Line], value: fn(&Row) -> f64) -> Figure {
    let figure = Figure::new(title, Axis::linear("passes"), y);
    runs.iter().fold(figure, |f, run| f.with(run.median.series(|row| row.passes, value)))
}
