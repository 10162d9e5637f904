//! `fenchel-crf tag`

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use fenchel_crf::{Error, Tagger};

use crate::Failure;
use crate::batches::{Scheme, for_all, in_batches};
use crate::evaluation::Evaluation;
use crate::input::{self, Columns, Entry, Format, Recipe, Templates};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The model
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// The text; - or no file is standard input
    #[arg(default_value = "-", hide_default_value = true)]
    file: String,
    /// Write the label of the input before the predicted one
    #[arg(short, long)]
    reference: bool,
    /// Write the probability of each labelling before it
    #[arg(short, long)]
    probability: bool,
    /// Write the probability of each predicted label after it
    #[arg(short = 'i', long)]
    marginal: bool,
    /// Write the probabilities of all labels after each predicted one
    #[arg(short = 'l', long)]
    marginal_all: bool,
    /// Write the N most probable labellings, with probabilities
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with_all = ["marginal", "marginal_all", "test"])]
    k_best: Option<usize>,
    /// Allow only labellings of a scheme
    #[arg(long, value_enum, default_value_t = Scheme::Any)]
    scheme: Scheme,
    /// At the end, compare with the labels of the input
    #[arg(short, long)]
    test: bool,
    /// Write no labels
    #[arg(short, long)]
    quiet: bool,
    /// The format of the text [default: columns if the model has templates]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    templates: Templates,
    #[command(flatten)]
    columns: Columns,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<usize>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    crate::use_threads(arguments.threads)?;
    let model = input::load_model(&arguments.model)?;
    let template = arguments.templates.load(arguments.format)?.or_else(|| model.template.clone());
    let labelled = arguments.reference || arguments.test;
    let recipe = Recipe::new(arguments.format, template, &arguments.columns, labelled)?;
    let columns = recipe.template().map(|_| recipe.gap());
    let tagger = model.tagger().with_scheme(arguments.scheme.into());
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut evaluation = Evaluation::default();
    let any = in_batches(&arguments.file, &recipe, &model, |batch| {
        let answers = for_all(&tagger, &arguments.file, batch, |tagger, entry| {
            answer(arguments, columns, tagger, entry)
        })?;
        for (entry, (text, labels)) in batch.iter().zip(&answers) {
            out.write_all(text.as_bytes())?;
            if arguments.test {
                evaluation.add(&entry.instance.labels().collect::<Vec<_>>(), labels)?;
            }
        }
        Ok(())
    })?;
    if arguments.test {
        if !any {
            return Err(Failure::file(input::shown(&arguments.file), "no sequences"));
        }
        evaluation.write(false, &mut out)?;
    }
    Ok(out.flush()?)
}

/// The text that is written for one sequence, and its labels. `columns` are the input columns, if there are any.
fn answer<'m>(
    arguments: &Arguments,
    columns: Option<char>,
    tagger: &mut Tagger<'m>,
    entry: &Entry,
) -> Result<(String, Vec<&'m str>), Error> {
    let mut text = String::new();
    let write = Writer { arguments, columns, entry };
    if let Some(count) = arguments.k_best {
        let mut best = tagger.k_best(&entry.instance, count)?;
        for (rank, (labels, probability)) in best.iter().enumerate() {
            let _ = match columns.is_some() {
                true => writeln!(text, "# {rank} {probability:.6}"),
                false => writeln!(text, "@probability\t{probability:.6}"),
            };
            write.tokens(labels, |_| String::new(), &mut text);
        }
        return Ok((text, best.swap_remove(0).0));
    }
    let labels = tagger.tag(&entry.instance)?;
    if arguments.quiet {
        return Ok((text, labels));
    }
    if arguments.probability {
        let probability = tagger.probability(&entry.instance, &labels)?;
        let _ = match columns.is_some() {
            true => writeln!(text, "# {probability:.6}"),
            false => writeln!(text, "@probability\t{probability:.6}"),
        };
    }
    if !arguments.marginal && !arguments.marginal_all {
        write.tokens(&labels, |_| String::new(), &mut text);
        return Ok((text, labels));
    }
    let marginals = tagger.marginals(&entry.instance)?;
    let known = tagger.labels();
    let gap = columns.unwrap_or('\t');
    let behind = |t: usize| {
        let mut more = String::new();
        if arguments.marginal {
            let label = known.get(labels[t]).expect("a label of the model");
            let _ = write!(more, ":{:.6}", marginals[[t, label as usize]]);
        }
        if arguments.marginal_all {
            for (label, p) in known.iter().zip(marginals.row(t)) {
                let _ = write!(more, "{gap}{label}:{p:.6}");
            }
        }
        more
    };
    write.tokens(&labels, behind, &mut text);
    Ok((text, labels))
}

/// Writes a labelling: one line per token, and an empty line at the end.
struct Writer<'a> {
    arguments: &'a Arguments,
    columns: Option<char>,
    entry: &'a Entry,
}

impl Writer<'_> {
    /// `behind` returns the text after the label of a token.
    fn tokens(&self, labels: &[&str], behind: impl Fn(usize) -> String, text: &mut String) {
        if self.arguments.quiet {
            return;
        }
        let mut reference = self.entry.instance.labels();
        for (t, label) in labels.iter().enumerate() {
            if let Some(gap) = self.columns {
                for cell in self.entry.sentence.token(t) {
                    text.push_str(cell);
                    text.push(gap);
                }
            } else if let Some(truth) = reference.next().filter(|_| self.arguments.reference) {
                text.push_str(truth);
                text.push('\t');
            }
            text.push_str(label);
            text.push_str(&behind(t));
            text.push('\n');
        }
        text.push('\n');
    }
}
