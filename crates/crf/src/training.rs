//! Long trainings: the training behind [`Crf`], whose observer sees the weights and can save checkpoints.
//!
//! ```
//! use fenchel_crf::training::{Checkpoint, Snapshot, train};
//! use fenchel_crf::{CorpusBuilder, Crf, Instance, Progress};
//! use std::ops::ControlFlow;
//!
//! let mut builder = CorpusBuilder::new();
//! for word in ["a", "b"] {
//!     let mut instance = Instance::new();
//!     instance.begin_token(word);
//!     instance.push_pair("word", word);
//!     builder.push(&instance)?;
//! }
//! let (corpus, mut file) = (builder.finish(1)?, vec![]);
//! let mut save = |_: &Progress, at: &Snapshot<'_>| {
//!     file.clear();
//!     at.save_checkpoint(&mut file).expect("memory");
//!     ControlFlow::Break(())
//! };
//! train(&Crf::default(), &corpus, None, &mut save)?;
//! let at = Checkpoint::load(&file[..])?;
//! let model = train(&Crf::default(), &corpus, Some(at.into()), &mut ())?;
//! assert!(model.report.expect("trained here").certificate.relative() <= 1e-4);
//! # Ok::<(), fenchel_crf::Error>(())
//! ```
//!
//! The training runs the methods of [`Method`] one after the other, reports their progress, and returns the best weights.

use std::ops::ControlFlow;

use fenchel_graphical::chain::ChainMarginals;
use fenchel_linalg::Invalid;
use fenchel_linalg::spread::{Shards, checksum_of};
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, Owlqn};
use fenchel_optim::{Certificate, Observer, Progress, Report, Status, Stop};

use crate::Error;
use crate::builder::Corpus;
use crate::checkpoint::{Borrowed, Storage, WriteDuals};
pub use crate::checkpoint::{Checkpoint, Duals, is_checkpoint};
pub use crate::checkpoints::Checkpoints;
use crate::likelihood::Likelihood;
use crate::methods::lbfgs::{lbfgs, owlqn};
use crate::methods::sdca::cocoa::{Cocoa, cocoa};
use crate::methods::sdca::{
    DualState, Init, Sdca, SdcaSettings, sdca, single_precision_suffices_for,
};
use crate::model::CrfModel;
use crate::problem::Problem;
use crate::settings::{Crf, Method, check_finite};
use crate::watch::Snap;
pub use crate::watch::Snapshot;
use crate::weights::Weights;

/// Number of passes after which [`Method::Auto`] continues with L-BFGS. On sparse text dual ascent needs about ten. Where it
/// needs more than this limit, the penalty is weak, and second-order information helps.
pub(crate) const DUAL_PASSES: f64 = 50.0;

/// Number of pairs that L-BFGS stores: as many as fit into 64 MiB, but at least 10 and at most 100. On dense attributes with a
/// weak penalty many pairs save nine of ten passes, and for few weights they cost little.
pub(crate) fn pairs(dimension: usize) -> usize {
    const BYTES: usize = 1 << 26;
    (BYTES / (16 * dimension.max(1))).clamp(10, 100)
}

/// Where a training starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Weights for the attributes and labels of the corpus; see [`CrfModel::weights_for`].
    Weights(Weights),
    /// The checkpoint of another training. Its weights are matched by name. Its dual variables are used if the labels and the
    /// sequences are those of the corpus, and the method stores them in the same precision.
    Checkpoint(Box<Checkpoint>),
}

impl Start {
    fn weights(self, corpus: &Corpus) -> Weights {
        match self {
            Start::Weights(weights) => weights,
            Start::Checkpoint(at) => at.model.weights_for(&corpus.attributes, &corpus.labels),
        }
    }
}

impl From<Weights> for Start {
    fn from(weights: Weights) -> Self {
        Start::Weights(weights)
    }
}

impl From<Checkpoint> for Start {
    fn from(checkpoint: Checkpoint) -> Self {
        Start::Checkpoint(Box::new(checkpoint))
    }
}

/// Trains a model with the settings of `crf`, from given weights or from a checkpoint. The observer receives a [`Snapshot`] at
/// every check, and after every pass if it polls; it may save a [`Checkpoint`], and end the training with the best certified
/// weights.
///
/// # Errors
/// As [`Crf::fit`], and [`Error::Invalid`] for weights of another shape.
pub fn train(
    crf: &Crf,
    corpus: &Corpus,
    start: Option<Start>,
    observer: &mut impl for<'s> Observer<Snapshot<'s>>,
) -> Result<CrfModel, Error> {
    train_on(crf, corpus, None, start, observer)
}

/// As [`train`], on sequences that are these shards of those of all processes, whose words have [common
/// numbers](crate::CorpusBuilder::share). All processes call it together, with the same settings and the same start, and get the same
/// model. The observers of all processes answer alike.
///
/// [`Method::Lbfgs`] takes one sum a pass, and so does [`Method::Sdca`], which is dual ascent in every shard at once (CoCoA). It needs fewer
/// passes on sparse text, and more of them for more shards; a pass takes longer, and needs memory for the marginals twice. Its checkpoints
/// hold no dual variables. It is for a slow network; [`Method::Auto`] is L-BFGS here.
///
/// # Errors
/// As [`train`]; [`Error::Invalid`] for processes whose settings, words or starts differ, and for a limit of seconds: the clocks differ.
pub fn train_spread(
    crf: &Crf,
    corpus: &Corpus,
    shards: &Shards<'_>,
    start: Option<Start>,
    observer: &mut impl for<'s> Observer<Snapshot<'s>>,
) -> Result<CrfModel, Error> {
    let (attributes, labels) = (corpus.attributes.len(), corpus.labels.len());
    crf.stop.check_spread(
        Some(shards),
        format_args!("{crf:?}, {attributes} attributes, {labels} labels"),
    )?;
    Invalid::check_length("sequences of the shards", corpus.data.sequences(), shards.rows())?;
    let method = if crf.method == Method::Sdca { Method::Sdca } else { Method::Lbfgs };
    let crf = &Crf { method, ..crf.clone() };
    train_on(crf, corpus, Some(shards), start, observer)
}

fn train_on(
    crf: &Crf,
    corpus: &Corpus,
    shards: Option<&Shards<'_>>,
    start: Option<Start>,
    observer: &mut impl for<'s> Observer<Snapshot<'s>>,
) -> Result<CrfModel, Error> {
    Invalid::check_nonnegative("l1", crf.l1)?;
    crf.stop.check()?;
    let sequences = shards.map_or(corpus.data.sequences(), Shards::all_rows);
    let l2 = crf.l2.unwrap_or(1.0 / sequences.max(1) as f64);
    let problem = Problem::of(&corpus.data, (l2, crf.features, crf.max_memory), shards)?;
    let (weights, report) = solve(crf, corpus, &problem, start, observer)?;
    check_finite(l2, weights.emission.iter().chain(&weights.transition), &report)?;
    let (attributes, labels) = (corpus.attributes.clone(), corpus.labels.clone());
    let mut model = CrfModel::new(attributes, labels, weights, Some(report))?;
    model.template.clone_from(&corpus.template);
    Ok(model)
}

fn solve(
    crf: &Crf,
    corpus: &Corpus,
    problem: &Problem<'_>,
    start: Option<Start>,
    observer: &mut dyn for<'s> Observer<Snapshot<'s>>,
) -> Result<(Weights, Report), Error> {
    let (duals, primal) = match &start {
        // Those of a checkpoint are of all sequences.
        Some(Start::Checkpoint(at)) if problem.shards.is_none() => {
            (fitting_duals(at, corpus), at.duals.is_none())
        }
        _ => (None, false),
    };
    let given = start.map(|start| start.weights(corpus));
    if let Some(shards) = problem.shards {
        let numbers = |at: &Weights| checksum_of(at.emission.iter().chain(&at.transition));
        let own = given.as_ref().map(numbers).unwrap_or_else(|| "none".to_owned());
        shards.communicator().check_alike("start", &own)?;
    }
    let given = given.map(|weights| Given::new(problem, crf.l1, weights)).transpose()?;
    let mut training = Training { crf, corpus, problem, observer, given, done: None };
    match crf.resolved(corpus) {
        Method::Lbfgs => training.batch(crf.stop),
        // Where the training was is where it goes on: dual ascent would begin far from these weights.
        Method::Auto if primal => training.batch(crf.stop),
        Method::Sdca => training.dual(duals, crf.stop),
        Method::Auto => {
            let max_passes = crf.stop.max_passes.min(DUAL_PASSES);
            let (weights, report) = training.dual(duals, Stop { max_passes, ..crf.stop })?;
            let left = left_of(&crf.stop, &report);
            let (true, Some(stop)) = (report.status == Status::PassLimit, left) else {
                return Ok((weights, report));
            };
            // Under a weak penalty the weights of the dual variables may be worse than none.
            let none = Weights::zeros(corpus.attributes.len(), corpus.labels.len());
            let none = Given::new(problem, crf.l1, none)?;
            // They may be so large that their objective overflows.
            let found = Given::new(problem, crf.l1, weights).ok();
            let found = found.filter(|found| found.objective <= none.objective);
            training.given = Some(found.unwrap_or(none));
            training.done = Some(report);
            training.batch(stop)
        }
    }
}

/// The stopping rule for the next method, with the passes and seconds that remain; `None` if nothing remains.
pub(crate) fn left_of(stop: &Stop, report: &Report) -> Option<Stop> {
    let max_passes = stop.max_passes - report.passes;
    let max_seconds = stop.max_seconds.map(|limit| limit - report.seconds);
    (max_passes > 0.0 && max_seconds.is_none_or(|seconds| seconds > 0.0)).then_some(Stop {
        max_passes,
        max_seconds,
        ..*stop
    })
}

/// The dual variables of a checkpoint, if its labels and sequences are those of the corpus.
fn fitting_duals(checkpoint: &Checkpoint, corpus: &Corpus) -> Option<Duals> {
    fn fit<T: Storage>(marginals: &[ChainMarginals<T>], corpus: &Corpus) -> bool {
        let same = |(sequence, m): (crate::Sequence<'_>, &ChainMarginals<T>)| {
            sequence.len() == m.length() && corpus.data.labels() == m.states()
        };
        marginals.len() == corpus.data.sequences() && corpus.data.iter().zip(marginals).all(same)
    }
    let duals = checkpoint.duals.clone()?;
    let fits = match &duals {
        Duals::Single(marginals) => fit(marginals, corpus),
        Duals::Double(marginals) => fit(marginals, corpus),
    };
    (fits && checkpoint.model.labels() == &corpus.labels).then_some(duals)
}

struct Training<'t, 'p> {
    crf: &'t Crf,
    corpus: &'t Corpus,
    problem: &'t Problem<'p>,
    observer: &'t mut dyn for<'s> Observer<Snapshot<'s>>,
    given: Option<Given>,
    /// The report of the earlier method.
    done: Option<Report>,
}

impl<'p> Training<'_, 'p> {
    /// Dual ascent in the precision that the tolerance requires.
    fn dual(&mut self, duals: Option<Duals>, stop: Stop) -> Result<(Weights, Report), Error> {
        if single_precision_suffices_for(self.problem, self.crf.stop.relative) {
            let duals =
                duals.and_then(|duals| if let Duals::Single(m) = duals { Some(m) } else { None });
            self.ascend::<f32>(duals, stop)
        } else {
            let duals =
                duals.and_then(|duals| if let Duals::Double(m) = duals { Some(m) } else { None });
            self.ascend::<f64>(duals, stop)
        }
    }

    /// Runs SDCA from dual variables, from the marginals of given weights, or from a cold start.
    fn ascend<T: Storage>(
        &mut self,
        duals: Option<Vec<ChainMarginals<T>>>,
        stop: Stop,
    ) -> Result<(Weights, Report), Error> {
        let given = self.given.as_ref();
        let init = given.map_or_else(Init::default, |given| Init::Weights(given.weights.clone()));
        let settings = SdcaSettings {
            l1: self.crf.l1,
            init,
            max_memory: self.crf.max_memory,
            seed: self.crf.seed,
            stop,
            ..SdcaSettings::default()
        };
        let weights =
            || Weights::zeros(self.problem.data().attributes(), self.problem.data().labels());
        let start = duals.map(|marginals| DualState { weights: weights(), marginals });
        let problem = self.problem;
        let found = match problem.shards {
            None => sdca::<T, _>(problem, &settings, start, &mut self.watcher())?,
            Some(shards) => cocoa::<T, _>(problem, shards, &settings, &mut self.watcher())?,
        };
        Ok(self.finish(found.state.weights, found.report))
    }

    /// L-BFGS, or OWL-QN with an l1 penalty.
    fn batch(&mut self, stop: Stop) -> Result<(Weights, Report), Error> {
        let memory = pairs(self.problem.layout.dimension());
        let settings = LbfgsSettings { memory, stop };
        let start = self.given.as_ref().map(|given| given.weights.clone());
        let (problem, l1) = (self.problem, self.crf.l1);
        let found = if l1 > 0.0 {
            owlqn(problem, l1, &settings, start, &mut self.watcher())?
        } else {
            lbfgs(problem, &settings, start, &mut self.watcher())?
        };
        Ok(self.finish(found.state, found.report))
    }

    fn watcher(&mut self) -> Watcher<'_, 'p> {
        let given = self.given.as_ref();
        let (corpus, problem, done) = (self.corpus, self.problem, self.done);
        let observer = &mut *self.observer;
        Watcher { corpus, problem, observer, given, done, stop: self.crf.stop }
    }

    /// The better of the found and the given weights, and the report of the whole training.
    fn finish(&self, weights: Weights, report: Report) -> (Weights, Report) {
        let given = self.given.as_ref();
        let certificate = whole(self.done, report.certificate);
        let (weights, certificate) = match given.and_then(|given| given.better(certificate)) {
            Some((given, certificate)) => (given.clone(), certificate),
            None => (weights, certificate),
        };
        let met = self.crf.stop.met_by(&certificate);
        let status = if met { Status::Converged } else { report.status };
        let before = self.done.map_or((0.0, 0, 0.0), |r| (r.passes, r.oracle_calls, r.seconds));
        let report = Report {
            status,
            certificate,
            passes: before.0 + report.passes,
            oracle_calls: before.1 + report.oracle_calls,
            seconds: before.2 + report.seconds,
        };
        (weights, report)
    }
}

/// A certificate with the lower bound of an earlier method, which holds for every point.
pub(crate) fn whole(done: Option<Report>, now: Certificate) -> Certificate {
    match (done.and_then(|report| report.certificate.sure_bound()), now) {
        (Some(known), Certificate::Gap { .. }) => now.with_lower_bound(known),
        _ => now,
    }
}

/// The weights given as a start. They count as the result until those of the method are better: SDCA starts at the marginals of
/// the given weights, and the weights of these marginals are far from the given ones.
struct Given {
    weights: Weights,
    objective: f64,
}

impl Given {
    fn new(problem: &Problem<'_>, l1: f64, weights: Weights) -> Result<Self, Error> {
        // Those without a feature of the problem are 0 for it.
        let weights = problem.unpack(&problem.layout.pack(&weights)?);
        let objective = problem.objective(&weights)? + l1 * weights.l1_norm();
        Ok(Given { weights, objective })
    }

    /// The given weights with their certificate, if their objective is lower than that of `certificate`. The lower bound holds
    /// for every point.
    fn better(&self, certificate: Certificate) -> Option<(&Weights, Certificate)> {
        match certificate {
            Certificate::Gap { objective, lower_bound, rounding } if self.objective < objective => {
                let certificate = Certificate::gap_within(self.objective, lower_bound, rounding);
                Some((&self.weights, certificate))
            }
            _ => None,
        }
    }
}

/// Shows an observer of the training the progress of a method.
struct Watcher<'w, 'p> {
    corpus: &'w Corpus,
    problem: &'w Problem<'p>,
    observer: &'w mut dyn for<'s> Observer<Snapshot<'s>>,
    given: Option<&'w Given>,
    done: Option<Report>,
    stop: Stop,
}

impl Watcher<'_, '_> {
    /// The certificate of the training, and what the observer answers.
    fn show<M: Snap>(
        &mut self,
        now: &Progress,
        method: &M,
        check: bool,
    ) -> (Certificate, ControlFlow<()>) {
        let certificate = whole(self.done, now.certificate);
        let given = self.given.and_then(|given| given.better(certificate));
        let certificate = given.map_or(certificate, |(_, certificate)| certificate);
        let progress = Progress { certificate, ..now.with_spent(self.done.as_ref()) };
        let weights = || {
            given.map_or_else(|| method.weights_now(self.problem), |(weights, _)| weights.clone())
        };
        let duals = method.duals_now();
        let (corpus, duals) = (self.corpus, duals.as_deref());
        let at = Snapshot { corpus, weights: &weights, duals };
        let answer = match check {
            true => self.observer.observe(&progress, &at),
            false => self.observer.poll(&progress, &at),
        };
        (certificate, answer)
    }
}

impl<M: Snap> Observer<M> for Watcher<'_, '_> {
    fn polls(&self) -> bool {
        self.observer.polls()
    }

    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        match self.show(progress, method, true) {
            (certificate, _) if self.stop.met_by(&certificate) => ControlFlow::Break(()),
            (_, answer) => answer,
        }
    }

    fn poll(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        self.show(progress, method, false).1
    }
}

impl<T: Storage> Snap for Sdca<'_, '_, T> {
    fn weights_now(&self, _: &Problem<'_>) -> Weights {
        self.weights()
    }

    fn duals_now(&self) -> Option<Box<dyn WriteDuals + '_>> {
        Some(Box::new(Borrowed(self.marginals())))
    }
}

impl<T: Storage> Snap for Cocoa<'_, '_, T> {
    fn weights_now(&self, _: &Problem<'_>) -> Weights {
        self.weights()
    }
}

impl Snap for Lbfgs<Likelihood<'_, Problem<'_>>> {
    fn weights_now(&self, problem: &Problem<'_>) -> Weights {
        problem.unpack(self.point())
    }
}

impl Snap for Owlqn<Likelihood<'_, Problem<'_>>> {
    fn weights_now(&self, problem: &Problem<'_>) -> Weights {
        problem.unpack(self.point())
    }
}
