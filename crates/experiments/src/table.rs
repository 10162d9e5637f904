//! Tables, stored as data. They can be written as CSV in full precision, as aligned text and as Markdown.

use serde::{Deserialize, Serialize};

use fenchel_linalg::text;
use fenchel_plot::number;

use crate::Error;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The name of the quantity in the column.
    pub name: String,
    /// The unit of the column; empty for none.
    pub unit: String,
}

impl Column {
    /// A column with a unit.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Column { name: name.into(), unit: unit.into() }
    }

    /// The heading: `name (unit)`.
    pub fn heading(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.unit)
        }
    }
}

/// A column can be made from `"name"` or `("name", "unit")`.
impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Column::new(name, "")
    }
}

impl From<String> for Column {
    fn from(name: String) -> Self {
        Column::new(name, "")
    }
}

impl From<(&str, &str)> for Column {
    fn from((name, unit): (&str, &str)) -> Self {
        Column::new(name, unit)
    }
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// Words, left aligned.
    Text(String),
    /// A number, right aligned. It may be NaN or infinite.
    Number(#[serde(with = "number::one")] f64),
}

impl Cell {
    /// The text of the cell for people. Numbers have four significant digits.
    pub fn short(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(value) => text::short(*value),
        }
    }

    /// The text of the cell for files. Numbers have full precision.
    pub fn exact(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(value) => text::exact(*value),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Number(value)
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Cell::Number(value.into())
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        // Beyond 2^53 the digits matter more than being a number.
        if value < 1 << 53 { Cell::Number(value as f64) } else { Cell::Text(value.to_string()) }
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Cell::from(value as u64)
    }
}

/// The cells of a row of text and numbers: `row!["SAGA", 0.5]`.
macro_rules! row {
    ($($cell:expr),+ $(,)?) => { [$($crate::Cell::from($cell)),+] };
}
pub(crate) use row;

/// A missing value is a dash.
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Cell::Text("–".into()), Into::into)
    }
}

/// A table of text and numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The title. The name of the CSV file is derived from it.
    pub title: String,
    /// Columns, left to right.
    pub columns: Vec<Column>,
    /// Rows. A row that is too short is filled up with empty cells.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows. A column is given as `"name"` or `("name", "unit")`.
    pub fn new<C: Into<Column>>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        Table {
            title: title.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. A row with text and numbers is written as `["SAGA".into(), 0.5.into()]`.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) -> &mut Self {
        self.rows.push(row.into_iter().collect());
        self
    }

    /// Whether a column is right aligned. Such a column contains a number and hardly any text.
    pub fn is_numeric(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let (mut numbers, mut words) = (0, 0);
        for cell in cells {
            match cell {
                Cell::Number(_) => numbers += 1,
                Cell::Text(text) => words += i32::from(!["", "–"].contains(&text.as_str())),
            }
        }
        numbers > words
    }

    /// The table as CSV, with units in the headings and numbers in full precision.
    ///
    /// # Errors
    /// [`Error::Encode`].
    pub fn to_csv(&self) -> Result<String, Error> {
        let headings = self.columns.iter().map(Column::heading).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::exact).collect());
        csv_text(&self.title, headings, rows)
    }

    /// The table as aligned plain text, for a terminal.
    pub fn to_text(&self) -> String {
        let headings = self.columns.iter().map(Column::heading).collect();
        let mut lines: Vec<Vec<String>> = vec![headings];
        lines.extend(self.rows.iter().map(|row| row.iter().map(Cell::short).collect()));
        let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| lines.iter().filter_map(|l| l.get(c)).map(|s| s.chars().count()).max())
            .map(|width| width.unwrap_or(0))
            .collect();
        let numeric: Vec<bool> = (0..columns).map(|c| self.is_numeric(c)).collect();
        let mut text = format!("{}\n", self.title);
        for (k, line) in lines.iter().enumerate() {
            let cells: Vec<String> = (0..columns)
                .map(|c| {
                    let (cell, width) = (line.get(c).map_or("", String::as_str), widths[c]);
                    if numeric[c] { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                })
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
            if k == 0 {
                let rules: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
                text.push_str(&rules.join("  "));
                text.push('\n');
            }
        }
        text
    }

    /// The table as Markdown, without its title.
    pub fn to_markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&mut self.columns.iter().map(Column::heading));
        text += &format!("|{}\n", "---|".repeat(self.columns.len()));
        for row in &self.rows {
            text += &line(&mut row.iter().map(Cell::short));
        }
        text
    }
}

/// The CSV text of a heading and rows. Rows may differ in length.
pub(crate) fn csv_text(
    what: &str,
    headings: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<String, Error> {
    let encode = |reason: String| Error::Encode { what: format!("CSV of `{what}`"), reason };
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    writer.write_record(&headings).map_err(|e| encode(e.to_string()))?;
    for row in rows {
        writer.write_record(&row).map_err(|e| encode(e.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|e| encode(e.to_string()))?;
    String::from_utf8(bytes).map_err(|e| encode(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table =
            Table::new("Passes to 1e-8", [("method", ""), ("passes", "n gradients"), ("gap", "")]);
        table.push(["SAGA, \"plain\"".into(), 12.0.into(), (1.0 / 3.0).into()]);
        table.push(["SAG".into(), 7_usize.into(), f64::NAN.into()]);
        table.push(["L-BFGS".into(), None::<f64>.into(), 1e-9.into()]);
        table
    }

    #[test]
    fn csv_keeps_every_digit_and_quotes_what_needs_it() {
        assert_eq!(
            sample().to_csv().unwrap(),
            "method,passes (n gradients),gap\n\
             \"SAGA, \"\"plain\"\"\",12,0.3333333333333333\n\
             SAG,7,NaN\n\
             L-BFGS,–,1e-9\n"
        );
    }

    #[test]
    fn text_aligns_numbers_to_the_right() {
        let text = sample().to_text();
        assert_eq!(
            text,
            "Passes to 1e-8\n\
             method         passes (n gradients)     gap\n\
             -------------  --------------------  ------\n\
             SAGA, \"plain\"                    12  0.3333\n\
             SAG                               7     NaN\n\
             L-BFGS                            –    1e-9\n"
        );
    }

    #[test]
    fn markdown_escapes_bars() {
        let mut table = Table::new("t", [("|x|", "m")]);
        table.push([1.5.into()]).push(["a|b".into()]);
        assert_eq!(table.to_markdown(), "| \\|x\\| (m) |\n|---|\n| 1.5 |\n| a\\|b |\n");
    }

    #[test]
    fn a_table_without_columns_or_rows_is_text_and_csv_all_the_same() {
        let empty = Table::new("empty", [] as [&str; 0]);
        assert_eq!(empty.to_text(), "empty\n\n\n");
        assert!(empty.to_csv().is_ok());
        let mut ragged = Table::new("ragged", ["a"]);
        ragged.push(["x".into(), "y".into()]).push([]);
        assert!(ragged.to_text().contains('y'));
        assert!(ragged.to_csv().is_ok());
    }
}
