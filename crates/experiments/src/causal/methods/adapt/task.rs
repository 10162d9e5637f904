//! The task of the categorical experiments: models start at a reference distribution and adapt to a transfer
//! distribution.

use fenchel_linalg::Invalid;
use rand::Rng;

use super::kernels::Goal;
use super::{Average, CategoricalSgd, Momentum, Task};
use fenchel_causal::Error;
use fenchel_causal::categorical::{Anova, CategoricalPair, Direction, JointCategorical};

/// A reference and a transfer distribution, and the three models (causal, anticausal, joint) that adapt from one to the
/// other.
#[derive(Debug, Clone)]
pub struct CategoricalTask {
    /// Causal, anticausal.
    starts: [CategoricalPair; 2],
    start: JointCategorical,
    transfer: CategoricalPair,
    /// Causal, anticausal, joint.
    goals: [Goal; 3],
    momentum: Momentum,
}

impl CategoricalTask {
    /// The task for two pairs in the causal direction: reference and transfer.
    ///
    /// # Errors
    /// [`Error::Invalid`] for different numbers of states or different directions.
    pub fn new(
        reference: &CategoricalPair,
        transfer: &CategoricalPair,
    ) -> Result<CategoricalTask, Error> {
        reference.distance_sq(transfer)?;
        if reference.direction() != Direction::Causal {
            let reason = "expected causal pairs: reverse them first".into();
            return Err(Invalid::Layout { what: "the direction", reason }.into());
        }
        let log = transfer.log_joint();
        let (xs, ys) = log.dim();
        let goals = [
            Goal::new(log.iter().copied(), ys),
            Goal::new(log.t().iter().copied(), xs),
            Goal::new(log.iter().copied(), xs * ys),
        ];
        Ok(CategoricalTask {
            starts: [reference.clone(), reference.reverse()],
            start: JointCategorical::of(reference),
            transfer: transfer.clone(),
            goals,
            momentum: Momentum::Off,
        })
    }

    /// The same with momentum in the two directed models.
    #[must_use]
    pub fn momentum(self, momentum: Momentum) -> CategoricalTask {
        CategoricalTask { momentum, ..self }
    }
}

impl Task for CategoricalTask {
    type Sample = (usize, usize);
    const MODELS: &'static [&'static str] = &["causal", "anticausal", "joint"];

    fn draw(&self, samples: usize, rng: &mut impl Rng) -> Vec<(usize, usize)> {
        self.transfer.sample(samples, rng)
    }

    fn distance_sq(&self, model: usize) -> Result<f64, Error> {
        let all = Anova::of(&self.starts[0]).distances(&Anova::of(&self.transfer))?;
        Ok([all.causal, all.anticausal, all.joint][model])
    }

    fn run(
        &self,
        model: usize,
        step: f64,
        average: Average,
        every: usize,
        samples: &[(usize, usize)],
    ) -> Result<Vec<f64>, Error> {
        let goal = &self.goals[model];
        let mut sgd = match self.starts.get(model) {
            Some(start) => CategoricalSgd::new(start, step, average, self.momentum)?,
            None => CategoricalSgd::joint(&self.start, step, average)?,
        };
        let mut curve = Vec::with_capacity(1 + samples.len() / every);
        curve.push(sgd.divergence(goal));
        for batch in samples.chunks_exact(every) {
            sgd.learn_all(batch)?;
            curve.push(sgd.divergence(goal));
        }
        Ok(curve)
    }
}
