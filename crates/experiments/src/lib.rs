//! Every experiment of the documents as data, run and judged; the report that shows it.
//!
//! An experiment is a plain [`Experiment`]: an id, where the claim comes from, which real data it would
//! like, and a function from a [`Context`] to an [`Outcome`]. The outcome is plain data too: judged
//! [`Claim`]s, [`Table`]s, [`Figure`]s and notes. Nothing in it knows how it will be shown, so a
//! finished experiment is stored as JSON, read back on the next run, and drawn by one place only.
//!
//! ```text
//! registry::ALL -> Experiment.run(&Context) -> Outcome -> report::Store (id.json)
//!                                                      -> report::write (report.html, CSV, SVG)
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`registry`] | the list of experiments and how one is found by its id |
//! | [`data`] | the real data sets by name: their files and where they are published |
//! | [`report`] | storing outcomes, resuming, and writing the page |
//!
//! # The rule of honest claims
//! Statement and threshold of a claim come from the document and are written down before the run.
//! A claim that does not hold is reported as failing; once the reason is understood it is registered
//! with [`Claim::known_failure`] and stays visible. A run *differs* only where a verdict is not the
//! registered one, in either direction ([`Claim::differs`]).
//!
//! # Example
//! ```
//! use fenchel_experiments::{Axis, Claim, Context, Experiment, Failure, Figure, Outcome, Series, Size};
//!
//! fn run(context: &Context) -> Result<Outcome, Failure> {
//!     let passes = context.pick(10, 100);
//!     let gap: Vec<(f64, f64)> = (0..=passes).map(|k| (f64::from(k), 0.5_f64.powi(k))).collect();
//!     context.check()?; // a stop asked for with Ctrl-C ends the experiment here
//!     let last = gap[gap.len() - 1].1;
//!     let mut outcome = Outcome::default();
//!     outcome.claim(Claim::holds("the gap halves at every pass", "at most 1e-3", last, last <= 1e-3));
//!     outcome.figure(
//!         Figure::new("Gap against passes", Axis::linear("passes"), Axis::log("duality gap"))
//!             .caption("Halving, by construction.")
//!             .with(Series::line("halving", gap)),
//!     );
//!     Ok(outcome)
//! }
//! let halving =
//!     Experiment { id: "xx-1", document: "none", title: "Halving", needs: &[], run };
//!
//! let context = Context { data: None, size: Size::Quick, seed: 1, stopped: &|| false, tick: &|_, _| {} };
//! let outcome = (halving.run)(&context).unwrap();
//! assert!(!outcome.differs());
//! ```
#![forbid(unsafe_code)]

mod claim;
mod crf;
pub mod data;
mod error;
mod experiment;
mod figure;
mod finite_sum;
pub mod number;
pub mod registry;
pub mod report;
mod table;

pub use claim::{Claim, Expectation, Verdict};
pub use error::Error;
pub use experiment::{Context, Experiment, Failure, Outcome, Size};
pub use figure::{Axis, Figure, Scale, Series, Style};
pub use table::{Cell, Column, Table};
