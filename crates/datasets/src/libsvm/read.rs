//! The LIBSVM reader, which extends the arrays of a CSR matrix line by line.

use std::io::BufRead;
use std::path::Path;

use fenchel_linalg::{CsrMatrix, Invalid, read_line};
use ndarray::Array1;

use super::token::{Fault, at_end, not_a_pair, parse_label, parse_value, skip_blanks, token_end};
use super::{IndexBase, LibsvmOptions};
use crate::error::quoted;
use crate::open::unmarked;
use crate::{Dataset, Error, open};

/// The largest accepted index. If indices count from 0, it needs `d = u32::MAX` columns, the largest number for a matrix with
/// `u32` columns.
const LARGEST_INDEX: u32 = u32::MAX - 1;

/// Reads LIBSVM text from a stream. O(bytes).
///
/// ```
/// use fenchel_datasets::{LibsvmOptions, libsvm};
///
/// let text = "+1 1:0.5 3:2 # a comment\n-1 2:1\n";
/// let data = libsvm(text.as_bytes(), &LibsvmOptions::default())?;
/// assert_eq!((data.x.shape(), data.x.nnz()), ((2, 3), 3));
/// assert_eq!(data.x.get(0, 2), Some(&2.0));
/// assert_eq!(data.y.to_vec(), [1.0, -1.0]);
///
/// let error = libsvm("+1 1:0.5 3;2".as_bytes(), &LibsvmOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 10: expected index:value, found \"3;2\"");
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] with line and byte column for anything outside the table of the
/// [format](LibsvmOptions), for an index at or beyond `columns`, and for a text without samples;
/// [`Error::Io`]; [`Error::Invalid`] if `columns` exceeds `u32::MAX`.
pub fn libsvm(
    mut from: impl BufRead,
    options: &LibsvmOptions,
) -> Result<Dataset<CsrMatrix<f64>>, Error> {
    let mut samples = Samples::new(*options)?;
    let mut text = Vec::new();
    let mut line = 0;
    while read_line(&mut from, &mut text)? > 0 {
        line += 1;
        let content = if line == 1 { unmarked(&text) } else { &text };
        samples.push(content, line).map_err(|fault| fault.on(line))?;
        text.clear();
    }
    samples.finish(line)
}

/// Reads a LIBSVM file, plain or compressed with gzip or bzip2 (recognised by its first bytes).
///
/// # Errors
/// As [`libsvm`], with the path in every message.
pub fn libsvm_file(
    path: impl AsRef<Path>,
    options: &LibsvmOptions,
) -> Result<Dataset<CsrMatrix<f64>>, Error> {
    let path = path.as_ref();
    libsvm(open(path)?, options).map_err(|error| error.in_file(path))
}

/// The matrix so far, with the indices of the file. The first index may be known only at the end.
struct Samples {
    options: LibsvmOptions,
    labels: Vec<f64>,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    /// The smallest and the largest index that are allowed.
    allowed: (u32, u32),
    largest: Option<u32>,
    has_zero: bool,
    /// The first position of the index `d`, if the first index is not known yet. It is an error if the file counts from 0.
    first_at_columns: Option<(u64, usize)>,
}

impl Samples {
    fn new(options: LibsvmOptions) -> Result<Samples, Error> {
        if let Some(columns) = options.columns
            && columns > u32::MAX as usize
        {
            return Err(Invalid::Parameter {
                name: "columns",
                value: columns as f64,
                expected: "at most 4294967295",
            }
            .into());
        }
        // At most u32::MAX by the check above.
        let columns = options.columns.map_or(u32::MAX, |columns| columns as u32);
        let allowed = match options.base {
            IndexBase::Auto => (0, columns.min(LARGEST_INDEX)),
            IndexBase::One => (1, columns.min(LARGEST_INDEX)),
            // With no column at all there is no index to allow; an empty range says so.
            IndexBase::Zero if columns == 0 => (1, 0),
            IndexBase::Zero => (0, columns - 1),
        };
        Ok(Samples {
            options,
            labels: Vec::new(),
            offsets: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
            allowed,
            largest: None,
            has_zero: false,
            first_at_columns: None,
        })
    }

    /// Adds the sample of a line, if the line has one.
    fn push(&mut self, text: &[u8], line: u64) -> Result<(), Fault> {
        let start = skip_blanks(text, 0);
        if at_end(text, start) {
            return Ok(());
        }
        let end = token_end(text, start);
        let label = parse_label(&text[start..end]).map_err(|reason| Fault::new(start, reason))?;

        let mut previous = None;
        let mut at = skip_blanks(text, end);
        while !at_end(text, at) {
            let start = at;
            let mut index = 0u64;
            while let Some(digit @ b'0'..=b'9') = text.get(at) {
                index = index.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
                at += 1;
            }
            if at == start || text.get(at) != Some(&b':') {
                at = self.odd_token(text, start)?;
                continue;
            }
            let end = token_end(text, at + 1);
            if end == at + 1 {
                return Err(not_a_pair(text, start));
            }
            let index = self.check_index(index, previous, line, start)?;
            let value = parse_value(&text[at + 1..end])
                .map_err(|reason| Fault::new(at + 1, format!("index {index}: {reason}")))?;
            self.indices.push(index);
            self.values.push(value);
            previous = Some(index);
            at = skip_blanks(text, end);
        }
        self.largest = self.largest.max(previous);
        self.labels.push(label);
        self.offsets.push(self.indices.len());
        Ok(())
    }

    /// Handles a token that is not `index:value`: a query id that may be skipped, or an error.
    #[cold]
    fn odd_token(&self, text: &[u8], start: usize) -> Result<usize, Fault> {
        let end = token_end(text, start);
        if !text[start..end].starts_with(b"qid:") {
            return Err(not_a_pair(text, start));
        }
        if !self.options.skip_query_ids {
            return Err(Fault::new(
                start,
                format!(
                    "{} is a query id of ranking data, which a design matrix has no place for; \
                     set skip_query_ids to pass over it",
                    quoted(&text[start..end])
                ),
            ));
        }
        Ok(skip_blanks(text, end))
    }

    #[inline]
    fn check_index(
        &mut self,
        index: u64,
        previous: Option<u32>,
        line: u64,
        at: usize,
    ) -> Result<u32, Fault> {
        let (low, high) = self.allowed;
        if index < u64::from(low) || index > u64::from(high) {
            return Err(Fault::new(at, self.out_of_range(index)));
        }
        // Within `allowed`, hence within u32.
        let index = index as u32;
        match previous {
            Some(previous) if index == previous => {
                return Err(Fault::new(
                    at,
                    format!("index {index} occurs twice; expected an index above it"),
                ));
            }
            Some(previous) if index < previous => {
                return Err(Fault::new(
                    at,
                    format!("index {index} after {previous}; expected ascending indices"),
                ));
            }
            _ => {}
        }
        self.has_zero |= index == 0;
        if self.options.columns == Some(index as usize) && self.first_at_columns.is_none() {
            self.first_at_columns = Some((line, at));
        }
        Ok(index)
    }

    #[cold]
    fn out_of_range(&self, index: u64) -> String {
        if index == 0 && self.options.base == IndexBase::One {
            return "index 0; expected indices that count from 1".into();
        }
        match (self.options.columns, self.options.base) {
            (None, _) => format!("index {index}; expected at most {LARGEST_INDEX}"),
            (Some(d), IndexBase::Zero) => {
                format!("index {index}; expected less than {d}, the number of columns")
            }
            (Some(d), _) => {
                format!("index {index}; expected at most {d}, the number of columns")
            }
        }
    }

    fn finish(mut self, lines: u64) -> Result<Dataset<CsrMatrix<f64>>, Error> {
        if self.labels.is_empty() {
            return Err(Error::format(
                lines.max(1),
                1,
                "no samples; expected lines of the form label index:value ...",
            ));
        }
        let from_zero = match self.options.base {
            IndexBase::Auto => self.has_zero,
            IndexBase::Zero => true,
            IndexBase::One => false,
        };
        if from_zero {
            if let Some((line, at)) = self.first_at_columns {
                let d = self.options.columns.unwrap_or_default();
                let reason = format!(
                    "index {d}; expected less than {d}, the number of columns (an index 0 occurs, \
                     so indices count from 0)"
                );
                return Err(Error::format(line, at + 1, reason));
            }
        } else {
            for index in &mut self.indices {
                *index -= 1;
            }
        }
        let seen = match self.largest {
            None => 0,
            Some(largest) => largest as usize + usize::from(from_zero),
        };
        let shape = (self.labels.len(), self.options.columns.unwrap_or(seen));
        let x = CsrMatrix::try_new(shape, self.offsets, self.indices, self.values).map_err(
            |(_, _, _, error)| Invalid::Layout { what: "LIBSVM matrix", reason: error.to_string() },
        )?;
        Ok(Dataset { x, y: Array1::from(self.labels) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, options: LibsvmOptions) -> Dataset<CsrMatrix<f64>> {
        libsvm(text.as_bytes(), &options).unwrap()
    }

    fn with_base(base: IndexBase) -> LibsvmOptions {
        LibsvmOptions { base, ..LibsvmOptions::default() }
    }

    fn rows(data: &Dataset<CsrMatrix<f64>>) -> Vec<Vec<f64>> {
        data.x.to_dense().rows().into_iter().map(|row| row.to_vec()).collect()
    }

    fn refused(text: &str, options: LibsvmOptions, expected: &str) {
        let error = libsvm(text.as_bytes(), &options).unwrap_err().to_string();
        assert!(error.starts_with(expected), "found    {error}\nexpected {expected}");
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let data = read("\u{feff}1 1:2\n", LibsvmOptions::default());
        assert_eq!((rows(&data), data.y.to_vec()), (vec![vec![2.0]], vec![1.0]));
        refused("1 1:2\n\u{feff}1 1:2\n", LibsvmOptions::default(), "line 2, column 1");
    }

    #[test]
    fn blanks_comments_and_line_ends_do_not_matter() {
        let text = "# two samples\n\r\n+1  1:2\t3:4 # 7:7\r\n\n -1.5 2:.5#x\n \t \n3 # no features";
        let data = read(text, LibsvmOptions::default());
        assert_eq!(rows(&data), [[2.0, 0.0, 4.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]);
        assert_eq!(data.y.to_vec(), [1.0, -1.5, 3.0]);
    }

    #[test]
    fn the_base_is_decided_by_the_whole_file() {
        let late_zero = "1 1:5 3:7\n-1 0:2";
        assert_eq!(
            rows(&read(late_zero, with_base(IndexBase::Auto))),
            [[0.0, 5.0, 0.0, 7.0], [2.0, 0.0, 0.0, 0.0]]
        );
        let ones = "1 1:5 3:7\n-1 2:2";
        assert_eq!(
            rows(&read(ones, with_base(IndexBase::Auto))),
            [[5.0, 0.0, 7.0], [0.0, 2.0, 0.0]]
        );
        assert_eq!(read(ones, with_base(IndexBase::Zero)).x.shape(), (2, 4));
        refused(late_zero, with_base(IndexBase::One), "line 2, column 4: index 0; expected");
    }

    #[test]
    fn the_number_of_columns_can_be_fixed() {
        let fixed = |base, columns| LibsvmOptions { base, ..LibsvmOptions::with_columns(columns) };
        assert_eq!(read("1 2:1", fixed(IndexBase::Auto, 5)).x.shape(), (1, 5));
        assert_eq!(read("1 5:1", fixed(IndexBase::Auto, 5)).x.get(0, 4), Some(&1.0));
        assert_eq!(read("1 4:1", fixed(IndexBase::Zero, 5)).x.get(0, 4), Some(&1.0));
        let bad = "1 1:1\n1 2:1 6:1";
        refused(bad, fixed(IndexBase::Auto, 5), "line 2, column 7: index 6; expected at most 5");
        refused(bad, fixed(IndexBase::One, 5), "line 2, column 7: index 6; expected at most 5");
        refused(bad, fixed(IndexBase::Zero, 6), "line 2, column 7: index 6; expected less than 6");
        refused(
            "1 0:1",
            fixed(IndexBase::Zero, 0),
            "line 1, column 3: index 0; expected less than 0",
        );
        // Index 5 is the last column if indices count from 1, and one too many if from 0.
        let edge = "1 3:1 5:1\n-1 0:1\n";
        refused(edge, fixed(IndexBase::Auto, 5), "line 1, column 7: index 5; expected less than 5");
        assert_eq!(read(edge, fixed(IndexBase::Auto, 6)).x.shape(), (2, 6));
        let huge = libsvm("1".as_bytes(), &LibsvmOptions::with_columns(usize::MAX));
        assert!(huge.unwrap_err().to_string().starts_with("columns = "));
    }

    #[test]
    fn malformed_text_is_refused_with_its_place() {
        let default = LibsvmOptions::default();
        for (text, expected) in [
            ("1 1:2 3;1", "line 1, column 7: expected index:value, found \"3;1\""),
            ("1 1:2 3:", "line 1, column 7: expected index:value, found \"3:\""),
            ("1 1:2 3: 4", "line 1, column 7: expected index:value, found \"3:\""),
            ("1 1:2 3", "line 1, column 7: expected index:value, found \"3\""),
            ("1 :2", "line 1, column 3: expected index:value, found \":2\""),
            ("1 -1:2", "line 1, column 3: expected index:value, found \"-1:2\""),
            ("1 1.5:2", "line 1, column 3: expected index:value, found \"1.5:2\""),
            ("1 1:2x", "line 1, column 5: index 1: expected a number, found \"2x\""),
            ("1 1:2:3", "line 1, column 5: index 1: expected a number, found \"2:3\""),
            ("1 1:2\n1 7:nan", "line 2, column 5: index 7: value \"nan\" is not finite"),
            ("1 7:-inf", "line 1, column 5: index 7: value \"-inf\" is not finite"),
            ("1 7:1e999", "line 1, column 5: index 7: value \"1e999\" is not finite"),
            ("inf 1:1", "line 1, column 1: label \"inf\" is not finite"),
            ("\n cat 1:1", "line 2, column 2: expected a label (a number), found \"cat\""),
            ("1:1 2:1", "line 1, column 1: expected a label (a number), found \"1:1\""),
            ("1,3 2:1", "line 1, column 1: found several labels, \"1,3\""),
            ("1 5:1 3:1", "line 1, column 7: index 3 after 5; expected ascending"),
            ("1 5:1 5:1", "line 1, column 7: index 5 occurs twice"),
            ("1 4294967295:1", "line 1, column 3: index 4294967295; expected at most 4294967294"),
            ("1 99999999999999999999:1", "line 1, column 3: index 18446744073709551615; expected"),
            ("1 qid:4 1:1", "line 1, column 3: \"qid:4\" is a query id of ranking data"),
            ("", "line 1, column 1: no samples"),
            ("# nothing\n\n", "line 2, column 1: no samples"),
        ] {
            refused(text, default, expected);
        }
    }

    #[test]
    fn query_ids_can_be_skipped() {
        let options = LibsvmOptions { skip_query_ids: true, ..LibsvmOptions::default() };
        let data = read("2 qid:1 1:3 2:4", options);
        assert_eq!(rows(&data), [[3.0, 4.0]]);
        refused("2 qod:1", options, "line 1, column 3: expected index:value");
    }

    #[test]
    fn stored_zeros_and_wide_matrices_stay() {
        let data = read("1 1:0 4294967294:-0\n0", LibsvmOptions::default());
        assert_eq!((data.x.shape(), data.x.nnz()), ((2, 4294967294), 2));
        assert_eq!(read("0 0:1 4294967294:1", LibsvmOptions::default()).x.cols(), 4294967295);
        assert_eq!(read("1\n2\n", LibsvmOptions::default()).x.shape(), (2, 0));
    }
}
