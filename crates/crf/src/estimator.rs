//! From a corpus to a model in one call.

use std::ops::ControlFlow;

use fenchel_graphical::chain::Probability;
use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, Owlqn};
use fenchel_optim::{Certificate, Progress, Report, Status, Stop};
use serde::{Deserialize, Serialize};

use crate::{
    Corpus, CrfModel, Dataset, Error, Features, Init, Likelihood, Problem, Sdca, SdcaSettings,
    Weights, lbfgs, memory, owlqn, sdca, single_precision_suffices,
};

/// What trains a [`Crf`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Method {
    /// OWL-QN for `l1 > 0`, else SDCA if the marginals fit into `max_memory`, else L-BFGS.
    #[default]
    Auto,
    /// Dual coordinate ascent with gap sampling: fewest passes, memory for the marginals of all pairs. They are stored in
    /// single precision where the tolerance and `l2` allow it ([`single_precision_suffices`]), else in double.
    Sdca,
    /// L-BFGS, with an l1 penalty OWL-QN: on all cores, little memory.
    Lbfgs,
}

/// A linear-chain conditional random field:
///
/// ```text
/// min_w  (1/n) sum_i -log p(y_i | x_i; w) + (l2/2) ||w||^2 + l1 ||w||_1      over n sequences
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `l2` | 1/n | weight of the squared norm; CRFsuite's `c2 = n l2 / 2` |
/// | `l1` | 0 | weight of the l1 norm; CRFsuite's `c1 = n l1` |
/// | `features` | all pairs | which pairs of attribute and label have a weight |
/// | `method` | `Auto` | what trains |
/// | `max_memory` | 4 GiB | bytes that the marginals of SDCA may take |
/// | `stop` | relative gap 1e-4 | when to end, see [`Stop`] |
/// | `seed` | 0 | of the visits of SDCA |
///
/// ```
/// use fenchel_crf::{CorpusBuilder, Crf, Instance};
///
/// let sentences = [[("The", "D"), ("dog", "N"), ("barks", "V")], [("A", "D"), ("cat", "N"), ("sleeps", "V")]];
/// let mut builder = CorpusBuilder::new();
/// for sentence in &sentences {
///     let mut instance = Instance::new();
///     for (word, tag) in sentence {
///         instance.begin_token(tag);
///         instance.push_pair("word", word);
///         instance.push_pair("suffix", &word[word.len() - 1..]);
///     }
///     builder.push(&instance)?;
/// }
/// let model = Crf::default().fit(&builder.finish(1)?)?;
///
/// let unseen = Instance::from_lists(&[["word=The", "suffix=e"], ["word=bird", "suffix=d"], ["word=sings", "suffix=s"]]);
/// assert_eq!(model.tag(&unseen)?, ["D", "N", "V"]);
/// println!("{}", model.report.expect("trained here")); // how far from the optimum, proved
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Crf {
    /// Weight of `||w||^2 / 2`; `None` for one over the number of sequences.
    pub l2: Option<f64>,
    /// Weight of `||w||_1`.
    pub l1: f64,
    /// Which features have a weight.
    pub features: Features,
    /// What trains.
    pub method: Method,
    /// Bytes that the marginals of SDCA may take.
    pub max_memory: u64,
    /// When to end.
    pub stop: Stop,
    /// Seed of the visits of SDCA.
    pub seed: u64,
}

impl Default for Crf {
    fn default() -> Self {
        Crf {
            l2: None,
            l1: 0.0,
            features: Features::default(),
            method: Method::Auto,
            max_memory: 4 << 30,
            stop: Stop::default(),
            seed: 0,
        }
    }
}

impl Crf {
    /// Trains a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters out of range; [`Error::MemoryLimit`] if SDCA is asked for and does not fit;
    /// [`Error::Unsupported`] for SDCA with an l1 penalty.
    pub fn fit(&self, corpus: &Corpus) -> Result<CrfModel, Error> {
        self.fit_watched(corpus, None, |_, _| ControlFlow::Continue(()))
    }

    /// Trains a model from given weights, for instance those of an earlier model on the same corpus, and calls `watch` at every
    /// check with a function that makes a copy of the current weights. `Break` ends the training with the weights that were
    /// seen last.
    ///
    /// SDCA starts at the marginals of given weights, and comes back to weights as good as those in a pass or two: until then
    /// the given ones are the current ones, with the lower bound that the marginals prove. A start that meets `stop` is
    /// returned as it is.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for a start of another shape.
    pub fn fit_watched(
        &self,
        corpus: &Corpus,
        start: Option<&Weights>,
        mut watch: impl FnMut(&Progress, &dyn Fn() -> Weights) -> ControlFlow<()>,
    ) -> Result<CrfModel, Error> {
        let data = &corpus.data;
        Invalid::check_nonnegative("l1", self.l1)?;
        let l2 = self.l2.unwrap_or(1.0 / data.sequences().max(1) as f64);
        let problem = Problem::new(data, l2, self.features)?;
        let batch = LbfgsSettings { stop: self.stop, ..LbfgsSettings::default() };
        let (weights, report): (Weights, Report) = match self.resolved(corpus)? {
            Method::Lbfgs if self.l1 > 0.0 => {
                let mut observer = |progress: &Progress, method: &Owlqn<Likelihood<'_, '_>>| {
                    watch(progress, &|| problem.unpack(method.point()))
                };
                let found = owlqn(&problem, self.l1, &batch, start.cloned(), &mut observer)?;
                (found.state, found.report)
            }
            Method::Lbfgs => {
                let mut observer = |progress: &Progress, method: &Lbfgs<Likelihood<'_, '_>>| {
                    watch(progress, &|| problem.unpack(method.point()))
                };
                let found = lbfgs(&problem, &batch, start.cloned(), &mut observer)?;
                (found.state, found.report)
            }
            Method::Sdca | Method::Auto => {
                let start = start.map(|weights| Start::new(&problem, weights)).transpose()?;
                if self.single_precision(data) {
                    self.ascend::<f32>(&problem, start.as_ref(), watch)?
                } else {
                    self.ascend::<f64>(&problem, start.as_ref(), watch)?
                }
            }
        };
        CrfModel::new(corpus.attributes.clone(), corpus.labels.clone(), weights, Some(report))
    }

    /// Trains by SDCA with pairs stored as `T`.
    fn ascend<T: Probability>(
        &self,
        problem: &Problem<'_>,
        start: Option<&Start>,
        mut watch: impl FnMut(&Progress, &dyn Fn() -> Weights) -> ControlFlow<()>,
    ) -> Result<(Weights, Report), Error> {
        let settings = SdcaSettings {
            init: start.map_or_else(Init::default, |start| Init::Weights(start.weights.clone())),
            max_memory: Some(self.max_memory),
            seed: self.seed,
            stop: self.stop,
            ..SdcaSettings::default()
        };
        let better = |certificate| start?.better(certificate);
        let mut observer = |progress: &Progress, method: &Sdca<'_, '_, T>| {
            let Some((weights, certificate)) = better(progress.certificate) else {
                return watch(progress, &|| method.weights());
            };
            let seen = Progress { certificate, ..*progress };
            match watch(&seen, &|| weights.clone()) {
                ControlFlow::Continue(()) if !self.is_met(certificate) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        let found = sdca(problem, &settings, None, &mut observer)?;
        Ok(match better(found.report.certificate) {
            Some((weights, certificate)) => {
                let report = found.report;
                let met = self.is_met(certificate);
                let status = if met { Status::Converged } else { report.status };
                (weights.clone(), Report { status, certificate, ..report })
            }
            None => (found.state.weights, found.report),
        })
    }

    /// Whether SDCA stores its pairs in single precision.
    fn single_precision(&self, data: &Dataset) -> bool {
        let l2 = self.l2.unwrap_or(1.0 / data.sequences().max(1) as f64);
        single_precision_suffices(data, l2, self.stop.relative)
    }

    /// The method, never `Auto`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for SDCA with an l1 penalty.
    pub fn resolved(&self, corpus: &Corpus) -> Result<Method, Error> {
        match self.method {
            Method::Sdca if self.l1 > 0.0 => Err(Error::Unsupported {
                method: "sdca",
                what: "an l1 penalty; use Method::Lbfgs, which runs OWL-QN".to_owned(),
            }),
            Method::Auto if self.l1 > 0.0 => Ok(Method::Lbfgs),
            Method::Auto if self.memory(&corpus.data) > self.max_memory => Ok(Method::Lbfgs),
            Method::Auto => Ok(Method::Sdca),
            chosen => Ok(chosen),
        }
    }

    /// Bytes that SDCA takes for its marginals.
    fn memory(&self, data: &Dataset) -> u64 {
        if self.single_precision(data) { memory::<f32>(data) } else { memory::<f64>(data) }
    }

    /// Whether a certificate ends the training.
    fn is_met(&self, certificate: Certificate) -> bool {
        certificate.value() <= self.stop.tolerance(certificate.objective())
    }
}

/// Given weights to start from, which count until those of the marginals are better: SDCA starts at the marginals of the given
/// ones, whose own weights are far from them.
struct Start {
    weights: Weights,
    objective: f64,
}

impl Start {
    fn new(problem: &Problem<'_>, weights: &Weights) -> Result<Self, Error> {
        let objective = problem.objective(weights)?;
        // Those without a feature of the problem are 0 for it.
        Ok(Start { weights: problem.unpack(&problem.layout.pack(weights)?), objective })
    }

    /// The start with what is proved about it, if its objective is below that of a certificate: a lower bound is one for every
    /// point.
    fn better(&self, certificate: Certificate) -> Option<(&Weights, Certificate)> {
        match certificate {
            Certificate::Gap { objective, lower_bound } if self.objective < objective => {
                let objective = self.objective;
                Some((&self.weights, Certificate::Gap { objective, lower_bound }))
            }
            _ => None,
        }
    }
}
