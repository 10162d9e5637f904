//! This module loads the data sets of Le Priol, Piche and Lacoste-Julien (2018), table 1, in full or in part. If a
//! data set is absent, it generates data instead.

use fenchel_crf::synthetic::{OcrLike, TextLike, ocr_like, text_like};
use fenchel_crf::text::{Boundary, Template};
use fenchel_crf::{Corpus, CorpusBuilder, Dataset, Instance, Token, Weights};
use fenchel_datasets::{Folder, Sentence, Word};
use fenchel_graphical::chain::Chain;

use crate::{Context, Failure, Outcome};

/// What a full run has of the one set that is not at hand.
pub(super) const PARTS: &str = "a full run has for parts of speech 3,000 sentences of CoNLL-2000, which are a part of the paper's 38,219 of the Penn Treebank";

/// One of the four data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Set {
    Ocr,
    Chunks,
    Entities,
    Parts,
}

/// The part of a data set that the quick run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// For what SDCA does within itself.
    Steps,
    /// For which method is ahead, with six methods and several seeds. On fewer words of OCR the order is another one.
    Race,
}

/// A training set and a test set.
pub(super) struct Task {
    pub(super) name: &'static str,
    /// Whether the data are those of the document. Only then its claims can be judged.
    pub(super) real: bool,
    pub(super) train: Dataset,
    pub(super) test: Dataset,
    /// The true labels of the test set. A label that does not occur in the training set is `u32::MAX`.
    truth: Vec<Vec<u32>>,
}

impl Set {
    pub(super) fn name(self) -> &'static str {
        match self {
            Set::Ocr => "OCR",
            Set::Chunks => "CoNLL-2000 chunks",
            Set::Entities => "Dutch entities",
            Set::Parts => "CoNLL-2000 parts of speech",
        }
    }

    /// The largest number of training sequences. The quick run has a limit for every data set. The full run has one for parts of speech,
    /// because of their memory.
    pub(super) fn limit(self, context: &Context, part: Part) -> usize {
        let quick = match (self, part) {
            (Set::Ocr, Part::Steps) => 800,
            (Set::Ocr, Part::Race) => 2_000,
            (Set::Entities, Part::Steps) => 3_000,
            (Set::Entities, Part::Race) => 600,
            (Set::Chunks, Part::Steps) => 500,
            (Set::Chunks, Part::Race) => 250,
            (Set::Parts, Part::Steps) => 150,
            (Set::Parts, Part::Race) => 120,
        };
        context.pick(quick, if self == Set::Parts { 3_000 } else { usize::MAX })
    }

    /// Loads the data set with at most `limit` training sequences, or generates one if it is absent.
    pub(super) fn load(self, context: &Context, limit: usize) -> Result<Task, Failure> {
        Ok(match self.real(context, limit)? {
            Some(task) => task,
            None => self.synthetic()?,
        })
    }

    /// Loads the data set with at most `limit` training sequences, which are evenly spread over all.
    pub(super) fn real(self, context: &Context, limit: usize) -> Result<Option<Task>, Failure> {
        let Some(root) = &context.data else { return Ok(None) };
        let folder = Folder::new(root);
        let name = self.name();
        let pair = match self {
            Set::Ocr => {
                return folder.ocr()?.map(|words| words_task(name, &words, limit)).transpose();
            }
            Set::Entities => (folder.conll2002_dutch_train()?, folder.conll2002_dutch_test()?),
            Set::Chunks | Set::Parts => (folder.conll2000_train()?, folder.conll2000_test()?),
        };
        let (Some(train), Some(test)) = pair else { return Ok(None) };
        let (train, test) = (spread(&train, limit), spread(&test, limit / 3));
        let column = if self == Set::Parts { 1 } else { 2 };
        let chunking = Template::chunking(Boundary::Symbol("_".to_owned()));
        let entities = Template::named_entities();
        let expand =
            |sentence: &Sentence, labelled: bool, instance: &mut Instance| -> Result<(), Failure> {
                instance.clear();
                let labels: Vec<&str> =
                    if labelled { sentence.column(column).collect() } else { Vec::new() };
                match self {
                    Set::Parts => spelling(sentence, &labels, instance),
                    Set::Entities => entities.expand(&cells(sentence, false), &labels, instance)?,
                    _ => chunking.expand(&cells(sentence, true), &labels, instance)?,
                }
                Ok(())
            };
        let mut builder = CorpusBuilder::new();
        let mut instance = Instance::new();
        for sentence in &train {
            expand(sentence, true, &mut instance)?;
            builder.push(&instance)?;
        }
        let corpus = builder.finish(if self == Set::Chunks { 3 } else { 1 })?;
        let mut task = Task::new(name, &corpus);
        for sentence in &test {
            expand(sentence, false, &mut instance)?;
            task.push_test(&corpus, &instance, sentence.column(column))?;
        }
        Ok(Some(Task { train: corpus.data, ..task }))
    }

    /// Generated data of the same kind.
    fn synthetic(self) -> Result<Task, Failure> {
        let seed = 1;
        // Few words: the cost of a certificate grows with the number of attributes.
        let text = |sequences, labels| {
            text_like(&TextLike { sequences, labels, words: 500, seed, ..TextLike::default() })
        };
        // One draw of a model, of which the last quarter of the sequences is for the test.
        let all = match self {
            Set::Ocr => ocr_like(&OcrLike { sequences: 120, seed, ..OcrLike::default() }),
            Set::Chunks => text(80, 22),
            Set::Entities => text(150, TextLike::default().labels),
            Set::Parts => text(30, 44),
        }?;
        let cut = all.sequences() * 3 / 4;
        let mut train = Dataset::new(all.attributes(), all.labels());
        let mut test = train.clone();
        let mut truth = Vec::new();
        for (i, sequence) in all.iter().enumerate() {
            let attributes: Vec<Vec<(u32, f64)>> =
                (0..sequence.len()).map(|t| sequence.attributes(t).collect()).collect();
            let data = if i < cut { &mut train } else { &mut test };
            push(data, &attributes, sequence.labels().iter().copied())?;
            if i >= cut {
                truth.push(sequence.labels().to_vec());
            }
        }
        Ok(Task { name: self.name(), real: false, train, test, truth })
    }
}

impl Task {
    fn new(name: &'static str, corpus: &Corpus) -> Self {
        let empty = Dataset::new(corpus.data.attributes(), corpus.data.labels());
        Task { name, real: true, train: empty.clone(), test: empty, truth: Vec::new() }
    }

    fn push_test<'l>(
        &mut self,
        corpus: &Corpus,
        instance: &Instance,
        labels: impl Iterator<Item = &'l str>,
    ) -> Result<(), Failure> {
        let attributes: Vec<Vec<(u32, f64)>> = (0..instance.len())
            .map(|t| {
                let known = |(name, value)| Some((corpus.attributes.get(name)?, value));
                instance.attributes(t).filter_map(known).collect()
            })
            .collect();
        // The labels of these tokens are not read.
        push(&mut self.test, &attributes, std::iter::repeat(0))?;
        self.truth.push(labels.map(|label| corpus.labels.get(label).unwrap_or(u32::MAX)).collect());
        Ok(())
    }

    /// The error rates of the most probable labelling on the test set, by tokens and by sequences.
    pub(super) fn errors(&self, weights: &Weights) -> Result<(f64, f64), Failure> {
        let mut chain = Chain::shared(weights.labels(), 1)?;
        weights.write_transitions(&mut chain)?;
        let (mut tokens, mut sequences) = (0, 0);
        for (sequence, truth) in self.test.iter().zip(&self.truth) {
            weights
                .write_scores((0..sequence.len()).map(|t| sequence.attributes(t)), &mut chain)?;
            let (path, _) = chain.viterbi()?;
            let wrong = path.iter().zip(truth).filter(|(k, y)| **k as u32 != **y).count();
            tokens += wrong;
            sequences += usize::from(wrong > 0);
        }
        let share = |wrong: usize, of: usize| wrong as f64 / of.max(1) as f64;
        Ok((share(tokens, self.test.tokens()), share(sequences, self.test.sequences())))
    }

    /// Adds a description of the data to the outcome.
    pub(super) fn describe(&self, outcome: &mut Outcome) {
        let (n, tokens, labels) =
            (self.train.sequences(), self.train.tokens(), self.train.labels());
        let attributes = self.train.attributes();
        outcome.setting(
            format!("data, {}", self.name),
            format!("n = {n} sequences, N = {tokens} tokens, K = {labels} labels, A = {attributes} attributes"),
        );
        if !self.real {
            outcome.note(format!(
                "{} is not there: generated data of the same kind stand in for it, and the document's sentences are \
                 shown, not judged.",
                self.name
            ));
        }
    }
}

/// Adds a sequence: the attributes of its tokens, and their labels.
fn push(
    data: &mut Dataset,
    attributes: &[Vec<(u32, f64)>],
    labels: impl Iterator<Item = u32>,
) -> Result<(), fenchel_crf::Error> {
    let tokens = attributes.iter().zip(labels);
    let tokens = tokens.map(|(attributes, label)| Token { attributes, label });
    data.push(&tokens.collect::<Vec<_>>())
}

/// At most `limit` items, evenly spread over all.
pub(super) fn spread<T: Clone>(items: &[T], limit: usize) -> Vec<T> {
    let count = items.len().min(limit.max(1));
    (0..count).map(|k| items[k * items.len() / count].clone()).collect()
}

/// Word and part of speech.
pub(super) fn cells(sentence: &Sentence, lower: bool) -> Vec<[String; 2]> {
    let word = |word: &str| if lower { word.to_lowercase() } else { word.to_owned() };
    let parts = sentence.column(1).map(str::to_owned);
    sentence.column(0).map(word).zip(parts).map(|(word, part)| [word, part]).collect()
}

/// Attributes that depend only on words: the word and its neighbours, its prefixes and suffixes, and its shape.
fn spelling(sentence: &Sentence, labels: &[&str], instance: &mut Instance) {
    let words: Vec<String> = sentence.column(0).map(str::to_lowercase).collect();
    for (t, form) in sentence.column(0).enumerate() {
        instance.begin_token(labels.get(t).copied().unwrap_or(""));
        let near = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("_", String::as_str);
        instance.push_pair("w", &words[t]);
        instance.push_pair("w-1", near(t.checked_sub(1)));
        instance.push_pair("w+1", near(Some(t + 1)));
        let letters: Vec<char> = words[t].chars().collect();
        for length in 1..=4.min(letters.len()) {
            let end: String = letters[letters.len() - length..].iter().collect();
            instance.push_pair(["s1", "s2", "s3", "s4"][length - 1], &end);
            if length < 4 {
                let begin: String = letters[..length].iter().collect();
                instance.push_pair(["p1", "p2", "p3"][length - 1], &begin);
            }
        }
        let mut shape: Vec<char> = form.chars().map(shape_of).collect();
        shape.dedup();
        instance.push_pair("shape", &shape.into_iter().collect::<String>());
    }
}

fn shape_of(letter: char) -> char {
    match letter {
        c if c.is_uppercase() => 'X',
        c if c.is_alphabetic() => 'x',
        c if c.is_numeric() => 'd',
        c => c,
    }
}

/// Fold 9 is the test set.
fn words_task(name: &'static str, words: &[Word], limit: usize) -> Result<Task, Failure> {
    let (train, test): (Vec<Word>, Vec<Word>) = words.iter().cloned().partition(|w| w.fold != 9);
    let letter = |letter: &char| (*letter as u32).wrapping_sub('a' as u32);
    let fill = |data: &mut Dataset, word: &Word| {
        let attributes: Vec<Vec<(u32, f64)>> = word
            .pixels
            .outer_iter()
            .map(|row| (0..).zip(row).filter(|(_, on)| **on > 0).map(|(p, _)| (p, 1.0)).collect())
            .collect();
        push(data, &attributes, word.letters.iter().map(letter))
    };
    let (mut data, mut tests) = (Dataset::new(128, 26), Dataset::new(128, 26));
    spread(&train, limit).iter().try_for_each(|word| fill(&mut data, word))?;
    test.iter().try_for_each(|word| fill(&mut tests, word))?;
    let truth = test.iter().map(|word| word.letters.iter().map(letter).collect()).collect();
    Ok(Task { name, real: true, train: data, test: tests, truth })
}
