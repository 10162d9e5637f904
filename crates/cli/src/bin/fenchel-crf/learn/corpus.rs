//! Training data from files.

use fenchel_crf::{Corpus, CorpusBuilder};

use crate::input::{self, Entry, Recipe, Source};
use fenchel_cli::Failure;
use fenchel_cli::files::file_name;

/// The training data of files.
pub(super) fn read_corpus(
    files: &[String],
    recipe: &Recipe,
    min_frequency: u32,
) -> Result<Corpus, Failure> {
    let mut builder = CorpusBuilder::new();
    let mut entry = Entry::default();
    for file in files {
        let before = builder.len();
        let mut source = Source::open(file, recipe)?;
        while source.read(&mut entry)? {
            builder.push(&entry.instance).map_err(|error| Failure::crf(&file_name(file), error))?;
        }
        if builder.len() == before {
            return Err(Failure::file(file_name(file), "no sequences"));
        }
    }
    finish(builder, min_frequency)
}

/// Makes the corpus, which must have attributes.
pub(super) fn finish(builder: CorpusBuilder, min_frequency: u32) -> Result<Corpus, Failure> {
    let corpus = builder.finish(min_frequency)?;
    match input::not_crfsuite(corpus.labels.iter()).filter(|_| corpus.attributes.is_empty()) {
        Some(reason) => Err(Failure::Usage(reason.to_owned())),
        None => Ok(corpus),
    }
}
