//! The estimator [`Crf`]: from a corpus to a model in one call.

use fenchel_optim::{Fit, Placement};

use crate::Error;
use crate::builder::Corpus;
use crate::model::CrfModel;
use crate::settings::{Crf, no_weights};
use crate::training::{Start, train, train_spread};

impl Crf {
    /// Trains a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters out of range, or an `l2` so small that the training overflows; [`Error::Refused`] for
    /// weights, or marginals of SDCA, that exceed `max_memory`.
    pub fn fit(&self, corpus: &Corpus) -> Result<CrfModel, Error> {
        self.fit_with(corpus, Fit::new())
    }

    /// As [`fit`](Self::fit), with a former model to start from, whose weights are matched by name, and a closure that watches.
    /// `Break` ends the training with the best certified weights.
    ///
    /// SDCA cannot start at given weights directly. It starts at the marginals of these weights and needs a pass or two to
    /// reach weights that are as good. Until then the given weights are the current ones, with the lower bound that the
    /// marginals prove. A start that already meets `stop` is returned unchanged. For long trainings, which are saved on the
    /// way, see [`training`](mod@crate::training).
    ///
    /// The sequences may be spread over processes ([`Fit::spread`]), after [`CorpusBuilder::share`](crate::CorpusBuilder::share); see
    /// [`train_spread`].
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Refused`] for weights: a sequence counts as often as it is in the corpus. Those of
    /// [`train_spread`].
    pub fn fit_with<P: Placement>(
        &self,
        corpus: &Corpus,
        fit: Fit<'_, CrfModel, P>,
    ) -> Result<CrfModel, Error> {
        no_weights(fit.weights, "sequences; a sequence counts as often as it is in the corpus")?;
        let start = fit.start.map(|model| model.weights_for(&corpus.attributes, &corpus.labels));
        let (mut watch, start) = (fit.watch, start.map(Start::Weights));
        let watch = &mut watch.of_all(&fit.rows);
        match fit.rows.shards() {
            None => train(self, corpus, start, watch),
            Some(shards) => train_spread(self, corpus, shards, start, watch),
        }
    }
}
