//! This module repeats figures 2, 3 and 9 of Le Priol, Piche and Lacoste-Julien (2018): how the next sequence is
//! drawn, and how well the duality gap is estimated.

use std::sync::Arc;

use fenchel_crf::Order;
use fenchel_linalg::text::short;

use super::runs::{ABOVE, Course, Curve, Line, Method, NEWTON, Row, each, lines};
use super::tasks::{Part, Set};
use crate::documents::adaptive_sdca as paper;
use crate::finite_sum::sets::{Need, over};
use crate::{
    Axis, Context, Experiment, Failure, Figure, Judged, Outcome, Reason, SEEDS, Sample, Series,
};

pub(super) const FIGURE_2: Experiment = Experiment {
    id: "crf-41",
    title: "Figure 2: schemes to draw the next sequence",
    question: "With which probabilities should SDCA draw the next sequence, on handwritten words (OCR)?",
    learnt: "In proportion to the last known duality gap of each sequence (Gap). This is ahead of uniform draws, and of taking the largest gap in four draws of five (Max). Max still makes progress from pass 5 to pass 15, and draws in proportion to smoothness bounds (Importance) are ahead of uniform ones, both against the paper.",
    quick: "2,000 of the paper's 6,202 words",
    needs: &["ocr"],
    run: schemes,
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const FIGURE_3: Experiment = Experiment {
    id: "crf-42",
    title: "Figure 3: share of the draws that are by gaps",
    question: "How large a share of the draws of SDCA should be by gaps, and not uniform?",
    learnt: "A fifth of the draws by gaps gives most of the gain. A share above 80 % gains nothing more on the sentences of a quick run, and a little on all of them.",
    quick: "3,000 of the paper's 15,806 sentences",
    needs: &["conll2002-nl"],
    run: shares,
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const FIGURE_9: Experiment = Experiment {
    id: "crf-47",
    title: "Figure 9: the estimate of the duality gap against the true gap",
    question: "Is the mean of the last known gaps of the sequences a good estimate of the duality gap?",
    learnt: "With four fifths of the draws by gaps it is within a factor of two from pass 4 on, but for the parts of speech of a quick run, where it goes up to 2.4. In the median it is too large on most data sets. With uniform draws it is larger, relative to the true gap, than with draws by gaps (medians over 5 seeds after 15 passes). With uniform draws it is useless until every sequence was drawn once.",
    quick: "800 of the paper's 6,202 words of OCR; 500 of its 8,936 sentences for chunks, 3,000 of its 15,806 for entities; 150 for parts of speech",
    smaller: super::tasks::PARTS,
    needs: &["conll2002-nl", "ocr", "conll2000"],
    run: estimates,
    ..Experiment::of(super::DOCUMENT)
};

const PASSES: f64 = 15.0;
const SHARES: [f64; 5] = [0.0, 0.2, 0.5, 0.8, 1.0];

const NAMES: [&str; 5] = ["gaps 0 %", "gaps 20 %", "gaps 50 %", "gaps 80 %", "gaps 100 %"];

fn schemes(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    settings(outcome);
    let scheme = |order: Order, share: f64| Method::Sdca(order, share, NEWTON);
    let n = super::runs::course(context, Set::Ocr, Part::Race)?.task.train.sequences();
    // Of a table that is never updated the first sequence stays the largest: four fifths of the draws.
    let mut stale = vec![0.2 / n as f64; n];
    stale[0] += 0.8;
    let methods = [
        ("Gap", scheme(Order::Gap, 0.8)),
        ("Uniform", scheme(Order::Uniform, 0.8)),
        ("Gap x importance", scheme(Order::LipschitzGap, 0.8)),
        ("Importance", scheme(Order::Lipschitz, 0.8)),
        ("Max", scheme(Order::LargestGap, 0.8)),
        ("Max alone", scheme(Order::LargestGap, 1.0)),
        ("Max, table not updated", scheme(Order::Weighted(stale), 0.8)),
    ];
    let shown = &methods[..context.pick(5, 7)];
    // crf-43 has the longer runs of these two.
    let (longer, others) = shown.split_at(2);
    let race = (Set::Ocr, Part::Race);
    let (course, mut all) = lines(context, race, longer, super::methods::PASSES, SEEDS as u64)?;
    all.extend(lines(context, race, others, PASSES, SEEDS as u64)?.1);
    course.task.describe(outcome);
    let one = std::slice::from_ref(&course);
    let compared = |statement: &str, quote: &'static str, [winner, loser]: [usize; 2]| {
        let [ahead, behind] = [winner, loser].map(|k| methods[k].0);
        let sentence = paper("6.3", quote).claim(statement).rests_on([ahead, behind]);
        let sentence = sentence.in_unit(&format!("P - P* of {ahead}, against {behind}"));
        let threshold = "smaller geometric mean of P - P* over passes 10 to 15 (the project's reading), in the median over 5 seeds";
        over(one, Need::All, sentence, threshold, |_| {
            let judged = all[winner].late()?.below(&all[loser].late()?);
            Ok(judged.provided(all[loser].has_left_its_start(), "the worse has not left its start"))
        })
    };
    let best = "Overall, Gap sampling gives the best performance and this is what we use in the following experiments.";
    outcome.claim(compared("Gap is ahead of Uniform", best, [0, 1])?);
    let quote = "Gap x Importance performs worse than Gap";
    outcome.claim(compared("Gap is ahead of Gap x importance", quote, [0, 2])?);
    let quote = "We also observe that Importance performs worse than Uniform";
    let gain = all[3].late()?.median() / all[1].late()?.median();
    let reason = Reason::checked(
        "Importance draws a sequence in proportion to a bound on the smoothness of its term. The paper concludes from its result that these bounds are not informative. With the radii of its appendix C, which are used here, they are informative, and Importance is ahead. The squared radius of a sequence is the squared distance of the features of its labels from those of the labelling that repeats one absent label. P - P* (geometric mean over passes 10 to 15, median over 5 seeds) with Importance, divided by that with Uniform",
        gain,
        gain < 1.0,
    );
    outcome.claim(compared("Uniform is ahead of Importance", quote, [1, 3])?.known(reason));
    let max = "Max sampling is not robust enough to the staleness of the gap estimates and fails to converge here.";
    outcome.claim(compared("Gap is ahead of Max", max, [0, 4])?);
    let (early, last) = (all[4].at(5.0)?, all[4].at(PASSES)?);
    let uniform = all[1].at(3.0)?.median();
    let reason = Reason::checked(
        "Max cannot stop for good. One draw in five is uniform, here as in the paper (\"with 20% of uniform sampling\"), so that 15 passes of Max contain 3 passes of uniform draws. No step makes the dual objective worse. One expects P - P* of Max after 15 passes to be at most about that of Uniform after 3 passes; the numbers agree. P - P* of both, medians over 5 seeds",
        format!("Max {last}, Uniform {}", short(uniform)),
        last.median() <= uniform,
    );
    let sentence = paper("6.3", max).claim("Max does not converge").in_unit("P - P* after 5, 15");
    let threshold = "no progress from pass 5 to pass 15 (the project's reading of \"fails to converge\"): P - P* after 5 passes at most that after 15 passes, in the median over 5 seeds";
    let left = all[4].has_left_its_start();
    let stands = early.at_most(1.0, &last).provided(left, "it has not left its start");
    let sentence = sentence.rests_on(["Max"]);
    outcome.claim(over(one, Need::All, sentence, threshold, |_| Ok(stands.clone()))?.known(reason));
    let figure =
        figure("Sampling schemes, OCR (figure 2)", Axis::log(ABOVE), &all, |row| row.above);
    outcome.figure(figure.caption(format!("SDCA, medians over {SEEDS} seeds. Four fifths of the draws are by the scheme, the others uniform. A full run also has Max alone, without uniform draws, and Max that never updates the gaps that it knows.")));
    Ok(())
}

fn by_share(context: &Context, set: Set) -> Result<(Arc<Course>, Vec<Line>), Failure> {
    let shares = if set == Set::Entities { &[0, 1, 2, 3, 4][..] } else { &[0, 3] };
    let methods: Vec<_> = shares.iter().map(|&k| (NAMES[k], Method::gap(SHARES[k]))).collect();
    lines(context, (set, Part::Steps), &methods, PASSES, SEEDS as u64)
}

fn shares(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    settings(outcome);
    let (course, runs) = by_share(context, Set::Entities)?;
    course.task.describe(outcome);
    let at = runs.iter().map(|run| run.at(10.0)).collect::<Result<Vec<Sample>, _>>()?;
    let list = NAMES.iter().zip(&at).map(|(name, at)| format!("{name}: {at}"));
    let list = list.collect::<Vec<_>>().join(", ");
    let share = paper(
        "6.3",
        "Increasing the ratio of non-uniformity up to 1 only improves the performance on all datasets, though after 0.8 the \
         improvements are marginal, as illustrated by Figure 3 for the NER dataset.",
    );
    let falls = |all: &[Sample]| all.is_sorted_by(|a, b| b.below(a).holds);
    let moved = runs[0].has_left_its_start();
    let claim = share.claim("from 0 to 80 % of the draws, a larger share by gaps is better");
    let threshold = "P - P* after 10 passes, in the median over 5 seeds, falls over the shares 0, 20, 50 and 80 % of the draws that are by gaps; that at 100 % is shown last";
    let one = std::slice::from_ref(&course);
    outcome.claim(over(one, Need::All, claim.rests_on(&NAMES[..4]), threshold, |_| {
        Ok((list.clone(), falls(&at[..4]) && moved).into())
    })?);
    let claim = share.claim("from 80 to 100 % of the draws, a larger share by gaps is better");
    let threshold = "P - P* after 10 passes smaller at 100 % than at 80 %; median of 5 seeds";
    let claim = claim.rests_on(&NAMES[3..]).in_unit("P - P* at 100 %, against that at 80 %");
    let claim = over(one, Need::All, claim, threshold, |_| Ok(at[4].below(&at[3])))?;
    outcome.claim(context.at_full(claim, "3,000 sentences where the paper has 15,806. With few, a sequence whose gap has grown since its last visit waits long where no draw is uniform"));
    let figure = figure("Dutch entities (figure 3)", Axis::log(ABOVE), &runs, |row| row.above);
    outcome.figure(
        figure.caption(format!("SDCA, medians over {SEEDS} seeds; other draws are uniform.")),
    );
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
        paper("6.3", "[the estimate] always remains within a factor 2 of the true duality gap.");
    let claim = always
        .claim("the estimate of the gap is within a factor of 2 of the true gap, whatever share of the draws is by gaps")
        .in_unit("estimate / true gap")
        .rests_on(NAMES);
    let late: Vec<_> = all.iter().map(|runs| within(range(&runs[0].median, 12.0))).collect();
    let shown = late.iter().zip(&sets).map(|((range, _), set)| format!("{} {range}", set.name()));
    let reason = Reason::checked(
        "until a sequence is drawn it counts in the estimate with a first guess, 100 nats or more. Some are drawn late if draws are uniform. From pass 12 on all were drawn, and on entities the ratio is within the factor. A sequence then counts with its gap at its last visit, which was larger; on a small set with long sequences (parts of speech) it can be more than twice as large in the mean. Ranges of estimate over true gap with uniform draws, from pass 12 on (medians over 5 seeds)",
        shown.collect::<Vec<_>>().join("; "),
        late[0].1,
    );
    let threshold = "estimate over true gap, median over 5 seeds, between 0.5 and 2 at every pass from the fourth on (the project's reading of \"always\": a first guess stands for a sequence until it is drawn)";
    let row = |k| {
        let share = if k == 0 { "20 to 100 % by gaps" } else { NAMES[3] };
        let adaptive = Judged::from(within(worst(k, false))).named(share);
        Ok(adaptive.and(Judged::from(within(worst(k, true))).named("uniform")))
    };
    outcome.claim(over(&courses, Need::All, claim, threshold, row)?.known(reason));
    let sides = paper(
        "figure 9",
        "The gap sampling tends to underestimate this value [the duality gap], whereas the uniform sampling tends to over-estimate it.",
    );
    let ends = |k: usize, m: usize| Sample::of(&all[k][m].seeds, |run| run.at(PASSES).ratio);
    let moved = |k: usize| {
        all[k].iter().all(|run| run.median.at(PASSES).above < 0.5 * run.median.at(0.0).above)
    };
    let claim = sides
        .claim("with uniform draws the estimate is above the true gap, and relative to it larger than with 80 % by gaps")
        .in_unit("estimate / true gap")
        .rests_on([NAMES[0], NAMES[3]]);
    let threshold = "estimate over true gap after 15 passes, median over 5 seeds: above 1 with uniform draws, and larger than with 80 % by gaps";
    outcome.claim(over(&courses, Need::All, claim, threshold, |k| {
        let (uniform, gaps) = (ends(k, 0)?, ends(k, if k == 0 { 3 } else { 1 })?);
        let judged = Sample::exact(1.0)
            .below(&uniform)
            .named("1 against the estimate with uniform draws")
            .and(gaps.below(&uniform).named("80 % by gaps against uniform"));
        Ok(judged.provided(moved(k), "a run has not left its start"))
    })?);
    let medians = (0..all.len()).map(|k| Ok(ends(k, all[k].len() - 1)?.median()));
    let medians = medians.collect::<Result<Vec<f64>, Failure>>()?;
    let above = medians.iter().filter(|&&median| median > 1.0).count();
    let claim =
        sides.claim("with draws by gaps it is too small").in_unit("ratio").rests_on([NAMES[3]]);
    let reason = Reason::checked(
        "a sequence counts in the estimate with its gap at its last visit. Most gaps have fallen since, so that the estimate is above the true gap on most data sets, in the median over the seeds. In a run in which it is below, a few gaps have grown, and outweigh the others. Why the paper saw the opposite is not known. Data sets, of those that ran, whose median of estimate over true gap is above 1",
        format!("{above} of {}", medians.len()),
        2 * above > medians.len(),
    );
    let threshold = "estimate over true gap after 15 passes, median over 5 seeds, below 1, with the largest share by gaps that ran: 100 % for entities, 80 % for the others";
    let row = |k: usize| {
        let judged = ends(k, all[k].len() - 1)?.below(&Sample::exact(1.0));
        Ok(judged.provided(moved(k), "a run has not left its start"))
    };
    outcome.claim(over(&courses, Need::Most, claim, threshold, row)?.known(reason));
    let axis = Axis::log("estimated gap / true gap").limits(0.3, 200.0);
    let figure = figure(
        "Estimate of the gap over the true gap: Dutch entities (figure 9)",
        axis,
        &all[0],
        |row| row.ratio,
    )
    .caption(format!("Medians over {SEEDS} seeds. Above 1 the estimate is too large."));
    let exact = Series::line("exact", vec![(0.0, 1.0), (PASSES, 1.0)]).dashed();
    outcome.figure(figure.with(exact));
    Ok(())
}

fn settings(outcome: &mut Outcome) {
    outcome
        .setting("l2", "1/n")
        .setting("step", "Newton's method, to a sub-precision (last step) of 1e-3")
        .setting("start", "true labels, mixed with 1e-3 of the uniform distribution")
        .setting("P*", "the minimum of the primal objective P (nats a sequence), known to 1e-8 P*")
        .setting("seeds", format!("{SEEDS}; claims compare medians, shown with [least, largest]"));
}

fn figure(title: &str, y: Axis, runs: &[Line], value: fn(&Row) -> f64) -> Figure {
    let figure = Figure::new(title, Axis::linear("passes"), y);
    runs.iter().fold(figure, |f, run| f.with(run.median.series(|row| row.passes, value)))
}
