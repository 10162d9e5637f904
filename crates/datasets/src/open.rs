//! Opening files, compressed or not.
//!
//! The first bytes of a file decide how it is decompressed, never its name: `1f 8b` is gzip, `BZh` and a digit is bzip2, and
//! anything else is read unchanged. A file of several compressed streams one after the other, as `cat a.gz b.gz` or a parallel
//! compressor makes it, is read to its end.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use fenchel_optim::file;

use crate::Error;

/// The size of the buffer. It is so large that the cost of a call does not matter, and so small that several fit into a cache.
const BUFFER: usize = 1 << 16;

/// The longest prefix that identifies a compressed stream.
const MAGIC: usize = 4;

/// Opens a file and decompresses gzip or bzip2.
///
/// # Errors
/// [`Error::Io`] with the path.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn BufRead>, Error> {
    let path = path.as_ref();
    file::open(path)
        .and_then(decompress)
        .map_err(|source| Error::Io { file: Some(path.to_path_buf()), source })
}

/// Decompresses a gzip or bzip2 stream.
///
/// # Errors
/// Errors of reading the first bytes. Damage further on is reported when it is reached.
pub fn decompress<'a>(mut from: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::with_capacity(MAGIC);
    from.by_ref().take(MAGIC as u64).read_to_end(&mut head)?;
    let gzip = head.starts_with(&[0x1f, 0x8b]);
    let bzip2 = head.starts_with(b"BZh") && head.get(3).is_some_and(u8::is_ascii_digit);
    let whole = Cursor::new(head).chain(from);
    Ok(if gzip {
        let inner = BufReader::with_capacity(BUFFER, whole);
        Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(inner)))
    } else if bzip2 {
        let inner = BufReader::with_capacity(BUFFER, whole);
        Box::new(BufReader::with_capacity(BUFFER, bzip2::bufread::MultiBzDecoder::new(inner)))
    } else {
        Box::new(BufReader::with_capacity(BUFFER, whole))
    })
}

/// A first line without the byte order mark that some editors begin a text with.
pub(crate) fn unmarked(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        to.write_all(text).unwrap();
        to.finish().unwrap()
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        to.write_all(text).unwrap();
        to.finish().unwrap()
    }

    fn content(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        decompress(bytes)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn the_first_bytes_decide() {
        for text in ["", "+", "+1 3:1\n", "BZ", "BZhello"] {
            assert_eq!(content(text.as_bytes()).unwrap(), text);
            assert_eq!(content(&gzip(text.as_bytes())).unwrap(), text);
            assert_eq!(content(&bzip2(text.as_bytes())).unwrap(), text);
        }
    }

    #[test]
    fn streams_one_behind_the_other_are_one_file() {
        let twice = [gzip(b"one\n"), gzip(b"two\n")].concat();
        assert_eq!(content(&twice).unwrap(), "one\ntwo\n");
        let twice = [bzip2(b"one\n"), bzip2(b"two\n")].concat();
        assert_eq!(content(&twice).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_truncated_stream_is_an_error() {
        let text: Vec<u8> = (0..5000u32).flat_map(|k| k.wrapping_mul(k).to_le_bytes()).collect();
        for packed in [gzip(&text), bzip2(&text)] {
            let half = &packed[..packed.len() / 2];
            let mut out = Vec::new();
            assert!(decompress(half).unwrap().read_to_end(&mut out).is_err());
        }
    }

    #[test]
    fn a_file_that_loses_its_end_is_an_error() {
        let mut cut = tempfile::NamedTempFile::new().unwrap();
        cut.write_all(&b"1 2\n".repeat(BUFFER)).unwrap();
        let mut text = open(cut.path()).unwrap();
        text.read_exact(&mut [0; 4]).unwrap();
        cut.as_file().set_len(2 * BUFFER as u64).unwrap();
        let error = text.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("the file became {} bytes shorter while it was read", 2 * BUFFER)
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = open("no/such/file.svm").err().unwrap().to_string();
        assert!(error.starts_with("no/such/file.svm: "), "{error}");
    }
}
