//! The settings of [`Crf`].

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal, Report, Status, Stop, settings};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use crate::builder::Corpus;
use crate::dataset::Dataset;
use crate::methods::sdca::{memory, single_precision_suffices};
use crate::support::Features;

/// What trains a [`Crf`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Method {
    /// SDCA if the marginals fit into `max_memory`. If not, L-BFGS, which is OWL-QN with an l1 penalty. If SDCA has not converged
    /// after 50 passes, because the penalty is weak, L-BFGS or OWL-QN continues from the weights of SDCA, or from zero if that
    /// has a lower objective. L-BFGS also continues from a [`Checkpoint`](crate::training::Checkpoint) without dual variables, because such a checkpoint was
    /// written by L-BFGS.
    #[default]
    Auto,
    /// Dual coordinate ascent with gap sampling. It needs the fewest passes, and memory for the marginals of all pairs. These
    /// are stored in single precision if the tolerance and `l2` allow it ([`single_precision_suffices`]), and otherwise in
    /// double precision. On sequences that are spread over processes it runs in every shard at once; see
    /// [`train_spread`](crate::training::train_spread).
    Sdca,
    /// L-BFGS on all cores, or OWL-QN with an l1 penalty. It stores up to 100 pairs of vectors as long as they take at most 64
    /// MiB, and at least 10 pairs.
    Lbfgs,
}

settings! {
    /// A linear-chain conditional random field:
    ///
    /// ```text
    /// min_w  (1/n) sum_i -log p(y_i | x_i; w) + (l2/2) ||w||^2 + l1 ||w||_1      over n sequences
    /// ```
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
    pub struct Crf {
        /// Weight of `||w||^2 / 2`; `None` for one over the number of sequences. CRFsuite's `c2` is `n l2 / 2`.
        l2: Option<f64> = None,
        /// Weight of `||w||_1`; CRFsuite's `c1` is `n l1`.
        l1: f64 = 0.0,
        /// Which pairs of attribute and label have a weight.
        features: Features = Features::default(),
        /// Training method.
        method: Method = Method::Auto,
        /// Bytes that the weights may take, and the marginals of SDCA; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// When to end, see [`Stop`]. Dense attributes with a weak penalty take thousands of passes, which are fast.
        stop: Stop = Stop { max_passes: 10_000.0, ..Stop::default() },
        /// Seed of the random order of SDCA.
        seed: u64 = 0,
    }
}

impl Crf {
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

/// Refuses weights of what has none.
pub(crate) fn no_weights(
    weights: Option<ArrayView1<'_, f64>>,
    of: &'static str,
) -> Result<(), Refusal> {
    match weights {
        Some(_) => {
            Err(Refusal::unsupported("a conditional random field", format!("weights of {of}")))
        }
        None => Ok(()),
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
