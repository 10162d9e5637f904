//! Readers of sentences in columns: the formats of the CoNLL shared tasks.

use std::io::BufRead;
use std::path::Path;

use fenchel_linalg::read_line;
use fenchel_optim::settings;
use serde::{Deserialize, Serialize};

use crate::error::quoted;
use crate::open::unmarked;
use crate::{Error, open};

/// One sentence: a table of strings with one row per token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentence {
    cells: Vec<String>,
    width: usize,
    others: Vec<(usize, String)>,
}

impl Sentence {
    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there is no token. A reader never returns such a sentence.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The columns of one token.
    ///
    /// # Panics
    /// If there is no such token.
    pub fn token(&self, t: usize) -> &[String] {
        &self.cells[t * self.width..(t + 1) * self.width]
    }

    /// The lines of CoNLL-U that are no tokens (comments, multiword tokens, empty nodes), each with the number of tokens before it.
    /// With the tokens they are the sentence as it was written. Empty for other texts.
    pub fn others(&self) -> &[(usize, String)] {
        &self.others
    }

    /// One column, for all tokens in order.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, column: usize) -> impl ExactSizeIterator<Item = &str> {
        assert!(column < self.width, "column {column} of {}", self.width);
        self.cells.chunks_exact(self.width).map(move |token| token[column].as_str())
    }
}

/// The separator of two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Separator {
    /// Any number of ASCII spaces and tabs. A no-break space is part of a word.
    #[default]
    Blanks,
    /// One tab; columns may contain spaces.
    Tab,
}

/// What the bytes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8. Any other byte sequence is an error with its position.
    #[default]
    Utf8,
    /// ISO 8859-1, with one byte per character, as in older corpora.
    Latin1,
}

settings! {
    /// Options for reading sentences in columns.
    #[derive(Copy)]
    pub struct ConllOptions {
        /// The separator of two columns.
        separator: Separator = Separator::Blanks,
        /// What the bytes mean.
        encoding: Encoding = Encoding::Utf8,
        /// Whether the file is CoNLL-U. Lines that begin with `#` are then comments, and lines whose first column is a range (`1-2`)
        /// or a decimal number (`1.1`) are multiword tokens and empty nodes; [`others`](Sentence::others) has them. The words of
        /// a sentence must be numbered from 1, and a line must have ten columns or more.
        universal: bool = false,
    }
}

impl ConllOptions {
    /// The options for CoNLL-U, the format of Universal Dependencies. It has ten columns separated by tabs;
    /// [`FORM`](Self::FORM), [`LEMMA`](Self::LEMMA) and [`UPOS`](Self::UPOS) are the most used.
    pub fn universal() -> ConllOptions {
        ConllOptions { separator: Separator::Tab, universal: true, ..ConllOptions::default() }
    }

    /// Column of the word in CoNLL-U.
    pub const FORM: usize = 1;
    /// Column of the lemma in CoNLL-U.
    pub const LEMMA: usize = 2;
    /// Column of the universal part of speech in CoNLL-U.
    pub const UPOS: usize = 3;
    /// Column of the notes in CoNLL-U: `_`, or `name=value` between `|`.
    pub const MISC: usize = 9;
}

/// Reads sentences: one token per line, and an empty line after each sentence. O(bytes).
///
/// ```
/// use fenchel_datasets::{ConllOptions, conll};
///
/// let text = "Confidence NN B-NP\nin IN B-PP\n\nThe DT B-NP\n";
/// let sentences = conll(text.as_bytes(), &ConllOptions::default())?;
/// assert_eq!(sentences.len(), 2);
/// assert_eq!(sentences[0].column(0).collect::<Vec<_>>(), ["Confidence", "in"]);
/// assert_eq!(sentences[1].token(0)[2], "B-NP");
///
/// let error = conll("the DT B-NP\npound NN\n".as_bytes(), &ConllOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 3: 2 columns; expected 3, as in the lines before");
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] with line and column (the number of a cell; both count from 1) for a line whose number of columns differs
/// from the first, for a line of CoNLL-U whose number does not follow on the lines before, for bytes that are not in the encoding, and for a text without tokens; [`Error::Io`].
pub fn conll(from: impl BufRead, options: &ConllOptions) -> Result<Vec<Sentence>, Error> {
    let mut reader = ConllReader::new(from, *options);
    let mut sentences = Vec::new();
    let mut sentence = Sentence::default();
    while reader.read(&mut sentence)? {
        sentences.push(std::mem::take(&mut sentence));
    }
    if sentences.is_empty() {
        let reason = "no tokens; expected lines of columns";
        return Err(Error::format(reader.line.max(1), 1, reason));
    }
    Ok(sentences)
}

/// Reads sentences one at a time, for texts that need not fit into memory.
///
/// ```
/// use fenchel_datasets::{ConllOptions, ConllReader, Sentence};
///
/// let mut reader = ConllReader::new("a X\n\nb Y\nc X\n".as_bytes(), ConllOptions::default());
/// let mut sentence = Sentence::default();
/// let mut lengths = Vec::new();
/// while reader.read(&mut sentence)? {
///     lengths.push((sentence.len(), reader.first_line()));
/// }
/// assert_eq!(lengths, [(1, 1), (2, 3)]);
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
#[derive(Debug)]
pub struct ConllReader<R> {
    from: R,
    options: ConllOptions,
    /// The number of the last line, and those of the tokens of the sentence.
    line: u64,
    lines: Vec<u64>,
    width: Option<usize>,
    /// The line and the last word of the last multiword token of the sentence.
    range: (u64, usize),
    /// The last empty node after the last word, or 0.
    empty: usize,
    bytes: Vec<u8>,
}

impl<R: BufRead> ConllReader<R> {
    /// A reader that starts at the beginning of a text.
    pub fn new(from: R, options: ConllOptions) -> Self {
        let (line, lines, width, range, bytes) = (0, Vec::new(), None, (0, 0), Vec::new());
        ConllReader { from, options, line, lines, width, range, empty: 0, bytes }
    }

    /// The line number, counted from 1, of the first token of the last sentence.
    pub fn first_line(&self) -> u64 {
        self.lines.first().copied().unwrap_or_default()
    }

    /// The line numbers, counted from 1, of the tokens of the last sentence. Comments may be between these lines.
    pub fn lines(&self) -> &[u64] {
        &self.lines
    }

    /// Reads the next sentence into `sentence`. Returns `false` at the end of the text. O(its bytes).
    ///
    /// # Errors
    /// Those of [`conll`] that concern a line.
    pub fn read(&mut self, sentence: &mut Sentence) -> Result<bool, Error> {
        sentence.cells.clear();
        sentence.others.clear();
        self.lines.clear();
        (self.range, self.empty) = ((0, 0), 0);
        loop {
            self.bytes.clear();
            if read_line(&mut self.from, &mut self.bytes)? == 0 {
                self.check_range(sentence.len())?;
                return Ok(!sentence.is_empty());
            }
            self.line += 1;
            while let [rest @ .., b'\n' | b'\r'] = self.bytes.as_slice() {
                let length = rest.len();
                self.bytes.truncate(length);
            }
            if self.line == 1 {
                let mark = self.bytes.len() - unmarked(&self.bytes).len();
                self.bytes.drain(..mark);
            }
            if self.bytes.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
                self.check_range(sentence.len())?;
                if !sentence.is_empty() {
                    return Ok(true);
                }
            } else if !self.options.universal || self.is_token(sentence.len())? {
                self.push(sentence)?;
            } else {
                let text = decoded(&self.bytes, (self.line, 1), self.options.encoding)?;
                sentence.others.push((sentence.len(), text));
            }
        }
    }

    /// Whether the line is a token of CoNLL-U, and no comment, multiword token or empty node. The numbers of all but comments
    /// must follow on the `words` before.
    fn is_token(&mut self, words: usize) -> Result<bool, Error> {
        if self.bytes.starts_with(b"#") {
            return Ok(false);
        }
        let cells = self.bytes.split(|&byte| byte == b'\t').count();
        if cells < 10 {
            let reason = format!("{cells} columns; expected the ten of CoNLL-U, between tabs");
            return Err(Error::format(self.line, cells + 1, reason));
        }
        let id = self.bytes.split(|&byte| byte == b'\t').next().unwrap_or_default();
        let text = std::str::from_utf8(id).unwrap_or_default();
        let next = words + 1;
        if number(text) == Some(next) {
            self.empty = 0;
            return Ok(true);
        }
        if let Some((first, last)) = text.split_once('-')
            && number(first) == Some(next)
            && let Some(last) = number(last)
            && last >= next
            && self.range.1 < next
        {
            self.range = (self.line, last);
            return Ok(false);
        }
        if let Some((word, part)) = text.split_once('.')
            && number(word) == Some(words)
            && let Some(part) = number(part)
            && part > self.empty
        {
            self.empty = part;
            return Ok(false);
        }
        let reason = format!(
            "number {}; expected {next}, {next}-{} or {words}.{}; an empty line ends a sentence",
            quoted(id),
            next + 1,
            self.empty + 1
        );
        Err(Error::format(self.line, 1, reason))
    }

    /// An error if the sentence ends inside a multiword token.
    fn check_range(&self, words: usize) -> Result<(), Error> {
        let (line, last) = self.range;
        if last <= words {
            return Ok(());
        }
        let reason = format!("a multiword token to word {last} of {words}; expected all its words");
        Err(Error::format(line, 1, reason))
    }

    /// Appends the token of the current line.
    fn push(&mut self, sentence: &mut Sentence) -> Result<(), Error> {
        self.lines.push(self.line);
        let before = sentence.cells.len();
        let (line, encoding) = (self.line, self.options.encoding);
        match self.options.separator {
            Separator::Tab => {
                push_cells(self.bytes.split(|&b| b == b'\t'), line, encoding, sentence)?;
            }
            Separator::Blanks => {
                let cells = self.bytes.split(|b| matches!(b, b' ' | b'\t'));
                push_cells(cells.filter(|cell| !cell.is_empty()), line, encoding, sentence)?;
            }
        }
        let found = sentence.cells.len() - before;
        let expected = *self.width.get_or_insert(found);
        if found != expected {
            let reason = format!("{found} columns; expected {expected}, as in the lines before");
            return Err(Error::format(line, found.min(expected) + 1, reason));
        }
        sentence.width = expected;
        Ok(())
    }
}

/// A number as CoNLL-U writes it: without a sign and without leading zeros.
fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number: &usize| number.to_string() == text)
}

/// Reads a file of sentences, plain or compressed.
///
/// # Errors
/// As [`conll`], with the path in every message.
pub fn conll_file(path: impl AsRef<Path>, options: &ConllOptions) -> Result<Vec<Sentence>, Error> {
    let path = path.as_ref();
    conll(open(path)?, options).map_err(|error| error.in_file(path))
}

fn push_cells<'a>(
    cells: impl Iterator<Item = &'a [u8]>,
    line: u64,
    encoding: Encoding,
    to: &mut Sentence,
) -> Result<(), Error> {
    for (column, cell) in cells.enumerate() {
        to.cells.push(decoded(cell, (line, column + 1), encoding)?);
    }
    Ok(())
}

/// Bytes at a line and column as text.
fn decoded(
    bytes: &[u8],
    (line, column): (u64, usize),
    encoding: Encoding,
) -> Result<String, Error> {
    match encoding {
        Encoding::Latin1 => Ok(bytes.iter().map(|&byte| char::from(byte)).collect()),
        Encoding::Utf8 => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => {
                let reason = format!("{} is not UTF-8; is the file Latin-1?", quoted(bytes));
                Err(Error::format(line, column, reason))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], options: &ConllOptions) -> Result<Vec<Sentence>, String> {
        conll(text, options).map_err(|error| error.to_string())
    }

    #[test]
    fn blank_lines_of_all_kinds_end_a_sentence() {
        let text = b"\n\na X\r\nb\t Y\r\n \t\r\n\nc Z";
        let sentences = read(text, &ConllOptions::default()).unwrap();
        assert_eq!(sentences.iter().map(Sentence::len).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(sentences[0].token(1), ["b", "Y"]);
        assert_eq!(sentences[0].width(), 2);
        assert!(!sentences[1].is_empty());
    }

    #[test]
    fn a_no_break_space_belongs_to_its_word() {
        let latin = ConllOptions { encoding: Encoding::Latin1, ..ConllOptions::default() };
        let sentences = read(b"a\xa0b N O\n", &latin).unwrap();
        assert_eq!(sentences[0].token(0), ["a\u{a0}b", "N", "O"]);
        let error = read(b"x N O\na\xa0b N O\n", &ConllOptions::default()).unwrap_err();
        assert_eq!(error, "line 2, column 1: \"a\\xa0b\" is not UTF-8; is the file Latin-1?");
    }

    /// Lines of CoNLL-U from their first two cells.
    fn universal(lines: &[&str]) -> String {
        let line = |line: &&str| format!("{}{}\n", line.replace(' ', "\t"), "\t_".repeat(8));
        lines.iter().map(line).collect()
    }

    #[test]
    fn broken_universal_dependencies_are_refused_with_the_line() {
        let refused = |text: &str, expected: &str| {
            let error = read(text.as_bytes(), &ConllOptions::universal()).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        for (lines, place) in [
            (&["1 a", "2 b", "1 c", "2 d"][..], "line 3, column 1: number \"1\"; expected 3"),
            (&["1 a", "x b"], "line 2, column 1: number \"x\"; expected 2"),
            (&["2 a"], "line 1, column 1: number \"2\"; expected 1"),
            (&["1 a", "3 b"], "line 2"),
            (&["1-2 ab", "1 a"], "line 1, column 1: a multiword token to word 2 of 1"),
            (&["1 a", "1-2 ab", "2 b"], "line 2"),
            (&["1-3 abc", "1 a", "2-3 bc", "2 b", "3 c"], "line 3"),
            (&["2-1 ab", "1 a", "2 b"], "line 1"),
            (&["1 a", "2.1 b"], "line 2"),
            (&["1 a", "1.x b"], "line 2"),
            (&["01 a"], "line 1, column 1: number \"01\"; expected 1"),
            (&["+1 a"], "line 1, column 1: number \"+1\"; expected 1"),
            (&["1-+2 ab", "1 a", "2 b"], "line 1, column 1: number \"1-+2\""),
            (&["1-02 ab", "1 a", "2 b"], "line 1"),
            (
                &["1 a", "1.1 e", "1.1 f"],
                "line 3, column 1: number \"1.1\"; expected 2, 2-3 or 1.2",
            ),
            (
                &["1 a", "1.2 e", "1.1 f"],
                "line 3, column 1: number \"1.1\"; expected 2, 2-3 or 1.3",
            ),
            (&["1 a", "01.1 e"], "line 2"),
            (&["1 a", "1.01 e"], "line 2"),
            (&["1 a", "1.+1 e"], "line 2"),
        ] {
            refused(&universal(lines), place);
        }
        let text = universal(&["1 a", "2 b"]);
        refused(&text.replacen("\t_\n", "\n", 1), "line 1, column 10: 9 columns; expected the ten");
        refused(&format!("{}\n{text}", universal(&["1-2 ab", "1 a"])), "line 1");
        // An empty node may come before the first word, and a new sentence counts anew.
        let text = format!(
            "{}\n{}",
            universal(&["0.1 e", "1 a", "1.1 f", "1.2 g", "2 h", "2.1 i"]),
            universal(&["0.1 e", "1-2 bc", "1 b", "2 c"])
        );
        let lengths = read(text.as_bytes(), &ConllOptions::universal()).unwrap();
        assert_eq!(lengths.iter().map(Sentence::len).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn universal_dependencies() {
        let text = universal(&["1-2 vámonos", "1 vamos", "2 nos", "2.1 x", "3 mar"]);
        let text = format!("# text = vámonos al mar\n{text}\n");
        let mut reader = ConllReader::new(text.as_bytes(), ConllOptions::universal());
        assert!(reader.read(&mut Sentence::default()).unwrap());
        assert_eq!((reader.lines(), reader.first_line()), (&[3, 4, 6][..], 3));
        let sentences = read(text.as_bytes(), &ConllOptions::universal()).unwrap();
        let others: Vec<(usize, &str)> = sentences[0]
            .others()
            .iter()
            .map(|(t, line)| (*t, line.split('\t').next().unwrap()))
            .collect();
        assert_eq!(others, [(0, "# text = vámonos al mar"), (0, "1-2"), (2, "2.1")]);
        assert_eq!(
            sentences[0].column(ConllOptions::FORM).collect::<Vec<_>>(),
            ["vamos", "nos", "mar"]
        );
    }

    #[test]
    fn faults_name_the_place() {
        let default = ConllOptions::default();
        assert_eq!(
            read(b"a b c\nd e f g\n", &default).unwrap_err(),
            "line 2, column 4: 4 columns; expected 3, as in the lines before"
        );
        assert!(read(b"", &default).unwrap_err().starts_with("line 1, column 1: no tokens"));
        assert!(read(b"\n\n", &default).is_err());
        let error = conll_file("no/such/file", &default).unwrap_err().to_string();
        assert!(error.starts_with("no/such/file: "));
    }
}
