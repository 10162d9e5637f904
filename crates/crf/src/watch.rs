//! Observation of a training, independent of its method.

use std::io::{self, Write};

use crate::builder::Corpus;
use crate::checkpoint;
use crate::checkpoint::WriteDuals;
use crate::model::CrfModel;
use crate::problem::Problem;
use crate::weights::Weights;

/// The current state of a training, which an observer of [`train`](fn@crate::training::train) receives.
#[derive(Clone, Copy)]
pub struct Snapshot<'s> {
    pub(crate) corpus: &'s Corpus,
    pub(crate) weights: &'s dyn Fn() -> Weights,
    pub(crate) duals: Option<&'s dyn WriteDuals>,
}

impl Snapshot<'_> {
    /// A copy of the current weights.
    pub fn weights(&self) -> Weights {
        (self.weights)()
    }

    /// Writes a [`Checkpoint`](crate::training::Checkpoint), from which the training can continue.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn save_checkpoint(&self, to: &mut dyn Write) -> io::Result<()> {
        let Corpus { attributes, labels, template, .. } = self.corpus;
        let model = CrfModel::new(attributes.clone(), labels.clone(), self.weights(), None);
        let mut model = model.map_err(io::Error::other)?;
        model.template.clone_from(template);
        checkpoint::write(&model, self.duals, to)
    }
}

/// A method whose training can be watched.
pub(crate) trait Snap {
    fn weights_now(&self, problem: &Problem<'_>) -> Weights;

    fn duals_now(&self) -> Option<Box<dyn WriteDuals + '_>> {
        None
    }
}
