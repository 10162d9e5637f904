//! Tagging of a text in batches of sequences on all cores, for `tag` and `eval`.

use clap::ValueEnum;
use fenchel_crf::{CrfModel, Error, LabelScheme, Tagger};

use crate::input::{self, Entry, Recipe, Source};
use fenchel_cli::Failure;
use fenchel_cli::files::file_name;
use fenchel_cli::say::complain;

/// A labelling scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheme {
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

/// Passes a text to a model in batches, which are large enough for all cores and small enough for the memory. Returns whether
/// the text had any sequence.
pub(crate) fn in_batches(
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
pub(crate) fn for_all<'m, A: Send>(
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
