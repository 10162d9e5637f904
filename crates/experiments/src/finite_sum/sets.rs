//! One sentence of a document, judged on several data sets together.

use std::fmt;

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
        let (mut text, mut count, mut held) = (vec![], 0, 0);
        for row in rows {
            let (name, judged) = row?;
            count += 1;
            held += usize::from(judged.holds);
            let not = if judged.holds { "" } else { " (does not hold)" };
            text.push(format!("{name}{not}: {}", judged.measured.0));
        }
        let holds = match self {
            Need::All => count > 0 && held == count,
            Need::Most => 2 * held > count,
            Need::One => held > 0,
        };
        Ok(Judged::from((format!("on {held} of {count}: {}", text.join("; ")), holds)))
    }
}

/// Numbers of several data sets, each behind the name of its set.
pub(crate) fn listed<'n>(
    rows: impl IntoIterator<Item = Result<(&'n str, String), Failure>>,
) -> Result<String, Failure> {
    let rows = rows.into_iter().map(|row| row.map(|(name, text)| format!("{name}: {text}")));
    Ok(rows.collect::<Result<Vec<_>, _>>()?.join("; "))
}
