//! Readers of tables as text: CSV, and similar formats with another delimiter.

use std::io::{BufRead, Read};
use std::path::Path;

use fenchel_linalg::{Invalid, Quotes, read_line};
use fenchel_optim::settings;
use serde::{Deserialize, Serialize};

use super::column::{Column, Kind};
use super::{Table, date};
use crate::error::quoted;
use crate::{Error, number, open};

/// Whether the first line of a table names its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Header {
    /// The first line is a header if it has a text, and neither a number nor a date. A line with numbers and other cells is read as data, so
    /// that an error in the first line of data is reported.
    #[default]
    Detect,
    /// It does.
    Present,
    /// It does not.
    Absent,
}

settings! {
    /// Options for reading a table.
    pub struct TableOptions {
        /// Whether the first line holds names.
        header: Header = Header::Detect,
        /// The separator of cells, one byte.
        delimiter: u8 = b',',
        /// Columns by name, and what they are. Any other column has numbers if all its cells are numbers, else dates if all are
        /// dates, else texts. Missing cells do not count.
        kinds: Vec<(String, Kind)> = Vec::new(),
    }
}

impl TableOptions {
    /// The kind that a column shall have.
    pub(super) fn kind(&self, name: &str) -> Option<Kind> {
        self.kinds.iter().find(|(named, _)| named == name).map(|(_, kind)| *kind)
    }

    pub(super) fn check_kinds(&self, names: &[String]) -> Result<(), Error> {
        match self.kinds.iter().find(|(name, _)| !names.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let reason = format!("there is no column {name:?}; the columns are {names:?}");
                Err(Invalid::Layout { what: "kinds", reason }.into())
            }
        }
    }
}

/// Reads a table. A cell may be quoted, or surrounded by blanks; blank lines are skipped. A cell is missing if it is empty, `?`,
/// `NA`, `N/A`, `NaN` or `null`, in upper or lower case. O(bytes) time and memory.
///
/// A column of texts in which most cells are numbers is taken for an error. If it is none, set its kind to [`Kind::Text`].
///
/// ```
/// use fenchel_datasets::{TableOptions, table, table::Kind};
///
/// let text = "height,weight,postcode\n1.75,70,01067\n1.62,,01069\n";
/// let kinds = vec![("postcode".into(), Kind::Text)];
/// let people = table(text.as_bytes(), &TableOptions { kinds, ..TableOptions::default() })?;
/// assert_eq!(people.numbers("height")?.to_vec(), [1.75, 1.62]);
/// assert_eq!(people.texts("postcode")?, ["01067", "01069"]);
///
/// let error = table("height\n1.75\n1.6z\n".as_bytes(), &TableOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "line 3, column 1: column \"height\" holds \"1.6z\"; expected a number");
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] with the line and the cell (both count from 1) for a cell that is not of the kind of its column, for a number
/// that is not finite, for a line with another number of cells than the first, for two columns of one name, and for a table without
/// rows; [`Error::Invalid`] for a kind of a column that is not there; [`Error::Io`].
pub fn table(from: impl BufRead, options: &TableOptions) -> Result<Table, Error> {
    let cells = Cells::read(from, options)?;
    options.check_kinds(&cells.names)?;
    let column = |(c, name): (usize, &String)| {
        Ok((name.clone(), cells.column(c, options.kind(name), options)?))
    };
    Table::new(cells.names.iter().enumerate().map(column).collect::<Result<Vec<_>, Error>>()?)
}

/// Reads a file with a table of numbers, plain or compressed.
///
/// # Errors
/// As [`table`], with the path in every message.
pub fn table_file(path: impl AsRef<Path>, options: &TableOptions) -> Result<Table, Error> {
    let path = path.as_ref();
    table(open(path)?, options).map_err(|error| error.in_file(path))
}

/// The text of all cells, row by row. The kind of a column is known when its last cell has been read.
struct Cells {
    names: Vec<String>,
    text: Vec<u8>,
    /// Where each cell ends in the text.
    ends: Vec<usize>,
    /// The line of each row.
    lines: Vec<u64>,
}

impl Cells {
    fn read(from: impl BufRead, options: &TableOptions) -> Result<Cells, Error> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(options.delimiter)
            .from_reader(Quotes::new(Lines::new(from), options.delimiter));
        let mut record = csv::ByteRecord::new();
        let (mut width, mut names) = (None, None);
        let (mut text, mut ends, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        while reader.read_byte_record(&mut record).map_err(from_csv)? {
            let line = reader.get_ref().get_ref().line;
            let expected = *width.get_or_insert(record.len());
            // A quote without its partner takes the rest of the text for one cell.
            if let Some(line) = reader.get_ref().unclosed() {
                let reason = "the cell begins with a quote that does not end";
                return Err(Error::format(line, record.len(), reason));
            }
            if record.len() != expected {
                let reason =
                    format!("{} cells; expected {expected}, as in the first line", record.len());
                return Err(Error::format(line, record.len().min(expected) + 1, reason));
            }
            if lines.is_empty() && names.is_none() && is_header(&record, options.header) {
                names = Some(header(&record, line)?);
                continue;
            }
            for cell in &record {
                text.extend_from_slice(cell.trim_ascii());
                ends.push(text.len());
            }
            lines.push(line);
        }
        let Some(width) = width.filter(|_| !lines.is_empty()) else {
            let line = reader.get_ref().get_ref().line.max(1);
            return Err(Error::format(line, 1, "no rows; expected lines of cells"));
        };
        let names = names.unwrap_or_else(|| (0..width).map(|c| format!("x{c}")).collect());
        Ok(Cells { names, text, ends, lines })
    }

    fn cell(&self, row: usize, c: usize) -> &[u8] {
        let k = row * self.names.len() + c;
        let start = k.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[k]]
    }

    /// Column `c`, of this kind or of the kind that its cells have.
    fn column(
        &self,
        c: usize,
        asked: Option<Kind>,
        options: &TableOptions,
    ) -> Result<Column, Error> {
        let cells = || (0..self.lines.len()).map(|row| self.cell(row, c));
        let present = || cells().filter(|cell| !is_missing(cell));
        let kind = asked.unwrap_or_else(|| {
            let numbers = present().filter(|cell| number::parse(cell).is_some()).count();
            if 2 * numbers >= present().count() {
                Kind::Number
            } else if present().all(|cell| date::parse(cell).is_some()) {
                Kind::Date
            } else {
                Kind::Text
            }
        });
        if asked.is_none() && kind == Kind::Text {
            self.check_delimiter(c, options)?;
        }
        let values = |expected: &str, parse: fn(&[u8]) -> Option<f64>| {
            let value = |(row, cell): (usize, &[u8])| {
                if is_missing(cell) {
                    return Ok(f64::NAN);
                }
                parse(cell).ok_or_else(|| self.fault((row, c), expected, options))
            };
            cells().enumerate().map(value).collect::<Result<Vec<f64>, Error>>()
        };
        Ok(match kind {
            Kind::Number => Column::Numbers(values("a number", finite)?),
            Kind::Date => Column::Dates(values("a date such as 2024-03-01", date::parse)?),
            Kind::Text => {
                let mut texts = Vec::with_capacity(self.lines.len());
                for (row, cell) in cells().enumerate() {
                    let text = std::str::from_utf8(cell)
                        .map_err(|_| self.fault((row, c), "text in UTF-8", options))?;
                    texts.push((!is_missing(cell)).then_some(text));
                }
                texts.into()
            }
        })
    }

    /// Refuses cells that all hold several numbers, and a single column that has the names of several.
    fn check_delimiter(&self, c: usize, options: &TableOptions) -> Result<(), Error> {
        let mut cells = (0..self.lines.len()).map(|row| self.cell(row, c));
        if cells.all(|cell| is_missing(cell) || other_delimiter(cell).is_some()) {
            let first = (0..self.lines.len()).find(|&row| !is_missing(self.cell(row, c)));
            return Err(self.fault((first.unwrap_or(0), c), "a number", options));
        }
        let name = &self.names[c];
        match DELIMITERS.into_iter().find(|&other| name.as_bytes().contains(&other)) {
            Some(other) if self.names.len() == 1 => {
                let (other, used) = (char::from(other), char::from(options.delimiter));
                let reason = format!(
                    "the only column has the name {name:?}; the delimiter is {used:?}, should it be {other:?}?"
                );
                Err(Error::format(1, 1, reason))
            }
            _ => Ok(()),
        }
    }

    fn fault(&self, (row, c): (usize, usize), expected: &str, options: &TableOptions) -> Error {
        let cell = self.cell(row, c);
        let finite = number::parse(cell).is_some() && expected == "a number";
        let expected = if finite { "a finite number" } else { expected };
        let mut reason =
            format!("column {:?} holds {}; expected {expected}", self.names[c], quoted(cell));
        if let Some(other) = other_delimiter(cell) {
            let (other, used) = (char::from(other), char::from(options.delimiter));
            reason += &format!("; the delimiter is {used:?}, should it be {other:?}?");
        }
        Error::format(self.lines[row], c + 1, reason)
    }
}

fn is_header(record: &csv::ByteRecord, header: Header) -> bool {
    let name = |cell: &[u8]| {
        number::parse(cell).is_none()
            && date::parse(cell).is_none()
            && other_delimiter(cell).is_none()
    };
    let mut cells = record.iter().map(<[u8]>::trim_ascii);
    match header {
        Header::Present => true,
        Header::Absent => false,
        // A column of row numbers often has no name.
        Header::Detect => {
            cells.clone().any(|cell| !cell.is_empty())
                && cells.all(|cell| cell.is_empty() || name(cell) && !is_missing(cell))
        }
    }
}

/// The names of the columns. A column without one gets that of its place.
fn header(record: &csv::ByteRecord, line: u64) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::with_capacity(record.len());
    let mut known = std::collections::HashMap::new();
    for (c, cell) in record.iter().enumerate() {
        let name = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
        let name = if name.is_empty() { format!("x{c}") } else { name };
        if let Some(first) = known.insert(name.clone(), c) {
            let reason = format!("the name {name:?} is also that of column {}", first + 1);
            return Err(Error::format(line, c + 1, reason));
        }
        names.push(name);
    }
    Ok(names)
}

const DELIMITERS: [u8; 4] = [b';', b'\t', b'|', b','];

/// The separator of the numbers in a cell that holds several: the table has another delimiter than its reader was told.
fn other_delimiter(cell: &[u8]) -> Option<u8> {
    let numbers = |&delimiter: &u8| {
        let mut parts = cell.split(|&byte| byte == delimiter);
        cell.contains(&delimiter) && parts.all(|part| number::parse(part.trim_ascii()).is_some())
    };
    DELIMITERS.into_iter().find(numbers)
}

fn finite(cell: &[u8]) -> Option<f64> {
    number::parse(cell).filter(|value| value.is_finite())
}

pub(crate) fn is_missing(cell: &[u8]) -> bool {
    const NAMES: [&[u8]; 5] = [b"?", b"na", b"n/a", b"nan", b"null"];
    cell.is_empty() || NAMES.iter().any(|name| cell.eq_ignore_ascii_case(name))
}

fn from_csv(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source.into(),
        // Byte records of flexible length fail for no other reason.
        other => std::io::Error::other(format!("{other:?}")).into(),
    }
}

/// Returns one line at a time and counts the lines, so that errors have the right position. The positions of the `csv` crate
/// are wrong after blank lines and after `\r\n`.
struct Lines<R> {
    from: R,
    text: Vec<u8>,
    given: usize,
    line: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(from: R) -> Lines<R> {
        Lines { from, text: Vec::new(), given: 0, line: 0 }
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.text.len() {
            self.text.clear();
            self.given = 0;
            if read_line(&mut self.from, &mut self.text)? == 0 {
                return Ok(0);
            }
            self.line += 1;
            if self.text.ends_with(b"\r\n") {
                self.text.truncate(self.text.len() - 2);
                self.text.push(b'\n');
            }
        }
        let rest = &self.text[self.given..];
        let count = rest.len().min(to.len());
        to[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    fn read(text: &str) -> Table {
        table(text.as_bytes(), &TableOptions::default()).unwrap()
    }

    fn numbers(text: &str) -> Array2<f64> {
        read(text).design().unwrap().x
    }

    fn refused(text: &str, expected: &str) {
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let error = table(text.as_bytes(), &TableOptions::default()).unwrap_err().to_string();
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn with_and_without_header() {
        let x = array![[1.0, -2.5], [3e4, 0.0]];
        for text in ["1,-2.5\n3e4,0\n", "1 ,\"-2.5\"\r\n\r\n3e4,0", "\u{feff}1,-2.5\n3e4,0"] {
            assert_eq!(
                (read(text).names(), numbers(text)),
                (&["x0", "x1"].map(String::from)[..], x.clone())
            );
        }
        let named = read("\"a\", b c\n1,-2.5\n3e4,0\n").design().unwrap();
        assert_eq!((named.names.find("b c"), named.names.find("d")), (Some(1), None));
        assert_eq!(named.x, x);
        // Row numbers, as other programs write them, and a first line of texts.
        assert_eq!(read(",a\n0,5\n1,6\n").names(), ["x0", "a"]);
        assert_eq!(read("a,b\nc,d\n").rows(), 1);
        assert_eq!(read("ann,3\nbo,4\n").rows(), 2);
        assert_eq!(read("ann,2024-03-01\nbo,2024-03-02\n").rows(), 2);
    }

    #[test]
    fn the_header_can_be_said() {
        let options = |header| TableOptions { header, ..TableOptions::default() };
        let years = table("2001,2002\n1,2\n".as_bytes(), &options(Header::Present)).unwrap();
        assert_eq!(
            (years.names()[0].as_str(), years.design().unwrap().x),
            ("2001", array![[1.0, 2.0]])
        );
        assert_eq!(table("a,b\nc,d\n".as_bytes(), &options(Header::Absent)).unwrap().rows(), 2);
        let semicolons = TableOptions { delimiter: b';', ..TableOptions::default() };
        let x = table("1;2".as_bytes(), &semicolons).unwrap().design().unwrap().x;
        assert_eq!(x, array![[1.0, 2.0]]);
    }

    #[test]
    fn kinds_are_detected() {
        let text = "n,d,t,e\n1,2024-03-01,a,\n,?,NA,null\n-2,2024-03-02T12:00,\" a b \",N/A\n";
        let mixed = read(text);
        let kinds: Vec<Kind> = mixed.columns().map(|(_, column)| column.kind()).collect();
        assert_eq!(kinds, [Kind::Number, Kind::Date, Kind::Text, Kind::Number]);
        let values = |name: &str| match mixed.column(name).unwrap() {
            Column::Numbers(values) | Column::Dates(values) => values.clone(),
            Column::Texts(_) => panic!("texts"),
        };
        assert_eq!((values("n")[0], values("n")[2], values("d")[2]), (1.0, -2.0, 19784.5));
        assert!(values("n")[1].is_nan() && values("d")[1].is_nan());
        assert!(values("e").iter().all(|value| value.is_nan()));
        let Column::Texts(texts) = mixed.column("t").unwrap() else { panic!("no texts") };
        assert_eq!((texts.get(0), texts.get(1), texts.get(2)), (Some("a"), None, Some("a b")));
    }

    #[test]
    fn kinds_can_be_said() {
        let with = |text: &str, kind| {
            let kinds = vec![("zip".to_owned(), kind)];
            table(text.as_bytes(), &TableOptions { kinds, ..TableOptions::default() })
        };
        assert_eq!(
            with("zip\n01067\n1067\n", Kind::Text).unwrap().texts("zip").unwrap(),
            ["01067", "1067"]
        );
        let error = with("zip\n01067\nx\n", Kind::Number).unwrap_err().to_string();
        assert_eq!(error, "line 3, column 1: column \"zip\" holds \"x\"; expected a number");
        let error = with("zip\n2024-02-30\n", Kind::Date).unwrap_err().to_string();
        assert!(
            error.ends_with("holds \"2024-02-30\"; expected a date such as 2024-03-01"),
            "{error}"
        );
        let error = with("a,b\n1,2\n", Kind::Text).unwrap_err().to_string();
        assert_eq!(error, "kinds: there is no column \"zip\"; the columns are [\"a\", \"b\"]");
    }

    #[test]
    fn faults_are_reported_where_they_are() {
        refused(
            "1,2\n3,inf\n",
            "line 2, column 2: column \"x1\" holds \"inf\"; expected a finite number",
        );
        refused("1,2\n\n\n3,x\n", "line 4, column 2: column \"x1\" holds \"x\"; expected a number");
        refused("1,x\n3,4\n", "line 1, column 2: column \"x1\" holds \"x\"; expected a number");
        refused("1,2\n3\n", "line 2, column 2: 1 cells; expected 2, as in the first line");
        refused("1,2\n3,4,5\n", "line 2, column 3: 3 cells; expected 2, as in the first line");
        let open = |line, column| {
            format!("line {line}, column {column}: the cell begins with a quote that does not end")
        };
        refused("a,b\n\"x,1\ny,2\n", &open(2, 1));
        refused("a,b\nx,1\n\ny,\"2\nz,3\n", &open(4, 2));
        refused("a,b\nx,1\n\"y,2", &open(3, 1));
        refused("a,b\nx,\"2", &open(2, 2));
        refused("a,b\nx,\"2\n", &open(2, 2));
        refused("a,b\nx,\"2\"\"", &open(2, 2));
        refused("\"a", &open(1, 1));
        refused("\u{feff}\"a", &open(1, 1));
        refused("a,b\n\"1\n2\",\"3\n", &open(3, 2));
        assert_eq!(read("a,b\nx,\"1\n2\"\ny,5\"").rows(), 2);
        refused("a,b,a\n1,2,3\n", "line 1, column 3: the name \"a\" is also that of column 1");
        refused("", "line 1, column 1: no rows; expected lines of cells");
        refused("a,b\n", "line 1, column 1: no rows; expected lines of cells");
        let error =
            table(&b"a,b\n1,caf\xe9\n"[..], &TableOptions::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "line 2, column 2: column \"b\" holds \"caf\\xe9\"; expected text in UTF-8"
        );
    }

    proptest! {
        /// A line behind the text is a record of its own unless a quote is open.
        #[test]
        fn quotes_are_followed_as_the_parser_does(text in "\u{feff}?[\",a\r\n]{0,12}") {
            let mut quotes = Quotes::new(text.as_bytes(), b',');
            std::io::copy(&mut quotes, &mut std::io::sink()).unwrap();
            let behind = format!("{text}\nend");
            let mut parser = csv::ReaderBuilder::new();
            let parser = parser.has_headers(false).flexible(true).from_reader(behind.as_bytes());
            let last = parser.into_byte_records().last().unwrap().unwrap();
            prop_assert_eq!(quotes.unclosed().is_none(), last == vec!["end"]);
        }
    }

    #[test]
    fn another_delimiter_is_named() {
        let semicolon = "holds \"1;2\"; expected a number; the delimiter is ',', should it be ';'?";
        refused("1;2", &format!("line 1, column 1: column \"x0\" {semicolon}"));
        refused("1;2\n7\n", &format!("line 1, column 1: column \"x0\" {semicolon}"));
        refused("a;b\n1;2\n", &format!("line 2, column 1: column \"a;b\" {semicolon}"));
        refused(
            "a;b\n1;x\n",
            "line 1, column 1: the only column has the name \"a;b\"; the delimiter is ',', should it be ';'?",
        );
        let tab = "holds \"1\\t2\"; expected a number; the delimiter is ',', should it be '\\t'?";
        refused("1\t2\n3\t4\n", &format!("line 1, column 1: column \"x0\" {tab}"));
        let semicolons = TableOptions { delimiter: b';', ..TableOptions::default() };
        let error = table("1,2\n".as_bytes(), &semicolons).unwrap_err().to_string();
        assert!(error.ends_with("the delimiter is ';', should it be ','?"), "{error}");
    }

    #[test]
    fn lines_longer_than_a_buffer_are_whole() {
        let wide = (0..20_000).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
        let x = numbers(&format!("{wide}\n{wide}\n"));
        assert_eq!((x.dim(), x[[1, 19_999]]), ((2, 20_000), 19_999.0));
    }
}
