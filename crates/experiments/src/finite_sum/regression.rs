//! This module repeats figure 3.2 of A. Defazio, PhD thesis 2014: the methods of figure 3.1 on least squares.

use fenchel_datasets::generate::{LowRank, low_rank};
use fenchel_datasets::transform::normalise_rows;
use fenchel_datasets::{Dataset, Folder, embedded};
use fenchel_finite_sum::Standardiser;
use fenchel_finite_sum::loss::Squared;
use fenchel_optim::random::Order;
use ndarray::Array2;

use super::classification::{Race, judge};
use super::methods::{Bench, Entry, Method};
use super::sets::{Need, over};
use super::tasks::{Matrix, Task, with_design};
use super::thesis;
use crate::{Context, Experiment, Failure, Outcome, Reason, SEEDS};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "fs-ex2",
    title: "Figure 3.2: regression in the big-data regime",
    question: "Which of the methods is fastest for least squares?",
    learnt: "In a quick run SDCA in permuted order is, on both sets that stand in for those of the figure, which are absent: abalone, a small real set, and generated rows. There the order of the methods is shown, and not judged. One claim is judged, on abalone, because it is about a rule of the thesis and no data set: Finito that takes up its terms one by one in the first pass diverges.",
    quick: "3,000 generated rows in the place of 53,500",
    smaller: "abalone (4,177 rows) for the million songs; generated rows for the CT slices",
    needs: &["abalone"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let rows = context.pick(3_000, 53_500);
    outcome
        .setting("l2", "2 L0 / (n - 2) for n rows a_i, where L0 = max ||a_i||^2 is the largest curvature of a term; with mu = l2 and L = L0 + l2 this is n mu = 2 L")
        .setting("data", format!("features standardised, then rows of unit norm; targets standardised; the generated data have {rows} rows with 384 features of rank 20"))
        .setting(
            "start",
            "w = 0; SAG and Finito first compute the gradients of all terms (one pass), as their theorems assume, but for Finito in the first claim",
        )
        .setting("seeds", format!("{SEEDS}; claims compare medians over the seeds, shown as median [least, largest]; tables and figures show geometric means"));
    let slices = low_rank(&LowRank { rows, ..LowRank::default() })?.regression();
    outcome.note(
        "Generated data of low rank take the place of the CT slices of the thesis: all claims but the first are shown on them, and none is judged.",
    );
    let mut tasks = [songs(context, outcome)?, task("generated, rank 20 of 384", slices, true)?];
    let race = Race { loss: Squared, finito: Method::FullFinito, sag: Method::FullSag };
    let all = race.all(
        context,
        outcome,
        &tasks,
        "Random and permuted order (figure 3.2)",
        "Squared loss",
    )?;
    first_pass(context, outcome, &tasks)?;
    // The orders are those of large data, which abalone is not: they are shown.
    tasks[0].generated = true;
    judge(outcome, &tasks, &all, "least squares")
}

/// The thesis's rule of the first pass, where the derivatives of the loss have no bound.
fn first_pass(context: &Context, outcome: &mut Outcome, tasks: &[Task]) -> Result<(), Failure> {
    const NAME: &str = "Finito, terms introduced";
    let mut lines = vec![];
    for task in tasks {
        lines.push(with_design!(task, |design| {
            let entry = Entry::new(NAME, Method::Finito(2.0), Order::Permuted);
            Bench::new(context, design, &task.y, Squared)?.run(&entry, 3.0, SEEDS as u64)?
        }));
    }
    let (start, first) = (lines[0].start(), lines[0].mean.at(1.0));
    let known = Reason::checked(
        "after the k-th of n terms the rule makes a step of n/(4k) times the inverse curvature 1/L, since it divides by alpha mu k/n, with alpha = 2 and n mu = 2 L. Early steps are far too long, and the derivatives \
         of the squared loss grow with the residuals that they leave. F - F* on abalone after the first pass, divided by that at the start (inf: the numbers overflowed)",
        first / start,
        // Infinite, or not a number, is what an overflow leaves.
        !(first <= 1e3 * start),
    );
    let sentence = thesis(
        "3.3",
        "[The rule of the first pass:] For Finito, during the first pass, since we do not have derivatives for each phi_i yet, we simply sum over the k terms \
         seen so far",
    )
    .claim("least squares: Finito that takes up its terms one by one in the first pass, as the thesis prescribes for it (it names no exception), is nearer to the optimum after 3 passes than at the start (the project's reading: the rule works)")
    .in_unit("F - F*: after 3 passes, from that at the start").at_size("abalone (4,177 rows) for the data of the thesis").rests_on([NAME]);
    let threshold = "F - F* after 3 passes smaller than at the start, in the median over 5 seeds";
    let row = |k: usize| Ok(lines[k].at(3.0)?.improves_on(lines[k].start()));
    outcome.claim(over(tasks, Need::All, sentence, threshold, row)?.known(known));
    Ok(())
}

/// The least-squares panel of the figures: abalone for the million songs, or without it the embedded wines.
pub(super) fn songs(context: &Context, outcome: &mut Outcome) -> Result<Task, Failure> {
    let folder = context.data.as_ref().map(Folder::new);
    let found = folder.map(|folder| folder.abalone()).transpose()?.flatten();
    if let Some(found) = found {
        outcome.note("Abalone (4,177 rows, age from eight measurements) takes the place of the million songs, which are absent.");
        return task("abalone", Dataset { x: found.x.to_dense(), y: found.y }, false);
    }
    outcome.note(
        "Abalone is not in the data folder: the 178 wines in its place are shown, not judged.",
    );
    task("wine", embedded::wine_alcohol(), true)
}

fn task(name: &'static str, data: Dataset<Array2<f64>>, generated: bool) -> Result<Task, Failure> {
    let mut x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    normalise_rows(&mut x);
    let y = data.y.insert_axis(ndarray::Axis(1));
    let y = Standardiser::fit(&y)?.transform(&y)?.into_raw_vec_and_offset().0;
    Ok(Task { name, generated, x: Matrix::Dense(x), y })
}
