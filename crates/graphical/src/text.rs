//! A byte scanner over a stream with line and column numbers, shared by the readers of text formats.

use std::io::Read;

use crate::Error;

/// Longest accepted token. Without a limit, a text without separators would fill the memory.
const LONGEST_TOKEN: usize = 1 << 16;

const CHUNK: usize = 1 << 16;

/// Line and column of a byte, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    line: u64,
    column: u64,
}

impl Position {
    pub(crate) fn fault(self, reason: impl Into<String>) -> Error {
        Error::Format { line: self.line, column: self.column, reason: reason.into() }
    }
}

/// A scanner with one or two bytes of look-ahead over a chunk of the stream.
pub(crate) struct Scanner<R> {
    from: R,
    chunk: Vec<u8>,
    at: usize,
    /// Bytes of the stream before the chunk, and before the current line.
    before_chunk: u64,
    before_line: u64,
    line: u64,
    ended: bool,
}

impl<R: Read> Scanner<R> {
    pub(crate) fn new(from: R) -> Scanner<R> {
        Scanner {
            from,
            chunk: Vec::with_capacity(CHUNK),
            at: 0,
            before_chunk: 0,
            before_line: 0,
            line: 1,
            ended: false,
        }
    }

    pub(crate) fn position(&self) -> Position {
        let column = self.before_chunk + self.at as u64 - self.before_line + 1;
        Position { line: self.line, column }
    }

    /// The next byte, which stays in the stream; `None` at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, Error> {
        if self.at == self.chunk.len() {
            self.refill()?;
        }
        Ok(self.chunk.get(self.at).copied())
    }

    /// The byte after the next one.
    pub(crate) fn peek_second(&mut self) -> Result<Option<u8>, Error> {
        if self.at + 1 >= self.chunk.len() {
            self.refill()?;
        }
        Ok(self.chunk.get(self.at + 1).copied())
    }

    /// Moves past the next byte.
    #[inline]
    pub(crate) fn advance(&mut self) {
        if self.chunk[self.at] == b'\n' {
            self.line += 1;
            self.before_line = self.before_chunk + self.at as u64 + 1;
        }
        self.at += 1;
    }

    /// Appends a byte to a token and moves past it.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8, token: &mut Vec<u8>) -> Result<(), Error> {
        if token.len() == LONGEST_TOKEN {
            let reason = format!("a token of more than {LONGEST_TOKEN} bytes: {}", quoted(token));
            return Err(self.position().fault(reason));
        }
        token.push(byte);
        self.advance();
        Ok(())
    }

    /// Reads the token that ends at white space or at one of `stops`; it may be empty.
    #[inline]
    pub(crate) fn word(&mut self, stops: &[u8], token: &mut Vec<u8>) -> Result<Position, Error> {
        token.clear();
        let position = self.position();
        while let Some(byte) = self.peek()? {
            if byte.is_ascii_whitespace() || stops.contains(&byte) {
                break;
            }
            self.take(byte, token)?;
        }
        Ok(position)
    }

    pub(crate) fn skip_blanks(&mut self) -> Result<(), Error> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                break;
            }
            self.advance();
        }
        Ok(())
    }

    /// Reads the next chunk, and keeps the bytes that are not consumed yet.
    #[cold]
    fn refill(&mut self) -> Result<(), Error> {
        if self.ended {
            return Ok(());
        }
        self.chunk.drain(..self.at);
        self.before_chunk += self.at as u64;
        self.at = 0;
        let first = self.before_chunk == 0 && self.chunk.is_empty();
        let wanted = (CHUNK - self.chunk.len()) as u64;
        // `read_to_end` stops at the limit, or at the end of the stream.
        let found = (&mut self.from).take(wanted).read_to_end(&mut self.chunk)?;
        self.ended = (found as u64) < wanted;
        // A byte order mark is no part of the text.
        if first && self.chunk.starts_with(b"\xef\xbb\xbf") {
            self.chunk.drain(..3);
        }
        Ok(())
    }
}

/// A finite decimal number.
pub(crate) fn number(token: &[u8], position: Position) -> Result<f64, Error> {
    std::str::from_utf8(token)
        .ok()
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|value| value.is_finite())
        .ok_or_else(|| position.fault(format!("expected a finite number, found {}", quoted(token))))
}

/// A piece of input for an error message: quoted, escaped and shortened.
pub(crate) fn quoted(token: &[u8]) -> String {
    const LONGEST: usize = 40;
    if token.len() > LONGEST {
        format!("\"{}...\"", token[..LONGEST].escape_ascii())
    } else {
        format!("\"{}\"", token.escape_ascii())
    }
}

/// The next byte for an error message.
pub(crate) fn quoted_byte(byte: Option<u8>) -> String {
    byte.map_or_else(|| "the end of the text".into(), |byte| quoted(&[byte]))
}
