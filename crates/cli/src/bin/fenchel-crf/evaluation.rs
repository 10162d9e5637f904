//! The tables of scores that `eval` and `tag --test` write, and the score on held-out data of `learn`.

use std::collections::BTreeMap;
use std::io::Write;

use fenchel_linalg::text::{aligned, fixed};
use fenchel_metrics::{ChunkCounts, Scores};

use fenchel_cli::Failure;

/// Counts over sequences of true and predicted labels.
#[derive(Debug)]
pub(crate) struct Evaluation {
    chunks: ChunkCounts,
    /// The same counts by the strict reading, in which an `I` that does not continue a chunk is no chunk.
    strict: ChunkCounts,
    labels: BTreeMap<String, Counts>,
}

#[derive(Debug, Default, Clone)]
struct Counts {
    truth: u64,
    predicted: u64,
    hits: u64,
    /// What was predicted in its place.
    mistaken: BTreeMap<String, u64>,
}

impl Default for Evaluation {
    fn default() -> Self {
        let (chunks, strict) = (ChunkCounts::new(), ChunkCounts::strict());
        Evaluation { chunks, strict, labels: BTreeMap::new() }
    }
}

/// A table as text: a line of headings, then the lines.
pub(crate) type Table = Vec<Vec<String>>;

impl Evaluation {
    /// Adds a sequence of at least one token.
    pub(crate) fn add(&mut self, truth: &[&str], predicted: &[&str]) -> Result<(), Failure> {
        for counts in [&mut self.chunks, &mut self.strict] {
            counts.add(truth, predicted).map_err(|error| Failure::Usage(error.to_string()))?;
        }
        for (&t, &p) in truth.iter().zip(predicted) {
            of(&mut self.labels, p).predicted += 1;
            let counts = of(&mut self.labels, t);
            counts.truth += 1;
            if t == p {
                counts.hits += 1;
            } else {
                *of(&mut counts.mistaken, p) += 1;
            }
        }
        Ok(())
    }

    /// F1 over the chunks, or the accuracy over tokens if the true labels have no chunks, with the name of the score.
    pub(crate) fn score(&self) -> (f64, &'static str) {
        match self.chunks.totals() {
            (0, _, _) => (self.chunks.token_accuracy(), ACCURACY),
            _ => (self.chunks.overall().f1, F1),
        }
    }

    /// Whether chunks were predicted and none is true.
    pub(crate) fn lacks_true_chunks(&self) -> bool {
        let (truth, found, _) = self.chunks.totals();
        truth == 0 && found > 0
    }

    /// The counts and the accuracy, in two lines.
    pub(crate) fn head(&self) -> String {
        let chunks = &self.chunks;
        let (tokens, sequences) = (chunks.tokens(), chunks.sequences());
        let (truth, found, right) = chunks.totals();
        format!(
            "{sequences} sequences, {tokens} tokens, {truth} chunks; found {found} chunks, {right} correct\n\
             accuracy: {}% of the tokens, {}% of the sequences\n",
            percent(chunks.token_accuracy()),
            percent(chunks.sequence_accuracy())
        )
    }

    /// The scores of the chunks, and of the labels if asked for or if there are no chunks.
    pub(crate) fn scores(&self, by_label: bool) -> Vec<Table> {
        let chunks = &self.chunks;
        let (truth, found, _) = chunks.totals();
        let head =
            |what: &str| vec![[what, "count", "precision", "recall", "F1"].map(String::from)];
        let mut tables = Vec::new();
        if truth + found > 0 {
            let mut table = head("chunk");
            table.extend(chunks.kinds().map(|(kind, count)| row(kind, count, chunks.kind(kind))));
            table.push(row("all", truth, chunks.overall()));
            table.push(row("mean of the types", truth, chunks.macro_average()));
            // Chunks above are found by the rules of conlleval, which count malformed ones.
            if self.strict.overall() != chunks.overall() {
                let strict = self.strict.totals().0;
                table.push(row("all, strict IOB2", strict, self.strict.overall()));
            }
            tables.push(table);
        }
        if by_label || truth + found == 0 {
            let mut table = head("label");
            table.extend(self.labels.iter().map(|(label, counts)| {
                let (hits, wrong) = (counts.hits, counts.predicted - counts.hits);
                row(label, counts.truth, Scores::from_counts(hits, wrong, counts.truth - hits))
            }));
            tables.push(table);
        }
        tables.into_iter().map(|rows| rows.into_iter().map(Vec::from).collect()).collect()
    }

    /// Which labels were taken for which: a matrix, or, of many labels, the most frequent mistakes.
    pub(crate) fn confusion(&self) -> Table {
        /// The labels of a matrix that fits on a screen.
        const MATRIX: usize = 12;
        const MISTAKES: usize = 30;
        if self.labels.len() <= MATRIX {
            let labels = || self.labels.keys().cloned();
            let mut table =
                vec![std::iter::once("true, by predicted".into()).chain(labels()).collect()];
            for (truth, counts) in &self.labels {
                let count = |found: &String| match found == truth {
                    true => counts.hits,
                    false => counts.mistaken.get(found).copied().unwrap_or(0),
                };
                let cells = self.labels.keys().map(|found| count(found).to_string());
                table.push(std::iter::once(truth.clone()).chain(cells).collect());
            }
            return table;
        }
        let mut all: Vec<(&str, &str, u64, u64)> = Vec::new();
        for (truth, counts) in &self.labels {
            all.extend(
                counts
                    .mistaken
                    .iter()
                    .map(|(found, &count)| (truth.as_str(), found.as_str(), count, counts.truth)),
            );
        }
        all.sort_by_key(|&(.., count, _)| std::cmp::Reverse(count));
        let mut table =
            vec![["true", "predicted", "tokens", "of the label"].map(String::from).to_vec()];
        for (truth, found, count, of) in all.into_iter().take(MISTAKES) {
            let share = format!("{}%", percent(count as f64 / of as f64));
            table.push(vec![truth.into(), found.into(), count.to_string(), share]);
        }
        table
    }

    /// Writes the counts and the scores.
    pub(crate) fn write(&self, by_label: bool, out: &mut impl Write) -> Result<(), Failure> {
        write!(out, "{}", self.head())?;
        for table in self.scores(by_label) {
            write!(out, "\n{}", aligned(&table, 1))?;
        }
        Ok(())
    }
}

/// The entry of a name, which is copied the first time alone.
fn of<'c, C: Default>(counts: &'c mut BTreeMap<String, C>, name: &str) -> &'c mut C {
    if !counts.contains_key(name) {
        counts.insert(name.to_owned(), C::default());
    }
    counts.get_mut(name).expect("inserted above")
}

pub(crate) const F1: &str = "held-out F1";
pub(crate) const ACCURACY: &str = "held-out acc.";

fn row(name: &str, count: u64, scores: Scores) -> [String; 5] {
    let [precision, recall, f1] = [scores.precision, scores.recall, scores.f1].map(percent);
    [name.to_owned(), count.to_string(), precision, recall, f1]
}

fn percent(share: f64) -> String {
    fixed(100.0 * share, 2)
}
