//! A sequence whose attributes are strings.

use std::ops::Range;

use fenchel_linalg::Invalid;

use crate::Error;

/// A sequence of tokens, each with attributes (a name and a value) and a label.
///
/// All strings are stored in one buffer, so that an instance can be cleared and refilled without allocation. Attributes for
/// text usually have the value 1: they state a fact such as "the word before is *in*".
///
/// ```
/// use fenchel_crf::Instance;
///
/// let mut sentence = Instance::new();
/// sentence.begin_token("B-NP");
/// sentence.push("word=Confidence", 1.0);
/// sentence.push("length", 10.0);
/// sentence.begin_token("B-PP");
/// sentence.push_pair("word", "in");
///
/// assert_eq!(sentence.labels().collect::<Vec<_>>(), ["B-NP", "B-PP"]);
/// assert_eq!(sentence.attributes(1).collect::<Vec<_>>(), [("word=in", 1.0)]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Instance {
    text: String,
    labels: Vec<Range<usize>>,
    attributes: Vec<(Range<usize>, f64)>,
    /// The start of each token among the attributes.
    starts: Vec<usize>,
}

impl Instance {
    /// No token yet.
    pub fn new() -> Self {
        Instance::default()
    }

    /// Makes an instance without labels from one list of attributes per token. All attributes have the value 1.
    pub fn from_lists<T: AsRef<[S]>, S: AsRef<str>>(tokens: &[T]) -> Self {
        let mut instance = Instance::new();
        for token in tokens {
            instance.begin_token("");
            for name in token.as_ref() {
                instance.push(name.as_ref(), 1.0);
            }
        }
        instance
    }

    /// Removes all tokens, and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.labels.clear();
        self.attributes.clear();
        self.starts.clear();
    }

    /// Appends a token. Attributes pushed afterwards belong to it. The label may be empty if it is not known.
    pub fn begin_token(&mut self, label: &str) {
        self.starts.push(self.attributes.len());
        let label = self.write(label);
        self.labels.push(label);
    }

    /// Adds an attribute to the last token. Before the first token it belongs to none, and whatever reads the instance refuses it with
    /// [`Error::Invalid`].
    pub fn push(&mut self, name: &str, value: f64) {
        self.push_parts(&[name], value);
    }

    /// Adds the attribute `key=value` with the value 1 to the last token, as [`push`](Self::push) does.
    pub fn push_pair(&mut self, key: &str, value: &str) {
        self.push_parts(&[key, "=", value], 1.0);
    }

    /// Adds an attribute whose name is given in parts to the last token.
    pub(crate) fn push_parts(&mut self, parts: &[&str], value: f64) {
        let start = self.text.len();
        for part in parts {
            self.text.push_str(part);
        }
        self.attributes.push((start..self.text.len(), value));
    }

    /// Refuses attributes that belong to no token.
    pub(crate) fn check_owned(&self) -> Result<(), Error> {
        let strays = self.starts.first().copied().unwrap_or(self.attributes.len());
        let Some((name, _)) = self.attributes[..strays].first() else { return Ok(()) };
        let name = &self.text[name.clone()];
        let reason = format!("{name:?} was pushed before any token; begin_token comes first");
        Err(Invalid::Layout { what: "attributes", reason }.into())
    }

    fn write(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The labels, token by token.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &str> {
        self.labels.iter().map(|range| &self.text[range.clone()])
    }

    /// The attributes of a token, as names and values.
    ///
    /// # Panics
    /// If there is no such token.
    pub fn attributes(&self, token: usize) -> impl ExactSizeIterator<Item = (&str, f64)> {
        let own = &self.attributes[self.numbers(token)];
        own.iter().map(|(range, value)| (&self.text[range.clone()], *value))
    }

    /// The attributes of all tokens: the range of each name in [`text`](Self::text), and the value.
    pub(crate) fn all_attributes(&self) -> &[(Range<usize>, f64)] {
        &self.attributes
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The range of the attributes of a token among all attributes.
    pub(crate) fn numbers(&self, token: usize) -> Range<usize> {
        let end = self.starts.get(token + 1).copied().unwrap_or(self.attributes.len());
        self.starts[token]..end
    }
}
