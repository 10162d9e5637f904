//! Figures 2, 3 and 9: which sequence is next, and what is known of the gap.

use fenchel_crf::Order;

use super::paper;
use super::runs::{Curve, Method, NEWTON, curves, late};
use super::tasks::Set;
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Series, Size, Source};

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

const NAMES: [&str; 5] = ["share 0", "share 0.2", "share 0.5", "share 0.8", "share 1"];

const IMPORTANCE: Source =
    paper("6.3", "We also observe that Importance performs worse than Uniform");

fn scheme(order: Order) -> Method {
    Method::Sdca(order, 0.8, NEWTON)
}

fn schemes(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = settings();
    context.progress(0.0, "OCR");
    let methods = [
        ("Gap", scheme(Order::Gap)),
        ("Gap x importance", scheme(Order::LipschitzGap)),
        ("Uniform", scheme(Order::Uniform)),
        ("Importance", scheme(Order::Lipschitz)),
        ("Max", scheme(Order::LargestGap)),
    ];
    let (course, ocr) = curves(context, Set::Ocr, &methods, PASSES, SEEDS)?;
    let task = &course.task;
    task.describe(&mut outcome);
    let [gap, both, uniform, importance, max] = [0, 1, 2, 3, 4].map(|k| late(&ocr[k]));
    let ratio = |a: f64, b: f64| format!("{} against {}", short(a), short(b));
    let best = paper(
        "6.3",
        "Overall, Gap sampling gives the best performance and this is what we use in the following experiments.",
    )
    .claim("OCR: sampling by gaps is ahead of uniform sampling")
    .rests_on(["Gap", "Uniform"])
    .ours("P - P* at passes 10 to 15 at most 0.5 times as large");
    outcome.claim(task.judge(best.holds((ratio(gap, uniform), gap <= 0.5 * uniform))));
    let product = paper("6.3", "Gap x Importance performs worse than Gap")
        .claim("OCR: importance does not improve on gaps")
        .rests_on(["Gap", "Gap x importance"])
        .ours("Gap at most 1.1 times Gap x importance")
        .fixed_after_a_run();
    outcome.claim(task.judge(product.holds((ratio(gap, both), gap <= 1.1 * both))));
    outcome.claim(
        IMPORTANCE
            .claim("OCR: importance sampling is worse than uniform sampling")
            .reported("Importance against Uniform", ratio(importance, uniform)),
    );
    const MAX: Source = paper(
        "6.3",
        "Max sampling is not robust enough to the staleness of the gap estimates and fails to converge here.",
    );
    let worse = MAX
        .claim("OCR: the largest gap is a worse choice than sampling by gaps")
        .rests_on(["Gap", "Max"])
        .ours("Max more than 3 times as large as Gap")
        .fixed_after_a_run();
    let judged = (ratio(max, gap), max > 3.0 * gap);
    let by = max / gap;
    outcome.claim(task.judge(match context.size {
        Size::Quick => worse.holds(judged),
        Size::Full => worse.known_failure(
            judged,
            Reason::checked(
                "the order holds; the factor was fixed after a run on 2,000 words, and is smaller on all of them",
                by,
                by > 1.0 && by <= 3.0,
            ),
        ),
    }));
    let (early, last) = (ocr[4].at(5.0).above, ocr[4].at(PASSES).above);
    let fails = MAX
        .claim("OCR: Max does not converge")
        .rests_on(["Max"])
        .ours("P - P* at pass 15 not below half of that at pass 5");
    outcome.claim(task.judge(fails.known_failure(
        (ratio(last, early), last > 0.5 * early),
        Reason::unknown(
            "here the table is updated after every visit and a fifth of the draws is uniform, as in the paper; whether the \
             paper's program updated it was not tried",
        ),
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
    let factor = importance / uniform;
    let worse = IMPORTANCE
        .claim("Entities: importance sampling is worse than uniform sampling")
        .rests_on(["Uniform", "Importance"])
        .ours("P - P* at passes 10 to 15 more than 5 times as large");
    outcome.claim(task.judge(worse.known_failure(
        (ratio(importance, uniform), importance > 5.0 * uniform),
        Reason::checked(
            "the order is the document's and holds; the factor was fixed on other sentences",
            factor,
            factor > 1.0,
        ),
    )));
    outcome.figure(figure("Sampling schemes on Dutch entities", &entities));
    Ok(outcome)
}

fn shares(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = settings();
    let (task, runs) = by_share(context, &mut outcome)?;
    let at: Vec<f64> = runs.iter().map(|run| run.at(10.0).above).collect();
    let list = |of: &[f64]| of.iter().map(|x| short(*x)).collect::<Vec<_>>().join(", ");
    const SHARE: Source = paper(
        "6.3",
        "Increasing the ratio of non-uniformity up to 1 only improves the performance on all datasets, though after 0.8 the \
         improvements are marginal, as illustrated by Figure 3 for the NER dataset.",
    );
    let faster = SHARE
        .claim("The more adaptive, the faster")
        .rests_on(&NAMES[..4])
        .document("P - P* after 10 passes falls over the shares 0, 0.2, 0.5, 0.8");
    let falls = at[..4].is_sorted_by(|a, b| a > b);
    outcome.claim(task.task.judge(faster.holds((list(&at[..4]), falls))));
    let marginal = SHARE
        .claim("Beyond 0.8 little changes")
        .rests_on(&NAMES[3..])
        .ours("P - P* at share 1 within a factor 3 of that at 0.8");
    let near = at[4] < 3.0 * at[3] && at[4] > at[3] / 3.0;
    outcome.claim(task.task.judge(marginal.holds((list(&at[3..]), near))));
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
    let guess = Source::OURS
        .claim("The mean of the last known gaps is a good guess of the gap")
        .rests_on(&NAMES[2..4])
        .ours("ratio within [0.3, 3] after the third pass, at shares 0.5 and 0.8");
    let judged = (format!("{} to {}", short(low), short(high)), low >= 0.3 && high <= 3.0);
    outcome.claim(task.task.judge(guess.holds(judged)));
    let all: Vec<f64> = runs.iter().flat_map(|run| ratios(run)).collect();
    let (low, high) = range(&all);
    let adaptive: Vec<f64> = runs[1..].iter().flat_map(|run| ratios(run)).collect();
    let (least, most) = range(&adaptive);
    let always = Source::OURS
        .claim("The guess is always within a factor of 2")
        .rests_on(NAMES)
        .specification("ratio within [0.5, 2] after the third pass, at all shares");
    outcome.claim(task.task.judge(always.known_failure(
        (format!("{} to {}", short(low), short(high)), low >= 0.5 && high <= 2.0),
        Reason::checked(
            "only share 0 leaves the band: a sequence that was not visited counts with its first guess, which is too large",
            format!("{} to {} at the other shares", short(least), short(most)),
            least >= 0.5 && most <= 2.0,
        ),
    )));
    let last: Vec<f64> = runs.iter().map(|run| run.at(PASSES).ratio).collect();
    let smallest = last.iter().copied().fold(f64::INFINITY, f64::min);
    let sides = paper(
        "figure 9",
        "The gap sampling tends to underestimate this value, whereas the uniform sampling tends to over-estimate it.",
    )
    .claim("Uniform sampling overestimates, sampling by gaps underestimates")
    .rests_on(NAMES)
    .ours("the ratio after 15 passes falls with the share and is above 1 at share 0, below at 1");
    outcome.claim(task.task.judge(sides.known_failure(
        (
            last.iter().map(|r| short(*r)).collect::<Vec<_>>().join(", "),
            last.is_sorted_by(|a, b| a > b) && last[0] > 1.0 && last[4] < 1.0,
        ),
        Reason::checked(
            "every share overestimates on these sentences: a recorded gap is as old as the last visit, and gaps fall meanwhile",
            format!("{} at least", short(smallest)),
            smallest > 1.0,
        ),
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
) -> Result<(std::sync::Arc<super::runs::Course>, Runs), Failure> {
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
