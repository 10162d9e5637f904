//! Builds a data set of numbers from instances of words.

use fenchel_linalg::Invalid;
use fenchel_linalg::spread::{Communicator, checksum};

use crate::Error;
use crate::dataset::{Dataset, Token};
use crate::instance::Instance;
use crate::text::Template;
use crate::vocabulary::Vocabulary;

/// A labelled data set in numbers, with the words that the numbers stand for.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// The sequences.
    pub data: Dataset,
    /// The attributes, in order of first appearance.
    pub attributes: Vocabulary,
    /// The labels, in order of first appearance.
    pub labels: Vocabulary,
    /// The templates that made the attributes, if any did. The model gets them, and with them the attributes of new text.
    pub template: Option<Template>,
}

/// Collects labelled instances and gives their attributes and labels numbers.
///
/// ```
/// use fenchel_crf::{CorpusBuilder, Instance};
///
/// let mut builder = CorpusBuilder::new();
/// let mut sentence = Instance::new();
/// for (word, label) in [("Confidence", "B-NP"), ("in", "B-PP")] {
///     sentence.begin_token(label);
///     sentence.push_pair("word", word);
/// }
/// builder.push(&sentence)?;
/// let corpus = builder.finish(1)?;
/// assert_eq!(corpus.labels.name(1), "B-PP");
/// assert_eq!(corpus.data.sequence(0).attributes(1).collect::<Vec<_>>(), [(1, 1.0)]);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// Templates make the attributes from columns, here the word and its part of speech. The model keeps them, so that the
/// command-line tool can tag columns with it:
///
/// ```
/// use fenchel_crf::text::{Boundary, Template};
/// use fenchel_crf::{CorpusBuilder, Crf, Instance};
///
/// let mut builder = CorpusBuilder::with_template(Template::chunking(Boundary::Omit));
/// builder.push_columns(&[["Confidence", "NN"], ["in", "IN"]], &["B-NP", "B-PP"])?;
/// let model = Crf::default().fit(&builder.finish(1)?)?;
/// let mut new = Instance::new();
/// let template = model.template.as_ref().expect("that of the builder");
/// template.expand(&[["Trust", "NN"], ["in", "IN"]], &[] as &[&str], &mut new)?;
/// assert_eq!(model.tag(&new)?, ["B-NP", "B-PP"]);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CorpusBuilder {
    template: Option<Template>,
    attributes: Vocabulary,
    labels: Vocabulary,
    counts: Vec<u32>,
    /// All entries, the end of each token among them, the label of each token, and the end of each sequence among the tokens.
    entries: Vec<(u32, f64)>,
    tokens: Vec<usize>,
    y: Vec<u32>,
    sequences: Vec<usize>,
    /// Whether the numbers are those of all processes.
    shared: bool,
}

impl CorpusBuilder {
    /// No instance yet.
    pub fn new() -> Self {
        CorpusBuilder::default()
    }

    /// No instance yet; the templates make the attributes of [`push_columns`](Self::push_columns).
    pub fn with_template(template: Template) -> Self {
        CorpusBuilder { template: Some(template), ..CorpusBuilder::default() }
    }

    /// Appends a labelled instance whose attributes the templates make from the cells `tokens[t][column]`.
    ///
    /// # Errors
    /// As [`push`](Self::push) and [`Template::expand`]; [`Error::Invalid`] without templates.
    pub fn push_columns<T: AsRef<[S]>, S: AsRef<str>, L: AsRef<str>>(
        &mut self,
        tokens: &[T],
        labels: &[L],
    ) -> Result<(), Error> {
        let Some(template) = &self.template else {
            let reason = "none are known; begin with CorpusBuilder::with_template".to_owned();
            return Err(Invalid::Layout { what: "templates", reason }.into());
        };
        let mut instance = Instance::new();
        template.expand(tokens, labels, &mut instance)?;
        self.push(&instance)
    }

    /// Appends a labelled instance. O(length of its text).
    ///
    /// # Errors
    /// [`Error::EmptySequence`]; [`Error::Invalid`] for a token without a label or a value that is not finite, with the
    /// numbers of sequence and token, and for an attribute that was pushed before any token. The instance is then left out.
    pub fn push(&mut self, instance: &Instance) -> Result<(), Error> {
        let sequence = self.sequences.len();
        instance.check_owned()?;
        if instance.is_empty() {
            return Err(Error::EmptySequence { sequence });
        }
        for (token, label) in instance.labels().enumerate() {
            if label.is_empty() {
                let reason = format!("token {token} of sequence {sequence} has none");
                return Err(Invalid::Layout { what: "labels", reason }.into());
            }
            for (name, value) in instance.attributes(token) {
                if !value.is_finite() {
                    let reason = format!(
                        "{name:?} is {value} at token {token} of sequence {sequence}; expected a finite number"
                    );
                    return Err(Invalid::Layout { what: "attribute values", reason }.into());
                }
            }
        }
        for (token, label) in instance.labels().enumerate() {
            for (name, value) in instance.attributes(token) {
                let id = self.attributes.intern(name);
                if id as usize == self.counts.len() {
                    self.counts.push(0);
                }
                self.counts[id as usize] += 1;
                self.entries.push((id, value));
            }
            self.tokens.push(self.entries.len());
            self.y.push(self.labels.intern(label));
        }
        self.sequences.push(self.y.len());
        Ok(())
    }

    /// Number of instances so far.
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Gives attributes and labels the numbers that they would have if one builder had seen the instances of all processes, one after
    /// the other; frequencies are those of all. All processes call it together, after their last instance. A process may have none.
    ///
    /// Every process gets the names of every other: O(names of all) bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a process has other templates.
    pub fn share(mut self, communicator: &dyn Communicator) -> Result<Self, Error> {
        let template = checksum(format!("{:?}", self.template).bytes());
        communicator.check_alike("templates (checksums)", &template)?;
        let counts: Vec<u64> = self.counts.iter().map(|&count| count.into()).collect();
        let counts = communicator.gather_numbers(&counts);
        let (attributes, numbers) = self.attributes.merged(communicator)?;
        self.counts = vec![0; attributes.len()];
        for (numbers, counts) in numbers.iter().zip(&counts) {
            for (&number, &count) in numbers.iter().zip(counts) {
                let all = &mut self.counts[number as usize];
                *all = all.saturating_add(count as u32);
            }
        }
        let own = &numbers[communicator.rank()];
        self.entries.iter_mut().for_each(|(id, _)| *id = own[*id as usize]);
        self.attributes = attributes;
        let (labels, numbers) = self.labels.merged(communicator)?;
        let own = &numbers[communicator.rank()];
        self.y.iter_mut().for_each(|label| *label = own[*label as usize]);
        (self.labels, self.shared) = (labels, true);
        Ok(self)
    }

    /// Makes the data set. Attributes that occur fewer than `min_frequency` times are left out; 0 and 1 keep all attributes.
    ///
    /// # Errors
    /// [`Error::Invalid`] without instances or with a single label.
    pub fn finish(self, min_frequency: u32) -> Result<Corpus, Error> {
        if self.sequences.is_empty() && !self.shared {
            return Err(Invalid::Empty { what: "corpus" }.into());
        }
        if self.labels.len() < 2 {
            let expected = "at least two different labels";
            return Err(Invalid::Parameter { name: "labels", value: 1.0, expected }.into());
        }
        const CUT: u32 = u32::MAX;
        let mut attributes = Vocabulary::new();
        let keep = |(id, &count): (usize, &u32)| match count >= min_frequency {
            true => attributes.intern(self.attributes.name(id as u32)),
            false => CUT,
        };
        let renumbered: Vec<u32> = self.counts.iter().enumerate().map(keep).collect();
        let mut data = Dataset::new(attributes.len(), self.labels.len());
        let mut entries = Vec::new();
        let mut ends = Vec::new();
        let mut first = 0;
        for &end in &self.sequences {
            entries.clear();
            ends.clear();
            for token in first..end {
                let from = if token == 0 { 0 } else { self.tokens[token - 1] };
                let kept = self.entries[from..self.tokens[token]]
                    .iter()
                    .map(|&(id, value)| (renumbered[id as usize], value))
                    .filter(|&(id, _)| id != CUT);
                entries.extend(kept);
                ends.push(entries.len());
            }
            let token = |t: usize| Token {
                attributes: &entries[if t == 0 { 0 } else { ends[t - 1] }..ends[t]],
                label: self.y[first + t],
            };
            let tokens: Vec<Token> = (0..end - first).map(token).collect();
            data.push(&tokens)?;
            first = end;
        }
        Ok(Corpus { data, attributes, labels: self.labels, template: self.template })
    }
}
