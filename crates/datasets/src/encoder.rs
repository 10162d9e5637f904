//! From a table to a design: numbers are filled and scaled, texts become columns of zeros and ones.
//!
//! | column of the table | columns of the design | names |
//! |---|---|---|
//! | numbers, dates | one, of mean 0 and deviation 1 | `age` |
//! | the same with `indicators`, if cells were missing | one more, which is 1 where the cell is missing | `age missing` |
//! | texts | one for each level, ascending, which is 1 where the text is this level | `plan=basic` |
//! | texts with missing cells | one more, which is 1 where the cell is missing | `plan missing` |

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use fenchel_linalg::{CsrMatrix, Invalid, Named, Names, Standardiser, text};
use fenchel_optim::model::Saved;
use fenchel_optim::{MAX_MEMORY, Refusal, settings};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use crate::table::{Column, Kind, Table, TableOptions, is_missing, parse_date, refused};
use crate::{Error, number};

/// What stands for a missing number or date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingNumber {
    /// The mean of the column in the fit.
    #[default]
    Mean,
    /// The median of the column in the fit.
    Median,
    /// Nothing: a missing cell is an error.
    Refuse,
}

/// What stands for a missing text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingText {
    /// A level of its own. If no cell was missing in the fit, a missing cell is treated as an unknown level.
    #[default]
    Level,
    /// The most frequent level of the fit; of several the first in their order.
    Commonest,
    /// Nothing: a missing cell is an error.
    Refuse,
}

/// What a level that did not occur in the fit becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unknown {
    /// An error with the row, the column and the level.
    #[default]
    Refuse,
    /// Zeros in all columns of the levels.
    Zeros,
}

settings! {
    /// How a table becomes a design. [`fit`](Encoder::fit) learns the levels, centres, scales and fills from a table.
    ///
    /// ```
    /// use fenchel_datasets::{Encoder, TableOptions, encoder::MissingNumber, table};
    ///
    /// let text = "plan,age,left\npro,30,no\nbasic,,yes\nbasic,50,no\n";
    /// let customers = table(text.as_bytes(), &TableOptions::default())?;
    /// let encoder = Encoder { except: vec!["left".into()], standardise: false, ..Encoder::default() };
    /// let encoder = encoder.fit(&customers)?;
    /// let x = encoder.transform(&customers)?;
    /// assert_eq!(x.names[..], ["plan=basic", "plan=pro", "age"]);
    /// assert_eq!(x.x, ndarray::array![[0.0, 1.0, 30.0], [1.0, 0.0, 40.0], [1.0, 0.0, 50.0]]);
    ///
    /// // A new row, read as the encoder asks.
    /// let new = table("plan,age\ngold,20\n".as_bytes(), &encoder.options())?;
    /// assert_eq!(
    ///     encoder.transform(&new).unwrap_err().to_string(),
    ///     "table: column \"plan\" holds \"gold\" in row 0; expected one of the 2 levels of the fit, [\"basic\", \"pro\"]"
    /// );
    /// # Ok::<(), fenchel_datasets::Error>(())
    /// ```
    pub struct Encoder {
        /// Columns that are no features: the target, an identifier.
        except: Vec<String> = vec![],
        /// Whether numbers and dates get mean 0 and standard deviation 1, computed after missing cells are filled.
        standardise: bool = true,
        /// What stands for a missing number or date.
        missing_numbers: MissingNumber = MissingNumber::Mean,
        /// Whether a column in which numbers were missing gets a second one that says where.
        indicators: bool = false,
        /// What stands for a missing text.
        missing_texts: MissingText = MissingText::Level,
        /// What a level that did not occur in the fit becomes.
        unknown: Unknown = Unknown::Refuse,
        /// Whether the first level of each column of texts has no column in the design. A model without a penalty needs this:
        /// the columns of all levels add up to the intercept.
        drop_first: bool = false,
        /// The bytes that a design may need. `None` is no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

/// What an [`Encoder`] has learnt. It is saved beside the model, as `(encoder, model).save_file(path)`.
///
/// It prints a line for each column of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedEncoder {
    settings: Encoder,
    features: Vec<Feature>,
    scale: Standardiser,
    names: Names,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Feature {
    name: String,
    part: Part,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Part {
    Numbers { dates: bool, fill: Option<f64>, indicator: bool },
    Texts { levels: Vec<String>, missing: MissingAs },
}

/// What a missing text becomes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum MissingAs {
    /// The level behind the others.
    Last,
    /// A level among the others.
    Level(usize),
    /// An unknown one.
    Unknown,
    /// An error.
    Refused,
}

impl Encoder {
    /// Learns from the columns of a table, all but those of `except`. Missing cells do not count for means, medians and levels.
    /// O(cells), and O(k log k) for a column of `k` levels; a median sorts its column.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a table without rows or without features, for an exception that is not there, for a column of which all
    /// cells are missing, and for a missing cell where it is refused.
    pub fn fit(&self, table: &Table) -> Result<FittedEncoder, Error> {
        for name in &self.except {
            table.column(name)?;
        }
        if table.rows() == 0 {
            return Err(Invalid::Empty { what: "table (rows)" }.into());
        }
        let (mut features, mut filled) = (Vec::new(), Vec::new());
        let chosen = table.columns().filter(|(name, _)| !self.except.iter().any(|no| no == name));
        for (name, column) in chosen {
            let part = match column {
                Column::Numbers(values) | Column::Dates(values) => {
                    let dates = column.kind() == Kind::Date;
                    let present: Vec<f64> =
                        values.iter().copied().filter(|v| !v.is_nan()).collect();
                    let missing = values.len() - present.len();
                    check_some(name, present.len())?;
                    let fill = self.fill(present);
                    filled.push(self::filled(name, values, fill)?);
                    Part::Numbers { dates, fill, indicator: self.indicators && missing > 0 }
                }
                Column::Texts(texts) => {
                    let mut counts = vec![0usize; texts.levels().len()];
                    texts.codes().iter().flatten().for_each(|&code| counts[code as usize] += 1);
                    let levels = texts.levels().iter().zip(counts).filter(|(_, count)| *count > 0);
                    let mut levels: Vec<(&String, usize)> = levels.collect();
                    levels.sort();
                    check_some(name, levels.len())?;
                    let missing = texts.codes().iter().position(Option::is_none);
                    let missing = match (self.missing_texts, missing) {
                        (MissingText::Refuse, Some(row)) => return Err(no_value(name, row)),
                        (MissingText::Refuse, None) => MissingAs::Refused,
                        (MissingText::Level, Some(_)) => MissingAs::Last,
                        (MissingText::Level, None) => MissingAs::Unknown,
                        (MissingText::Commonest, _) => {
                            let most = levels.iter().map(|(_, count)| *count).max();
                            let first = levels.iter().position(|(_, count)| Some(*count) == most);
                            MissingAs::Level(first.unwrap_or(0))
                        }
                    };
                    let levels = levels.into_iter().map(|(level, _)| level.clone()).collect();
                    Part::Texts { levels, missing }
                }
            };
            features.push(Feature { name: name.to_owned(), part });
        }
        let names: Names =
            features.iter().flat_map(|feature| feature.names(self.drop_first)).collect();
        if names.is_empty() {
            return Err(Invalid::Empty { what: "table (columns that are features)" }.into());
        }
        let (means, deviations) = (Array1::zeros(names.len()), Array1::ones(names.len()));
        let mut encoder = FittedEncoder {
            settings: self.clone(),
            features,
            scale: Standardiser { means, deviations },
            names,
        };
        if self.standardise && !filled.is_empty() {
            encoder.learn_scale(&filled)?;
        }
        Ok(encoder)
    }

    /// What stands for a missing number in a column with these.
    fn fill(&self, mut present: Vec<f64>) -> Option<f64> {
        let n = present.len();
        match self.missing_numbers {
            MissingNumber::Mean => Some(present.iter().map(|value| value / n as f64).sum()),
            MissingNumber::Median => {
                present.sort_by(f64::total_cmp);
                Some(0.5 * present[(n - 1) / 2] + 0.5 * present[n / 2])
            }
            MissingNumber::Refuse => None,
        }
    }
}

fn check_some(name: &str, present: usize) -> Result<(), Error> {
    match present {
        0 => Err(refused(format!("column {name:?} has no value in any row; name it in `except`"))),
        _ => Ok(()),
    }
}

fn no_value(name: &str, row: usize) -> Error {
    refused(format!(
        "column {name:?} has no value in row {row}, and the encoder refuses missing cells"
    ))
}

/// The numbers of a column without gaps.
fn filled<'a>(name: &str, values: &'a [f64], fill: Option<f64>) -> Result<Cow<'a, [f64]>, Error> {
    match (values.iter().position(|value| value.is_nan()), fill) {
        (None, _) => Ok(Cow::Borrowed(values)),
        (Some(row), None) => Err(no_value(name, row)),
        (Some(_), Some(fill)) => {
            Ok(values.iter().map(|&value| if value.is_nan() { fill } else { value }).collect())
        }
    }
}

impl Feature {
    /// The names of its columns in the design.
    fn names(&self, drop_first: bool) -> Vec<String> {
        let name = &self.name;
        let missing = || format!("{name} missing");
        match &self.part {
            Part::Numbers { indicator, .. } => {
                [name.clone()].into_iter().chain(indicator.then(missing)).collect()
            }
            Part::Texts { levels, missing: becomes } => {
                let levels = levels.iter().map(|level| format!("{name}={level}"));
                let last = matches!(becomes, MissingAs::Last).then(missing);
                levels.chain(last).skip(usize::from(drop_first)).collect()
            }
        }
    }

    /// The cells of this column in a table that may be another than that of the fit.
    fn read(&self, table: &Table, settings: &Encoder) -> Result<Cells, Error> {
        let (name, column) = (self.name.as_str(), table.column(&self.name)?);
        let none = || vec![f64::NAN; table.rows()];
        let empty = || match column {
            Column::Numbers(values) | Column::Dates(values) => values.iter().all(|v| v.is_nan()),
            Column::Texts(texts) => texts.codes().iter().all(Option::is_none),
        };
        match &self.part {
            Part::Numbers { dates, fill, indicator } => {
                let raw: Cow<'_, [f64]> = match (column, dates) {
                    (Column::Numbers(values), false) | (Column::Dates(values), true) => {
                        values.into()
                    }
                    (Column::Texts(texts), _) => {
                        let parse = if *dates { parse_date } else { number::parse };
                        let expected =
                            if *dates { "a date such as 2024-03-01" } else { "a number" };
                        let value = |row: usize| {
                            match texts.get(row) {
                            None => Ok(f64::NAN),
                            Some(text) => {
                                parse(text.as_bytes()).filter(|value| value.is_finite()).ok_or_else(|| {
                                    refused(format!(
                                        "column {name:?} holds {text:?} in row {row}; expected {expected}"
                                    ))
                                })
                            }
                        }
                        };
                        (0..table.rows()).map(value).collect::<Result<_, _>>()?
                    }
                    _ if empty() => none().into(),
                    _ => {
                        let (found, fitted) =
                            if *dates { ("numbers", "dates") } else { ("dates", "numbers") };
                        return Err(refused(format!(
                            "column {name:?} holds {found}; expected {fitted}, as in the fit"
                        )));
                    }
                };
                let missing: Vec<usize> = if *indicator {
                    (0..raw.len()).filter(|&i| raw[i].is_nan()).collect()
                } else {
                    vec![]
                };
                let values = filled(name, &raw, *fill)?.into_owned();
                Ok(Cells::Numbers { values, indicator: *indicator, missing })
            }
            Part::Texts { levels, missing } => {
                let skipped = usize::from(settings.drop_first);
                let width = levels.len() + usize::from(*missing == MissingAs::Last) - skipped;
                let known: HashMap<&str, usize> =
                    levels.iter().enumerate().map(|(k, level)| (level.as_str(), k)).collect();
                let unknown = |row: usize, found: String| match settings.unknown {
                    Unknown::Zeros => Ok(None),
                    Unknown::Refuse => {
                        let (count, shown) = (levels.len(), &levels[..levels.len().min(10)]);
                        let more = if count > 10 { " and so on" } else { "" };
                        Err(refused(format!(
                            "column {name:?} holds {found} in row {row}; expected one of the {count} levels of the fit, {shown:?}{more}"
                        )))
                    }
                };
                let absent = |row: usize| match missing {
                    MissingAs::Last => Ok(Some(levels.len())),
                    MissingAs::Level(level) => Ok(Some(*level)),
                    MissingAs::Unknown => unknown(row, "no value".into()),
                    MissingAs::Refused => Err(no_value(name, row)),
                };
                let levels: Vec<Option<usize>> = match column {
                    Column::Texts(texts) => {
                        // Each level is looked up once, and refused where it first occurs.
                        let places: Vec<Option<usize>> = texts
                            .levels()
                            .iter()
                            .map(|text| known.get(text.as_str()).copied())
                            .collect();
                        let level = |(row, code): (usize, &Option<u32>)| match code {
                            None => absent(row),
                            Some(code) => match places[*code as usize] {
                                None => {
                                    unknown(row, format!("{:?}", texts.levels()[*code as usize]))
                                }
                                place => Ok(place),
                            },
                        };
                        texts.codes().iter().enumerate().map(level).collect::<Result<_, _>>()?
                    }
                    _ if empty() => (0..table.rows()).map(absent).collect::<Result<_, _>>()?,
                    _ => {
                        return Err(refused(format!(
                            "column {name:?} holds no texts, as it did in the fit; read the table with the `options` of the encoder"
                        )));
                    }
                };
                let levels = levels.into_iter().map(|k| k.and_then(|k| k.checked_sub(skipped)));
                Ok(Cells::Levels { places: levels.collect(), width })
            }
        }
    }
}

/// The cells of one column of a table, ready for the design.
enum Cells {
    Numbers { values: Vec<f64>, indicator: bool, missing: Vec<usize> },
    Levels { places: Vec<Option<usize>>, width: usize },
}

impl FittedEncoder {
    /// The names of the columns of the design.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Centres and scales of the columns of the design: 0 and 1 for zeros and ones. `model.for_raw_features(encoder.scale())` has
    /// weights for a year or a euro in place of a standard deviation.
    pub fn scale(&self) -> &Standardiser {
        &self.scale
    }

    /// The columns that a table must have, and their kinds.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, Kind)> {
        self.features.iter().map(|feature| {
            let kind = match feature.part {
                Part::Numbers { dates: false, .. } => Kind::Number,
                Part::Numbers { dates: true, .. } => Kind::Date,
                Part::Texts { .. } => Kind::Text,
            };
            (feature.name.as_str(), kind)
        })
    }

    /// How to read a table of new rows, so that its columns are of the kinds that this encoder has learnt. The first line has the
    /// names.
    pub fn options(&self) -> TableOptions {
        let kinds = self.columns().map(|(name, kind)| (name.to_owned(), kind));
        let header = crate::table::Header::Present;
        TableOptions { header, kinds: kinds.collect(), ..TableOptions::default() }
    }

    /// A dense design of the columns of the fit, one row for each row of the table. Other columns of the table are ignored, and
    /// so is the order of the columns. Texts that are numbers or dates are accepted where the fit had these. O(n d).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a column that is missing or of another kind, for an unknown level or a missing cell where it is refused;
    /// [`Error::Refused`] if the design needs more than `max_memory`.
    pub fn transform(&self, table: &Table) -> Result<Named<Array2<f64>>, Error> {
        let cells = self.read(table)?;
        let (n, d) = (table.rows(), self.names.len());
        let needed = (n as u64).saturating_mul(d as u64).saturating_mul(8);
        let hint = "use transform_sparse, or leave columns of many levels out by `except`";
        Refusal::check_memory("the dense design", needed, self.settings.max_memory, hint)?;
        let mut x = Array2::zeros((n, d));
        for (i, mut row) in x.rows_mut().into_iter().enumerate() {
            self.entries(&cells, i, |c, value| row[c] = value);
        }
        Ok(Named { x, names: self.names.clone() })
    }

    /// A design of one record, such as a request to a server. `cell` gives the text of a column by its name, and `None` where
    /// it is missing. Texts are read as [`table`](fn@crate::table) reads cells: blanks around them do not count, and `NA`,
    /// `null` and the like are missing. But a level of the fit is never missing: in a Parquet file `NA` is a text like
    /// others. O(d), and a search in the levels of each column of texts.
    ///
    /// ```
    /// use fenchel_datasets::{Encoder, TableOptions, table, table::Kind};
    /// use serde_json::{Value, json};
    ///
    /// let text = "plan,age\npro,30\nbasic,50\n";
    /// let customers = table(text.as_bytes(), &TableOptions::default())?;
    /// let encoder = Encoder { standardise: false, ..Encoder::default() }.fit(&customers)?;
    /// assert_eq!(encoder.columns().collect::<Vec<_>>(), [("plan", Kind::Text), ("age", Kind::Number)]);
    ///
    /// let encode = |record: Value| {
    ///     encoder.encode(|name| match &record[name] {
    ///         Value::Null => None,
    ///         Value::String(text) => Some(text.clone()),
    ///         number => Some(number.to_string()),
    ///     })
    /// };
    /// assert_eq!(encode(json!({"age": 42, "plan": "pro"}))?.x, ndarray::array![[0.0, 1.0, 42.0]]);
    /// assert_eq!(encode(json!({"age": null, "plan": "basic"}))?.x, ndarray::array![[1.0, 0.0, 40.0]]);
    /// assert!(encode(json!({"age": "old", "plan": "pro"})).is_err());
    /// # Ok::<(), fenchel_datasets::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`transform`](FittedEncoder::transform), for row 0.
    pub fn encode<T: AsRef<str>>(
        &self,
        mut cell: impl FnMut(&str) -> Option<T>,
    ) -> Result<Named<Array2<f64>>, Error> {
        let column = |Feature { name, part }: &Feature| {
            let cell = cell(name);
            let level = |text: &str| match part {
                Part::Texts { levels, .. } => {
                    levels.binary_search_by(|level| level.as_str().cmp(text)).is_ok()
                }
                Part::Numbers { .. } => false,
            };
            let text = cell.as_ref().map(AsRef::as_ref).and_then(|text| match text.trim() {
                _ if level(text) => Some(text),
                bare if level(bare) || !is_missing(bare.as_bytes()) => Some(bare),
                _ => None,
            });
            (name.clone(), Column::from(vec![text]))
        };
        self.transform(&Table::new(self.features.iter().map(column))?)
    }

    /// As [`transform`](FittedEncoder::transform), without the zeros. It is for columns of many levels. O(cells).
    ///
    /// # Errors
    /// As [`transform`](FittedEncoder::transform).
    pub fn transform_sparse(&self, table: &Table) -> Result<Named<CsrMatrix<f64>>, Error> {
        let cells = self.read(table)?;
        let (n, d) = (table.rows(), self.names.len());
        let needed = (n as u64).saturating_mul(12 * self.features.len() as u64);
        let hint = "transform fewer rows at a time";
        Refusal::check_memory("the sparse design", needed, self.settings.max_memory, hint)?;
        let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
        for i in 0..n {
            self.entries(&cells, i, |c, value| {
                if value != 0.0 {
                    columns.push(c as u32);
                    values.push(value);
                }
            });
            offsets.push(values.len());
        }
        let x = CsrMatrix::try_new((n, d), offsets, columns, values);
        let x = x.map_err(|(.., error)| refused(error.to_string()))?;
        Ok(Named { x, names: self.names.clone() })
    }

    fn read(&self, table: &Table) -> Result<Vec<Cells>, Error> {
        self.features.iter().map(|feature| feature.read(table, &self.settings)).collect()
    }

    /// Calls `f(column, value)` for the entries of row `i`, columns ascending.
    fn entries(&self, cells: &[Cells], i: usize, mut f: impl FnMut(usize, f64)) {
        let mut at = 0;
        for cells in cells {
            match cells {
                Cells::Numbers { values, indicator, missing } => {
                    f(at, (values[i] - self.scale.means[at]) / self.scale.deviations[at]);
                    if *indicator && missing.binary_search(&i).is_ok() {
                        f(at + 1, 1.0);
                    }
                    at += 1 + usize::from(*indicator);
                }
                Cells::Levels { places, width } => {
                    places[i].into_iter().for_each(|place| f(at + place, 1.0));
                    at += width;
                }
            }
        }
    }

    /// Learns the scale of the columns of numbers, given their cells.
    fn learn_scale(&mut self, filled: &[Cow<'_, [f64]>]) -> Result<(), Error> {
        let x = Array2::from_shape_fn((filled[0].len(), filled.len()), |(i, k)| filled[k][i]);
        let Standardiser { means, deviations } = Standardiser::fit(&x)?;
        let (mut at, mut k) = (0, 0);
        for feature in &self.features {
            if let Part::Numbers { .. } = feature.part {
                self.scale.means[at] = means[k];
                self.scale.deviations[at] = deviations[k];
                k += 1;
            }
            at += feature.names(self.settings.drop_first).len();
        }
        Ok(())
    }
}

impl fmt::Display for FittedEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = 0;
        for (k, feature) in self.features.iter().enumerate() {
            let Feature { name, part } = feature;
            write!(f, "{}{name}: ", if k > 0 { "\n" } else { "" })?;
            match part {
                Part::Numbers { dates, fill, .. } => {
                    let (centre, scale) = (self.scale.means[at], self.scale.deviations[at]);
                    let kind = if *dates { "days since 1970" } else { "numbers" };
                    write!(
                        f,
                        "{kind}, centre {}, scale {}",
                        text::number(centre, 6),
                        text::number(scale, 6)
                    )?;
                    match fill {
                        Some(fill) => write!(f, ", missing {}", text::number(*fill, 6))?,
                        None => write!(f, ", none missing")?,
                    }
                }
                Part::Texts { levels, .. } => {
                    let shown = levels[..levels.len().min(10)].join(", ");
                    let more = if levels.len() > 10 { " and so on" } else { "" };
                    write!(f, "{} levels, {shown}{more}", levels.len())?;
                }
            }
            at += feature.names(self.settings.drop_first).len();
        }
        Ok(())
    }
}

impl Saved for FittedEncoder {
    const KIND: &'static str = "encoder";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        for Feature { name, part } in &self.features {
            match part {
                Part::Numbers { fill, .. } => {
                    if fill.is_some_and(|fill| !fill.is_finite()) {
                        return Err(format!("the fill of column {name:?} is not finite"));
                    }
                }
                Part::Texts { levels, missing } => {
                    let within = !matches!(missing, MissingAs::Level(k) if *k >= levels.len());
                    let ascend = levels.windows(2).all(|pair| pair[0] < pair[1]);
                    if levels.is_empty() || !ascend || !within {
                        return Err(format!("the levels of column {name:?} do not ascend"));
                    }
                }
            }
        }
        let drop_first = self.settings.drop_first;
        let expected: Names = self.features.iter().flat_map(|f| f.names(drop_first)).collect();
        if self.names != expected || self.names.len() != self.scale.means.len() {
            return Err("the names are not those of the columns".into());
        }
        self.scale.check()
    }
}
