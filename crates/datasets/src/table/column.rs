//! Columns of a table.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Finite numbers.
    Number,
    /// Dates of ISO 8601, as `2024-03-01` or `2024-03-01T18:30Z`.
    Date,
    /// Any text: the levels of a category.
    Text,
}

/// A column of a table. Any of its cells may be missing.
#[derive(Debug, Clone)]
pub enum Column {
    /// Numbers. NaN is a missing cell.
    Numbers(Vec<f64>),
    /// Dates as days since 1970-01-01, with the time of the day as a fraction. NaN is a missing cell.
    Dates(Vec<f64>),
    /// Texts.
    Texts(Texts),
}

impl Column {
    /// The number of cells.
    pub fn len(&self) -> usize {
        match self {
            Column::Numbers(values) | Column::Dates(values) => values.len(),
            Column::Texts(texts) => texts.codes.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the cells are.
    pub fn kind(&self) -> Kind {
        match self {
            Column::Numbers(_) => Kind::Number,
            Column::Dates(_) => Kind::Date,
            Column::Texts(_) => Kind::Text,
        }
    }

    /// The cells of some rows, in the order of `rows`.
    pub(super) fn select(&self, rows: &[usize]) -> Column {
        match self {
            Column::Numbers(values) => Column::Numbers(rows.iter().map(|&i| values[i]).collect()),
            Column::Dates(values) => Column::Dates(rows.iter().map(|&i| values[i]).collect()),
            Column::Texts(Texts { levels, codes }) => {
                let codes = rows.iter().map(|&i| codes[i]).collect();
                Column::Texts(Texts { levels: levels.clone(), codes })
            }
        }
    }
}

impl From<Vec<f64>> for Column {
    fn from(numbers: Vec<f64>) -> Column {
        Column::Numbers(numbers)
    }
}

impl From<Texts> for Column {
    fn from(texts: Texts) -> Column {
        Column::Texts(texts)
    }
}

impl From<Vec<&str>> for Column {
    fn from(texts: Vec<&str>) -> Column {
        texts.into_iter().map(Some).collect::<Texts>().into()
    }
}

impl From<Vec<Option<&str>>> for Column {
    fn from(texts: Vec<Option<&str>>) -> Column {
        texts.into_iter().collect::<Texts>().into()
    }
}

/// A column of texts: a list of the different ones, and the place in this list for each row.
///
/// ```
/// use fenchel_datasets::table::Texts;
///
/// let plans: Texts = [Some("pro"), None, Some("basic"), Some("pro")].into_iter().collect();
/// assert_eq!(plans.levels(), ["pro", "basic"]);
/// assert_eq!((plans.get(0), plans.get(1)), (Some("pro"), None));
/// ```
#[derive(Debug, Clone)]
pub struct Texts {
    levels: Vec<String>,
    codes: Vec<Option<u32>>,
}

impl Texts {
    /// The different texts, in the order of their first row. Some may be in none of the rows that were selected from a table.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// For each row the place of its text among the levels; `None` for a missing cell.
    pub fn codes(&self) -> &[Option<u32>] {
        &self.codes
    }

    /// The text of a row. It is `None` if the cell is missing, or there is no such row.
    pub fn get(&self, row: usize) -> Option<&str> {
        let code = (*self.codes.get(row)?)?;
        Some(&self.levels[code as usize])
    }
}

impl<'a> FromIterator<Option<&'a str>> for Texts {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(texts: I) -> Texts {
        let mut growing = GrowingTexts::default();
        texts.into_iter().for_each(|text| growing.push(text));
        growing.into()
    }
}

/// A column of texts that is not complete.
#[derive(Default)]
pub(super) struct GrowingTexts {
    known: HashMap<String, u32>,
    codes: Vec<Option<u32>>,
}

impl GrowingTexts {
    pub(super) fn push(&mut self, text: Option<&str>) {
        let code = text.map(|text| {
            self.known.get(text).copied().unwrap_or_else(|| {
                let code = self.known.len() as u32;
                self.known.insert(text.to_owned(), code);
                code
            })
        });
        self.codes.push(code);
    }
}

impl From<GrowingTexts> for Texts {
    fn from(GrowingTexts { known, codes }: GrowingTexts) -> Texts {
        let mut levels = vec![String::new(); known.len()];
        known.into_iter().for_each(|(text, code)| levels[code as usize] = text);
        Texts { levels, codes }
    }
}
