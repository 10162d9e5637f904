//! Beyond the paper, section 7: gap sampling for exponentiated gradient (OEG).

use super::methods::moved;
use super::paper;
use super::runs::{Method, Row, lines};
use super::tasks::{Part, Set};
use crate::number::short;
use crate::race::in_passes;
use crate::{
    Axis, Context, Experiment, Failure, Figure, Judged, Outcome, SEEDS, Sample, Source, Table,
};
use fenchel_crf::Order;

pub(super) const OEG: Experiment = Experiment {
    id: "crf-oeg",
    file: file!(),
    document: super::DOCUMENT,
    title: "Section 7: gap sampling for OEG",
    question: "Does gap sampling help OEG as it helps SDCA?",
    learnt: "It does: a block's gap follows from the step itself without another call, and OEG saves a third to a half of its oracle calls.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["conll2000", "conll2002-nl"],
    run: experiment,
};

const FUTURE: Source =
    paper("7", "It would be natural to also implement a gap sampling scheme for OEG");

/// Of SDCA; OEG runs half as many again.
const PASSES: f64 = 30.0;
const CALLS: fn(&Row) -> f64 = |row| row.calls;

const NAMES: [&str; 4] = ["OEG by gaps", "OEG uniform", "SDCA by gaps", "SDCA uniform"];

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome
        .setting("l2", "1/n")
        .setting("draws by gaps", "share 0.8")
        .setting("gap of a block, OEG", "estimated from the step, without an oracle call")
        .setting("seeds", "three a method; table and figures show medians");
    let methods =
        [Method::Oeg(Order::Gap), Method::Oeg(Order::Uniform), Method::gap(0.8), Method::uniform()];
    let methods: Vec<(&str, Method)> = NAMES.into_iter().zip(methods).collect();
    let mut table = Table::new(
        "Oracle calls / n to a relative suboptimality of 1e-4",
        ["data", NAMES[0], NAMES[1], NAMES[2], NAMES[3]],
    );
    let sets = context
        .pick(&[Set::Chunks, Set::Entities][..], &[Set::Chunks, Set::Entities, Set::Parts][..]);
    for (k, &set) in sets.iter().enumerate() {
        context.progress(k as f64 / sets.len() as f64, set.name());
        let (course, runs) = lines(context, (set, Part::Few), &methods, PASSES, SEEDS as u64)?;
        let (task, name) = (&course.task, course.task.name);
        task.describe(&mut outcome);
        let target = 1e-4 * course.best;
        let calls: Vec<Sample> =
            runs.iter().map(|run| run.to(target, CALLS)).collect::<Result<_, _>>()?;
        let fewer = FUTURE
            .claim(format!("{name}: gap sampling helps OEG"))
            .rests_on(&NAMES[..2])
            .ours("in each of three seeds fewer oracle calls to 1e-4 relative than with uniform draws");
        outcome.claim(task.judge(fewer.holds(calls[0].below(&calls[1]).and(moved([&runs[1]])))));
        let factors = |gaps: &Sample, uniform: &Sample| -> Vec<f64> {
            gaps.values().iter().zip(uniform.values()).map(|(gaps, all)| all / gaps).collect()
        };
        let (oeg, sdca) = (factors(&calls[0], &calls[1]), factors(&calls[2], &calls[3]));
        let as_much = FUTURE
            .claim(format!("{name}: it helps OEG as much as SDCA"))
            .rests_on(NAMES)
            .ours("in each of three seeds, the factor saved in oracle calls to 1e-4 relative is at least 0.75 times that of SDCA");
        let list = |all: &[f64]| all.iter().map(|x| in_passes(*x)).collect::<Vec<_>>().join(", ");
        let finite = oeg.iter().chain(&sdca).all(|factor| factor.is_finite());
        let holds = finite && oeg.iter().zip(&sdca).all(|(a, b)| *a >= 0.75 * b);
        let judged = Judged::from((format!("{} against {}", list(&oeg), list(&sdca)), holds));
        outcome.claim(task.judge(as_much.holds(judged.and(moved(&runs)))));
        let mut row = vec![name.into()];
        row.extend(calls.iter().map(|sample| in_passes(sample.median()).into()));
        table.push(row);
        let mut figure = Figure::new(
            format!("Gap sampling on {name}"),
            Axis::linear("oracle calls / n").limits(0.0, 50.0),
            Axis::log("P - P*").limits(1e-6, 100.0),
        )
        .caption(format!("The target is {}.", short(target)));
        for run in &runs {
            figure = figure.with(run.median.series(CALLS, |row| row.above));
        }
        outcome.figure(figure);
    }
    outcome.table(table);
    Ok(outcome)
}
