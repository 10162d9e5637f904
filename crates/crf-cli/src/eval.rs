//! `fenchel-crf eval`

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use fenchel_datasets::Sentence;

use crate::Failure;
use crate::batches::{Scheme, for_all, in_batches};
use crate::evaluation::Evaluation;
use crate::input::{self, Columns, Format, Templates, shown};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Label FILE with this model; without a model, FILE has predicted labels in its last column and true ones in the column
    /// before, or as the format or --label-column says
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
    crate::use_threads(arguments.threads)?;
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
        )?;
        any = true;
    }
    if any { Ok(()) } else { Err(Failure::file(shown(file), "no sequences")) }
}
