//! The score on held-out sequences.

use fenchel_crf::{Corpus, CrfModel, Instance, Progress, Report, Status, Weights};

use fenchel_linalg::text::{fixed, number, short};

use crate::evaluation::Evaluation;
use fenchel_cli::Failure;

/// Computes the score on the held-out sequences at every check, and keeps the best weights.
pub(super) struct Judge {
    instances: Vec<Instance>,
    model: CrfModel,
    name: &'static str,
    best: Option<(f64, Weights, Progress)>,
    /// Checks since then.
    pub(super) since_best: u32,
}

impl Judge {
    pub(super) fn new(corpus: &Corpus, instances: Vec<Instance>) -> Result<Self, Failure> {
        let weights = Weights::zeros(corpus.attributes.len(), corpus.labels.len());
        let model = CrfModel::new(corpus.attributes.clone(), corpus.labels.clone(), weights, None)?;
        let mut truth = Evaluation::default();
        for instance in &instances {
            let labels: Vec<&str> = instance.labels().collect();
            truth.add(&labels, &labels)?;
        }
        let name = truth.score().1;
        Ok(Judge { instances, model, name, best: None, since_best: 0 })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn evaluate(
        &mut self,
        progress: &Progress,
        weights: Weights,
    ) -> Result<f64, fenchel_crf::Error> {
        self.model.set_weights(weights)?;
        let mut evaluation = Evaluation::default();
        let found = self.model.tag_all(&self.instances)?;
        for (instance, labels) in self.instances.iter().zip(&found) {
            evaluation
                .add(&instance.labels().collect::<Vec<_>>(), labels)
                .map_err(|error| fenchel_crf::Error::Read(error.to_string()))?;
        }
        let (score, _) = evaluation.score();
        if self.best.as_ref().is_none_or(|(best, _, _)| score > *best) {
            self.best = Some((score, self.model.weights().clone(), *progress));
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        Ok(score)
    }

    /// The number of passes at which the best weights were found.
    pub(super) fn best_after(&self) -> f64 {
        self.best.as_ref().map_or(0.0, |(_, _, seen)| seen.passes)
    }

    /// Gives the model the best weights and their certificate. Returns a message that says which check they are from.
    pub(super) fn put_best_into(self, model: &mut CrfModel) -> Result<String, Failure> {
        let Some((score, weights, seen)) = self.best else { return Ok(String::new()) };
        // Only the last model is the one that the training ended with.
        let last = model.report.filter(|report| report.passes == seen.passes);
        let status = last.map_or(Status::Stopped, |report| report.status);
        model.set_weights(weights)?;
        model.report = Some(Report {
            status,
            certificate: seen.certificate,
            passes: seen.passes,
            oracle_calls: seen.oracle_calls,
            seconds: seen.seconds,
        });
        let gap = seen.certificate.relative();
        Ok(format!(
            "best {} {} after {} passes: that model is kept, relative gap {}",
            self.name,
            fixed(100.0 * score, 2),
            short(seen.passes),
            number(gap, 2)
        ))
    }
}
