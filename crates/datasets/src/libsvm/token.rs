//! The tokens of a line as ranges of its bytes, and the errors of a line.

use crate::error::quoted;
use crate::{Error, number};

/// An error of a line, with its byte position.
pub(super) struct Fault {
    at: usize,
    reason: String,
}

impl Fault {
    pub(super) fn new(at: usize, reason: impl Into<String>) -> Fault {
        Fault { at, reason: reason.into() }
    }

    pub(super) fn on(self, line: u64) -> Error {
        Error::format(line, self.at + 1, self.reason)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// The first position from `at` on that is not blank.
#[inline]
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && is_blank(text[at]) {
        at += 1;
    }
    at
}

/// The end of the token that holds position `at`.
#[inline]
pub(super) fn token_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && !is_blank(text[at]) && text[at] != b'#' {
        at += 1;
    }
    at
}

/// Whether only a comment, or nothing, follows.
#[inline]
pub(super) fn at_end(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), None | Some(b'#'))
}

pub(super) fn parse_label(token: &[u8]) -> Result<f64, String> {
    match number::parse(token) {
        Some(label) if label.is_finite() => Ok(label),
        Some(_) => Err(format!("label {} is not finite; expected a number", quoted(token))),
        None if token.contains(&b',') => {
            Err(format!("found several labels, {}; expected one number", quoted(token)))
        }
        None => Err(format!("expected a label (a number), found {}", quoted(token))),
    }
}

#[inline]
pub(super) fn parse_value(token: &[u8]) -> Result<f64, String> {
    match number::parse(token) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err(format!("value {} is not finite; expected a number", quoted(token))),
        None => Err(format!("expected a number, found {}", quoted(token))),
    }
}

#[cold]
pub(super) fn not_a_pair(text: &[u8], start: usize) -> Fault {
    let token = &text[start..token_end(text, start)];
    Fault::new(start, format!("expected index:value, found {}", quoted(token)))
}
