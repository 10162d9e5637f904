//! Figures 2, 3 and 9: which sequence is next, and what is known of the gap.

use fenchel_crf::Sampling;

use super::race::{Curve, Method, NEWTON, curves, late};
use super::tasks::Set;
use crate::number::short;
use crate::{Axis, Claim, Context, Experiment, Failure, Figure, Outcome, Series};

pub(super) const FIGURE_2: Experiment = Experiment {
    id: "crf-41",
    document: super::DOCUMENT,
    title: "Figure 2: sampling schemes",
    needs: &["ocr", "conll2002-nl"],
    run: schemes,
};

pub(super) const FIGURE_3: Experiment = Experiment {
    id: "crf-42",
    document: super::DOCUMENT,
    title: "Figure 3: share of adaptive draws",
    needs: &["conll2002-nl"],
    run: shares,
};

pub(super) const FIGURE_9: Experiment = Experiment {
    id: "crf-47",
    document: super::DOCUMENT,
    title: "Figure 9: estimated against true gap",
    needs: &["conll2002-nl"],
    run: estimates,
};

const PASSES: f64 = 15.0;
const SEEDS: u64 = 3;
const SHARES: [f64; 5] = [0.0, 0.2, 0.5, 0.8, 1.0];

fn scheme(sampling: Sampling) -> Method {
    Method::Sdca(sampling, 0.8, NEWTON)
}

fn schemes(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = settings();
    context.progress(0.0, "OCR");
    let methods = [
        ("Gap", scheme(Sampling::Gap)),
        ("Gap x importance", scheme(Sampling::GapImportance)),
        ("Uniform", scheme(Sampling::Uniform)),
        ("Importance", scheme(Sampling::Importance)),
        ("Max", scheme(Sampling::Max)),
    ];
    let (course, ocr) = curves(context, Set::Ocr, &methods, PASSES, SEEDS)?;
    let task = &course.task;
    task.describe(&mut outcome);
    let [gap, both, uniform, importance, max] = [0, 1, 2, 3, 4].map(|k| late(&ocr[k]));
    let ratio = |a: f64, b: f64| format!("{} against {}", short(a), short(b));
    outcome.claim(task.judge(Claim::holds(
        "OCR: sampling by gaps is ahead of uniform sampling",
        "P - P* at passes 10 to 15 at most 0.5 times as large",
        ratio(gap, uniform),
        gap <= 0.5 * uniform,
    )));
    outcome.claim(task.judge(Claim::holds(
        "OCR: importance does not improve on gaps",
        "Gap at most 1.1 times Gap x importance",
        ratio(gap, both),
        gap <= 1.1 * both,
    )));
    outcome.claim(Claim::reported(
        "OCR: importance sampling is worse than uniform sampling",
        "Importance against Uniform",
        ratio(importance, uniform),
    ));
    let statement = "OCR: the largest gap is a worse choice than sampling by gaps";
    let expected = "Max more than 3 times as large as Gap";
    let (measured, holds) = (ratio(max, gap), max > 3.0 * gap);
    outcome.claim(task.judge(context.pick(
        Claim::holds(statement, expected, measured.clone(), holds),
        Claim::known_failure(
            statement,
            expected,
            measured,
            holds,
            "the factor was fixed after a run on 2,000 words; on all of them it is 2.8",
        ),
    )));
    let (early, last) = (ocr[4].at(5.0).above, ocr[4].at(PASSES).above);
    outcome.claim(task.judge(Claim::known_failure(
        "OCR: Max does not converge",
        "P - P* at pass 15 not below half of that at pass 5",
        ratio(last, early),
        last > 0.5 * early,
        "in the authors' program the tree of maxima is not updated after a visit; updated, and with a fifth of the draws \
         uniform, the scheme converges",
    )));
    outcome.figure(
        figure("Figure 2 on OCR", &ocr)
            .caption("SDCA, medians of three seeds, four fifths of the draws by the scheme."),
    );

    context.progress(0.7, "entities");
    let (course, entities) = curves(context, Set::Entities, &methods, PASSES, 1)?;
    let task = &course.task;
    task.describe(&mut outcome);
    let (importance, uniform) = (late(&entities[3]), late(&entities[2]));
    outcome.claim(task.judge(Claim::known_failure(
        "Entities: importance sampling is worse than uniform sampling",
        "P - P* at passes 10 to 15 more than 5 times as large",
        ratio(importance, uniform),
        importance > 5.0 * uniform,
        "the order is the document's; the factor was fixed after a run on other sentences and is 2.5 on 3,000 of these, 3.4 on \
         all",
    )));
    outcome.figure(figure("Sampling schemes on Dutch entities", &entities));
    Ok(outcome)
}

fn shares(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = settings();
    let (task, runs) = by_share(context, &mut outcome)?;
    let at: Vec<f64> = runs.iter().map(|run| run.at(10.0).above).collect();
    let list = |of: &[f64]| of.iter().map(|x| short(*x)).collect::<Vec<_>>().join(", ");
    outcome.claim(task.task.judge(Claim::holds(
        "The more adaptive, the faster",
        "P - P* after 10 passes falls over the shares 0, 0.2, 0.5, 0.8",
        list(&at[..4]),
        at[..4].is_sorted_by(|a, b| a > b),
    )));
    outcome.claim(task.task.judge(Claim::holds(
        "Beyond 0.8 little changes",
        "P - P* at share 1 within a factor 3 of that at 0.8",
        list(&at[3..]),
        at[4] < 3.0 * at[3] && at[4] > at[3] / 3.0,
    )));
    outcome.figure(
        figure("Figure 3 on Dutch entities", &runs)
            .caption("SDCA by gaps, medians of three seeds; the other draws are uniform."),
    );
    Ok(outcome)
}

fn estimates(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = settings();
    let (task, runs) = by_share(context, &mut outcome)?;
    let ratios = |run: &Curve| -> Vec<f64> {
        run.rows.iter().filter(|row| row.passes >= 4.0).map(|row| row.ratio).collect()
    };
    let range = |all: &[f64]| {
        all.iter().fold((f64::INFINITY, 0.0f64), |(low, high), r| (low.min(*r), high.max(*r)))
    };
    let middle: Vec<f64> = [2, 3].iter().flat_map(|&k| ratios(&runs[k])).collect();
    let (low, high) = range(&middle);
    outcome.claim(task.task.judge(Claim::holds(
        "The mean of the last known gaps is a good guess of the gap",
        "ratio within [0.3, 3] after the third pass, at shares 0.5 and 0.8",
        format!("{} to {}", short(low), short(high)),
        low >= 0.3 && high <= 3.0,
    )));
    let all: Vec<f64> = runs.iter().flat_map(|run| ratios(run)).collect();
    let (low, high) = range(&all);
    outcome.claim(task.task.judge(Claim::known_failure(
        "The guess is always within a factor of 2",
        "ratio within [0.5, 2] after the third pass, at all shares",
        format!("{} to {}", short(low), short(high)),
        low >= 0.5 && high <= 2.0,
        "sequences that have not been visited count with the first guess, which is far too large, and without uniform draws \
         the table gets old",
    )));
    let last: Vec<f64> = runs.iter().map(|run| run.at(PASSES).ratio).collect();
    outcome.claim(task.task.judge(Claim::known_failure(
        "Uniform sampling overestimates, sampling by gaps underestimates",
        "the ratio after 15 passes falls with the share and is above 1 at share 0, below at 1",
        last.iter().map(|r| short(*r)).collect::<Vec<_>>().join(", "),
        last.is_sorted_by(|a, b| a > b) && last[0] > 1.0 && last[4] < 1.0,
        "every share overestimates on these sentences, by 1.3 to 1.7 on 3,000 of them and by 1.1 to 1.5 on all: a recorded \
         gap is as old as the last visit, and gaps fall meanwhile",
    )));
    let mut figure = Figure::new(
        "Figure 9 on Dutch entities",
        Axis::linear("passes"),
        Axis::log("estimated gap / true gap").limits(0.3, 200.0),
    )
    .caption(
        "The stopping rule looks at the estimate, and certifies with the true gap before it ends.",
    );
    for run in &runs {
        figure = figure.with(run.series(|row| row.passes, |row| row.ratio));
    }
    figure = figure.with(Series::line("exact", vec![(0.0, 1.0), (PASSES, 1.0)]).dashed());
    outcome.figure(figure);
    Ok(outcome)
}

type Runs = Vec<std::sync::Arc<Curve>>;

fn by_share(
    context: &Context,
    outcome: &mut Outcome,
) -> Result<(std::sync::Arc<super::race::Course>, Runs), Failure> {
    const NAMES: [&str; 5] = ["share 0", "share 0.2", "share 0.5", "share 0.8", "share 1"];
    let methods: Vec<(&str, Method)> = NAMES.into_iter().zip(SHARES.map(Method::gap)).collect();
    let (course, runs) = curves(context, Set::Entities, &methods, PASSES, SEEDS)?;
    course.task.describe(outcome);
    Ok((course, runs))
}

fn settings() -> Outcome {
    let mut outcome = Outcome::default();
    outcome
        .setting("l2", "1/n")
        .setting("step", "Newton, sub-precision 1e-3")
        .setting("start", "true labels, smoothed by 1e-3")
        .setting("P*", "certified to 1e-8 relative");
    outcome
}

fn figure(title: &str, runs: &[std::sync::Arc<Curve>]) -> Figure {
    let mut figure = Figure::new(title, Axis::linear("passes"), Axis::log("P - P*"));
    for run in runs {
        figure = figure.with(run.series(|row| row.passes, |row| row.above));
    }
    figure
}
