//! Parquet files, against the same tables in CSV.
//!
//! The files in `tests/data` are of other programs. pyarrow 26.0.1 wrote `pyarrow_snappy.parquet` (two groups of rows),
//! `pyarrow_zstd.parquet` (pages of version 2; `DELTA_BYTE_ARRAY`, `DELTA_BINARY_PACKED` and `BYTE_STREAM_SPLIT`) and
//! `pyarrow_brotli.parquet` (the column `age`), all with `store_schema=False`. polars 2.1.0 wrote `polars.parquet` by its
//! defaults, without `plan` and `nothing`. The types are dictionary, string, date32, timestamp in microseconds, int64,
//! double, decimal128(19, 2), bool, uint64 and null, in this order. The other files are written here, by the `parquet` crate.

use std::sync::Arc;

use fenchel_datasets::table::{Column, Kind};
use fenchel_datasets::{Encoder, Table, TableOptions, parquet, parquet_file, table};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, Int96};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const CUSTOMERS: &str = "plan,city,day,seen,age,spent,price,active,id,nothing
pro,Paris,2024-03-01,2024-03-01T18:30:00,31,10.5,19.99,true,1,
basic,Oslo,2023-11-15,,,20,,false,2,
,Rome,,1969-12-31T06:00:00.5,45,,-0.05,,3,
free,Z\u{fc}rich,1969-12-31,2000-01-01T00:00,28,3.25,12345678901234567.89,true,4,
basic,,2000-02-29,2024-12-31T23:59:59.999,60,100,0.00,true,5,
pro,Oslo,2024-02-29,1970-01-01T00:00:00,-1,0.1,7.10,false,9007199254740993,
";

const SNAPPY: &[u8] = include_bytes!("../data/pyarrow_snappy.parquet");
const ZSTD: &[u8] = include_bytes!("../data/pyarrow_zstd.parquet");
const POLARS: &[u8] = include_bytes!("../data/polars.parquet");

fn csv(text: &str) -> Table {
    table(text.as_bytes(), &TableOptions::default()).unwrap()
}

fn read(content: &[u8]) -> Table {
    parquet(content, &TableOptions::default()).unwrap()
}

fn refused(content: &[u8]) -> String {
    parquet(content, &TableOptions::default()).unwrap_err().to_string()
}

fn of_kind(content: &[u8], name: &str, kind: Kind) -> Result<Table, String> {
    let options = TableOptions { kinds: vec![(name.into(), kind)], ..TableOptions::default() };
    parquet(content, &options).map_err(|error| error.to_string())
}

/// Names, kinds, numbers to the last bit, texts with their levels, and which cells are missing.
fn same(found: &Table, expected: &Table) {
    assert_eq!((found.names(), found.rows()), (expected.names(), expected.rows()));
    for ((name, found), (_, expected)) in found.columns().zip(expected.columns()) {
        assert_eq!(found.kind(), expected.kind(), "{name}");
        match (found, expected) {
            (Column::Texts(found), Column::Texts(expected)) => {
                assert_eq!(found.levels(), expected.levels(), "{name}");
                assert_eq!(found.codes(), expected.codes(), "{name}");
            }
            _ => assert_eq!(bits(found), bits(expected), "{name}"),
        }
    }
}

fn bits(column: &Column) -> Vec<u64> {
    match column {
        Column::Numbers(values) | Column::Dates(values) => values
            .iter()
            .map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() })
            .collect(),
        Column::Texts(_) => panic!("texts"),
    }
}

/// The cells of a column in one group of rows. `None` is a null.
enum Cells<'a> {
    Flags(&'a [Option<bool>]),
    Integers(&'a [Option<i64>]),
    Times(&'a [Option<[u32; 3]>]),
    Numbers(&'a [Option<f64>]),
    Bytes(&'a [Option<&'a [u8]>]),
}

/// Writes groups of rows, each with its columns. The schema has the types: `OPTIONAL INT32 since (DATE)`.
fn write(schema: &str, compression: Compression, groups: &[&[Cells<'_>]]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message table {{ {schema} }}")).unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut content = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut content, Arc::new(schema), Arc::new(properties)).unwrap();
    for group in groups {
        let mut to = writer.next_row_group().unwrap();
        for cells in *group {
            let mut column = to.next_column().unwrap().unwrap();
            macro_rules! cells {
                ($to:ident, $cells:ident, $value:expr) => {{
                    let levels: Vec<i16> =
                        $cells.iter().map(|cell| cell.is_some().into()).collect();
                    let values: Vec<_> = $cells.iter().flatten().map($value).collect();
                    $to.write_batch(&values, Some(&levels), None).unwrap()
                }};
            }
            match (column.untyped(), cells) {
                (ColumnWriter::BoolColumnWriter(to), Cells::Flags(cells)) => {
                    cells!(to, cells, |v| *v)
                }
                (ColumnWriter::Int32ColumnWriter(to), Cells::Integers(cells)) => {
                    cells!(to, cells, |v| *v as i32)
                }
                (ColumnWriter::Int64ColumnWriter(to), Cells::Integers(cells)) => {
                    cells!(to, cells, |v| *v)
                }
                (ColumnWriter::Int96ColumnWriter(to), Cells::Times(cells)) => {
                    cells!(to, cells, |v| Int96::from(v.to_vec()))
                }
                (ColumnWriter::FloatColumnWriter(to), Cells::Numbers(cells)) => {
                    cells!(to, cells, |v| *v as f32)
                }
                (ColumnWriter::DoubleColumnWriter(to), Cells::Numbers(cells)) => {
                    cells!(to, cells, |v| *v)
                }
                (ColumnWriter::ByteArrayColumnWriter(to), Cells::Bytes(cells)) => {
                    cells!(to, cells, |v| ByteArray::from(*v))
                }
                (ColumnWriter::FixedLenByteArrayColumnWriter(to), Cells::Bytes(cells)) => {
                    cells!(to, cells, |v| ByteArray::from(*v).into())
                }
                _ => panic!("cells of another type"),
            };
            column.close().unwrap();
        }
        to.close().unwrap();
    }
    writer.close().unwrap();
    content
}

/// One column in one group of rows, not compressed.
fn column(schema: &str, cells: Cells<'_>) -> Vec<u8> {
    write(schema, Compression::UNCOMPRESSED, &[&[cells]])
}

#[test]
fn files_of_other_programs_are_the_tables_of_csv() {
    same(&read(SNAPPY), &csv(CUSTOMERS));
    same(&read(ZSTD), &csv(CUSTOMERS));
    same(&read(POLARS), &csv(CUSTOMERS).without(&["plan", "nothing"]).unwrap());
}

/// Columns in pieces, by every codec that can be written, with and without nulls.
#[test]
fn a_table_is_that_of_csv() {
    let text =
        "plan,since,age\npro,2024-03-01,31\nbasic,,\n,2022-01-31,1e300\npro,2024-02-29,-0.25\n";
    let schema =
        "OPTIONAL BYTE_ARRAY plan (UTF8); OPTIONAL INT32 since (DATE); OPTIONAL DOUBLE age;";
    let plans = [Some(&b"pro"[..]), Some(b"basic"), None, Some(b"pro")];
    let days = [Some(19_783), None, Some(19_023), Some(19_782)];
    let ages = [Some(31.0), None, Some(1e300), Some(-0.25)];
    let rows = |from: usize, to: usize| {
        [
            Cells::Bytes(&plans[from..to]),
            Cells::Integers(&days[from..to]),
            Cells::Numbers(&ages[from..to]),
        ]
    };
    let expected = csv(text);
    let design = |table: &Table| Encoder::default().fit(table).unwrap().transform(table).unwrap();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
    ] {
        for content in [
            write(schema, compression, &[&rows(0, 4)]),
            write(schema, compression, &[&rows(0, 1), &rows(1, 3), &rows(3, 4)]),
        ] {
            same(&read(&content), &expected);
            assert_eq!(design(&read(&content)).x, design(&expected).x);
        }
    }
    let schema = schema.replace("OPTIONAL", "REQUIRED");
    let first = csv("plan,since,age\npro,2024-03-01,31\n");
    same(&read(&write(&schema, Compression::SNAPPY, &[&rows(0, 1)])), &first);
}

/// More rows than are decoded at once.
#[test]
fn long_columns_are_whole() {
    let cells: Vec<Option<i64>> = (0..20_000).map(|k| (k % 7 != 0).then_some(k)).collect();
    let table = read(&column("OPTIONAL INT64 k;", Cells::Integers(&cells)));
    let Column::Numbers(values) = table.column("k").unwrap() else { panic!("no numbers") };
    assert_eq!(values.len(), cells.len());
    for (value, cell) in values.iter().zip(&cells) {
        assert_eq!((!value.is_nan()).then_some(*value as i64), *cell);
    }
}

#[test]
fn types_have_their_meaning() {
    let first =
        |schema: &str, cells: Cells<'_>| match read(&column(schema, cells)).column("x").unwrap() {
            Column::Numbers(values) => (Kind::Number, values[0]),
            Column::Dates(values) => (Kind::Date, values[0]),
            Column::Texts(_) => panic!("texts"),
        };
    let integer = |schema: &str, value| first(schema, Cells::Integers(&[Some(value)]));
    assert_eq!(integer("OPTIONAL INT32 x (UINT_32);", -1), (Kind::Number, 4_294_967_295.0));
    assert_eq!(integer("OPTIONAL INT32 x (INT_8);", -1), (Kind::Number, -1.0));
    assert_eq!(
        integer("OPTIONAL INT64 x (UINT_64);", -1),
        (Kind::Number, 18_446_744_073_709_551_615.0)
    );
    assert_eq!(integer("OPTIONAL INT32 x (DECIMAL(5, 2));", -1999), (Kind::Number, -19.99));
    assert_eq!(integer("OPTIONAL INT64 x (DECIMAL(18, 18));", 3), (Kind::Number, 3e-18));
    // 1970-01-02T12:00 in three units, and the last moment before 1970.
    assert_eq!(integer("OPTIONAL INT64 x (TIMESTAMP_MILLIS);", 129_600_000), (Kind::Date, 1.5));
    assert_eq!(integer("OPTIONAL INT64 x (TIMESTAMP_MICROS);", 129_600_000_000), (Kind::Date, 1.5));
    let nanoseconds = "OPTIONAL INT64 x (TIMESTAMP(NANOS,false));";
    assert_eq!(integer(nanoseconds, 129_600_000_000_000), (Kind::Date, 1.5));
    let last = -1.0 + 86_399_999.0 / 86_400e3;
    assert_eq!(integer("OPTIONAL INT64 x (TIMESTAMP_MILLIS);", -1), (Kind::Date, last));
    // Noon of the Julian day 2440589: its low, its high 32 bits of nanoseconds, and the day.
    let noon = 43_200_000_000_000_u64;
    let time = [noon as u32, (noon >> 32) as u32, 2_440_589];
    assert_eq!(first("OPTIONAL INT96 x;", Cells::Times(&[Some(time)])), (Kind::Date, 1.5));
    let number = |schema: &str, value| first(schema, Cells::Numbers(&[Some(value)]));
    assert_eq!(number("OPTIONAL FLOAT x;", 0.1), (Kind::Number, f64::from(0.1_f32)));
    let decimal = |bytes: &[u8]| {
        let schema = format!("OPTIONAL FIXED_LEN_BYTE_ARRAY ({}) x (DECIMAL(4, 2));", bytes.len());
        first(&schema, Cells::Bytes(&[Some(bytes)]))
    };
    assert_eq!(decimal(&[0x07, 0xcf]), (Kind::Number, 19.99));
    assert_eq!(decimal(&[0xf8, 0x31]), (Kind::Number, -19.99));
    assert_eq!(decimal(&[0xff; 16]), (Kind::Number, -0.01));
}

#[test]
fn a_null_and_a_nan_are_missing_but_no_text() {
    let texts = [Some(&b""[..]), Some(b"NA"), None, Some(b" a ")];
    let table = read(&column("OPTIONAL BYTE_ARRAY x;", Cells::Bytes(&texts)));
    let Column::Texts(texts) = table.column("x").unwrap() else { panic!("no texts") };
    assert_eq!(
        (texts.get(0), texts.get(1), texts.get(2), texts.get(3)),
        (Some(""), Some("NA"), None, Some(" a "))
    );
    let numbers = [Some(f64::NAN), None, Some(1.0)];
    let table = read(&column("OPTIONAL DOUBLE x;", Cells::Numbers(&numbers)));
    let Column::Numbers(values) = table.column("x").unwrap() else { panic!("no numbers") };
    assert!(values[0].is_nan() && values[1].is_nan() && values[2] == 1.0);
}

#[test]
fn kinds_can_be_said() {
    // Two identifiers that are one number of `f64`.
    let ids =
        column("OPTIONAL INT64 id;", Cells::Integers(&[Some(1 << 53), Some((1 << 53) + 1), None]));
    let table = of_kind(&ids, "id", Kind::Text).unwrap();
    let Column::Texts(texts) = table.column("id").unwrap() else { panic!("no texts") };
    assert_eq!(texts.levels(), ["9007199254740992", "9007199254740993"]);
    assert_eq!(texts.get(2), None);
    let texts = |schema: &str, cells: Cells<'_>| {
        of_kind(&column(schema, cells), "x", Kind::Text).unwrap().texts("x").unwrap().join(" ")
    };
    let keys = [10_000_000_000_000_000_001_i128, 10_000_000_000_000_000_002].map(i128::to_be_bytes);
    assert_eq!(
        texts(
            "OPTIONAL FIXED_LEN_BYTE_ARRAY (16) x (DECIMAL(38, 0));",
            Cells::Bytes(&[Some(&keys[0]), Some(&keys[1])])
        ),
        "10000000000000000001 10000000000000000002"
    );
    let prices = Cells::Integers(&[Some(1999), Some(-1), Some(0)]);
    assert_eq!(texts("OPTIONAL INT32 x (DECIMAL(5, 2));", prices), "19.99 -0.01 0.00");
    let flags = column("OPTIONAL BOOLEAN x;", Cells::Flags(&[Some(true), Some(false)]));
    assert_eq!(
        of_kind(&flags, "x", Kind::Number).unwrap().numbers("x").unwrap().to_vec(),
        [1.0, 0.0]
    );
    assert_eq!(read(&flags).texts("x").unwrap(), ["true", "false"]);
    let cells = [Some(&b" 1.5 "[..]), Some(b"na")];
    let texts = column("OPTIONAL BYTE_ARRAY x (UTF8);", Cells::Bytes(&cells));
    let table = of_kind(&texts, "x", Kind::Number).unwrap();
    let Column::Numbers(values) = table.column("x").unwrap() else { panic!("no numbers") };
    assert!(values[0] == 1.5 && values[1].is_nan());
    let days = column("OPTIONAL BYTE_ARRAY x (UTF8);", Cells::Bytes(&[Some(b"2024-03-01")]));
    assert_eq!(of_kind(&days, "x", Kind::Date).unwrap().numbers("x").unwrap().to_vec(), [19_783.0]);

    let refused = |content, kind| of_kind(content, "x", kind).unwrap_err();
    assert_eq!(
        refused(&texts, Kind::Date),
        "column \"x\" holds \" 1.5 \" in row 0; expected a date such as 2024-03-01"
    );
    assert_eq!(
        refused(&days, Kind::Number),
        "column \"x\" holds \"2024-03-01\" in row 0; expected a number"
    );
    let error = of_kind(SNAPPY, "day", Kind::Number).unwrap_err();
    assert_eq!(
        error,
        "column \"day\" holds a date, 19783 days after 1970-01-01 in row 0; expected a number"
    );
    let error = of_kind(SNAPPY, "age", Kind::Date).unwrap_err();
    assert_eq!(error, "column \"age\" holds 31 in row 0; expected a date such as 2024-03-01");
    assert_eq!(
        refused(&ids, Kind::Text),
        "kinds: there is no column \"x\"; the columns are [\"id\"]"
    );
}

#[test]
fn what_is_no_table_is_refused() {
    assert_eq!(refused(b""), "byte 0: no Parquet file: it begins with \"\"; expected \"PAR1\"");
    assert_eq!(
        refused(CUSTOMERS.as_bytes()),
        "byte 0: no Parquet file: it begins with \"plan\"; expected \"PAR1\""
    );
    assert_eq!(
        refused(b"PARE12345678PARE"),
        "byte 0: the file is encrypted; expected one that is not"
    );
    let short = &SNAPPY[..1000];
    assert_eq!(
        refused(short),
        "byte 1000: the file ends early; expected \"PAR1\" as its last bytes"
    );
    for length in 0..ZSTD.len() {
        refused(&ZSTD[..length]);
    }
    let mut content = SNAPPY.to_vec();
    let end = content.len();
    content[end - 8..end - 4].copy_from_slice(&[0xff; 4]);
    let error = refused(&content);
    assert!(error.starts_with("byte 0: the description of the columns is damaged: "), "{error}");

    let nested = |schema: &str| refused(&write(schema, Compression::UNCOMPRESSED, &[]));
    let expected = "column \"x\" is nested; expected one number, date or text in each row";
    assert_eq!(nested("REQUIRED INT32 a; OPTIONAL group x { REQUIRED INT32 y; }"), expected);
    assert_eq!(nested("REPEATED INT32 x;"), expected);
    assert_eq!(
        nested("OPTIONAL group x (LIST) { REPEATED group list { OPTIONAL INT32 element; } }"),
        expected
    );
    assert_eq!(
        nested("OPTIONAL INT32 x; OPTIONAL INT64 x;"),
        "column \"x\" is there twice; expected columns of different names"
    );
    let content = write("OPTIONAL INT32 x;", Compression::UNCOMPRESSED, &[]);
    let length = u32::from_le_bytes(*content[..content.len() - 4].last_chunk().unwrap());
    let place = content.len() - 8 - length as usize;
    assert_eq!(refused(&content), format!("byte {place}: no rows; expected one or more"));
    let content = column("OPTIONAL INT32 x;", Cells::Integers(&[]));
    assert!(refused(&content).ends_with(": no rows; expected one or more"));
    let error = refused(&write("", Compression::UNCOMPRESSED, &[]));
    assert!(error.ends_with(": no columns; expected one or more"), "{error}");
}

#[test]
fn columns_without_meaning_are_refused() {
    let holds = |what: &str| {
        format!("column \"x\" holds {what}; expected numbers, dates, texts or booleans")
    };
    let integer = |schema: &str| refused(&column(schema, Cells::Integers(&[Some(1)])));
    assert_eq!(integer("OPTIONAL INT32 x (TIME_MILLIS);"), holds("times of the day"));
    assert_eq!(integer("OPTIONAL INT64 x (TIME(NANOS,true));"), holds("times of the day"));
    let bytes = |schema: &str, bytes| refused(&column(schema, Cells::Bytes(&[None, Some(bytes)])));
    assert_eq!(
        bytes("OPTIONAL FIXED_LEN_BYTE_ARRAY (16) x (UUID);", &[7; 16]),
        holds("binary values")
    );
    assert_eq!(bytes("OPTIONAL BYTE_ARRAY x (BSON);", b"5"), holds("binary values"));
    assert_eq!(
        bytes("OPTIONAL FIXED_LEN_BYTE_ARRAY (17) x (DECIMAL(5, 2));", &[0; 17]),
        holds("decimals of more than 16 bytes or of any length")
    );
    assert_eq!(
        bytes("OPTIONAL BYTE_ARRAY x (UTF8);", b"caf\xe9"),
        "column \"x\" holds \"caf\\xe9\" in row 1; expected text in UTF-8"
    );
    let infinite = Cells::Numbers(&[Some(1.0), None, Some(f64::INFINITY)]);
    assert_eq!(
        refused(&column("OPTIONAL DOUBLE x;", infinite)),
        "column \"x\" holds inf in row 2; expected a finite number"
    );
}

#[test]
fn an_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("customers.parquet");
    let error = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        let error = parquet_file(&path, &TableOptions::default()).unwrap_err().to_string();
        error.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
    };
    let brotli = include_bytes!("../data/pyarrow_brotli.parquet");
    assert_eq!(
        error(brotli),
        "column \"age\" is compressed by BROTLI; expected one of [UNCOMPRESSED, SNAPPY, GZIP, LZ4, LZ4_RAW, ZSTD]"
    );
    assert!(error(&SNAPPY[..500]).starts_with("byte 500: the file ends early"));
    std::fs::write(&path, SNAPPY).unwrap();
    same(&parquet_file(&path, &TableOptions::default()).unwrap(), &csv(CUSTOMERS));
    let missing = parquet_file("no/such.parquet", &TableOptions::default()).unwrap_err();
    assert!(missing.to_string().starts_with("no/such.parquet: "));
}

/// Bytes are changed one to four at a time, or left out. Most of the files are refused; none brings the reader down.
#[test]
fn damaged_files_do_not_panic() {
    let mut state = 1_u64;
    let mut below = |most: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let mut refused = 0;
    let files = [SNAPPY, ZSTD, POLARS];
    for k in 0..900 {
        let mut content = files[k % 3].to_vec();
        if below(5) == 0 {
            content.remove(below(content.len()));
        } else {
            for _ in 0..=below(4) {
                let place = below(content.len());
                content[place] = [0, 0xff, content[place] ^ (1 << below(8))][below(3)];
            }
        }
        match parquet(&content[..], &TableOptions::default()) {
            Ok(table) => assert!(table.rows() > 0),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(refused > 450, "{refused}");
}
