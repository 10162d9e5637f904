//! Conversion between records of state names and arrays of numbers.
//!
//! Data are an array of states counted from 0, with one row per record and one column per variable in the order of the network.
//! A value that is not known is [`MISSING`].

use std::io::{Read, Write};
use std::path::Path;

use fenchel_linalg::{Invalid, Quotes};
use ndarray::{Array2, ArrayView2};

use super::{BayesNet, Names};
use crate::{Error, VarId, files};

/// The number that represents a missing value. [`BayesNet::encode`] uses it for `""`, `"?"` and `"NA"`, unless a state has that
/// name. [`Em`](super::Em) accepts it; functions that need complete data refuse it.
pub const MISSING: usize = usize::MAX;

const BLANKS: [&str; 3] = ["", "?", "NA"];

impl BayesNet {
    /// Converts records of state names to numbers, one row per record. The result is what [`fit_cpts`](Self::fit_cpts),
    /// [`log_likelihood`](Self::log_likelihood) and [`StructureScore`](super::StructureScore) take. `header` names the columns of the records in
    /// any order; columns that are not variables are ignored. Missing values become [`MISSING`].
    ///
    /// ```
    /// use fenchel_graphical::{BayesNet, Prior};
    ///
    /// let graph = BayesNet::builder()
    ///     .variable("rain", &["yes", "no"])
    ///     .variable("grass", &["wet", "dry"])
    ///     .arcs("rain", &[])
    ///     .arcs("grass", &["rain"])
    ///     .build()?;
    /// let records = [["1", "wet", "yes"], ["2", "dry", "no"], ["3", "dry", "no"]];
    /// let data = graph.encode(&["day", "grass", "rain"], &records)?;
    /// let net = graph.fit_cpts(data.view(), Prior::Dirichlet(1.0))?;
    /// assert_eq!(net.cpt_of(net.variable("rain")?), [0.4, 0.6]);
    /// assert_eq!(net.cpt_of(net.variable("grass")?), [2.0 / 3.0, 1.0 / 3.0, 0.25, 0.75]);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Cell`] with row and column for a state that a variable does not have; [`Error::UnknownName`] for a variable that
    /// no column has; [`Error::Duplicate`] for a column that is named twice; [`Error::Invalid`] for a record of another length.
    pub fn encode<R: AsRef<[S]>, S: AsRef<str>>(
        &self,
        header: &[&str],
        records: &[R],
    ) -> Result<Array2<usize>, Error> {
        let columns = self.columns(header.iter().copied())?;
        let mut data = Array2::zeros((records.len(), self.len()));
        for (row, (record, mut out)) in records.iter().zip(data.rows_mut()).enumerate() {
            let record = record.as_ref();
            Invalid::check_length("a record", header.len(), record.len())?;
            for (v, &column) in self.variables().zip(&columns) {
                out[v.index()] = self.read_cell(row, v, record[column].as_ref())?;
            }
        }
        Ok(data)
    }

    /// Makes a network and data from comma-separated values. Every column becomes a variable whose states are the distinct
    /// names in it, sorted. The network has no arcs, and its tables are the frequencies. If all values of a column are equal or
    /// missing, its variable has one state, which is called `""` if all are missing.
    ///
    /// ```
    /// use fenchel_graphical::BayesNet;
    ///
    /// let (net, data) = BayesNet::from_csv("rain,grass\nyes,wet\nno,dry\nno,?\n".as_bytes())?;
    /// assert_eq!(net.states_of(net.variable("grass")?), ["dry", "wet"]);
    /// assert_eq!(data.row(0).to_vec(), [1, 1]);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Duplicate`] for a column that is named twice; [`Error::Format`] with the line, and for a text without names or
    /// without records; [`Error::Io`].
    pub fn from_csv(mut from: impl Read) -> Result<(BayesNet, Array2<usize>), Error> {
        let mut text = Vec::new();
        from.read_to_end(&mut text)?;
        let mut reader = reader(text.as_slice());
        let header = header(&mut reader)?;
        let mut states = vec![std::collections::BTreeMap::<String, f64>::new(); header.len()];
        let mut record = csv::StringRecord::new();
        let mut empty = true;
        while next(&mut reader, &mut record)? {
            empty = false;
            for (states, cell) in states.iter_mut().zip(&record) {
                if !BLANKS.contains(&cell) {
                    *states.entry(cell.to_string()).or_insert(0.0) += 1.0;
                }
            }
        }
        if empty {
            let reason = "no records; expected a line of names, and a line for each record".into();
            return Err(Error::Format { line: 1, column: 1, reason });
        }
        let mut net = BayesNet::builder();
        for (name, states) in header.iter().zip(&states) {
            let names: Vec<&str> = states.keys().map(String::as_str).collect();
            let total: f64 = states.values().sum();
            let shares: Vec<f64> = states.values().map(|n| n / total).collect();
            net = if names.is_empty() {
                net.variable(name, &[""]).cpt(name, &[], &[1.0])
            } else {
                net.variable(name, &names).cpt(name, &[], &shares)
            };
        }
        let net = net.build()?;
        let data = net.read_csv(text.as_slice())?;
        Ok((net, data))
    }

    /// Does the same as [`from_csv`](Self::from_csv) for a file, compressed by gzip or not.
    ///
    /// # Errors
    /// [`Error::File`], which names the file, with the error of [`from_csv`](Self::from_csv) inside.
    pub fn from_csv_file(path: impl AsRef<Path>) -> Result<(BayesNet, Array2<usize>), Error> {
        files::read(path.as_ref(), BayesNet::from_csv)
    }

    /// Reads records from comma-separated values: a line of column names, then one line per record. A name that contains a
    /// comma is quoted by `"`. Columns and values are treated as in [`encode`](Self::encode).
    ///
    /// # Errors
    /// As [`encode`](Self::encode); [`Error::Format`] with the line for text that does not have this form; [`Error::Io`].
    pub fn read_csv(&self, from: impl Read) -> Result<Array2<usize>, Error> {
        let mut reader = reader(from);
        let header = header(&mut reader)?;
        let columns = self.columns(header.iter())?;
        let mut states = Vec::new();
        let mut record = csv::StringRecord::new();
        let mut rows = 0;
        while next(&mut reader, &mut record)? {
            for (v, &column) in self.variables().zip(&columns) {
                states.push(self.read_cell(rows, v, &record[column])?);
            }
            rows += 1;
        }
        let shape = (rows, self.len());
        Array2::from_shape_vec(shape, states)
            .map_err(|error| Invalid::Layout { what: "records", reason: error.to_string() }.into())
    }

    /// Reads records from a file of comma-separated values, packed by gzip or not.
    ///
    /// # Errors
    /// [`Error::File`], which names the file, with the error of [`read_csv`](Self::read_csv) inside.
    pub fn read_csv_file(&self, path: impl AsRef<Path>) -> Result<Array2<usize>, Error> {
        files::read(path.as_ref(), |text| self.read_csv(text))
    }

    /// Writes records as comma-separated values that [`read_csv`](Self::read_csv) reads back. Missing values are written as `""`,
    /// or as `?` or `NA` where the variable has a state without name.
    ///
    /// # Errors
    /// [`Error::Cell`] for a state that does not exist; [`Error::Invalid`] for another number of columns;
    /// [`Error::Unwritable`] for a missing value of a variable with states of all three names; [`Error::Io`].
    pub fn write_csv(&self, data: ArrayView2<'_, usize>, to: impl Write) -> Result<(), Error> {
        Invalid::check_length("columns of data", self.len(), data.ncols())?;
        let mut writer = csv::WriterBuilder::new().from_writer(to);
        writer.write_record(self.variables().map(|v| self.name_of(v))).map_err(fault)?;
        for (row, record) in data.rows().into_iter().enumerate() {
            let name =
                |v: VarId| match (self.states_of(v).get(record[v.index()]), record[v.index()]) {
                    (Some(state), _) => Ok(state.as_str()),
                    (None, MISSING) => {
                        let free = |blank: &&str| self.states[v.index()].find(blank).is_none();
                        BLANKS.into_iter().find(free).ok_or_else(|| Error::Unwritable {
                            format: "a missing value of CSV",
                            name: self.name_of(v).into(),
                        })
                    }
                    (None, state) => {
                        let cardinality = self.cards[v.index()];
                        let source = Error::State { variable: v, state, cardinality };
                        Err(Error::cell(row, format!("{:?}", self.name_of(v)), source))
                    }
                };
            let names: Vec<&str> = self.variables().map(name).collect::<Result<_, _>>()?;
            writer.write_record(names).map_err(fault)?;
        }
        Ok(writer.flush()?)
    }

    /// Writes records to a file of comma-separated values, packed by gzip if its name ends in `.gz`.
    ///
    /// # Errors
    /// [`Error::File`], which names the file, with the error of [`write_csv`](Self::write_csv) inside.
    pub fn write_csv_file(
        &self,
        data: ArrayView2<'_, usize>,
        path: impl AsRef<Path>,
    ) -> Result<(), Error> {
        files::write(path.as_ref(), |to| self.write_csv(data, to))
    }

    /// Checks that every cell is a state; `missing` says whether [`MISSING`] is one. `first` is the number of the first row.
    pub(super) fn check_data(
        &self,
        data: ArrayView2<'_, usize>,
        first: usize,
        missing: bool,
    ) -> Result<(), Error> {
        Invalid::check_length("columns of data", self.len(), data.ncols())?;
        for ((row, column), &state) in data.indexed_iter() {
            let variable = VarId(column as u32);
            let cardinality = self.cards[column];
            if state < cardinality || (missing && state == MISSING) {
                continue;
            }
            let source = unusable(variable, state, cardinality);
            return Err(Error::cell(first + row, format!("{:?}", self.name_of(variable)), source));
        }
        Ok(())
    }

    /// The column of every variable.
    fn columns<'a>(&self, header: impl Iterator<Item = &'a str>) -> Result<Vec<usize>, Error> {
        let mut known = Names::default();
        for name in header {
            known.add(name, || "column".into())?;
        }
        let column = |v: VarId| {
            let name = self.name_of(v);
            known.find(name).ok_or_else(|| known.unknown("column for variable".into(), name))
        };
        self.variables().map(column).collect()
    }

    fn read_cell(&self, row: usize, v: VarId, name: &str) -> Result<usize, Error> {
        match self.states[v.index()].find(name) {
            Some(state) => Ok(state),
            None if BLANKS.contains(&name) => Ok(MISSING),
            None => {
                let source = self.state(v, name).err().unwrap_or(Error::Missing);
                Err(Error::cell(row, format!("{:?}", self.name_of(v)), source))
            }
        }
    }
}

/// The reason why a cell cannot be used.
pub(crate) fn unusable(variable: VarId, state: usize, cardinality: usize) -> Error {
    match state {
        MISSING => Error::Missing,
        _ => Error::State { variable, state, cardinality },
    }
}

fn reader<R: Read>(from: R) -> csv::Reader<Quotes<R>> {
    csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(Quotes::new(from, b','))
}

/// The names of the columns.
fn header<R: Read>(reader: &mut csv::Reader<Quotes<R>>) -> Result<csv::StringRecord, Error> {
    let header = reader.headers().map_err(fault)?.clone();
    check_quotes(reader)?;
    Ok(header)
}

/// Reads the next record, if there is one.
fn next<R: Read>(
    reader: &mut csv::Reader<Quotes<R>>,
    record: &mut csv::StringRecord,
) -> Result<bool, Error> {
    let found = reader.read_record(record);
    check_quotes(reader)?;
    found.map_err(fault)
}

/// A quote without its partner takes the rest of the text for one cell.
fn check_quotes<R: Read>(reader: &csv::Reader<Quotes<R>>) -> Result<(), Error> {
    match reader.get_ref().unclosed() {
        None => Ok(()),
        Some(line) => {
            let reason = "a cell begins with a quote that does not end".into();
            Err(Error::Format { line, column: 1, reason })
        }
    }
}

fn fault(error: csv::Error) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let reason = format!("{len} cells; expected {expected_len}, as in the header");
            Error::Format { line, column: 1, reason }
        }
        csv::ErrorKind::Utf8 { .. } => {
            Error::Format { line, column: 1, reason: "the text is not UTF-8".into() }
        }
        other => Error::Format { line, column: 1, reason: format!("{other:?}") },
    }
}
