//! The tokens of the format. The scanner looks one byte ahead, and two after a slash.

use std::io::Read;

use crate::Error;
use crate::text::{Position, Scanner, number, quoted, quoted_byte};

pub(super) struct Tokens<R> {
    pub(super) scan: Scanner<R>,
    /// The last token, and where it began.
    pub(super) token: Vec<u8>,
    position: Option<Position>,
}

impl<R: Read> Tokens<R> {
    pub(super) fn new(from: R) -> Tokens<R> {
        Tokens { scan: Scanner::new(from), token: Vec::new(), position: None }
    }

    /// Skips the rest of a property; the keyword is the last token.
    pub(super) fn property(&mut self) -> Result<(), Error> {
        if self.token != b"property" {
            return Err(self.unexpected("\"property\", a table or \"}\""));
        }
        loop {
            match self.scan.peek()? {
                None => return Err(self.ended("\";\" after a property")),
                Some(b';') => break,
                Some(b'"') => self.quoted()?,
                Some(_) => self.scan.advance(),
            }
        }
        self.scan.advance();
        Ok(())
    }

    /// White space and comments.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        loop {
            self.scan.skip_blanks()?;
            if self.scan.peek()? != Some(b'/') || !self.comment()? {
                return Ok(());
            }
        }
    }

    /// Skips a comment if one begins here.
    fn comment(&mut self) -> Result<bool, Error> {
        let position = self.scan.position();
        match self.scan.peek_second()? {
            Some(b'/') => {
                while self.scan.peek()?.is_some_and(|byte| byte != b'\n') {
                    self.scan.advance();
                }
            }
            Some(b'*') => {
                self.scan.advance();
                self.scan.advance();
                loop {
                    match self.scan.peek()? {
                        None => return Err(position.fault("a comment without an end")),
                        Some(b'*') if self.scan.peek_second()? == Some(b'/') => break,
                        Some(_) => self.scan.advance(),
                    }
                }
                self.scan.advance();
                self.scan.advance();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A word of letters; empty if there is none.
    pub(super) fn keyword(&mut self) -> Result<(), Error> {
        self.skip()?;
        self.token.clear();
        self.position = Some(self.scan.position());
        while let Some(byte) = self.scan.peek()?.filter(u8::is_ascii_alphabetic) {
            self.scan.take(byte, &mut self.token)?;
        }
        Ok(())
    }

    /// Reads up to one of `stops`, trimmed and without comments, or reads a quoted text.
    pub(super) fn text(&mut self, stops: &[u8]) -> Result<(), Error> {
        self.skip()?;
        self.position = Some(self.scan.position());
        self.token.clear();
        if self.scan.peek()? == Some(b'"') {
            return self.quoted();
        }
        while let Some(byte) = self.scan.peek()? {
            if stops.contains(&byte) || matches!(byte, b';' | b'{' | b'}') {
                break;
            }
            if byte == b'/' && self.comment()? {
                continue;
            }
            self.scan.take(byte, &mut self.token)?;
        }
        self.token.truncate(self.token.trim_ascii_end().len());
        Ok(())
    }

    /// Reads a text between quotes. There is no escape character.
    pub(super) fn quoted(&mut self) -> Result<(), Error> {
        let position = self.scan.position();
        self.scan.advance();
        self.token.clear();
        loop {
            match self.scan.peek()? {
                None => return Err(position.fault("a quoted text without an end")),
                Some(b'"') => break,
                Some(byte) => self.scan.take(byte, &mut self.token)?,
            }
        }
        self.scan.advance();
        Ok(())
    }

    /// Whether the block ends here. If so, its brace and a `;` after it are skipped.
    pub(super) fn closes(&mut self) -> Result<bool, Error> {
        self.skip()?;
        match self.scan.peek()? {
            None => Err(self.ended("\"}\"")),
            Some(b'}') => {
                self.scan.advance();
                self.skip()?;
                if self.scan.peek()? == Some(b';') {
                    self.scan.advance();
                }
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    pub(super) fn expect(&mut self, wanted: u8) -> Result<(), Error> {
        self.skip()?;
        let found = self.scan.peek()?;
        if found != Some(wanted) {
            let reason = format!("expected {}, found {}", quoted(&[wanted]), quoted_byte(found));
            return Err(self.scan.position().fault(reason));
        }
        self.scan.advance();
        Ok(())
    }

    pub(super) fn here(&self) -> Position {
        self.position.unwrap_or_else(|| self.scan.position())
    }

    pub(super) fn string(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.token)
            .map_err(|_| self.here().fault(format!("{} is not UTF-8", quoted(&self.token))))
    }

    pub(super) fn nonempty(&mut self, wanted: &str) -> Result<&str, Error> {
        if self.token.is_empty() {
            let found = quoted_byte(self.scan.peek()?);
            return Err(self.here().fault(format!("expected {wanted}, found {found}")));
        }
        self.string()
    }

    pub(super) fn unexpected(&mut self, wanted: &str) -> Error {
        let position = self.here();
        let found = match self.token.is_empty() {
            false => quoted(&self.token),
            true => match self.scan.peek() {
                Ok(byte) => quoted_byte(byte),
                Err(error) => return error,
            },
        };
        position.fault(format!("expected {wanted}, found {found}"))
    }

    pub(super) fn ended(&self, wanted: &str) -> Error {
        self.scan.position().fault(format!("the text ends; expected {wanted}"))
    }

    /// Reads numbers up to the `;`, and skips it.
    pub(super) fn numbers(&mut self, expected: usize, values: &mut Vec<f64>) -> Result<(), Error> {
        values.clear();
        loop {
            self.skip()?;
            match self.scan.peek()? {
                Some(b',') => self.scan.advance(),
                Some(b';') => break,
                None => return Err(self.ended("\";\"")),
                Some(_) => {
                    let position = self.scan.word(b",;/", &mut self.token)?;
                    if values.len() == expected {
                        let found = quoted(&self.token);
                        let reason =
                            format!("expected \";\" after {expected} numbers, found {found}");
                        return Err(position.fault(reason));
                    }
                    values.push(number(&self.token, position)?);
                }
            }
        }
        if values.len() < expected {
            let reason = format!("{} numbers; expected {expected}", values.len());
            return Err(self.scan.position().fault(reason));
        }
        self.scan.advance();
        Ok(())
    }
}
