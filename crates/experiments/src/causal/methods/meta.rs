//! Learning the direction from the speed of adaptation, and how that fails.
//!
//! ```text
//! R(gamma) = -log(sigma(gamma) e^{l_causal} + (1 - sigma(gamma)) e^{l_anti}),   dR/dgamma = sigma(gamma) - sigma(gamma + l_causal - l_anti)
//! ```
//!
//! Here `sigma(gamma)` is the belief in the causal direction, and `l_causal`, `l_anti` are the log-likelihoods of the
//! two models. In every episode both models start at the reference and receive k batches of a new transfer
//! distribution. Each batch is scored before the models take their step on it. The parameter gamma drifts towards the
//! model with the higher log-likelihood. **After interventions on the effect this is the anticausal model**, so the
//! learned direction is wrong in nearly all runs (experiment `ca-ex13`).
//!
//! Source: R. Le Priol, PhD thesis 2021, sections 4.1 and 4.B.4; Bengio and others, ICLR 2020.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{log_add_exp, sigmoid, softplus};
use fenchel_optim::random::stream;
use fenchel_optim::settings;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::adapt::{Average, CategoricalSgd, Momentum, check_step, mean_gradient_step};
use fenchel_causal::Error;
use fenchel_causal::categorical::CategoricalPair;
use fenchel_causal::prior::{CategoricalPrior, Target};

/// The loss of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RegretMode {
    /// The regret of the total log-likelihoods.
    #[default]
    Total,
    /// The sum over steps of the regret of each, as in the published notebook.
    PerStep,
}

/// The update rule of gamma.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum GammaStep {
    /// Plain gradient steps.
    Plain(f64),
    /// RMSprop with this step, decay 0.99 and 1e-8 in the denominator.
    RmsProp(f64),
}

settings! {
    /// Meta-learning of the direction.
    pub struct MetaLearner {
        /// Episodes.
        episodes: usize = 1000,
        /// Adaptation steps per episode.
        steps: usize = 2,
        /// Samples per step.
        batch: usize = 10,
        /// The step of the two models.
        step: f64 = 0.1,
        /// The update rule of gamma.
        gamma_step: GammaStep = GammaStep::RmsProp(0.01),
        /// The start value of gamma.
        gamma: f64 = 0.0,
        /// The loss of an episode.
        regret: RegretMode = RegretMode::Total,
        /// The share of episodes with an intervention on the effect: 0 cause only, 1 effect only.
        effect_share: f64 = 0.0,
        /// The seed; episode k draws from stream k.
        seed: u64 = 1,
    }
}

/// The result of the learning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetaLearned {
    /// gamma after every episode.
    pub gamma: Vec<f64>,
    /// `l_causal - l_anti` of every episode, in nats.
    pub advantage: Vec<f64>,
    /// The mean advantage.
    pub mean: f64,
    /// The standard error of the mean advantage. Compare the mean with it before reading its sign.
    pub standard_error: f64,
}

impl MetaLearned {
    /// The belief in the causal direction at the end.
    pub fn belief(&self) -> f64 {
        sigmoid(self.gamma.last().copied().unwrap_or(0.0))
    }
}

/// `R(gamma)` and its derivative, stable for any log-likelihoods.
pub fn regret(gamma: f64, causal: f64, anticausal: f64) -> (f64, f64) {
    let value = -log_add_exp(causal - softplus(-gamma), anticausal - softplus(gamma));
    // A difference of sigmoids near 1 cancels; the product does not.
    let (d, to) = (causal - anticausal, gamma + (causal - anticausal));
    let slope = if d > 0.0 {
        sigmoid(to) * sigmoid(-gamma) * (-d).exp_m1()
    } else {
        -sigmoid(gamma) * sigmoid(-to) * d.exp_m1()
    };
    (value, slope)
}

impl MetaLearner {
    /// Learns the direction of a reference by interventions drawn from the prior.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no episodes, steps or samples, a step that is not positive or above 1e100, a share outside [0, 1]; the errors of the prior.
    pub fn learn(
        &self,
        reference: &CategoricalPair,
        prior: &CategoricalPrior,
    ) -> Result<MetaLearned, Error> {
        for (name, value) in
            [("episodes", self.episodes), ("steps", self.steps), ("batch", self.batch)]
        {
            if value == 0 {
                return Err(Invalid::Parameter { name, value: 0.0, expected: "at least 1" }.into());
            }
        }
        let (GammaStep::Plain(eta) | GammaStep::RmsProp(eta)) = self.gamma_step;
        check_step(eta)?;
        check_step(self.step)?;
        Invalid::check_finite("gamma", &[self.gamma])?;
        if !(0.0..=1.0).contains(&self.effect_share) {
            let value = self.effect_share;
            return Err(Invalid::Parameter {
                name: "effect_share",
                value,
                expected: "a number in [0, 1]",
            }
            .into());
        }
        let mut gamma = self.gamma;
        let mut square = 0.0;
        let (mut path, mut advantage) = (Vec::new(), Vec::new());
        for episode in 0..self.episodes {
            let mut rng = stream(self.seed, episode as u64);
            let effect = rng.random::<f64>() < self.effect_share;
            let target = if effect { Target::Effect } else { Target::Cause };
            let change = prior.sample_intervention(reference, target, &mut rng)?;
            let transfer = reference.intervene(&change)?;
            let samples = transfer.sample(self.steps * self.batch, &mut rng);
            let causal = self.online(reference, &samples)?;
            let anticausal = self.online(&reference.reverse(), &samples)?;
            let total = causal.iter().sum::<f64>() - anticausal.iter().sum::<f64>();
            let slope = match self.regret {
                RegretMode::Total => regret(gamma, total, 0.0).1,
                RegretMode::PerStep => {
                    causal.iter().zip(&anticausal).map(|(a, b)| regret(gamma, *a, *b).1).sum()
                }
            };
            gamma -= match self.gamma_step {
                GammaStep::Plain(eta) => eta * slope,
                GammaStep::RmsProp(eta) => {
                    square = 0.99 * square + 0.01 * slope * slope;
                    eta * slope / (square.sqrt() + 1e-8)
                }
            };
            path.push(gamma);
            advantage.push(total);
        }
        let n = advantage.len() as f64;
        let mean = advantage.iter().sum::<f64>() / n;
        let variance =
            advantage.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        Ok(MetaLearned { gamma: path, advantage, mean, standard_error: (variance / n).sqrt() })
    }

    /// The log-likelihood of each batch before the step on it.
    fn online(
        &self,
        start: &CategoricalPair,
        samples: &[(usize, usize)],
    ) -> Result<Vec<f64>, Error> {
        let mut model = start.clone();
        let mut paid = Vec::with_capacity(self.steps);
        for batch in samples.chunks(self.batch) {
            // The mean gradient of a batch is that of its empirical distribution at one point.
            let fixed = CategoricalSgd::new(&model, self.step, Average::Last, Momentum::Off)?;
            let mut likelihood = 0.0;
            for &sample in batch {
                likelihood -= fixed.loss(sample)?;
            }
            paid.push(likelihood);
            model = mean_gradient_step(&model, batch, self.step)?;
        }
        Ok(paid)
    }
}
