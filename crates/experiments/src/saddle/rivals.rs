//! This module repeats figure 4-2 of D. Babichev, PhD thesis 2019: the sublinear method, stochastic subgradients and
//! mirror prox on one problem.

use fenchel_linalg::AsDesign;
use fenchel_linalg::text::short;
use fenchel_optim::{Cadence, StepSize, Stop};
use fenchel_saddle::methods::{MirrorProxSettings, mirror_prox};
use fenchel_saddle::multiclass::{
    Multiclass, Samples, SubgradientSettings, SublinearSettings, subgradient, sublinear,
};
use fenchel_saddle::{MulticlassLoss, SaddleProblem};

use super::identity::identity;
use super::thesis;
use crate::race::exponent;
use crate::table::row;
use crate::{
    Axis, Cell, Context, Experiment, Failure, Figure, Judged, Outcome, Series, Source, Table,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "sa-race",
    title: "Figure 4-2: three methods for a multiclass classifier, by work",
    question: "With as much work, is the sublinear method ahead of stochastic subgradients (SSM) and of mirror prox?",
    learnt: "The race against SSM is judged at n = d = k = 1000 only, the size of the document; in a quick run, n = d = k = 60, SSM is ahead. There the sublinear method with thirty times the theoretical step has a smaller duality gap than mirror prox, and its gap falls about as fast as the theorem says.",
    quick: "n = d = k = 60 in the place of 1000; runs of the sublinear method of 100,000 steps at most in the place of a million",
    smaller: "one seed in the place of ten; runs of SSM of 3,162 steps at most in the place of a million",
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const BEATS_SSM: Source = thesis(
    "4.5, figure 4-2",
    "We see that Algorithm 1 [the sublinear method] outperforms SSM [stochastic subgradients], which might be the combined effect of sublinearity and our choice of geometry.",
);
const PROX_WINS: Source = thesis(
    "4.5, figure 4-2",
    "It [Algorithm 1, the sublinear method] also outmatches MP [mirror prox] up to high accuracy due to the sublinear effect (MP eventually \"wins\" because of its O(1/T) rate).",
);
const RATE: Source = thesis(
    "theorem 4.2 and corollary 1",
    "[The expected duality gap of the average of the first T iterates is at most] ((4 sqrt(6) + 2 sqrt(10)) ||X^T||_(inf x 2) / sqrt(n) + 8 ||X||_(1 x inf) / n) log(2dk) ||U*||_(1 x 1) / sqrt(T) + r/T [r = 0 for the hinge loss]",
);
const URGENT: Source = thesis(
    "4.5",
    "in the above experiment the \"urgent\" rescaling was required in about 10 iterations",
);
const CAPTION: &str = "Each point is one run: the value at the average of its iterates, against its work. Longer runs stand further right. theory: the step size that the theory of the method gives; 30 times: 30 times that; 1/(2a): the step size of mirror prox by its theory. SSM has no duality gap.";

/// The work and the objective at the end of a run. The unit of work is `n d` entries of data and weights that are read: one pass over
/// the data.
struct End {
    work: f64,
    objective: f64,
    gap: f64,
    /// Rows and columns that were rescaled before their numbers went out of range.
    rescaled: u64,
}

fn last(
    problem: &Multiclass,
    name: &str,
    context: &Context,
    scale: f64,
    steps: u64,
) -> Result<End, Failure> {
    let s = problem.samples();
    let (n, d, k) = (s.rows() as f64, s.features() as f64, s.classes() as f64);
    let once = |passes: f64| {
        context.stop(name, Stop { check: Cadence::Every(1e9), ..Stop::after_passes(passes) })
    };
    let step = StepSize::Scaled(scale);
    Ok(match name {
        "sublinear" => {
            let stop = once(steps as f64 * (n + d) / (n * d));
            let (horizon, seed) = (Some(steps), context.seed);
            let settings = SublinearSettings { step, horizon, stop, seed, ..Default::default() };
            let state = sublinear(problem, &settings, None, &mut ())?.state;
            let certificate = state.certificate(problem);
            let objective = certificate.objective().unwrap_or(f64::INFINITY);
            let (work, gap) = (steps as f64 * (n + d + k) / (n * d), certificate.value());
            let (columns, rows) = state.flushes();
            End { work, objective, gap, rescaled: columns + rows }
        }
        "SSM" => {
            let stop = once(steps as f64 / n);
            // The norm of the true weights, the identity.
            let frobenius = Some(n.sqrt());
            let seed = context.seed;
            let settings =
                SubgradientSettings { step, stop, frobenius, seed, ..Default::default() };
            let u = subgradient(problem, &settings, &mut ())?.state;
            let (work, objective) = (steps as f64 * d * k / (n * d), problem.primal(&u));
            End { work, objective, gap: f64::INFINITY, rescaled: 0 }
        }
        _ => {
            let stop = once(2.0 * steps as f64);
            let state =
                mirror_prox(problem, &MirrorProxSettings { step, stop }, None, &mut ())?.state;
            let objective = problem.objective(&state.x);
            let gap = objective - problem.lower_bound(&state.y);
            End { work: 4.0 * steps as f64 * k, objective, gap, rescaled: 0 }
        }
    })
}

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let n = context.pick(60_usize, 1000);
    let decades = context.pick(5, 6);
    let (x, y) = identity(n, context.seed);
    let samples = Samples::new(&x.as_design()?, &y, n, None)?;
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, n as f64, 1e-3)?;
    outcome
        .setting("n = d = k", format!("{n}; features N(0, 1), the class of a row is that of its largest feature after noise N(0, 1/n); one run, seed 1 unless the page names another"))
        .setting("radius, l1 penalty", "n, 0.001")
        .setting("step size of SSM", "sqrt(n) / (B sqrt(T)) for T steps and the bound B of its subgradients; sqrt(n) is the Frobenius norm of the true weights")
        .setting("steps of a run", format!("10^(m/2), rounded down: for the sublinear method m = 4, 5, ..., {}, for SSM m = 4 to 7; for mirror prox a tenth of those of SSM", 2 * decades))
        .setting("step size of the other methods", "sublinear method: that of equation (4.3.6), as in the thesis, and 30 times it, this project's choice; mirror prox: 1/(2a), by its theory; the thesis takes the step of its theorem 4.1, which is one for mirror descent and falls like 1/sqrt(T)")
        .setting("work", "entries of the data and of the weights that are read, over n d, the entries of one pass");
    let mut table = Table::new(
        "Objective and duality gap at the average of the iterates of each run, one row a run",
        [("method", ""), ("steps", ""), ("work", "n d"), ("objective", ""), ("gap", "")],
    );
    let lines: [(&str, &str, f64); 4] = [
        ("sublinear, theory", "sublinear", 1.0),
        ("sublinear, 30 times", "sublinear", 30.0),
        ("mirror prox, 1/(2a)", "mirror prox", 1.0),
        // Last, since it has no gap: colours are the same in both figures.
        ("SSM, theory", "SSM", 1.0),
    ];
    let mut curves = vec![];
    for (at, (label, name, scale)) in lines.into_iter().enumerate() {
        let mut ends = vec![];
        // SSM ends where its work is that of the last run of the sublinear method; mirror prox has more work from its start on.
        let most = if name == "sublinear" { 2 * decades } else { 7 };
        for m in 4..=most {
            context.progress((at as f64 + f64::from(m) / 14.0) / 4.0, label)?;
            let steps = 10_f64.powf(f64::from(m) / 2.0) as u64;
            let steps = if name == "mirror prox" { steps / 10 } else { steps };
            let end = last(&problem, name, context, scale, steps)?;
            let gap: Cell = if end.gap.is_finite() { end.gap.into() } else { "none".into() };
            table.push(row![label, steps as f64, end.work, end.objective, gap]);
            ends.push((steps as f64, end));
        }
        curves.push((label, ends));
    }
    let ends =
        |label: &str| curves.iter().find(|(l, _)| *l == label).map(|(_, e)| &e[..]).unwrap_or(&[]);
    // At each end of SSM: the best that the sublinear method has reached with no more work.
    let behind = ends("SSM, theory").iter().map(|(_, ssm)| {
        let within = ends("sublinear, theory").iter().filter(|(_, e)| e.work <= ssm.work);
        within.map(|(_, e)| e.objective).fold(f64::INFINITY, f64::min) / ssm.objective
    });
    let worst = behind.fold(0.0, f64::max);
    // Both start from zero weights.
    let start = problem.primal(&vec![0.0; n * n]);
    let best = ends("sublinear, theory").iter().map(|(_, e)| e.objective).fold(start, f64::min);
    let claim = BEATS_SSM.claim("with the steps of the theory and no more work, the sublinear method has a smaller objective than SSM at the end of every run of SSM").rests_on(["sublinear"]).document("the least objective of the sublinear method, over its runs with no more work than a run of SSM, divided by the objective of that run of SSM: below 1 for every run of SSM, one seed (shown: the largest); its least objective below that at the start").holds(
            Judged::from((worst, worst < 1.0))
                .and((format!("{} from {}", short(best), short(start)), best < start)),
        );
    // The document's sentence is about n = 1000, where a subgradient is a thousand times as dear as an entry of it.
    let small = format!("this run has n = d = k = {n}, the document 1000. At this size");
    outcome.claim(if n < 1000 { claim.not_judged(&small) } else { claim });
    // At each end of mirror prox: the best gap of the sublinear method with no more work, over mirror prox's.
    let ratios: Vec<String> = ends("mirror prox, 1/(2a)")
        .iter()
        .map(|(_, prox)| {
            let within = ends("sublinear, 30 times").iter().filter(|(_, e)| e.work <= prox.work);
            short(within.map(|(_, e)| e.gap).fold(f64::INFINITY, f64::min) / prox.gap)
        })
        .collect();
    // The document shows wall time, and says neither up to which accuracy nor with which step.
    outcome.claim(PROX_WINS.claim("with no more work the sublinear method, with 30 times the step size, has a smaller duality gap than mirror prox, up to a high accuracy").reported(
        "least gap of the sublinear method over its runs with no more work, divided by that of mirror prox, at the end of each run of mirror prox, the shortest first, one seed; with the step of the theory the table has the gaps. Not judged: the accuracy has no number, and the document does not say which step it is about",
        ratios.join(", "),
    ));
    let tail: Vec<(f64, f64)> =
        ends("sublinear, 30 times").iter().rev().take(3).map(|(t, e)| (*t, e.gap)).collect();
    let claim = RATE.claim("the duality gap of the sublinear method, with 30 times the step size, falls like 1/sqrt(T)");
    outcome.claim(claim.rests_on(["sublinear"]).reported(
        "slope of log(duality gap) against log T over the three longest runs, T the number of steps of a run; 1/sqrt(T) has the slope -0.5. Not judged: the document's sentence is an upper bound, which holds for a steeper slope too, and it is about the step size of the theory",
        exponent(&tail),
    ));
    let rescaled = ends("sublinear, theory").last().map_or(0, |(_, end)| end.rescaled);
    outcome.claim(URGENT.claim("the sublinear method rescales seldom").reported(
        "columns of U and rows of V that were rescaled before their numbers left the range of floating point, in the longest run with the step size of the theory. Not judged: \"about 10 iterations\" is of programs that wait for an overflow",
        rescaled as f64,
    ));
    outcome.table(table);
    let work = || Axis::log("work (passes over the data)");
    let mut objective =
        Figure::new("Objective of the average", work(), Axis::log("objective P")).caption(CAPTION);
    let mut gap = Figure::new("Duality gap of the averages", work(), Axis::log("duality gap"))
        .caption(CAPTION);
    for (label, ends) in &curves {
        let points = |value: fn(&End) -> f64| {
            ends.iter()
                .map(|(_, e)| (e.work, value(e)))
                .filter(|p| p.1.is_finite())
                .collect::<Vec<_>>()
        };
        objective = objective.with(Series::line_points(*label, points(|e| e.objective)));
        let gaps = points(|e| e.gap);
        if !gaps.is_empty() {
            gap = gap.with(Series::line_points(*label, gaps));
        }
    }
    outcome.figure(objective).figure(gap);
    outcome.note(
        "The thesis shows wall time. Here work is counted, so that the figure is the same on every machine. It is not proportional to time: mirror prox reads several entries in the time in which the sublinear method reads one.",
    );
    Ok(())
}
