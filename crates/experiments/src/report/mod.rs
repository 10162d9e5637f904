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

mod axis;
mod counts;
mod entry;
mod files;
mod html;
mod pen;
mod store;
mod svg;

use std::path::{Path, PathBuf};

pub use counts::{counts, write_counts};
pub use entry::{Entry, Provenance, State};
pub use store::{Key, Record, Store, build_fingerprint};

use crate::{Error, Figure, Outcome};
use entry::{Attachments, Drawing};

/// Draws a figure as SVG text. The text can be put into a page or a file, and the drawing scales with its container.
///
/// # Errors
/// [`Error::Figure`] if the drawing back end returns an error. No value of a point causes such an error.
pub fn draw(figure: &Figure) -> Result<String, Error> {
    svg::draw(figure)
}

/// Writes the page of the report and the CSV and SVG files into `folder`, which is created if it does not exist. Returns the path
/// of the page.
///
/// # Errors
/// [`Error::File`], [`Error::Encode`] or [`Error::Figure`].
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

fn attach(folder: &Path, id: &str, outcome: &Outcome) -> Result<Attachments, Error> {
    let own = folder.join(id);
    // What a former version of the experiment drew must not look like part of this one.
    files::remove_by_extension(&own, &["csv", "svg"])?;
    let mut attachments = Attachments::default();
    for (k, figure) in outcome.figures.iter().enumerate() {
        let name = format!("figure-{}-{}", k + 1, files::slug(&figure.title));
        let svg = draw(figure)?;
        files::write_atomically(&own.join(format!("{name}.svg")), svg.as_bytes())?;
        files::write_atomically(&own.join(format!("{name}.csv")), figure.to_csv()?.as_bytes())?;
        attachments.figures.push(Drawing {
            svg,
            svg_link: format!("{id}/{name}.svg"),
            csv_link: format!("{id}/{name}.csv"),
        });
    }
    for (k, table) in outcome.tables.iter().enumerate() {
        let name = format!("table-{}-{}.csv", k + 1, files::slug(&table.title));
        files::write_atomically(&own.join(&name), table.to_csv()?.as_bytes())?;
        attachments.tables.push(format!("{id}/{name}"));
    }
    Ok(attachments)
}
