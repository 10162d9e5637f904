//! Reader of tables in Parquet files.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::io::{BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType, Int96};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::ColumnDescriptor;

use super::column::{Column, GrowingTexts, Kind};
use super::pages::{CODECS, Pages};
use super::reader::{TableOptions, is_missing};
use super::{Table, date};
use crate::error::quoted;
use crate::{Error, number, open};

/// Reads a table in the format Parquet. It is the same table as [`table`](fn@super::table) reads from CSV, but the file itself
/// says what its columns are:
///
/// | type in the file | column |
/// |---|---|
/// | integers, floating-point numbers, decimals of up to 16 bytes | [`Column::Numbers`] |
/// | dates, timestamps of any unit | [`Column::Dates`] |
/// | strings, JSON, byte arrays in UTF-8; dictionaries of them | [`Column::Texts`] |
/// | booleans | [`Column::Texts`]: `true` and `false` |
///
/// A null is a missing cell, and so is a NaN. A text is never missing, even if it is empty or `NA`. Lists, structs, maps and
/// other types are refused. The compression is Snappy, gzip, LZ4, Zstandard or none.
///
/// Of the options, `kinds` counts alone. A column of numbers or booleans can be read as [`Kind::Text`] (identifiers, say), one
/// of texts as [`Kind::Number`] or [`Kind::Date`] by the rules of CSV, one of booleans as [`Kind::Number`] (0 and 1).
///
/// O(bytes + cells) time and memory: the file and the columns, and the pages of one column (at most 2 GiB each).
///
/// # Errors
/// [`Error::Binary`] for a file that is no Parquet or was cut short, and for a table without rows; [`Error::Column`] for a
/// column that is nested, damaged, of a type or compression that is not supported, or has a cell that is not of its kind;
/// [`Error::Invalid`] for a kind of a column that is not there; [`Error::Io`].
///
/// Damage that the `parquet` crate answers by a panic is reported as an error, unless the program aborts on panics. The message
/// of the panic goes to the program's panic hook. A file that is made to harm can still ask for more memory than there is.
pub fn parquet(mut from: impl BufRead, options: &TableOptions) -> Result<Table, Error> {
    let mut content = Vec::new();
    from.by_ref().take(4).read_to_end(&mut content)?;
    // A file of another kind may have no end.
    if content == b"PAR1" {
        from.read_to_end(&mut content)?;
    }
    let file = File::open(content.into())?;
    options.check_kinds(&file.names)?;
    let column =
        |(c, name): (usize, &String)| Ok((name.clone(), file.column(c, options.kind(name))?));
    Table::new(file.names.iter().enumerate().map(column).collect::<Result<Vec<_>, Error>>()?)
}

/// Reads a Parquet file.
///
/// ```no_run
/// use fenchel_datasets::{Encoder, TableOptions, parquet_file};
///
/// let customers = parquet_file("customers.parquet", &TableOptions::default())?;
/// let x = Encoder::default().fit(&customers)?.transform(&customers)?;
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
///
/// # Errors
/// As [`parquet`](fn@parquet), with the path in every message.
pub fn parquet_file(path: impl AsRef<Path>, options: &TableOptions) -> Result<Table, Error> {
    let path = path.as_ref();
    parquet(open(path)?, options).map_err(|error| error.in_file(path))
}

/// A file whose description has been read and checked.
struct File {
    content: Arc<Bytes>,
    metadata: ParquetMetaData,
    names: Vec<String>,
}

impl File {
    fn open(content: Bytes) -> Result<File, Error> {
        let description = check_ends(&content)?;
        let metadata = sound(|| ParquetMetaDataReader::new().parse_and_finish(&content));
        let metadata = metadata.map_err(|reason| {
            Error::binary(description, format!("the description of the columns {reason}"))
        })?;
        let (mut names, mut known) = (Vec::new(), HashSet::new());
        for leaf in metadata.file_metadata().schema_descr().columns() {
            let path = leaf.path().parts();
            let name = path.first().cloned().unwrap_or_default();
            if path.len() != 1 || leaf.max_rep_level() > 0 {
                return Err(refused(
                    &name,
                    "is nested; expected one number, date or text in each row",
                ));
            }
            if !known.insert(name.clone()) {
                return Err(refused(&name, "is there twice; expected columns of different names"));
            }
            names.push(name);
        }
        if names.is_empty() {
            return Err(Error::binary(description, "no columns; expected one or more"));
        }
        if metadata.row_groups().iter().all(|group| group.num_rows() == 0) {
            return Err(Error::binary(description, "no rows; expected one or more"));
        }
        Ok(File { content: Arc::new(content), metadata, names })
    }

    /// Column `c`, of this kind or of the kind that it has in the file.
    fn column(&self, c: usize, asked: Option<Kind>) -> Result<Column, Error> {
        self.cells(c, asked).map(Column::from).map_err(|reason| refused(&self.names[c], reason))
    }

    fn cells(&self, c: usize, asked: Option<Kind>) -> Result<Cells, String> {
        let descriptor = self.metadata.file_metadata().schema_descr().column(c);
        let meaning = Meaning::of(&descriptor)?;
        let (mut cells, mut row) = (Cells::new(asked.unwrap_or_else(|| meaning.kind())), 0);
        for group in self.metadata.row_groups() {
            let damaged = || "is damaged: its description is not complete".to_owned();
            let rows = usize::try_from(group.num_rows()).map_err(|_| damaged())?;
            let chunk = group.columns().get(c).ok_or_else(damaged)?;
            if !CODECS.contains(&chunk.compression_codec()) {
                let codec = chunk.compression_codec();
                return Err(format!("is compressed by {codec:?}; expected one of {CODECS:?}"));
            }
            let nullable = descriptor.max_def_level() > 0;
            let reader = sound(|| {
                let pages = Pages::new(&self.content, chunk, rows)?;
                Ok(get_column_reader(descriptor.clone(), Box::new(pages)))
            })?;
            let to = &mut |cell: Cell<'_>| {
                cells.push(row, cell)?;
                row += 1;
                Ok(())
            };
            match reader {
                ColumnReader::BoolColumnReader(reader) => {
                    read(reader, nullable, rows, |value| Cell::Flag(*value), to)
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    read(reader, nullable, rows, |value| meaning.of_short_integer(*value), to)
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    read(reader, nullable, rows, |value| meaning.of_integer(*value), to)
                }
                ColumnReader::Int96ColumnReader(reader) => {
                    read(reader, nullable, rows, |value| Cell::Date(of_julian(value)), to)
                }
                ColumnReader::FloatColumnReader(reader) => {
                    read(reader, nullable, rows, |value| Cell::Number((*value).into()), to)
                }
                ColumnReader::DoubleColumnReader(reader) => {
                    read(reader, nullable, rows, |value| Cell::Number(*value), to)
                }
                ColumnReader::ByteArrayColumnReader(reader) => {
                    read(reader, nullable, rows, |value| Cell::Text(value.data()), to)
                }
                ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                    read(reader, nullable, rows, |value| meaning.of_bytes(value.data()), to)
                }
            }?;
        }
        Ok(cells)
    }
}

/// Where the description of the columns begins: in front of its length and the last mark.
fn check_ends(content: &[u8]) -> Result<u64, Error> {
    const MARK: &[u8] = b"PAR1";
    let start = &content[..content.len().min(MARK.len())];
    if start == b"PARE" {
        return Err(Error::binary(0, "the file is encrypted; expected one that is not"));
    }
    if start != MARK {
        let found = quoted(start);
        return Err(Error::binary(
            0,
            format!("no Parquet file: it begins with {found}; expected \"PAR1\""),
        ));
    }
    let length = content[MARK.len()..].strip_suffix(MARK).and_then(|rest| rest.last_chunk());
    match length {
        Some(length) => {
            let length = u64::from(u32::from_le_bytes(*length));
            Ok((content.len() as u64 - 8).saturating_sub(length))
        }
        None => {
            let end = content.len() as u64;
            Err(Error::binary(end, "the file ends early; expected \"PAR1\" as its last bytes"))
        }
    }
}

/// Runs a decoder of the `parquet` crate, which panics at some damages.
fn sound<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    let reason = match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(ParquetError::General(reason) | ParquetError::EOF(reason))) => reason,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or_else(|| panic.downcast_ref().copied()).unwrap_or("bad bytes").to_owned()
        }
    };
    Err(format!("is damaged: {reason}"))
}

/// Gives the cells of a column in one group of rows to `to`, in order.
fn read<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    nullable: bool,
    rows: usize,
    cell: impl Fn(&T::T) -> Cell<'_>,
    to: &mut dyn FnMut(Cell<'_>) -> Result<(), String>,
) -> Result<(), String> {
    const BATCH: usize = 8192;
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < rows {
        levels.clear();
        values.clear();
        let batch = BATCH.min(rows - done);
        let (count, ..) = sound(|| {
            let read = reader.read_records(batch, Some(&mut levels), None, &mut values)?;
            // What panics below for a value that was not decoded panics here.
            values.iter().for_each(|value| _ = value.as_bytes());
            Ok(read)
        })?;
        if count == 0 {
            return Err(format!("is damaged: {done} cells; expected {rows}, one for each row"));
        }
        done += count;
        let mut values = values.iter();
        if nullable {
            for level in &levels {
                // Level 0 is a null.
                let value = if *level > 0 { values.next() } else { None };
                to(value.map_or(Cell::Missing, &cell))?;
            }
        } else {
            values.try_for_each(|value| to(cell(value)))?;
        }
    }
    Ok(())
}

/// What the values of a column mean.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Flag,
    Integer,
    Unsigned,
    Number,
    /// Integers that count units of `10^-scale`.
    Decimal {
        scale: u32,
    },
    /// Times since 1970 in parts of a day.
    Date {
        per_day: i64,
    },
    Text,
}

impl Meaning {
    /// The meaning, or what is wrong with a column that has none in a table.
    fn of(column: &ColumnDescriptor) -> Result<Meaning, String> {
        use ConvertedType as Old;
        const DAY: i64 = 86_400;
        let unfit =
            |found: &str| Err(format!("holds {found}; expected numbers, dates, texts or booleans"));
        let decimal =
            || Meaning::Decimal { scale: u32::try_from(column.type_scale()).unwrap_or(0) };
        // The old names say all but the times in nanoseconds, which have new ones alone.
        let (old, new) = (column.converted_type(), column.logical_type_ref());
        Ok(match (column.physical_type(), old, new) {
            (Type::BOOLEAN, ..) => Meaning::Flag,
            (Type::FLOAT | Type::DOUBLE, ..) => Meaning::Number,
            (Type::INT96, ..) => Meaning::Date { per_day: DAY * 1_000_000_000 },
            (_, Old::TIME_MILLIS | Old::TIME_MICROS, _) | (.., Some(LogicalType::Time(_))) => {
                return unfit("times of the day");
            }
            (Type::INT32 | Type::INT64, old, new) => match old {
                Old::INT_8 | Old::INT_16 | Old::INT_32 | Old::INT_64 => Meaning::Integer,
                Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64 => Meaning::Unsigned,
                Old::DECIMAL => decimal(),
                Old::DATE => Meaning::Date { per_day: 1 },
                Old::TIMESTAMP_MILLIS => Meaning::Date { per_day: DAY * 1_000 },
                Old::TIMESTAMP_MICROS => Meaning::Date { per_day: DAY * 1_000_000 },
                _ => match new {
                    // A column of nulls alone is unknown.
                    None | Some(LogicalType::Unknown) => Meaning::Integer,
                    Some(LogicalType::Timestamp(_)) => {
                        Meaning::Date { per_day: DAY * 1_000_000_000 }
                    }
                    Some(_) => return unfit("integers of an unknown meaning"),
                },
            },
            (Type::BYTE_ARRAY, Old::UTF8 | Old::ENUM | Old::JSON, _)
            | (Type::BYTE_ARRAY, Old::NONE, None) => Meaning::Text,
            (Type::FIXED_LEN_BYTE_ARRAY, Old::DECIMAL, _) if column.type_length() <= 16 => {
                decimal()
            }
            (_, Old::DECIMAL, _) => {
                return unfit("decimals of more than 16 bytes or of any length");
            }
            _ => return unfit("binary values"),
        })
    }

    fn kind(self) -> Kind {
        match self {
            Meaning::Integer | Meaning::Unsigned | Meaning::Number | Meaning::Decimal { .. } => {
                Kind::Number
            }
            Meaning::Date { .. } => Kind::Date,
            Meaning::Flag | Meaning::Text => Kind::Text,
        }
    }

    fn of_short_integer(self, value: i32) -> Cell<'static> {
        match self {
            Meaning::Unsigned => Cell::Integer(value.cast_unsigned().into()),
            _ => self.of_integer(value.into()),
        }
    }

    fn of_integer(self, value: i64) -> Cell<'static> {
        match self {
            Meaning::Date { per_day } => Cell::Date(days(value, per_day)),
            Meaning::Decimal { scale } => Cell::Decimal(value.into(), scale),
            Meaning::Unsigned => Cell::Integer(value.cast_unsigned().into()),
            _ => Cell::Integer(value.into()),
        }
    }

    /// A decimal, the first byte first, in two's complement.
    fn of_bytes(self, bytes: &[u8]) -> Cell<'static> {
        let sign = if bytes.first().is_some_and(|first| *first >= 0x80) { -1 } else { 0 };
        let value = bytes.iter().fold(sign, |value, byte| (value << 8) | i128::from(*byte));
        match self {
            Meaning::Decimal { scale } => Cell::Decimal(value, scale),
            _ => Cell::Integer(value),
        }
    }
}

/// Days and the time of the day as a fraction, with the roundings of a date in a text.
fn days(time: i64, per_day: i64) -> f64 {
    time.div_euclid(per_day) as f64 + time.rem_euclid(per_day) as f64 / per_day as f64
}

/// The days since 1970 of a Julian day and nanoseconds.
fn of_julian(value: &Int96) -> f64 {
    const DAY_OF_1970: i64 = 2_440_588;
    let parts = value.data();
    let nanoseconds = u64::from(parts[1]) << 32 | u64::from(parts[0]);
    (i64::from(parts[2]) - DAY_OF_1970) as f64 + nanoseconds as f64 / 86_400e9
}

/// A cell as it is in the file.
#[derive(Debug, Clone, Copy)]
enum Cell<'a> {
    Missing,
    Flag(bool),
    Integer(i128),
    /// A number of units of `10^-scale`.
    Decimal(i128, u32),
    Number(f64),
    /// Days since 1970.
    Date(f64),
    Text(&'a [u8]),
}

impl Cell<'_> {
    fn is_missing(self, kind: Kind) -> bool {
        match self {
            Cell::Missing => true,
            Cell::Number(value) => value.is_nan(),
            Cell::Text(text) => kind != Kind::Text && is_missing(text.trim_ascii()),
            _ => false,
        }
    }

    /// The number, which may be infinite.
    fn number(self) -> Option<f64> {
        match self {
            Cell::Flag(value) => Some(value.into()),
            Cell::Integer(value) => Some(value as f64),
            // A text is rounded once.
            Cell::Decimal(value, scale) => format!("{value}e-{scale}").parse().ok(),
            Cell::Number(value) => Some(value),
            Cell::Text(text) => number::parse(text.trim_ascii()),
            Cell::Date(_) | Cell::Missing => None,
        }
    }

    fn date(self) -> Option<f64> {
        match self {
            Cell::Date(value) => Some(value),
            Cell::Text(text) => date::parse(text.trim_ascii()),
            _ => None,
        }
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Cell::Text(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
            Cell::Flag(value) => Some(value.to_string().into()),
            Cell::Integer(value) => Some(value.to_string().into()),
            // All digits: identifiers of databases are often decimals.
            Cell::Decimal(value, scale) => Some(decimal(*value, *scale as usize).into()),
            Cell::Number(_) => self.number().map(|value| value.to_string().into()),
            Cell::Date(_) | Cell::Missing => None,
        }
    }
}

/// The digits of `value / 10^scale`.
fn decimal(value: i128, scale: usize) -> String {
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale);
    let (sign, point) = (if value < 0 { "-" } else { "" }, if scale > 0 { "." } else { "" });
    format!("{sign}{whole}{point}{rest}")
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Text(text) => f.write_str(&quoted(text)),
            Cell::Date(value) => write!(f, "a date, {value} days after 1970-01-01"),
            other => f.write_str(&other.text().unwrap_or_default()),
        }
    }
}

/// A column that is not complete.
enum Cells {
    Numbers(Vec<f64>),
    Dates(Vec<f64>),
    Texts(GrowingTexts),
}

impl Cells {
    fn new(kind: Kind) -> Cells {
        match kind {
            Kind::Number => Cells::Numbers(Vec::new()),
            Kind::Date => Cells::Dates(Vec::new()),
            Kind::Text => Cells::Texts(GrowingTexts::default()),
        }
    }

    /// Appends the cell of a row. The error says what was found and expected.
    fn push(&mut self, row: usize, cell: Cell<'_>) -> Result<(), String> {
        let fault = |expected| format!("holds {cell} in row {row}; expected {expected}");
        match self {
            Cells::Numbers(values) if cell.is_missing(Kind::Number) => values.push(f64::NAN),
            Cells::Numbers(values) => {
                let value = cell.number().ok_or_else(|| fault("a number"))?;
                let finite = Some(value).filter(|value| value.is_finite());
                values.push(finite.ok_or_else(|| fault("a finite number"))?);
            }
            Cells::Dates(values) if cell.is_missing(Kind::Date) => values.push(f64::NAN),
            Cells::Dates(values) => {
                values.push(cell.date().ok_or_else(|| fault("a date such as 2024-03-01"))?);
            }
            Cells::Texts(texts) if cell.is_missing(Kind::Text) => texts.push(None),
            Cells::Texts(texts) => {
                texts.push(Some(&cell.text().ok_or_else(|| fault("text in UTF-8"))?));
            }
        }
        Ok(())
    }
}

impl From<Cells> for Column {
    fn from(cells: Cells) -> Column {
        match cells {
            Cells::Numbers(values) => Column::Numbers(values),
            Cells::Dates(values) => Column::Dates(values),
            Cells::Texts(texts) => Column::Texts(texts.into()),
        }
    }
}

fn refused(name: &str, reason: impl Into<String>) -> Error {
    Error::Column { file: None, column: name.to_owned(), reason: reason.into() }
}
