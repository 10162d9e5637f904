//! One sentence of a document, judged on several data sets together.

use std::fmt;

use crate::claim::{Case, Measured, Sentence};
use crate::{Claim, Failure, Judged};

/// A sentence on SAG that is judged on data and on turning features.
pub(super) const SLOW_PERMUTED: crate::Source = crate::documents::defazio(
    "5.2",
    "[With SAG] The permuted ordering is extremely slow, sometimes diverging, particularly if aggressive step sizes are used.",
);

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
            Need::Most => "on most data sets (the project's reading)",
            Need::One => "on one data set at least (the project's reading)",
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
            let not = match (case.holds, holds) {
                (true, _) => "",
                (false, true) => " (not here)",
                (false, false) => " (does not hold)",
            };
            format!("{}{not}: {}", case.name, case.measured)
        };
        let text = cases.iter().map(text).collect::<Vec<_>>().join("; ");
        Ok(Judged::from(((format!("holds on {held} of {count}: {text}"), cases), holds)))
    }
}

/// A data set of a sentence.
pub(crate) trait Subject {
    /// Its name, and whether it is one of the document's. On others the sentences are shown, not judged.
    fn named(&self) -> (&'static str, bool);
}

/// The sets that are the document's, or all if none is, by their places; and whether one is.
fn shown(sets: &[impl Subject]) -> (Vec<(usize, &'static str)>, bool) {
    let named = || sets.iter().map(Subject::named).enumerate();
    let real = named().any(|(_, (_, own))| own);
    let shown = named().filter(|(_, (_, own))| *own || !real);
    (shown.map(|(k, (name, _))| (k, name)).collect(), real)
}

/// A sentence of the document over several data sets: judged on those that are the document's, shown on others if none is. `row`
/// judges one set.
pub(crate) fn over(
    sets: &[impl Subject],
    need: Need,
    sentence: Sentence,
    threshold: &str,
    row: impl Fn(usize) -> Result<Judged, Failure>,
) -> Result<Claim, Failure> {
    let (shown, real) = shown(sets);
    let everywhere = if sets.len() > 1 { format!(", {need}") } else { String::new() };
    let judged = need.over(shown.into_iter().map(|(k, name)| Ok((name, row(k)?))))?;
    let claim = sentence.document(format!("{threshold}{everywhere}")).holds(judged);
    Ok(claim.on_real_data(real, "the sentence is about other data. On these, which stand in"))
}

/// Numbers of a sentence that states none, for the same sets.
pub(crate) fn list(
    sets: &[impl Subject],
    row: impl Fn(usize) -> Result<String, Failure>,
) -> Result<Measured, Failure> {
    let case = |(k, name): (usize, &str)| {
        Ok(Case { name: name.to_owned(), measured: row(k)?, holds: true })
    };
    let cases = shown(sets).0.into_iter().map(case).collect::<Result<Vec<_>, Failure>>()?;
    let text = cases.iter().map(|case| format!("{}: {}", case.name, case.measured));
    Ok((text.collect::<Vec<_>>().join("; "), cases).into())
}
