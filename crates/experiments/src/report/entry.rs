//! What a report is made of.

use crate::{Experiment, Outcome, Size};

/// The circumstances under which the outcomes were computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Version of this project.
    pub version: String,
    /// Size of the run.
    pub size: Size,
    /// Seed of the run.
    pub seed: u64,
    /// Whether the run had a folder of real data.
    pub data: bool,
    /// Further facts about the run that the page shows, as pairs of a name and a text: revision, date, processor, command.
    pub facts: Vec<(String, String)>,
}

/// The state of an experiment after the run.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It has an outcome, from this run or an earlier one.
    Done(Box<Outcome>),
    /// It failed with this message.
    Failed(String),
    /// The user stopped the run during this experiment or before it.
    Stopped,
}

/// An experiment of a report.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The experiment.
    pub experiment: Experiment,
    /// The names of its real data sets that were present.
    pub data: Vec<String>,
    /// What became of it.
    pub state: State,
    /// The duration of its run in seconds (wall-clock time); `None` if it did not finish.
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

    /// Whether it failed, or a verdict differs from the expected one.
    pub fn differs(&self) -> bool {
        match &self.state {
            State::Done(outcome) => outcome.differs(),
            State::Failed(_) => true,
            State::Stopped => false,
        }
    }
}

/// The files of one outcome: their links relative to the page, and the text of the drawings.
#[derive(Debug, Default)]
pub(super) struct Attachments {
    pub(super) figures: Vec<Drawing>,
    pub(super) tables: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Drawing {
    pub(super) svg: String,
    pub(super) caption: String,
    /// The names of its files and their links.
    pub(super) links: Vec<(String, String)>,
}
