//! `fenchel-crf eval`, and the tables that it shares with `tag --test` and the held-out score of `learn`.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use fenchel_datasets::Sentence;
use fenchel_metrics::{ChunkCounts, Scores};

use crate::Failure;
use crate::input::{self, Columns, Format, Templates, shown};
use crate::tag;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Label FILE with this model; without one, FILE holds predicted labels in its last column and true ones in the column
    /// before, or where the format or --label-column says
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The labelled text; - or nothing for standard input
    #[arg(default_value = "-", hide_default_value = true)]
    file: String,
    /// Show a table by label as well
    #[arg(long)]
    labels: bool,
    /// The form of the text [default: columns if the model has templates]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    templates: Templates,
    #[command(flatten)]
    columns: Columns,
    /// Hold the labelling to a scheme
    #[arg(long, value_enum, default_value_t = tag::Scheme::Any)]
    scheme: tag::Scheme,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    crate::use_threads(arguments.threads)?;
    let mut counts = Evaluation::default();
    match &arguments.model {
        Some(model) => {
            let model = input::load_model(model)?;
            let template =
                arguments.templates.load(arguments.format)?.or_else(|| model.template.clone());
            let recipe = input::Recipe::new(arguments.format, template, &arguments.columns, true)?;
            let tagger = model.tagger().with_scheme(arguments.scheme.into());
            let any = tag::in_batches(&arguments.file, &recipe, &model, |batch| {
                let found = tag::for_all(&tagger, &arguments.file, batch, |tagger, entry| {
                    tagger.tag(&entry.instance)
                })?;
                for (entry, labels) in batch.iter().zip(&found) {
                    counts.add(&entry.instance.labels().collect::<Vec<_>>(), labels);
                }
                Ok(())
            })?;
            if !any {
                return Err(Failure::file(shown(&arguments.file), "no sequences"));
            }
        }
        None => two_columns(arguments, &mut counts)?,
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    counts.write(arguments.labels, &mut out)?;
    Ok(out.flush()?)
}

/// True labels against those of the last column.
fn two_columns(arguments: &Arguments, counts: &mut Evaluation) -> Result<(), Failure> {
    let Arguments { file, columns, format, .. } = arguments;
    let mut reader = input::open_columns(file, columns, *format)?;
    let mut sentence = Sentence::default();
    let mut any = false;
    while reader.read(&mut sentence).map_err(|error| Failure::data(&shown(file), error))? {
        let width = sentence.width();
        let truth = columns.label_column(*format).unwrap_or(width.saturating_sub(2));
        if truth + 1 >= width {
            let (file, line) = (shown(file), reader.first_line());
            let reason = format!(
                "{width} columns; expected true labels in column {} and predicted ones behind",
                truth + 1
            );
            return Err(Failure::Text { file, line, column: width as u64 + 1, reason });
        }
        counts.add(
            &sentence.column(truth).collect::<Vec<_>>(),
            &sentence.column(width - 1).collect::<Vec<_>>(),
        );
        any = true;
    }
    if any { Ok(()) } else { Err(Failure::file(shown(file), "no sequences")) }
}

/// Counts over sequences of true and predicted labels.
#[derive(Debug)]
pub(crate) struct Evaluation {
    chunks: ChunkCounts,
    /// The same by the strict reading: an `I` that continues nothing is no chunk.
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
    /// Adds a sequence, which has tokens.
    pub(crate) fn add(&mut self, truth: &[&str], predicted: &[&str]) {
        for counts in [&mut self.chunks, &mut self.strict] {
            counts.add(truth, predicted).expect("labellings of one sequence");
        }
        for (&t, &p) in truth.iter().zip(predicted) {
            self.label(t).truth += 1;
            self.label(p).predicted += 1;
            if t == p {
                self.label(t).hits += 1;
            }
        }
    }

    fn label(&mut self, label: &str) -> &mut Counts {
        if !self.labels.contains_key(label) {
            self.labels.insert(label.to_owned(), Counts::default());
        }
        self.labels.get_mut(label).expect("inserted above")
    }

    /// F1 over the chunks; the accuracy over tokens where the true labels have no chunks. With its name.
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
