//! Numbers by name, as text.

use std::fmt;

use ndarray::ArrayView2;

use super::names::Names;

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
        let support = self.support();
        let length = |name: &str| name.chars().count();
        let names = support.iter().map(|&row| length(&self.names.of(row)));
        let first = self.first.iter().map(|(name, _)| length(name));
        let width = names.chain(first).max().unwrap_or(0);
        let widths: Vec<usize> = self.headings.iter().map(|h| length(h).max(10)).collect();
        write!(f, "{:width$}", "")?;
        for (heading, width) in self.headings.iter().zip(&widths) {
            write!(f, "  {heading:>width$}")?;
        }
        if let Some((name, values)) = &self.first {
            write!(f, "\n{name:width$}")?;
            for (value, width) in values.iter().zip(&widths) {
                write!(f, "  {:>width$}", number(*value))?;
            }
        }
        for row in support {
            write!(f, "\n{:width$}", self.names.of(row))?;
            for (value, width) in self.values.row(row).iter().zip(&widths) {
                write!(f, "  {:>width$}", number(*value))?;
            }
        }
        Ok(())
    }
}

/// Six digits behind the point, or four in all where these show too little or need too much space.
fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e3).contains(&x.abs()) { format!("{x:.6}") } else { format!("{x:.3e}") }
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
x2             -1.235e4        2.000000";
        assert_eq!(rows.to_string(), expected);
    }
}
