//! This module repeats figures 2, 3 and 9 of Le Priol, Piche and Lacoste-Julien (2018): how the next sequence is
//! drawn, and how well the duality gap is estimated.

use fenchel_crf::Order;

use super::paper;
use super::runs::{Curve, Method, NEWTON, curves, late, lines};
use super::tasks::{Part, Set};
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Reason, Series, Size, Source};

pub(super) const FIGURE_2: Experiment = Experiment {
    id: "crf-41",
    file: file!(),
    document: super::DOCUMENT,
    title: "Figure 2: sampling schemes",
    question: "Which sequences should SDCA draw?",
    learnt: "Those with large gaps: sampling by gaps is ahead of uniform sampling, and always taking the largest gap is worse; importance does not cost here what the paper says.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["ocr", "conll2002-nl"],
    run: schemes,
};

pub(super) const FIGURE_3: Experiment = Experiment {
    id: "crf-42",
    file: file!(),
    document: super::DOCUMENT,
    title: "Figure 3: share of adaptive draws",
    question: "How large a share of the draws should be adaptive?",
    learnt: "Most of the gain is there at small shares, and little changes beyond 0.8.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["conll2002-nl"],
    run: shares,
};

pub(super) const FIGURE_9: Experiment = Experiment {
    id: "crf-47",
    file: file!(),
    document: super::DOCUMENT,
    title: "Figure 9: estimated against true gap",
    question: "Is the mean of the last known gaps a good guess of the duality gap?",
    learnt: "It is within a factor of two once every sequence was seen; it overestimates, because gaps fall between two visits.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["conll2002-nl", "ocr", "conll2000"],
    run: estimates,
};

const PASSES: f64 = 15.0;
const SEEDS: u64 = crate::SEEDS as u64;
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
    let (course, all) = lines(context, (Set::Ocr, Part::Most), &methods, PASSES, SEEDS)?;
    let ocr: Vec<_> = all.iter().map(|line| line.median.clone()).collect();
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
    let left = [0, 1, 2, 3, 4].map(|k| ocr[k].has_left_its_start());
    let judged = (ratio(gap, uniform), gap <= 0.5 * uniform && left[2]);
    outcome.claim(task.judge(best.holds(judged)));
    // The least `P - P*` of one scheme over that of another, over the seeds and passes; above 1 the first is always worse.
    let worse_by = |worse: usize, better: usize, passes: &[f64]| {
        let ratios = all[worse].seeds.iter().zip(&all[better].seeds).flat_map(|(worse, better)| {
            passes.iter().map(move |&p| worse.at(p).above / better.at(p).above)
        });
        ratios.fold(f64::INFINITY, f64::min)
    };
    let product = paper("6.3", "Gap x Importance performs worse than Gap")
        .claim("OCR: importance does not improve on gaps")
        .rests_on(["Gap", "Gap x importance"])
        .document("P - P* of Gap x importance above that of Gap after 5, 10 and 15 passes, in each of three seeds");
    let least = worse_by(1, 0, &[5.0, 10.0, 15.0]);
    outcome.claim(task.judge(product.known_failure(
        (
            format!("{} times at least; {} late", short(least), ratio(both, gap)),
            least > 1.0 && left[1],
        ),
        Reason::unknown(
            "the two are close here, and which one is ahead depends on the pass and the seed",
        ),
    )));
    let least = worse_by(3, 2, &[10.0, 15.0]);
    let order = IMPORTANCE
        .claim("OCR: importance sampling is worse than uniform sampling")
        .rests_on(["Uniform", "Importance"])
        .document("P - P* of Importance above that of Uniform after 10 and 15 passes, in each of three seeds");
    outcome.claim(task.judge(order.known_failure(
        (
            format!("{} times at least; {} late", short(least), ratio(importance, uniform)),
            least > 1.0 && left[3],
        ),
        Reason::unknown("the radii are those of the paper's appendix C; its folds and weights of the bias are not known"),
    )));
    const MAX: Source = paper(
        "6.3",
        "Max sampling is not robust enough to the staleness of the gap estimates and fails to converge here.",
    );
    let worse = MAX
        .claim("OCR: the largest gap is a worse choice than sampling by gaps")
        .rests_on(["Gap", "Max"])
        .ours("Max more than 3 times as large as Gap")
        .fixed_after_a_run();
    let judged = (ratio(max, gap), max > 3.0 * gap && left[4]);
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
        (ratio(last, early), last > 0.5 * early && early < 0.5 * ocr[4].at(0.0).above),
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
    let (course, pair) =
        lines(context, (Set::Entities, Part::Most), &methods[2..4], PASSES, SEEDS)?;
    let (_, entities) = curves(context, Set::Entities, &methods, PASSES, 1)?;
    let task = &course.task;
    task.describe(&mut outcome);
    let (uniform, importance) = (pair[0].sample(late)?, pair[1].sample(late)?);
    let start = pair[1].median.at(0.0).above;
    let worse = Source::OURS
        .claim("Entities: importance sampling is worse than uniform sampling")
        .rests_on(["Uniform", "Importance"])
        .ours("P - P* at passes 10 to 15 larger, in each of three seeds");
    let judged = uniform.below(&importance).and(importance.past_start(start, 10.0));
    outcome.claim(task.judge(worse.holds(judged)));
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
    let falls = at[..4].is_sorted_by(|a, b| a > b) && runs[0].has_left_its_start();
    outcome.claim(task.task.judge(faster.holds((list(&at[..4]), falls))));
    let to_one = SHARE
        .claim("Up to 1 more adaptive draws only improve")
        .rests_on(NAMES)
        .document("P - P* after 10 passes falls over all five shares");
    outcome.claim(task.task.judge(to_one.known_failure(
        (list(&at), falls && at[4] < at[3]),
        Reason::unknown(
            "only the last step, from 0.8 to 1, is not a fall; that gaps recorded too low are seen late is not the reason, for at \
             share 1 too the recorded gaps are above the true ones (figure 9)",
        ),
    )));
    let marginal = SHARE
        .claim("Beyond 0.8 little changes")
        .rests_on(&NAMES[3..])
        .specification("P - P* at share 1 within a factor 3 of that at 0.8");
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
        let rows = run.rows.iter().filter(|row| row.passes >= 4.0);
        let all: Vec<f64> = rows.map(|row| row.ratio).collect();
        // A run that did not get so far shows nothing.
        if all.is_empty() { vec![f64::NAN] } else { all }
    };
    let range = |all: &[f64]| {
        if all.iter().any(|r| r.is_nan()) {
            return (f64::NAN, f64::NAN);
        }
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
    const ALWAYS: Source =
        paper("6.3", "Empirically, it always remains within a factor 2 of the true duality gap.");
    let adaptive: Vec<f64> = runs[1..].iter().flat_map(|run| ratios(run)).collect();
    let (least, most) = range(&adaptive);
    let always = ALWAYS
        .claim("Entities: with adaptive draws the guess is always within a factor of 2")
        .rests_on(&NAMES[1..])
        .document("ratio within [0.5, 2] after the third pass, at the shares 0.2 to 1");
    let within = |(low, high): (f64, f64)| low >= 0.5 && high <= 2.0;
    let shown = |(low, high): (f64, f64)| format!("{} to {}", short(low), short(high));
    outcome.claim(task.task.judge(always.holds((shown((least, most)), within((least, most))))));
    let uniform = range(&ratios(&runs[0]));
    // By then every sequence was drawn, but for a chance of `n exp(-12)`.
    let late: Vec<f64> =
        runs[0].rows.iter().filter(|row| row.passes >= 12.0).map(|row| row.ratio).collect();
    let late = range(&late);
    let always = ALWAYS
        .claim("Entities: with uniform draws the guess is always within a factor of 2")
        .rests_on(&NAMES[..1])
        .document("ratio within [0.5, 2] after the third pass, at share 0");
    outcome.claim(task.task.judge(always.known_failure(
        (shown(uniform), within(uniform)),
        Reason::checked(
            "a sequence counts with its first guess, 100, until it is drawn: from pass 12 on all were, and the ratio is within 2",
            shown(late),
            within(late),
        ),
    )));
    for set in [Set::Ocr, Set::Chunks, Set::Parts] {
        let methods = [NAMES[0], NAMES[3]].into_iter().zip([0.0, 0.8].map(Method::gap));
        let methods: Vec<(&str, Method)> = methods.collect();
        let (course, others) = curves(context, set, &methods, PASSES, 1)?;
        course.task.describe(&mut outcome);
        let band = range(&ratios(&others[1]));
        let claim = ALWAYS
            .claim(format!("{}: the guess is always within a factor of 2", course.task.name))
            .rests_on([NAMES[3]])
            .document("ratio within [0.5, 2] after the third pass, at share 0.8");
        let judged = (shown(band), within(band));
        let old = "it overestimates as everywhere, because gaps fall between two visits; the ratio stays within 2.5";
        let above = Reason::checked(old, short(band.1), band.0 > 1.0 && band.1 <= 2.5);
        outcome.claim(course.task.judge(match (set, context.size) {
            (Set::Parts, Size::Quick) => claim.known_failure(judged, above),
            _ => claim.holds(judged),
        }));
        let ends = [&others[0], &others[1]].map(|run| run.at(PASSES).ratio);
        let sides = SIDES
            .claim(format!("{}: uniform sampling overestimates more", course.task.name))
            .rests_on([NAMES[0], NAMES[3]])
            .document("ratio after 15 passes larger at share 0 than at 0.8");
        let measured = format!("{} against {}", short(ends[0]), short(ends[1]));
        let moved = others.iter().all(|run| run.at(PASSES).above < 0.5 * run.at(0.0).above);
        outcome.claim(course.task.judge(sides.holds((measured, ends[0] > ends[1] && moved))));
    }
    let last: Vec<f64> = runs.iter().map(|run| run.at(PASSES).ratio).collect();
    let smallest = last.iter().copied().fold(f64::INFINITY, f64::min);
    let sides = SIDES
        .claim("Uniform sampling overestimates, sampling by gaps underestimates")
        .rests_on(NAMES)
        .ours(
            "the ratio after 15 passes falls with the share and is above 1 at share 0, below at 1",
        );
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

const SIDES: Source = paper(
    "figure 9",
    "The gap sampling tends to underestimate this value, whereas the uniform sampling tends to over-estimate it.",
);

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
