//! This module repeats figure 9.1 of A. Defazio, PhD thesis 2014: the test error as a function of the iterations of
//! diagonal ascent.

use fenchel_ggm::ItemField;
use fenchel_ggm::bethe::AscentSettings;
use fenchel_ggm::item_field::Training;

use super::thesis;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gg-54",
    title: "Figure 9.1: test error on films while an item field is trained",
    question: "Does the error on held-out ratings keep falling while an item field, a normal model on a graph of similar films, is trained?",
    learnt: "It does not. It rises in the first iteration, falls to its least value in the next twenty or so, and is in the end a little above that.",
    needs: &["movielens-100k"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const MILD: Source = thesis("figure 9.1", "A mild over-fitting effect is visible");

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let (folds, real) = super::films::folds(context)?;
    let steps = [0, 1, 2, 5, 10, 20, 30, 50, 100, 200];
    outcome.setting("splits", "one, the first").setting("neighbours", 10);
    let (train, test) = folds.first().ok_or_else(|| Failure::new("no split"))?;
    let graph = ItemField::default().graph(train)?;
    let mut curve = Vec::new();
    let mut table = Table::new("Mean absolute test error", ["iterations", "error (stars)"]);
    for (k, &iterations) in steps.iter().enumerate() {
        context.progress(k as f64 / steps.len() as f64, "diagonal ascent")?;
        let count = if context.is_frozen("diagonal ascent") { 0 } else { iterations };
        let settings = AscentSettings { iterations: count, ..AscentSettings::default() };
        let field =
            ItemField { training: Training::MaximumEntropy(settings), ..ItemField::default() };
        let error = field.train(&graph, train.range())?.mean_absolute_error(train, test)?;
        table.push([iterations.into(), error.into()]);
        curve.push((iterations as f64, error));
    }
    let ends = (curve[0].1, curve[curve.len() - 1].1);
    let best = curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    outcome.figure(
        Figure::new(
            "Test error against iterations of the training (figure 9.1)",
            Axis::linear("iterations"),
            Axis::linear("mean absolute error (stars)"),
        )
        .caption("The first split, ten neighbours a film; iteration 0 is the closed form.")
        .with(Series::line_points("maximum entropy, k = 10", curve)),
    );
    outcome.table(table);
    let mild = MILD
        .claim("after its least value the test error rises a little")
        .rests_on(["diagonal ascent"])
        .document("the error after 200 iterations above the least, and both below that of the closed form, iteration 0")
        .holds((
            format!(
                "{:.4} at the end, {best:.4} at best, {:.4} of the closed form",
                ends.1, ends.0
            ),
            best < ends.1 && ends.1 < ends.0,
        ));
    outcome.claim(mild.on_real_data(real, "generated tastes"));
    Ok(())
}
