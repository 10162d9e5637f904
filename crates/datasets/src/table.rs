//! Readers of numeric tables as text: CSV, and similar formats with another delimiter.

use std::io::{BufRead, Read};
use std::path::Path;

use fenchel_linalg::Invalid;
use ndarray::{Array2, Axis};

use crate::error::quoted;
use crate::{Dataset, Error, number, open};

/// A table of finite numbers, with the names of its columns if the file has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The header, with one name per column.
    pub names: Option<Vec<String>>,
    /// The cells, `n x d`.
    pub x: Array2<f64>,
}

impl Table {
    /// The column of this name, counted from 0.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.names.as_ref()?.iter().position(|found| found == name)
    }

    /// Takes one column (counted from 0) as the target. The other columns, in their order, are the features.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] if there is no such column.
    pub fn with_target(mut self, column: usize) -> Result<Dataset<Array2<f64>>, Error> {
        if column >= self.x.ncols() {
            return Err(Invalid::Parameter {
                name: "column",
                value: column as f64,
                expected: "less than the number of columns",
            }
            .into());
        }
        let y = self.x.column(column).to_owned();
        self.x.remove_index(Axis(1), column);
        // Removing a column leaves gaps between the rows; a design matrix wants them contiguous.
        Ok(Dataset { x: self.x.as_standard_layout().into_owned(), y })
    }
}

/// Whether the first line of a table names its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// The first line is a header if none of its cells is a number, or several numbers with another delimiter between. A line with numbers and other cells is read as data, so
    /// that an error in the first line of data is reported.
    #[default]
    Detect,
    /// It does.
    Present,
    /// It does not.
    Absent,
}

/// Options for reading a table.
///
/// | name | default | purpose |
/// |---|---|---|
/// | `header` | `Detect` | whether the first line holds names |
/// | `delimiter` | `,` | the separator of cells, one byte: `;`, tab, ... |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOptions {
    /// Whether the first line holds names.
    pub header: Header,
    /// The separator of cells, one byte.
    pub delimiter: u8,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions { header: Header::Detect, delimiter: b',' }
    }
}

/// Reads a table of numbers. A cell may be quoted, or surrounded by blanks; blank lines are skipped.
/// O(bytes).
///
/// ```
/// use fenchel_datasets::{TableOptions, table};
///
/// let text = "height,weight\n1.75,70\n1.62,55\n";
/// let people = table(text.as_bytes(), &TableOptions::default())?;
/// assert_eq!(people.column("weight"), Some(1));
/// assert_eq!(people.x[[1, 0]], 1.62);
///
/// let error = table("height,weight\n1.75,\n".as_bytes(), &TableOptions::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 2, column 2: missing value in column \"weight\"; expected a number"
/// );
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] with the line and the cell (both count from 1) for a cell that is missing (empty, `?`, `NA`, `NaN`,
/// `null`, in upper or lower case), not a number or not finite, for a line with another number of cells than the first, and for
/// a table without rows; [`Error::Io`].
pub fn table(from: impl BufRead, options: &TableOptions) -> Result<Table, Error> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(options.delimiter)
        .from_reader(Lines::new(from));
    let mut record = csv::ByteRecord::new();
    let mut names: Option<Vec<String>> = None;
    let mut width = None;
    let mut cells = Vec::new();
    let mut rows = 0usize;
    while reader.read_byte_record(&mut record).map_err(from_csv)? {
        let line = reader.get_ref().line;
        let expected = *width.get_or_insert(record.len());
        if record.len() != expected {
            let reason =
                format!("{} cells; expected {expected}, as in the first line", record.len());
            return Err(Error::format(line, record.len().min(expected) + 1, reason));
        }
        if rows == 0 && names.is_none() && is_header(&record, options.header) {
            let name = |cell: &[u8]| String::from_utf8_lossy(cell.trim_ascii()).into_owned();
            names = Some(record.iter().map(name).collect());
            continue;
        }
        for (column, cell) in record.iter().enumerate() {
            let value = parse_cell(cell.trim_ascii()).map_err(|fault| {
                let name = names
                    .as_ref()
                    .map_or((column + 1).to_string(), |names| format!("{:?}", names[column]));
                let mut reason = fault.reason(&name);
                if let Some(other) = other_delimiter(cell) {
                    let (other, used) = (char::from(other), char::from(options.delimiter));
                    reason += &format!("; the delimiter is {used:?}, should it be {other:?}?");
                }
                Error::format(line, column + 1, reason)
            })?;
            cells.push(value);
        }
        rows += 1;
    }
    let Some(width) = width.filter(|_| rows > 0) else {
        let line = reader.get_ref().line.max(1);
        return Err(Error::format(line, 1, "no rows; expected lines of numbers"));
    };
    let x = Array2::from_shape_vec((rows, width), cells)
        .map_err(|error| Invalid::Layout { what: "table", reason: error.to_string() })?;
    Ok(Table { names, x })
}

/// Reads a file with a table of numbers, plain or compressed.
///
/// # Errors
/// As [`table`], with the path in every message.
pub fn table_file(path: impl AsRef<Path>, options: &TableOptions) -> Result<Table, Error> {
    let path = path.as_ref();
    table(open(path)?, options).map_err(|error| error.in_file(path))
}

fn is_header(record: &csv::ByteRecord, header: Header) -> bool {
    match header {
        Header::Present => true,
        Header::Absent => false,
        Header::Detect => record.iter().all(|cell| {
            let cell = cell.trim_ascii();
            !is_missing(cell) && number::parse(cell).is_none() && other_delimiter(cell).is_none()
        }),
    }
}

/// The separator of the numbers in a cell that holds several: the table has another delimiter than its reader was told.
fn other_delimiter(cell: &[u8]) -> Option<u8> {
    let numbers = |&delimiter: &u8| {
        let mut parts = cell.split(|&byte| byte == delimiter);
        cell.contains(&delimiter) && parts.all(|part| number::parse(part.trim_ascii()).is_some())
    };
    [b';', b'\t', b'|', b','].into_iter().find(numbers)
}

enum CellFault {
    Missing,
    NotFinite(String),
    NotANumber(String),
}

impl CellFault {
    fn reason(&self, column: &str) -> String {
        match self {
            CellFault::Missing => {
                format!("missing value in column {column}; expected a number")
            }
            CellFault::NotFinite(cell) => {
                format!("column {column} holds {cell}; expected a finite number")
            }
            CellFault::NotANumber(cell) => {
                format!("column {column} holds {cell}; expected a number")
            }
        }
    }
}

fn parse_cell(cell: &[u8]) -> Result<f64, CellFault> {
    match number::parse(cell) {
        Some(value) if value.is_finite() => Ok(value),
        _ if is_missing(cell) => Err(CellFault::Missing),
        Some(_) => Err(CellFault::NotFinite(quoted(cell))),
        None => Err(CellFault::NotANumber(quoted(cell))),
    }
}

fn is_missing(cell: &[u8]) -> bool {
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
            if self.from.read_until(b'\n', &mut self.text)? == 0 {
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
    use ndarray::array;

    fn read(text: &str) -> Table {
        table(text.as_bytes(), &TableOptions::default()).unwrap()
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
            assert_eq!(read(text), Table { names: None, x: x.clone() }, "{text:?}");
        }
        let named = read("\"a\", b c\n1,-2.5\n3e4,0\n");
        assert_eq!(named.names, Some(vec!["a".to_owned(), "b c".to_owned()]));
        assert_eq!((named.column("b c"), named.column("d")), (Some(1), None));
        assert_eq!(named.x, x);
    }

    #[test]
    fn the_header_can_be_said() {
        let options = |header| TableOptions { header, ..TableOptions::default() };
        let years = table("2001,2002\n1,2\n".as_bytes(), &options(Header::Present)).unwrap();
        assert_eq!((years.names.unwrap()[0].as_str(), years.x), ("2001", array![[1.0, 2.0]]));
        assert!(table("a,b\n1,2\n".as_bytes(), &options(Header::Absent)).is_err());
        let semicolons = TableOptions { delimiter: b';', ..TableOptions::default() };
        assert_eq!(table("1;2".as_bytes(), &semicolons).unwrap().x, array![[1.0, 2.0]]);
    }

    #[test]
    fn faults_are_reported_where_they_are() {
        refused(
            "a,b\n1,2\n\n1,\n",
            "line 4, column 2: missing value in column \"b\"; expected a number",
        );
        refused("1,2\n?,3", "line 2, column 1: missing value in column 1; expected a number");
        refused("1,2\n3, NA\n", "line 2, column 2: missing value in column 2; expected a number");
        refused("1,2\nnan,3\n", "line 2, column 1: missing value in column 1; expected a number");
        refused(
            "1,2\n3,inf\n",
            "line 2, column 2: column 2 holds \"inf\"; expected a finite number",
        );
        refused("1,2\n\n\n3,x\n", "line 4, column 2: column 2 holds \"x\"; expected a number");
        refused("1,x\n3,4\n", "line 1, column 2: column 2 holds \"x\"; expected a number");
        refused("1,2\n3\n", "line 2, column 2: 1 cells; expected 2, as in the first line");
        refused("1,2\n3,4,5\n", "line 2, column 3: 3 cells; expected 2, as in the first line");
        refused("", "line 1, column 1: no rows; expected lines of numbers");
        refused("a,b\n", "line 1, column 1: no rows; expected lines of numbers");
    }

    #[test]
    fn another_delimiter_is_named() {
        let semicolon = "holds \"1;2\"; expected a number; the delimiter is ',', should it be ';'?";
        refused("1;2", &format!("line 1, column 1: column 1 {semicolon}"));
        refused("1;2\n7\n", &format!("line 1, column 1: column 1 {semicolon}"));
        refused("a;b\n1;2\n", &format!("line 2, column 1: column \"a;b\" {semicolon}"));
        let tab = "holds \"1\\t2\"; expected a number; the delimiter is ',', should it be '\\t'?";
        refused("1\t2\n3\t4\n", &format!("line 1, column 1: column 1 {tab}"));
        let semicolons = TableOptions { delimiter: b';', ..TableOptions::default() };
        let error = table("1,2\n".as_bytes(), &semicolons).unwrap_err().to_string();
        assert!(error.ends_with("the delimiter is ';', should it be ','?"), "{error}");
    }

    #[test]
    fn a_target_is_split_off() {
        let data = read("a,b,c\n1,2,3\n4,5,6\n").with_target(1).unwrap();
        assert_eq!(data.x, array![[1.0, 3.0], [4.0, 6.0]]);
        assert!(data.x.is_standard_layout());
        assert_eq!(data.y, array![2.0, 5.0]);
        assert!(read("1,2").with_target(2).is_err());
    }

    #[test]
    fn lines_longer_than_a_buffer_are_whole() {
        let wide = (0..20_000).map(|k| k.to_string()).collect::<Vec<_>>().join(",");
        let x = read(&format!("{wide}\n{wide}\n")).x;
        assert_eq!((x.dim(), x[[1, 19_999]]), ((2, 20_000), 19_999.0));
    }
}
