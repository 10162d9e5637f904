//! Reading and writing of files, compressed or not, with errors that name the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use fenchel_optim::file::Whole;

use crate::Error;

/// Reads a file. A file compressed by gzip is decompressed, whatever its name. A byte order mark at the beginning is skipped.
pub(crate) fn read<T>(
    path: &Path,
    read: impl FnOnce(Box<dyn BufRead>) -> Result<T, Error>,
) -> Result<T, Error> {
    let text = fenchel_optim::file::open(path).and_then(unpack).map_err(Error::from);
    text.and_then(read).map_err(|error| named(path, error))
}

/// Writes a file atomically. It is compressed by gzip if its name ends in `.gz`.
pub(crate) fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
) -> Result<(), Error> {
    let packed = path.extension().is_some_and(|ending| ending == "gz");
    let mut refused = None;
    let done = fenchel_optim::file::replace(path, |to| {
        let written = if packed {
            let mut to = flate2::write::GzEncoder::new(to, flate2::Compression::default());
            write(&mut to).and_then(|()| Ok(to.finish().map(drop)?))
        } else {
            write(to)
        };
        written.map_err(|error| {
            refused = Some(error);
            io::Error::other("refused")
        })
    });
    match (done, refused) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(error)) => Err(named(path, error)),
        (Err(error), None) => {
            // The path is in front already.
            let reason = error.to_string();
            let reason = reason.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&reason);
            Err(named(path, Error::Io { kind: error.kind(), reason: reason.into() }))
        }
    }
}

fn named(path: &Path, error: Error) -> Error {
    Error::File { path: path.display().to_string(), source: Box::new(error) }
}

/// The text of a file that may be compressed.
fn unpack(file: Whole<File>) -> io::Result<Box<dyn BufRead>> {
    let text: Box<dyn BufRead> = Box::new(BufReader::new(file));
    let (head, text) = peek(text)?;
    let text: Box<dyn BufRead> = match head {
        [0x1F, 0x8B, _] => Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(text))),
        _ => text,
    };
    let (head, mut text) = peek(text)?;
    if head == [0xEF, 0xBB, 0xBF] {
        text.read_exact(&mut [0; 3])?;
    }
    Ok(text)
}

/// The first three bytes of a text, padded with zeros if it is shorter, and the whole text.
fn peek(mut text: Box<dyn BufRead>) -> io::Result<([u8; 3], Box<dyn BufRead>)> {
    let mut start = Vec::new();
    text.by_ref().take(3).read_to_end(&mut start)?;
    let mut head = [0; 3];
    head[..start.len()].copy_from_slice(&start);
    Ok((head, Box::new(io::Cursor::new(start).chain(text))))
}
