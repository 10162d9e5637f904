//! Inference with a trained model.

use std::sync::Arc;

use fenchel_graphical::chain::{Chain, ChainMarginals};
use fenchel_linalg::text::short;
use fenchel_linalg::{Invalid, parallel};
use ndarray::Array2;
use rand::Rng;

use crate::Error;
use crate::dataset::Sequence;
use crate::instance::Instance;
use crate::model::CrfModel;
use crate::records::{Found, Records};
use crate::scheme::LabelScheme;
use crate::vocabulary::Vocabulary;

/// The largest `log Z` from which probabilities are computed: the rounding error of scores of this size is 1e-7.
const LARGEST_LOG: f64 = 1e9;

/// Inference on one sequence after the other. Buffers are reused.
///
/// | question | method |
/// |---|---|
/// | the most probable labels | [`tag`](Self::tag) |
/// | the `k` best labellings with their probabilities | [`k_best`](Self::k_best) |
/// | the probability of every label of every token | [`marginals`](Self::marginals) |
/// | the probability of a labelling, of a span | [`probability`](Self::probability), [`span_probability`](Self::span_probability) |
/// | a random labelling | [`sample`](Self::sample) |
/// | the most probable labels of a sequence whose attributes are numbers | [`tag_sequence`](Self::tag_sequence) |
///
/// ```
/// use fenchel_crf::{CrfModel, Instance, LabelScheme, Vocabulary, Weights};
///
/// let attributes: Vocabulary = ["w=Rome"].into_iter().collect();
/// let labels: Vocabulary = ["O", "B-LOC", "I-LOC"].into_iter().collect();
/// let mut weights = Weights::zeros(1, 3);
/// weights.emission[[0, 2]] = 2.0;
/// let model = CrfModel::new(attributes, labels, weights, None)?;
/// let mut sentence = Instance::new();
/// sentence.begin_token("");
/// sentence.push("w=Rome", 1.0);
/// assert_eq!(model.tag(&sentence)?, ["I-LOC"]);
/// assert_eq!(model.tagger().with_scheme(LabelScheme::Bio).tag(&sentence)?.len(), 1);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tagger<'m> {
    model: &'m CrfModel,
    records: Arc<Records>,
    scheme: LabelScheme,
    /// Why the labels of the model cannot follow the scheme.
    refused: Option<Invalid>,
    chain: Chain,
    path: Vec<usize>,
    marginals: ChainMarginals,
    found: Found,
}

impl CrfModel {
    /// A tagger, which has the buffers for inference on many sequences. The first call makes a table of the weights by name,
    /// which the model keeps. O(A K).
    pub fn tagger(&self) -> Tagger<'_> {
        Tagger::new(self)
    }

    /// The most probable labels of one sequence. For many, make a [`tagger`](Self::tagger) once or use
    /// [`tag_all`](Self::tag_all). Attributes that the model does not know are ignored.
    ///
    /// # Errors
    /// Those of [`Tagger::tag`].
    pub fn tag(&self, instance: &Instance) -> Result<Vec<&str>, Error> {
        self.tagger().tag(instance)
    }

    /// Tags many sequences on all cores (with the feature `parallel`). The results do not depend on the number of cores.
    ///
    /// # Errors
    /// The error of [`Tagger::tag`] for the first sequence that has one, with the number of the sequence:
    /// [`Error::InSequence`].
    pub fn tag_all(&self, instances: &[Instance]) -> Result<Vec<Vec<&str>>, Error> {
        self.tagger().for_all(instances, Tagger::tag)
    }

    /// The fraction of tokens whose predicted label is the label of their instance. A label that the model does not know counts
    /// as wrong. For scores of spans see `ChunkCounts` of `fenchel-metrics`.
    ///
    /// ```
    /// # use fenchel_crf::{CrfModel, Instance, Vocabulary, Weights};
    /// # let attributes: Vocabulary = ["run"].into_iter().collect();
    /// # let labels: Vocabulary = ["N", "V"].into_iter().collect();
    /// # let mut weights = Weights::zeros(1, 2);
    /// # weights.emission[[0, 1]] = 1.5;
    /// # let model = CrfModel::new(attributes, labels, weights, None)?;
    /// let mut sentence = Instance::new();
    /// for label in ["V", "N"] {
    ///     sentence.begin_token(label);
    ///     sentence.push("run", 1.0);
    /// }
    /// assert_eq!(model.score(&[sentence])?, 0.5);
    /// # Ok::<(), fenchel_crf::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`tag_all`](Self::tag_all); [`Error::Invalid`] if there is no sequence, or a token without a label.
    pub fn score(&self, instances: &[Instance]) -> Result<f64, Error> {
        if instances.is_empty() {
            return Err(Invalid::Empty { what: "instances" }.into());
        }
        for (sequence, instance) in instances.iter().enumerate() {
            if let Some(token) = instance.labels().position(str::is_empty) {
                let reason = format!("token {token} of sequence {sequence} has none");
                return Err(Invalid::Layout { what: "labels", reason }.into());
            }
        }
        let (mut right, mut tokens) = (0, 0);
        for (instance, found) in instances.iter().zip(self.tag_all(instances)?) {
            right += instance.labels().zip(&found).filter(|(truth, label)| truth == *label).count();
            tokens += instance.len();
        }
        Ok(right as f64 / tokens as f64)
    }
}

impl<'m> Tagger<'m> {
    fn new(model: &'m CrfModel) -> Self {
        let labels = model.labels().len();
        let chain = Chain::shared(labels, 1).expect("a model has labels");
        let mut tagger = Tagger {
            model,
            records: model.records(),
            scheme: LabelScheme::Any,
            refused: None,
            chain,
            path: Vec::new(),
            marginals: ChainMarginals::new(),
            found: Found::default(),
        };
        tagger.write_transitions();
        tagger
    }

    /// The same tagger, restricted to a labelling scheme: labellings that the scheme forbids have probability 0, and the others
    /// are renormalised. With a scheme that the labels of the model cannot follow, every question ends with [`Error::Invalid`],
    /// which names the label.
    pub fn with_scheme(mut self, scheme: LabelScheme) -> Self {
        self.scheme = scheme;
        self.refused = scheme.check(self.model.labels()).err();
        self.write_transitions();
        self
    }

    /// The labels of the model: the columns of [`marginals`](Self::marginals).
    pub fn labels(&self) -> &'m Vocabulary {
        self.model.labels()
    }

    fn write_transitions(&mut self) {
        let transitions = &self.model.weights().transition;
        for (j, row) in transitions.outer_iter().enumerate() {
            self.chain.pairwise_mut(0, j).iter_mut().zip(row).for_each(|(score, w)| *score = *w);
        }
        self.scheme.forbid_transitions(self.model.labels(), &mut self.chain);
    }

    /// Writes the scores of a sequence into the chain.
    fn load(&mut self, instance: &Instance) -> Result<(), Error> {
        check_values(instance)?;
        self.records.find_all(instance, &mut self.found);
        self.write_scores(instance.len())
    }

    /// Writes the scores of the found attributes to the chain.
    fn write_scores(&mut self, length: usize) -> Result<(), Error> {
        if length == 0 {
            return Err(Error::EmptySequence { sequence: 0 });
        }
        if let Some(refused) = &self.refused {
            return Err(refused.clone().into());
        }
        self.chain.resize(length)?;
        self.records.scores(&self.found, self.chain.padded_unary_mut());
        if self.scheme != LabelScheme::Any {
            self.scheme.forbid_ends(self.model.labels(), &mut self.chain)?;
        }
        Ok(())
    }

    /// Does the same as [`load`](Self::load) for questions about probabilities, and returns `log Z`. A probability does not
    /// change if all scores of a token are shifted, so that the best is 0: large scores would hide it in rounding errors.
    fn load_shifted(&mut self, instance: &Instance) -> Result<f64, Error> {
        self.load(instance)?;
        for t in 0..instance.len() {
            let scores = &mut self.chain.unary_mut(t)[..self.model.labels().len()];
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if top > f64::NEG_INFINITY {
                scores.iter_mut().for_each(|score| *score -= top);
            }
        }
        let log_partition = self.chain.log_partition()?;
        if log_partition.abs() <= LARGEST_LOG {
            return Ok(log_partition);
        }
        let reason = format!(
            "the best labelling has the score {}; expected at most {} in size, as rounding hides probabilities beyond",
            short(log_partition),
            short(LARGEST_LOG)
        );
        Err(Invalid::Layout { what: "weights and values", reason }.into())
    }

    /// The most probable labels.
    ///
    /// # Errors
    /// [`Error::EmptySequence`], [`Error::Invalid`] for a value that is not finite, an attribute before the first token, or a
    /// label of the model that the scheme does not know or never allows; [`Error::Chain`] if the scheme allows no labelling
    /// with the labels of the model.
    pub fn tag(&mut self, instance: &Instance) -> Result<Vec<&'m str>, Error> {
        self.tag_numbers(instance)?;
        Ok(self.path.iter().map(|&k| self.model.labels().name(k as u32)).collect())
    }

    /// Applies a function to many items on all cores (with the feature `parallel`). `ask` receives a copy of this tagger and
    /// one item after the other; an item is an [`Instance`], or contains one. The results are in the order of the items, and do
    /// not depend on the number of cores.
    ///
    /// # Errors
    /// [`Error::InSequence`] or [`Error::EmptySequence`], with the number of the first item that has an error.
    pub fn for_all<I: Sync, A: Send>(
        &self,
        items: &[I],
        ask: impl Fn(&mut Tagger<'m>, &I) -> Result<A, Error> + Sync,
    ) -> Result<Vec<A>, Error> {
        // A copy of the tagger for each part. More parts than threads, as sequences differ in length.
        let size = items.len().div_ceil(8 * parallel::threads()).max(1);
        let answers = parallel::map(items.chunks(size), |items| {
            let mut tagger = self.clone();
            items.iter().map(|item| ask(&mut tagger, item)).collect::<Vec<_>>()
        });
        let answers = answers.into_iter().flatten().enumerate();
        answers.map(|(i, answer)| answer.map_err(|error| error.in_sequence(i))).collect()
    }

    fn tag_numbers(&mut self, instance: &Instance) -> Result<&[usize], Error> {
        self.load(instance)?;
        self.chain.viterbi_into(&mut self.path)?;
        Ok(&self.path)
    }

    /// Does the same as [`tag`](Self::tag) for a sequence whose attributes are numbers of the model's vocabulary, such as a
    /// sequence of the training corpus. The result is numbers of labels; the labels of the sequence are ignored. Attributes
    /// beyond the model's are ignored too.
    ///
    /// # Errors
    /// [`Error::Chain`] if the scheme allows no labelling with the labels of the model.
    pub fn tag_sequence(&mut self, sequence: &Sequence<'_>) -> Result<&[usize], Error> {
        let records = &self.records;
        self.found.clear();
        for t in 0..sequence.len() {
            let attributes = sequence.attributes(t);
            self.found.push(attributes.map(|(number, value)| (records.place(number), value)));
        }
        self.write_scores(sequence.len())?;
        self.chain.viterbi_into(&mut self.path)?;
        Ok(&self.path)
    }

    /// The `count` most probable labellings with their probabilities, best first. There are fewer if the scheme allows fewer.
    /// The order of labellings with equal probabilities is unspecified, but the same in every call.
    ///
    /// # Errors
    /// As [`marginals`](Self::marginals), and [`Error::Chain`] for `count = 0`.
    pub fn k_best(
        &mut self,
        instance: &Instance,
        count: usize,
    ) -> Result<Vec<(Vec<&'m str>, f64)>, Error> {
        let log_partition = self.load_shifted(instance)?;
        let named = |(path, score): (Vec<usize>, f64)| {
            let names = path.iter().map(|&k| self.model.labels().name(k as u32)).collect();
            (names, (score - log_partition).exp())
        };
        Ok(self.chain.k_best(count)?.into_iter().map(named).collect())
    }

    /// The probability of every label of every token: an array of tokens x labels, with the labels in the order of the model.
    ///
    /// # Errors
    /// As [`tag`](Self::tag), and [`Error::Invalid`] if the scores, with the best of every token shifted to 0, exceed 1e9: rounding
    /// would hide the probabilities.
    pub fn marginals(&mut self, instance: &Instance) -> Result<Array2<f64>, Error> {
        self.load_shifted(instance)?;
        self.chain.marginals(&mut self.marginals)?;
        let shape = (instance.len(), self.model.labels().len());
        Ok(Array2::from_shape_fn(shape, |(t, k)| self.marginals.node(t)[k]))
    }

    /// The probability of a labelling. It is 0 if the model does not know one of the labels, or the scheme forbids the
    /// labelling.
    ///
    /// # Errors
    /// As [`marginals`](Self::marginals), and [`Error::Invalid`] if the number of labels is not the number of tokens.
    pub fn probability<L: AsRef<str>>(
        &mut self,
        instance: &Instance,
        labels: &[L],
    ) -> Result<f64, Error> {
        Invalid::check_length("labels", instance.len(), labels.len())?;
        let log_partition = self.load_shifted(instance)?;
        let known = labels.iter().map(|label| self.model.labels().get(label.as_ref()));
        let Some(path) = known.map(|k| k.map(|k| k as usize)).collect::<Option<Vec<usize>>>()
        else {
            return Ok(0.0);
        };
        Ok((self.chain.score(&path)? - log_partition).exp())
    }

    /// The probability that the tokens `start..end` are exactly one chunk of type `kind`.
    ///
    /// Marks are those of IOB2, IOBES and BILOU. The first token is `B-kind` (or `S-kind` for a chunk of one token), tokens
    /// inside are `I-kind`, the last is `I-kind` or `E-kind`, and the token after the chunk is neither `I-kind` nor `E-kind`.
    /// `L` and `U` are read as `E` and `S`. The probability is 0 if the model has no label of this type.
    ///
    /// # Errors
    /// As [`marginals`](Self::marginals), and [`Error::Invalid`] for an empty span or one beyond the sequence.
    pub fn span_probability(
        &mut self,
        instance: &Instance,
        start: usize,
        end: usize,
        kind: &str,
    ) -> Result<f64, Error> {
        if start >= end || end > instance.len() {
            let reason = format!(
                "tokens {start}..{end} of {}; expected a start before the end, and an end within the sequence",
                instance.len()
            );
            return Err(Invalid::Layout { what: "span", reason }.into());
        }
        let all = self.load_shifted(instance)?;
        let allow =
            |chain: &mut Chain, t: usize, wanted: bool, marks: &[&str]| -> Result<(), Error> {
                let is = |label: &str| {
                    label
                        .split_once('-')
                        .is_some_and(|(mark, of)| of == kind && marks.contains(&mark))
                };
                let mask: Vec<bool> =
                    self.model.labels().iter().map(|label| is(label) == wanted).collect();
                Ok(chain.allow(t, &mask)?)
            };
        for t in start..end {
            let marks: &[&str] = match (t == start, t + 1 == end) {
                (true, true) => &["B", "S", "U"],
                (true, false) => &["B"],
                (false, false) => &["I"],
                (false, true) => &["I", "E", "L"],
            };
            allow(&mut self.chain, t, true, marks)?;
        }
        if end < instance.len() {
            allow(&mut self.chain, end, false, &["I", "E", "L"])?;
        }
        match self.chain.log_partition() {
            Ok(span) => Ok((span - all).exp().min(1.0)),
            Err(fenchel_graphical::Error::ImpossibleEvidence) => Ok(0.0),
            Err(error) => Err(error.into()),
        }
    }

    /// A random labelling, drawn from the model.
    ///
    /// # Errors
    /// As [`marginals`](Self::marginals).
    pub fn sample(
        &mut self,
        instance: &Instance,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Vec<&'m str>, Error> {
        self.load_shifted(instance)?;
        let path = self.chain.sample(rng)?;
        Ok(path.iter().map(|&k| self.model.labels().name(k as u32)).collect())
    }
}

fn check_values(instance: &Instance) -> Result<(), Error> {
    instance.check_owned()?;
    // Without a way out of the loop, which is quicker.
    let all = instance.all_attributes().iter();
    if !all.fold(false, |bad, (_, value)| bad | !value.is_finite()) {
        return Ok(());
    }
    for row in 0..instance.len() {
        for (name, value) in instance.attributes(row) {
            if !value.is_finite() {
                let reason =
                    format!("{name:?} is {value} at token {row}; expected a finite number");
                return Err(Invalid::Layout { what: "attribute values", reason }.into());
            }
        }
    }
    Ok(())
}
