//! The text of a linear model: its weights by name.

use std::fmt;

use fenchel_linalg::Names;

/// The weights that are not 0, a line each, in the order of the features. `columns` has a heading and one weight per feature for
/// each column of the table, and the intercept.
pub(super) struct Coefficients<'a> {
    pub(super) kind: &'static str,
    pub(super) names: &'a Names,
    pub(super) columns: Vec<(String, Vec<f64>, f64)>,
}

impl fmt::Display for Coefficients<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const INTERCEPT: &str = "(intercept)";
        let features = self.columns.first().map_or(0, |(_, weights, _)| weights.len());
        let counts = |c: &usize| self.columns.iter().any(|(_, weights, _)| weights[*c] != 0.0);
        let support: Vec<usize> = (0..features).filter(counts).collect();
        let length = |name: &str| name.chars().count();
        let width = support.iter().map(|&c| length(&self.names.of(c))).max().unwrap_or(0);
        let width = width.max(INTERCEPT.len());
        writeln!(f, "{}: {} of {features} weights are not 0", self.kind, support.len())?;
        write!(f, "{:width$}", "")?;
        for (heading, ..) in &self.columns {
            write!(f, "  {heading:>12}")?;
        }
        write!(f, "\n{INTERCEPT:width$}")?;
        for (heading, _, intercept) in &self.columns {
            write!(f, "  {:>1$}", number(*intercept), length(heading).max(12))?;
        }
        for c in support {
            write!(f, "\n{:width$}", self.names.of(c))?;
            for (heading, weights, _) in &self.columns {
                write!(f, "  {:>1$}", number(weights[c]), length(heading).max(12))?;
            }
        }
        Ok(())
    }
}

/// Six digits behind the point, or six in all for what is too small or too large for that.
fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e6).contains(&size) { format!("{x:.6}") } else { format!("{x:.5e}") }
}
