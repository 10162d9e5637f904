//! Lines of a text, of bounded length.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// The longest line, in bytes: 256 MiB, a row of ten million numbers. A file that is no text may have no end of a line at all.
const LONGEST: u64 = 1 << 28;

/// Appends the bytes up to and including the next end of a line to `line`, as [`BufRead::read_until`] does, and returns their number, 0
/// at the end of the text.
///
/// # Errors
/// Those of the reader, and [`ErrorKind::FileTooLarge`] for a line of more than 256 MiB.
pub fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> Result<usize> {
    read_bounded(from, line, LONGEST)
}

fn read_bounded(from: &mut impl BufRead, line: &mut Vec<u8>, longest: u64) -> Result<usize> {
    let read = from.by_ref().take(longest + 1).read_until(b'\n', line)?;
    if read as u64 > longest {
        let reason = format!("a line of more than {} MiB; is it a text?", longest >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(read)
}

/// The lines of a text, as [`BufRead::lines`] gives them, none longer than [`read_line`] takes. An error is the last item.
///
/// # Errors
/// Those of [`read_line`], and [`ErrorKind::InvalidData`] for a line that is not UTF-8.
pub fn lines(mut from: impl BufRead) -> impl Iterator<Item = Result<String>> {
    let mut ended = false;
    std::iter::from_fn(move || {
        let line = next(&mut from).filter(|_| !ended)?;
        ended = line.is_err();
        Some(line)
    })
}

fn next(from: &mut impl BufRead) -> Option<Result<String>> {
    let mut line = Vec::new();
    match read_line(from, &mut line) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => return Some(Err(error)),
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        line.pop_if(|last| *last == b'\r');
    }
    Some(String::from_utf8(line).map_err(|error| Error::new(ErrorKind::InvalidData, error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_standard_library() {
        for text in ["", "\n", "a", "a\n", "a\r\nb\n\nc", "a\r", "a\r\r\n", "\r\n\n", "é\n"] {
            let ours: Vec<String> = lines(text.as_bytes()).map(Result::unwrap).collect();
            let theirs: Vec<String> = text.as_bytes().lines().map(Result::unwrap).collect();
            assert_eq!(ours, theirs, "{text:?}");
        }
        let mut bad = lines(&b"a\n\xff\nb\n"[..]).skip(1);
        assert_eq!(bad.next().unwrap().unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(bad.next().is_none());
    }

    #[test]
    fn a_line_has_no_more_than_the_limit() {
        let read = |text: &str| {
            let mut line = Vec::new();
            read_bounded(&mut text.as_bytes(), &mut line, 4).map_err(|error| error.kind())
        };
        let long = Err(ErrorKind::FileTooLarge);
        for (text, expected) in
            [("", Ok(0)), ("abc\nd", Ok(4)), ("abcd", Ok(4)), ("abcd\n", long), ("abcde", long)]
        {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
