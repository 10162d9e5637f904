//! This module repeats figure 3.2 of A. Defazio, PhD thesis 2014: the methods of figure 3.1 on least squares.

use fenchel_datasets::generate::{LowRank, low_rank};
use fenchel_datasets::transform::normalise_rows;
use fenchel_datasets::{Dataset, Folder, embedded};
use fenchel_finite_sum::Standardiser;
use fenchel_finite_sum::loss::Squared;
use fenchel_optim::random::Order;
use ndarray::Array2;

use super::classification::{Race, judge};
use super::methods::{Bench, Entry, Method, over};
use super::sets::Need;
use super::tasks::{Matrix, Task, with_design};
use super::thesis;
use crate::{Context, Experiment, Failure, Outcome, Reason, SEEDS};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "fs-ex2",
    title: "Figure 3.2: regression in the big-data regime",
    question: "Do the same orders hold for least squares?",
    learnt: "Its data are absent, and on the small set in their place the orders are shown, not judged. Finito must not introduce its terms one by one.",
    quick: "3,000 generated rows in the place of 53,500",
    smaller: "abalone for the million songs",
    needs: &["abalone"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    outcome
        .setting("l2", "2 L0 / (n - 2) with L0 = max ||a_i||^2, so that n mu = 2 L")
        .setting("data", "features standardised, then rows of unit norm; targets standardised")
        .setting(
            "start",
            "0; SAG and Finito fill their tables (one pass), as their theorems assume",
        )
        .setting("seeds", format!("{SEEDS}; orders are those of the medians"));
    let rows = context.pick(3_000, 53_500);
    let slices = low_rank(&LowRank { rows, ..LowRank::default() })?.regression();
    outcome.note(
        "Generated data of low rank have the shape of the CT slices of the thesis, and are shown, not judged.",
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
    judge(outcome, &tasks, &all, "least squares")?;
    Ok(())
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
        "the k-th term of the first pass is followed by a step of n/(4k) inverse curvatures, and the derivatives of the squared \
         loss grow with the residuals: F - F* after that pass, over that at the start",
        first / start,
        // Infinite, or not a number, is what an overflow leaves.
        !(first <= 1e3 * start),
    );
    let sentence = thesis(
        "3.3",
        "For Finito, during the first pass, since we do not have derivatives for each phi_i yet, we simply sum over the k terms \
         seen so far",
    )
    .claim("least squares: Finito that introduces its terms in the first pass comes nearer to the optimum")
    .in_unit("F - F*").rests_on([NAME]);
    let threshold = "F - F* after 3 passes below that at the start";
    let row = |k: usize| Ok(lines[k].at(3.0)?.improves_on(lines[k].start()));
    outcome.claim(over(tasks, Need::All, sentence, threshold, row)?.known(known));
    Ok(())
}

/// The least-squares panel of the figures: abalone for the million songs, or without it the embedded wines.
pub(super) fn songs(context: &Context, outcome: &mut Outcome) -> Result<Task, Failure> {
    let found = match &context.data {
        Some(root) => Folder::new(root).abalone()?,
        None => None,
    };
    if let Some(found) = found {
        outcome.note("Abalone (4,177 rows, age from eight measurements) takes the place of the million songs.");
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
