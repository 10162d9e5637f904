//! `fenchel-crf eval`

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use fenchel_datasets::{ConllOptions, Sentence};
use fenchel_linalg::text::aligned;

use crate::batches::Labelling;
use crate::evaluation::Evaluation;
use crate::input::{self, Columns, Entry, Format, Recipe};
use crate::mistakes::{Mistakes, page};
use crate::tag::REFERENCE;
use fenchel_cli::Failure;
use fenchel_cli::files::file_name;
use fenchel_cli::output::check_apart;
use fenchel_cli::say::complain;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel-crf eval -m chunks.json test.txt                  label a text, and compare\n  \
    fenchel-crf tag -m chunks.json test.txt | fenchel-crf eval  two columns, of any program\n  \
    fenchel-crf eval -m chunks.json test.txt --confusion --worst 5 --html report.html")]
pub(crate) struct Arguments {
    /// Label the text with this model; without a model, the text has predicted labels in its last column and true ones in the
    /// column before, or in --label-column; in CoNLL-U the output of `tag --reference`
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Also show a table with one row per label
    #[arg(long, help_heading = "Report")]
    labels: bool,
    /// Also show which labels were taken for which
    #[arg(long, help_heading = "Report")]
    confusion: bool,
    /// Also show the N sequences with the most wrong labels
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Report")]
    worst: Option<usize>,
    /// Also write all of this to a page, with the wrong labels in colour
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    html: Option<PathBuf>,
    #[command(flatten)]
    labelling: Labelling,
}

/// The sequences on a page if `--worst` gives no number.
const ON_A_PAGE: usize = 20;

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { labelling, html, worst, .. } = arguments;
    labelling.use_threads()?;
    let text = std::path::Path::new(labelling.file());
    if let Some(html) = html {
        check_apart("--html", html, &[text])?;
        fenchel_optim::file::check_writable(html).map_err(Failure::Write)?;
    }
    let mut counts = Evaluation::default();
    let kept = worst.unwrap_or(if html.is_some() { ON_A_PAGE } else { 0 });
    let mut mistakes = Mistakes::new(kept);
    match &arguments.model {
        Some(model) => {
            let (model, recipe) = labelling.open(model, true)?;
            let any = labelling.label(
                &model,
                &recipe,
                |tagger, entry| tagger.tag(&entry.instance),
                |entry, found| {
                    let truth: Vec<&str> = entry.instance.labels().collect();
                    counts.add(&truth, &found)?;
                    mistakes.add(entry.line, &truth, &found, |t| word(entry, &recipe, t));
                    Ok(())
                },
            )?;
            if !any {
                return Err(Failure::file(file_name(labelling.file()), "no sequences"));
            }
        }
        None => {
            two_columns(labelling, &mut counts, &mut mistakes)?;
            if counts.lacks_true_chunks() {
                complain(format_args!(
                    "warning: {}: no chunks among the true labels: is the predicted column missing? `tag` writes it, and -m MODEL labels the text",
                    file_name(labelling.file())
                ));
            }
        }
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    counts.write(arguments.labels, &mut out)?;
    if arguments.confusion {
        write!(out, "\n{}", aligned(&counts.confusion(), 2))?;
    }
    if worst.is_some() {
        write!(out, "{}", mistakes.text(&file_name(labelling.file())))?;
    }
    out.flush()?;
    if let Some(html) = html {
        let page = page(&file_name(labelling.file()), &counts, &mistakes);
        std::fs::write(html, page)
            .map_err(|error| Failure::file(html.display().to_string(), error))?;
    }
    Ok(())
}

/// What stands for a token in a report: its word, or its first attribute.
fn word(entry: &Entry, recipe: &Recipe, t: usize) -> String {
    let cell = if recipe.universal() { ConllOptions::FORM } else { 0 };
    match recipe.template() {
        Some(_) => entry.sentence.token(t).get(cell).cloned().unwrap_or_default(),
        None => entry.instance.attributes(t).next().map_or(String::new(), |(name, _)| name.into()),
    }
}

/// True labels against those of the last column. In CoNLL-U the predicted label has its own column, and the true one is a note.
fn two_columns(
    labelling: &Labelling,
    counts: &mut Evaluation,
    mistakes: &mut Mistakes,
) -> Result<(), Failure> {
    let (file, columns, format): (&str, &Columns, Option<Format>) = labelling.text();
    let universal = format == Some(Format::Conllu);
    let mut reader = input::open_columns(file, columns, format)?;
    let mut sentence = Sentence::default();
    let mut any = false;
    while reader.read(&mut sentence).map_err(|error| Failure::data(&file_name(file), error))? {
        let width = sentence.width();
        let fault = |line: u64, column: usize, reason: String| Failure::Text {
            file: file_name(file),
            line,
            column: column as u64 + 1,
            reason,
        };
        let (truth, found): (Vec<&str>, Vec<&str>) = if universal {
            let label = columns.label_column(format).unwrap_or(ConllOptions::UPOS);
            if label >= width {
                let reason = format!("columns: {width}; expected a label in column {}", label + 1);
                return Err(fault(reader.first_line(), width, reason));
            }
            let note = |cell: &str| cell.split('|').any(|note| note.starts_with(REFERENCE));
            if let Some(t) = sentence.column(ConllOptions::MISC).position(|cell| !note(cell)) {
                let reason = format!("no {REFERENCE}LABEL, which `tag --reference` writes");
                return Err(fault(reader.lines()[t], ConllOptions::MISC, reason));
            }
            let notes = sentence.column(ConllOptions::MISC).flat_map(|cell| cell.split('|'));
            (
                notes.filter_map(|note| note.strip_prefix(REFERENCE)).collect(),
                sentence.column(label).collect(),
            )
        } else {
            let truth = columns.label_column(format).unwrap_or(width.saturating_sub(2));
            if truth + 1 >= width {
                let reason = format!(
                    "{width} columns; expected true labels in column {} and predicted ones behind",
                    truth + 1
                );
                return Err(fault(reader.first_line(), width, reason));
            }
            (sentence.column(truth).collect(), sentence.column(width - 1).collect())
        };
        counts.add(&truth, &found)?;
        let cell = if universal { ConllOptions::FORM } else { 0 };
        let word = |t: usize| sentence.token(t)[cell].clone();
        mistakes.add(reader.first_line(), &truth, &found, word);
        any = true;
    }
    if any { Ok(()) } else { Err(Failure::file(file_name(file), "no sequences")) }
}
