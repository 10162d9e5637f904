//! Data sets of sequences in numbers.

use fenchel_linalg::Invalid;

use crate::Error;

/// A token in numbers: attributes with their values, and the label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Token<'a> {
    /// Attributes `0..A` and their values. An attribute that occurs twice counts twice.
    pub attributes: &'a [(u32, f64)],
    /// The label, `0..K`.
    pub label: u32,
}

/// Labelled sequences in numbers, the data that models are trained on.
///
/// A data set has `n` sequences with `N` tokens in all. A token has one of `K` labels and a sparse vector of `A` attributes.
/// Attributes are stored per sequence as in a CSR matrix: a list of the distinct attributes, and for each entry its position in
/// this list. Values are stored only if some are not 1.
///
/// ```
/// use fenchel_crf::{Dataset, Token};
///
/// let mut data = Dataset::new(10, 2);
/// let first = Token { attributes: &[(3, 1.0), (7, 1.0)], label: 0 };
/// let second = Token { attributes: &[(3, 1.0)], label: 1 };
/// data.push(&[first, second])?;
/// assert_eq!((data.sequences(), data.tokens(), data.entries()), (1, 2, 3));
/// assert_eq!(data.sequence(0).attributes(1).collect::<Vec<_>>(), [(3, 1.0)]);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    attributes: usize,
    labels: usize,
    /// The start of each sequence among the tokens, and the end of the last.
    sequences: Vec<usize>,
    /// The start of each token among the entries, and the end of the last.
    tokens: Vec<usize>,
    /// For each entry, its position in the list of distinct attributes of its sequence.
    places: Vec<u32>,
    /// Values of the entries; empty while all are 1.
    values: Vec<f64>,
    y: Vec<u32>,
    /// The start of each sequence's list of distinct attributes, and the end of the last.
    lists: Vec<usize>,
    /// Distinct attributes, in order of appearance in their sequence.
    distinct: Vec<u32>,
    longest: usize,
}

impl Dataset {
    /// An empty data set, for attributes `0..attributes` and labels `0..labels`.
    pub fn new(attributes: usize, labels: usize) -> Self {
        Dataset {
            attributes,
            labels,
            sequences: vec![0],
            tokens: vec![0],
            places: Vec::new(),
            values: Vec::new(),
            y: Vec::new(),
            lists: vec![0],
            distinct: Vec::new(),
            longest: 0,
        }
    }

    /// Appends a sequence. O(entries log entries).
    ///
    /// # Errors
    /// [`Error::EmptySequence`]; [`Error::Invalid`] for an attribute or a label out of range, or a value that is not finite,
    /// with the token as the row. The data set is then unchanged.
    pub fn push(&mut self, tokens: &[Token<'_>]) -> Result<(), Error> {
        self.check(tokens)?;
        let entries = || tokens.iter().flat_map(|token| token.attributes);
        let ones = self.values.is_empty() && entries().all(|&(_, value)| value == 1.0);
        if !ones {
            self.values.resize(self.places.len(), 1.0);
            self.values.extend(entries().map(|&(_, value)| value));
        }
        // Entries by attribute, each attribute's first place first.
        let mut order: Vec<(u32, u32)> = entries().map(|&(id, _)| id).zip(0..).collect();
        order.sort_unstable();
        let first = self.places.len();
        self.places.resize(first + order.len(), 0);
        let mut firsts: Vec<(u32, u32)> = Vec::new();
        for (i, &(id, entry)) in order.iter().enumerate() {
            if i == 0 || order[i - 1].0 != id {
                firsts.push((entry, id));
            }
            self.places[first + entry as usize] = firsts.last().map_or(0, |&(entry, _)| entry);
        }
        firsts.sort_unstable();
        for place in &mut self.places[first..] {
            let found = firsts.binary_search_by_key(place, |&(entry, _)| entry);
            *place = found.unwrap_or_default() as u32;
        }
        self.distinct.extend(firsts.iter().map(|&(_, id)| id));
        self.lists.push(self.distinct.len());
        for token in tokens {
            self.y.push(token.label);
            self.tokens.push(self.tokens[self.tokens.len() - 1] + token.attributes.len());
        }
        self.sequences.push(self.y.len());
        self.longest = self.longest.max(tokens.len());
        Ok(())
    }

    fn check(&self, tokens: &[Token<'_>]) -> Result<(), Error> {
        if tokens.is_empty() {
            return Err(Error::EmptySequence { sequence: self.sequences() });
        }
        for (row, token) in tokens.iter().enumerate() {
            if token.label as usize >= self.labels {
                let expected = "a label below the number of labels";
                let value = f64::from(token.label);
                return Err(Invalid::Label { row, value, expected }.into());
            }
            for (column, &(id, value)) in token.attributes.iter().enumerate() {
                if id as usize >= self.attributes {
                    let reason = format!(
                        "attribute {id} at sequence {}, token {row}; expected one below {}",
                        self.sequences(),
                        self.attributes
                    );
                    return Err(Invalid::Layout { what: "attributes", reason }.into());
                }
                if !value.is_finite() {
                    let what = "attribute values";
                    return Err(Invalid::NonFinite { what, row, column, value }.into());
                }
            }
        }
        let entries: usize = tokens.iter().map(|token| token.attributes.len()).sum();
        if u32::try_from(entries).is_err() {
            let reason = format!("{entries} entries in one sequence; expected less than 2^32");
            return Err(Invalid::Layout { what: "sequence", reason }.into());
        }
        Ok(())
    }

    /// Number of attributes `A`.
    pub fn attributes(&self) -> usize {
        self.attributes
    }

    /// Number of labels `K`.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of sequences `n`.
    pub fn sequences(&self) -> usize {
        self.sequences.len() - 1
    }

    /// Number of tokens `N`.
    pub fn tokens(&self) -> usize {
        self.y.len()
    }

    /// Number of attribute entries.
    pub fn entries(&self) -> usize {
        self.places.len()
    }

    /// Number of tokens of the longest sequence.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Sequence `i`.
    ///
    /// # Panics
    /// If there is no such sequence.
    #[inline]
    pub fn sequence(&self, i: usize) -> Sequence<'_> {
        let tokens = self.sequences[i]..self.sequences[i + 1];
        let starts = &self.tokens[tokens.start..=tokens.end];
        let entries = starts[0]..starts[starts.len() - 1];
        Sequence {
            labels: &self.y[tokens],
            starts,
            places: &self.places[entries.clone()],
            values: if self.values.is_empty() { &[] } else { &self.values[entries] },
            distinct: &self.distinct[self.lists[i]..self.lists[i + 1]],
        }
    }

    /// All sequences in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Sequence<'_>> {
        (0..self.sequences()).map(|i| self.sequence(i))
    }
}

/// A view of one sequence of a [`Dataset`].
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    labels: &'a [u32],
    starts: &'a [usize],
    places: &'a [u32],
    values: &'a [f64],
    distinct: &'a [u32],
}

impl<'a> Sequence<'a> {
    /// Number of tokens, at least 1.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Always false: a sequence has at least one token.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The labels.
    pub fn labels(&self) -> &'a [u32] {
        self.labels
    }

    /// The distinct attributes of the whole sequence.
    pub fn distinct(&self) -> &'a [u32] {
        self.distinct
    }

    /// Attributes and values of a token.
    ///
    /// # Panics
    /// If there is no such token.
    pub fn attributes(&self, token: usize) -> impl ExactSizeIterator<Item = (u32, f64)> + use<'a> {
        let (places, values) = self.entries(token);
        let distinct = self.distinct;
        let value = move |i: usize| values.get(i).copied().unwrap_or(1.0);
        places.iter().enumerate().map(move |(i, &place)| (distinct[place as usize], value(i)))
    }

    /// For each entry of a token, its position in the list of distinct attributes, and the values (empty if all are 1).
    #[inline(always)]
    pub(crate) fn entries(&self, token: usize) -> (&'a [u32], &'a [f64]) {
        let (from, to) =
            (self.starts[token] - self.starts[0], self.starts[token + 1] - self.starts[0]);
        let values = if self.values.is_empty() { &[] } else { &self.values[from..to] };
        (&self.places[from..to], values)
    }
}
