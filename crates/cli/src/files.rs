//! Texts from files or from standard input, compressed or not.

use std::io::{BufRead, Cursor, Error, Read, Result};

use fenchel_datasets::{decompress, open};
use fenchel_linalg::read_line;

use crate::failure::Failure;

/// A text that is read once.
pub type Text = Box<dyn BufRead>;

/// The most that is read of a text before anything is done with it: 256 MiB.
const LARGEST: u64 = 1 << 28;

/// Opens a file, plain or compressed by gzip or bzip2; `-` is standard input. The byte order mark that some editors write first
/// is left out. A byte of value 0, which texts do not have, is an error where it is read.
///
/// # Errors
/// [`Failure::File`] with the name of the file.
pub fn open_text(file: &str) -> std::result::Result<Text, Failure> {
    let failed = |error| Failure::file(file_name(file), error);
    let text = match file {
        "-" => decompress(std::io::stdin().lock()).map_err(failed)?,
        _ => open(file).map_err(|error| Failure::data(file, error))?,
    };
    let mut text = WithoutZeros { from: text, clean: 0 };
    let mut head = Vec::new();
    text.by_ref().take(3).read_to_end(&mut head).map_err(failed)?;
    if head == b"\xEF\xBB\xBF" {
        head.clear();
    }
    Ok(Box::new(Cursor::new(head).chain(text)))
}

/// The whole of a text.
///
/// # Errors
/// [`Failure::File`] with the name of the file, also for a text of more than 256 MiB.
pub fn read_text(file: &str) -> std::result::Result<Vec<u8>, Failure> {
    let failed = |error| Failure::file(file_name(file), error);
    let mut text = Vec::new();
    open_text(file)?.take(LARGEST + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > LARGEST {
        return Err(Failure::file(file_name(file), "a text of more than 256 MiB"));
    }
    Ok(text)
}

/// The most blank lines and comments before the first line of content: 16 MiB.
const HEAD: usize = 1 << 24;

/// Reads lines, which are appended to `head`, up to and including the first for which `is_content` holds. Returns where this one begins;
/// it is empty at the end of the text.
///
/// # Errors
/// Those of the reader, and one for 16 MiB without such a line.
pub fn read_head(
    text: &mut impl BufRead,
    head: &mut Vec<u8>,
    is_content: impl Fn(&[u8]) -> bool,
) -> Result<usize> {
    loop {
        let begin = head.len();
        if read_line(text, head)? == 0 || is_content(&head[begin..]) {
            return Ok(begin);
        }
        if head.len() > HEAD {
            return Err(Error::other("its first 16 MiB have blank lines and comments only"));
        }
    }
}

/// The name of a file in messages.
pub fn file_name(file: &str) -> String {
    if file == "-" { "standard input".to_owned() } else { file.to_owned() }
}

/// A text that refuses bytes of value 0.
struct WithoutZeros<R> {
    from: R,
    /// So many of the next bytes have been looked at.
    clean: usize,
}

impl<R: BufRead> BufRead for WithoutZeros<R> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        let bytes = self.from.fill_buf()?;
        if self.clean == 0 {
            if bytes.contains(&0) {
                let reason = "not a text: it has a byte of value 0 (a text in UTF-16 must be converted to UTF-8)";
                return Err(Error::other(reason));
            }
            self.clean = bytes.len();
        }
        Ok(bytes)
    }

    fn consume(&mut self, count: usize) {
        self.clean -= count;
        self.from.consume(count);
    }
}

impl<R: BufRead> Read for WithoutZeros<R> {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let count = self.fill_buf()?.read(to)?;
        self.consume(count);
        Ok(count)
    }
}
