//! This module repeats figure 8 of Le Priol, Piche and Lacoste-Julien (2018): the effect of the precision of the line
//! search.

use fenchel_crf::Order;
use fenchel_crf::methods::{NewtonStart, SdcaStep};
use fenchel_linalg::text::short;

use super::methods::SETS;
use super::runs::{ABOVE, Curve, Method, each, lines};
use super::tasks::{Part, Set};
use crate::documents::adaptive_sdca as paper;
use crate::finite_sum::sets::{Need, list, over};
use crate::race::in_passes;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, SEEDS, Sample, Table};

pub(super) const FIGURE_8: Experiment = Experiment {
    id: "crf-46",
    title: "Figure 8: precision of the line search",
    question: "How precise must the line search of SDCA be, and what does it cost?",
    learnt: "A sub-precision of 0.01 is enough: the search ends where its next Newton step would be shorter. At 1e-3 it makes one to two steps. At 0.5 it makes none, and SDCA is far from the optimum on all four sets after 15 passes; with one step that is made it converges everywhere.",
    quick: "800 of the paper's 6,202 words of OCR; 500 of its 8,936 sentences for chunks, 3,000 of its 15,806 for entities; 150 for parts of speech",
    smaller: super::tasks::PARTS,
    needs: &["conll2002-nl", "ocr", "conll2000"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const PASSES: f64 = 15.0;
const LITERAL: &str = "sub-precision 0.5";
const FINE: &str = "sub-precision 1e-3";

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    outcome
        .setting("l2", "1/n")
        .setting("sampling", "80 % of the draws by gaps")
        .setting(
            "sub-precision 0.5",
            "read literally: Newton's method starts at 0.5 and ends where its next step would be shorter than 0.5, as every step inside [0, 1] is. The step of SDCA stays 0.5, or is 0 where 0.5 would lower the dual",
        )
        .setting(
            "seeds",
            format!("{SEEDS} at sub-precisions 1e-3 and 0.5, else one; claims compare medians over the seeds, shown as median [least, largest]"),
        );
    let newton = |tolerance, start| SdcaStep::Newton { tolerance, start };
    let half = NewtonStart::Half;
    let judged = [(FINE, newton(1e-3, half)), (LITERAL, newton(0.5, half))];
    let shown = [
        ("sub-precision 1e-2", newton(1e-2, half)),
        ("sub-precision 1e-6", newton(1e-6, half)),
        ("one safeguarded Newton step", SdcaStep::SingleNewton),
        ("always 0.5", SdcaStep::Fixed(0.5)),
        ("from the step before", newton(1e-3, NewtonStart::Previous)),
    ];
    let method = |(name, step)| (name, Method::Sdca(Order::Gap, 0.8, step));
    let (judged, shown) = (judged.map(method), shown.map(method));
    let columns =
        ["data", "line search", "5 passes", "10", "15", "evaluations an update", "seconds"];
    let mut table = Table::new("P - P* after 5, 10 and 15 passes; cost of all 15", columns);
    let (courses, all) = each(context, outcome, &SETS, |set| {
        let (course, mut runs) = lines(context, (set, Part::Steps), &judged, PASSES, SEEDS as u64)?;
        runs.extend(lines(context, (set, Part::Steps), &shown, PASSES, 1)?.1);
        Ok((course, runs))
    })?;
    for (course, runs) in courses.iter().zip(&all) {
        let name = course.task.name;
        let axis = Axis::log(ABOVE).limits(1e-7, 1e3);
        let mut figure = Figure::new(
            format!("Precision of the line search: {name} (figure 8)"),
            Axis::linear("passes"),
            axis,
        );
        for run in runs.iter().map(|run| &run.median) {
            let mut row = vec![name.into(), run.name.into()];
            row.extend([5.0, 10.0, 15.0].map(|passes| run.at(passes).above.into()));
            row.extend([run.at(PASSES).evaluations.into(), run.at(PASSES).seconds.into()]);
            table.push(row);
            figure = figure.with(run.series(|r| r.passes, |r| r.above));
        }
        outcome.figure(figure.note(format!(
            "Sub-precisions 1e-3 and 0.5: medians over {SEEDS} seeds; other line searches: one run. A search ends where its next Newton step would be shorter than the sub-precision. P*: the minimum of the primal objective P."
        )));
    }
    outcome.table(table);
    let list = |row: &dyn Fn(&[&Curve]) -> String| {
        list(&courses, |k| Ok(row(&all[k].iter().map(|run| &run.median).collect::<Vec<_>>())))
    };
    let last = |run: &Curve| short(run.at(PASSES).above);
    let single = paper("6.2", "We also performed experiments with only one step of the Newton update. The convergence was not affected on OCR, CONLL and POS, but convergence failed on NER")
        .claim("with a sub-precision of 0.5, which the paper calls one step, SDCA converges, but for the Dutch entities (NER), where it does not")
        .in_unit("P - P*")
        .rests_on([LITERAL]);
    let reason = Reason::checked(
        "with a sub-precision of 0.5 the search ends before its first step, which is shorter, so that the step of SDCA is 0.5, or 0 where that would lower the dual. \"One step\" can also mean that this step is made, and kept inside [0, 1]: with it SDCA converges on all four sets. Neither reading tells the entities from the others; the first is judged, because the caption of figure 8 says that 0.5 is one step. P - P* after 15 passes (0.5 and 1e-3: medians over 5 seeds; one step that is made: one run)",
        list(&|runs| {
            format!("0.5: {}, one step: {}, 1e-3: {}", last(runs[1]), last(runs[4]), last(runs[0]))
        })?,
        all.iter().all(|runs| runs[4].median.at(PASSES).above < runs[1].median.at(PASSES).above),
    );
    let threshold = "P - P* of the worst of 5 seeds after 15 passes below that of the best after 5; not below it on the entities";
    let claim = over(&courses, Need::All, single, threshold, |k| {
        let (early, late) = (all[k][1].at(5.0)?, all[k][1].at(PASSES)?);
        let least = early.values().iter().fold(f64::INFINITY, |m, v| m.min(*v));
        let most = late.values().iter().fold(0.0, |m: f64, v| m.max(*v));
        let fails = SETS[k] == Set::Entities;
        Ok((format!("{early} after 5, {late} after 15"), (most >= least) == fails).into())
    })?;
    outcome.claim(claim.known(reason));
    let iterations =
        |k: usize| Sample::of(&all[k][0].seeds, |run| run.at(PASSES).evaluations - 1.0);
    let two = paper("6.2", "Reaching 0.01 or 0.001 takes on average 2 iterations.")
        .claim("a line search to a sub-precision of 1e-3 takes two Newton steps on average")
        .in_unit("Newton steps an update")
        .rests_on([FINE]);
    let threshold = "number of Newton steps of a line search, mean over the updates of 15 passes, median over 5 seeds: 2 when rounded. Each evaluation of the dual after the first is a step. To 0.01 it is fewer: the table has the evaluations, one more than the steps";
    outcome.claim(over(&courses, Need::Most, two, threshold, |k| {
        let found = iterations(k)?;
        Ok((found.to_string(), found.median().round() == 2.0).into())
    })?);
    let passes = |run: &Curve| in_passes(run.to(1e-4, |row| row.passes));
    outcome.claim(
        paper("6.2", "On all datasets, if we ask 0.01 sub-precision or less, SDCA converges with the same rate.")
            .claim("with sub-precisions of 0.01 or less SDCA converges equally fast")
            .reported(
                "P - P* after 15 passes with each sub-precision (1e-3: median over 5 seeds; 1e-2 and 1e-6: one run); not judged: \"the same rate\" has no number",
                list(&|runs| format!("1e-2: {}, 1e-3: {}, 1e-6: {}", last(runs[2]), last(runs[0]), last(runs[3])))?,
            ),
    );
    outcome.claim(
        paper(
            "footnote 4",
            "We also tried initializing the line search with 0.5 or with the previous step size. There was no significant difference.",
        )
        .claim("it does not matter whether the search starts from 0.5 or from the last step size")
        .reported(
            "passes to P - P* = 1e-4, at a sub-precision of 1e-3: from 0.5 (medians over 5 seeds), and from the last step size of the sequence (one run); never: not within 15 passes; not judged: \"no significant difference\" has no number",
            list(&|runs| format!("from 0.5: {}, from the last: {}", passes(runs[0]), passes(runs[6])))?,
        ),
    );
    let seconds = |run: &Curve| run.at(PASSES).seconds;
    outcome.claim(
        paper("6.2", "These 2 iterations [of Newton's method in the line search] were taking about 30% of the algorithms running time for each dataset.")
            .claim("the line search takes about 30 % of the time")
            .reported(
                "1 minus a ratio: seconds of 15 passes with the constant step 0.5 (no line search), over those with a sub-precision of 1e-3. Not judged: times are those of this machine, and two runs share it, so that the number can be below 0",
                list(&|runs| short(1.0 - seconds(runs[5]) / seconds(runs[0])))?,
            ),
    );
    Ok(())
}
