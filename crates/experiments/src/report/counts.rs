//! This module counts claims by the kind of data, by the origin of the threshold and by the verdict. The page of the report and
//! the README of the workspace show the same table.

use std::path::Path;

use fenchel_linalg::text::number;

use super::{Entry, Provenance, files};
use crate::{Claim, Error, Expectation, Ground, Origin, Table, Verdict};

const BEGIN: &str = "<!-- counts: written by `cargo xtask reproduce --readme` -->\n";
const END: &str = "<!-- end of counts -->\n";

/// The number of claims that pass among those that are judged. The rows of the table are kinds of data, and the columns are
/// origins of the threshold.
pub fn counts(entries: &[Entry]) -> Table {
    let claims: Vec<&Claim> =
        entries.iter().filter_map(Entry::outcome).flat_map(|outcome| &outcome.claims).collect();
    let columns = [
        "measured on",
        "threshold of the document",
        "ours",
        "known not to reproduce",
        "shown only",
        "judged at the document's size",
    ];
    let mut table = Table::new("Claims that pass, of those that are judged", columns);
    let grounds = [Some(Ground::Real), Some(Ground::Generated), Some(Ground::Exact), None];
    for ground in grounds {
        let here = || claims.iter().filter(|c| ground.is_none_or(|ground| c.ground == ground));
        let mut row = vec![ground.map_or("all".to_owned(), |ground| ground.to_string()).into()];
        for origin in [Origin::Document, Origin::Ours] {
            let judged =
                |c: &&&Claim| c.threshold.origin == origin && c.verdict != Verdict::Reported;
            let pass = here().filter(judged).filter(|c| c.verdict == Verdict::Pass).count();
            row.push(format!("{pass} of {}", here().filter(judged).count()).into());
        }
        let known = |c: &&&Claim| {
            matches!(c.registered, Expectation::DoesNotReproduce { .. }) && !c.differs()
        };
        row.push(here().filter(known).count().into());
        // What is only shown has often no one kind of data.
        let shown = || here().filter(|c| c.verdict == Verdict::Reported).count();
        row.push(ground.map_or_else(|| shown().into(), |_| "".into()));
        let sized = || here().filter(|c| c.verdict != Verdict::Reported && c.smaller.is_some());
        let whole = sized().filter(|c| c.smaller.as_deref() == Some("")).count();
        row.push(format!("{whole} of {}", sized().count()).into());
        table.push(row);
    }
    table
}

/// Writes the counts into a README, between its two marker comments. The run must have an outcome of every experiment, with all
/// real data.
///
/// # Errors
/// [`Error::Counts`] for an incomplete run or a README without markers; [`Error::File`] if the README cannot be read or written.
pub fn write_counts(
    readme: &Path,
    provenance: &Provenance,
    entries: &[Entry],
) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::Counts { reason });
    for entry in entries {
        let id = entry.experiment.id;
        if entry.outcome().is_none() {
            return refuse(format!("{id} has no outcome"));
        }
        if let Some(set) =
            entry.experiment.needs.iter().find(|set| !entry.data.contains(&(**set).to_owned()))
        {
            return refuse(format!("{id} ran without {set}"));
        }
    }
    let text = std::fs::read_to_string(readme)
        .map_err(|source| Error::File { path: readme.to_owned(), source })?;
    let Some((before, rest)) = text.split_once(BEGIN) else {
        return refuse(format!("{} lacks the line {}", readme.display(), BEGIN.trim_end()));
    };
    let Some((_, after)) = rest.split_once(END) else {
        return refuse(format!("{} lacks the line {}", readme.display(), END.trim_end()));
    };
    let date = provenance.facts.iter().find(|(name, _)| name == "Date");
    let date = date.map_or(String::new(), |(_, date)| format!(" on {date}"));
    let size = provenance.size;
    let experiments = entries.len();
    let table = counts(entries);
    let text = format!(
        "{before}{BEGIN}{} ({experiments} experiments, {size} run with real data{date}):\n\n{}{END}{after}",
        table.title,
        table.to_markdown()
    );
    files::write_atomically(readme, text.as_bytes())
}

/// Writes the seconds of each experiment as `id,seconds`, for [`registry::recorded_seconds`](crate::registry::recorded_seconds).
///
/// # Errors
/// [`Error::File`].
pub fn write_seconds(path: &Path, entries: &[Entry]) -> Result<(), Error> {
    let row =
        |entry: &Entry| Some(format!("{},{}\n", entry.experiment.id, number(entry.seconds?, 2)));
    files::write_atomically(path, entries.iter().filter_map(row).collect::<String>().as_bytes())
}
