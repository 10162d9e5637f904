//! The tables of scores that `eval` and `tag --test` write, and the score on held-out data of `learn`.

use std::collections::BTreeMap;
use std::io::Write;

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

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    truth: u64,
    predicted: u64,
    hits: u64,
}

impl Default for Evaluation {
    fn default() -> Self {
        let (chunks, strict) = (ChunkCounts::new(), ChunkCounts::strict());
        Evaluation { chunks, strict, labels: BTreeMap::new() }
    }
}

impl Evaluation {
    /// Adds a sequence of at least one token.
    pub(crate) fn add(&mut self, truth: &[&str], predicted: &[&str]) -> Result<(), Failure> {
        for counts in [&mut self.chunks, &mut self.strict] {
            counts.add(truth, predicted).map_err(|error| Failure::Usage(error.to_string()))?;
        }
        for (&t, &p) in truth.iter().zip(predicted) {
            self.label(t).truth += 1;
            self.label(p).predicted += 1;
            if t == p {
                self.label(t).hits += 1;
            }
        }
        Ok(())
    }

    fn label(&mut self, label: &str) -> &mut Counts {
        if !self.labels.contains_key(label) {
            self.labels.insert(label.to_owned(), Counts::default());
        }
        self.labels.get_mut(label).expect("inserted above")
    }

    /// F1 over the chunks, or the accuracy over tokens if the true labels have no chunks, with the name of the score.
    pub(crate) fn score(&self) -> (f64, &'static str) {
        match self.chunks.totals() {
            (0, _, _) => (self.chunks.token_accuracy(), ACCURACY),
            _ => (self.chunks.overall().f1, F1),
        }
    }

    pub(crate) fn write(&self, by_label: bool, out: &mut impl Write) -> Result<(), Failure> {
        let chunks = &self.chunks;
        let (tokens, sequences) = (chunks.tokens(), chunks.sequences());
        let (truth, found, right) = chunks.totals();
        writeln!(
            out,
            "{sequences} sequences, {tokens} tokens, {truth} chunks; found {found} chunks, {right} correct"
        )?;
        writeln!(
            out,
            "accuracy: {:.2}% of the tokens, {:.2}% of the sequences",
            100.0 * chunks.token_accuracy(),
            100.0 * chunks.sequence_accuracy()
        )?;
        if truth + found > 0 {
            let kinds = chunks.kinds().map(|(kind, count)| (kind, count, chunks.kind(kind)));
            table(out, "chunk", kinds)?;
            row(out, "all", truth, chunks.overall())?;
            row(out, "mean of the types", truth, chunks.macro_average())?;
            // Chunks above are found by the rules of conlleval, which count malformed ones.
            if self.strict.overall() != chunks.overall() {
                row(out, "all, strict IOB2", self.strict.totals().0, self.strict.overall())?;
            }
        }
        if by_label || truth + found == 0 {
            let labels = self.labels.iter().map(|(label, counts)| {
                let (hits, wrong) = (counts.hits, counts.predicted - counts.hits);
                let scores = Scores::from_counts(hits, wrong, counts.truth - hits);
                (label.as_str(), counts.truth, scores)
            });
            table(out, "label", labels)?;
        }
        Ok(())
    }
}

pub(crate) const F1: &str = "held-out F1";
pub(crate) const ACCURACY: &str = "held-out acc.";

fn table<'a>(
    out: &mut impl Write,
    what: &str,
    rows: impl Iterator<Item = (&'a str, u64, Scores)>,
) -> Result<(), Failure> {
    writeln!(out, "\n{what:<20} {:>8} {:>10} {:>8} {:>8}", "count", "precision", "recall", "F1")?;
    for (name, count, scores) in rows {
        row(out, name, count, scores)?;
    }
    Ok(())
}

fn row(out: &mut impl Write, name: &str, count: u64, scores: Scores) -> Result<(), Failure> {
    let [precision, recall, f1] = [scores.precision, scores.recall, scores.f1].map(|s| 100.0 * s);
    Ok(writeln!(out, "{name:<20} {count:>8} {precision:>10.2} {recall:>8.2} {f1:>8.2}")?)
}
