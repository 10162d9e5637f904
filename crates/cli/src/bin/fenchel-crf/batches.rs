//! What `tag` and `eval` have in common: their options, and tagging of a text in batches of sequences on all cores.

use std::path::Path;

use clap::ValueEnum;
use fenchel_crf::{CrfModel, Error, LabelScheme, Tagger};

use crate::input::{self, Columns, Entry, Format, Recipe, Source, TEXT, Templates};
use fenchel_cli::Failure;
use fenchel_cli::files::file_name;
use fenchel_cli::say::complain;

/// A labelling scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scheme {
    /// No restriction
    Any,
    /// I-X only directly after B-X or I-X
    Bio,
    /// B, I, E for longer chunks, S for single tokens; or L for E and U for S
    #[value(alias = "bilou")]
    Iobes,
}

impl From<Scheme> for LabelScheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Any => LabelScheme::Any,
            Scheme::Bio => LabelScheme::Bio,
            Scheme::Iobes => LabelScheme::Iobes,
        }
    }
}

/// The text to label, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Labelling {
    /// The text; - or no file is standard input
    #[arg(default_value = "-", hide_default_value = true)]
    file: String,
    /// Allow only labellings of a scheme
    #[arg(long, value_enum, default_value_t = Scheme::Any)]
    scheme: Scheme,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<usize>,
    /// The format of the text [default: columns if the model has templates]
    #[arg(long, value_enum, help_heading = TEXT)]
    format: Option<Format>,
    #[command(flatten)]
    templates: Templates,
    #[command(flatten)]
    columns: Columns,
}

impl Labelling {
    pub(crate) fn use_threads(&self) -> Result<(), Failure> {
        fenchel_cli::use_threads(self.threads)
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The file, its columns and its format.
    pub(crate) fn text(&self) -> (&str, &Columns, Option<Format>) {
        (&self.file, &self.columns, self.format)
    }

    /// Loads a model, and says how the text is read for it.
    pub(crate) fn open(&self, model: &Path, labelled: bool) -> Result<(CrfModel, Recipe), Failure> {
        let model = input::load_model(model)?;
        let template = self.templates.load(self.format)?.or_else(|| model.template.clone());
        let recipe = Recipe::new(self.format, template, &self.columns, labelled)?;
        Ok((model, recipe))
    }

    /// Asks a tagger about each sequence, on all cores, and hands the answers on in their order. Returns whether the text had any
    /// sequence.
    pub(crate) fn label<'m, A: Send>(
        &self,
        model: &'m CrfModel,
        recipe: &Recipe,
        ask: impl Fn(&mut Tagger<'m>, &Entry) -> Result<A, Error> + Sync,
        mut each: impl FnMut(&Entry, A) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let tagger = model.tagger().with_scheme(self.scheme.into());
        in_batches(&self.file, recipe, model, |batch| {
            let answers = for_all(&tagger, &self.file, batch, &ask)?;
            batch.iter().zip(answers).try_for_each(|(entry, answer)| each(entry, answer))
        })
    }
}

/// Passes a text to a model in batches, which are large enough for all cores and small enough for the memory. Returns whether
/// the text had any sequence.
fn in_batches(
    file: &str,
    recipe: &Recipe,
    model: &CrfModel,
    mut each: impl FnMut(&[Entry]) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    const TOKENS: usize = 1 << 15;
    let mut source = Source::open(file, recipe)?;
    let mut batch: Vec<Entry> = Vec::new();
    let (mut count, mut tokens, mut any) = (0, 0, false);
    loop {
        if count == batch.len() {
            batch.push(Entry::default());
        }
        let more = source.read(&mut batch[count])?;
        if more {
            tokens += batch[count].instance.len();
            count += 1;
        }
        if (!more && count > 0) || tokens >= TOKENS {
            if !any {
                look_at(&batch[..count], file, model)?;
            }
            each(&batch[..count])?;
            (count, tokens, any) = (0, 0, true);
        }
        if !more {
            break;
        }
    }
    Ok(any)
}

/// Checks the beginning of a text against the model. It refuses columns without attributes, and warns if the model knows none
/// of the attributes.
fn look_at(batch: &[Entry], file: &str, model: &CrfModel) -> Result<(), Failure> {
    let tokens =
        || batch.iter().flat_map(|entry| (0..entry.instance.len()).map(move |t| (entry, t)));
    let mut names = tokens().flat_map(|(entry, t)| entry.instance.attributes(t)).peekable();
    if names.peek().is_none() {
        let mut labels = batch.iter().flat_map(|entry| entry.instance.labels());
        return match input::not_crfsuite(&mut labels) {
            Some(reason) => Err(Failure::file(file_name(file), reason)),
            None => Ok(()),
        };
    }
    if !model.attributes().is_empty()
        && names.all(|(name, _)| model.attributes().get(name).is_none())
    {
        let file = file_name(file);
        let columns = match model.template {
            Some(_) => "",
            None => {
                " Columns need --template FILE or --template-preset NAME, since the model has no templates."
            }
        };
        complain(format_args!(
            "warning: {file}: the model knows none of its attributes; was it trained on text of another form?{columns}"
        ));
    }
    Ok(())
}

/// Applies a function to all sequences of a batch. An error message names the first line of its sequence.
fn for_all<'m, A: Send>(
    tagger: &Tagger<'m>,
    file: &str,
    batch: &[Entry],
    ask: impl Fn(&mut Tagger<'m>, &Entry) -> Result<A, Error> + Sync,
) -> Result<Vec<A>, Failure> {
    tagger.for_all(batch, ask).map_err(|error| match error {
        Error::InSequence { sequence, error } => Failure::Text {
            file: file_name(file),
            line: batch[sequence].line,
            column: 1,
            reason: error.to_string(),
        },
        error => error.into(),
    })
}
