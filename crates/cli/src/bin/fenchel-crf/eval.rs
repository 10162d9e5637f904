//! `fenchel-crf eval`

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use fenchel_datasets::{ConllOptions, Sentence};

use crate::batches::{Scheme, for_all, in_batches};
use crate::evaluation::Evaluation;
use crate::input::{self, Columns, Format, Templates};
use crate::tag::REFERENCE;
use fenchel_cli::Failure;
use fenchel_cli::files::file_name;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Label FILE with this model; without a model, FILE has predicted labels in its last column and true ones in the column
    /// before, or in --label-column; in CoNLL-U the output of `tag --reference`
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The labelled text; - or nothing for standard input
    #[arg(default_value = "-", hide_default_value = true)]
    file: String,
    /// Also show a table with one row per label
    #[arg(long)]
    labels: bool,
    /// The format of the text [default: columns if the model has templates]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    templates: Templates,
    #[command(flatten)]
    columns: Columns,
    /// Allow only labellings of a scheme
    #[arg(long, value_enum, default_value_t = Scheme::Any)]
    scheme: Scheme,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    fenchel_cli::use_threads(arguments.threads)?;
    let mut counts = Evaluation::default();
    match &arguments.model {
        Some(model) => {
            let model = input::load_model(model)?;
            let template =
                arguments.templates.load(arguments.format)?.or_else(|| model.template.clone());
            let recipe = input::Recipe::new(arguments.format, template, &arguments.columns, true)?;
            let tagger = model.tagger().with_scheme(arguments.scheme.into());
            let any = in_batches(&arguments.file, &recipe, &model, |batch| {
                let found = for_all(&tagger, &arguments.file, batch, |tagger, entry| {
                    tagger.tag(&entry.instance)
                })?;
                for (entry, labels) in batch.iter().zip(&found) {
                    counts.add(&entry.instance.labels().collect::<Vec<_>>(), labels)?;
                }
                Ok(())
            })?;
            if !any {
                return Err(Failure::file(file_name(&arguments.file), "no sequences"));
            }
        }
        None => two_columns(arguments, &mut counts)?,
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    counts.write(arguments.labels, &mut out)?;
    Ok(out.flush()?)
}

/// True labels against those of the last column. In CoNLL-U the predicted label has its own column, and the true one is a note.
fn two_columns(arguments: &Arguments, counts: &mut Evaluation) -> Result<(), Failure> {
    let Arguments { file, columns, format, .. } = arguments;
    let mut reader = input::open_columns(file, columns, *format)?;
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
        let (truth, found): (Vec<&str>, Vec<&str>) = if *format == Some(Format::Conllu) {
            let label = columns.label_column(*format).unwrap_or(ConllOptions::UPOS);
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
            let truth = columns.label_column(*format).unwrap_or(width.saturating_sub(2));
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
        any = true;
    }
    if any { Ok(()) } else { Err(Failure::file(file_name(file), "no sequences")) }
}
