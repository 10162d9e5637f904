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
//! | [`Claim`], [`Sample`] | the form of a claim: source, threshold, judgement |
//! | [`frozen`] | which claims a method that does nothing would survive |
//! | [`report`] | storing outcomes, resuming, and writing the page |
//!
//! # The rule of honest claims
//! A claim quotes its document and says who fixed its threshold, and when. An order is judged over three seeds or more,
//! with the loser pinned ([`Sample`]); no claim survives a method that does nothing ([`frozen`]). A claim that does not
//! hold is reported as failing; it is registered as a known failure with a [`Reason`] whose number the code checks, and
//! stays visible. A run *differs* where a verdict is not the registered one, in either direction ([`Claim::differs`]).
//! How a claim is written: [`Claim`].
//!
//! # Example
//! ```
//! use fenchel_experiments::{
//!     Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Series, Source,
//! };
//! use fenchel_optim::Stop;
//!
//! const HALVES: Source = Source::quoted("Nobody (2000)", "1", "The gap halves at every pass.");
//!
//! fn run(context: &Context) -> Result<Outcome, Failure> {
//!     let stop = context.stop("halving", Stop::after_passes(context.pick(10.0, 100.0)));
//!     let passes = stop.max_passes as u32;
//!     let gap: Vec<(f64, f64)> = (0..=passes).map(|k| (f64::from(k), 0.5_f64.powi(k as i32))).collect();
//!     context.check()?; // a stop asked for with Ctrl-C ends the experiment here
//!     let last = gap[gap.len() - 1].1;
//!     let mut outcome = Outcome::default();
//!     outcome.claim(
//!         HALVES
//!             .claim("the gap halves at every pass")
//!             .rests_on(["halving"])
//!             .on(Ground::Exact)
//!             .document("at most 1e-3 after 10 passes")
//!             .holds((last, last <= 1e-3)),
//!     );
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
//! let outcome = (halving.run)(&Context::new(1))?;
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
mod figure;
mod finite_sum;
pub mod frozen;
mod ggm;
mod moments;
mod mrf_learn;
pub mod number;
mod race;
pub mod registry;
pub mod report;
mod saddle;
mod sample;
pub mod synopsis;
mod table;

pub use fenchel_datasets::sets as data;

pub use claim::{
    Claim, Expectation, Ground, Judged, Measured, Origin, Reason, Sentence, Source, Stated,
    Threshold, Verdict,
};
pub use error::Error;
pub use experiment::{Context, Experiment, Failure, Outcome, Size};
pub use figure::{Axis, Figure, Scale, Series, Style};
pub use sample::{SEEDS, Sample};
pub use table::{Cell, Column, Table};
