//! Texts from files or from standard input, compressed or not.

use std::io::{BufRead, Cursor, Read};

use fenchel_datasets::{decompress, open};

use crate::failure::Failure;

/// A text that is read once.
pub type Text = Box<dyn BufRead>;

/// Opens a file, plain or compressed by gzip or bzip2; `-` is standard input. The byte order mark that some editors write first
/// is left out.
///
/// # Errors
/// [`Failure::File`] with the name of the file, also where its beginning has a byte of value 0, which no text has in UTF-8.
pub fn open_text(file: &str) -> Result<Text, Failure> {
    let failed = |error| Failure::file(file_name(file), error);
    let mut text = match file {
        "-" => decompress(std::io::stdin().lock()).map_err(failed)?,
        _ => open(file).map_err(|error| Failure::data(file, error))?,
    };
    let mut head = Vec::new();
    text.by_ref().take(3).read_to_end(&mut head).map_err(failed)?;
    if head == b"\xEF\xBB\xBF" {
        head.clear();
    }
    if head.contains(&0) || text.fill_buf().map_err(failed)?.contains(&0) {
        let reason =
            "not a text: it has a byte of value 0 (a text in UTF-16 must be converted to UTF-8)";
        return Err(Failure::file(file_name(file), reason));
    }
    Ok(Box::new(Cursor::new(head).chain(text)))
}

/// The name of a file in messages.
pub fn file_name(file: &str) -> String {
    if file == "-" { "standard input".to_owned() } else { file.to_owned() }
}
