//! This module repeats figure 3.1 of A. Defazio, PhD thesis 2014: Finito, SAG, SDCA and L-BFGS on classification in
//! the big-data regime, in which the number of terms is large compared with the condition number.

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Logistic;
use fenchel_linalg::{Design, row_norms_squared};
use fenchel_optim::Loss;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::Order;

use super::methods::{
    Entry, Line, Method, STEPS, Step, best_step, judged, line, means, optimum, run,
};
use super::tasks::{Task, tasks, with_design};
use super::thesis;
use crate::race::table;
use crate::{Axis, Context, Experiment, Failure, Figure, Ground, Judged, Outcome, Reason, Sample};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "fs-ex1",
    file: file!(),
    document: super::DOCUMENT,
    title: "Figure 3.1: classification in the big-data regime",
    question: "On large classification data, is Finito in permuted order the quickest incremental method, and by how much?",
    learnt: "Permuted orders help, but SDCA gains as much from them as Finito, and at random SAG with its best step, Finito and SDCA are close.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &["mnist-test", "ijcnn1", "w8a", "adult"],
    run: experiment,
};

const PASSES: f64 = 21.0;

/// Statements that are known not to hold on some sets.
pub(super) const DOZEN: &str = "permuted Finito converges in a dozen passes";
pub(super) const UNCOMPETITIVE: &str = "L-BFGS is not competitive";
pub(super) const SIMILAR: &str = "SAG, SDCA and Finito in random order converge at similar rates";
pub(super) const TWICE: &str = "permutation makes Finito up to twice as fast";
pub(super) const SPOILT: &str = "SAG with permutation is much slower than randomised SAG";
pub(super) const NO_GAIN: &str = "alpha = 1 brings Finito nothing over alpha = 2";
pub(super) const RELIABLE: &str =
    "permutation is less reliable with SDCA: its least speed-up over all sets is below Finito's";
pub(super) const CLEAR: &str = "among permuted methods Finito has a clear advantage over SDCA";

/// `finito` and `sag`: the methods as functions of alpha and of the multiple of `1/L`.
fn entries(finito: fn(f64) -> Method) -> Vec<Entry> {
    use Method::{Lbfgs, Saga, Sdca};
    let (uniform, permuted) = (Order::Uniform, Order::Permuted);
    vec![
        Entry::new("L-BFGS", Lbfgs, Order::Cyclic),
        Entry::new("SAGA", Saga(1.0), uniform.clone()),
        Entry::new("SDCA", Sdca, uniform.clone()),
        Entry::new("SDCA permuted", Sdca, permuted.clone()),
        Entry::new("Finito", finito(2.0), uniform),
        Entry::new("Finito permuted", finito(2.0), permuted.clone()),
        Entry::new("Finito permuted, alpha 1", finito(1.0), permuted),
    ]
}

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let seeds = 5;
    outcome
        .setting("l2", "2 L0 / (n - 2) with L0 = max ||a_i||^2 / 4, so that n mu = 2 L")
        .setting("rows", "unit norm")
        .setting("start", "0; SAG and Finito introduce terms in their first pass, as in the thesis; SAGA fills its table (one pass)")
        // "The SAG method was run for a variety of step sizes, with the one that gave the fastest rate of convergence
        // plotted" (section 3.3).
        .setting(
            "step of SAG",
            format!(
                "the best of 2^k / L in random order, k from {} to {} and beyond where the best is at an end",
                STEPS.0, STEPS.1
            ),
        )
        .setting("seeds a curve (geometric mean)", seeds);
    let tasks = tasks(context, &mut outcome)?;
    let (finito, sag) = (Method::Finito as fn(f64) -> Method, Method::Sag as fn(f64) -> Method);
    let race = Race { loss: Logistic, finito, sag, seeds, known };
    compare(context, &mut outcome, &tasks, &race, "Figure 3.1", "Log loss", "F - F* (nats)")?;
    Ok(outcome)
}

/// Known on real sets.
fn known(task: &Task, what: &str, _: &[Line]) -> Option<Reason> {
    let why = match (task.name, what) {
        ("w8a", CLEAR) => "permuted SDCA is ahead in two of three seeds, by less than a tenth",
        ("adult", NO_GAIN) => "the 1.5 is this experiment's; two of three seeds are just above it",
        (_, RELIABLE) => {
            "the least speed-ups are 1.7 and 1.8, and in one of three seeds the other way round"
        }
        _ => return None,
    };
    Some(Reason::unknown(why))
}

/// Why a statement is known not to hold on a task, with the lines to check it on.
pub(super) type Known = fn(&Task, &str, &[Line]) -> Option<Reason>;

/// What figures 3.1 and 3.2 differ in.
pub(super) struct Race<L> {
    pub(super) loss: L,
    /// Finito as a function of alpha.
    pub(super) finito: fn(f64) -> Method,
    /// SAG as a function of the multiple of `1/L`.
    pub(super) sag: fn(f64) -> Method,
    pub(super) seeds: u64,
    /// Why a claim, by its statement, is known not to hold on a task.
    pub(super) known: Known,
}

/// Races, judges and draws every task.
pub(super) fn compare<L: Loss + Copy>(
    context: &Context,
    outcome: &mut Outcome,
    tasks: &[Task],
    race: &Race<L>,
    figure: &str,
    loss_name: &str,
    suboptimality: &str,
) -> Result<(), Failure> {
    let count = tasks.len() as f64;
    let mut all: Vec<(&Task, Vec<Line>)> = vec![];
    for (k, task) in tasks.iter().enumerate() {
        let tick = |share: f64, what: &str| {
            context.progress((k as f64 + share) / count, &format!("{}: {what}", task.name));
        };
        tick(0.0, "optimum");
        let (lines, step) =
            with_design!(task, |design| race.run(context, design, &task.y, &tick)?);
        judge(outcome, task, race.known, &lines)?;
        outcome.setting(format!("best step of SAG, {}", task.name), format!("2^{} / L", step.k));
        if step.at_edge {
            outcome.note(format!(
                "On {} the best step of SAG is at the edge of its grid, 2^{} / L.",
                task.name, step.k
            ));
        }
        all.push((task, lines));
        let Some((_, lines)) = all.last() else { continue };
        let curves = means(lines);
        let mut figure = Figure::new(
            format!("{figure} on {}", task.name),
            Axis::linear("passes over the data"),
            Axis::log(suboptimality).limits(1e-15, 1.0),
        )
        .caption(format!(
            "{loss_name} with `n mu = 2 L`. A fresh permutation every pass straightens and steepens Finito, \
             and spoils SAG.",
        ));
        for curve in &curves {
            figure = figure.with(curve.series());
        }
        outcome.figure(figure);
        outcome.table(table(format!("F - F* on {}", task.name), &curves, &[5.0, 10.0, 15.0, 20.0]));
    }
    reliable(outcome, &all, race.known)
}

/// Over all sets: what permutation gains at the least.
fn reliable(
    outcome: &mut Outcome,
    all: &[(&Task, Vec<Line>)],
    known: Known,
) -> Result<(), Failure> {
    let real: Vec<_> = all.iter().filter(|(task, _)| !task.generated).collect();
    let least = |method: &str, permuted: &str| -> Result<Sample, Failure> {
        let mut least: Vec<f64> = vec![];
        for (_, lines) in &real {
            let random = line(lines, method)?.passes_to(1e-8)?;
            let permuted = line(lines, permuted)?.passes_to(1e-8)?;
            let gains =
                random.values().iter().zip(permuted.values()).map(|(r, p)| r.min(PASSES) / p);
            let gains: Vec<f64> = gains.collect();
            least = if least.is_empty() {
                gains
            } else {
                least.iter().zip(&gains).map(|(a, b)| a.min(*b)).collect()
            };
        }
        Sample::over_seeds(least)
    };
    let Some((task, lines)) = real.last() else { return Ok(()) };
    let finito = least("Finito", "Finito permuted")?;
    let sdca = least("SDCA", "SDCA permuted")?;
    let stated = thesis(
            "3.2",
            "our experiments in Section 3.3 show that this sometimes results in a speed-up over uniform random sampling, \
             although it does not appear to be as reliable as with Finito.",
        )
        .claim(RELIABLE)
        .rests_on(["SDCA permuted", "Finito permuted"])
        .on(Ground::Real)
        .ours("in every seed, a smaller least speed-up (passes to 1e-8), which is not less than a half");
    let found = sdca.below(&finito).and(Sample::exact(0.5).at_most(1.0, &sdca));
    outcome.claim(judged(task, stated, found, known(task, RELIABLE, lines)));
    Ok(())
}

impl<L: Loss + Copy> Race<L> {
    fn run<D: Design>(
        &self,
        context: &Context,
        design: D,
        y: &[f64],
        tick: &dyn Fn(f64, &str),
    ) -> Result<(Vec<Line>, Step), Failure> {
        let l0 = self.loss.curvature() * row_norms_squared(&design).into_iter().fold(0.0, f64::max);
        let mu = 2.0 * l0 / (design.rows() as f64 - 2.0);
        let problem = Problem::new(design, y, self.loss, Zero, mu)?;
        let (best, _) = optimum(context, &problem)?;
        let entries = entries(self.finito);
        let mut lines = vec![];
        for (k, entry) in entries.iter().enumerate() {
            tick((k + 1) as f64 / (entries.len() + 3) as f64, entry.name);
            let seeds = if entry.method == Method::Lbfgs { 1 } else { self.seeds };
            lines.push(run(context, &problem, entry, PASSES, seeds, best)?);
        }
        tick(0.9, "SAG");
        let run = |name, order, scale, seeds| {
            let entry = Entry::new(name, (self.sag)(scale), order);
            run(context, &problem, &entry, PASSES, seeds, best)
        };
        // One seed chooses.
        let step = best_step(PASSES, |scale| run("SAG", Order::Uniform, scale, 1))?;
        for (name, order) in [("SAG", Order::Uniform), ("SAG permuted", Order::Permuted)] {
            lines.push(run(name, order, 2f64.powi(step.k), self.seeds)?);
        }
        Ok((lines, step))
    }
}

fn judge(outcome: &mut Outcome, task: &Task, known: Known, lines: &[Line]) -> Result<(), Failure> {
    let of = |name| line(lines, name);
    let start = of("SDCA")?.start();
    // A loser that never left its start proves nothing.
    let past = |name: &str, factor: f64| {
        Ok::<Judged, Failure>(line(lines, name)?.least()?.past_start(start, factor).named(name))
    };
    let moved = |name: &str| past(name, 10.0);
    let mut judge = |section: &'static str,
                     quote: &'static str,
                     what: &str,
                     methods: &[&str],
                     expected: &str,
                     found: Judged| {
        let source = if quote.is_empty() { crate::Source::OURS } else { thesis(section, quote) };
        let sentence = source.claim(format!("{}: {what}", task.name)).on(task.ground());
        let stated = sentence.rests_on(methods.iter().copied()).ours(expected);
        // How these two are judged was settled with results at hand.
        let stated =
            if [SIMILAR, SPOILT].contains(&what) { stated.fixed_after_a_run() } else { stated };
        outcome.claim(judged(task, stated, found, known(task, what, lines)));
    };
    let (random, permuted) = (of("Finito")?, of("Finito permuted")?);
    judge(
        "3.2",
        "We see speed-ups of up to a factor of two using this approach.",
        TWICE,
        &["Finito permuted", "Finito"],
        "in every seed, passes to 1e-8 at most 0.67 of the random order's",
        permuted.passes_to(1e-8)?.at_most(0.67, &random.passes_to(1e-8)?).and(moved("Finito")?),
    );
    judge(
        "",
        "",
        DOZEN,
        &["Finito permuted"],
        "in every seed, F - F* <= 1e-8 after 12",
        permuted.at(12.0)?.at_most(1.0, &Sample::exact(1e-8)),
    );
    judge(
        "3.3",
        "SAG with permutation is not shown as it is much slower and unstable than randomised SAG.",
        SPOILT,
        &["SAG permuted", "SAG"],
        "in every seed, at least 10 times the suboptimality after 15 passes, with the step that is best at random",
        of("SAG")?
            .at(15.0)?
            .ahead_by(10.0, &of("SAG permuted")?.at(15.0)?)
            .and(moved("SAG")?)
            .and(past("SAG permuted", 1.2)?),
    );
    let lbfgs = of("L-BFGS")?.at(15.0)?;
    let ahead = |name: &str| {
        Ok::<Judged, Failure>(line(lines, name)?.at(15.0)?.ahead_by(100.0, &lbfgs).named(name))
    };
    judge(
        "3.3",
        "Firstly we can see that LB-FGS is not competitive with any of the incremental gradient methods considered.",
        UNCOMPETITIVE,
        &["L-BFGS", "SAG", "Finito", "SDCA"],
        "in every seed, at least 100 times the suboptimality of SAG with its best step, of Finito and of SDCA after 15 passes",
        ahead("SAG")?.and(ahead("Finito")?).and(ahead("SDCA")?).and(moved("L-BFGS")?),
    );
    // "Similar" is no order: the slopes of the geometric means.
    let slope =
        |name: &str| Ok::<Sample, Failure>(Sample::exact(line(lines, name)?.mean.slope(5.0, 15.0)));
    let (sag, finito, sdca) = (slope("SAG")?, slope("Finito")?, slope("SDCA")?);
    judge(
        "3.3",
        "Secondly, the non-permuted SAG, Finito and SDCA often converge at very similar rates.",
        SIMILAR,
        &["SAG", "Finito", "SDCA"],
        "decades a pass (5 to 15) within a factor of 1.5 of each other, SAG with its best step",
        sag.within(1.5, &finito)
            .named("SAG and Finito")
            .and(sag.within(1.5, &sdca).named("SAG and SDCA"))
            .and(finito.within(1.5, &sdca).named("Finito and SDCA")),
    );
    let (one, two) = (of("Finito permuted, alpha 1")?.passes_to(1e-8)?, permuted.passes_to(1e-8)?);
    judge(
        "3.3",
        "Interestingly, reducing alpha to 1 does not improve the convergence rate. Instead, we see no further \
         improvement in our experiments.",
        NO_GAIN,
        &["Finito permuted, alpha 1", "Finito permuted"],
        "in every seed, passes to 1e-8 between 0.9 and 1.5 of those with alpha = 2",
        one.at_most(1.5, &two).and(two.at_most(1.0 / 0.9, &one)),
    );
    let sdca = of("SDCA permuted")?.passes_to(1e-8)?;
    judge(
        "3.3",
        "When considering the methods with permutation each pass, we see a clear advantage for Finito.",
        CLEAR,
        &["Finito permuted", "SDCA permuted"],
        "in every seed, fewer passes to 1e-8",
        two.below(&sdca).and(moved("SDCA permuted")?),
    );
    Ok(())
}
