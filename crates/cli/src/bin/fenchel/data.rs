//! Rows and targets from files: LIBSVM text, and CSV of numbers. A table with words and missing cells would be encoded here.

use std::io::{BufRead, Cursor, Read};

use clap::ValueEnum;
use fenchel_cli::Failure;
use fenchel_cli::files::{Text, file_name, open_text};
use fenchel_datasets::{Dataset, IndexBase, LibsvmOptions, TableOptions, libsvm, table};
use fenchel_linalg::CsrMatrix;
use ndarray::{Array1, Array2};

/// The format of a file of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A label, then index:value for each feature that is not 0
    Svm,
    /// Numbers with a delimiter: a comma, a semicolon or a tab; the first line may have names
    Csv,
}

/// A file of data, and how it is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// The data, in LIBSVM text or CSV; - is standard input
    #[arg(value_name = "DATA")]
    file: String,
    /// The format [default: CSV if the name ends in .csv or .tsv, or the first line has a comma, a semicolon, or tabs and no
    /// colon; else LIBSVM text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The column of the target in CSV: its name, or its number from 0 [default: the last]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// The first index in LIBSVM text, 0 or 1 [default: 0 if it occurs, else 1]
    #[arg(long, value_name = "INDEX", value_parser = clap::value_parser!(u8).range(0..=1))]
    first_index: Option<u8>,
}

/// A design matrix.
pub(crate) enum Rows {
    Sparse(CsrMatrix<f64>),
    Dense(Array2<f64>),
}

/// Does the same with a sparse and with a dense matrix.
macro_rules! with_rows {
    ($rows:expr, $x:ident => $do:expr) => {
        match $rows {
            $crate::data::Rows::Sparse($x) => $do,
            $crate::data::Rows::Dense($x) => $do,
        }
    };
}
pub(crate) use with_rows;

impl Rows {
    /// The numbers of rows and columns.
    pub(crate) fn shape(&self) -> (usize, usize) {
        match self {
            Rows::Sparse(x) => x.shape(),
            Rows::Dense(x) => x.dim(),
        }
    }
}

/// Rows, and their targets if there are any.
pub(crate) struct Data {
    pub(crate) rows: Rows,
    pub(crate) y: Option<Array1<f64>>,
    /// The names of the features, if the file has them.
    pub(crate) names: Option<Vec<String>>,
}

/// What a first line looks like.
enum Looks {
    Svm,
    Csv { delimiter: u8 },
}

impl Source {
    /// The name of the file in messages.
    pub(crate) fn name(&self) -> String {
        file_name(&self.file)
    }

    /// The file, unless it is standard input.
    pub(crate) fn path(&self) -> Option<&std::path::Path> {
        (self.file != "-").then(|| std::path::Path::new(&self.file))
    }

    /// Reads rows with targets, to fit a model.
    pub(crate) fn read(&self) -> Result<(Data, Array1<f64>), Failure> {
        let mut data = self.open(None)?;
        let y = data.y.take().ok_or_else(|| Failure::file(self.name(), "no targets"))?;
        Ok((data, y))
    }

    /// Reads rows of this many features, to predict. A CSV file may leave out the target.
    pub(crate) fn read_for(&self, columns: usize) -> Result<Data, Failure> {
        self.open(Some(columns))
    }

    fn open(&self, columns: Option<usize>) -> Result<Data, Failure> {
        let name = self.name();
        let (first, text) =
            first_line(open_text(&self.file)?).map_err(|error| Failure::file(&name, error))?;
        let looks = match (self.format, looks(&first)) {
            (Some(Format::Svm), _) => Looks::Svm,
            (Some(Format::Csv), Looks::Svm) => Looks::Csv { delimiter: b',' },
            // One column has no delimiter to be known by.
            (None, Looks::Svm) if self.named_csv() => Looks::Csv { delimiter: b',' },
            (_, looks) => looks,
        };
        match looks {
            Looks::Svm => self.libsvm(text, columns),
            Looks::Csv { delimiter } => self.csv(text, delimiter, columns),
        }
    }

    /// Whether the name of the file says that it is CSV.
    fn named_csv(&self) -> bool {
        let name = self.file.to_ascii_lowercase();
        let plain = [".gz", ".bz2"].iter().find_map(|packed| name.strip_suffix(packed));
        [".csv", ".tsv"].iter().any(|ending| plain.unwrap_or(&name).ends_with(ending))
    }

    fn libsvm(&self, text: Text, columns: Option<usize>) -> Result<Data, Failure> {
        if self.target.is_some() {
            let reason =
                "--target is for CSV; in LIBSVM text the target is the first number of a line";
            return Err(Failure::Usage(reason.to_owned()));
        }
        let base = match self.first_index {
            None => IndexBase::Auto,
            Some(0) => IndexBase::Zero,
            Some(_) => IndexBase::One,
        };
        let options = LibsvmOptions { base, columns, ..LibsvmOptions::default() };
        let read = libsvm(text, &options);
        let Dataset { x, y } = read.map_err(|error| Failure::data(&self.name(), error))?;
        Ok(Data { rows: Rows::Sparse(x), y: Some(y), names: None })
    }

    fn csv(&self, text: Text, delimiter: u8, columns: Option<usize>) -> Result<Data, Failure> {
        let name = self.name();
        let options = TableOptions { delimiter, ..TableOptions::default() };
        let table = table(text, &options).map_err(|error| Failure::data(&name, error))?;
        let names = table.names().to_vec();
        let width = names.len();
        // Without a header the names are x0, x1 and so on.
        let header = names.iter().enumerate().any(|(c, name)| *name != format!("x{c}"));
        let failed = |error: fenchel_datasets::Error| Failure::data(&name, error);
        let part = |names: Vec<String>| if header { Some(names) } else { None };
        // Without a target that is named, the width tells whether there is one.
        if columns == Some(width) && self.target.is_none() {
            let rows = Rows::Dense(table.design().map_err(failed)?.x);
            return Ok(Data { rows, y: None, names: part(names) });
        }
        let target = match &self.target {
            None => width - 1,
            Some(target) => {
                let named = names.iter().position(|name| name == target);
                match named.or_else(|| target.parse().ok()) {
                    Some(column) if column < width => column,
                    _ => {
                        let known = match header {
                            true => names.join(", "),
                            false => format!("0 to {}", width - 1),
                        };
                        let reason = format!("there is no column {target:?}; there are {known}");
                        return Err(Failure::file(name, reason));
                    }
                }
            }
        };
        let features = width - 1;
        match columns {
            Some(expected) if expected != features => {
                let reason = format!(
                    "{width} columns; the model has {expected} features: expected {expected} columns, or {} with a target",
                    expected + 1
                );
                return Err(Failure::file(name, reason));
            }
            None if features == 0 => {
                let reason = "one column; expected a target and at least one feature";
                return Err(Failure::file(name, reason));
            }
            _ => {}
        }
        let y = table.numbers(&names[target]).map_err(failed)?;
        let table = table.without(&[names[target].as_str()]).map_err(failed)?;
        let rows = Rows::Dense(table.design().map_err(failed)?.x);
        Ok(Data { rows, y: Some(y), names: part(table.names().to_vec()) })
    }
}

/// The first line with content, and the whole text. Lines that LIBSVM text would take for comments are passed over.
fn first_line(mut text: Text) -> std::io::Result<(Vec<u8>, Text)> {
    let mut head = Vec::new();
    loop {
        let begin = head.len();
        let more = text.read_until(b'\n', &mut head)?;
        let line = head[begin..].trim_ascii();
        if more == 0 || !(line.is_empty() || line.starts_with(b"#")) {
            return Ok((line.to_vec(), Box::new(Cursor::new(head).chain(text))));
        }
    }
}

fn looks(line: &[u8]) -> Looks {
    let line = line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii();
    let has = |byte: u8| line.contains(&byte);
    if has(b',') || has(b';') {
        Looks::Csv { delimiter: if has(b',') { b',' } else { b';' } }
    } else if has(b'\t') && !has(b':') {
        Looks::Csv { delimiter: b'\t' }
    } else {
        Looks::Svm
    }
}
