//! Pieces of big texts: the shards of a file, of which a process reads its own.
//!
//! The number of pieces and their ends depend on the sizes and the content of the files alone, not on the number of processes: see
//! [`number`]. There is one more for each further file. More processes than pieces are idle. A process reads its pieces, the line or
//! the sequence at each end, and 4 kB at each cut, by which processes see that they read the same files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use fenchel_linalg::read_line;
use fenchel_optim::file::Whole;
use fenchel_optim::spread::{Communicator, checksum, share};

use crate::Error;

/// The least size of a piece of several, in bytes.
const LEAST: u64 = 1 << 17;
/// The largest number of pieces below [`LARGE`] bytes each: every piece has its own sum of a gradient.
const MOST: u64 = 64;
/// The least size of a piece where there are more than [`MOST`], in bytes: its rows cost far more than its sum.
const LARGE: u64 = 1 << 26;
/// The largest number of pieces.
const LIMIT: u64 = 1024;
/// The bytes at each cut by which processes compare their files.
const SAMPLE: u64 = 1 << 12;

/// Where a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// After any line.
    Lines,
    /// After a blank line.
    BlankLines,
    /// After a blank line, or one that begins with `@eos`, as in CRFsuite's text.
    Sequences,
    /// After any line but the first, which holds names and is in no piece.
    LinesAfterNames,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The file.
    pub file: PathBuf,
    /// The place of its first byte.
    pub start: u64,
    /// The place behind its last byte.
    pub end: u64,
}

/// The text of a piece.
pub type Text = BufReader<Whole<Take<File>>>;

impl Piece {
    /// Opens the piece.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn open(&self) -> Result<Text, Error> {
        let open = || {
            let mut file = File::open(&self.file)?;
            file.seek(SeekFrom::Start(self.start))?;
            let bytes = self.end - self.start;
            Ok(BufReader::with_capacity(1 << 20, Whole::new(file.take(bytes), bytes)))
        };
        open().map_err(|error: std::io::Error| Error::file(&self.file, error))
    }

    /// An error in a line of the piece, counted from 1, as one of that line of the file. The lines before are counted only then.
    pub fn fault(&self, line: u64, reason: impl std::fmt::Display) -> Error {
        let before = Piece { start: 0, end: self.start, ..self.clone() };
        let count = |text: Text| text.split(b'\n').take_while(Result::is_ok).count() as u64;
        let lines = if self.start == 0 { 0 } else { before.open().map_or(0, count) };
        Error::file(&self.file, format_args!("line {}: {reason}", lines + line))
    }
}

/// The number of pieces of so many bytes: up to 64 of 128 kB at least, and up to 1,024 of 64 MB at least. It is a power of two, so that
/// the halves of the tree over the shards of one file are those of two processes.
///
/// ```text
/// below 256 kB   1 piece      8 MB to 8 GB   64 pieces      64 GB and more   1024 pieces
/// ```
pub fn number(bytes: u64) -> u64 {
    let pieces = (bytes / LEAST).clamp(1, MOST).max((bytes / LARGE).min(LIMIT));
    1 << pieces.ilog2()
}

/// The pieces of files that this process reads, in their order. All processes call it together, with the same files.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read or is compressed, [`Error::Invalid`] for processes that see other files: of other
/// sizes, or with another content at one of the cuts.
pub fn pieces(
    files: &[PathBuf],
    cut: Cut,
    communicator: &dyn Communicator,
) -> Result<Vec<Piece>, Error> {
    let size = |file: &PathBuf| {
        let found = std::fs::metadata(file).map_err(|error| Error::file(file, error))?;
        match found.is_file() {
            true => Ok(found.len()),
            false => Err(Error::file(file, "no file; a text that is read in pieces must be one")),
        }
    };
    let sizes = files.iter().map(size).collect::<Result<Vec<u64>, Error>>()?;
    communicator.check_alike("sizes of the files", &format!("{sizes:?}"))?;
    let total: u64 = sizes.iter().sum();
    let pieces = number(total);
    let mut places = Vec::new();
    for (file, &size) in files.iter().zip(&sizes) {
        let own = (pieces * size).div_ceil(total.max(1)).max(1);
        places.extend((0..own).map(|k| (file, size, k, own)));
    }
    let mut samples = Vec::new();
    for &(file, size, k, own) in &places {
        sample(file, k * size / own, &mut samples).map_err(|error| Error::file(file, error))?;
    }
    communicator.check_alike("content of the files (checksums)", &checksum(samples))?;
    let range = share(places.len(), communicator.rank(), communicator.size());
    let piece = |&(file, size, k, own): &(&PathBuf, u64, u64, u64)| {
        let ends = || {
            let head = names_end(file, cut)?;
            let place = |k: u64| match k {
                0 => Ok(head),
                k if k == own => Ok(size),
                k => after(file, cut, head + k * (size - head) / own, size),
            };
            Ok((place(k)?, place(k + 1)?))
        };
        let (start, end) = ends().map_err(|error: std::io::Error| Error::file(file, error))?;
        Ok(Piece { file: file.clone(), start, end })
    };
    places[range].iter().map(piece).collect()
}

/// Adds the bytes at a place of a file.
fn sample(file: &Path, place: u64, samples: &mut Vec<u8>) -> std::io::Result<()> {
    let mut text = File::open(file)?;
    text.seek(SeekFrom::Start(place))?;
    text.take(SAMPLE).read_to_end(samples).map(drop)
}

/// Where the names in the first line end. Refuses a compressed file.
fn names_end(file: &Path, cut: Cut) -> std::io::Result<u64> {
    let mut text = BufReader::new(File::open(file)?);
    let head = text.fill_buf()?;
    if head.starts_with(&[0x1f, 0x8b]) || head.starts_with(b"BZh") {
        let reason = "it is compressed; a text that is read in pieces must be plain";
        return Err(std::io::Error::other(reason));
    }
    match cut {
        Cut::LinesAfterNames => Ok(read_line(&mut text, &mut Vec::new())? as u64),
        Cut::Lines | Cut::BlankLines | Cut::Sequences => Ok(0),
    }
}

/// The first place from `from` on where the text may be cut; `from` is not 0.
fn after(file: &Path, cut: Cut, from: u64, size: u64) -> std::io::Result<u64> {
    let mut text = File::open(file)?;
    text.seek(SeekFrom::Start(from - 1))?;
    let mut text = BufReader::new(text);
    let mut line = Vec::new();
    let mut place = from - 1 + read_line(&mut text, &mut line)? as u64;
    // What the readers of sequences take for their ends; the end of the file is one.
    let ends = |line: &[u8]| {
        line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
            || cut == Cut::Sequences && line.starts_with(b"@eos")
    };
    if matches!(cut, Cut::BlankLines | Cut::Sequences) {
        loop {
            line.clear();
            place += read_line(&mut text, &mut line)? as u64;
            if ends(&line) {
                break;
            }
        }
    }
    Ok(place.min(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_optim::spread::threads;
    use std::io::Write;

    fn pieces_of(text: &[u8], cut: Cut, size: usize) -> Vec<Vec<u8>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let files = [file.path().to_path_buf()];
        let read = |ranks: &threads::Threads| {
            let read = |piece: Piece| {
                let mut bytes = Vec::new();
                piece.open()?.read_to_end(&mut bytes).unwrap();
                Ok(bytes)
            };
            let pieces = pieces(&files, cut, ranks)?;
            pieces.into_iter().map(read).collect::<Result<Vec<_>, Error>>()
        };
        threads::run(size, read).unwrap().concat()
    }

    /// Any number of processes sees the same pieces, which are whole lines or whole sequences, and all of the text.
    #[test]
    fn pieces_are_the_text_for_any_number_of_processes() {
        let mut text = Vec::new();
        for i in 0..80_000_usize {
            writeln!(text, "{}", "x".repeat(i * 7 % 23)).unwrap();
            if i % 11 == 3 {
                text.extend(b" \r\n");
            }
        }
        text.extend(b"no end of line");
        for cut in [Cut::Lines, Cut::BlankLines, Cut::LinesAfterNames] {
            let one = pieces_of(&text, cut, 1);
            let head = if cut == Cut::LinesAfterNames { 1 } else { 0 };
            assert_eq!(one.concat(), text[head..]);
            let most = (text.len() as u64 / LEAST) as usize;
            assert!(one.len() <= most && most < 2 * one.len() && one.len().is_power_of_two());
            for piece in &one[..one.len() - 1] {
                assert_eq!(piece.last(), Some(&b'\n'));
                let last = piece[..piece.len() - 1].rsplit(|b| *b == b'\n').next().unwrap();
                assert!(cut != Cut::BlankLines || last.trim_ascii().is_empty());
            }
            for size in [2, 3, 7, 40] {
                assert_eq!(pieces_of(&text, cut, size), one, "{cut:?} {size}");
            }
        }
        assert_eq!(pieces_of(b"", Cut::Lines, 2), [b""]);
        assert_eq!(pieces_of(b"a,b\n1,2\n", Cut::LinesAfterNames, 2), [b"1,2\n"]);
    }

    #[test]
    fn large_files_have_more_pieces() {
        let sizes = [0, 1 << 18, 1 << 23, (1 << 33) - 1, 1 << 33, 1 << 36, u64::MAX];
        assert_eq!(sizes.map(number), [1, 2, 64, 64, 128, 1024, 1024]);
    }

    /// A form feed is a token; `@eos` ends a sequence in CRFsuite's text alone.
    #[test]
    fn sequences_are_cut_where_readers_end_them() {
        let mut text = Vec::new();
        for i in 0..60_000_usize {
            writeln!(text, "B\tword={}", "x".repeat(i * 7 % 23)).unwrap();
            text.extend(match i % 11 {
                3 => &b"@eos\n"[..],
                7 => b"\x0c\n",
                _ => b"",
            });
        }
        let pieces = pieces_of(&text, Cut::Sequences, 3);
        assert!(pieces.len() > 1 && pieces.concat() == text);
        assert!(pieces[..pieces.len() - 1].iter().all(|piece| piece.ends_with(b"\n@eos\n")));
        assert!(pieces_of(&text, Cut::BlankLines, 3)[1..].iter().all(Vec::is_empty));
    }

    /// Copies of the same size, of which one was sorted anew.
    #[test]
    fn other_content_is_refused() {
        let write = |first: usize| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            (0..99_999).for_each(|i| writeln!(file, "{:06}", (first + i) % 99_999).unwrap());
            file
        };
        let files = [write(0), write(77)];
        let read = |ranks: &threads::Threads| {
            pieces(&[files[ranks.rank()].path().to_path_buf()], Cut::Lines, ranks)
        };
        let (_, error) = threads::run(2, read).unwrap_err();
        assert!(
            error.to_string().starts_with("content of the files (checksums): rank 1"),
            "{error}"
        );
    }

    /// Half of a line may be another number: no reader sees the rest of a file that was cut.
    #[test]
    fn a_file_that_loses_its_end_is_an_error() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        (0..99_999).for_each(|i| writeln!(file, "{i:06}").unwrap());
        let files = [file.path().to_path_buf()];
        let found = pieces(&files, Cut::Lines, &fenchel_optim::spread::Alone).unwrap();
        file.as_file().set_len(found[1].end - 7).unwrap();
        let read = |piece: &Piece| {
            piece.open()?.read_to_end(&mut Vec::new()).map_err(|e| Error::file(&piece.file, e))
        };
        assert_eq!(read(&found[0]).unwrap() as u64, found[0].end);
        let error = read(&found[1]).unwrap_err().to_string();
        assert!(error.ends_with("the file became 7 bytes shorter while it was read"), "{error}");
    }

    #[test]
    fn compressed_files_are_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[0x1f, 0x8b, 8, 0]).unwrap();
        let files = [file.path().to_path_buf()];
        let error = pieces(&files, Cut::Lines, &fenchel_optim::spread::Alone).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("it is compressed; a text that is read in pieces must be plain")
        );
    }
}
