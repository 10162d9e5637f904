//! One sentence of a document, judged on several data sets together.

use std::fmt;

use crate::claim::Case;
use crate::{Failure, Judged};

/// On how many of its data sets a sentence must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    All,
    /// More than half.
    Most,
    /// "Can", "up to", "sometimes".
    One,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Need::All => "on all data sets",
            Need::Most => "on most data sets",
            Need::One => "on one data set at least",
        })
    }
}

impl Need {
    /// The verdict over the rows of all data sets, and the rows as text.
    pub(crate) fn over<'n>(
        self,
        rows: impl IntoIterator<Item = Result<(&'n str, Judged), Failure>>,
    ) -> Result<Judged, Failure> {
        let mut cases = Vec::new();
        for row in rows {
            let (name, Judged { measured, holds }) = row?;
            cases.push(Case { name: name.to_owned(), measured: measured.text, holds });
        }
        let (count, held) = (cases.len(), cases.iter().filter(|case| case.holds).count());
        let holds = match self {
            Need::All => count > 0 && held == count,
            Need::Most => 2 * held > count,
            Need::One => held > 0,
        };
        let text = |case: &Case| {
            let not = if case.holds { "" } else { " (does not hold)" };
            format!("{}{not}: {}", case.name, case.measured)
        };
        let text = cases.iter().map(text).collect::<Vec<_>>().join("; ");
        Ok(Judged::from(((format!("on {held} of {count}: {text}"), cases), holds)))
    }
}

/// Numbers of several data sets, each behind the name of its set.
pub(crate) fn listed<'n>(
    rows: impl IntoIterator<Item = Result<(&'n str, String), Failure>>,
) -> Result<String, Failure> {
    let rows = rows.into_iter().map(|row| row.map(|(name, text)| format!("{name}: {text}")));
    Ok(rows.collect::<Result<Vec<_>, _>>()?.join("; "))
}
