//! The estimator [`Crf`]: from a corpus to a model in one call.

use std::ops::ControlFlow;

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Progress, Report, Status, Stop};
use serde::{Deserialize, Serialize};

use crate::training::train;
use crate::{
    Checkpoint, Corpus, CrfModel, Dataset, Error, Features, Problem, Snapshot, Watch, Weights,
    memory, single_precision_suffices,
};

/// Default limit of passes. Dense attributes with a weak penalty take thousands of passes, which are fast because there are few
/// weights.
const MAX_PASSES: f64 = 10_000.0;

/// What trains a [`Crf`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Method {
    /// SDCA if the marginals fit into `max_memory`. If not, L-BFGS, which is OWL-QN with an l1 penalty. If SDCA has not converged
    /// after 50 passes, because the penalty is weak, L-BFGS or OWL-QN continues from the weights of SDCA, or from zero if that
    /// has a lower objective. L-BFGS also continues from a [`Checkpoint`] without dual variables, because such a checkpoint was
    /// written by L-BFGS.
    #[default]
    Auto,
    /// Dual coordinate ascent with gap sampling. It needs the fewest passes, and memory for the marginals of all pairs. These
    /// are stored in single precision if the tolerance and `l2` allow it ([`single_precision_suffices`]), and otherwise in
    /// double precision.
    Sdca,
    /// L-BFGS on all cores, or OWL-QN with an l1 penalty. It stores up to 100 pairs of vectors as long as they take at most 64
    /// MiB, and at least 10 pairs.
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
/// | `method` | `Auto` | training method |
/// | `max_memory` | 4 GiB | bytes that the marginals of SDCA may take |
/// | `stop` | relative gap 1e-4, 10,000 passes | when to end, see [`Stop`] |
/// | `seed` | 0 | seed of the random order of SDCA |
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
    /// Bytes that the marginals of SDCA may take; `None` for no limit.
    pub max_memory: Option<u64>,
    /// When to end.
    pub stop: Stop,
    /// Seed of the random order of SDCA.
    pub seed: u64,
}

impl Default for Crf {
    fn default() -> Self {
        Crf {
            l2: None,
            l1: 0.0,
            features: Features::default(),
            method: Method::Auto,
            max_memory: MAX_MEMORY,
            stop: Stop { max_passes: MAX_PASSES, ..Stop::default() },
            seed: 0,
        }
    }
}

impl Crf {
    /// Trains a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters out of range, or an `l2` so small that the training overflows; [`Error::Refused`] for SDCA whose marginals exceed `max_memory`.
    pub fn fit(&self, corpus: &Corpus) -> Result<CrfModel, Error> {
        self.fit_watched(corpus, None, |_: &Progress, _: &Snapshot<'_>| ControlFlow::Continue(()))
    }

    /// Trains a model, starting from given weights or from a checkpoint.
    ///
    /// # Errors
    /// As [`fit_watched`](Self::fit_watched).
    pub fn fit_from(&self, corpus: &Corpus, start: Start) -> Result<CrfModel, Error> {
        self.fit_watched(corpus, Some(start), |_: &Progress, _: &Snapshot<'_>| {
            ControlFlow::Continue(())
        })
    }

    /// Trains a model, and calls `watch` at every check and at least once per pass. `Break` ends the training with the best
    /// certified weights.
    ///
    /// SDCA cannot start at given weights directly. It starts at the marginals of these weights and needs a pass or two to
    /// reach weights that are as good. Until then the given weights are the current ones, with the lower bound that the
    /// marginals prove. A start that already meets `stop` is returned unchanged. A checkpoint of the same corpus contains the
    /// marginals too.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for a start of another shape.
    pub fn fit_watched(
        &self,
        corpus: &Corpus,
        start: Option<Start>,
        mut watch: impl Watch,
    ) -> Result<CrfModel, Error> {
        let data = &corpus.data;
        Invalid::check_nonnegative("l1", self.l1)?;
        let l2 = self.l2.unwrap_or(1.0 / data.sequences().max(1) as f64);
        let problem = Problem::new(data, l2, self.features)?;
        let (weights, report) = train(self, corpus, &problem, start, &mut watch)?;
        check_finite(l2, weights.emission.iter().chain(&weights.transition), &report)?;
        CrfModel::new(corpus.attributes.clone(), corpus.labels.clone(), weights, Some(report))
    }

    /// Whether SDCA stores its pairs in single precision.
    pub(crate) fn single_precision(&self, data: &Dataset) -> bool {
        let l2 = self.l2.unwrap_or(1.0 / data.sequences().max(1) as f64);
        single_precision_suffices(data, l2, self.stop.relative)
    }

    /// The method for a corpus. [`Method::Auto`] becomes `Lbfgs` if there is too little memory. Otherwise it stays `Auto`, which
    /// is SDCA, and L-BFGS if SDCA needs more than 50 passes.
    pub fn resolved(&self, corpus: &Corpus) -> Method {
        match self.method {
            Method::Auto if !self.fits(&corpus.data) => Method::Lbfgs,
            chosen => chosen,
        }
    }

    /// Whether the marginals of SDCA fit into `max_memory`.
    fn fits(&self, data: &Dataset) -> bool {
        let single = self.single_precision(data);
        let needed = if single { memory::<f32>(data) } else { memory::<f64>(data) };
        self.max_memory.is_none_or(|limit| needed <= limit)
    }
}

/// Refuses a training whose weights overflowed, or their objective without a status that says so. The penalty divides the
/// gradient: it alone can do that.
pub(crate) fn check_finite<'w>(
    l2: f64,
    mut weights: impl Iterator<Item = &'w f64>,
    report: &Report,
) -> Result<(), Invalid> {
    let known = report.status == Status::Diverged || report.certificate.objective().is_some();
    if known && weights.all(|w| w.is_finite()) {
        return Ok(());
    }
    let expected =
        "a larger penalty: the training diverged, its weights or their objective are not finite";
    Err(Invalid::Parameter { name: "l2", value: l2, expected })
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
    pub(crate) fn weights(self, corpus: &Corpus) -> Weights {
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
