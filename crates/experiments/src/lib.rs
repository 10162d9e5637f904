//! This crate repeats the experiments of five documents (theses and papers). It tests their claims and writes a report.
//!
//! An experiment is a value of the struct [`Experiment`]. Its fields are an id, a title, the figure or table that it repeats,
//! a question, its answer, the names of the real data sets that it can use, and a function. The function takes a [`Context`] and fills an
//! [`Outcome`]: [`Claim`]s with their verdicts, [`Table`]s, [`Figure`]s, [`Network`]s and notes. An outcome contains data and no drawing
//! code. So the program can store it as JSON and read it back in the next run. Only the module [`report`] draws figures and
//! formats tables.
//!
//! ```text
//! registry::all() -> Experiment.run(&Context, &mut Outcome) -> report::Store (id.json)
//!                                                           -> report::write (report.html, CSV, SVG)
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`registry`] | the list of experiments and how one is found by its id |
//! | [`data`] | the real data sets by name: their files and where they are published |
//! | [`Claim`], [`Sample`] | the form of a claim: source, threshold, judgement |
//! | [`frozen`] | a check that claims fail if a method stays at its starting point |
//! | [`report`] | storing outcomes, resuming, and writing the page |
//!
//! # Rules for claims
//! - A claim quotes its document. It says who fixed its threshold, and whether this was before the first run.
//! - A claim that one method is better than another is judged by the medians over at least five random seeds. It
//!   also tests that the worse method works ([`Sample`]).
//! - A claim says whether it was measured at the document's size ([`Claim::size`]).
//! - A claim about a method must fail if the method stays at its starting point ([`frozen`]).
//! - A claim that does not hold is reported as failing. If its failure is known, it is registered as a known failure with a
//!   [`Reason`]. The code checks the number in this reason, and the claim stays in the report.
//! - The program compares every verdict with the registered one, and reports each difference ([`Claim::differs`]). A claim
//!   that fails unexpectedly is a difference, and so is a known failure that now holds.
//!
//! The documentation of [`Claim`] shows how a claim is written.
//!
//! # Example
//! ```
//! use fenchel_experiments::{
//!     Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source,
//! };
//! use fenchel_optim::Stop;
//!
//! const HALVES: Source = Source::quoted("Nobody (2000)", "1", "The gap halves at every pass.");
//!
//! fn run(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
//!     let stop = context.stop("halving", Stop::after_passes(context.pick(10.0, 100.0)));
//!     let passes = stop.max_passes as u32;
//!     let gap: Vec<(f64, f64)> = (0..=passes).map(|k| (f64::from(k), 0.5_f64.powi(k as i32))).collect();
//!     context.check()?; // a stop asked for with Ctrl-C ends the experiment here
//!     let last = gap[gap.len() - 1].1;
//!     outcome.claim(
//!         HALVES
//!             .claim("the gap halves at every pass")
//!             .rests_on(["halving"])
//!             .document("at most 1e-3 after 10 passes")
//!             .exact((last, last <= 1e-3)),
//!     );
//!     outcome.figure(
//!         Figure::new("Gap against passes", Axis::linear("passes"), Axis::log("duality gap"))
//!             .caption("Halving, by construction.")
//!             .with(Series::line("halving", gap)),
//!     );
//!     Ok(())
//! }
//! let halving = Experiment { id: "xx-1", run, ..Experiment::of("") };
//!
//! let outcome = halving.outcome(&Context::new(1))?;
//! assert!(!outcome.differs());
//! # Ok::<(), Failure>(())
//! ```
#![forbid(unsafe_code)]

pub mod causal;
mod claim;
mod crf;
mod documents;
mod error;
mod experiment;
mod expfam;
mod finite_sum;
pub mod frozen;
mod ggm;
mod graphical;
mod moments;
mod mrf_learn;
mod numbers;
mod race;
pub mod registry;
pub mod report;
mod runs;
mod saddle;
mod sample;
mod table;

pub use fenchel_datasets::sets as data;

pub use claim::{
    Case, Claim, Expectation, Ground, Judged, Measured, Origin, Reason, Sentence, Source, Stated,
    Threshold, Verdict,
};
pub use error::{Error, Failure};
pub use experiment::{Context, Experiment, Outcome, Size};
pub use fenchel_plot::{Axis, Figure, Network, Scale, Series, Style};
pub use sample::{SEEDS, Sample};
pub use table::{Cell, Column, Table};
