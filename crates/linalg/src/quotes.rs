//! The quotes of a text of cells, such as CSV.

use std::io::Read;

/// A reader that follows the quotes of the text that passes through it, by the rules of RFC 4180: a quote begins a quoted cell
/// only as the first byte of the cell; there a second quote ends the quoted part, and two in a row stand for one.
///
/// A parser of CSV takes the end of the text for the end of a quoted cell, so that a quote without its partner swallows all
/// rows behind it, in silence.
///
/// ```
/// use std::io::Read;
/// use fenchel_linalg::Quotes;
///
/// let mut text = Quotes::new("a,b\n1,\"2\n3,4\n".as_bytes(), b',');
/// text.read_to_end(&mut Vec::new())?;
/// assert_eq!(text.unclosed(), Some(2));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Quotes<R> {
    from: R,
    delimiter: u8,
    line: u64,
    /// Bytes of a byte order mark that may still come.
    mark: &'static [u8],
    /// The line in which the quoted cell began that is being read.
    opened: Option<u64>,
    /// The same of a quoted part that ended with the last byte.
    closed: Option<u64>,
    /// Whether the next byte is the first of its cell.
    first: bool,
    ended: bool,
}

impl<R> Quotes<R> {
    /// A reader of the cells of `from`, separated by `delimiter`.
    pub fn new(from: R, delimiter: u8) -> Self {
        let (line, mark, first, ended) = (1, &b"\xef\xbb\xbf"[..], true, false);
        Quotes { from, delimiter, line, mark, opened: None, closed: None, first, ended }
    }

    /// The reader inside.
    pub fn get_ref(&self) -> &R {
        &self.from
    }

    /// The line, counted from 1, of a quoted cell in which the text has ended. `None` before the end of the text.
    pub fn unclosed(&self) -> Option<u64> {
        self.opened.filter(|_| self.ended)
    }

    fn follow(&mut self, byte: u8) {
        match self.mark {
            [next, rest @ ..] if *next == byte => {
                self.mark = rest;
                return;
            }
            _ => self.mark = &[],
        }
        if byte == b'"' {
            (self.opened, self.closed) = match self.opened {
                Some(line) => (None, Some(line)),
                None => (self.closed.or(self.first.then_some(self.line)), None),
            };
            self.first = false;
        } else if self.opened.is_none() {
            self.closed = None;
            self.first = byte == self.delimiter || byte == b'\r' || byte == b'\n';
        }
        self.line += u64::from(byte == b'\n');
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(to)?;
        self.ended = count == 0 && !to.is_empty();
        to[..count].iter().for_each(|&byte| self.follow(byte));
        Ok(count)
    }
}
