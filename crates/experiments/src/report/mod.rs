//! What is kept of the experiments, and how it is shown.
//!
//! A report is a folder:
//!
//! ```text
//! report.html          one self-contained page
//! fs-ex1.json          the stored outcome of an experiment, read back by the next run (Store)
//! fs-ex1/figure-1-gap-against-passes.csv, .svg
//! fs-ex1/table-1-passes-to-1e-8.csv
//! ```
//!
//! The page is a function of the entries and of [`Provenance`]: the same entries and provenance give the same bytes. Every file
//! appears whole or not at all.

mod axis;
mod counts;
mod files;
mod html;
mod pen;
mod store;
mod svg;

use std::path::{Path, PathBuf};

pub use counts::{counts, write_counts};
pub use store::{Key, Record, Store, build_fingerprint};

use crate::{Error, Experiment, Figure, Outcome, Size};

/// Under which circumstances the outcomes came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Version of this project.
    pub version: String,
    /// Size of the run.
    pub size: Size,
    /// Seed of the run.
    pub seed: u64,
    /// Whether there was a folder of real data.
    pub data: bool,
    /// What else the page says of the run, by name: revision, date, processor, command.
    pub facts: Vec<(String, String)>,
}

/// What became of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It has an outcome, from this run or a former one.
    Done(Box<Outcome>),
    /// It failed with this message.
    Failed(String),
    /// The user stopped it, or stopped the run before it.
    Stopped,
}

/// An experiment of a report.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The experiment.
    pub experiment: Experiment,
    /// Those of its data sets that were there.
    pub data: Vec<String>,
    /// What became of it.
    pub state: State,
    /// How long its run took, in seconds of wall clock; `None` where it did not finish.
    pub seconds: Option<f64>,
}

impl Entry {
    /// Its outcome, if it has one.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Whether it failed or a verdict is not the registered one.
    pub fn differs(&self) -> bool {
        match &self.state {
            State::Done(outcome) => outcome.differs(),
            State::Failed(_) => true,
            State::Stopped => false,
        }
    }
}

/// A figure as SVG text, which scales with its container and can be put into a page or a file.
///
/// # Errors
/// [`Error::Figure`] if the drawing back end refuses it; no value of a point makes it do so.
pub fn draw(figure: &Figure) -> Result<String, Error> {
    svg::draw(figure)
}

/// Writes the page and the files behind it into `folder`, which is made if need be; returns the path
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

/// The files of one outcome: links relative to the page, and the drawings themselves.
#[derive(Debug, Default)]
struct Attachments {
    figures: Vec<Drawing>,
    tables: Vec<String>,
}

#[derive(Debug)]
struct Drawing {
    svg: String,
    svg_link: String,
    csv_link: String,
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
