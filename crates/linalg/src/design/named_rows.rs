//! Numbers by name, as text.

use std::fmt;

use ndarray::ArrayView2;

use super::names::Names;
use crate::text::{aligned, cell};

/// A table of numbers that prints one line per name. A line of which all numbers are 0 is left out.
///
/// ```
/// use fenchel_linalg::{NamedRows, Names};
/// use ndarray::array;
///
/// let values = array![[0.5], [0.0], [-1.0]];
/// let names = Names::new(["age", "city=Rome", "plan=basic"]);
/// let rows = NamedRows { headings: vec!["weight".into()], first: None, names: &names, values: values.view() };
/// assert_eq!(rows.to_string(), "                weight\nage           0.500000\nplan=basic   -1.000000");
/// ```
#[derive(Debug, Clone)]
pub struct NamedRows<'a> {
    /// The heading of each column.
    pub headings: Vec<String>,
    /// A line before the others: its name, and a number for each column.
    pub first: Option<(&'a str, Vec<f64>)>,
    /// The names of the rows, or none.
    pub names: &'a Names,
    /// The numbers.
    pub values: ArrayView2<'a, f64>,
}

impl NamedRows<'_> {
    /// The rows of which a number is not 0.
    pub fn support(&self) -> Vec<usize> {
        let rows = self.values.rows().into_iter().enumerate();
        rows.filter(|(_, row)| row.iter().any(|v| *v != 0.0)).map(|(row, _)| row).collect()
    }
}

impl fmt::Display for NamedRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A heading is at least as wide as a number.
        let headings = self.headings.iter().map(|heading| format!("{heading:>10}"));
        let mut lines = vec![std::iter::once(String::new()).chain(headings).collect()];
        let mut line = |name: String, values: &mut dyn Iterator<Item = f64>| {
            lines.push(std::iter::once(name).chain(values.map(cell)).collect());
        };
        if let Some((name, values)) = &self.first {
            line((*name).to_owned(), &mut values.iter().copied());
        }
        for row in self.support() {
            line(self.names.of(row).into_owned(), &mut self.values.row(row).iter().copied());
        }
        f.write_str(aligned(&lines, 1).trim_end_matches('\n'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn columns_are_aligned_and_numbers_of_any_size_fit() {
        let values = array![[1e-9, 0.0], [0.0, 0.0], [-12345.678, 2.0]];
        let rows = NamedRows {
            headings: vec!["a".into(), "a long heading".into()],
            first: Some(("(intercept)", vec![0.0, 1.0])),
            names: &Names::NONE,
            values: values.view(),
        };
        let expected = "\
\x20                     a  a long heading
(intercept)    0.000000        1.000000
x0             1.000e-9        0.000000
x2             -12345.7        2.000000";
        assert_eq!(rows.to_string(), expected);
        let long = Names::new(["a".repeat(70_000)]);
        let one = array![[1.0]];
        let rows =
            NamedRows { headings: vec!["w".into()], first: None, names: &long, values: one.view() };
        assert!(rows.to_string().ends_with("a    1.000000"));
    }
}
