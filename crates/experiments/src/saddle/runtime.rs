//! This module repeats table 4.2 of D. Babichev, PhD thesis 2019: the cost of a step is proportional to the size of
//! the problem, `n = d = k`.

use std::ops::ControlFlow;

use fenchel_linalg::AsDesign;
use fenchel_linalg::text::short;
use fenchel_optim::{Cadence, Progress, Stop};
use fenchel_saddle::MulticlassLoss;
use fenchel_saddle::methods::{MirrorProxSettings, mirror_prox};
use fenchel_saddle::multiclass::{
    Multiclass, Samples, SubgradientSettings, Sublinear, SublinearSettings, subgradient, sublinear,
};

use super::identity::identity;
use super::thesis;
use crate::race::exponent;
use crate::table::row;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "sa-runtime",
    title: "Table 4.2: the work of a step of the sublinear method",
    question: "Does the work of a step of the sublinear method grow like n + d + k, for n rows, d features and k classes?",
    learnt: "It does: the operations of a step grow in proportion to n = d = k.",
    quick: "n = d = k up to 800 in the place of 6,400",
    smaller: "the row of 10,000 steps, without that of 20,000; one run of each size",
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const LINEAR: Source = thesis(
    "4.5, table 4.2",
    "We observe (see Tab. 4.2) that the runtime is proportional to kappa [the factor by which n = d = k grows], as expected.",
);

const COSTS: Source = thesis(
    "4.1",
    "The complexity of deterministic approach for it [a multiclass problem with n rows, d features, k classes] is O(dnk) and the complexity of stochastic approach is O(dk)",
);

/// Seconds of the document for 10,000 steps, in Matlab.
const PRINTED: [(usize, f64); 6] =
    [(200, 0.80), (400, 1.17), (800, 2.07), (1600, 4.27), (3200, 7.55), (6400, 15.56)];

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let sizes = context.pick(&[100_usize, 200, 400, 800][..], &[200, 400, 800, 1600, 3200, 6400]);
    // As many as in the document: with fewer the classes of the larger sizes are not all touched, and draws cost less.
    let steps = 10_000_u64;
    outcome
        .setting("steps", format!("{steps} of the sublinear method; 200 of stochastic subgradients (SSM), for n up to 1,600; 2 of mirror prox, for n up to 400: larger ones take minutes"))
        .setting("data", "n x n features N(0, 1); the class of a row is that of its largest feature after noise N(0, 1/n); radius n, l1 penalty 0.001; one run, seed 1 unless the page names another")
        .setting("operation", "an entry of a matrix or vector that a step looks at");
    let times = ["sublinear", "document", "SSM", "mirror prox"].map(|n| (n, "microseconds"));
    let mut table = Table::new(
        "One step at each size n = d = k: operations of the sublinear method, and the time of the sublinear method, of stochastic subgradients (SSM) and of mirror prox, in this run. The column document: the seconds of table 4.2 (the sublinear method in Matlab), over their 10,000 steps",
        ["n", "operations"].map(|name| (name, "")).into_iter().chain(times),
    );
    let (mut work, mut time) = (vec![], vec![]);
    let (mut subgradients, mut products) = (vec![], vec![]);
    for (at, &n) in sizes.iter().enumerate() {
        context.progress(at as f64 / sizes.len() as f64, &format!("n = {n}"))?;
        let (x, y) = identity(n, context.seed);
        let samples = Samples::new(&x.as_design()?, &y, n, None)?;
        let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, n as f64, 1e-3)?;
        let passes = steps as f64 * 2.0 / n as f64;
        let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(passes) };
        let (horizon, stop) = (Some(steps), context.stop("sublinear", stop));
        let seed = context.seed;
        let settings = SublinearSettings { horizon, stop, seed, ..Default::default() };
        let (mut operations, mut seconds) = (0, 0.0);
        let mut watch = |progress: &Progress, method: &Sublinear| {
            (operations, seconds) = (method.operations(), progress.seconds);
            ControlFlow::Continue(())
        };
        sublinear(&problem, &settings, None, &mut watch)?;
        let (each, micros) = (operations as f64 / steps as f64, 1e6 * seconds / steps as f64);
        work.push((n as f64, each));
        time.push((n as f64, micros));
        let seconds = |name: &str, steps: u64| -> Result<Option<f64>, Failure> {
            let most = Stop { check: Cadence::Every(1e9), ..Stop::default() };
            let report = if name == "SSM" {
                let stop = Stop { max_passes: steps as f64 / n as f64, ..most };
                let settings = SubgradientSettings { stop, ..Default::default() };
                subgradient(&problem, &settings, &mut ())?.report
            } else {
                let stop = Stop { max_passes: 2.0 * steps as f64, ..most };
                let settings = MirrorProxSettings { stop, ..Default::default() };
                mirror_prox(&problem, &settings, None, &mut ())?.report
            };
            Ok(Some(1e6 * report.seconds / steps as f64))
        };
        // Larger ones take minutes.
        let of_rows = if n <= 1600 { seconds("SSM", 200)? } else { None };
        let of_all = if n <= 400 { seconds("mirror prox", 2)? } else { None };
        subgradients.extend(of_rows.map(|s| (n as f64, s)));
        products.extend(of_all.map(|s| (n as f64, s)));
        let printed = PRINTED.iter().find(|(size, _)| *size == n);
        let printed = printed.map(|(_, seconds)| seconds * 100.0);
        table.push(row![n as f64, each, micros, printed, of_rows, of_all]);
    }
    let of_work = exponent(&work);
    let claim = LINEAR.claim("the operations of a step grow at most in proportion to n = d = k");
    let claim = claim.rests_on(["sublinear"]).document("the slope of log(operations of a step of the sublinear method) against log n, for n = d = k, is at most 1; proportional growth has 1. Operations are counted in the place of the seconds of the document, which depend on the machine");
    outcome.claim(claim.holds((of_work, of_work <= 1.0)));
    let [own, ssm, prox] = [&time, &subgradients, &products].map(|points| short(exponent(points)));
    outcome.claim(COSTS.claim("a step costs O(dk) with stochastic subgradients, and O(dnk) with mirror prox, a deterministic method").reported(
        "slope of log(seconds of a step) against log n, for n = d = k, one run of each method. If time were in proportion to the formulas, the slopes would be 1 for the sublinear method (n + d + k), 2 for SSM (dk) and 3 for mirror prox (dnk). Not judged: O() is an upper bound, and the times are those of this machine",
        format!("sublinear method {own}, stochastic subgradients (SSM) {ssm}, mirror prox {prox}"),
    ));
    outcome.table(table);
    outcome.figure(
        Figure::new("Work of a step of the sublinear method", Axis::log("n = d = k"), Axis::log("operations of a step"))
            .caption("Operations are counted, not timed: the entries that the sublinear method reads in a step, for the dual step, the primal step and the draws.")
            .with(Series::line_points("sublinear", work)),
    );
    Ok(())
}
