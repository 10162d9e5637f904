//! Tables of typed columns: numbers, dates and texts, with missing cells.
//!
//! [`table`](fn@table) and [`table_file`] read CSV and similar formats. With the feature `parquet`, `parquet` and
//! `parquet_file` read Parquet. [`Table::new`] makes a table of columns in memory. An [`Encoder`](crate::Encoder) turns a
//! table into a design with names; [`Table::design`] does so where all cells are numbers.

mod column;
mod date;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod reader;

#[cfg(feature = "parquet")]
pub use self::parquet::{parquet, parquet_file};
pub use column::{Column, Kind, Texts};
pub use reader::{Header, TableOptions, table, table_file};

pub(crate) use date::parse as parse_date;
pub(crate) use reader::is_missing;

use fenchel_linalg::{Invalid, Named, Names};
use ndarray::{Array1, Array2};

use crate::Error;

/// A table: columns with names, of one length. A column has numbers, dates or texts, and any cell may be missing.
///
/// ```
/// use fenchel_datasets::{Table, TableOptions, table};
///
/// let text = "name,plan,since,age\nAnn,pro,2024-03-01,31\nBo,basic,2023-11-15,\n";
/// let customers = table(text.as_bytes(), &TableOptions::default())?;
/// assert_eq!((customers.rows(), customers.names()), (2, &["name", "plan", "since", "age"].map(String::from)[..]));
/// assert_eq!(customers.texts("plan")?, ["pro", "basic"]);
/// assert_eq!(customers.numbers("since")?.to_vec(), [19783.0, 19676.0]); // days since 1970
/// assert_eq!(
///     customers.numbers("age").unwrap_err().to_string(),
///     "table: column \"age\" has no value in row 1; expected a number"
/// );
///
/// // The same by hand, as from arrays of another library.
/// let by_hand = Table::new([("plan", vec!["pro", "basic"].into()), ("age", vec![31.0, f64::NAN].into())])?;
/// assert_eq!(by_hand.select(&[1])?.texts("plan")?, ["basic"]);
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

impl Table {
    /// A table of columns. A `Vec<f64>` is a column of numbers, where NaN is a missing cell; a `Vec<&str>` or a
    /// `Vec<Option<&str>>` is one of texts.
    ///
    /// # Errors
    /// [`Invalid`] without columns, for columns of different lengths, for two columns of one name, and for infinite numbers.
    pub fn new<N: Into<String>>(
        columns: impl IntoIterator<Item = (N, Column)>,
    ) -> Result<Table, Error> {
        let (names, columns): (Vec<String>, Vec<Column>) =
            columns.into_iter().map(|(name, column)| (name.into(), column)).unzip();
        let Some(rows) = columns.first().map(Column::len) else {
            return Err(Invalid::Empty { what: "table" }.into());
        };
        let mut known = std::collections::HashSet::new();
        for (name, column) in names.iter().zip(&columns) {
            if !known.insert(name) {
                return Err(refused(format!("two columns have the name {name:?}")));
            }
            if column.len() != rows {
                let (found, first) = (column.len(), &names[0]);
                return Err(refused(format!(
                    "column {name:?} has {found} rows; expected {rows}, as column {first:?}"
                )));
            }
            if let Column::Numbers(values) | Column::Dates(values) = column
                && let Some(row) = values.iter().position(|value| value.is_infinite())
            {
                let value = values[row];
                return Err(refused(format!(
                    "column {name:?} is {value} in row {row}; expected a finite number, or NaN where it is missing"
                )));
            }
        }
        Ok(Table { names, columns, rows })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns. Columns of a file without a header are `x0`, `x1` and so on.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns with their names, in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, &Column)> {
        self.names.iter().map(String::as_str).zip(&self.columns)
    }

    /// The column of a name.
    ///
    /// # Errors
    /// [`Invalid::Layout`] with the names that there are.
    pub fn column(&self, name: &str) -> Result<&Column, Error> {
        match self.names.iter().position(|found| found == name) {
            Some(place) => Ok(&self.columns[place]),
            None => Err(refused(format!(
                "there is no column {name:?}; the columns are {:?}",
                self.names
            ))),
        }
    }

    /// The numbers of a column, or the days since 1970-01-01 of its dates: a target, say.
    ///
    /// # Errors
    /// [`Invalid::Layout`] if there is no such column, if it holds texts, or for the first missing cell.
    pub fn numbers(&self, name: &str) -> Result<Array1<f64>, Error> {
        Ok(numbers(name, self.column(name)?)?.to_vec().into())
    }

    /// The texts of a column: the labels of a classifier, say.
    ///
    /// # Errors
    /// [`Invalid::Layout`] if there is no such column, if it does not hold texts, or for the first missing cell.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Error> {
        let Column::Texts(texts) = self.column(name)? else {
            return Err(refused(format!("column {name:?} holds no texts; read it as Kind::Text")));
        };
        let text = |row| texts.get(row).map(str::to_owned);
        let missing =
            |row| refused(format!("column {name:?} has no value in row {row}; expected a text"));
        (0..self.rows).map(|row| text(row).ok_or_else(|| missing(row))).collect()
    }

    /// Some of the rows, in the order of `rows`; repeats are allowed.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for a row that is not there.
    pub fn select(&self, rows: &[usize]) -> Result<Table, Error> {
        if let Some(row) = rows.iter().find(|&&row| row >= self.rows) {
            return Err(refused(format!("there is no row {row} of {}", self.rows)));
        }
        let columns = self.columns.iter().map(|column| column.select(rows)).collect();
        Ok(Table { names: self.names.clone(), columns, rows: rows.len() })
    }

    /// The table without some of its columns.
    ///
    /// # Errors
    /// [`Invalid::Layout`] if one of them is not there, or if none is left.
    pub fn without(mut self, names: &[&str]) -> Result<Table, Error> {
        for name in names {
            self.column(name)?;
            let place = self.names.iter().position(|found| found == name);
            place.into_iter().for_each(|place| {
                self.names.remove(place);
                self.columns.remove(place);
            });
        }
        if self.columns.is_empty() {
            Err(Invalid::Empty { what: "table" }.into())
        } else {
            Ok(self)
        }
    }

    /// The columns as they are, `n x d`, with their names. For texts, missing cells and scales there is
    /// [`Encoder`](crate::Encoder).
    ///
    /// # Errors
    /// [`Invalid::Layout`] for the first column with texts or a missing cell.
    pub fn design(&self) -> Result<Named<Array2<f64>>, Error> {
        let mut x = Array2::zeros((self.rows, self.columns.len()));
        for ((name, column), mut to) in self.columns().zip(x.columns_mut()) {
            to.iter_mut().zip(numbers(name, column)?).for_each(|(to, value)| *to = *value);
        }
        Ok(Named { x, names: Names::new(&self.names) })
    }
}

fn numbers<'a>(name: &str, column: &'a Column) -> Result<&'a [f64], Error> {
    let (Column::Numbers(values) | Column::Dates(values)) = column else {
        return Err(refused(format!("column {name:?} holds texts; expected numbers")));
    };
    match values.iter().position(|value| value.is_nan()) {
        None => Ok(values),
        Some(row) => {
            Err(refused(format!("column {name:?} has no value in row {row}; expected a number")))
        }
    }
}

/// An error in the content of a table.
pub(crate) fn refused(reason: String) -> Error {
    Invalid::Layout { what: "table", reason }.into()
}
