//! This module runs several methods on one problem and stores the results after every pass. Several figures use the
//! same results.

use std::ops::ControlFlow;
use std::sync::Arc;

use fenchel_crf::methods::{
    NewtonStart, Oeg, OegSettings, Sag, SagSettings, Sdca, SdcaSettings, SdcaStep, lbfgs, oeg, sag,
    sdca,
};
use fenchel_crf::{Features, Order, Problem, Weights};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Observer, Progress, Stop};

use super::tasks::{Part, Set, Task};
use crate::finite_sum::sets::Subject;
use crate::numbers::median;
use crate::race::cost_to;
use crate::runs;
use crate::{Context, Failure, Outcome, Sample, Series};

/// What most figures show.
pub(super) const ABOVE: &str = "primal suboptimality P - P*";

/// A method with all settings that affect its runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Method {
    /// Order, share of the adaptive draws, step.
    Sdca(Order, f64, SdcaStep),
    Oeg(Order),
    /// Whether line searches may be skipped.
    Sag(bool),
    Lbfgs,
}

pub(super) const NEWTON: SdcaStep = SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::Half };

impl Method {
    pub(super) fn gap(share: f64) -> Method {
        Method::Sdca(Order::Gap, share, NEWTON)
    }

    pub(super) fn uniform() -> Method {
        Method::Sdca(Order::Uniform, 0.8, NEWTON)
    }
}

/// The results after one pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    pub(super) passes: f64,
    /// Oracle calls, in multiples of `n`.
    pub(super) calls: f64,
    /// `P - P*`
    pub(super) above: f64,
    /// The estimated duality gap divided by the true one.
    pub(super) ratio: f64,
    /// The mean number of evaluations per line search so far.
    pub(super) evaluations: f64,
    /// The errors on the test set, by tokens and by sequences.
    pub(super) errors: (f64, f64),
    /// Of the method alone.
    pub(super) seconds: f64,
}

/// The rows of one run.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) rows: Arc<Vec<Row>>,
}

/// A data set, its problem with `l2 = 1/n`, and its optimum.
pub(super) struct Course {
    pub(super) task: Task,
    pub(super) best: f64,
    /// Test errors at the optimum.
    pub(super) errors: (f64, f64),
}

impl Subject for Arc<Course> {
    fn named(&self) -> (&'static str, bool) {
        (self.task.name, self.task.real)
    }
}

/// The numbers that an observer reads from a method.
trait Watched {
    fn weights(&self) -> Option<Weights>;
    fn estimate(&self) -> f64 {
        f64::NAN
    }
    fn evaluations(&self) -> f64 {
        f64::NAN
    }
}

impl Watched for Sdca<'_, '_, f64> {
    fn weights(&self) -> Option<Weights> {
        Some(Sdca::weights(self))
    }
    fn estimate(&self) -> f64 {
        self.gaps().iter().sum::<f64>() / self.gaps().len() as f64
    }
    fn evaluations(&self) -> f64 {
        self.mean_evaluations()
    }
}

impl Watched for Oeg<'_, '_> {
    fn weights(&self) -> Option<Weights> {
        Some(Oeg::weights(self))
    }
}

impl Watched for Sag<'_, '_> {
    fn weights(&self) -> Option<Weights> {
        Some(Sag::weights(self))
    }
}

impl Watched
    for fenchel_optim::lbfgs::Lbfgs<fenchel_crf::methods::Likelihood<'_, fenchel_crf::Problem<'_>>>
{
    fn weights(&self) -> Option<Weights> {
        None
    }
}

struct Watch<'w, 'c> {
    context: &'w Context<'c>,
    course: &'w Course,
    tested: bool,
    rows: Vec<Row>,
}

impl<M: Watched> Observer<M> for Watch<'_, '_> {
    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        let n = self.course.task.train.sequences() as f64;
        let weights = if self.tested { method.weights() } else { None };
        let errors = weights.and_then(|weights| self.course.task.errors(&weights).ok());
        self.rows.push(Row {
            passes: progress.passes,
            calls: progress.oracle_calls as f64 / n,
            above: progress.certificate.objective().unwrap_or(f64::NAN) - self.course.best,
            ratio: method.estimate() / progress.certificate.value(),
            evaluations: method.evaluations(),
            errors: errors.unwrap_or((f64::NAN, f64::NAN)),
            seconds: progress.seconds,
        });
        self.context.control()
    }
}

/// The data set in the size of the run, with its optimum, once for all figures. The relative error of the optimum is certified to be at most 1e-8.
pub(super) fn course(context: &Context, set: Set, part: Part) -> Result<Arc<Course>, Failure> {
    let key = format!("{set:?} {part:?} {} {:?}", context.size, context.data);
    runs::kept(key, || solved(context, set, set.load(context, set.limit(context, part))?))
}

fn solved(context: &Context, set: Set, task: Task) -> Result<Course, Failure> {
    let problem = problem(&task)?;
    let stop = Stop { absolute: 0.0, relative: 1e-8, max_passes: 3000.0, ..Stop::default() };
    let (weights, report) = if set == Set::Ocr {
        let solution =
            lbfgs(&problem, &LbfgsSettings { stop, ..Default::default() }, None, &mut ())?;
        (solution.state, solution.report)
    } else {
        let settings = SdcaSettings { stop, seed: 7, ..SdcaSettings::default() };
        let solution = sdca::<f64, _>(&problem, &settings, None, &mut ())?;
        (solution.state.weights, solution.report)
    };
    context.check()?;
    let best = report.certificate.objective();
    let best = best.ok_or_else(|| Failure::new("the reference run has no objective"))?;
    let errors = task.errors(&weights)?;
    drop(problem);
    Ok(Course { task, best, errors })
}

fn problem(task: &Task) -> Result<Problem<'_>, Failure> {
    Ok(Problem::new(&task.train, 1.0 / task.train.sequences() as f64, Features::default())?)
}

/// One run with a row after every pass.
fn run(
    context: &Context,
    course: &Course,
    name: &str,
    method: &Method,
    passes: f64,
    seed: u64,
) -> Result<Vec<Row>, Failure> {
    let problem = problem(&course.task)?;
    let stop = context.stop(name, Stop::after_passes(passes));
    let tested = matches!(method, Method::Oeg(Order::Uniform) | Method::Sag(_))
        || *method == Method::gap(0.8)
        || *method == Method::uniform();
    let mut watch = Watch { context, course, tested, rows: Vec::new() };
    match method.clone() {
        Method::Sdca(order, non_uniformity, step) => {
            let settings =
                SdcaSettings { order, non_uniformity, step, seed, stop, ..Default::default() };
            sdca::<f64, _>(&problem, &settings, None, &mut watch)?;
        }
        Method::Oeg(order) => {
            // Half as many again: far enough to say whether it needs twice the updates of SDCA.
            let stop = Stop { max_passes: 1.5 * stop.max_passes, ..stop };
            let settings = OegSettings { order, seed, stop, ..Default::default() };
            oeg(&problem, &settings, None, &mut watch)?;
        }
        Method::Sag(skip) => {
            let settings = SagSettings { skip, seed, stop, ..Default::default() };
            sag(&problem, &settings, None, &mut watch)?;
        }
        Method::Lbfgs => {
            // As many calls as the figures show.
            let stop = Stop { max_passes: 2.25 * stop.max_passes, ..stop };
            lbfgs(&problem, &LbfgsSettings { stop, ..Default::default() }, None, &mut watch)?;
            // An evaluation is one oracle call a sequence.
            watch.rows.iter_mut().for_each(|row| row.calls = row.passes);
        }
    }
    context.check()?;
    Ok(watch.rows)
}

/// The runs of one method on one problem, and the medians of their rows.
pub(super) struct Line {
    pub(super) median: Curve,
    /// The curves, one per seed. A deterministic method has a single curve.
    pub(super) seeds: Vec<Curve>,
}

impl Line {
    /// `P - P*` after so many passes.
    pub(super) fn at(&self, passes: f64) -> Result<Sample, Failure> {
        Sample::of(&self.seeds, |run| run.at(passes).above)
    }

    /// The geometric mean of `P - P*` over the passes 10 to 15.
    pub(super) fn late(&self) -> Result<Sample, Failure> {
        let logs = |run: &Curve| (10..=15).map(|p| run.at(f64::from(p)).above.ln()).sum::<f64>();
        Sample::of(&self.seeds, |run| (logs(run) / 6.0).exp())
    }

    pub(super) fn to(&self, target: f64, cost: fn(&Row) -> f64) -> Result<Sample, Failure> {
        Sample::of(&self.seeds, |run| run.to(target, cost))
    }

    /// Tests that the method works: with every seed, `P - P*` ends below a tenth of its value at the start.
    pub(super) fn has_left_its_start(&self) -> bool {
        let ends = |run: &Curve| run.rows.last().map_or(f64::NAN, |row| row.above);
        self.seeds.iter().all(|run| ends(run) < 0.1 * run.at(0.0).above)
    }
}

/// Data sets, and the runs of all methods on each.
type Courses = (Vec<Arc<Course>>, Vec<Vec<Line>>);

/// Runs methods on several data sets, and describes these.
pub(super) fn each(
    context: &Context,
    outcome: &mut Outcome,
    sets: &[Set],
    run: impl Fn(Set) -> Result<(Arc<Course>, Vec<Line>), Failure>,
) -> Result<Courses, Failure> {
    let mut found = (vec![], vec![]);
    for (k, &set) in sets.iter().enumerate() {
        context.progress(k as f64 / sets.len() as f64, set.name())?;
        let (course, lines) = run(set)?;
        course.task.describe(outcome);
        found.0.push(course);
        found.1.push(lines);
    }
    Ok(found)
}

/// Runs several methods on one problem with the given number of seeds. Two runs take place at the same time.
pub(super) fn lines(
    context: &Context,
    (set, part): (Set, Part),
    methods: &[(&'static str, Method)],
    passes: f64,
    seeds: u64,
) -> Result<(Arc<Course>, Vec<Line>), Failure> {
    let course = course(context, set, part)?;
    let data = format!("{set:?} {part:?} {passes} passes");
    let count = |method: &Method| if *method == Method::Lbfgs { 1 } else { seeds };
    let runs = runs::lines(context, &data, methods, count, |name, method, seed| {
        run(context, &course, name, method, passes, seed)
    })?;
    let line = |line: runs::Line<Row>| {
        let curve = |rows| Curve { name: line.name, rows };
        let median = curve(Arc::new(medians(&line.seeds)));
        Line { median, seeds: line.seeds.into_iter().map(curve).collect() }
    };
    Ok((course, runs.into_iter().map(line).collect()))
}

/// The rows of medians. The result ends where the shortest run ends.
fn medians(runs: &[Arc<Vec<Row>>]) -> Vec<Row> {
    let shortest = runs.iter().map(|rows| rows.len()).min().unwrap_or(0);
    (0..shortest)
        .map(|k| {
            let median = |number: fn(&Row) -> f64| median(runs.iter().map(|rows| number(&rows[k])));
            Row {
                passes: median(|r| r.passes),
                calls: median(|r| r.calls),
                above: median(|r| r.above),
                ratio: median(|r| r.ratio),
                evaluations: median(|r| r.evaluations),
                errors: (median(|r| r.errors.0), median(|r| r.errors.1)),
                seconds: median(|r| r.seconds),
            }
        })
        .collect()
}

impl Curve {
    /// The last row at or before the given number of passes.
    pub(super) fn at(&self, passes: f64) -> Row {
        let row = self.rows.iter().rev().find(|row| row.passes <= passes + 1e-9);
        row.copied().unwrap_or(Row { above: f64::NAN, ..Row::default() })
    }

    /// The number of passes or oracle calls until the suboptimality reaches `target`, interpolated on the log scale; infinite if the
    /// target is not reached.
    pub(super) fn to(&self, target: f64, cost: fn(&Row) -> f64) -> f64 {
        cost_to(self.rows.iter().map(|row| (cost(row), row.above)), target)
    }

    pub(super) fn series(&self, x: fn(&Row) -> f64, y: fn(&Row) -> f64) -> Series {
        Series::line(self.name, self.rows.iter().map(|row| (x(row), y(row))).collect())
    }
}
