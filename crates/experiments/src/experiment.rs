//! The types of an experiment, of its input ([`Context`]) and of its result ([`Outcome`]).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::Location;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use fenchel_optim::Stop;

use crate::{Claim, Failure, Figure, Network, Table, data};

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Size {
    /// Small sizes: all experiments together take minutes on two cores.
    #[default]
    Quick,
    /// The sizes of the documents.
    Full,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Size::Quick => "quick",
            Size::Full => "full",
        })
    }
}

/// The input of an experiment.
///
/// The functions `stopped` and `tick` may be called from any thread.
#[derive(Clone)]
pub struct Context<'a> {
    /// The folder of real data sets, if there is one; [`Context::file`] reads from it.
    pub data: Option<PathBuf>,
    /// The size of the run.
    pub size: Size,
    /// The seed that every random draw of the experiment starts from.
    pub seed: u64,
    /// Whether the user asked to stop. Long loops call this function a few times per second.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
    /// Receives the fraction of the work that is done (0 to 1), and a description of the current work.
    pub tick: &'a (dyn Fn(f64, &str) + Sync),
    /// The name of a method that must stay at its starting point: see [`crate::frozen`].
    pub frozen: Option<&'a str>,
}

impl<'a> Context<'a> {
    /// A quick run without real data and without an observer, for tests and examples.
    pub fn new(seed: u64) -> Self {
        let (stopped, tick) = (&|| false, &|_: f64, _: &str| {});
        Context { data: None, size: Size::Quick, seed, stopped, tick, frozen: None }
    }

    /// The same context, with a method that must stay at its starting point.
    #[must_use]
    pub fn with_frozen(&self, method: &'a str) -> Self {
        Context { frozen: Some(method), ..self.clone() }
    }
}

impl Context<'_> {
    /// Whether the method of this name must stay at its starting point in this run.
    pub fn is_frozen(&self, method: &str) -> bool {
        self.frozen == Some(method)
    }

    /// The stopping rule of the method of this name: `stop`, or no passes at all if the method is frozen.
    pub fn stop(&self, method: &str, stop: Stop) -> Stop {
        if self.is_frozen(method) { Stop { max_passes: 0.0, ..stop } } else { stop }
    }

    /// Returns `quick` or `full`, according to the size of the run.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.size {
            Size::Quick => quick,
            Size::Full => full,
        }
    }

    /// The claim where it was run at the document's size; a smaller run does not judge it.
    pub fn at_full(&self, claim: Claim, smaller: &str) -> Claim {
        match self.size {
            Size::Full => claim,
            Size::Quick => claim.not_judged(smaller),
        }
    }

    /// Returns an error if the user asked to stop: `context.check()?`.
    ///
    /// # Errors
    /// [`Failure::stopped`].
    pub fn check(&self) -> Result<(), Failure> {
        if (self.stopped)() { Err(Failure::stopped()) } else { Ok(()) }
    }

    /// The value that the observer of a solver returns. It ends the solver if the user asked to stop.
    pub fn control(&self) -> ControlFlow<()> {
        if (self.stopped)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Reports the progress of the experiment, and asks [`Context::check`].
    ///
    /// # Errors
    /// [`Failure::stopped`].
    pub fn progress(&self, fraction: f64, doing: &str) -> Result<(), Failure> {
        (self.tick)(fraction, doing);
        self.check()
    }

    /// The first file of the data set called `set` in [`data::SETS`], or `None` if the set is absent. The experiment then
    /// uses generated data and says so in a note.
    pub fn file(&self, set: &str) -> Option<PathBuf> {
        self.files(set).map(|mut all| all.swap_remove(0))
    }

    /// All files of a data set in the order of [`data::SETS`], or `None` if any of them is absent.
    pub fn files(&self, set: &str) -> Option<Vec<PathBuf>> {
        data::find(set)?.locate(self.data.as_deref()?)
    }
}

/// One experiment of a document.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Unique id with the crate in front: `fs-ex1`, `crf-41`.
    pub id: &'static str,
    /// The source file; [`Experiment::of`] knows it.
    pub file: &'static str,
    /// The document and the figure or table that it repeats.
    pub document: &'static str,
    /// The subject in a few words.
    pub title: &'static str,
    /// The question, as one sentence.
    pub question: &'static str,
    /// The answer according to the verdicts of its claims.
    pub learnt: &'static str,
    /// What a quick run leaves out of the document's sizes, in a few words; empty for nothing.
    pub quick: &'static str,
    /// What is smaller than in the document, or other data than the document's, in a full run too; empty for nothing. A claim that
    /// differs from its experiment says so ([`Sentence::at_size`](crate::Sentence::at_size)).
    pub smaller: &'static str,
    /// Names of the real data sets ([`data::SETS`]) that it uses if they are present.
    pub needs: &'static [&'static str],
    /// The function of the experiment, which fills an empty outcome. [`Experiment::outcome`] calls it.
    pub run: fn(&Context, &mut Outcome) -> Result<(), Failure>,
}

impl Experiment {
    /// An experiment of a document, in the source file that calls this function, without words of its own. The constant of an
    /// experiment takes the fields from it that it leaves out.
    #[track_caller]
    pub const fn of(document: &'static str) -> Self {
        Experiment {
            id: "",
            file: Location::caller().file(),
            document,
            title: "",
            question: "",
            learnt: "",
            quick: "",
            smaller: "",
            needs: &[],
            run: |_, _| Ok(()),
        }
    }

    /// Runs the experiment, and writes on each claim whether it was measured at the document's size.
    ///
    /// # Errors
    /// The errors of the experiment; a claim that is not fair ([`Claim::is_fair`]).
    pub fn outcome(&self, context: &Context) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        (self.run)(context, &mut outcome)?;
        if let Some(claim) = outcome.claims.iter().find(|claim| !claim.is_fair()) {
            let statement = &claim.statement;
            return Err(Failure::new(format!(
                "{}: a number of our own judges the document's sentence, or a claim of our own fails: {statement}",
                self.id
            )));
        }
        for claim in outcome.claims.iter_mut().filter(|c| !c.source.is_ours()) {
            let words = [context.pick(self.quick, ""), self.smaller];
            let words: Vec<&str> = words.into_iter().filter(|words| !words.is_empty()).collect();
            claim.smaller.get_or_insert_with(|| words.join("; "));
        }
        Ok(outcome)
    }
}

/// The result of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Judged claims, in the order of the document.
    pub claims: Vec<Claim>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Networks, which are drawn after the figures.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// Paragraphs for the reader: substituted data, remarks on the results, known errors of the document.
    pub notes: Vec<String>,
    /// All settings needed to repeat the run.
    pub settings: BTreeMap<String, String>,
}

impl Outcome {
    /// Adds a claim.
    pub fn claim(&mut self, claim: Claim) -> &mut Self {
        self.claims.push(claim);
        self
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.tables.push(table);
        self
    }

    /// Adds a figure.
    pub fn figure(&mut self, figure: Figure) -> &mut Self {
        self.figures.push(figure);
        self
    }

    /// Adds a network.
    pub fn network(&mut self, network: Network) -> &mut Self {
        self.networks.push(network);
        self
    }

    /// Adds a paragraph.
    pub fn note(&mut self, note: impl Into<String>) -> &mut Self {
        self.notes.push(note.into());
        self
    }

    /// Records a setting.
    pub fn setting(&mut self, name: impl Into<String>, value: impl ToString) -> &mut Self {
        self.settings.insert(name.into(), value.to_string());
        self
    }

    /// Whether the verdict of any claim differs from the expected one.
    pub fn differs(&self) -> bool {
        self.claims.iter().any(Claim::differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn a_failure_is_made_from_any_error_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("reading the design failed")]
        struct Outer(#[source] std::num::ParseFloatError);
        fn fails() -> Result<(), Failure> {
            Err(Outer("x".parse::<f64>().unwrap_err()))?;
            Ok(())
        }
        let failure = fails().unwrap_err().during("w8a");
        assert_eq!(failure.to_string(), "w8a: reading the design failed: invalid float literal");
        assert!(!failure.is_stopped());
    }

    /// The document's size is what the experiment says, unless a claim says it; a claim of this project has none.
    #[test]
    fn a_claim_says_whether_it_was_measured_at_the_size_of_the_document() {
        fn run(_: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
            let quoted = || Source::quoted("D", "1", "q").claim("s");
            outcome.claim(quoted().document("e").holds((1.0, true)));
            outcome.claim(quoted().at_size("9 nodes").document("e").holds((1.0, true)));
            outcome.claim(Source::OURS.claim("s").ours("e").holds((1.0, true)));
            Ok(())
        }
        let experiment = Experiment { quick: "3 trials of 10", run, ..Experiment::of("D") };
        let sizes = |size| {
            let outcome = experiment.outcome(&Context { size, ..Context::new(0) }).unwrap();
            outcome.claims.iter().map(Claim::size).collect::<Vec<_>>()
        };
        assert_eq!(sizes(Size::Quick), ["smaller: 3 trials of 10", "smaller: 9 nodes", ""]);
        assert_eq!(sizes(Size::Full), ["at the document's size", "smaller: 9 nodes", ""]);
        let both = Experiment { smaller: "wines for songs", ..experiment };
        let size =
            |size| both.outcome(&Context { size, ..Context::new(0) }).unwrap().claims[0].size();
        assert_eq!(size(Size::Quick), "smaller: 3 trials of 10; wines for songs");
        assert_eq!(size(Size::Full), "smaller: wines for songs");
    }

    #[test]
    fn check_ends_a_stopped_experiment() {
        let context = Context { size: Size::Full, stopped: &|| true, ..Context::new(0) };
        assert!(context.check().unwrap_err().is_stopped());
        assert_eq!(context.control(), ControlFlow::Break(()));
        assert_eq!(context.pick(1, 2), 2);
        assert_eq!(context.file("w8a"), None);
    }
}
