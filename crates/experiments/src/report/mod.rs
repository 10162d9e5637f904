//! This module stores the outcomes of experiments and writes the report.
//!
//! A report is a folder with these files:
//!
//! ```text
//! report.html          one self-contained page
//! fs-ex1.json          the stored outcome of an experiment, read back by the next run (Store)
//! fs-ex1/figure-1-gap-against-passes.csv, .svg
//! fs-ex1/table-1-passes-to-1e-8.csv
//! ```
//!
//! The page depends only on the entries and on [`Provenance`]. The same entries and the same provenance give the same bytes.
//! Every file is written atomically, so an interrupted run leaves no partial file.

mod counts;
mod entry;
mod files;
mod html;
mod store;

use std::path::{Path, PathBuf};

pub use counts::{counts, write_counts, write_seconds};
pub use entry::{Entry, Provenance, State};
pub use store::{Key, Record, Store, build_fingerprint};

use crate::table::csv_text;
use crate::{Error, Figure, Outcome};
use entry::{Attachments, Drawing};

/// Writes the page of the report and the CSV and SVG files into `folder`, which is created if it does not exist. Returns the path
/// of the page.
///
/// # Errors
/// [`Error::File`] or [`Error::Encode`].
pub fn write(folder: &Path, provenance: &Provenance, entries: &[Entry]) -> Result<PathBuf, Error> {
    let mut attachments = Vec::with_capacity(entries.len());
    for entry in entries {
        attachments.push(match entry.outcome() {
            Some(outcome) => attach(folder, entry.experiment.id, outcome)?,
            None => Attachments::default(),
        });
    }
    let page = html::page(provenance, entries, &attachments);
    let path = folder.join("report.html");
    files::write_atomically(&path, page.as_bytes())?;
    Ok(path)
}

/// The figure as a file of its own: what stands beside it on the page is a part of its note.
fn alone(figure: &Figure) -> Figure {
    let caption = figure.caption.replace('`', "");
    let note = [figure.note.as_str(), caption.as_str()].join(" ");
    Figure { note: note.trim().to_owned(), ..figure.clone() }
}

fn attach(folder: &Path, id: &str, outcome: &Outcome) -> Result<Attachments, Error> {
    let own = folder.join(id);
    // What a former version of the experiment drew must not look like part of this one.
    files::remove_by_extension(&own, &["csv", "svg", "dot"])?;
    let mut attachments = Attachments::default();
    let mut keep = |title: &str, caption: &str, svgs: (String, String), data: (&str, String)| {
        let name = format!("figure-{}-{}", attachments.figures.len() + 1, files::slug(title));
        let (mut links, (svg, alone)) = (Vec::new(), svgs);
        for (kind, text) in [(data.0, &data.1), ("svg", &alone)] {
            files::write_atomically(&own.join(format!("{name}.{kind}")), text.as_bytes())?;
            links.push((kind.to_uppercase(), format!("{id}/{name}.{kind}")));
        }
        attachments.figures.push(Drawing { svg, caption: caption.to_owned(), links });
        Ok::<(), Error>(())
    };
    for figure in &outcome.figures {
        let headings = ["series", "x", "y"].map(String::from).to_vec();
        let csv = csv_text(&figure.title, headings, figure.rows())?;
        keep(&figure.title, &figure.caption, (figure.svg(), alone(figure).svg()), ("csv", csv))?;
    }
    for network in &outcome.networks {
        let svg = network.svg();
        keep(&network.title, "", (svg.clone(), svg), ("dot", network.dot()))?;
    }
    for (k, table) in outcome.tables.iter().enumerate() {
        let name = format!("table-{}-{}.csv", k + 1, files::slug(&table.title));
        files::write_atomically(&own.join(&name), table.to_csv()?.as_bytes())?;
        attachments.tables.push(format!("{id}/{name}"));
    }
    Ok(attachments)
}
