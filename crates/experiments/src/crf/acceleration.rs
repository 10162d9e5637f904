//! Beyond the paper, section 7: SDCA accelerated by Catalyst.
//!
//! The default of its proximal weight was chosen on the text sets. The claims are judged on handwriting and on parts of speech.

use std::ops::ControlFlow;

use fenchel_crf::methods::{CatalystSettings, SdcaSettings, catalyst, sdca};
use fenchel_crf::{Features, Problem};
use fenchel_optim::{Cadence, Observer, Progress, Report, Stop};

use super::paper;
use super::tasks::{Set, Task};
use crate::number::short;
use crate::race::in_passes;
use crate::{
    Axis, Context, Experiment, Failure, Figure, Judged, Outcome, Reason, SEEDS, Sample, Series,
    Source, Table,
};

pub(super) const ACCELERATION: Experiment = Experiment {
    id: "crf-acc",
    file: file!(),
    document: super::DOCUMENT,
    title: "Section 7: accelerated SDCA",
    question: "Does acceleration help SDCA for CRFs where the penalty is small?",
    learnt: "On handwriting it saves half of the passes; where SDCA needs a dozen or two, on parts of speech, it saves next to nothing.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["ocr", "conll2000"],
    run: experiment,
};

const FUTURE: Source = paper(
    "7",
    "acceleration schemes have been proposed for both SAG and SDCA, though they have not been tested yet for training CRFs",
);

const PLAIN: &str = "SDCA by gaps";
const FAST: &str = "accelerated";
const LARGE: &str = "accelerated, large kappa";

/// The target: a certified gap, relative to the objective.
const TARGET: f64 = 1e-4;
/// `n l2` of the two races.
const PENALTIES: [f64; 2] = [0.1, 1.0];
/// The large proximal weight over `l2`, of which the default is 2.
const FACTOR: f64 = 100.0;
/// Passes after which a run ends in any case, and one with a large proximal weight.
const MOST: f64 = 300.0;
const MOST_LARGE: f64 = 150.0;

/// The runs of one method on one problem, a run a seed.
struct Runs {
    /// Passes to the target.
    passes: Sample,
    /// Passes and certified gap over the objective, first seed.
    course: Vec<(f64, f64)>,
    /// The smallest factor by which a run reduced its gap.
    reduced: f64,
}

struct Watch<'w, 'c> {
    context: &'w Context<'c>,
    rows: Vec<(f64, f64)>,
}

impl<M> Observer<M> for Watch<'_, '_> {
    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        self.rows.push((progress.passes, progress.certificate.relative()));
        self.context.control()
    }
}

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome
        .setting("target", "a certified gap of 1e-4 relative, with a certificate after every pass")
        .setting("kappa", "2 l2, the default; large: 100 l2")
        .setting("seeds", "three a method; the table shows medians, figures the first");
    let mut table = Table::new(
        "Passes to a certified gap of 1e-4 relative",
        ["data", "n l2", PLAIN, FAST, LARGE],
    );
    let sets = [(Set::Ocr, context.pick(250, 2_000)), (Set::Parts, context.pick(60, 300))];
    for (k, (set, limit)) in sets.into_iter().enumerate() {
        context.progress(k as f64 / sets.len() as f64, set.name());
        let task = match set.real(context, limit)? {
            Some(task) => task,
            None => set.synthetic()?,
        };
        task.describe(&mut outcome);
        for penalty in PENALTIES {
            race(context, set, &task, penalty, &mut outcome, &mut table)?;
        }
    }
    outcome.table(table);
    Ok(outcome)
}

fn race(
    context: &Context,
    set: Set,
    task: &Task,
    penalty: f64,
    outcome: &mut Outcome,
    table: &mut Table,
) -> Result<(), Failure> {
    let l2 = penalty / task.train.sequences() as f64;
    let problem = Problem::new(&task.train, l2, Features::default())?;
    let plain = runs(context, PLAIN, |seed, stop, watch| {
        let settings = SdcaSettings { seed, stop, ..SdcaSettings::default() };
        Ok(sdca::<f64, _>(&problem, &settings, None, watch)?.report)
    })?;
    let accelerated = |name: &str, kappa| {
        runs(context, name, |seed, stop, watch| {
            let settings = CatalystSettings { kappa, seed, stop, ..CatalystSettings::default() };
            Ok(catalyst::<f64, _>(&problem, &settings, None, watch)?.report)
        })
    };
    let fast = accelerated(FAST, None)?;
    let large = accelerated(LARGE, Some(FACTOR * l2))?;
    let place = format!("{}, l2 = {}/n", task.name, short(penalty));
    let (most, words) = match penalty < 1.0 {
        true => (0.8, "fewer passes"),
        false => (1.1, "no more passes"),
    };
    let fewer = FUTURE
        .claim(format!("{place}: acceleration needs {words}"))
        .rests_on([PLAIN, FAST])
        .ours(format!("in each of three seeds at most {most} times the passes of SDCA by gaps"));
    let reaches = (in_passes(plain.passes.median()), plain.passes.median().is_finite());
    let judged = fast.passes.at_most(most, &plain.passes).and(Judged::from(reaches).named(PLAIN));
    let why = Reason::unknown(
        "an outer step is a whole pass of SDCA, and SDCA is there after a dozen or two: the momentum may have too little time to \
         build up; on handwriting, where SDCA takes 30 passes and more, it is enough",
    );
    outcome.claim(task.judge(match set {
        Set::Parts => fewer.known_failure(judged, why),
        _ => fewer.holds(judged),
    }));
    if penalty < 1.0 {
        let worse = FUTURE
            .claim(format!("{place}: too large a proximal weight loses"))
            .rests_on([FAST, LARGE])
            .ours("in each of three seeds 100 l2 needs more passes than 2 l2");
        let moved = (format!("its gap fell by {}", short(large.reduced)), large.reduced >= 10.0);
        outcome.claim(task.judge(worse.holds(fast.passes.below(&large.passes).and(moved))));
    }
    let medians = [&plain, &fast, &large].map(|run| in_passes(run.passes.median()).into());
    let [a, b, c] = medians;
    table.push([task.name.into(), penalty.into(), a, b, c]);
    let figure = Figure::new(
        format!("Acceleration on {place}"),
        Axis::linear("passes"),
        Axis::log("certified gap / objective"),
    );
    let names = [PLAIN, FAST, LARGE].into_iter().zip([plain, fast, large]);
    outcome.figure(
        names.fold(figure, |figure, (name, run)| figure.with(Series::line(name, run.course))),
    );
    Ok(())
}

/// Three runs with a certificate after every pass.
fn runs<'c>(
    context: &'c Context<'c>,
    name: &str,
    solve: impl Fn(u64, Stop, &mut Watch<'c, 'c>) -> Result<Report, Failure>,
) -> Result<Runs, Failure> {
    let max_passes = if name == LARGE { MOST_LARGE } else { MOST };
    let stop = Stop { check: Cadence::Every(1.0), max_passes, ..Stop::at_relative(TARGET) };
    let stop = context.stop(name, stop);
    let (mut passes, mut course, mut reduced) = (vec![], vec![], f64::INFINITY);
    for seed in 0..SEEDS as u64 {
        let mut watch = Watch { context, rows: vec![] };
        let report = solve(context.seed + seed, stop, &mut watch)?;
        context.check()?;
        let there = report.certificate.relative() <= TARGET;
        passes.push(if there { report.passes } else { f64::INFINITY });
        let gap = |row: Option<&(f64, f64)>| row.map_or(f64::NAN, |row| row.1);
        reduced = reduced.min(gap(watch.rows.first()) / gap(watch.rows.last()));
        if seed == 0 {
            course = watch.rows;
        }
    }
    Ok(Runs { passes: Sample::over_seeds(passes)?, course, reduced })
}
