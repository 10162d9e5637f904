//! Lines of a text, of bounded length.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// The longest line, in bytes: 256 MiB, a row of ten million numbers. A file that is no text may have no end of a line at all.
const LONGEST: u64 = 1 << 28;

/// Appends the bytes up to and with the next end of a line to `line`, as [`BufRead::read_until`] does, and returns their number, 0 at
/// the end of the text.
///
/// # Errors
/// Those of the reader, and [`ErrorKind::FileTooLarge`] for a line of more than 256 MiB.
pub fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> Result<usize> {
    let read = from.by_ref().take(LONGEST).read_until(b'\n', line)?;
    if read as u64 == LONGEST && line.last() != Some(&b'\n') {
        let reason = format!("a line of more than {LONGEST} bytes; is it a text?");
        return Err(Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(read)
}

/// The lines of a text, as [`BufRead::lines`] gives them, none longer than [`read_line`] takes.
///
/// # Errors
/// Those of [`read_line`], and [`ErrorKind::InvalidData`] for a line that is not UTF-8.
pub fn lines(mut from: impl BufRead) -> impl Iterator<Item = Result<String>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match read_line(&mut from, &mut line) {
            Ok(0) => None,
            Ok(_) => {
                let text = line.strip_suffix(b"\n").unwrap_or(&line);
                let text =
                    text.strip_suffix(b"\r").filter(|_| line.ends_with(b"\n")).unwrap_or(text);
                Some(
                    String::from_utf8(text.to_vec())
                        .map_err(|e| Error::new(ErrorKind::InvalidData, e)),
                )
            }
            Err(error) => Some(Err(error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, repeat};

    #[test]
    fn lines_are_those_of_the_standard_library() {
        for text in ["", "\n", "a", "a\n", "a\r\nb\n\nc", "a\r", "a\r\r\n", "\r\n\n", "é\n"] {
            let ours: Vec<String> = lines(text.as_bytes()).map(Result::unwrap).collect();
            let theirs: Vec<String> = text.as_bytes().lines().map(Result::unwrap).collect();
            assert_eq!(ours, theirs, "{text:?}");
        }
        let bad = lines(&b"a\n\xff\n"[..]).nth(1).unwrap();
        assert_eq!(bad.unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut endless = BufReader::with_capacity(1 << 16, repeat(b'1'));
        let error = read_line(&mut endless, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "a line of more than 268435456 bytes; is it a text?");
    }
}
