//! This module repeats table 1 of Le Priol, Piche and Lacoste-Julien (2018): the sizes of the data sets and the memory
//! of the dual variables.

use super::errors::density;
use super::tasks::Set;
use crate::documents::adaptive_sdca as paper;
use crate::finite_sum::sets::Need;
use crate::table::row;
use crate::{Context, Experiment, Failure, Ground, Outcome, Reason, Table};

pub(super) const TABLE_1: Experiment = Experiment {
    id: "crf-table1",
    title: "Table 1: sizes and memory of the data sets",
    question: "Are the data sets those of the paper?",
    learnt: "Sizes, weights and memory agree; the number of letters is a misprint.",
    needs: &["ocr", "conll2000", "conll2002-nl"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

/// A row of the document: sequences, labels, then to the digits that are printed attributes, weights, GiB, tokens; and the most
/// attributes of a token.
type Printed = (Set, usize, usize, (usize, usize), (f64, f64), f64, (usize, usize), usize);

const PRINTED: [Printed; 3] = [
    (Set::Ocr, 6_202, 26, (128, 0), (4_082.0, 0.0), 0.2, (52_827, 0), 128),
    (Set::Chunks, 8_936, 22, (74_658, 0), (1.6e6, 5e4), 0.7, (210_000, 5_000), 19),
    (Set::Entities, 15_806, 9, (310_000, 5_000), (2.8e6, 5e4), 0.1, (200_000, 50_000), 20),
];

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let columns = ["data", "n", "N", "K", "A", "weights d", "GiB of pairs", "GiB printed"];
    let mut table = Table::new("Sizes, and `8 K^2 (N - n)` bytes of pair marginals", columns);
    let (mut printed, mut lengths, mut letters) = (vec![], vec![], (0, 0));
    for (k, (set, of_n, of_k, of_a, of_d, gib, (count, digits), of_token)) in
        PRINTED.into_iter().enumerate()
    {
        context.progress(k as f64 / 3.0, set.name())?;
        let Some(task) = set.real(context, usize::MAX)? else {
            outcome.note(format!("{} is not there.", set.name()));
            continue;
        };
        let (n, tokens) = (task.train.sequences(), task.train.tokens());
        let (labels, attributes) = (task.train.labels(), task.train.attributes());
        let weights = (attributes + 3) * labels + labels * labels;
        let memory = (8 * labels * labels * (tokens - n)) as f64 / f64::from(1 << 30);
        table.push(row![task.name, n, tokens, labels, attributes, weights, memory, gib]);
        // Blank pixels are not stored here; an image has as many as are printed.
        let most = if set == Set::Ocr { attributes } else { density(&task.train).0 };
        let holds = (n, labels, most) == (of_n, of_k, of_token)
            && attributes.abs_diff(of_a.0) <= of_a.1
            && (weights as f64 - of_d.0).abs() <= of_d.1
            && (memory - gib).abs() <= 0.05;
        let found = format!(
            "n = {n}, K = {labels}, A = {attributes}, a = {most}, d = {weights}, {memory:.2} GiB"
        );
        printed.push(Ok((task.name, (found, holds).into())));
        lengths.push(Ok((task.name, (tokens, tokens.abs_diff(count) <= digits).into())));
        if set == Set::Ocr {
            // The letters of all ten folds, and one for each word of the tenth.
            letters = (count, tokens + task.test.tokens() + task.test.sequences());
        }
    }
    let summary = paper(
        "table 1",
        "Dataset summary. d is the dimension of w. n is the number of data points.",
    );
    if !printed.is_empty() {
        outcome.claim(
            summary
                .claim("Sequences n, labels K, attributes A, most attributes of a token a, weights d, memory of the duals")
                .on(Ground::Exact)
                .document("as printed, to the digits that are printed, on all data sets")
                .holds(Need::All.over(printed)?),
        );
        outcome.claim(
            summary
                .claim("Tokens N")
                .on(Ground::Exact)
                .document("as printed, to the digits that are printed, on all data sets")
                .known_failure(
                    Need::All.over(lengths)?,
                    Reason::checked(
                        "the number printed for handwriting is that of the letters of all ten folds, and one for each word of the \
                         tenth; the nine that are trained on have fewer",
                        letters.1,
                        letters.0 == letters.1,
                    ),
                ),
        );
    }
    outcome.note(
        "The parts of speech of the Penn Treebank cannot be had; those of the CoNLL-2000 text stand in for them. The \
         templates of the Dutch entities are not printed in the document: they were chosen to give its number of attributes.",
    );
    outcome.table(table);
    Ok(())
}
