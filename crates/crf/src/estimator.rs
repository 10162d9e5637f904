//! From a corpus to a model in one call.

use std::ops::ControlFlow;

use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, Owlqn};
use fenchel_optim::{Certificate, Progress, Report, Status, Stop};
use serde::{Deserialize, Serialize};

use crate::{
    Corpus, CrfModel, Error, Features, Init, Likelihood, Problem, Sdca, SdcaSettings, Weights,
    lbfgs, memory, owlqn, sdca,
};

/// What trains a [`Crf`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Method {
    /// OWL-QN for `l1 > 0`, else SDCA if the marginals fit into `max_memory`, else L-BFGS.
    #[default]
    Auto,
    /// Dual coordinate ascent with gap sampling: fewest passes, memory for the marginals of all pairs.
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
    /// check with a function that makes a copy of the current weights. `Break` ends the training; the model is
    /// then the current one, or the start if that is better: SDCA starts at the marginals of given weights, and comes back to
    /// weights as good as those in a pass or two.
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
                let settings = SdcaSettings {
                    init: start
                        .map_or_else(Init::default, |weights| Init::Weights(weights.clone())),
                    max_memory: Some(self.max_memory),
                    seed: self.seed,
                    stop: self.stop,
                    ..SdcaSettings::default()
                };
                let mut observer = |progress: &Progress, method: &Sdca<'_, '_, f32>| {
                    watch(progress, &|| method.weights())
                };
                let found = sdca(&problem, &settings, None, &mut observer)?;
                let ended = (found.state.weights, found.report);
                match start.filter(|_| ended.1.status != Status::Converged) {
                    Some(start) => better(&problem, start, ended)?,
                    None => ended,
                }
            }
        };
        CrfModel::new(corpus.attributes.clone(), corpus.labels.clone(), weights, Some(report))
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
            Method::Auto if memory::<f32>(&corpus.data) > self.max_memory => Ok(Method::Lbfgs),
            Method::Auto => Ok(Method::Sdca),
            chosen => Ok(chosen),
        }
    }
}

/// The start, if its objective is below that of the end; any lower bound is one for both.
fn better(
    problem: &Problem<'_>,
    start: &Weights,
    (weights, report): (Weights, Report),
) -> Result<(Weights, Report), Error> {
    let objective = problem.objective(start)?;
    match report.certificate {
        Certificate::Gap { objective: now, lower_bound } if objective < now => {
            let certificate = Certificate::Gap { objective, lower_bound };
            Ok((problem.unpack(&problem.layout.pack(start)?), Report { certificate, ..report }))
        }
        _ => Ok((weights, report)),
    }
}
