//! Appendix A.1: where dual methods should start.
//!
//! The marginals of a cold start are `eps u + (1 - eps) delta`, with `delta` the true labels and `u` the uniform distribution. At `delta` the
//! weights are 0, the dual is 0, and the gap is `P(0) = (N/n) log K`.

use std::ops::ControlFlow;

use fenchel_crf::methods::{Init, SdcaSettings, SdcaStep, sdca};
use fenchel_crf::{Features, Problem};
use fenchel_optim::{Progress, Stop};

use super::paper;
use super::runs::{Course, NEWTON, course};
use super::tasks::{Part, Set};
use crate::number::short;
use crate::race::cost_to;
use crate::{
    Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Reason, SEEDS, Sample, Series,
    Source, Table,
};

pub(super) const START: Experiment = Experiment {
    id: "crf-start",
    file: file!(),
    document: super::DOCUMENT,
    title: "Appendix A.1: the start of dual methods",
    question: "From which marginals should dual methods for CRFs start?",
    learnt: "From the true labels, smoothed: there the gap is that of zero weights; from the uniform distribution it is a thousand times larger, and costs half as many passes again or twice as many.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["ocr", "conll2000", "conll2002-nl"],
    run: experiment,
};

const PASSES: f64 = 30.0;

const SMALL: Source = paper(
    "A.1",
    "P(0) = (N/n) log(K). On all our datasets this is below 100. This means that using alpha = delta gives an initial duality gap equal to P(0)",
);
const LARGE: Source = paper(
    "A.1",
    "using alpha = u as used in the original OEG code consistently gave extremely large w(u) resulting in a large negative dual score and large \
     primal score",
);
const INFLUENCE: Source = paper(
    "A.1",
    "the initialization of dual methods for CRFs can influence significantly their performance",
);

const UNIFORM: &str = "uniform";
const SMOOTHED: &str = "smoothed, 1e-3";

/// Passes, `P - P*`, the gap.
type Row = (f64, f64, f64);

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome.setting("l2", "1/n").setting("sampling", "by gaps, share 0.8").setting("seeds", SEEDS);
    let mut table = Table::new(
        "Starts: the gap before the first step, and the passes to P - P* = 1e-4",
        ["data", "start", "first gap", "passes"],
    );
    let sets = context
        .pick(&[Set::Chunks, Set::Entities][..], &[Set::Ocr, Set::Chunks, Set::Entities][..]);
    for (k, set) in sets.iter().enumerate() {
        context.progress(k as f64 / sets.len() as f64, set.name());
        let course = course(context, *set, Part::Few)?;
        one(context, &course, &mut outcome, &mut table)?;
    }
    outcome.table(table);
    Ok(outcome)
}

fn one(
    context: &Context,
    course: &Course,
    outcome: &mut Outcome,
    table: &mut Table,
) -> Result<(), Failure> {
    let task = &course.task;
    task.describe(outcome);
    let starts = [
        (UNIFORM, Init::Uniform),
        ("smoothed, 0.1", Init::Smoothed { smoothing: 0.1 }),
        (SMOOTHED, Init::Smoothed { smoothing: 1e-3 }),
        ("smoothed, 1e-5", Init::Smoothed { smoothing: 1e-5 }),
    ];
    let mut figure = Figure::new(
        format!("Starts on {}", task.name),
        Axis::linear("passes over the data"),
        Axis::log("P - P* (nats)").limits(1e-8, 1e6),
    )
    .caption("The first seed of three.");
    let (mut passes, mut gaps) = (Vec::new(), Vec::new());
    for (name, init) in starts {
        // The others are shown, not judged.
        let judged = [UNIFORM, SMOOTHED].contains(&name);
        let runs = (0..if judged { SEEDS as u64 } else { 1 })
            .map(|seed| run(context, course, name, &init, NEWTON, context.seed + seed));
        let runs: Vec<Vec<Row>> = runs.collect::<Result<_, _>>()?;
        let arrived = runs.iter().map(|rows| cost_to(rows.iter().map(|r| (r.0, r.1)), 1e-4));
        let arrived: Vec<f64> = arrived.collect();
        let arrived = if judged { Sample::over_seeds(arrived)? } else { Sample::exact(arrived[0]) };
        let first = runs[0].first().map_or(f64::NAN, |row| row.2);
        let median = arrived.median();
        let shown = if median.is_finite() { median.into() } else { "–".into() };
        table.push([task.name.into(), name.into(), first.into(), shown]);
        figure =
            figure.with(Series::line(name, runs[0].iter().map(|row| (row.0, row.1)).collect()));
        passes.push(arrived);
        gaps.push(first);
    }
    outcome.figure(figure);
    let corner = run(context, course, "", &Init::Empirical, SdcaStep::Fixed(0.5), 0)?;
    let corner = corner.first().map_or(f64::NAN, |row| row.2);
    let train = &task.train;
    let formula = train.tokens() as f64 / train.sequences() as f64 * (train.labels() as f64).ln();
    let exact = |claim| crate::Claim { ground: Ground::Exact, ..task.judge(claim) };
    outcome.claim(exact(
        SMALL
            .claim(format!("{}: at the true labels the gap is (N/n) log K, and small", task.name))
            .document("equal to 1e-6, below 100")
            .holds((
                format!("{} and {}", short(corner), short(formula)),
                (corner - formula).abs() <= 1e-6 * formula && corner < 100.0,
            )),
    ));
    outcome.claim(exact(
        LARGE
            .claim(format!("{}: at the uniform distribution the gap is extremely large", task.name))
            .ours("at least 100 times that at the true labels")
            .holds((
                format!("{} against {}", short(gaps[0]), short(corner)),
                gaps[0] >= 100.0 * corner,
            )),
    ));
    let stated = INFLUENCE
        .claim(format!("{}: the uniform start costs passes", task.name))
        .rests_on([UNIFORM, SMOOTHED])
        .ours("in each of three seeds, 1.5 times the passes to P - P* = 1e-4 or more, and it arrives in 30");
    let judged =
        passes[2].ahead_by(1.5, &passes[0]).and(passes[0].at_most(1.0, &Sample::exact(PASSES)));
    outcome.claim(task.judge(match task.name {
        "CoNLL-2000 chunks" => stated.known_failure(
            judged,
            Reason::unknown(
                "the factor of 1.5 is this experiment's; the median of the seeds is just below it",
            ),
        ),
        _ => stated.holds(judged),
    }));
    Ok(())
}

/// One run with a row after every pass; none but the start where there is no name.
fn run(
    context: &Context,
    course: &Course,
    name: &str,
    init: &Init,
    step: SdcaStep,
    seed: u64,
) -> Result<Vec<Row>, Failure> {
    let train = &course.task.train;
    let problem = Problem::new(train, 1.0 / train.sequences() as f64, Features::default())?;
    let stop = Stop::after_passes(if name.is_empty() { 0.0 } else { PASSES });
    let settings = SdcaSettings {
        init: init.clone(),
        step,
        seed,
        stop: context.stop(name, stop),
        ..SdcaSettings::default()
    };
    let mut rows = Vec::new();
    let mut watch = |progress: &Progress, _: &fenchel_crf::methods::Sdca<'_, '_, f64>| {
        let certificate = &progress.certificate;
        let above = certificate.objective().unwrap_or(f64::NAN) - course.best;
        rows.push((progress.passes, above, certificate.value()));
        if above <= 1e-8 { ControlFlow::Break(()) } else { context.control() }
    };
    sdca::<f64, _>(&problem, &settings, None, &mut watch)?;
    context.check()?;
    Ok(rows)
}
