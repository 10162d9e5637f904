//! Names of columns.

use std::borrow::Cow;
use std::ops::Deref;

use crate::Invalid;

/// The names of the columns of a design, or none at all. A model keeps those of the design that it was fitted to.
///
/// It is a list of strings, in the order of the columns. It is empty if the columns have no names.
///
/// ```
/// use fenchel_linalg::Names;
///
/// let names = Names::new(["age", "plan=basic"]);
/// assert_eq!((names.of(1), names.find("age")), ("plan=basic".into(), Some(0)));
/// assert_eq!(Names::default().of(1), "x1");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Names(Vec<String>);

impl Names {
    /// No names.
    pub const NONE: Names = Names(Vec::new());

    /// One name per column.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Names {
        names.into_iter().map(Into::into).collect()
    }

    /// The name of column `c`. Without names it is `x0`, `x1` and so on.
    pub fn of(&self, c: usize) -> Cow<'_, str> {
        match self.0.get(c) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("x{c}")),
        }
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first column of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|found| found == name)
    }

    /// Checks that there are no names, or one for each of the columns.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    pub fn check(&self, columns: usize) -> Result<(), Invalid> {
        if self.0.is_empty() {
            return Ok(());
        }
        Invalid::check_length("names of the columns", columns, self.0.len())
    }

    /// Checks that a design has the columns of a fit, in their order. A design without names passes, and so does a fit
    /// without names.
    ///
    /// # Errors
    /// [`Invalid::Layout`] with the first column that has another name.
    pub fn check_design(&self, design: &Names) -> Result<(), Invalid> {
        match self.0.iter().zip(&design.0).position(|(fitted, found)| fitted != found) {
            None => Ok(()),
            Some(c) => {
                let (found, fitted) = (&design.0[c], &self.0[c]);
                let reason = format!("column {c} is {found:?}; expected {fitted:?}, as in the fit");
                Err(Invalid::Layout { what: "design matrix", reason })
            }
        }
    }
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Names {
        Names(names.into_iter().collect())
    }
}

impl Deref for Names {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_another_name_is_refused() {
        let fitted = Names::new(["age", "sex"]);
        assert!(fitted.check_design(&fitted).is_ok() && fitted.check_design(&Names::NONE).is_ok());
        assert!(Names::NONE.check_design(&fitted).is_ok());
        let error = fitted.check_design(&Names::new(["age", "plan"])).unwrap_err().to_string();
        assert_eq!(error, "design matrix: column 1 is \"plan\"; expected \"sex\", as in the fit");
    }

    #[test]
    fn there_is_a_name_for_each_column_or_none() {
        assert!(Names::NONE.check(3).is_ok() && Names::new(["a", "b"]).check(2).is_ok());
        let error = Names::new(["a"]).check(2).unwrap_err().to_string();
        assert_eq!(error, "names of the columns: expected length 2, found 1");
    }
}
