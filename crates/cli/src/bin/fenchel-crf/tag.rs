//! `fenchel-crf tag`

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use fenchel_crf::{Error, Tagger, Vocabulary};
use fenchel_datasets::ConllOptions;

use crate::batches::Labelling;
use crate::evaluation::Evaluation;
use crate::input::{Entry, Recipe};
use fenchel_cli::Failure;
use fenchel_cli::files::file_name;

/// The note of CoNLL-U that keeps the label of the text, for `eval`.
pub(crate) const REFERENCE: &str = "Reference=";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel-crf tag -m chunks.json new.txt                 the text with one more column\n  \
    fenchel-crf tag -m chunks.json -i -l new.txt           and the probabilities of labels\n  \
    fenchel-crf tag -m chunks.json --k-best 3 --scheme bio new.txt")]
pub(crate) struct Arguments {
    /// The model
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// Write the label of the input before the predicted one; in CoNLL-U as a note of the last column
    #[arg(short, long, help_heading = OUTPUT)]
    reference: bool,
    /// Write the probability of each labelling before it
    #[arg(short, long, help_heading = OUTPUT)]
    probability: bool,
    /// Write the probability of each predicted label after it; in CoNLL-U as a note of the last column
    #[arg(short = 'i', long, help_heading = OUTPUT)]
    marginal: bool,
    /// Write the probabilities of all labels after each predicted one; in CoNLL-U as a note of the last column
    #[arg(short = 'l', long, help_heading = OUTPUT)]
    marginal_all: bool,
    /// Write the N most probable labellings, with probabilities
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with_all = ["marginal", "marginal_all", "test"], help_heading = OUTPUT)]
    k_best: Option<usize>,
    /// At the end, compare with the labels of the input
    #[arg(short, long, help_heading = OUTPUT)]
    test: bool,
    /// Write no labels
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
    #[command(flatten)]
    labelling: Labelling,
}

const OUTPUT: &str = "What is written";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let labelling = &arguments.labelling;
    labelling.use_threads()?;
    let labelled = arguments.reference || arguments.test;
    let (model, recipe) = labelling.open(&arguments.model, labelled)?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut evaluation = Evaluation::default();
    let any = labelling.label(
        &model,
        &recipe,
        |tagger, entry| answer(arguments, &recipe, tagger, entry),
        |entry, (text, labels)| {
            out.write_all(text.as_bytes())?;
            if arguments.test {
                evaluation.add(&entry.instance.labels().collect::<Vec<_>>(), &labels)?;
            }
            Ok(())
        },
    )?;
    if arguments.test {
        if !any {
            return Err(Failure::file(file_name(labelling.file()), "no sequences"));
        }
        evaluation.write(false, &mut out)?;
    }
    Ok(out.flush()?)
}

/// The probability of a label at a token.
type Marginal<'a> = Option<&'a dyn Fn(usize, usize) -> f64>;

/// The text that is written for one sequence, and its labels.
fn answer<'m>(
    arguments: &Arguments,
    recipe: &Recipe,
    tagger: &mut Tagger<'m>,
    entry: &Entry,
) -> Result<(String, Vec<&'m str>), Error> {
    let mut text = String::new();
    let write = Writer { arguments, recipe, entry, known: tagger.labels() };
    let probable = |rank: String, probability: f64| match recipe.template() {
        Some(_) => format!("# {rank}{probability:.6}\n"),
        None => format!("@probability\t{probability:.6}\n"),
    };
    if let Some(count) = arguments.k_best {
        let mut best = tagger.k_best(&entry.instance, count)?;
        for (rank, (labels, probability)) in best.iter().enumerate() {
            text.push_str(&probable(format!("{rank} "), *probability));
            write.tokens(labels, None, &mut text);
        }
        return Ok((text, best.swap_remove(0).0));
    }
    let labels = tagger.tag(&entry.instance)?;
    if arguments.quiet {
        return Ok((text, labels));
    }
    if arguments.probability {
        let probability = tagger.probability(&entry.instance, &labels)?;
        text.push_str(&probable(String::new(), probability));
    }
    if arguments.marginal || arguments.marginal_all {
        let marginals = tagger.marginals(&entry.instance)?;
        write.tokens(&labels, Some(&|t, k| marginals[[t, k]]), &mut text);
    } else {
        write.tokens(&labels, None, &mut text);
    }
    Ok((text, labels))
}

/// Writes a labelling: one line per token, and an empty line at the end.
struct Writer<'a, 'm> {
    arguments: &'a Arguments,
    recipe: &'a Recipe,
    entry: &'a Entry,
    known: &'m Vocabulary,
}

impl Writer<'_, '_> {
    fn tokens(&self, labels: &[&str], marginal: Marginal<'_>, text: &mut String) {
        match self.recipe.template() {
            _ if self.arguments.quiet => return,
            Some(_) if self.recipe.universal() => self.universal(labels, marginal, text),
            columns => self.lines(labels, columns.map_or('\t', |_| ' '), marginal, text),
        }
        text.push('\n');
    }

    /// The label behind the columns of its token, or behind the label of the text.
    fn lines(&self, labels: &[&str], gap: char, marginal: Marginal<'_>, text: &mut String) {
        let mut reference = self.entry.instance.labels();
        for (t, label) in labels.iter().enumerate() {
            if self.recipe.template().is_some() {
                for cell in self.entry.sentence.token(t) {
                    text.push_str(cell);
                    text.push(gap);
                }
            } else if let Some(truth) = reference.next().filter(|_| self.arguments.reference) {
                text.push_str(truth);
                text.push('\t');
            }
            text.push_str(label);
            if let Some(p) = self.own(t, label, marginal) {
                let _ = write!(text, ":{p:.6}");
            }
            for (label, p) in self.all(t, marginal) {
                let _ = write!(text, "{gap}{label}:{p:.6}");
            }
            text.push('\n');
        }
    }

    /// The sentence as it was, with the label in its own column. What else is asked for are notes in the last column.
    fn universal(&self, labels: &[&str], marginal: Marginal<'_>, text: &mut String) {
        let sentence = &self.entry.sentence;
        let column = self.recipe.label_column(sentence.width());
        let mut others = sentence.others().iter().peekable();
        for (t, label) in labels.iter().enumerate() {
            while let Some((_, line)) = others.next_if(|(before, _)| *before == t) {
                let _ = writeln!(text, "{line}");
            }
            let cells = sentence.token(t);
            let mut notes = Vec::new();
            if self.arguments.reference {
                notes.push(format!("{REFERENCE}{}", cells[column]));
            }
            if let Some(p) = self.own(t, label, marginal) {
                notes.push(format!("Probability={p:.6}"));
            }
            if self.arguments.marginal_all {
                let all = self.all(t, marginal).map(|(label, p)| format!("{label}:{p:.6}"));
                notes.push(format!("Probabilities={}", all.collect::<Vec<_>>().join(",")));
            }
            for (c, cell) in cells.iter().enumerate() {
                if c > 0 {
                    text.push('\t');
                }
                match c {
                    c if c == column => text.push_str(label),
                    ConllOptions::MISC if !notes.is_empty() => text.push_str(&noted(cell, &notes)),
                    _ => text.push_str(cell),
                }
            }
            text.push('\n');
        }
        for (_, line) in others {
            let _ = writeln!(text, "{line}");
        }
    }

    /// The probability of the label of a token, if it is asked for.
    fn own(&self, t: usize, label: &str, marginal: Marginal<'_>) -> Option<f64> {
        let marginal = marginal.filter(|_| self.arguments.marginal)?;
        let label = self.known.get(label).expect("a label of the model");
        Some(marginal(t, label as usize))
    }

    /// The probabilities of all labels of a token, if they are asked for.
    fn all<'a>(&'a self, t: usize, marginal: Marginal<'a>) -> impl Iterator<Item = (&'a str, f64)> {
        let marginal = marginal.filter(|_| self.arguments.marginal_all);
        let labels = self.known.iter().enumerate();
        labels.filter_map(move |(k, label)| Some((label, marginal?(t, k))))
    }
}

/// The last column of CoNLL-U with more notes, which replace older ones of the same names.
fn noted(cell: &str, notes: &[String]) -> String {
    let name = |note: &str| note.split('=').next().unwrap_or_default().to_owned();
    let old = cell.split('|').filter(|old| {
        !matches!(*old, "" | "_") && !notes.iter().any(|note| name(note) == name(old))
    });
    old.chain(notes.iter().map(String::as_str)).collect::<Vec<_>>().join("|")
}
