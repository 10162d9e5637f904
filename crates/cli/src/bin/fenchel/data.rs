//! Rows and targets from files: LIBSVM text, and CSV. A table with texts, dates or missing cells is encoded, and the encoder is saved
//! with the model.

use std::cmp::Ordering;
use std::fmt;
use std::io::{Cursor, Read};

use clap::ValueEnum;
use fenchel_cli::Failure;
use fenchel_cli::files::{Text, file_name, open_text, read_head};
use fenchel_datasets::encoder::Unknown;
use fenchel_datasets::table::Column;
use fenchel_datasets::{
    Dataset, Encoder, FittedEncoder, IndexBase, LibsvmOptions, Table, TableOptions, libsvm, table,
};
use fenchel_linalg::labels::Label;
use fenchel_linalg::{CsrMatrix, Named, Names};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use crate::model::Fitted;

/// The format of a file of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A label, then index:value for each feature that is not 0
    Svm,
    /// Cells with a delimiter: a comma, a semicolon or a tab; the first line may have names
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

/// A design matrix with the names of its columns, or without.
pub(crate) enum Rows {
    Sparse(Named<CsrMatrix<f64>>),
    Dense(Named<Array2<f64>>),
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
            Rows::Sparse(x) => x.x.shape(),
            Rows::Dense(x) => x.x.dim(),
        }
    }

    pub(crate) fn names(&self) -> &Names {
        match self {
            Rows::Sparse(x) => &x.names,
            Rows::Dense(x) => &x.names,
        }
    }
}

/// What a row is labelled with: a number, or a text of a table. In a file it is one or the other, as in the models of the library.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Target {
    Number(f64),
    Text(String),
}

impl Label for Target {
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Target::Number(a), Target::Number(b)) => a.order(b),
            (Target::Text(a), Target::Text(b)) => a.cmp(b),
            (Target::Number(_), Target::Text(_)) => Ordering::Less,
            (Target::Text(_), Target::Number(_)) => Ordering::Greater,
        }
    }

    fn is_label(&self) -> bool {
        match self {
            Target::Number(x) => x.is_label(),
            Target::Text(_) => true,
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Number(x) => x.fmt(f),
            Target::Text(text) => text.fmt(f),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Number(x) => x.fmt(f),
            Target::Text(text) => text.fmt(f),
        }
    }
}

/// The targets as numbers, which regressions need.
pub(crate) fn numbers(y: &[Target]) -> Result<Array1<f64>, fenchel_linalg::Invalid> {
    let number = |(row, target): (usize, &Target)| match target {
        Target::Number(x) => Ok(*x),
        Target::Text(text) => Err(fenchel_linalg::Invalid::Layout {
            what: "target",
            reason: format!("row {row} has {text:?}; expected a number"),
        }),
    };
    y.iter().enumerate().map(number).collect()
}

/// Rows, and their targets if there are any.
pub(crate) struct Data {
    pub(crate) rows: Rows,
    pub(crate) y: Option<Vec<Target>>,
    /// How the rows were made of a table, unless they are its numbers as they are.
    pub(crate) encoder: Option<FittedEncoder>,
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
    pub(crate) fn read(&self, encode: &Encode) -> Result<(Data, Vec<Target>), Failure> {
        let mut data = match self.open()? {
            (text, Looks::Svm) => {
                encode.refuse_libsvm()?;
                self.libsvm(text, None)?
            }
            (text, Looks::Csv { delimiter }) => self.encoded(text, delimiter, encode)?,
        };
        let y = data.y.take().ok_or_else(|| Failure::file(self.name(), "no targets"))?;
        Ok((data, y))
    }

    /// Reads rows for a model, to predict. A CSV file may leave out the target.
    pub(crate) fn read_for(&self, fitted: &Fitted) -> Result<Data, Failure> {
        match (self.open()?, &fitted.encoder) {
            ((text, Looks::Csv { delimiter }), Some(encoder)) => {
                self.by_encoder(text, delimiter, encoder)
            }
            ((_, Looks::Svm), Some(_)) => {
                let reason = "the model was fitted to a table of columns with names; expected CSV";
                Err(Failure::file(self.name(), reason))
            }
            ((text, Looks::Svm), None) => self.libsvm(text, Some(fitted.model.features())),
            ((text, Looks::Csv { delimiter }), None) => {
                self.plain(text, delimiter, fitted.model.features(), fitted.model.names())
            }
        }
    }

    fn open(&self) -> Result<(Text, Looks), Failure> {
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
        Ok((text, looks))
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
        let y = y.into_iter().map(Target::Number).collect();
        let rows = Rows::Sparse(Named { x, names: Names::NONE });
        Ok(Data { rows, y: Some(y), encoder: None })
    }

    fn failed(&self) -> impl Fn(fenchel_datasets::Error) -> Failure {
        let name = self.name();
        move |error| Failure::data(&name, error)
    }

    /// A table to fit a model to: its numbers as they are, or encoded where there are others.
    fn encoded(&self, text: Text, delimiter: u8, encode: &Encode) -> Result<Data, Failure> {
        let options = TableOptions { delimiter, ..TableOptions::default() };
        let table = table(text, &options).map_err(self.failed())?;
        let target = match &self.target {
            Some(target) => self.column(&table, target)?,
            None => table.names()[table.names().len() - 1].clone(),
        };
        let y = self.targets(&table, &target)?;
        let mut except = vec![target.clone()];
        for column in &encode.without {
            let column = self.column(&table, column)?;
            match column == target {
                true => {
                    let reason = format!("--without {column}: it is the target");
                    return Err(Failure::Usage(reason));
                }
                false => except.push(column),
            }
        }
        except.sort_unstable();
        except.dedup();
        if except.len() == table.names().len() {
            let reason = match table.names().len() {
                1 => "one column; expected a target and at least one feature".to_owned(),
                width => format!("{width} columns, none of which is left as a feature"),
            };
            return Err(Failure::file(self.name(), reason));
        }
        let features: Vec<&str> = except.iter().map(String::as_str).collect();
        let numbers = table.clone().without(&features).map_err(self.failed())?;
        if numbers.columns().all(|(_, column)| complete(column)) {
            let Named { x, names } = numbers.design().map_err(self.failed())?;
            let names = if has_header(&table) { names } else { Names::NONE };
            return Ok(Data { rows: Rows::Dense(Named { x, names }), y: Some(y), encoder: None });
        }
        // Scales are those of --standardise.
        let unknown = encode.unknown.into();
        let encoder = Encoder { except, standardise: false, unknown, ..Encoder::default() };
        let encoder = encoder.fit(&table).map_err(self.failed())?;
        let rows = self.transform(&encoder, &table)?;
        Ok(Data { rows, y: Some(y), encoder: Some(encoder) })
    }

    /// The design of an encoder: without its zeros if these are most of it.
    fn transform(&self, encoder: &FittedEncoder, table: &Table) -> Result<Rows, Failure> {
        let columns = encoder.options().kinds.len();
        if encoder.names().len() > 4 * columns {
            return encoder.transform_sparse(table).map(Rows::Sparse).map_err(self.failed());
        }
        encoder.transform(table).map(Rows::Dense).map_err(self.failed())
    }

    /// A table to predict, read as the encoder asks.
    fn by_encoder(
        &self,
        text: Text,
        delimiter: u8,
        encoder: &FittedEncoder,
    ) -> Result<Data, Failure> {
        let options = TableOptions { delimiter, ..encoder.options() };
        let table = table(text, &options).map_err(self.failed())?;
        let features = |name: &String| options.kinds.iter().any(|(feature, _)| feature == name);
        let target = match &self.target {
            Some(target) => Some(self.column(&table, target)?),
            None => table.names().last().filter(|name| !features(name)).cloned(),
        };
        let y = target.map(|target| self.targets(&table, &target)).transpose()?;
        Ok(Data { rows: self.transform(encoder, &table)?, y, encoder: None })
    }

    /// A table of numbers to predict: by the names of the columns, or by their places where the table or the model has no names.
    fn plain(
        &self,
        text: Text,
        delimiter: u8,
        features: usize,
        names: &Names,
    ) -> Result<Data, Failure> {
        let options = TableOptions { delimiter, ..TableOptions::default() };
        let table = table(text, &options).map_err(self.failed())?;
        let width = table.names().len();
        let named = has_header(&table) && !names.is_empty();
        let target = match &self.target {
            Some(target) => Some(self.column(&table, target)?),
            // The names tell whether there is a target, or the width does.
            None if named => {
                table.names().last().filter(|name| names.find(name).is_none()).cloned()
            }
            None if width == features => None,
            None => table.names().last().cloned(),
        };
        let y = target.as_ref().map(|target| self.targets(&table, target)).transpose()?;
        let is_target = |name: &String| target.as_ref() == Some(name);
        let columns: Vec<&String> = match named {
            true => names.iter().collect(),
            false => table.names().iter().filter(|name| !is_target(name)).collect(),
        };
        if columns.len() != features {
            let reason = format!(
                "{width} columns; the model has {features} features: expected {features} columns, or {} with a target",
                features + 1
            );
            return Err(Failure::file(self.name(), reason));
        }
        let mut x = Array2::zeros((table.rows(), features));
        for (name, mut to) in columns.into_iter().zip(x.columns_mut()) {
            to.assign(&table.numbers(name).map_err(self.failed())?);
        }
        let names = if named { names.clone() } else { Names::NONE };
        Ok(Data { rows: Rows::Dense(Named { x, names }), y, encoder: None })
    }

    /// The name of a column that is given by its name or its number.
    fn column(&self, table: &Table, asked: &str) -> Result<String, Failure> {
        let names = table.names();
        let named = names.iter().find(|name| *name == asked);
        let numbered = || asked.parse().ok().and_then(|column: usize| names.get(column));
        named.or_else(numbered).cloned().ok_or_else(|| {
            let known = match has_header(table) {
                true => names.join(", "),
                false => format!("0 to {}", names.len() - 1),
            };
            let reason = format!("there is no column {asked:?}; there are {known}");
            Failure::file(self.name(), reason)
        })
    }

    /// The cells of the target.
    fn targets(&self, table: &Table, name: &str) -> Result<Vec<Target>, Failure> {
        let found = match table.column(name).map_err(self.failed())? {
            Column::Texts(_) => {
                table.texts(name).map(|texts| texts.into_iter().map(Target::Text).collect())
            }
            _ => table.numbers(name).map(|numbers| numbers.mapv(Target::Number).to_vec()),
        };
        found.map_err(self.failed())
    }
}

/// Whether the columns have names of their own; else they are x0, x1 and so on.
fn has_header(table: &Table) -> bool {
    table.names().iter().enumerate().any(|(c, name)| *name != format!("x{c}"))
}

/// Whether a column has a number in each row.
fn complete(column: &Column) -> bool {
    matches!(column, Column::Numbers(values) if values.iter().all(|value| !value.is_nan()))
}

/// How a table becomes a design.
#[derive(Debug, clap::Args)]
pub(crate) struct Encode {
    /// Columns of CSV that are no features: names, or numbers from 0
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    without: Vec<String>,
    /// What a text becomes in `predict` that its column did not have in the fit
    #[arg(long, value_enum, default_value_t = UnknownText::Refused)]
    unknown: UnknownText,
}

impl Encode {
    fn refuse_libsvm(&self) -> Result<(), Failure> {
        let reason = "--without is for CSV; LIBSVM text has no columns to name";
        if self.without.is_empty() { Ok(()) } else { Err(Failure::Usage(reason.to_owned())) }
    }
}

/// A text that the fit did not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnknownText {
    /// An error
    Refused,
    /// None of the texts of the fit
    None,
}

impl From<UnknownText> for Unknown {
    fn from(unknown: UnknownText) -> Self {
        match unknown {
            UnknownText::Refused => Unknown::Refuse,
            UnknownText::None => Unknown::Zeros,
        }
    }
}

/// The first line with content, and the whole text. Lines that LIBSVM text would take for comments are passed over.
fn first_line(mut text: Text) -> std::io::Result<(Vec<u8>, Text)> {
    let mut head = Vec::new();
    let begin = read_head(&mut text, &mut head, |line| {
        !matches!(line.trim_ascii().first(), None | Some(b'#'))
    })?;
    Ok((head[begin..].trim_ascii().to_vec(), Box::new(Cursor::new(head).chain(text))))
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
